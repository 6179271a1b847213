import { cookieName, expiry, sessionOf, startRealApp, useRealApp } from '../support/application.ts';
import { describeOwnGoTrue } from '../support/describe-with.ts';
import type { User } from '../support/project.ts';

describeOwnGoTrue('a project that signs with a shared secret', () => {
  const real = useRealApp({ gotrue: { settings: { GOTRUE_JWT_EXP: '4' } } });
  let user: User;
  beforeAll(async () => {
    user = await real.project.addUser();
  });

  it('verifies a token once', async () => {
    const visitor = await real.app.signedIn(user);
    for (let turn = 0; turn < 5; turn += 1) expect((await visitor.getJson('/api/me')).status).toBe(200);
    expect(real.project.proxy.to('/user').length).toBeLessThanOrEqual(1);
  });

  it.each([-300, 0, 300, 1_000, 3_000, 4_800, 6_000])(
    'keeps every session in a request %d ms after expiry, in a process that has not verified it yet',
    async (afterMs) => {
      const visitor = await real.app.signedIn(user);
      const fresh = await startRealApp(real.project);
      const moved = fresh.visitor();
      visitor.cookies.forEach((value, name) => moved.cookies.set(name, value));
      await expiry(visitor, afterMs);
      // GoTrue: GET /user 403 {"code":"bad_jwt","message":"… token has invalid claims: token is expired"}
      expect((await moved.getJson('/auth/session')).status).toBe(200);
      expect((await moved.getJson('/api/me')).status).toBe(200);
      await fresh.close();
    },
  );

  it('is trusted when it ended the session', async () => {
    const visitor = await real.app.signedIn(user);
    await real.project.ask('/logout?scope=local', 'POST', {}, sessionOf(visitor).access_token);
    await expiry(visitor);
    const answer = await visitor.getJson('/auth/session');
    expect([answer.status, visitor.cookies.has(cookieName)]).toEqual([401, false]);
  });

  it('keeps its sessions through an outage', async () => {
    const visitor = await real.app.signedIn(user);
    await expiry(visitor, 5_500);
    real.project.proxy.break(/./, { status: 503 });
    const during = await visitor.getJson('/auth/session');
    expect([during.status, during.setCookies]).toEqual([503, []]);
    real.project.proxy.heal();
    expect((await visitor.getJson('/auth/session')).status).toBe(200);
  });

  it('receives a sign-out, also after expiry', async () => {
    const visitor = await real.app.signedIn(user);
    const { refresh_token: token } = sessionOf(visitor);
    await expiry(visitor, 1_000);
    await visitor.postJson('/auth/logout');
    expect((await real.project.refresh(token)).status).toBe(400);
  });

  it('verifies unsigned tokens no more often than a shared allowance permits', async () => {
    const { access_token: token, ...session } = sessionOf(await real.app.signedIn(user));
    real.project.proxy.passed.splice(0);
    for (let turn = 0; turn < 30; turn += 1) {
      const forged = {
        ...session,
        access_token: `${token.slice(0, -6)}forged${turn}`,
        refresh_token: `made-up-${turn}`,
      };
      const visitor = real.app.visitor();
      visitor.cookies.set(cookieName, `base64-${Buffer.from(JSON.stringify(forged)).toString('base64url')}`);
      expect((await visitor.getJson('/auth/session')).status).not.toBe(200);
    }
    expect(real.project.proxy.passed.length).toBeLessThanOrEqual(10);
  });
});
