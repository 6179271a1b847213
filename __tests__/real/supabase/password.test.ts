import { postForm } from '../../support/backend-app.ts';
import { until } from '../../support/until.ts';
import { cookieName, sessionOf, startRealApp, useRealApp } from '../support/application.ts';
import { describeGoTrue } from '../support/describe-with.ts';
import { newUser } from '../support/project.ts';
import type { User } from '../support/project.ts';

describeGoTrue('sign-in with a password', () => {
  const real = useRealApp();
  let user: User;
  beforeAll(async () => {
    user = await real.project.addUser();
  });

  it('signs in, passes guards and shows the user', async () => {
    const visitor = real.app.visitor();
    expect((await visitor.get('/account?tab=1')).headers.location).toBe('/auth/login?returnTo=%2Faccount%3Ftab%3D1');
    const done = await postForm(visitor, '/auth/login', { ...user, returnTo: '/account?tab=1' });
    expect([done.status, done.headers.location]).toEqual([303, '/account?tab=1']);
    expect((await visitor.get('/account')).text).toBe('account');
    expect((await visitor.getJson('/auth/session')).json).toEqual({
      authenticated: true,
      user: {
        id: user.id,
        email: user.email,
        role: 'authenticated',
        isAnonymous: false,
        appMetadata: { provider: 'email', providers: ['email'] },
        userMetadata: expect.anything(),
      },
    });
    expect(real.app.eventTypes()).toEqual(['signed_in']);
  });

  it('answers a wrong password and an unknown address alike', async () => {
    const wrong = await real.app.visitor().postJson('/auth/login', { email: user.email, password: 'something else' });
    const unknown = await real.app.visitor().postJson('/auth/login', { ...newUser() });
    expect([wrong.status, wrong.json.error.code]).toEqual([401, 'invalid_credentials']);
    expect([unknown.status, unknown.json]).toEqual([wrong.status, wrong.json]);
  });

  it('makes no call to GoTrue for a valid session', async () => {
    const visitor = await real.app.signedIn(user);
    await visitor.getJson('/auth/session');
    const before = real.project.proxy.passed.length;
    expect((await visitor.getJson('/api/me')).json.user.id).toBe(user.id);
    const asked = real.project.proxy.passed.slice(before);
    expect(asked).toEqual([]);
  });

  it('ends the session at GoTrue when the user signs out', async () => {
    const visitor = await real.app.signedIn(user);
    const { refresh_token: token } = sessionOf(visitor);
    const done = await postForm(visitor, '/auth/logout', {});
    expect([done.status, done.headers.location]).toEqual([303, '/']);
    expect(visitor.cookies.has(cookieName)).toBe(false);
    expect(await real.project.refresh(token)).toMatchObject({ status: 400, body: { code: 'refresh_token_not_found' } });
  });

  it('ends other sessions of the user only with the scope "global"', async () => {
    const global = await startRealApp(real.project, { signOutScope: 'global' });
    const other = await real.app.signedIn(user);
    await (await real.app.signedIn(user)).postJson('/auth/logout');
    const { status, body } = await real.project.refresh(sessionOf(other).refresh_token);
    expect(status).toBe(200);
    await (await global.signedIn(user)).postJson('/auth/logout');
    expect((await real.project.refresh(body.refresh_token)).status).toBe(400);
    await global.close();
  });

  it('ends at GoTrue the session that another sign-in replaces', async () => {
    const visitor = await real.app.signedIn(user);
    const { refresh_token: token } = sessionOf(visitor);
    const other = await real.project.addUser();
    expect((await visitor.postJson('/auth/login', { ...other })).status).toBe(200);
    expect((await visitor.getJson('/auth/session')).json.user.id).toBe(other.id);
    await until(() => real.project.proxy.to('/logout').length > 0);
    expect((await real.project.refresh(token)).status).toBe(400);
  });

  it('answers 403 to a banned user', async () => {
    const banned = await real.project.addUser();
    await real.project.admin(`/admin/users/${banned.id}`, 'PUT', { ban_duration: '1h' });
    const answer = await real.app.visitor().postJson('/auth/login', { ...banned });
    expect([answer.status, answer.json.error.code]).toEqual([403, 'user_banned']);
  });
});
