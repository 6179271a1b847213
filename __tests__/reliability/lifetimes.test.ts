import { adapters } from '../support/apps-under-test.ts';
import type { AppUnderTest } from '../support/apps-under-test.ts';
import { closeAfterEach } from '../support/close-after-each.ts';
import { startB2bApp } from '../support/b2b-app.ts';
import { until } from '../support/until.ts';
import type { B2bApp } from '../support/b2b-app.ts';

describe.each(adapters)('$name with a token that expires soon', ({ start }) => {
  let app: AppUnderTest;
  beforeEach(async () => {
    app = await start({ options: { timeoutMs: 800 } });
  });
  afterEach(() => app.close());

  it('renews ahead of time, and sends the cookie with this response or the next', async () => {
    const visitor = await app.signedIn();
    app.expireTokens(-20_000);
    app.forget();
    const answers = [];
    for (let time = 0; time < 2; time += 1) {
      answers.push(await visitor.getJson('/api/me'));
      await until(() => app.eventTypes().includes('session_refreshed'));
    }
    expect(answers.map(({ status }) => status)).toEqual([200, 200]);
    expect(answers.flatMap(({ setCookies }) => setCookies)).toHaveLength(1);
    expect(app.refreshes()).toHaveLength(1);
    expect(app.eventTypes()).not.toContain('cookie_lost');
  });

  it.each(['hang', 500, 'refuse'] as const)(
    'neither delays nor fails a valid token in an outage (%s)',
    async (fault) => {
      const visitor = await app.signedIn();
      app.expireTokens(-20_000);
      app.forget();
      app.fail('refresh', fault);
      for (let time = 0; time < 10; time += 1) {
        const answer = await visitor.getJson('/api/me');
        expect([answer.status, answer.setCookies]).toEqual([200, []]);
      }
      await until(() => app.eventTypes().includes('refresh_failed'));
      expect(app.refreshes().length).toBeLessThanOrEqual(2);
    },
  );
});

describe('b2bAuth with an absolute lifetime', () => {
  const closed = closeAfterEach();
  const sessionMaxAge = 1_000;

  async function asks(app: B2bApp, count: number) {
    const visitor = await app.signedIn();
    const statuses: number[] = [];
    for (let time = 0; time < count; time += 1) {
      statuses.push((await visitor.getJson('/api/me')).status);
      app.clock.advance(100_000);
    }
    return { visitor, statuses };
  }

  it.each([0, 10_000])('ends the session on time, whatever was refreshed (%d cached)', async (maxCachedSessions) => {
    const app = await closed(startB2bApp({ options: { sessionMaxAge, maxCachedSessions } }));
    app.workos.switches.accessTokenTtlSeconds = 350;
    const { visitor, statuses } = await asks(app, 11);
    expect(statuses).toEqual([...Array.from({ length: 10 }, () => 200), 401]);
    expect(visitor.cookies.size).toBe(0);
    expect(app.events.at(-1)).toMatchObject({ type: 'session_rejected', reason: 'session_max_age' });
  });

  it('keeps a session without a start time', async () => {
    const app = await closed(startB2bApp());
    const { statuses } = await asks(app, 11);
    expect(new Set(statuses)).toEqual(new Set([200]));
  });
});
