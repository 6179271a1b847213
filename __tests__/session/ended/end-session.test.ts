import { jest } from '@jest/globals';
import {
  storedOf,
  createMemoryApp,
  createMemoryBrowser,
  createMemoryProvider,
  tokenLifetimeMs,
  visit,
} from '../../support/memory-sessions.ts';
import type { MemoryApp, MemoryAppSetup, MemoryBrowser, MemoryContent } from '../../support/memory-sessions.ts';
import { createClock } from '../../support/clock.ts';
import { createShared } from '../../support/shared-memory.ts';
import type { SharedCoordinator } from '../../../lib/session/coordinator.ts';

const encode = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url');
const bearerToken = (claims: object): string => `e30.${encode(claims)}.AA`;

const seesWhom = async (app: MemoryApp, browser: MemoryBrowser): Promise<string | undefined> => {
  const resolution = await visit(app, browser.header());
  browser.receive(resolution);
  return resolution.session?.user.id;
};

/** A sign-in as an adapter completes it. */
async function signIn({ resolver, provider }: MemoryApp, userId: string): Promise<MemoryBrowser> {
  const content = provider.issue(userId);
  return createMemoryBrowser({ ...content, beganAt: await resolver.beginSession(storedOf(content)) });
}

describe('endSession', () => {
  it('ends one session by its id, at once, and clears its cookie', async () => {
    const app = createMemoryApp();
    const content = app.provider.issue('ada');
    const browser = createMemoryBrowser(content);
    const other = await signIn(app, 'ada');
    expect(await seesWhom(app, browser)).toBe('ada');
    app.clock.advance(1);
    await app.resolver.endSession({ sessionId: content.sessionId });
    expect(app.resolver.cachedSession(browser.header())).toBeUndefined();
    expect(await seesWhom(app, browser)).toBeUndefined();
    expect(browser.cookie).toBeUndefined();
    expect(app.events).toContainEqual({ type: 'session_rejected', reason: 'ended' });
    expect(await seesWhom(app, other)).toBe('ada');
    expect(app.provider.calls).toEqual([]);
  });

  it('ends the sessions of a user that began before, not those of others, and none that begins after, within the same millisecond', async () => {
    const app = createMemoryApp();
    const before = [await signIn(app, 'ada'), await signIn(app, 'ada')];
    const grace = await signIn(app, 'grace');
    for (const browser of [...before, grace]) await seesWhom(app, browser);
    await app.resolver.endSession({ userId: 'ada' });
    const after = await signIn(app, 'ada');
    for (const browser of before) expect(await seesWhom(app, browser)).toBeUndefined();
    expect(await seesWhom(app, grace)).toBe('grace');
    expect(await seesWhom(app, after)).toBe('ada');
    expect(await seesWhom(app, after)).toBe('ada');
    await app.resolver.endSession({ userId: 'ada' });
    await app.resolver.endSession({ userId: 'ada' });
    expect(await seesWhom(app, await signIn(app, 'ada'))).toBe('ada');
    app.clock.advance(1);
    await app.resolver.endSession({ userId: 'ada' });
    expect(await seesWhom(app, after)).toBeUndefined();
  });

  it('distinguishes sessions that began one second apart if only the provider knows when', async () => {
    const app = createMemoryApp({ clock: createClock(1_700_000_000_700) });
    const second = 1_700_000_000_000;
    const signInAtProvider = async (isOurs: boolean): Promise<MemoryBrowser> => {
      const content = { ...app.provider.issue('ada'), beganAt: second };
      if (isOurs) await app.resolver.beginSession(storedOf(content), { beganAt: second });
      return createMemoryBrowser(content);
    };
    const before = await signInAtProvider(true);
    expect(await seesWhom(app, before)).toBe('ada');
    await app.resolver.endSession({ userId: 'ada' });
    const after = await signInAtProvider(true);
    expect(await seesWhom(app, before)).toBeUndefined();
    expect(await seesWhom(app, after)).toBe('ada');
    app.clock.advance(1);
    await app.resolver.endSession({ userId: 'ada' });
    expect(await seesWhom(app, after)).toBeUndefined();
  });

  it('ends a session whose token has expired without using its refresh token', async () => {
    const app = createMemoryApp();
    const browser = await signIn(app, 'ada');
    await app.resolver.endSession({ userId: 'ada' });
    app.clock.advance(tokenLifetimeMs);
    expect(await seesWhom(app, browser)).toBeUndefined();
    expect(app.provider.calls).toEqual([]);
  });

  it('for the user ends a session that was signed in again right after endSession for the session', async () => {
    const app = createMemoryApp();
    const content = app.provider.issue('ada');
    const old = createMemoryBrowser({ ...content, beganAt: await app.resolver.beginSession(storedOf(content)) });
    app.clock.advance(10_000);
    await app.resolver.endSession({ sessionId: content.sessionId });
    app.clock.advance(2_000);
    const again = { ...app.provider.issue('ada'), sessionId: content.sessionId };
    const browser = createMemoryBrowser({ ...again, beganAt: await app.resolver.beginSession(storedOf(again)) });
    expect([await seesWhom(app, browser), await seesWhom(app, old)]).toEqual(['ada', undefined]);
    app.clock.advance(3_000);
    await app.resolver.endSession({ userId: 'ada' });
    expect(await seesWhom(app, browser)).toBeUndefined();
  });

  it.each([{ userId: 'ada' }, { sessionId: 'session-ada-0' }])(
    'by %j wins over a refresh in progress',
    async (target) => {
      const held = Promise.withResolvers<undefined>();
      const app = createMemoryApp({ pause: (what) => (what === 'answer' ? held.promise : Promise.resolve()) });
      const browser = await signIn(app, 'ada');
      app.clock.advance(tokenLifetimeMs);
      const visiting = visit(app, browser.header());
      while (app.provider.calls.length === 0) await new Promise((resolve) => setImmediate(resolve));
      await app.resolver.endSession(target);
      held.resolve(undefined);
      const { session, cookies } = await visiting;
      expect(session).toBeNull();
      expect(cookies).toEqual([{ name: 'memory', value: undefined }]);
    },
  );

  it('withholds a renewed cookie from a response whose head is not sent yet', async () => {
    const app = createMemoryApp();
    const browser = await signIn(app, 'ada');
    app.clock.advance(tokenLifetimeMs);
    const { session, isCurrent } = await visit(app, browser.header());
    expect([session?.user.id, isCurrent?.()]).toEqual(['ada', true]);
    await app.resolver.endSession({ userId: 'ada' });
    expect(isCurrent?.()).toBe(false);
  });

  it('keeps the cached sessions of other users', async () => {
    const steps: string[] = [];
    const app = createMemoryApp({ pause: async (what) => void steps.push(what) });
    const grace = await signIn(app, 'grace');
    await seesWhom(app, grace);
    await app.resolver.endSession({ userId: 'ada' });
    steps.length = 0;
    expect(await seesWhom(app, grace)).toBe('grace');
    expect(steps).toEqual([]);
  });

  it('is remembered for the 100,000 latest sessions and users', async () => {
    const app = createMemoryApp();
    const [grace, ada] = [await signIn(app, 'grace'), await signIn(app, 'ada')];
    for (const userId of ['grace', 'ada']) await app.resolver.endSession({ userId });
    for (let user = 1; user < 100_000; user += 1) await app.resolver.endSession({ userId: `user-${user}` });
    expect(await seesWhom(app, ada)).toBeUndefined();
    expect(await seesWhom(app, grace)).toBe('grace');
  }, 60_000);
});

describe('renewSession', () => {
  it('makes the next request refresh, once for all simultaneous ones, and no later request', async () => {
    const app = createMemoryApp();
    const browser = await signIn(app, 'ada');
    await seesWhom(app, browser);
    await app.resolver.renewSession({ userId: 'ada' });
    const old = browser.header();
    const all = await Promise.all(Array.from({ length: 20 }, () => visit(app, old)));
    expect(all.map(({ session }) => session?.accessToken)).toEqual(all.map(() => 'access for refresh-2'));
    expect(app.provider.calls).toEqual(['refresh-1']);
    browser.receive(all[0]!);
    for (let again = 0; again < 3; again += 1) expect(await seesWhom(app, browser)).toBe('ada');
    // A straggler with the old cookie never sees the old claims again.
    expect((await visit(app, old)).session?.accessToken).toBe('access for refresh-2');
    expect(app.provider.calls).toEqual(['refresh-1']);
  });

  it('also renews what a provider issued whose clock is ahead, once', async () => {
    const clock = createClock();
    const provider = createMemoryProvider({ ...clock, now: () => clock.now() + 30_000 });
    const app = createMemoryApp({ clock, provider });
    const browser = await signIn(app, 'ada');
    await seesWhom(app, browser);
    await app.resolver.renewSession({ userId: 'ada' });
    for (let again = 0; again < 3; again += 1) expect(await seesWhom(app, browser)).toBe('ada');
    expect(provider.calls).toEqual(['refresh-1']);
  });

  it('refreshes again for every further call, even if the last refresh is cached', async () => {
    const app = createMemoryApp();
    const browser = await signIn(app, 'ada');
    const old = browser.header();
    await app.resolver.renewSession({ userId: 'ada' });
    expect((await visit(app, old)).session?.accessToken).toBe('access for refresh-2');
    app.clock.advance(1_000);
    await app.resolver.renewSession({ sessionId: 'session-ada-0' });
    expect((await visit(app, old)).session?.accessToken).toBe('access for refresh-3');
    expect(app.provider.calls).toEqual(['refresh-1', 'refresh-2']);
  });

  it('returns no old claims during an outage of the provider, and keeps the session', async () => {
    const app = createMemoryApp();
    const browser = await signIn(app, 'ada');
    await seesWhom(app, browser);
    await app.resolver.renewSession({ userId: 'ada' });
    app.provider.fault = 'outage';
    await expect(visit(app, browser.header())).rejects.toMatchObject({ code: 'provider_unavailable' });
    app.provider.fault = undefined;
    app.clock.advance(5_000);
    expect(await seesWhom(app, browser)).toBe('ada');
  });

  it('keeps the sessions of other users', async () => {
    const app = createMemoryApp();
    const grace = await signIn(app, 'grace');
    await seesWhom(app, grace);
    await app.resolver.renewSession({ userId: 'ada' });
    expect(app.resolver.cachedSession(grace.header())?.user.id).toBe('grace');
  });

  it('ends the session if the provider reports that it has ended', async () => {
    const app = createMemoryApp();
    const content = app.provider.issue('ada');
    const browser = createMemoryBrowser(content);
    app.provider.revoke(content.sessionId);
    await app.resolver.renewSession({ sessionId: content.sessionId });
    expect(await seesWhom(app, browser)).toBeUndefined();
    expect(browser.cookie).toBeUndefined();
  });

  it('refuses a bearer token that was issued before, and accepts one that was issued after', async () => {
    const { clock, resolver } = createMemoryApp({
      source: {
        verifyBearer: ({ text, claims }) => {
          const { sub, exp, iat } = claims as { readonly sub: string; readonly exp: number; readonly iat: number };
          const user = { id: sub, email: '' };
          const [adapter, credential] = ['b2b', 'bearer'] as const;
          const session = {
            adapter,
            credential,
            user,
            accessToken: text,
            claims: { sub, exp, iat },
            expiresAt: exp * 1000,
          };
          return Promise.resolve({ kind: 'live', session });
        },
      },
    });
    const seesBearer = async (token: string) => (await resolver.resolveBearer(token, {}))?.user.id;
    const issue = (sub: string): string => {
      const iat = Math.floor(clock.now() / 1000);
      return bearerToken({ sub, sid: 'session', iat, exp: iat + 300 });
    };
    const [before, other] = [issue('ada'), issue('grace')];
    const iat = Math.floor(clock.now() / 1000);
    const unseen = bearerToken({ sub: 'ada', sid: 'session', iat, exp: iat + 299 });
    expect([await seesBearer(before), await seesBearer(other)]).toEqual(['ada', 'grace']);
    await resolver.renewSession({ userId: 'ada' });
    expect([await seesBearer(before), await seesBearer(other)]).toEqual([undefined, 'grace']);
    expect(await seesBearer(unseen)).toBeUndefined();
    expect((await resolver.resolveBearer(unseen, {}, { takesStale: true }))?.user.id).toBe('ada');
    // Whole seconds do not tell whether a token of this second still has the old claims.
    clock.advance(999 - (clock.now() % 1_000));
    expect(await seesBearer(issue('ada'))).toBeUndefined();
    clock.advance(1);
    expect([await seesBearer(before), await seesBearer(issue('ada'))]).toEqual([undefined, 'ada']);
  });
});

describe('in several processes', () => {
  const createTwo = (shared: SharedCoordinator, source: MemoryAppSetup['source'] = {}) => {
    const clock = createClock();
    const provider = createMemoryProvider(clock);
    const create = () => createMemoryApp({ clock, provider, shared, source });
    return [create(), create()] as const;
  };

  it.each([{ userId: 'ada' }, { sessionId: 'session-ada-0' }])(
    'endSession by %j takes effect within five seconds',
    async (target) => {
      const [one, two] = createTwo(createShared());
      const browser = await signIn(one, 'ada');
      const visitor = createMemoryBrowser();
      visitor.cookie = browser.cookie;
      expect(await seesWhom(two, visitor)).toBe('ada');
      await one.resolver.endSession(target);
      two.clock.advance(5_001);
      expect(await seesWhom(two, visitor)).toBeUndefined();
      expect(await seesWhom(two, await signIn(two, 'ada'))).toBe('ada');
      expect(await seesWhom(one, await signIn(two, 'ada'))).toBe('ada');
    },
  );

  it.each([{ userId: 'ada' }, { sessionId: 'session-ada-0' }])(
    'endSession by %j stays in effect while browsers keep the cookie, even in a process that starts then',
    async (target) => {
      const clock = createClock();
      const provider = createMemoryProvider(clock);
      const shared = createShared(clock.now);
      const create = () => createMemoryApp({ clock, provider, shared });
      const one = create();
      const { cookie } = await signIn(one, 'ada');
      await one.resolver.endSession(target);
      clock.advance(399 * 24 * 60 * 60_000);
      const browser = createMemoryBrowser();
      browser.cookie = cookie;
      expect(await seesWhom(create(), browser)).toBeUndefined();
      expect(provider.calls).toEqual([]);
    },
  );

  it('a bearer token that is not verified causes no call of the coordinator', async () => {
    const shared = createShared();
    const { resolver } = createMemoryApp({ shared });
    const token = bearerToken({ sub: 'ada', sid: 'session', iat: 1, exp: 9_999_999_999 });
    expect(await resolver.resolveBearer(token, {})).toBeUndefined();
    expect(shared.lookUps).toBe(0);
  });

  it.each(['invalid', 'unverifiable'] as const)(
    'an invented cookie causes no more calls of the coordinator than of the provider (%s)',
    async (kind) => {
      const clock = createClock();
      const provider = createMemoryProvider(clock);
      const shared = createShared();
      const verify = () => Promise.resolve({ kind, reason: 'signature' });
      const app = createMemoryApp({ clock, provider, shared, source: { isSealed: false, verify } });
      for (let request = 0; request < 30; request += 1) {
        const made = createMemoryBrowser({ ...provider.issue('eve'), refreshToken: `made-up-${request}` });
        await visit(app, made.header()).catch(() => undefined);
      }
      const calls = kind === 'invalid' ? 0 : 10;
      expect(provider.calls).toHaveLength(calls);
      expect(shared.lookUps).toBe(calls * 2);
    },
  );

  it('a refresh token that is known to be invalid causes no call of the coordinator', async () => {
    const clock = createClock();
    const provider = createMemoryProvider(clock);
    const shared = createShared();
    const verify = () => Promise.resolve({ kind: 'unverifiable' } as const);
    const app = createMemoryApp({ clock, provider, shared, source: { isSealed: false, verify } });
    const made = { ...provider.issue('eve'), refreshToken: 'made-up' };
    expect(await seesWhom(app, createMemoryBrowser(made))).toBeUndefined();
    const first = shared.lookUps;
    for (let request = 0; request < 30; request += 1) {
      expect(await seesWhom(app, createMemoryBrowser(made))).toBeUndefined();
    }
    expect([provider.calls, shared.lookUps]).toEqual([['made-up'], first]);
  });

  it('a session of an unsealed cookie that ended elsewhere causes no call of the provider', async () => {
    const clock = createClock();
    const provider = createMemoryProvider(clock);
    const shared = createShared();
    const verify = () => Promise.resolve({ kind: 'unverifiable' } as const);
    const one = createMemoryApp({ clock, provider, shared });
    const two = createMemoryApp({ clock, provider, shared, source: { isSealed: false, verify } });
    const browser = await signIn(one, 'ada');
    await one.resolver.endSession({ userId: 'ada' });
    expect(await seesWhom(two, browser)).toBeUndefined();
    expect([provider.calls, browser.cookie]).toEqual([[], undefined]);
    expect(two.events).toEqual([{ type: 'session_rejected', reason: 'ended' }]);
  });

  it.each([true, false])('a sign-in in another process works within the same second (sealed: %s)', async (isSealed) => {
    const [one, two] = createTwo(createShared(), { isSealed });
    await one.resolver.endSession({ userId: 'ada' });
    const browser = await signIn(two, 'ada');
    expect(await seesWhom(one, browser)).toBe('ada');
    const second = Math.floor(one.clock.now() / 1000) * 1000;
    const content = { ...one.provider.issue('ada'), beganAt: second };
    await two.resolver.beginSession(storedOf(content), { beganAt: second });
    expect(await seesWhom(one, createMemoryBrowser(content))).toBe('ada');
  });

  it('requests at the same time share a look-up, and a later question gets an answer newer than itself', async () => {
    const clock = createClock();
    const provider = createMemoryProvider(clock);
    const shared = createShared();
    const [one, two] = [createMemoryApp({ clock, provider, shared }), createMemoryApp({ clock, provider, shared })];
    const content = provider.issue('ada');
    const browser = createMemoryBrowser({ ...content, beganAt: await one.resolver.beginSession(storedOf(content)) });
    const arrived = Promise.withResolvers<undefined>();
    shared.heldBy = arrived.promise;
    const before = shared.lookUps;
    const reads = [visit(two, browser.header()), visit(two, browser.header()), visit(two, browser.header())];
    await new Promise((resolve) => setImmediate(resolve));
    expect(shared.lookUps - before).toBe(2);
    await one.resolver.signOut(browser.header());
    shared.heldBy = undefined;
    expect(await two.resolver.signOutOf(content.sessionId)).toBe('signed_out');
    arrived.resolve(undefined);
    // What the later question brought counts for the earlier one, too.
    expect((await Promise.all(reads)).map(({ session }) => session)).toEqual([null, null, null]);
  });

  it('a look-up takes one command for the session and one for its user', async () => {
    const shared = createShared();
    const [one, two] = createTwo(shared);
    const browser = await signIn(one, 'ada');
    const looksOf = async (work: () => Promise<unknown>): Promise<number> => {
      const before = shared.lookUps;
      await work();
      return shared.lookUps - before;
    };
    expect(await looksOf(() => seesWhom(two, browser))).toBe(2);
    await one.resolver.signOut((await signIn(one, 'grace')).header());
    two.clock.advance(5_001);
    expect(await looksOf(() => seesWhom(two, browser))).toBe(2);
    await one.resolver.signOut(browser.header());
    two.clock.advance(5_001);
    expect(await looksOf(() => seesWhom(two, browser))).toBe(2);
    expect(two.events).toContainEqual({ type: 'session_rejected', reason: 'signed_out' });
  });

  it('a sign-out holds elsewhere if the session is completed there or its user’s record is unreachable', async () => {
    const shared = createShared();
    const read = shared.read.bind(shared);
    const [one, two] = createTwo(shared);
    const content = one.provider.issue('ada');
    await one.resolver.signOut(createMemoryBrowser(content).header());
    expect(await two.resolver.beginSession(storedOf(content))).toBe(two.clock.now() + 1);
    expect(await two.resolver.signOutOf(content.sessionId)).toBe('signed_out');
    shared.read = (subject) => (subject.includes(':user:') ? Promise.reject(new Error('away')) : read(subject));
    expect(await seesWhom(two, createMemoryBrowser(content))).toBeUndefined();
    expect(two.events).toContainEqual({ type: 'session_rejected', reason: 'signed_out' });
  });

  it('a switch in another process reaches requests with the old cookie', async () => {
    const shared = createShared();
    const [one, two] = createTwo(shared);
    const browser = await signIn(one, 'ada');
    const variant = {
      name: 'south',
      refresh: (content: MemoryContent) => one.provider.refresh(content),
      isReached: ({ accessToken }: { readonly accessToken: string }) => accessToken === 'access for refresh-2',
    };
    expect((await one.resolver.switchSession(browser.header(), variant, {})).session).not.toBeNull();
    expect((await visit(two, browser.header())).session?.accessToken).toBe('access for refresh-2');
    // Another switch to where the session is already has nothing to do, and says what it came to.
    expect((await two.resolver.switchSession(browser.header(), variant, {})).session?.accessToken).toBe(
      'access for refresh-2',
    );
    expect(one.provider.calls).toEqual(['refresh-1']);
  });

  it('a sign-out in another process wins over a refresh, even if an earlier look-up is still in progress', async () => {
    const answer = Promise.withResolvers<undefined>();
    const look = Promise.withResolvers<undefined>();
    const clock = createClock();
    const provider = createMemoryProvider(clock, (what) => (what === 'answer' ? answer.promise : Promise.resolve()));
    const shared = createShared();
    const [one, two] = [createMemoryApp({ clock, provider, shared }), createMemoryApp({ clock, provider, shared })];
    const browser = await signIn(one, 'ada');
    clock.advance(tokenLifetimeMs);
    const refreshing = visit(two, browser.header());
    while (provider.calls.length === 0) await new Promise((resolve) => setImmediate(resolve));
    shared.heldBy = look.promise;
    const looking = visit(two, browser.header());
    await new Promise((resolve) => setImmediate(resolve));
    shared.heldBy = undefined;
    await one.resolver.signOut(browser.header());
    answer.resolve(undefined);
    expect((await refreshing).session).toBeNull();
    look.resolve(undefined);
    expect((await looking).session).toBeNull();
  });

  it('a new sign-in in the same browser stops a refresh elsewhere from restoring the old session', async () => {
    const held = Promise.withResolvers<undefined>();
    const clock = createClock();
    const provider = createMemoryProvider(clock, (what) => (what === 'answer' ? held.promise : Promise.resolve()));
    const shared = createShared();
    const [one, two] = [createMemoryApp({ clock, provider, shared }), createMemoryApp({ clock, provider, shared })];
    const browser = await signIn(one, 'ada');
    clock.advance(tokenLifetimeMs);
    const visiting = visit(two, browser.header());
    while (provider.calls.length === 0) await new Promise((resolve) => setImmediate(resolve));
    await one.resolver.replace(browser.header(), 'session-new');
    held.resolve(undefined);
    expect(await visiting).toMatchObject({ session: null, cookies: [] });
  });

  it('renewSession causes one refresh, whichever process makes it', async () => {
    const [one, two] = createTwo(createShared());
    const browser = await signIn(one, 'ada');
    await seesWhom(two, browser);
    await one.resolver.renewSession({ userId: 'ada' });
    two.clock.advance(5_001);
    expect(await seesWhom(two, browser)).toBe('ada');
    expect(await seesWhom(one, browser)).toBe('ada');
    expect(await seesWhom(two, browser)).toBe('ada');
    expect(one.provider.calls).toEqual(['refresh-1']);
  });

  it('endSession by session id works if the clock of the called process is 30 seconds slow', async () => {
    const shared = createShared();
    const clock = createClock();
    const behind = createMemoryApp({ clock: createClock(clock.now() - 30_000), shared });
    const app = createMemoryApp({ clock, shared });
    const content = app.provider.issue('ada');
    const browser = createMemoryBrowser({ ...content, beganAt: await app.resolver.beginSession(storedOf(content)) });
    await behind.resolver.endSession({ sessionId: content.sessionId });
    expect(await seesWhom(app, browser)).toBeUndefined();
    const again = { ...app.provider.issue('ada'), sessionId: content.sessionId };
    const beganAt = await app.resolver.beginSession(storedOf(again));
    expect(await seesWhom(app, createMemoryBrowser({ ...again, beganAt }))).toBe('ada');
  });

  it('renewSession causes one refresh if the clock of the called process is 30 seconds fast', async () => {
    const shared = createShared();
    const clock = createClock();
    const provider = createMemoryProvider(clock);
    const ahead = createMemoryApp({ clock: createClock(clock.now() + 30_000), provider, shared });
    const app = createMemoryApp({ clock, provider, shared });
    const browser = await signIn(app, 'ada');
    await seesWhom(app, browser);
    await ahead.resolver.renewSession({ userId: 'ada' });
    clock.advance(5_001);
    for (let request = 0; request < 5; request += 1) expect(await seesWhom(app, browser)).toBe('ada');
    expect(provider.calls).toEqual(['refresh-1']);
  });

  it('renewSession causes another refresh after a call of a process whose clock is 30 seconds fast', async () => {
    const shared = createShared();
    const clock = createClock();
    const provider = createMemoryProvider(clock);
    const ahead = createMemoryApp({ clock: createClock(clock.now() + 30_000), provider, shared });
    const app = createMemoryApp({ clock, provider, shared });
    const browser = await signIn(app, 'ada');
    await ahead.resolver.renewSession({ userId: 'ada' });
    expect(await seesWhom(app, browser)).toBe('ada');
    clock.advance(1_000);
    await app.resolver.renewSession({ userId: 'ada' });
    expect([await seesWhom(app, browser), await seesWhom(ahead, browser)]).toEqual(['ada', 'ada']);
    expect(provider.calls).toEqual(['refresh-1', 'refresh-2']);
  });

  it.each(['renewSession', 'endSession'] as const)(
    'each renewal costs one refresh after %s by a process whose clock is a day fast',
    async (call) => {
      const clock = createClock();
      const provider = createMemoryProvider(clock);
      const shared = createShared(clock.now);
      const app = createMemoryApp({ clock, provider, shared, maxCachedSessions: 0 });
      const ahead = createMemoryApp({ clock: createClock(clock.now() + 24 * 60 * 60_000), provider, shared });
      await ahead.resolver[call]({ userId: 'ada' });
      const content = provider.issue('ada');
      await app.resolver.beginSession(storedOf(content), { beganAt: content.beganAt });
      const browser = createMemoryBrowser(content);
      await seesWhom(app, browser);
      const before = provider.calls.length;
      for (let renewal = 0; renewal < 40; renewal += 1) {
        clock.advance(tokenLifetimeMs);
        expect(await seesWhom(app, browser)).toBe('ada');
      }
      expect(provider.calls).toHaveLength(before + 40);
    },
  );

  it('endSession ends what began after a call of a process whose clock is 30 seconds fast', async () => {
    const shared = createShared();
    const clock = createClock();
    const ahead = createMemoryApp({ clock: createClock(clock.now() + 30_000), shared });
    const app = createMemoryApp({ clock, shared });
    await ahead.resolver.endSession({ userId: 'ada' });
    const browser = await signIn(app, 'ada');
    expect(await seesWhom(app, browser)).toBe('ada');
    const fresh = createMemoryApp({ clock, provider: app.provider, shared });
    await fresh.resolver.endSession({ userId: 'ada' });
    expect(await seesWhom(fresh, browser)).toBeUndefined();
  });

  it('a call that the coordinator fails to store takes effect here and rejects, to be repeated', async () => {
    const shared = createShared();
    const [one] = createTwo(shared);
    const browser = await signIn(one, 'ada');
    shared.isDown = true;
    for (const call of ['endSession', 'renewSession'] as const) {
      await expect(one.resolver[call]({ userId: 'ada' })).rejects.toMatchObject({
        code: 'provider_unavailable',
        reason: 'coordinator',
        cause: expect.objectContaining({ message: 'down' }),
      });
    }
    // Whether the session goes on all the same, as after a change of its password elsewhere, the coordinator alone could tell.
    await expect(visit(one, browser.header())).rejects.toMatchObject({ code: 'provider_unavailable' });
    expect(browser.cookie).toBeDefined();
    shared.isDown = false;
    expect(await seesWhom(one, browser)).toBeUndefined();
  });
});

describe('with a coordinator that never answers', () => {
  const silence = () => new Promise<never>(() => undefined);

  /** Silent until `shared.isSilent` is false. */
  function createSilent() {
    const inner = createShared();
    const hear =
      <Call extends readonly unknown[], Result>(call: (...args: Call) => Promise<Result>) =>
      (...args: Call): Promise<Result> =>
        shared.isSilent ? silence() : call(...args);
    const shared = {
      isSilent: true,
      read: hear(inner.read.bind(inner)),
      merge: hear(inner.merge.bind(inner)),
      take: hear(inner.take.bind(inner)),
      settle: hear(inner.settle.bind(inner)),
    };
    return shared;
  }

  beforeEach(() => jest.useFakeTimers({ doNotFake: ['Date', 'nextTick', 'queueMicrotask'] }));
  afterEach(() => jest.useRealTimers());

  it('a watched session is still checked, and ends once the coordinator answers', async () => {
    const shared = createSilent();
    const [one, two] = [createMemoryApp({ shared }), createMemoryApp({ shared })];
    const content = one.provider.issue('ada');
    const browser = createMemoryBrowser(content);
    const visiting = visit(one, browser.header());
    await jest.advanceTimersByTimeAsync(4_000);
    const { session } = await visiting;
    const ends: string[] = [];
    const watching = one.resolver.watchSession(session!, browser.header(), (end) => ends.push(end));
    await jest.advanceTimersByTimeAsync(20_000);
    await watching;
    expect(ends).toEqual([]);
    shared.isSilent = false;
    await two.resolver.endSession({ userId: 'ada' });
    // The first question after the outage asks whether it is over.
    await jest.advanceTimersByTimeAsync(8_000);
    expect(ends).toEqual(['ended']);
    expect(one.events).toContainEqual({ type: 'coordinator_unavailable', operation: 'record', reason: 'unavailable' });
  });

  it('a request whose tokens have expired renews them in its time', async () => {
    const app = createMemoryApp({ shared: createSilent() });
    const browser = createMemoryBrowser(app.provider.issue('ada'));
    app.clock.advance(3_600_000);
    const seen = seesWhom(app, browser);
    seen.catch(() => undefined);
    await jest.advanceTimersByTimeAsync(5_000);
    expect(await seen).toBe('ada');
  });

  it('a request, a sign-in and a sign-out continue alone, and endSession rejects', async () => {
    const app = createMemoryApp({ shared: createSilent() });
    const within = async <Result>(work: Promise<Result>): Promise<Result> => {
      work.catch(() => undefined);
      await jest.advanceTimersByTimeAsync(4_000);
      return Promise.race([work, Promise.reject(new Error('still waiting'))]);
    };
    const browser = await within(signIn(app, 'ada'));
    expect(await within(seesWhom(app, browser))).toBe('ada');
    await expect(within(app.resolver.endSession({ userId: 'grace' }))).rejects.toMatchObject({
      code: 'provider_unavailable',
      reason: 'coordinator',
    });
    const { cookies } = await within(app.resolver.signOut(browser.header()));
    expect(cookies).toEqual([{ name: 'memory', value: undefined }]);
  });
});
