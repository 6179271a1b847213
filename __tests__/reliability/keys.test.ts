import { randomUUID } from 'node:crypto';
import { decodeJwt } from 'jose';
import { sealData, unsealData } from 'iron-session';
import { adapters } from '../support/apps-under-test.ts';
import type { AppUnderTest } from '../support/apps-under-test.ts';
import { closeAfterEach } from '../support/close-after-each.ts';
import { startB2bApp, startProvider } from '../support/b2b-app.ts';
import type { B2bApp } from '../support/b2b-app.ts';
import { send } from '../support/visitor.ts';

const cooldownMs = 30_000;

describe.each(adapters)('$name and the provider’s keys', ({ start }) => {
  let app: AppUnderTest;
  beforeEach(async () => {
    app = await start({ options: { timeoutMs: 800 } });
  });
  afterEach(() => app.close());

  it('fetches them once for all requests, and not again for ten minutes', async () => {
    const visitor = await app.signedIn();
    for (let time = 0; time < 9; time += 1) {
      app.clock.advance(60_000);
      await visitor.getJson('/api/me');
    }
    expect(app.keyFetches()).toBe(1);
  });

  it('uses the cached ones for as long as they cannot be fetched', async () => {
    const visitor = await app.signedIn();
    app.fail('keys', 500);
    for (let hour = 0; hour < 5; hour += 1) {
      app.clock.advance(3_600_000);
      expect((await visitor.getJson('/api/me')).status).toBe(200);
    }
    expect(app.eventTypes()).toContain('keys_unavailable');
  });

  it('fetches a new key for the first token that names it', async () => {
    const visitor = await app.signedIn();
    app.expireTokens();
    app.forget();
    await app.rotateKeys({ keepOld: true });
    expect((await visitor.getJson('/api/me')).status).toBe(200);
    expect(app.keyFetches()).toBe(1);
  });

  it('keeps everyone signed in after a rotation, even if the cool-down prevents a fetch of the new key', async () => {
    const [first, second] = [await app.signedIn(), await app.otherSignedIn()];
    app.expireTokens();
    await app.rotateKeys({ keepOld: true });
    expect((await first.getJson('/api/me')).status).toBe(200);
    // The keys were fetched just now; the next token names one that was published since.
    await app.rotateKeys({ keepOld: true });
    app.forget();
    for (let time = 0; time < 3; time += 1) {
      const waiting = await second.getJson('/api/me');
      expect([waiting.status, waiting.headers['retry-after'], waiting.setCookies]).toEqual([503, '5', []]);
    }
    // The token came from the provider itself: it has to wait for a second, not for the cool-down that strangers meet.
    app.clock.advance(1_000);
    expect((await second.getJson('/api/me')).status).toBe(200);
    expect([app.refreshes().length, app.keyFetches()]).toEqual([1, 1]);
  });
});

describe('b2bAuth and the keys', () => {
  const closed = closeAfterEach();
  let app: B2bApp;
  beforeEach(async () => {
    app = await startB2bApp({ options: { maxCachedSessions: 0 } });
  });
  afterEach(() => app.close());

  interface Content {
    readonly accessToken: string;
  }

  /** The visitor's own session with another access token in it, sealed with the application's password. */
  async function sealedWith(cookie: string, kid: string, iat: number): Promise<string> {
    const password = app.cookiePassword;
    const content = await unsealData<Content>(cookie.slice('b2b-session='.length), { password });
    const accessToken = await app.workos.signToken({ ...decodeJwt(content.accessToken), iat }, { kid });
    return `b2b-session=${await sealData({ ...content, accessToken }, { password, ttl: 0 })}`;
  }

  it('fetches them once per cool-down, despite a thousand made-up key ids', async () => {
    const cookie = (await app.signedIn()).cookieHeader();
    const past = Math.floor(app.clock.now() / 1000) - 60;
    app.workos.clearRequests();
    const ask = async (): Promise<void> => {
      const made = await sealedWith(cookie, randomUUID(), past);
      await send(new URL('/whoami', app.origin), { headers: { cookie: made } });
    };
    for (let round = 0; round < 10; round += 1) await Promise.all(Array.from({ length: 100 }, ask));
    expect(app.workos.jwksCalls).toBe(0);
    app.clock.advance(cooldownMs);
    for (let round = 0; round < 3; round += 1) await Promise.all(Array.from({ length: 100 }, ask));
    expect(app.workos.jwksCalls).toBe(1);
  }, 60_000);

  it('are needed once: a start during their outage answers 503, keeps the session, and recovers', async () => {
    const provider = await closed(startProvider());
    const first = await closed(startB2bApp({ provider }));
    const visitor = await first.signedIn();
    const { cookiePassword } = first;
    const restarted = await closed(startB2bApp({ provider, options: { cookiePassword, timeoutMs: 800 } }));
    const ask = () =>
      send(new URL('/api/me', restarted.origin), {
        headers: { cookie: visitor.cookieHeader(), accept: 'application/json' },
      });
    provider.workos.switches.outage = { jwks: 'hang' };
    const answers = [await ask(), await ask()];
    for (const { status, headers, setCookies } of answers) {
      expect([status, Number(headers['retry-after']) > 0, setCookies]).toEqual([503, true, []]);
    }
    provider.workos.switches.outage = {};
    provider.clock.advance(5_000);
    expect((await ask()).status).toBe(200);
  });

  it('renews a session whose key the provider has withdrawn without notice', async () => {
    const visitor = await app.signedIn();
    app.clock.advance(cooldownMs + 6_000);
    await app.workos.rotateKeys({ dropOld: true });
    // Another user's new token makes the keys be fetched.
    await app.signedIn();
    app.clock.advance(cooldownMs);
    app.workos.clearRequests();
    expect((await visitor.getJson('/api/me')).status).toBe(200);
    expect(app.workos.tokenCalls).toBe(1);
    expect((await visitor.getJson('/api/me')).status).toBe(200);
    expect(app.workos.tokenCalls).toBe(1);
  });
});
