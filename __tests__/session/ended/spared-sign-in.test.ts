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
  await app.resolver.beginSession(storedOf(content), { beganAt: content.beganAt });
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
        await app.resolver.beginSession(storedOf(content), { beganAt: content.beganAt });
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

describe('an earlier token of its session is renewed before use', () => {
  /** The earlier sign-in, and one with the same start and the same second that continues it after `endSession`. */
  async function continueAfter(app: MemoryApp, former: MemoryBrowser, other = app): Promise<MemoryBrowser> {
    await app.resolver.endSession({ userId: 'ada' });
    const next = await signIn(app, { sessionId });
    app.provider.fault = 'outage';
    await expect(visit(other, former.header())).rejects.toMatchObject({ code: 'provider_unavailable' });
    app.provider.fault = undefined;
    app.clock.advance(5_000);
    return next;
  }

  it('if the earlier sign-in was not spared', async () => {
    const app = createApp();
    const former = await signIn(app, { sessionId });
    expect(await callsOf(app, former)).toEqual([]);
    const next = await continueAfter(app, former);
    expect([await callsOf(app, next), await callsOf(app, former)]).toEqual([[], ['refresh-1']]);
    expect([await callsOf(app, next), await callsOf(app, former)]).toEqual([[], []]);
  });

  it('if the earlier sign-in was spared, too', async () => {
    const app = createApp();
    await app.resolver.endSession({ userId: 'ada' });
    const former = await signIn(app, { sessionId });
    expect(await callsOf(app, former)).toEqual([]);
    await continueAfter(app, former);
    expect(await callsOf(app, former)).toEqual(['refresh-1']);
  });

  it('if a refresh after renewSession issued it', async () => {
    const app = createApp();
    const former = await signIn(app, { sessionId });
    await app.resolver.renewSession({ userId: 'ada' });
    expect(await callsOf(app, former)).toEqual(['refresh-1']);
    await continueAfter(app, former);
    expect(await callsOf(app, former)).toEqual(['refresh-2']);
  });

  it('if it was issued after the sign-in’s own, and before endSession', async () => {
    const app = createApp();
    const former = await signIn(app, { sessionId });
    const next = issue(app, { sessionId });
    app.clock.advance(2_000);
    await app.resolver.renewSession({ userId: 'ada' });
    expect(await callsOf(app, former)).toEqual(['refresh-1']);
    await app.resolver.endSession({ userId: 'ada' });
    await app.resolver.beginSession(storedOf(next), { beganAt: next.beganAt });
    app.clock.advance(5_000);
    expect(await callsOf(app, former)).toEqual(['refresh-3']);
    expect(await callsOf(app, former)).toEqual([]);
  });

  it('once, also in the same second', async () => {
    const app = createApp();
    const former = await signIn(app, { sessionId });
    await app.resolver.endSession({ userId: 'ada' });
    await signIn(app, { sessionId });
    expect([await callsOf(app, former), await callsOf(app, former)]).toEqual([['refresh-1'], []]);
  });

  it('again if its renewal began before the sign-in', async () => {
    const clock = at700();
    const answer = Promise.withResolvers<undefined>();
    const asked = Promise.withResolvers<undefined>();
    let isSlow = false;
    const provider = createProvider(clock, async (what) => {
      if (what !== 'answer' || !isSlow) return;
      isSlow = false;
      asked.resolve(undefined);
      await answer.promise;
    });
    const app = createMemoryApp({ clock, provider });
    const former = await signIn(app, { sessionId });
    await app.resolver.renewSession({ userId: 'ada' });
    isSlow = true;
    const slow = callsOf(app, former);
    await asked.promise;
    await app.resolver.endSession({ userId: 'ada' });
    await signIn(app, { sessionId });
    answer.resolve(undefined);
    expect(await slow).toEqual(['refresh-1', 'refresh-2']);
    expect(await callsOf(app, former)).toEqual([]);
  });

  it('in another process', async () => {
    const { one, two } = createTwo();
    const former = await signIn(one, { sessionId });
    expect(await callsOf(two, former)).toEqual([]);
    await one.resolver.endSession({ userId: 'ada' });
    one.clock.advance(5_001);
    const next = await signIn(one, { sessionId, beganAt: second, issuedAt: second });
    expect([await callsOf(two, next), await callsOf(two, former)]).toEqual([[], ['refresh-1']]);
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

  it.each(targets)('by %j just before the sign-in is complete, as in onSignIn', async (target) => {
    const app = createApp();
    await app.resolver.endSession({ userId: 'ada' });
    const content = issue(app, { sessionId });
    await app.resolver.renewSession(target);
    app.clock.advance(100);
    await app.resolver.beginSession(storedOf(content), { beganAt: content.beganAt });
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

it('its access token works as a bearer token, also where an earlier sign-in of the same second was spared', async () => {
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
  expect([await sees(second / 1000), await sees(second / 1000 - 1)]).toEqual(['ada', undefined]);
  clock.advance(1_000);
  await resolver.renewSession({ userId: 'ada' });
  expect(await sees(second / 1000)).toBeUndefined();
});
