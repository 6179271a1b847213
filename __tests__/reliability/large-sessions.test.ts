import { adapters } from '../support/apps-under-test.ts';
import { until } from '../support/until.ts';
import type { AppUnderTest } from '../support/apps-under-test.ts';
import { createVisitor } from '../support/visitor.ts';

/** More than trimming can reduce below 12 KB. */
const tooLarge = 10_000;
/** How long the answer of a refresh is remembered. */
const memoMs = 25_000;

describe.each(adapters)('$name and a session that has become too large for its cookies', ({ start }) => {
  let app: AppUnderTest;
  beforeEach(async () => {
    app = await start();
  });
  afterEach(() => app.close());

  async function outgrown() {
    const visitor = await app.signedIn();
    const former = visitor.cookieHeader();
    app.growTokens(tooLarge);
    app.expireTokens();
    app.forget();
    return { visitor, former };
  }

  it('serves the request that renewed it, stores nothing of it, and reports it once', async () => {
    const { visitor, former } = await outgrown();
    const parallel = await Promise.all([1, 2, 3].map(() => visitor.getJson('/api/me')));
    expect(parallel.map(({ status }) => status)).toEqual([200, 200, 200]);
    expect(visitor.cookieHeader()).toBe('');
    expect(former).not.toBe('');
    expect(app.refreshes()).toHaveLength(1);
    expect(app.eventTypes()).toEqual(['session_too_large', 'session_refreshed']);
    const [event] = app.events;
    expect(event).toMatchObject({
      bytes: expect.any(Number),
      userId: expect.any(String),
      sessionId: expect.any(String),
    });
    expect(Reflect.get(event!, 'bytes')).toBeGreaterThan(12 * 1024);
  });

  it('keeps the site working: public pages, sign-out, and guards that ask to sign in', async () => {
    const { visitor } = await outgrown();
    await visitor.getJson('/api/me');
    expect((await visitor.get('/')).status).toBe(200);
    expect((await visitor.getJson('/api/me')).status).toBe(401);
    expect((await app.signOut(visitor)).status).toBeLessThan(400);
  });

  it('refuses the next sign-in with an explanation, and accepts it when the data has shrunk', async () => {
    const { visitor } = await outgrown();
    await visitor.getJson('/api/me');
    const refused = await app.signInAgain(visitor);
    expect(refused.status).toBe(422);
    expect(refused.text).toContain('session_too_large');
    expect(app.eventTypes().slice(-2)).toEqual(['session_too_large', 'sign_in_failed']);
    app.growTokens(0);
    expect((await app.signInAgain(visitor)).status).toBeLessThan(400);
    expect((await visitor.getJson('/api/me')).status).toBe(200);
  });

  it.each(['with', 'without'])(
    'ends for a browser that missed the deletion, %s a replay window, without a refresh each time',
    async (window) => {
      app.setReplayGrace(window === 'with');
      const { former } = await outgrown();
      const ask = { headers: { cookie: former, accept: 'application/json' } };
      const visitor = createVisitor(app.origin);
      const statuses: number[] = [];
      for (let minute = 0; minute < 3; minute += 1) {
        for (let request = 0; request < 4; request += 1) statuses.push((await visitor.get('/api/me', ask)).status);
        app.clock.advance(2 * memoMs);
      }
      expect(statuses.filter((status) => status !== 200 && status !== 401)).toEqual([]);
      expect(app.refreshes().length).toBeLessThanOrEqual(3);
    },
  );

  it('can sign out with the used cookie', async () => {
    const { visitor, former } = await outgrown();
    await visitor.getJson('/api/me');
    const straggler = createVisitor(app.origin);
    for (const pair of former.split('; ')) straggler.cookies.set(...(pair.split(/=(.*)/s, 2) as [string, string]));
    expect((await app.signOut(straggler)).status).toBeLessThan(400);
    expect(straggler.cookieHeader()).toBe('');
  });

  it('is refreshed ahead of time without a loop', async () => {
    await app.close();
    app = await start();
    const visitor = await app.signedIn();
    app.growTokens(tooLarge);
    app.expireTokens(-20_000);
    app.forget();
    expect((await visitor.getJson('/api/me')).status).toBe(200);
    await until(() => app.eventTypes().includes('session_refreshed'));
    await visitor.getJson('/api/me');
    await visitor.getJson('/api/me');
    expect(app.refreshes()).toHaveLength(1);
    expect(app.eventTypes().filter((type) => type === 'session_too_large')).toHaveLength(1);
  });
});
