import { postForm } from '../../support/backend-app.ts';
import { until } from '../../support/until.ts';
import { cookieName, expiry, sessionOf, startRealApp, useRealApp } from '../support/application.ts';
import type { RealApp } from '../support/application.ts';
import { describeOwnGoTrue } from '../support/describe-with.ts';
import { createSigningKey } from '../support/gotrue.ts';
import type { Visitor } from '../../support/visitor.ts';

const keys = [createSigningKey('only')];
/** Long enough to be used, short enough to wait for. */
const settings = { GOTRUE_JWT_EXP: '4' };

/** The clock allowance is over by then: during an outage a token may be served for five seconds more. */
const afterAllowance = 5_500;

const refreshes = '/token?grant_type=refresh_token';

/** The same browser, at another process of the application. */
function movedTo(app: RealApp, visitor: Visitor): Visitor {
  const moved = app.visitor();
  visitor.cookies.forEach((value, name) => moved.cookies.set(name, value));
  return moved;
}

describeOwnGoTrue('renewal of a session', () => {
  const real = useRealApp({ gotrue: { keys, settings } });

  /** A visitor whose access token has just expired. */
  async function expired(afterMs?: number): Promise<Visitor> {
    const visitor = await real.app.signedIn(await real.project.addUser());
    await expiry(visitor, afterMs);
    real.project.proxy.passed.splice(0);
    real.app.events.splice(0);
    return visitor;
  }

  const renewals = (): number => real.project.proxy.to(refreshes).length;

  it('happens once for fifty requests at once, and for stragglers with the old cookie', async () => {
    const visitor = await expired();
    const straggler = movedTo(real.app, visitor);
    const answers = await Promise.all(Array.from({ length: 50 }, () => visitor.getJson('/api/me')));
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
    expect((await straggler.getJson('/api/me')).status).toBe(200);
    expect(renewals()).toBe(1);
    expect(real.app.eventTypes()).toEqual(['session_refreshed']);
  });

  it('continues for as long as the visitor comes back', async () => {
    const visitor = await expired();
    const tokens = new Set([sessionOf(visitor).refresh_token]);
    for (let turn = 0; turn < 3; turn += 1) {
      expect((await visitor.getJson('/auth/session')).status).toBe(200);
      tokens.add(sessionOf(visitor).refresh_token);
      await expiry(visitor);
    }
    expect(tokens.size).toBe(4);
  });

  it('waits for the end of an outage, and ends no session', async () => {
    const visitor = await expired(afterAllowance);
    real.project.proxy.break(/./, { status: 503 });
    const during = await visitor.getJson('/auth/session');
    expect([during.status, during.setCookies]).toEqual([503, []]);
    expect(Number(during.headers['retry-after'])).toBeGreaterThan(0);
    real.project.proxy.heal();
    expect((await visitor.getJson('/auth/session')).status).toBe(200);
  });

  it('survives a lost answer, although its token was used', async () => {
    const visitor = await expired();
    real.project.proxy.break(/refresh_token/, 'lost', 1);
    expect((await visitor.getJson('/auth/session')).status).toBe(200);
    await expiry(visitor);
    expect((await visitor.getJson('/auth/session')).status).toBe(200);
  });

  it('survives several lost answers', async () => {
    const visitor = await expired(afterAllowance);
    real.project.proxy.break(/refresh_token/, 'lost');
    expect((await visitor.getJson('/auth/session')).status).toBe(503);
    real.project.proxy.heal();
    expect((await visitor.getJson('/auth/session')).status).toBe(200);
  });

  it.each(['ban', 'delete', 'sign-out elsewhere'])('ends the session after a %s, with one call', async (end) => {
    const user = await real.project.addUser();
    const visitor = await real.app.signedIn(user);
    const client = movedTo(real.app, visitor);
    const { access_token: token } = sessionOf(visitor);
    if (end === 'ban') await real.project.admin(`/admin/users/${user.id}`, 'PUT', { ban_duration: '1h' });
    else if (end === 'delete') await real.project.admin(`/admin/users/${user.id}`, 'DELETE');
    else await real.project.ask('/logout?scope=local', 'POST', {}, token);
    await expiry(visitor);
    real.project.proxy.passed.splice(0);
    const answer = await visitor.getJson('/auth/session');
    expect([answer.status, visitor.cookies.has(cookieName)]).toEqual([401, false]);
    expect((await client.getJson('/auth/session')).status).toBe(401);
    expect(renewals()).toBe(1);
    expect(real.app.eventTypes()).toContain('session_ended');
  });

  it('does not undo a sign-out, even for a copied cookie', async () => {
    const visitor = await real.app.signedIn(await real.project.addUser());
    const copy = movedTo(real.app, visitor);
    await visitor.postJson('/auth/logout');
    expect((await copy.getJson('/auth/session')).status).toBe(401);
    await new Promise((resolve) => setTimeout(resolve, 4_500));
    expect((await copy.getJson('/auth/session')).status).toBe(401);
  });

  it('loses to a sign-out during the renewal', async () => {
    const visitor = await expired();
    const copy = movedTo(real.app, visitor);
    real.project.proxy.break(/refresh_token/, { delay: 1_000 }, 1);
    const renewed = copy.getJson('/auth/session');
    await until(() => renewals() === 1);
    expect((await visitor.postJson('/auth/logout')).status).toBe(200);
    await renewed;
    const { refresh_token: token } = sessionOf(copy) ?? { refresh_token: undefined };
    expect((await copy.getJson('/auth/session')).status).toBe(401);
    if (token !== undefined) expect((await real.project.refresh(token)).status).toBe(400);
  });

  it.each([300, 2_000, 6_000])('comes first if the user signs out %d ms after expiry', async (afterMs) => {
    const visitor = await real.app.signedIn(await real.project.addUser());
    const { refresh_token: token } = sessionOf(visitor);
    await expiry(visitor, afterMs);
    real.project.proxy.passed.splice(0);
    expect((await postForm(visitor, '/auth/logout', {})).status).toBe(303);
    // GoTrue: 403 {"code":"bad_jwt","message":"invalid JWT: unable to parse or verify signature, token has invalid claims: token is expired"}
    expect(real.project.proxy.to('/logout').map(({ status }) => status)).toEqual([204]);
    expect((await real.project.refresh(token)).status).toBe(400);
  });

  it.each([-300, 300, 2_000, 6_000])('comes first if the client is used %d ms after expiry', async (afterMs) => {
    const visitor = await expired(afterMs);
    const { data, error } = await real.app.asVisitor(visitor, (client) => client.auth.getUser());
    expect([typeof data.user?.id, error]).toEqual(['string', null]);
  });
});

describeOwnGoTrue('renewal by a slow backend', () => {
  const real = useRealApp({
    gotrue: { keys, settings: { GOTRUE_JWT_EXP: '12' } },
    options: { timeoutMs: 2_000 },
  });

  it('uses an answer that came after the request timed out', async () => {
    const visitor = await real.app.signedIn(await real.project.addUser());
    await expiry(visitor, afterAllowance);
    real.project.proxy.passed.splice(0);
    real.project.proxy.break(/refresh_token/, { delay: 4_500 }, 1);
    expect((await visitor.getJson('/auth/session')).status).toBe(503);
    expect((await visitor.getJson('/auth/session')).status).toBe(503);
    await new Promise((resolve) => setTimeout(resolve, 1_500));
    expect((await visitor.getJson('/auth/session')).status).toBe(200);
    expect(real.project.proxy.to(refreshes)).toHaveLength(1);
  });
});

describe.each([
  [0, '0'],
  [10, '0'],
  [10, '2'],
])('with a reuse interval of %d s and refresh tokens of version %s', (interval, version) => {
  describeOwnGoTrue('two processes that share nothing', () => {
    const real = useRealApp({
      gotrue: {
        keys,
        settings: {
          ...settings,
          GOTRUE_SECURITY_REFRESH_TOKEN_REUSE_INTERVAL: String(interval),
          // Signed tokens that count upwards, where older ones were rows of a table.
          GOTRUE_SECURITY_REFRESH_TOKEN_ALGORITHM_VERSION: version,
        },
      },
    });
    let other: RealApp;
    beforeAll(async () => {
      other = await startRealApp(real.project);
    });
    afterAll(() => other.close());

    it('both renew one session, one after the other', async () => {
      const visitor = await real.app.signedIn(await real.project.addUser());
      const moved = movedTo(other, visitor);
      await expiry(visitor);
      expect((await visitor.getJson('/auth/session')).status).toBe(200);
      expect((await moved.getJson('/auth/session')).status).toBe(200);
      await expiry(visitor);
      await expiry(moved);
      expect((await visitor.getJson('/auth/session')).status).toBe(200);
      expect((await moved.getJson('/auth/session')).status).toBe(200);
    });

    it('both renew one session at the same moment', async () => {
      const visitor = await real.app.signedIn(await real.project.addUser());
      const moved = movedTo(other, visitor);
      await expiry(visitor);
      const answers = await Promise.all([visitor, moved].map((each) => each.getJson('/auth/session')));
      expect(answers.map(({ status }) => status)).toEqual([200, 200]);
    });

    it('refuse a token that was used two renewals ago', async () => {
      const visitor = await real.app.signedIn(await real.project.addUser());
      const thief = movedTo(other, visitor);
      for (let turn = 0; turn < 3; turn += 1) {
        await expiry(visitor);
        expect((await visitor.getJson('/auth/session')).status).toBe(200);
      }
      // Longer than every reuse interval.
      await new Promise((resolve) => setTimeout(resolve, interval * 1000));
      const answer = await thief.getJson('/auth/session');
      expect([answer.status, thief.cookies.has(cookieName)]).toEqual([401, false]);
    });
  });
});
