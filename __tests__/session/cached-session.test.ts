import { jest } from '@jest/globals';
import { createClock } from '../support/clock.ts';
import {
  storedOf,
  createMemoryApp,
  createMemoryBrowser,
  createMemoryProvider,
  createMemorySource,
  tokenLifetimeMs,
  visit,
} from '../support/memory-sessions.ts';
import type { MemoryApp, MemoryContent } from '../support/memory-sessions.ts';
import { createShared } from '../support/shared-memory.ts';

interface Cached {
  readonly content: MemoryContent;
  readonly isCached: () => boolean;
}

/** The first look-up of a cached session asks about revocations; only a change makes a later one ask again. */
async function signInAndLookUp(app: MemoryApp, userId = 'ada'): Promise<Cached> {
  const issued = app.provider.issue(userId);
  const content = { ...issued, beganAt: await app.resolver.beginSession(storedOf(issued)) };
  const header = createMemoryBrowser(content).header();
  await visit(app, header);
  const isCached = (): boolean => app.resolver.cachedSession(header) !== undefined;
  expect([isCached(), isCached()]).toEqual([true, true]);
  return { content, isCached };
}

const changes: Readonly<Record<string, (app: MemoryApp, cached: Cached) => Promise<unknown>>> = {
  'endSession of the session': ({ resolver }, { content: { sessionId } }) => resolver.endSession({ sessionId }),
  'endSession of its user': ({ resolver }, { content: { userId } }) => resolver.endSession({ userId }),
  'renewSession of the session': ({ resolver }, { content: { sessionId } }) => resolver.renewSession({ sessionId }),
  'renewSession of its user': ({ resolver }, { content: { userId } }) => resolver.renewSession({ userId }),
  'a sign-out': ({ resolver }, { content }) => resolver.revokeSession({ ...content, tokenLifetimeMs }),
  'a new sign-in in its browser': ({ resolver }, { content }) => resolver.markReplaced({ ...content, tokenLifetimeMs }),
  'a call that keeps another session': async (app, { content }) => {
    const other = await signInAndLookUp(app, content.userId);
    app.clock.advance(1);
    await app.resolver.endOthers(other.content);
    expect(other.isCached()).toBe(true);
  },
  'a call that keeps the tokens of another session': async (app, { content }) => {
    const other = await signInAndLookUp(app, content.userId);
    const outcome = await app.provider.refresh(other.content);
    if (outcome.kind !== 'renewed') throw new Error(outcome.kind);
    const source = createMemorySource(app.provider, app.clock);
    await app.resolver.renewOthers(content.userId, source.toStored(other.content), source.toStored(outcome.content));
    expect(other.isCached()).toBe(true);
  },
};

describe.each(Object.entries(changes))('a session that was looked up before %s', (_title, change) => {
  it('is no longer served from the cache', async () => {
    const app = createMemoryApp();
    const cached = await signInAndLookUp(app);
    await change(app, cached);
    expect([cached.isCached(), cached.isCached()]).toEqual([false, false]);
  });

  it('is no longer served from the cache, even if earlier calls named it, too', async () => {
    const app = createMemoryApp();
    await app.resolver.endSession({ userId: 'ada' });
    await app.resolver.renewSession({ userId: 'ada' });
    // The provider's clock may be a minute ahead.
    app.clock.advance(61_000);
    const cached = await signInAndLookUp(app);
    app.clock.advance(1);
    await change(app, cached);
    expect([cached.isCached(), cached.isCached()]).toEqual([false, false]);
  });
});

it('serves no session from the cache after another request learned of its end in another process', async () => {
  const clock = createClock();
  const provider = createMemoryProvider(clock);
  const shared = createShared(clock.now);
  const [one, two] = [createMemoryApp({ clock, provider, shared }), createMemoryApp({ clock, provider, shared })];
  const [first, second] = [await signInAndLookUp(one), await signInAndLookUp(one)];
  clock.advance(1);
  await two.resolver.endSession({ userId: 'ada' });
  expect([first.isCached(), second.isCached()]).toEqual([true, true]);
  // A sign-in of the same user asks the coordinator.
  await one.resolver.beginSession(storedOf({ ...provider.issue('ada'), sessionId: 'another' }));
  expect([first.isCached(), second.isCached()]).toEqual([false, false]);
});

describe('a bearer token that was verified before', () => {
  const encoded = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');

  function startWithToken() {
    const clock = createClock();
    const provider = createMemoryProvider(clock);
    const shared = createShared(clock.now);
    const expiresAt = clock.now() + tokenLifetimeMs;
    const claims = { sub: 'ada', sid: 'session', exp: expiresAt / 1_000, iat: clock.now() / 1_000 };
    const accessToken = `${encoded({ alg: 'RS256' })}.${encoded(claims)}.signature`;
    const user = { id: 'ada', email: 'ada@example.com' };
    const session = { adapter: 'b2b', credential: 'bearer', user, accessToken, claims, expiresAt } as const;
    const verifyBearer = jest.fn(() => Promise.resolve({ kind: 'live' as const, session: { ...session } }));
    const create = (): MemoryApp => createMemoryApp({ clock, provider, shared, source: { verifyBearer } });
    const [one, two] = [create(), create()];
    return {
      clock,
      two,
      verifyBearer,
      sessionNow: () => one.resolver.resolveBearer(accessToken, {}),
    };
  }

  it('is checked with the other processes every 5 seconds', async () => {
    const { clock, two, verifyBearer, sessionNow } = startWithToken();
    const first = await sessionNow();
    expect([Object.isFrozen(first?.claims), await sessionNow()]).toEqual([true, first]);
    expect(verifyBearer).toHaveBeenCalledTimes(1);
    clock.advance(1);
    await two.resolver.endSession({ sessionId: 'session' });
    clock.advance(4_999);
    expect(await sessionNow()).toBe(first);
    clock.advance(1);
    expect(await sessionNow()).toBeUndefined();
  });

  it('is accepted no longer than it is valid', async () => {
    const { clock, sessionNow } = startWithToken();
    expect(await sessionNow()).toBeDefined();
    clock.advance(tokenLifetimeMs - 1);
    expect(await sessionNow()).toBeDefined();
    clock.advance(1);
    expect(await sessionNow()).toBeUndefined();
  });
});
