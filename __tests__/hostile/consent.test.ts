import type { BackendApp } from '../support/backend-app.ts';
import { postForm } from '../support/backend-app.ts';
import { arrive, askElsewhere, callback, consentUrl, startConsentApp } from '../support/consent.ts';
import type { Visitor } from '../support/visitor.ts';

let app: BackendApp;
let visitor: Visitor;
beforeAll(async () => {
  app = await startConsentApp({ options: { throttle: false, pages: { title: 'Northwind' } } });
  visitor = await app.signedIn();
});
afterAll(() => app.close());

const ask = (given: { readonly name?: string; readonly redirectUri?: string; readonly scope?: string }): string => {
  const { name = 'Cursor', redirectUri = callback, scope = 'email' } = given;
  return app.supabase.askConsent(app.supabase.addClient({ name, redirectUris: [redirectUri] }), { scope });
};

describe('a client that lies about its name', () => {
  it.each([
    ['markup', '<script>alert(1)</script>', /<script/],
    ['a quote of an attribute', '" onmouseover="alert(1)', /" onmouseover/],
    ['a text that turns around', 'Cursor\u202etpircs\u202c', /[\u202a-\u202e]/],
    ['isolates', '\u2067Northwind\u2069 verified', /[\u2066-\u2069]/],
    ['zero-width characters', 'No\u200brth\u2060wind\ufeff', /[\u200b\u2060\ufeff]/],
    [
      'letters that are invisible',
      '\u3164\uffa0\u115f\u1160\u2800\u034f\ufe0f',
      /[\u3164\uffa0\u115f\u1160\u2800\u034f\ufe0f]|“<bdi><\/bdi>”/,
    ],
    ['line breaks', 'Cursor\r\n\u2028\u2029Verified', /Cursor\s*[\r\n\u2028\u2029]/],
    ['control characters', 'Cur\u0000sor\u001b[31m', /[\0\x1b]/],
    ['marks that pile up', `Z${'\u0301'.repeat(200)}algo`, /\u0301{4}/],
    ['a very long name', 'Cursor '.repeat(140), /(Cursor ){20}/],
    ['a placeholder', '{title} {address} {account}', /Northwind \S+ ada@/],
    ['lone surrogates', 'Cursor \ud800', /\ud800/],
  ])('%s is harmless', async (_, name, harm) => {
    const id = ask({ name });
    const page = await arrive(visitor, id);
    expect([page.status, harm.test(page.text)]).toEqual([200, false]);
    const json = await visitor.getJson(consentUrl(id));
    // JSON is no markup; all else is cleaned there, too.
    if (!name.includes('<') && !name.includes('"')) expect(json.text).not.toMatch(harm);
    expect(page.text).not.toMatch(/<script/);
    expect(page.text).toContain('<strong dir="ltr">cursor.example</strong>');
    expect(page.text.length).toBeLessThan(12_000);
    await postForm(visitor, '/oauth/consent', { authorization_id: id, action: 'allow' });
    const apps = await visitor.get('/oauth/apps');
    expect([apps.status, apps.text.includes('<script')]).toEqual([200, false]);
  });

  it('has its logo and its website only as https URLs, and no page loads them', async () => {
    for (const uri of [
      'javascript:alert(1)',
      'http://app.example/',
      'data:image/svg+xml,<svg/>',
      'https://a@b.example/',
      '/x',
    ]) {
      const client = app.supabase.addClient({ name: 'App', uri, logoUri: uri, redirectUris: [callback] });
      const { json } = await visitor.getJson(consentUrl(app.supabase.askConsent(client)));
      expect(json.client).toEqual({ id: client.id, name: 'App', redirectUri: callback });
    }
    const client = app.supabase.addClient({
      uri: 'https://app.example/',
      logoUri: 'https://app.example/logo.png',
      redirectUris: [callback],
    });
    const id = app.supabase.askConsent(client);
    expect((await visitor.getJson(consentUrl(id))).json.client).toMatchObject({
      uri: 'https://app.example/',
      logoUri: 'https://app.example/logo.png',
    });
    expect((await arrive(visitor, id)).text).not.toContain('logo.png');
  });
});

describe('hostile scopes', () => {
  it('are shown as text', async () => {
    const { text } = await arrive(visitor, ask({ scope: 'email <b>admin</b> \u202eevil' }));
    expect(text).toContain('<code dir="ltr">&lt;b&gt;admin&lt;/b&gt;</code>');
    expect(text).not.toContain('\u202e');
  });

  it('that are too many to read have no page', async () => {
    const scope = Array.from({ length: 21 }, (_, index) => `scope-${index}`).join(' ');
    expect((await arrive(visitor, ask({ scope }))).status).toBe(502);
  });
});

describe('an address that is not safe', () => {
  it.each([
    'javascript:alert(1)//',
    'javascript://app.example/%0aalert(1)',
    'data://text/html,x',
    'vbscript:x',
    'file:///etc/passwd',
    'blob:https://app.example/x',
    'http://app.example/callback',
    'http://127.0.0.1.evil.example/callback',
    'intent://x',
    'https://user:pass@app.example/',
    'not a url',
  ])('%s gets no page, no decision, no Location and no link', async (redirectUri) => {
    const id = ask({ redirectUri });
    const page = await arrive(visitor, id);
    const json = await visitor.getJson(consentUrl(id));
    const posted = await postForm(visitor, '/oauth/consent', { authorization_id: id, action: 'allow' });
    for (const answer of [page, json, posted]) {
      expect([answer.status, answer.headers.location, answer.headers['refresh']]).toEqual([400, undefined, undefined]);
      expect(answer.text).not.toContain(redirectUri.slice(0, 11));
    }
    expect(json.json.error.code).toBe('redirect_refused');
    // Nothing was allowed: the page of this process knew the address.
    expect(
      app.supabase.requests.filter(({ endpoint, url }) => endpoint === 'consent' && url.pathname.includes(id)),
    ).toEqual([]);
  });

  it('is refused in a grant that exists, and in a decision of another process', async () => {
    const client = app.supabase.addClient({ redirectUris: ['javascript:alert(1)//'] });
    const id = app.supabase.askConsent(client);
    expect((await askElsewhere(app, id)).status).toBe(200);
    const posted = await postForm(visitor, '/oauth/consent', { authorization_id: id, action: 'allow' });
    expect([posted.status, posted.headers.location]).toEqual([400, undefined]);
    const next = await arrive(visitor, app.supabase.askConsent(client));
    expect([next.status, next.headers.location, next.headers['refresh']]).toEqual([400, undefined, undefined]);
  });
});

it('neither a query nor a field chooses where the browser goes', async () => {
  const id = ask({});
  const more =
    '&redirect_uri=https://evil.example&redirect_url=https://evil.example&redirectTo=https://evil.example&returnTo=//evil.example';
  const page = await visitor.get(consentUrl(id) + more);
  expect(page.text).not.toContain('evil.example');
  const posted = await postForm(visitor, `/oauth/consent?x=1${more}`, {
    authorization_id: id,
    action: 'allow',
    redirect_uri: 'https://evil.example',
    redirectTo: 'https://evil.example',
    returnTo: 'https://evil.example',
  });
  expect(posted.headers.location?.startsWith(callback)).toBe(true);
});

it('a cross-site post, in whatever way, decides nothing', async () => {
  const id = ask({});
  await arrive(visitor, id);
  for (const headers of [
    { 'sec-fetch-site': 'cross-site' },
    { 'sec-fetch-site': 'same-site' },
    { origin: 'https://evil.example' },
    { origin: 'null' },
  ]) {
    for (const [path, fields] of [
      ['/oauth/consent', { authorization_id: id, action: 'allow' }],
      ['/oauth/apps', { revoke: 'x', sure: 'yes' }],
    ] as const) {
      expect((await postForm(visitor, path, fields, headers)).status).toBe(403);
    }
  }
  expect(
    app.supabase.requests.filter(({ endpoint, url }) => endpoint === 'consent' && url.pathname.includes(id)),
  ).toEqual([]);
});

it('a token of an OAuth client is no session that could grant to others', async () => {
  const id = ask({});
  const { access_token: token } = await app.supabase.issueSession('ada@example.com', { claims: { client_id: 'x' } });
  const answer = await app
    .visitor()
    .get(consentUrl(id), { headers: { authorization: `Bearer ${token}`, accept: 'application/json' } });
  expect(answer.status).toBe(401);
});

describe('an answer of the provider, or of what stands in front of it,', () => {
  const whole = {
    authorization_id: 'x',
    client: { id: 'c', name: 'Cursor' },
    redirect_uri: callback,
    scope: 'email',
  };

  it.each<[string, (userId: string) => unknown, number]>([
    ['for another user', () => ({ ...whole, user: { id: 'eve' } }), 502],
    ['without a user', () => whole, 502],
    ['without an address', (id) => ({ ...whole, user: { id }, redirect_uri: undefined }), 400],
    ['with a number as address', () => ({ redirect_url: 7 }), 400],
    ['with an empty address', () => ({ redirect_url: '' }), 400],
    ['that is empty', () => ({}), 502],
    ['that is a list', () => [whole], 503],
    ['that is null', () => null, 503],
    ['without a client', (id) => ({ ...whole, user: { id }, client: null }), 200],
    [
      'with odd fields',
      (id) => ({ ...whole, user: { id }, client: { id: {}, name: [], uri: 1 }, scope: { a: 1 } }),
      200,
    ],
  ])('%s shows nothing that it does not say', async (_, answer, status) => {
    let userId = '';
    const odd = await startConsentApp({
      options: {
        throttle: false,
        fetch: (input, init) => {
          const url = input instanceof Request ? input.url : String(input);
          return url.includes('/oauth/authorizations/')
            ? Promise.resolve(Response.json(answer(userId)))
            : fetch(input, init);
        },
      },
    });
    try {
      const someone = await odd.signedIn();
      userId = odd.supabase.users()[0]?.id ?? '';
      const page = await arrive(someone, 'abcdefgh');
      expect([page.status, page.headers.location]).toEqual([status, undefined]);
      if (status === 200) expect(page.text).toContain('cursor.example');
    } finally {
      await odd.close();
    }
  });
});
