import { getSession } from '../../lib/index.ts';
import { adapters } from '../support/apps-under-test.ts';
import type { AppUnderTest } from '../support/apps-under-test.ts';
import { sendJson } from '../support/hosts.ts';
import type { Host } from '../support/hosts.ts';
import type { Visitor } from '../support/visitor.ts';

const timeoutMs = 1_000;

/** Milliseconds that the token of the session has to live, as a handler sees it. */
function showLifetime(host: Host, now: () => number): void {
  host.get('/lifetime', (req, res, next) => {
    getSession(req).then((session) => sendJson(res, { ms: session === null ? null : session.expiresAt - now() }), next);
  });
}

describe.each(adapters)('$name with a token that is about to expire', ({ start }) => {
  let app: AppUnderTest;
  beforeAll(async () => {
    app = await start({
      options: { timeoutMs, refreshWindow: 0 },
      after: (host) => showLifetime(host, () => app.clock.now()),
    });
  });
  afterEach(() => app.heal());
  afterAll(() => app.close());

  async function withTokenThatLives(ms: number): Promise<Visitor> {
    const visitor = await app.signedIn();
    await visitor.getJson('/lifetime');
    app.expireTokens(-ms);
    app.forget();
    return visitor;
  }

  it.each([9_000, 1_000, 0, -1_000, -4_000])('renews it before it is used: %d ms left', async (ms) => {
    const visitor = await withTokenThatLives(ms);
    const answer = await visitor.getJson('/lifetime');
    expect([answer.status, answer.setCookies.length]).toEqual([200, 1]);
    expect(answer.json.ms).toBeGreaterThan(60_000);
    expect(app.refreshes()).toHaveLength(1);
  });

  it('keeps one with more than ten seconds left', async () => {
    const visitor = await withTokenThatLives(11_000);
    expect((await visitor.getJson('/lifetime')).setCookies).toEqual([]);
    expect(app.refreshes()).toEqual([]);
  });

  it.each(['refuse', 'hang', 429, 500] as const)(
    'serves it during an outage of the provider (%s), until five seconds after its expiry',
    async (fault) => {
      const visitor = await withTokenThatLives(9_000);
      app.fail('refresh', fault);
      for (const advanceMs of [0, 8_000, 5_000]) {
        app.clock.advance(advanceMs);
        expect((await visitor.getJson('/api/me')).status).toBe(200);
      }
      app.clock.advance(2_000);
      const after = await visitor.getJson('/api/me');
      expect([after.status, after.setCookies]).toEqual([503, []]);
    },
  );

  it('refuses one whose session has ended', async () => {
    const visitor = await app.signedIn();
    await app.revoke(visitor);
    app.expireTokens(-9_000);
    expect((await visitor.getJson('/api/me')).status).toBe(401);
  });
});
