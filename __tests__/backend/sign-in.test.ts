import { ada, postForm, startBackendApp } from '../support/backend-app.ts';
import type { BackendApp, BackendAppSetup } from '../support/backend-app.ts';
import type { Fault } from '../../stand-ins/supabase/stand-in.ts';
import { until } from '../support/until.ts';
import { privateCookie } from '../support/variant.ts';

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
    expect(answer.setCookies[0]).toMatch(/^sb-127-auth-token=base64-.+; Max-Age=34560000; Path=\/; /);
    expect(answer.setCookies[0]).toMatch(privateCookie);
    const session = await visitor.getJson('/auth/session');
    expect(session.json).toMatchObject({ authenticated: true, user: { email: ada.email, role: 'authenticated' } });
    expect(Object.keys(session.json)).toEqual(['authenticated', 'user']);
  });

  it('answers a form with 303, and a failed one with the form, keeping the email and not the password', async () => {
    await start();
    const visitor = app.visitor();
    const failed = await postForm(visitor, '/auth/login', { ...ada, password: 'guess <b>', returnTo: '/account' });
    expect(failed.status).toBe(401);
    expect(failed.text).toContain('value="ada@example.com"');
    expect(failed.text).toContain('name="returnTo" value="/account"');
    expect(failed.text).toContain('id="password-error">Incorrect email or password.</p>');
    expect(failed.text).not.toContain('guess');
    expect(failed.setCookies).toEqual([]);
    const done = await postForm(visitor, '/auth/login', { ...ada, returnTo: '/account' });
    expect([done.status, done.headers.location]).toEqual([303, '/account']);
  });

  it('answers the same for an unknown address and for a wrong password', async () => {
    await start();
    const visitor = app.visitor();
    const wrong = await visitor.postJson('/auth/login', { ...ada, password: 'wrong' });
    const unknown = await visitor.postJson('/auth/login', { email: 'unknown@example.com', password: 'wrong' });
    expect(wrong.status).toBe(401);
    expect(wrong.json.error).toMatchObject({ status: 401, code: 'invalid_credentials' });
    expect(unknown.text).toBe(wrong.text);
  });

  it('reports to the operators which claim of a new token was refused', async () => {
    await start({ standIn: { tokenClaims: { role: 'editor' } } });
    const answer = await app.visitor().postJson('/auth/login', ada);
    expect([answer.status, answer.json.error.code, answer.setCookies]).toEqual([502, 'token_rejected', []]);
    expect(app.events).toContainEqual({
      adapter: 'backend',
      type: 'sign_in_failed',
      code: 'token_rejected',
      reason: 'role',
    });
  });

  it.each([
    '//evil.example',
    'https://evil.example/',
    '/\\evil.example',
    '/auth/logout',
    '/auth/login?returnTo=/x',
    'x',
  ])('never redirects to %s', async (returnTo) => {
    await start();
    const answer = await app.visitor().postJson('/auth/login', { ...ada, returnTo });
    expect(answer.json).toEqual({ redirectTo: '/' });
  });

  it('reports an unconfirmed address, with a button to send the email again', async () => {
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

  it('passes on the captcha token, and reports that the backend wants another', async () => {
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
  ])('does not report a wrong password when the backend answers %s, but %i', async (fault, status, code) => {
    await start({ options: { timeoutMs: 1_000 } });
    app.supabase.fail('password', fault);
    const answer = await app.visitor().postJson('/auth/login', ada);
    expect([answer.status, answer.json.error.code]).toEqual([status, code]);
    if (status !== 502) expect(Number(answer.headers['retry-after'])).toBeGreaterThan(0);
    expect(answer.text).not.toContain('apikey');
    expect(app.supabase.calls('password')).toBe(1);
    if (status === 502) expect(app.eventTypes()).toContain('configuration_warning');
  });

  it('replaces any existing session, chunks and strays included', async () => {
    await start();
    const visitor = app.visitor();
    for (const name of ['.0', '.1', '.7']) visitor.cookies.set(app.cookieName + name, 'old');
    await visitor.postJson('/auth/login', ada);
    expect([...visitor.cookies.keys()]).toEqual([app.cookieName]);
    expect((await visitor.getJson('/auth/session')).status).toBe(200);
  });

  it.each([0, 3_700])('ends the previous session of another user, %i seconds old, at the backend too', async (age) => {
    await start();
    const visitor = await app.signedIn();
    const cookie = visitor.cookies.get(app.cookieName) ?? '';
    const { refresh_token } = JSON.parse(Buffer.from(cookie.slice('base64-'.length), 'base64url').toString());
    app.clock.advance(age * 1000);
    app.supabase.addUser({ email: 'grace@example.com', password: 'another good password' });
    await visitor.postJson('/auth/login', { email: 'grace@example.com', password: 'another good password' });
    await until(() => app.supabase.calls('logout') === 1);
    expect((await visitor.getJson('/auth/session')).json.user.email).toBe('grace@example.com');
    const refresh = async (): Promise<number> => {
      const answer = await fetch(`${app.supabase.url}/auth/v1/token?grant_type=refresh_token`, {
        method: 'POST',
        headers: { apikey: app.supabase.publishableKey, 'content-type': 'application/json' },
        body: JSON.stringify({ refresh_token }),
      });
      return answer.status;
    };
    // The call has arrived; its work may not be done yet.
    let status = await refresh();
    while (status === 200) status = await refresh();
    expect(status).toBe(400);
  });

  it('refuses a POST from another site, whichever header shows it', async () => {
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
