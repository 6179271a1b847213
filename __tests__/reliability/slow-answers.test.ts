import { adapters } from '../support/apps-under-test.ts';
import type { AppUnderTest } from '../support/apps-under-test.ts';
import { until } from '../support/until.ts';

const timeoutMs = 1_000;

describe.each(adapters)('$name with a provider that answers a refresh after timeoutMs', ({ start }) => {
  let app: AppUnderTest;
  beforeAll(async () => {
    app = await start({ options: { timeoutMs } });
  });
  afterAll(() => app.close());

  it('stops waiting, keeps the answer, and uses it for the next request', async () => {
    const visitor = await app.signedIn();
    app.expireTokens();
    app.forget();
    const gate = app.gate();
    const late = await visitor.getJson('/api/me');
    expect([late.status, late.setCookies]).toEqual([503, []]);
    await until(() => app.eventTypes().includes('refresh_failed'));
    gate.open();
    await until(() => app.eventTypes().includes('session_refreshed'));
    const next = await visitor.getJson('/api/me');
    expect([next.status, next.setCookies.length]).toEqual([200, 1]);
    expect((await visitor.getJson('/api/me')).status).toBe(200);
    expect(app.refreshes()).toHaveLength(1);
    expect(app.eventTypes()).toEqual(['refresh_failed', 'session_refreshed']);
  });

  it('lets later requests join the call in progress', async () => {
    const visitor = await app.signedIn();
    app.expireTokens();
    app.forget();
    const gate = app.gate();
    expect((await visitor.getJson('/api/me')).status).toBe(503);
    expect((await visitor.getJson('/api/me')).status).toBe(503);
    const joined = visitor.getJson('/api/me');
    gate.open();
    expect((await joined).status).toBe(200);
    expect(app.refreshes()).toHaveLength(1);
  });
});
