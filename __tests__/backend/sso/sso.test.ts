import { postForm, startBackendApp } from '../../support/backend-app.ts';
import type { BackendApp } from '../../support/backend-app.ts';

const path = '/auth/sso';
let app: BackendApp;
beforeEach(async () => {
  app = await startBackendApp({ options: { sso: true }, standIn: { ssoDomains: new Set(['example.com']) } });
});
afterEach(() => app.close());

it('redirects to the identity provider of the address, and back to returnTo', async () => {
  const visitor = app.visitor();
  expect((await visitor.get('/auth/login?returnTo=%2Faccount')).text).toContain(`href="${path}?returnTo=%2Faccount"`);
  const page = await visitor.get(`${path}?returnTo=%2Faccount`);
  expect(page.status).toBe(200);
  // Chromium applies the policy of a page to the redirects of its forms.
  expect(page.headers['content-security-policy']).toContain("form-action 'self' https:");
  const answer = await postForm(visitor, path, { email: ' Octavia@EXAMPLE.com', returnTo: '/account' });
  expect(answer.status).toBe(303);
  expect(answer.location).toMatch(/\/provider\/saml\/authorize\?/);
  const back = await app.supabase.authorize(answer.location, { approve: true, user: 'octavia@example.com' });
  const signedIn = await visitor.get(back.href);
  expect([signedIn.status, new URL(signedIn.location).pathname]).toEqual([303, '/account']);
  expect((await visitor.getJson('/auth/session')).json.user.email).toBe('octavia@example.com');
});

it('answers JSON clients with the URL, by an address or a domain', async () => {
  for (const body of [{ email: 'octavia@example.com' }, { domain: 'Example.COM ' }]) {
    const { status, json } = await app.visitor().postJson(path, body);
    expect(status).toBe(200);
    expect(json.redirectTo).toMatch(/^http/);
  }
});

it('reports that a domain has no single sign-on, keeping the address', async () => {
  const form = await postForm(app.visitor(), path, { email: 'ada@elsewhere.example', returnTo: '/account' });
  expect(form.status).toBe(422);
  expect(form.text).toContain('value="ada@elsewhere.example"');
  expect(form.text).toContain('aria-invalid="true"');
  expect(form.text).toContain('name="returnTo" value="/account"');
  const { status, json } = await app.visitor().postJson(path, { domain: 'sub.example.com' });
  expect([status, json.error.code]).toEqual([422, 'sso_unavailable']);
});

it('reports the same if the project has no single sign-on at all', async () => {
  app.supabase.switches.ssoDomains = undefined;
  expect((await app.visitor().postJson(path, { domain: 'example.com' })).json.error.code).toBe('sso_unavailable');
});

it.each([
  {},
  { email: '' },
  { email: 'ada' },
  { domain: '' },
  { domain: 'a b.c' },
  { domain: 'x'.repeat(300) },
  { domain: 'http://example.com' },
  { domain: 'example.com/x' },
  { domain: 'ada@example.com' },
  { domain: `${'x'.repeat(250)}.com` },
])('refuses %j without asking the backend', async (body) => {
  const before = app.supabase.requests.length;
  expect((await app.visitor().postJson(path, body)).status).toBe(400);
  expect(app.supabase.requests.length).toBe(before);
});

it('accepts a domain of the maximum length, and keeps a typed domain in the form', async () => {
  const domain = `${'x'.repeat(249)}.com`;
  const form = await postForm(app.visitor(), path, { domain });
  expect([form.status, form.text.includes(`value="${domain}"`)]).toEqual([422, true]);
});

it('shows beside the field what is wrong with an address or a domain', async () => {
  for (const fields of [{ email: 'ada' }, { domain: 'example' }]) {
    const { status, text } = await postForm(app.visitor(), path, fields);
    expect([status, text.includes('id="email-error"'), text.includes('such as name@example.com')]).toEqual([
      400,
      true,
      true,
    ]);
  }
  const { json } = await app.visitor().postJson(path, { domain: 'example' });
  expect(json.error.message).toBe('The domain is not valid.');
});

it('carries returnTo from the page', async () => {
  const { text } = await app.visitor().get(`${path}?returnTo=%2Faccount`);
  expect(text).toContain('name="returnTo" value="/account"');
  expect((await app.visitor().getJson(`${path}?returnTo=%2Faccount`)).json).toEqual({
    redirectTo: '/auth/sso?returnTo=%2Faccount',
  });
});

it.each([{}, { url: 'javascript:alert(1)' }])('redirects to no URL other than a web URL: %j', async (body) => {
  const other = await startBackendApp({
    options: {
      sso: true,
      fetch: (input, init) =>
        new Request(input).url.includes('/sso') ? Promise.resolve(Response.json(body)) : fetch(input, init),
    },
  });
  try {
    const answer = await other.visitor().postJson(path, { domain: 'example.com' });
    expect([answer.status, answer.json.error.code]).toEqual([502, 'provider_refused']);
  } finally {
    await other.close();
  }
});

it('reports the cause to the operators', async () => {
  await app.visitor().postJson(path, { domain: 'elsewhere.example' });
  expect(app.events).toContainEqual(
    expect.objectContaining({
      type: 'sign_in_failed',
      code: 'sso_unavailable',
      reason: expect.stringMatching(/^s.*_provider_/) as string,
    }),
  );
});

it('answers an outage with 503 and the form', async () => {
  app.supabase.fail('sso', 503);
  const { status, text } = await postForm(app.visitor(), path, { email: 'octavia@example.com' });
  expect(status).toBe(503);
  expect(text).toContain('value="octavia@example.com"');
});

it('refuses posts of other sites', async () => {
  const headers = { 'sec-fetch-site': 'cross-site' };
  expect((await postForm(app.visitor(), path, { email: 'octavia@example.com' }, headers)).status).toBe(403);
  expect(app.supabase.requests).toEqual([]);
});

it('limits guesses of domains by network', async () => {
  const guess = async (count: number): Promise<number> =>
    (await app.visitor().postJson(path, { domain: `d${count}.example` })).status;
  for (let count = 0; count < 100; count += 1) await guess(count);
  expect(await guess(100)).toBe(429);
});
