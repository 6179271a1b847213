import { jest } from '@jest/globals';
import type { Candidate, RefreshVariant } from '../../../lib/session/source.ts';
import type { SessionEnd } from '../../../lib/session/ended/session-watch.ts';
import type { B2bSession, Session } from '../../../lib/types.ts';
import { createClock } from '../../support/clock.ts';
import {
  storedOf,
  createMemoryApp,
  createMemoryBrowser,
  createMemoryProvider,
  createMemorySource,
  tokenLifetimeMs,
  visit,
  withoutSessionIds,
} from '../../support/memory-sessions.ts';
import type { MemoryApp, MemoryAppSetup, MemoryContent } from '../../support/memory-sessions.ts';
import { createShared } from '../../support/shared-memory.ts';

afterEach(() => jest.useRealTimers());

/** Sessions in the organization `north`, and in `south` once they were refreshed; each cookie tells its access token. */
function setUp(change: (source: ReturnType<typeof createMemorySource>) => MemoryAppSetup['source'] = () => ({})) {
  const clock = createClock();
  const provider = createMemoryProvider(clock);
  const memory = createMemorySource(provider, clock);
  const source = { ...memory, ...change(memory) };
  const withToken = (candidate: Candidate<MemoryContent>): Candidate<MemoryContent> => ({
    ...candidate,
    token: { text: `access for ${candidate.refreshToken}`, header: {}, claims: {}, isCompact: true },
  });
  const app = createMemoryApp({
    clock,
    provider,
    source: {
      ...source,
      async read(cookies) {
        const read = await source.read(cookies);
        return read.kind === 'stored' ? { ...read, candidates: read.candidates.map(withToken) } : read;
      },
      async verify(content, origin) {
        const verdict = await memory.verify(content, origin);
        if (verdict.kind !== 'live') return verdict;
        const organizationId = provider.calls.length === 0 ? 'north' : 'south';
        return { ...verdict, session: { ...verdict.session, organizationId } as B2bSession };
      },
    },
  });
  return app;
}

/** A sign-in, its session and what ended the watches of it. */
async function signIn(app: MemoryApp, userId = 'ada') {
  const issued = app.provider.issue(userId);
  const content = { ...issued, beganAt: await app.resolver.beginSession(storedOf(issued)) };
  const header = createMemoryBrowser(content).header();
  const { session } = await visit(app, header);
  return { content, header, session: session! };
}

async function watch(app: MemoryApp, session: Session, header: string | undefined) {
  const ends: SessionEnd[] = [];
  const stop = await app.resolver.watchSession(session, header, (end) => ends.push(end));
  const settled = async (): Promise<SessionEnd[]> => {
    await new Promise((resolve) => setImmediate(resolve));
    return ends;
  };
  return { settled, stop };
}

const toSouth = (app: MemoryApp): RefreshVariant<MemoryContent> => ({
  name: 'south',
  refresh: (content) => app.provider.refresh(content),
  isReached: () => false,
});

describe('the watch of a session', () => {
  it('counts the start that the cookie names', async () => {
    const app = setUp();
    await app.resolver.endSession({ userId: 'ada' });
    const { session, header } = await signIn(app);
    const { settled, stop } = await watch(app, session, header);
    expect(await settled()).toEqual([]);
    stop();
    // The token does not say when the session began.
    expect(await (await watch(app, session, undefined)).settled()).toEqual(['ended']);
  });

  it('is of this session, wherever its cookie stands among others', async () => {
    const app = setUp();
    const [grace, ada] = [await signIn(app, 'grace'), await signIn(app, 'ada')];
    const { settled } = await watch(app, ada.session, `${grace.header}; ${ada.header}`);
    app.clock.advance(1);
    await app.resolver.endSession({ userId: 'grace' });
    expect(await settled()).toEqual([]);
    await app.resolver.endSession({ userId: 'ada' });
    expect(await settled()).toEqual(['ended']);
  });

  it.each([
    ['', undefined],
    [', none of which has an id', withoutSessionIds],
  ])('is of the token without a cookie, and beside the cookie of another session%s', async (_, change) => {
    const app = setUp(change);
    const [grace, ada] = [await signIn(app, 'grace'), await signIn(app, 'ada')];
    const watches = [await watch(app, ada.session, undefined), await watch(app, ada.session, grace.header)];
    const ends = () => Promise.all(watches.map(({ settled }) => settled()));
    app.clock.advance(1);
    await app.resolver.endSession({ userId: 'grace' });
    expect(await ends()).toEqual([[], []]);
    await app.resolver.endSession({ userId: 'ada' });
    expect(await ends()).toEqual([['ended'], ['ended']]);
  });

  it('goes on once a request has renewed the session, before one brings the new token', async () => {
    jest.useFakeTimers({ doNotFake: ['nextTick', 'setImmediate', 'queueMicrotask', 'Date', 'performance'] });
    const app = createMemoryApp();
    const { session, header } = await signIn(app);
    const ends: SessionEnd[] = [];
    await app.resolver.watchSession(session, header, (end) => ends.push(end), { outlivesToken: true });
    app.clock.advance(tokenLifetimeMs - 10_000);
    await visit(app, header);
    for (const [ms, expected] of [
      [10_000, []],
      [tokenLifetimeMs, ['expired']],
    ] as const) {
      app.clock.advance(ms);
      await jest.advanceTimersByTimeAsync(tokenLifetimeMs);
      expect(ends).toEqual(expected);
    }
  });

  it('ends by a switch to another organization', async () => {
    const app = setUp();
    const { session, header } = await signIn(app);
    const { settled } = await watch(app, session, header);
    await app.resolver.switchSession(header, toSouth(app), {});
    expect(await settled()).toEqual(['switched']);
  });

  it('ends by a sign-in to another organization', async () => {
    const app = setUp();
    const { session, header } = await signIn(app);
    const { settled } = await watch(app, session, header);
    app.resolver.leaveFormer(session);
    expect(await settled()).toEqual([]);
    app.resolver.leaveFormer({ ...session, organizationId: 'south' } as Session);
    expect(await settled()).toEqual(['switched']);
  });

  it('that begins after a switch ends at once for the former session, and goes on for the new one', async () => {
    const app = setUp();
    const { session: former, header } = await signIn(app);
    const { session } = await app.resolver.switchSession(header, toSouth(app), {});
    expect(await (await watch(app, former, header)).settled()).toEqual(['switched']);
    // The request still carries the cookie with the token that was exchanged.
    const { settled, stop } = await watch(app, session!, header);
    expect(await settled()).toEqual([]);
    stop();
  });
});

it.each(['revokeSession', 'markReplaced'] as const)('%s tells nothing of a session without an id', async (how) => {
  const shared = createShared();
  const merge = jest.spyOn(shared, 'merge');
  const { resolver } = createMemoryApp({ shared });
  await resolver[how]({ sessionId: undefined, tokenLifetimeMs: 1_000 });
  expect(merge).not.toHaveBeenCalled();
  await resolver[how]({ sessionId: 'session', tokenLifetimeMs: 1_000 });
  expect(merge).toHaveBeenCalledTimes(1);
});
