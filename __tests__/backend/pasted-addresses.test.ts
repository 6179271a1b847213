import { ada, postForm, startBackendApp } from '../support/backend-app.ts';
import type { BackendApp } from '../support/backend-app.ts';

let app: BackendApp;
beforeEach(async () => {
  app = await startBackendApp({
    options: { sso: true, signInMethods: ['password', 'code'] },
    standIn: { ssoDomains: new Set(['example.com']), autoconfirm: false, mailFrequency: 0 },
  });
});
afterEach(() => app.close());

/** What copying from a chat, a table or a right-to-left text brings along: none of it can be seen. */
const pasted = ['\u202aada@example.com\u202c', 'ada@example.com\u200b', '\ufeffa\u00adda@example\u2060.com\u200f '];

/** The email, or the domain, of each request that reached the project. */
const sent = (): unknown[] =>
  app.supabase.requests
    .map(({ body }) => body as { email?: string; domain?: string } | undefined)
    .flatMap((body) => body?.email ?? body?.domain ?? []);

describe.each(pasted)('an address that was pasted as %j', (email) => {
  it.each([
    ['/auth/login', { password: ada.password }, 'ada@example.com'],
    ['/auth/signup', { password: 'battery staple' }, 'ada@example.com'],
    ['/auth/forgot', {}, 'ada@example.com'],
    ['/auth/resend', {}, 'ada@example.com'],
    ['/auth/code', {}, 'ada@example.com'],
    ['/auth/code', { code: '000000' }, 'ada@example.com'],
    ['/auth/sso', {}, 'example.com'],
  ])('reaches the project as it is meant, from %s with %j', async (path, fields, expected) => {
    await app.visitor().postJson(path, { email, ...fields });
    await postForm(app.visitor(), path, { email, ...fields, returnTo: '/account' });
    expect(new Set(sent())).toEqual(new Set([expected]));
  });

  it('is shown as it is meant, in the form that comes back', async () => {
    const form = await postForm(app.visitor(), '/auth/login', { email, password: 'wrong' });
    expect([form.status, form.text]).toEqual([401, expect.stringContaining('value="ada@example.com"')]);
  });

  it('is the account of the form for a new password, whose name a password manager fills in', async () => {
    const visitor = await app.signedIn();
    const fields = { username: email, currentPassword: ada.password, password: 'a new long password' };
    expect((await visitor.postJson('/auth/password', fields)).status).toBe(200);
  });

  it('shares the count of its account', async () => {
    for (let count = 0; count < 5; count += 1) {
      for (const spelling of [email, ada.email]) {
        expect((await app.visitor().postJson('/auth/login', { email: spelling, password: 'x' })).status).toBe(401);
      }
    }
    expect((await app.visitor().postJson('/auth/login', { email, password: 'x' })).status).toBe(429);
  });
});

it('a domain that was pasted with marks is the domain', async () => {
  expect((await app.visitor().postJson('/auth/sso', { domain: '\u200eExample.com\u200b' })).status).toBe(200);
  expect(sent()).toEqual(['example.com']);
});

it('a password keeps them: it is what its owner typed', async () => {
  await app.visitor().postJson('/auth/login', { ...ada, password: 'a\u200bb' });
  expect(app.supabase.requests.at(-1)?.body).toMatchObject({ password: 'a\u200bb' });
});
