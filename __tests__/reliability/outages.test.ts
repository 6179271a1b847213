import { adapters, outages } from '../support/apps-under-test.ts';
import type { AppUnderTest, Fault } from '../support/apps-under-test.ts';
import { until } from '../support/until.ts';

const timeoutMs = 1_500;

describe.each(adapters)('$name in an outage', ({ start }) => {
  let app: AppUnderTest;
  beforeAll(async () => {
    app = await start({ options: { timeoutMs } });
  });
  afterEach(() => {
    app.heal();
    app.setReplayGrace(false);
  });
  afterAll(() => app.close());

  const failures = (): string[] => app.eventTypes().filter((type) => type === 'refresh_failed');

  describe.each(outages)('(%s)', (fault: Fault) => {
    it('serves valid tokens without a call to the provider', async () => {
      const visitor = await app.signedIn();
      app.forget();
      app.fail('refresh', fault);
      expect((await visitor.getJson('/api/me')).status).toBe(200);
      expect(app.refreshes()).toEqual([]);
    });

    it('answers 503 with Retry-After for an expired one, and restores the session afterwards', async () => {
      const visitor = await app.signedIn();
      const cookies = visitor.cookieHeader();
      app.expireTokens();
      app.forget();
      // An answer that breaks off may have used the token.
      app.setReplayGrace(fault === 'reset');
      app.fail('refresh', fault);
      const api = await visitor.getJson('/api/me');
      expect([api.status, api.json.error.code]).toEqual([503, 'provider_unavailable']);
      expect(Number(api.headers['retry-after'])).toBeGreaterThan(0);
      const page = await visitor.get('/api/me');
      expect([page.status, page.headers['content-type']]).toEqual([503, 'text/html; charset=utf-8']);
      expect([...api.setCookies, ...page.setCookies]).toEqual([]);
      expect(app.eventTypes()).toContain('refresh_failed');
      expect(app.eventTypes()).not.toContain('session_rejected');
      // A request that joins a refresh just before its time limit fails with it.
      if (fault === 'hang') await until(() => failures().length >= app.refreshes().length);
      app.heal();
      expect(visitor.cookieHeader()).toBe(cookies);
      const after = await visitor.getJson('/api/me');
      expect([after.status, after.setCookies.length]).toEqual([200, 1]);
    });
  });

  it('retries a lost answer once, with the same token', async () => {
    const visitor = await app.signedIn();
    app.expireTokens();
    app.forget();
    app.setReplayGrace(true);
    app.fail('refresh', 'lost', 1);
    expect((await visitor.getJson('/api/me')).status).toBe(200);
    const [first, second, ...others] = app.refreshes();
    expect([second, others]).toEqual([first, []]);
    expect((await visitor.getJson('/api/me')).status).toBe(200);
  });

  it('stops after the second lost answer, and gets the tokens with the next request', async () => {
    const visitor = await app.signedIn();
    app.expireTokens();
    app.forget();
    app.setReplayGrace(true);
    app.fail('refresh', 'lost', 2);
    expect((await visitor.getJson('/api/me')).status).toBe(503);
    expect((await visitor.getJson('/api/me')).status).toBe(200);
    expect(new Set(app.refreshes()).size).toBe(1);
  });

  it('calls the provider once for all waiting requests', async () => {
    const visitor = await app.signedIn();
    app.expireTokens();
    app.forget();
    app.fail('refresh', 'hang');
    const answers = await Promise.all(Array.from({ length: 20 }, () => visitor.getJson('/api/me')));
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([503]));
    expect(app.refreshes()).toHaveLength(1);
  });

  it('lets a visitor sign out, which needs no provider', async () => {
    const visitor = await app.signedIn();
    app.expireTokens();
    app.fail('refresh', 'hang');
    await app.signOut(visitor);
    expect(visitor.cookies.size).toBe(0);
  });
});

describe.each(adapters)('$name with no server at the provider’s address', ({ start }) => {
  let app: AppUnderTest;
  beforeAll(async () => {
    app = await start({ options: { timeoutMs } });
  });
  afterAll(() => app.close());

  it('serves valid tokens, and answers 503 for expired ones', async () => {
    const visitor = await app.signedIn();
    await visitor.getJson('/api/me');
    await app.stopProvider();
    expect((await visitor.getJson('/api/me')).status).toBe(200);
    app.expireTokens();
    const answer = await visitor.getJson('/api/me');
    expect([answer.status, answer.headers['retry-after'], answer.setCookies]).toEqual([503, '5', []]);
  });
});
