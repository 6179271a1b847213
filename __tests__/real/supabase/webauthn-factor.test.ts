import { decodeJwt } from 'jose';
import { totp } from '../../../stand-ins/supabase/totp.ts';
import { postForm } from '../../support/backend-app.ts';
import type { Answer, Visitor } from '../../support/visitor.ts';
import { sessionOf, setSession, useRealApp } from '../support/application.ts';
import { describeOwnGoTrue } from '../support/describe-with.ts';
import { createSigningKey } from '../support/gotrue.ts';
import type { User } from '../support/project.ts';
import { addSecurityKey, webAuthnSettings } from '../support/security-key.ts';

/** The name that its owner gave it, by which the pages call it. */
const key = 'Blue key';
const lostFactor = /two-step sign-in is off/i;

describeOwnGoTrue('a security key, which the built-in pages cannot ask for,', () => {
  const real = useRealApp({
    gotrue: { keys: [createSigningKey('only')], settings: webAuthnSettings },
    guarded: {
      '/strict': { adapter: 'backend', aal: 'enrolled' },
      '/api/strict': { adapter: 'backend', aal: 'enrolled', credentials: ['cookie', 'bearer'] },
    },
  });

  const signInAtGoTrue = async ({ email, password }: User): Promise<any> =>
    (await real.project.ask('/token?grant_type=password', 'POST', { email, password })).body;

  const factorTypes = async (userId: string): Promise<readonly string[]> =>
    (await real.project.admin(`/admin/users/${userId}/factors`)).map((each: any) => each.factor_type).sort();

  async function keyHolder(name?: string) {
    const user = await real.project.addUser();
    const { access_token: token } = await signInAtGoTrue(user);
    const { session } = await addSecurityKey(real.project, token, name);
    return { user, session };
  }

  async function appAndKeyHolder() {
    const user = await real.project.addUser();
    const visitor = await real.app.signedIn(user);
    const { factorId, secret } = (await visitor.postJson('/auth/enroll', {})).json;
    await visitor.postJson('/auth/enroll', { factorId, code: totp(secret) });
    await addSecurityKey(real.project, sessionOf(visitor).access_token);
    return { user, appId: factorId, secret };
  }

  /** Follows redirects inside the application. */
  async function walk(visitor: Visitor, start: string) {
    const paths: string[] = [];
    for (let next = start; ;) {
      paths.push(new URL(next, real.app.origin).pathname);
      const { status, text, location } = await visitor.get(next);
      if (!location.startsWith(real.app.origin) || paths.length > 8) return { status, text, paths };
      next = location;
    }
  }

  it('is enrolled and used, as GoTrue sees it', async () => {
    const { user, session } = await keyHolder();
    expect(await factorTypes(user.id)).toEqual(['webauthn']);
    const visitor = real.app.visitor();
    setSession(visitor, session);
    expect((await visitor.getJson('/secure')).status).toBe(200);
  });

  it('keeps a password from being a whole sign-in: 422, no session, and the answer names it', async () => {
    const { user } = await keyHolder();
    const visitor = real.app.visitor();
    const answer = await visitor.postJson('/auth/login', user);
    const asked = answer.status === 200 ? await visitor.getJson(answer.json.redirectTo) : answer;
    expect([asked.status, asked.json.error.code]).toEqual([422, 'factor_unavailable']);
    expect((await visitor.getJson('/auth/session')).status).toBe(401);
    expect(sessionOf(visitor)).toBeUndefined();
  });

  it.each([
    ['Blue key', key],
    ['', 'Security key'],
  ])('is named (%j) on the page that ends such a sign-in, with a way on', async (name, shown) => {
    const { user } = await keyHolder(name);
    const visitor = real.app.visitor();
    const form = await postForm(visitor, '/auth/login', {
      email: user.email,
      password: user.password,
      returnTo: '/account',
    });
    const page = form.location === '' ? form : await walk(visitor, form.location);
    expect([page.status, page.text.includes(shown), lostFactor.test(page.text)]).toEqual([422, true, false]);
    expect(page.text).toMatch(/<a [^>]*href="[^"]*\/auth\/(login|logout)|<form/);
  });

  it.each([{ code: '000000' }, { code: '123456', returnTo: '/account' }, {}])(
    'is not replaced by any digits at the verification: %o',
    async (body) => {
      const { user } = await keyHolder();
      const visitor = real.app.visitor();
      await visitor.postJson('/auth/login', user);
      const answer = await visitor.postJson('/auth/verify', body);
      expect(answer.status).toBeGreaterThanOrEqual(400);
      expect(answer.status).toBeLessThan(500);
      expect([(await visitor.getJson('/auth/session')).status, sessionOf(visitor)]).toEqual([401, undefined]);
    },
  );

  it('keeps an aal1 bearer token and an aal1 cookie out of what asks for the enrolled level', async () => {
    const { user, session } = await keyHolder();
    const { access_token: token, ...rest } = await signInAtGoTrue(user);
    const call = (path: string, bearer: string): Promise<Answer> =>
      real.app.visitor().get(path, { headers: { authorization: `Bearer ${bearer}` } });
    expect((await call('/api/strict', session.access_token)).status).toBe(200);
    expect([401, 403]).toContain((await call('/api/strict', token)).status);
    const visitor = real.app.visitor();
    setSession(visitor, { ...rest, access_token: token });
    const answer = await visitor.getJson('/strict');
    expect([answer.status, answer.json.error.code]).toEqual([403, 'second_factor_required']);
  });

  it.each(['/secure', '/strict'])('leads an aal1 session at %s to one last page, not in circles', async (path) => {
    const { user } = await keyHolder();
    const visitor = real.app.visitor();
    setSession(visitor, await signInAtGoTrue(user));
    const end = await walk(visitor, path);
    expect(new Set(end.paths).size).toBe(end.paths.length);
    expect([end.status, end.text.includes(key), lostFactor.test(end.text)]).toEqual([422, true, false]);
  });

  it('beside an app is not needed: the app completes the sign-in', async () => {
    const { user, secret } = await appAndKeyHolder();
    expect(await factorTypes(user.id)).toEqual(['totp', 'webauthn']);
    const visitor = real.app.visitor();
    await visitor.postJson('/auth/login', user);
    const done = await visitor.postJson('/auth/verify', { code: totp(secret), returnTo: '/account' });
    expect([done.status, done.json]).toEqual([200, { redirectTo: '/account' }]);
    expect((await visitor.getJson('/strict')).status).toBe(200);
  });

  it('keeps the app beside it from being removed here, because the account could not sign in anymore', async () => {
    const { user, appId, secret } = await appAndKeyHolder();
    const visitor = real.app.visitor();
    await visitor.postJson('/auth/login', user);
    await visitor.postJson('/auth/verify', { code: totp(secret) });
    const refused = await visitor.postJson('/auth/enroll', { remove: appId });
    expect([refused.status, refused.json.error.code]).toEqual([422, 'factor_unavailable']);
    const page = await postForm(visitor, '/auth/enroll', { remove: appId, sure: 'yes' });
    expect([page.status, page.text.includes('only one that can be used here')]).toEqual([422, true]);
    expect(await factorTypes(user.id)).toEqual(['totp', 'webauthn']);
    expect((await visitor.getJson('/secure')).status).toBe(200);
  });

  it('still counts after the app was removed elsewhere: no aal1 session passes, and no page turns in circles', async () => {
    const { user, appId, secret } = await appAndKeyHolder();
    const visitor = real.app.visitor();
    await visitor.postJson('/auth/login', user);
    await visitor.postJson('/auth/verify', { code: totp(secret) });
    const { access_token: token, refresh_token: refreshToken } = sessionOf(visitor);
    expect((await real.project.ask(`/factors/${appId}`, 'DELETE', undefined, token)).status).toBe(200);
    expect(await factorTypes(user.id)).toEqual(['webauthn']);
    // GoTrue takes this session back to aal1, and the key is still there.
    const { body: lowered } = await real.project.refresh(refreshToken);
    expect(decodeJwt(lowered.access_token)['aal']).toBe('aal1');
    setSession(visitor, lowered);
    for (const path of ['/secure', '/strict']) {
      const end = await walk(visitor, path);
      expect([path, new Set(end.paths).size]).toEqual([path, end.paths.length]);
      expect([path, end.status, end.text.includes(key), lostFactor.test(end.text)]).toEqual([path, 422, true, false]);
    }
    const again = real.app.visitor();
    const answer = await again.postJson('/auth/login', user);
    const asked = answer.status === 200 ? await again.getJson(answer.json.redirectTo) : answer;
    expect([asked.status, asked.json.error.code, sessionOf(again)]).toEqual([422, 'factor_unavailable', undefined]);
  });
});
