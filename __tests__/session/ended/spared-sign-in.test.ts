import {
  storedOf,
  createMemoryApp,
  createMemoryBrowser,
  createMemoryProvider,
  createMemorySource,
  visit,
} from '../../support/memory-sessions.ts';
import type {
  MemoryApp,
  MemoryAppSetup,
  MemoryBrowser,
  MemoryContent,
  MemoryProvider,
  Pause,
} from '../../support/memory-sessions.ts';
import { createClock } from '../../support/clock.ts';
import type { Clock } from '../../support/clock.ts';
import { createShared } from '../../support/shared-memory.ts';
import type { SessionTarget } from '../../../lib/session/ended/records.ts';

/** A sign-in that an earlier `endSession` would concern by its times, and that is spared. */

const second = 1_700_000_000_000;
const at700 = () => createClock(second + 700);

/** A provider whose times are whole seconds. */
function createProvider(clock: Clock, pause?: Pause): MemoryProvider {
  return createMemoryProvider({ ...clock, now: () => Math.floor(clock.now() / 1000) * 1000 }, pause);
}

function createApp(): MemoryApp {
  const clock = at700();
  return createMemoryApp({ clock, provider: createProvider(clock) });
}

function issue({ provider }: MemoryApp, continued: Partial<MemoryContent> = {}): MemoryContent {
  return { ...provider.issue('ada'), ...continued };
}

/** Of a cookie that names the provider's start, as Supabase's. */
async function signIn(app: MemoryApp, continued?: Partial<MemoryContent>): Promise<MemoryBrowser> {
  const content = issue(app, continued);
  await app.resolver.beginSession(storedOf(content), { beganAt: content.beganAt, arrivedAt: app.clock.now() });
  return createMemoryBrowser(content);
}

/** @returns the refresh tokens that a request sends to the provider */
async function callsOf(app: MemoryApp, browser: MemoryBrowser): Promise<string[]> {
  const before = app.provider.calls.length;
  const resolution = await visit(app, browser.header());
  browser.receive(resolution);
  expect(resolution.session?.user.id).toBe('ada');
  return app.provider.calls.slice(before);
}

/** Two processes with one provider. */
function createTwo(setup: MemoryAppSetup = {}) {
  const clock = at700();
  const provider = createProvider(clock);
  const shared = createShared();
  const create = () => createMemoryApp({ clock, provider, shared, ...setup });
  return { shared, one: create(), two: create() };
}

const sessionId = 'session-ada';
const targets: SessionTarget[] = [{ userId: 'ada' }, { sessionId }];

describe('a sign-in that is spared uses its own token, also while the provider is down', () => {
  it.each<[string, (app: MemoryApp) => Promise<MemoryContent>]>([
    [
      'in the same second as endSession',
      async (app) => {
        await app.resolver.endSession({ userId: 'ada' });
        const content = issue(app);
        await app.resolver.beginSession(storedOf(content), { beganAt: content.beganAt, arrivedAt: app.clock.now() });
        return content;
      },
    ],
    [
      'within a minute after endSession of the same session',
      async (app) => {
        await app.resolver.endSession({ sessionId });
        app.clock.advance(30_000);
        const content = issue(app, { sessionId });
        return { ...content, beganAt: await app.resolver.beginSession(storedOf(content)) };
      },
    ],
    [
      'a day after endSession, if its token does not say when it began',
      async (app) => {
        await app.resolver.endSession({ userId: 'ada' });
        app.clock.advance(24 * 60 * 60_000);
        const content = issue(app);
        return { ...content, beganAt: await app.resolver.beginSession(storedOf(content), { beganAt: 0 }) };
      },
    ],
  ])('%s', async (_, complete) => {
    const app = createApp();
    const browser = createMemoryBrowser(await complete(app));
    app.provider.fault = 'outage';
    expect(await callsOf(app, browser)).toEqual([]);
    app.clock.advance(60_000);
    expect(await callsOf(app, browser)).toEqual([]);
  });

  it('in another process, even if nothing further reaches it', async () => {
    const { shared, one, two } = createTwo();
    await one.resolver.endSession({ userId: 'ada' });
    const merge = shared.merge.bind(shared);
    shared.merge = (...change) => {
      shared.merge = () => Promise.reject(new Error('down'));
      return merge(...change);
    };
    const browser = await signIn(one);
    one.provider.fault = 'outage';
    expect([await callsOf(two, browser), await callsOf(one, browser)]).toEqual([[], []]);
  });
});

describe('renewSession concerns it', () => {
  it.each(targets)('by %j after the sign-in, once', async (target) => {
    const app = createApp();
    await app.resolver.endSession({ userId: 'ada' });
    const browser = await signIn(app, { sessionId });
    await app.resolver.renewSession(target);
    expect(await callsOf(app, browser)).toEqual(['refresh-1']);
    expect(await callsOf(app, browser)).toEqual([]);
  });

  it.each(targets)('but not by %j before the sign-in, in the same minute, in any process', async (target) => {
    const { one, two } = createTwo();
    await one.resolver.renewSession(target);
    one.clock.advance(2_000);
    const browser = await signIn(two, { sessionId });
    expect([await callsOf(one, browser), await callsOf(two, browser)]).toEqual([[], []]);
  });

  it.each(targets)('by %j just before the sign-in is complete, as in onSignIn', async (target) => {
    const app = createApp();
    await app.resolver.endSession({ userId: 'ada' });
    const content = issue(app, { sessionId });
    const arrivedAt = app.clock.now();
    await app.resolver.renewSession(target);
    app.clock.advance(100);
    await app.resolver.beginSession(storedOf(content), { beganAt: content.beganAt, arrivedAt });
    const browser = createMemoryBrowser(content);
    expect(await callsOf(app, browser)).toEqual(['refresh-1']);
    expect(await callsOf(app, browser)).toEqual([]);
  });

  it.each(targets)('by %j although the provider’s clock is half a minute ahead', async (target) => {
    const app = createApp();
    await app.resolver.endSession({ sessionId });
    const browser = await signIn(app, { sessionId, beganAt: second + 30_000, issuedAt: second + 30_000 });
    app.clock.advance(1_000);
    await app.resolver.renewSession(target);
    expect(await callsOf(app, browser)).toEqual(['refresh-1']);
  });
});

it('its access token works as a bearer token', async () => {
  const clock = at700();
  const provider = createProvider(clock);
  const memory = createMemorySource(provider, clock);
  const { resolver, ...rest } = createMemoryApp({
    clock,
    provider,
    source: {
      async verifyBearer({ claims }, origin) {
        const content = { ...issued, issuedAt: Number(claims['iat']) * 1000 };
        return memory.verify(content, origin);
      },
    },
  });
  const app = { resolver, ...rest };
  await resolver.endSession({ userId: 'ada' });
  const issued = issue(app, { sessionId });
  const bearer = (iat: number): string => {
    const claims = { sub: 'ada', sid: sessionId, iat, exp: iat + 300 };
    return `e30.${Buffer.from(JSON.stringify(claims)).toString('base64url')}.AA`;
  };
  const sees = async (iat: number) => (await resolver.resolveBearer(bearer(iat), {}))?.user.id;
  await resolver.beginSession(storedOf(issued), { beganAt: 0 });
  expect(await sees(second / 1000)).toBe('ada');
  await resolver.endSession({ userId: 'ada' });
  expect(await sees(second / 1000)).toBeUndefined();
  await resolver.beginSession(storedOf(issue(app, { sessionId })), { beganAt: 0 });
  expect(await sees(second / 1000)).toBe('ada');
  clock.advance(1_000);
  await resolver.renewSession({ userId: 'ada' });
  expect(await sees(second / 1000)).toBeUndefined();
});
