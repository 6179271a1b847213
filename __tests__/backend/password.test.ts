import { AuthError } from '../../lib/backend/index.ts';
import { ada, postForm, startBackendApp } from '../support/backend-app.ts';
import type { BackendApp, BackendAppSetup } from '../support/backend-app.ts';
import type { Fault } from '../support/supabase-stand-in/index.ts';

let app: BackendApp;
const start = async (setup?: BackendAppSetup): Promise<BackendApp> => (app = await startBackendApp(setup));
afterEach(() => app.close());

describe('POST /auth/login', () => {
  it('answers { redirectTo } and sets the session, HttpOnly and Lax', async () => {
    await start();
    const visitor = app.visitor();
    const answer = await visitor.postJson('/auth/login', { ...ada, returnTo: '/account?tab=2#top' });
    expect([answer.status, answer.json]).toEqual([200, { redirectTo: '/account?tab=2#top' }]);
    expect(answer.headers['cache-control']).toBe('private, no-store');
    expect(answer.setCookies).toHaveLength(1);
    expect(answer.setCookies[0]).toMatch(
      /^sb-127-auth-token=base64-.+; Max-Age=34560000; Path=\/; HttpOnly; SameSite=Lax$/,
    );
    const session = await visitor.getJson('/auth/session');
    expect(session.json).toMatchObject({ authenticated: true, user: { email: ada.email, role: 'authenticated' } });
    expect(Object.keys(session.json)).toEqual(['authenticated', 'user']);
  });

  it('answers a form with 303, and a failed one with the form, the e-mail kept and the password not', async () => {
    await start();
    const visitor = app.visitor();
    const failed = await postForm(visitor, '/auth/login', { ...ada, password: 'guess <b>', returnTo: '/account' });
    expect(failed.status).toBe(401);
    expect(failed.text).toContain('value="ada@example.com"');
    expect(failed.text).toContain('name="returnTo" value="/account"');
    expect(failed.text).toContain('role="alert"');
    expect(failed.text).not.toContain('guess');
    expect(failed.setCookies).toEqual([]);
    const done = await postForm(visitor, '/auth/login', { ...ada, returnTo: '/account' });
    expect([done.status, done.headers.location]).toEqual([303, '/account']);
  });

  it('says the same for an unknown address and for a wrong password', async () => {
    await start();
    const visitor = app.visitor();
    const wrong = await visitor.postJson('/auth/login', { ...ada, password: 'wrong' });
    const unknown = await visitor.postJson('/auth/login', { email: 'nobody@example.com', password: 'wrong' });
    expect(wrong.status).toBe(401);
    expect(wrong.json.error).toMatchObject({ status: 401, code: 'invalid_credentials' });
    expect(unknown.text).toBe(wrong.text);
  });

  it.each([
    '//evil.example',
    'https://evil.example/',
    '/\\evil.example',
    '/auth/logout',
    '/auth/login?returnTo=/x',
    'x',
  ])('never goes to %s', async (returnTo) => {
    await start();
    const answer = await app.visitor().postJson('/auth/login', { ...ada, returnTo });
    expect(answer.json).toEqual({ redirectTo: '/' });
  });

  it('tells an unconfirmed address so, with a way to have the mail sent again', async () => {
    await start();
    app.supabase.addUser({ email: 'new@example.com', password: 'long enough', confirmed: false });
    const fields = { email: 'new@example.com', password: 'long enough' };
    const form = await postForm(app.visitor(), '/auth/login', fields);
    expect(form.status).toBe(403);
    expect(form.text).toContain('action="/auth/resend"');
    const answer = await app.visitor().postJson('/auth/login', fields);
    expect([answer.status, answer.json.error.code]).toEqual([403, 'email_not_confirmed']);
  });

  it('refuses a banned user with 403', async () => {
    await start();
    app.supabase.addUser({ email: 'bad@example.com', password: 'long enough', banned: true });
    const answer = await app.visitor().postJson('/auth/login', { email: 'bad@example.com', password: 'long enough' });
    expect([answer.status, answer.json.error.code]).toEqual([403, 'user_banned']);
  });

  it('passes a captcha’s answer on, and says when the backend wants another', async () => {
    await start({ standIn: { captchaToken: 'solved' } });
    const refused = await app.visitor().postJson('/auth/login', ada);
    expect([refused.status, refused.json.error.code]).toEqual([400, 'captcha_failed']);
    const passed = await app.visitor().postJson('/auth/login', { ...ada, captchaToken: 'solved' });
    expect(passed.status).toBe(200);
  });

  it.each<[Fault, number, string]>([
    [500, 503, 'provider_unavailable'],
    [503, 503, 'provider_unavailable'],
    ['html502', 503, 'provider_unavailable'],
    ['refuse', 503, 'provider_unavailable'],
    ['reset', 503, 'provider_unavailable'],
    ['hang', 503, 'provider_unavailable'],
    [408, 503, 'provider_unavailable'],
    [429, 429, 'rate_limited'],
    [401, 502, 'provider_refused'],
    [403, 502, 'provider_refused'],
    [404, 502, 'provider_refused'],
  ])('is no "wrong password" when the backend answers %s, but %i', async (fault, status, code) => {
    await start({ options: { timeoutMs: 300 } });
    app.supabase.fail('password', fault);
    const answer = await app.visitor().postJson('/auth/login', ada);
    expect([answer.status, answer.json.error.code]).toEqual([status, code]);
    if (status !== 502) expect(Number(answer.headers['retry-after'])).toBeGreaterThan(0);
    expect(answer.text).not.toContain('apikey');
    expect(app.supabase.calls('password')).toBe(1);
    if (status === 502) expect(app.eventTypes()).toContain('configuration_warning');
  });

  it('replaces whatever session there was, chunks and strays included', async () => {
    await start();
    const visitor = app.visitor();
    for (const name of ['.0', '.1', '.7']) visitor.cookies.set(app.cookieName + name, 'old');
    await visitor.postJson('/auth/login', ada);
    expect([...visitor.cookies.keys()]).toEqual([app.cookieName]);
    expect((await visitor.getJson('/auth/session')).status).toBe(200);
  });

  it('refuses a post from another site, however it says so', async () => {
    await start();
    for (const headers of [
      { 'sec-fetch-site': 'cross-site' },
      { origin: 'https://evil.example' },
      { origin: 'null' },
    ]) {
      const answer = await postForm(app.visitor(), '/auth/login', ada, headers);
      expect(answer.status).toBe(403);
    }
    expect(app.supabase.calls('password')).toBe(0);
  });
});

describe('POST /auth/signup', () => {
  const eve = { email: 'eve@example.com', password: 'battery staple' };

  it('signs in at once where no confirmation is asked for, and leaves no verifier behind', async () => {
    await start();
    const visitor = app.visitor();
    const answer = await visitor.postJson('/auth/signup', { ...eve, returnTo: '/account' });
    expect([answer.status, answer.json]).toEqual([200, { redirectTo: '/account' }]);
    expect([...visitor.cookies.keys()]).toEqual([app.cookieName]);
  });

  it('answers { emailConfirmationRequired, email, message } and points back to sign-in', async () => {
    await start({ standIn: { autoconfirm: false } });
    const answer = await app.visitor().postJson('/auth/signup', { ...eve, returnTo: '/account' });
    expect(answer.json).toEqual({
      emailConfirmationRequired: true,
      email: eve.email,
      message: expect.stringContaining(eve.email),
      redirectTo: '/auth/login?returnTo=%2Faccount',
    });
    const page = await postForm(app.visitor(), '/auth/signup', { ...eve, email: 'other@example.com' });
    expect(page.status).toBe(200);
    expect(page.text).toContain('Check your mail');
  });

  it('answers a known address as it does a new one', async () => {
    await start({ standIn: { autoconfirm: false } });
    const [known, fresh] = [app.visitor(), app.visitor()];
    const one = await known.postJson('/auth/signup', { email: ada.email, password: 'something else' });
    const other = await fresh.postJson('/auth/signup', eve);
    const comparable = (text: string, email: string): string => text.replaceAll(email, 'EMAIL');
    expect(comparable(one.text, ada.email)).toBe(comparable(other.text, eve.email));
    const shape = (cookies: Map<string, string>): string[] =>
      [...cookies.keys()].map((name) => name.replace(/[0-9a-f]{32}/, 'ID'));
    expect(shape(known.cookies)).toEqual(shape(fresh.cookies));
  });

  it('says 409 only where the backend itself does', async () => {
    await start();
    const answer = await app.visitor().postJson('/auth/signup', { email: ada.email, password: 'something else' });
    expect([answer.status, answer.json.error.code]).toEqual([409, 'email_in_use']);
  });

  it.each([
    [{ minimumPasswordLength: 20 }, /too short/],
    [{ requireLettersAndDigits: true }, /kinds of characters/],
    [{ pwnedPasswords: new Set([eve.password]) }, /data breach/],
  ])('says what is wrong with a weak password (%j)', async (standIn, reason) => {
    await start({ standIn });
    const answer = await app.visitor().postJson('/auth/signup', eve);
    expect([answer.status, answer.json.error.code]).toEqual([422, 'weak_password']);
    expect(answer.json.error.message).toMatch(reason);
    const form = await postForm(app.visitor(), '/auth/signup', eve);
    expect(form.status).toBe(422);
    expect(form.text).toMatch(/aria-describedby="password-error/);
  });

  it('refuses a password that the backend would cut off', async () => {
    await start();
    const answer = await app.visitor().postJson('/auth/signup', { ...eve, password: 'ä'.repeat(37) });
    expect([answer.status, answer.json.error.code]).toEqual([422, 'weak_password']);
    expect(app.supabase.calls('signup')).toBe(0);
  });

  it('says 403 where sign-up is switched off', async () => {
    await start({ standIn: { signupDisabled: true } });
    expect((await app.visitor().postJson('/auth/signup', eve)).json.error).toMatchObject({
      status: 403,
      code: 'signup_disabled',
    });
  });

  it('passes the backend’s waiting time on', async () => {
    await start({ standIn: { autoconfirm: false, mailFrequency: 42 } });
    await app.visitor().postJson('/auth/signup', eve);
    const again = await app.visitor().postJson('/auth/signup', eve);
    expect([again.status, again.headers['retry-after']]).toEqual([429, '42']);
  });
});

describe('what a body may be', () => {
  const json = 'application/json';
  const form = 'application/x-www-form-urlencoded';
  it.each<[string, string, string, number]>([
    ['another content type', 'text/plain', 'x', 415],
    ['a file upload', 'multipart/form-data; boundary=x', '--x--', 415],
    ['more than 16 KB', json, JSON.stringify({ email: 'x'.repeat(17_000) }), 413],
    ['broken JSON', json, '{"email":', 400],
    ['JSON that is no object', json, '["a"]', 400],
    ['a field that is no text', json, '{"email":{"a":1},"password":["b"]}', 400],
    ['an inherited field', json, '{"__proto__":{"email":"a@b.example","password":"c"}}', 400],
    ['a field twice', form, 'email=a@b.example&email=c@d.example&password=x', 400],
    ['a charset of its own', `${json}; charset=latin1`, '{}', 415],
    ['no address', json, '{"email":"nobody","password":"x"}', 400],
    ['a line break in the address', json, '{"email":"a@b.example\\nBcc: c@d.example","password":"x"}', 400],
    ['nothing', json, '', 400],
  ])('%s is refused', async (_what, type, body, status) => {
    await start();
    const headers = { 'content-type': type, accept: json };
    const answer = await app.visitor().post('/auth/login', { headers, body });
    expect([answer.status, answer.json.error.status]).toEqual([status, status]);
    expect(app.supabase.calls('password')).toBe(0);
  });

  it.each([
    ['JSON', async () => (await import('express')).default.json()],
    ['forms', async () => (await import('express')).default.urlencoded({ extended: true })],
    ['text', async () => (await import('express')).default.text({ type: () => true })],
    ['bytes', async () => (await import('express')).default.raw({ type: () => true })],
  ])('is read as well after the application’s own parser for %s', async (_what, parser) => {
    const parse = await parser();
    await start({ before: (express) => void express.use(parse) });
    expect((await app.visitor().postJson('/auth/login', ada)).status).toBe(200);
    expect((await postForm(app.visitor(), '/auth/login', ada)).status).toBe(303);
  });
});

describe('the hook', () => {
  it('runs once, after verification and before any cookie, and may send elsewhere', async () => {
    const seen: unknown[] = [];
    await start({
      options: {
        onSignIn({ session, returnTo }) {
          seen.push([session.user.email, returnTo]);
          return { redirectTo: '/welcome' };
        },
      },
    });
    const answer = await app.visitor().postJson('/auth/login', { ...ada, returnTo: '/account' });
    expect(answer.json).toEqual({ redirectTo: '/welcome' });
    expect(seen).toEqual([[ada.email, '/account']]);
  });

  it.each<[string, () => unknown, number]>([
    ['an AuthError', () => new AuthError('forbidden', { message: 'Not you.' }), 403],
    ['anything else', () => new Error('broken'), 500],
  ])('that throws %s leaves nobody signed in, here or at the backend', async (_what, failure, status) => {
    await start({
      options: {
        onSignIn() {
          throw failure();
        },
      },
    });
    const visitor = app.visitor();
    const answer = await visitor.postJson('/auth/login', ada);
    expect(answer.status).toBe(status);
    expect(answer.setCookies).toEqual([]);
    expect((await visitor.getJson('/auth/session')).status).toBe(401);
    expect(app.supabase.calls('logout')).toBe(1);
    expect(app.eventTypes()).not.toContain('signed_in');
  });
});

describe('the pages', () => {
  it('redirect to the application’s own where it has some, with returnTo', async () => {
    await start({ options: { pages: { signIn: '/sign-in?from=auth', signUp: '/join' } } });
    const visitor = app.visitor();
    const signIn = await visitor.get('/auth/login?returnTo=/account');
    expect([signIn.status, signIn.headers.location]).toEqual([302, '/sign-in?from=auth&returnTo=%2Faccount']);
    const signUp = await visitor.get('/auth/signup');
    expect([signUp.status, signUp.headers.location]).toEqual([302, '/join']);
    const guarded = await visitor.get('/account?x=1');
    expect([guarded.status, guarded.headers.location]).toEqual([307, '/sign-in?from=auth&returnTo=%2Faccount%3Fx%3D1']);
    const failed = await postForm(visitor, '/auth/login', { ...ada, password: 'wrong', returnTo: '/account' });
    expect([failed.status, failed.headers.location]).toEqual([
      303,
      '/sign-in?from=auth&error=invalid_credentials&returnTo=%2Faccount',
    ]);
  });

  it('carry a button for each provider, below the mount path, and never a key', async () => {
    const providers = ['github', { name: 'custom:acme', label: 'ACME <3' }];
    await start({ prefix: '/app', options: { providers } });
    for (const path of ['/app/auth/login', '/app/auth/signup']) {
      const { text } = await app.visitor().get(`${path}?returnTo=/account`);
      expect(text).toContain('href="/app/auth/login?provider=github&amp;returnTo=%2Faccount"');
      expect(text).toContain('Continue with GitHub');
      expect(text).toContain('Continue with ACME &lt;3');
      expect(text).not.toContain(app.supabase.publishableKey);
    }
    const posted = await postForm(app.visitor(), '/app/auth/login', { ...ada, returnTo: '/app/account' });
    expect([posted.status, posted.headers.location]).toEqual([303, '/app/account']);
  });

  it('answer methods without a meaning with 405', async () => {
    await start();
    const answer = await app.visitor().ask('/auth/login', { method: 'DELETE' });
    expect([answer.status, answer.headers.allow]).toEqual([405, 'GET, HEAD, POST, OPTIONS']);
  });
});
