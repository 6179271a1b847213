import { adapters } from '../support/apps-under-test.ts';
import type { AppUnderTest } from '../support/apps-under-test.ts';
import { until } from '../support/until.ts';

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
