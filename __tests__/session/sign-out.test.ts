import { jest } from '@jest/globals';
import { AuthError } from '../../lib/errors.ts';
import { forever, hash } from '../../lib/session/ended/record.ts';
import type { SessionRecord } from '../../lib/session/ended/record.ts';
import type { SharedCoordinator } from '../../lib/session/coordinator.ts';
import { createClock } from '../support/clock.ts';
import {
  createMemoryApp,
  createMemoryBrowser,
  createMemoryProvider,
  createMemorySource,
  tokenLifetimeMs,
  visit,
  withoutSessionIds,
} from '../support/memory-sessions.ts';
import type { MemoryApp, MemoryAppSetup, MemoryBrowser } from '../support/memory-sessions.ts';
import { createShared } from '../support/shared-memory.ts';

interface World {
  readonly app: MemoryApp;
  readonly browser: MemoryBrowser;
  readonly sessionId: string;
}

/** A visitor of an app whose source differs from the usual one. */
function setUp(change: (source: ReturnType<typeof createMemorySource>) => MemoryAppSetup): World {
  const clock = createClock();
  const provider = createMemoryProvider(clock);
  const app = createMemoryApp({ clock, provider, ...change(createMemorySource(provider, clock)) });
  const content = provider.issue('ada');
  return { app, browser: createMemoryBrowser(content), sessionId: content.sessionId };
}

const plain = (setup: MemoryAppSetup = {}): World => setUp(() => setup);

const isSignedIn = async ({ app, browser }: World): Promise<boolean> =>
  (await visit(app, browser.header())).session !== null;

/** Notes what the shared coordinator is told and asked. */
function recording(record?: SessionRecord) {
  const told: [string, SessionRecord, number][] = [];
  const asked: string[] = [];
  const shared: SharedCoordinator = {
    ...createShared(),
    merge: async (...call) => void told.push(call),
    read: (subject) => {
      asked.push(subject);
      return Promise.resolve(subject.includes(':session:') ? record : undefined);
    },
  };
  return { shared, told, asked };
}

const subjectOf = (sessionId: string): string => `b2b:session:${hash(sessionId)}`;

describe('signing out', () => {
  it('is the reason why the next request with the same cookie is rejected', async () => {
    const world = plain();
    await world.app.resolver.signOut(world.browser.header());
    expect(world.app.events).toEqual([]);
    expect(await isSignedIn(world)).toBe(false);
    expect(world.app.events).toEqual([{ type: 'session_rejected', reason: 'signed_out' }]);
  });

  it('is shared with the other processes for as long as a token of the session may be valid', async () => {
    const { shared, told } = recording();
    const { app, browser, sessionId } = plain({ shared });
    await app.resolver.signOut(browser.header());
    expect(told).toEqual([[subjectOf(sessionId), { signedOut: app.clock.now() }, tokenLifetimeMs + 25_000]]);
  });

  it.each([
    ['a sealed cookie until now', true, -1_000, 0],
    ['a sealed cookie until its start, if the clock that said it was ahead', true, 1_000, 1_000],
    ['any other cookie for good, as its start may move', false, -1_000, forever],
  ])('ends the session of %s', async (_, isSealed, startMs, until) => {
    const { shared, told } = recording();
    const clock = createClock();
    const provider = createMemoryProvider(clock);
    const app = createMemoryApp({ clock, provider, shared, source: { isSealed } });
    const content = { ...provider.issue('ada'), beganAt: clock.now() + startMs };
    await app.resolver.signOut(createMemoryBrowser(content).header());
    expect(told.map(([, change]) => change)).toEqual([{ signedOut: until === forever ? until : clock.now() + until }]);
  });

  it('returns what was ended, also what could not be verified', async () => {
    const world = setUp((source) => ({
      source: {
        isSealed: false,
        verify: (content, origin) =>
          content.userId === 'ada' ? source.verify(content, origin) : Promise.reject(new Error('no keys')),
      },
    }));
    const eve = createMemoryBrowser(world.app.provider.issue('eve')).header();
    const { sessions, cookies } = await world.app.resolver.signOut(`${world.browser.header()}; ${eve}`);
    expect(cookies).toEqual([{ name: 'memory', value: undefined }]);
    expect(
      sessions.map(({ candidate, verdict, isAuthentic }) => [candidate.userId, verdict?.kind, isAuthentic]),
    ).toEqual([
      ['ada', 'live', true],
      ['eve', undefined, false],
    ]);
    expect((await world.app.resolver.signOut(undefined)).sessions).toEqual([]);
  });

  it('of a made-up cookie causes no call of the coordinator', async () => {
    const shared = createShared();
    const calls = [jest.spyOn(shared, 'merge'), jest.spyOn(shared, 'settle'), jest.spyOn(shared, 'read')];
    const world = setUp(() => ({
      shared,
      source: { isSealed: false, verify: () => Promise.resolve({ kind: 'unverifiable' }) },
    }));
    await world.app.resolver.signOut(world.browser.header());
    for (const call of calls) expect(call).not.toHaveBeenCalled();
  });

  it('in another process is the reason why a request is rejected here', async () => {
    const world = plain(recording({ signedOut: forever }));
    expect(await isSignedIn(world)).toBe(false);
    expect(world.app.events).toEqual([{ type: 'session_rejected', reason: 'signed_out' }]);
  });

  it('works alone if the other processes cannot be reached, and reports it once', async () => {
    const down = () => Promise.reject(new Error('no Redis'));
    const world = plain({ shared: { ...createShared(), merge: down, read: down } });
    const unavailable = { type: 'coordinator_unavailable', operation: 'record', reason: 'unavailable' };
    expect(await isSignedIn(world)).toBe(true);
    expect(world.app.events).toEqual([unavailable]);
    await world.app.resolver.signOut(world.browser.header());
    expect(world.app.events).toEqual([unavailable]);
    expect(await isSignedIn(world)).toBe(false);
  });

  it('ends every cookie of the session, verified before or not', async () => {
    const world = plain({ refreshWindow: 60 });
    world.app.clock.advance(tokenLifetimeMs - 30_000);
    const { later } = await visit(world.app, world.browser.header());
    const elsewhere = createMemoryBrowser();
    elsewhere.receive((await later)!);
    await visit(world.app, elsewhere.header());
    expect(world.app.resolver.cachedSession(elsewhere.header())).toBeDefined();
    await world.app.resolver.signOut(world.browser.header());
    expect(world.app.resolver.cachedSession(elsewhere.header())).toBeUndefined();
    expect(await isSignedIn({ ...world, browser: elsewhere })).toBe(false);
  });

  it('of a session without an id removes its cookie from the cache, and shares nothing', async () => {
    const { shared, told, asked } = recording();
    const world = setUp((source) => ({
      shared,
      source: withoutSessionIds(source),
    }));
    expect(await isSignedIn(world)).toBe(true);
    expect(world.app.resolver.cachedSession(world.browser.header())).toBeDefined();
    await world.app.resolver.signOut(world.browser.header());
    expect(world.app.resolver.cachedSession(world.browser.header())).toBeUndefined();
    expect([told, new Set(asked)]).toEqual([[], new Set([`b2b:user:${hash('ada')}`])]);
  });

  it('keeps nothing of an answer that came while its own token was being verified', async () => {
    const clock = createClock();
    const provider = createMemoryProvider(clock);
    const answer = Promise.withResolvers<unknown>();
    const judged = Promise.withResolvers<unknown>();
    const app = createMemoryApp({
      clock,
      provider,
      source: {
        isSealed: false,
        async verify(content, origin) {
          if (origin === 'provider') return createMemorySource(provider, clock).verify(content, origin);
          if (isLeaving) await judged.promise;
          return { kind: 'expired' };
        },
        async refresh(content) {
          await answer.promise;
          return provider.refresh(content);
        },
      },
    });
    let isLeaving = false;
    const browser = createMemoryBrowser(provider.issue('ada'));
    clock.advance(tokenLifetimeMs);
    const visiting = visit(app, browser.header());
    await new Promise((resolve) => setImmediate(resolve));
    isLeaving = true;
    const leaving = app.resolver.signOut(browser.header());
    answer.resolve(undefined);
    await visiting;
    judged.resolve(undefined);
    await leaving;
    clock.advance(2 * tokenLifetimeMs);
    await visit(app, browser.header());
    expect(new Set(provider.calls).size).toBe(1);
  });

  it('applies to a sealed cookie whatever its token, as only we can have made it', async () => {
    let isDown = true;
    const world = setUp((source) => ({
      source: {
        verify: (content) =>
          isDown ? Promise.reject(new AuthError('provider_unavailable')) : source.verify(content, 'provider'),
      },
    }));
    await world.app.resolver.signOut(world.browser.header());
    isDown = false;
    expect(await isSignedIn(world)).toBe(false);
  });

  it('applies to an unsealed cookie whose token is genuine but expired', async () => {
    const world = setUp(() => ({ source: { isSealed: false } }));
    world.app.clock.advance(tokenLifetimeMs);
    await world.app.resolver.signOut(world.browser.header());
    expect(await isSignedIn(world)).toBe(false);
    expect(world.app.provider.calls).toEqual([]);
  });

  it('does not apply to an unsealed cookie while its token cannot be verified', async () => {
    let isDown = true;
    const world = setUp((source) => ({
      source: {
        isSealed: false,
        verify: (content) =>
          isDown ? Promise.reject(new AuthError('provider_unavailable')) : source.verify(content, 'provider'),
      },
    }));
    await world.app.resolver.signOut(world.browser.header());
    isDown = false;
    expect(await isSignedIn(world)).toBe(true);
  });
});

describe('a session that is replaced', () => {
  it('is over in every process for as long as its tokens may be valid, and no process clears its cookie', async () => {
    const { shared, told } = recording();
    const world = plain({ shared });
    await world.app.resolver.replace(world.browser.header(), 'another session');
    const { clock } = world.app;
    expect(told).toEqual([[subjectOf(world.sessionId), { replaced: clock.now() }, tokenLifetimeMs + 25_000]]);
    expect(await isSignedIn(world)).toBe(false);
    expect(world.app.events).toEqual([]);
  });
});

describe('replacing sessions', () => {
  it('ends all but the new one, and returns those that had not ended before', async () => {
    const { app, browser, sessionId } = plain();
    const [left, next] = [app.provider.issue('grace'), app.provider.issue('ada')];
    const header = [browser, createMemoryBrowser(left), createMemoryBrowser(next)]
      .map((one) => one.header())
      .join('; ');
    await app.resolver.endSession({ sessionId });
    const { sessions } = await app.resolver.replace(header, next.sessionId);
    expect(sessions.map(({ candidate }) => candidate.sessionId)).toEqual([left.sessionId]);
    expect(await app.resolver.signOutOf(left.sessionId)).toBe('replaced');
    expect(await app.resolver.signOutOf(next.sessionId)).toBeUndefined();
    expect((await app.resolver.replace(header, next.sessionId)).sessions).toEqual([]);
  });
});

describe('a verified session that the provider says is over', () => {
  const cleared = [{ name: 'memory', value: undefined }];

  async function look(world: World) {
    const { session } = await visit(world.app, world.browser.header());
    return session!;
  }

  it('ends, and its cookie is deleted', async () => {
    const world = plain();
    const session = await look(world);
    expect(await world.app.resolver.hasEnded(session)).toBe(false);
    expect(await world.app.resolver.endOver(world.browser.header(), session)).toEqual(cleared);
    expect([await world.app.resolver.hasEnded(session), await isSignedIn(world)]).toEqual([true, false]);
    expect(world.app.events).toEqual([{ type: 'session_rejected', reason: 'signed_out' }]);
  });

  it('ends in every process for as long as a token of it may be valid', async () => {
    const { shared, told } = recording();
    const world = plain({ shared });
    await world.app.resolver.endOver(world.browser.header(), await look(world));
    expect(told).toEqual([
      [subjectOf(world.sessionId), { signedOut: world.app.clock.now() }, tokenLifetimeMs + 25_000],
    ]);
  });

  it('ends, and no cookie is deleted if another session lies in them', async () => {
    const world = plain();
    const other = createMemoryBrowser(world.app.provider.issue('grace'));
    const session = await look(world);
    expect(await world.app.resolver.endOver(`${world.browser.header()}; ${other.header()}`, session)).toEqual([]);
    expect([await isSignedIn(world), await isSignedIn({ ...world, browser: other })]).toEqual([false, true]);
  });

  it.each<[string, (world: World) => Promise<unknown>]>([
    ['it was signed out', ({ app, browser }) => app.resolver.signOut(browser.header())],
    ['another one has replaced it', ({ app, browser }) => app.resolver.replace(browser.header(), 'another')],
  ])('ends, and no cookie is deleted if %s meanwhile', async (_, change) => {
    const world = plain();
    const session = await look(world);
    await change(world);
    expect(await world.app.resolver.hasEnded(session)).toBe(true);
    expect(await world.app.resolver.endOver(world.browser.header(), session)).toEqual([]);
  });

  it('ends, and no cookie is deleted if only the coordinator could tell whether it was replaced', async () => {
    const shared = createShared();
    const world = plain({ shared });
    const session = await look(world);
    await world.app.resolver.endSession({ userId: 'ada' });
    shared.isDown = true;
    expect(await world.app.resolver.hasEnded(session)).toBe(true);
    expect(await world.app.resolver.endOver(world.browser.header(), session)).toEqual([]);
  });

  it('without an id shares nothing, and its cookie is deleted', async () => {
    const { shared, told } = recording();
    const world = setUp((source) => ({
      shared,
      source: withoutSessionIds(source),
    }));
    expect(await world.app.resolver.endOver(world.browser.header(), await look(world))).toEqual(cleared);
    expect(told).toEqual([]);
  });
});

describe('records', () => {
  it('are created for genuine sessions only, so that no stranger can evict a sign-out', async () => {
    const world = setUp((source) => ({
      source: {
        isSealed: false,
        verify: (content, origin) =>
          content.userId === 'eve' ? Promise.resolve({ kind: 'unverifiable' }) : source.verify(content, origin),
      },
    }));
    const copied = world.browser.header();
    await world.app.resolver.signOut(copied);
    const made = world.app.provider.issue('eve');
    for (let index = 0; index < 101_000; index += 16) {
      const cookies = Array.from({ length: 16 }, (_, i) =>
        createMemoryBrowser({ ...made, sessionId: `made-up-${index + i}` }).header(),
      );
      await world.app.resolver.signOut(cookies.join('; '));
    }
    expect((await visit(world.app, copied)).session).toBeNull();
  }, 60_000);
});
