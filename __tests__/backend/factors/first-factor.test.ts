import { itAtRoot } from '../../support/only.ts';
import { endSession, requireSession } from '../../../lib/backend/index.ts';
import { ada, postForm, setSession, startBackendApp } from '../../support/backend-app.ts';
import type { BackendApp, BackendAppSetup } from '../../support/backend-app.ts';
import { sendText } from '../../support/hosts.ts';
import { createPageBrowser } from '../../support/page-browser.ts';

let app: BackendApp;
afterEach(() => app.close());

async function start(setup: BackendAppSetup = {}): Promise<void> {
  app = await startBackendApp({
    ...setup,
    after: (host) => {
      host.get('/danger', requireSession({ adapter: 'backend', maxAge: 300 }), (_req, res) => sendText(res, 'danger'));
      host.get('/enrolled', requireSession({ aal: 'enrolled' }), (_req, res) => sendText(res, 'enrolled'));
      host.get('/vault', requireSession({ aal: 'aal2' }), (_req, res) => sendText(res, 'vault'));
      const bearer = requireSession({ aal: 'enrolled', credentials: ['bearer'] });
      host.get('/bearer', bearer, (_req, res) => sendText(res, 'enrolled'));
    },
  });
}

const code = (factor: { readonly secret: string }): string => app.supabase.codeOf(factor);
const noFactors = (): boolean => app.supabase.factorsOf(ada.email).length === 0;

describe('adding the first second factor', () => {
  itAtRoot('needs a sign-in of the last ten minutes, and comes back after a new one', async () => {
    await start();
    const visitor = await app.signedIn();
    app.clock.advance(601_000);
    const sent = await postForm(visitor, '/auth/enroll', { returnTo: '/account' });
    expect([sent.status, noFactors()]).toEqual([303, true]);
    const signIn = new URL(sent.location);
    expect([signIn.pathname, signIn.searchParams.get('returnTo')]).toEqual([
      '/auth/login',
      '/auth/enroll?returnTo=%2Faccount',
    ]);
    const page = await visitor.get(sent.location);
    expect(page.text).toContain('name="password"');
    const [, returnTo = ''] = /name="returnTo" value="([^"]*)"/.exec(page.text) ?? [];
    const back = await postForm(visitor, '/auth/login', { ...ada, returnTo });
    expect([back.status, back.headers.location]).toEqual([303, '/auth/enroll?returnTo=%2Faccount']);
    expect((await visitor.get(back.location)).status).toBe(200);
    expect((await postForm(visitor, '/auth/enroll', { returnTo: '/account' })).status).toBe(200);
  });

  it('is a 401 with the way on for a JSON client, for the first code too', async () => {
    await start();
    const visitor = await app.signedIn();
    const { factorId, secret } = (await visitor.postJson('/auth/enroll')).json;
    app.clock.advance(601_000);
    for (const body of [{}, { factorId, code: code({ secret }) }]) {
      const answer = await visitor.postJson('/auth/enroll', body);
      expect([answer.status, answer.json.error.code]).toEqual([401, 'fresh_sign_in_required']);
      expect(new URL(answer.json.redirectTo, app.origin).searchParams.get('returnTo')).toBe('/auth/enroll');
    }
    expect(app.supabase.calls('verify-factor')).toBe(0);
  });

  it('makes no old session fresh', async () => {
    await start();
    const visitor = await app.signedIn();
    app.clock.advance(400_000);
    const { factorId, secret } = (await visitor.postJson('/auth/enroll')).json;
    expect((await visitor.postJson('/auth/enroll', { factorId, code: code({ secret }) })).status).toBe(200);
    expect((await visitor.getJson('/danger')).json.error.code).toBe('fresh_sign_in_required');
  });

  it('undoes no endSession, and neither does giving one', async () => {
    await start();
    const visitor = await app.signedIn();
    const { id } = app.supabase.users().find(({ email }) => email === ada.email)!;
    const { access_token: stolen } = await app.supabase.issueSession(ada.email);
    app.clock.advance(2_000);
    await endSession(app.auth, { userId: id });
    expect((await visitor.postJson('/auth/enroll')).status).toBe(401);
    app.clock.advance(2_000);
    // As the backend's own endpoints raise it, which ask nothing of this application.
    const headers = { apikey: app.supabase.publishableKey, authorization: `Bearer ${stolen}` };
    const ask = async (path: string, body: unknown): Promise<any> =>
      (
        await fetch(`${app.supabase.url}/auth/v1/factors${path}`, {
          method: 'POST',
          headers: { ...headers, 'content-type': 'application/json' },
          body: JSON.stringify(body),
        })
      ).json();
    const added = await ask('', { factor_type: 'totp', friendly_name: 'mine' });
    const challenge = await ask(`/${added.id}/challenge`, {});
    const session = await ask(`/${added.id}/verify`, { challenge_id: challenge.id, code: code(added.totp) });
    expect(session.access_token).toEqual(expect.any(String));
    setSession(visitor, session);
    expect((await visitor.getJson('/auth/session')).status).toBe(401);
  });

  it('says that the account has no email address, leads to support, and calls nothing', async () => {
    await start({ options: { pages: { links: { help: 'https://help.example/' } } } });
    const phoneOnly = app.supabase.addUser({ email: '' });
    const visitor = app.visitor();
    setSession(visitor, await app.supabase.issueSession(phoneOnly));
    const answer = await visitor.postJson('/auth/enroll');
    expect([answer.status, answer.json.error.code]).toEqual([422, 'factor_unavailable']);
    expect(answer.json.error.message).toContain('needs an email address, and this account has none');
    expect(app.events.at(-1)).toMatchObject({ type: 'sign_in_failed', reason: 'no_email' });
    const page = await postForm(visitor, '/auth/enroll', {});
    expect([page.status, app.supabase.calls('enroll')]).toEqual([422, 0]);
    expect(page.text).toContain('An authenticator app needs an email address, and your account has none.');
    expect(page.text).toContain('<a href="https://help.example/">Contact support</a>');
    expect(page.text.match(/and your account has none/g)).toHaveLength(1);
  });

  it('offers nothing that an account without an address cannot do, and leads it away from a guard', async () => {
    await start();
    const browser = createPageBrowser(app.origin);
    setSession(browser.jar, await app.supabase.issueSession(app.supabase.addUser({ email: '' })));
    const { status, text } = await browser.open('/vault');
    expect([status, new URL(browser.at.url).pathname]).toEqual([200, '/auth/enroll']);
    expect(text).toContain('An authenticator app needs an email address, and your account has none.');
    expect(text).not.toContain('Add an authenticator app');
    expect(browser.forms().map(({ action }) => action)).toEqual(['/auth/logout']);
    expect(browser.links()).toEqual([{ href: '/', label: 'Back to home' }]);
    await browser.open('/');
    expect([browser.at.answer.status, new URL(browser.at.url).pathname]).toEqual([200, '/']);
  });

  it('is not called done while there is none, and its page leads home from a guard that asks for one', async () => {
    await start();
    const browser = createPageBrowser(app.origin);
    setSession(browser.jar, await app.supabase.issueSession(ada.email));
    await browser.open('/vault');
    expect(new URL(browser.at.url).pathname).toBe('/auth/enroll');
    expect(browser.links()).toEqual([
      { href: '/vault', label: 'Cancel' },
      { href: '/', label: 'Back to home' },
    ]);
    app.supabase.addFactor(ada.email);
    setSession(browser.jar, await app.supabase.issueSession(ada.email));
    await browser.open('/auth/verify');
    await browser.submit({ code: app.supabase.codeOf(app.supabase.factorsOf(ada.email)[0]!) });
    await browser.open('/auth/enroll?returnTo=/vault');
    expect(browser.links()).toContainEqual({ href: '/vault', label: 'Done' });
  });

  it('counts no attempts for a factor of another user', async () => {
    await start();
    app.supabase.addUser({ email: 'eve@example.com', password: 'eavesdropping' });
    const own = app.supabase.addFactor(ada.email);
    const eve = app.visitor();
    await eve.postJson('/auth/login', { email: 'eve@example.com', password: 'eavesdropping' });
    for (let count = 0; count < 7; count += 1) {
      const answer = await eve.postJson('/auth/enroll', { factorId: own.id, code: '123456' });
      expect([answer.status, answer.json.error.code]).toEqual([422, 'code_wrong']);
    }
    expect(app.supabase.calls('challenge')).toBe(0);
    const visitor = app.visitor();
    await visitor.postJson('/auth/login', ada);
    expect((await visitor.postJson('/auth/verify', { code: code(own) })).status).toBe(200);
  });
});

describe('a session that the backend has ended', () => {
  it('ends here where a guard finds out, and the visitor can sign in again', async () => {
    await start();
    const visitor = await app.signedIn();
    for (const { id } of app.supabase.sessionsOf(ada.email)) app.supabase.revokeSession(id);
    const sent = await visitor.get('/enrolled');
    expect([sent.status, sent.headers.location]).toEqual([307, '/auth/login?returnTo=%2Fenrolled']);
    expect([...visitor.cookies.keys()]).toEqual([]);
    expect((await visitor.get(sent.location)).text).toContain('name="password"');
    const back = await postForm(visitor, '/auth/login', { ...ada, returnTo: '/enrolled' });
    expect((await visitor.get(back.location)).text).toBe('enrolled');
  });

  it('ends for a JSON client, too, which is told where to sign in', async () => {
    await start();
    const visitor = await app.signedIn();
    for (const { id } of app.supabase.sessionsOf(ada.email)) app.supabase.revokeSession(id);
    const { status, json } = await visitor.getJson('/enrolled');
    expect([status, json.error.code, json.redirectTo]).toEqual([401, 'unauthenticated', '/auth/login']);
    expect((await visitor.getJson('/auth/session')).status).toBe(401);
  });

  it.each(['verify', 'enroll'])(
    'by rejecting a code is said to be over by /auth/%s, with a way to sign in',
    async (page) => {
      await start();
      const visitor = app.visitor();
      let body: Record<string, string>;
      if (page === 'verify') {
        const factor = app.supabase.addFactor(ada.email);
        body = { code: code(factor) };
        await postForm(visitor, '/auth/login', ada);
      } else {
        await postForm(visitor, '/auth/login', ada);
        const { factorId, secret } = (await visitor.postJson('/auth/enroll')).json;
        body = { factorId, code: code({ secret }) };
      }
      app.supabase.switches.factorCodesRejected = true;
      const answer = await postForm(visitor, `/auth/${page}`, { ...body, returnTo: '/account' });
      expect([
        answer.status,
        answer.text.includes('Your sign-in has ended'),
        answer.text.includes('name="code"'),
      ]).toEqual([403, true, false]);
      expect([...visitor.cookies.keys()]).toEqual([]);
      const [, href = ''] = /class="button" href="([^"]+)"/.exec(answer.text) ?? [];
      expect(href).toBe('/auth/login?returnTo=%2Faccount');
      expect((await visitor.get(href)).text).toContain('name="password"');
      expect(app.events.at(-1)).toMatchObject({ type: 'sign_in_failed', reason: 'mfa_verification_rejected' });
    },
  );

  it('for a code that its hook rejects is told to JSON clients', async () => {
    await start();
    const factor = app.supabase.addFactor(ada.email);
    const visitor = app.visitor();
    await visitor.postJson('/auth/login', ada);
    app.supabase.switches.factorCodesRejected = true;
    const { status, json } = await visitor.postJson('/auth/verify', { code: app.supabase.codeOf(factor) });
    expect([status, json.error.code, json.error.message]).toEqual([
      403,
      'sign_in_refused',
      expect.stringContaining('your sign-in has ended'),
    ]);
    expect([...visitor.cookies.keys()]).toEqual([]);
  });
});

describe('a token that the backend refuses although its signature is right', () => {
  it('is a 503 that keeps the session, and a warning to operators', async () => {
    let isStale = false;
    const stale: typeof fetch = (input, init) =>
      isStale && /\/(user|factors)/.test(new URL(new Request(input).url).pathname)
        ? Promise.resolve(Response.json({ code: 'bad_jwt', message: 'invalid kid' }, { status: 403 }))
        : fetch(input, init);
    await start({ options: { fetch: stale } });
    const visitor = await app.signedIn();
    app.supabase.addFactor(ada.email);
    const waiting = app.visitor();
    await postForm(waiting, '/auth/login', ada);
    isStale = true;
    const answers = [
      await visitor.getJson('/enrolled'),
      await visitor.getJson('/auth/enroll'),
      await waiting.getJson('/auth/verify'),
      await waiting.postJson('/auth/verify', { code: '123456' }),
    ];
    for (const { status, headers } of answers) expect([status, headers['retry-after']]).toEqual([503, '5']);
    const warnings = app.events.filter(({ type }) => type === 'configuration_warning');
    expect(JSON.stringify(warnings)).toContain('rotation of the signing keys');
    isStale = false;
    expect((await visitor.getJson('/auth/session')).status).toBe(200);
    expect((await waiting.getJson('/auth/verify')).status).toBe(200);
  });

  it('is no such warning where the token may just have expired there', async () => {
    await start();
    const { access_token: token } = await app.supabase.issueSession(ada.email, { ttl: 5 });
    const gate = app.supabase.gate('user');
    const asked = app.visitor().get('/bearer', { headers: { authorization: `Bearer ${token}` } });
    await gate.waitFor(1);
    app.clock.advance(6_000);
    gate.open();
    expect((await asked).status).toBe(503);
    expect(app.events).toEqual([]);
  });
});
