import { createClock } from '../support/clock.ts';
import {
  createMemoryApp,
  createMemoryBrowser,
  createMemoryProvider,
  createMemorySource,
  toCookie,
  tokenLifetimeMs,
  visit,
} from '../support/memory-sessions.ts';
import type { MemoryAppSetup, MemoryContent } from '../support/memory-sessions.ts';
import { createShared } from '../support/shared-memory.ts';

const unsent = (): boolean => false;
const minutes = 60_000;

function setUp(setup: MemoryAppSetup = {}) {
  const app = createMemoryApp(setup);
  const content = app.provider.issue('ada');
  const rejected = (): unknown[] =>
    app.events.flatMap((event) => (event.type === 'session_rejected' && 'reason' in event ? [event.reason] : []));
  return { ...app, app, content, header: createMemoryBrowser(content).header()!, rejected };
}

/** A browser that sends several session cookies of the same name. */
const headerOf = (...contents: MemoryContent[]): string => contents.map((one) => `memory=${toCookie(one)}`).join('; ');

it('of several sessions that have expired, one is renewed', async () => {
  const { resolver, provider, clock, content } = setUp();
  const header = headerOf(content, provider.issue('grace'));
  clock.advance(tokenLifetimeMs);
  expect((await resolver.resolve(header, unsent)).session?.user.id).toBe('ada');
  expect(provider.calls).toEqual([content.refreshToken]);
});

it('of several valid sessions, the first is verified', async () => {
  const steps: string[] = [];
  const { resolver, provider, content } = setUp({ pause: async (what) => void steps.push(what) });
  const { session } = await resolver.resolve(headerOf(content, provider.issue('grace')), unsent);
  expect([session?.user.id, steps]).toEqual(['ada', ['read', 'verify']]);
});

it('sessions that have ended hide no valid one, however many they are', async () => {
  const { resolver, provider, clock } = setUp();
  const ended = Array.from({ length: 6 }, () => provider.issue('eve'));
  clock.advance(1);
  await resolver.endSession({ userId: 'eve' });
  const header = headerOf(...ended, provider.issue('grace'));
  expect((await resolver.resolve(header, unsent)).session?.user.id).toBe('grace');
});

it.each([true, false])('a session that is known to be over is not verified (sealed: %s)', async (isSealed) => {
  const steps: string[] = [];
  const { resolver, header, rejected } = setUp({ pause: async (what) => void steps.push(what), source: { isSealed } });
  await resolver.signOut(header);
  steps.length = 0;
  expect((await resolver.resolve(header, unsent)).session).toBeNull();
  expect([steps, rejected()]).toEqual([['read'], ['signed_out']]);
});

it('a token that its verification tolerates for seconds is used until it expires where it is too late for a new one', async () => {
  const clock = createClock();
  const provider = createMemoryProvider(clock);
  const behind = createMemorySource(provider, { ...clock, now: () => clock.now() - 5_000 });
  const { app, header } = setUp({ clock, provider, source: { verify: (...asked) => behind.verify(...asked) } });
  const visitLate = () => visit(app, header, () => true);
  clock.advance(tokenLifetimeMs - 1);
  expect((await visitLate()).session?.user.id).toBe('ada');
  clock.advance(1);
  expect((await visitLate()).session).toBeNull();
});

it('a browser that shows its new token has received it, so the former one gets it for seconds only', async () => {
  const { app, provider, clock, content, header } = setUp();
  clock.advance(tokenLifetimeMs);
  const { cookies } = await visit(app, header);
  const next = `memory=${cookies[0]!.value}`;
  expect((await visit(app, next)).session?.user.id).toBe('ada');
  clock.advance(25_000);
  expect((await visit(app, header)).session?.user.id).toBe('ada');
  clock.advance(1);
  expect((await visit(app, header)).session).toBeNull();
  expect(provider.calls).toEqual([content.refreshToken, content.refreshToken]);
  expect((await visit(app, next)).session?.user.id).toBe('ada');
});

describe('a token that was exchanged in a switch, whose answer is no longer kept', () => {
  async function switchAway() {
    const world = setUp();
    const { app, provider, clock, header } = world;
    const variant = {
      name: 'south',
      refresh: (content: MemoryContent) => provider.refresh(content),
      isReached: () => false,
    };
    const { onDelivered } = await app.resolver.switchSession(header, variant, {});
    onDelivered?.();
    clock.advance(25_001);
    return { ...world, variant };
  }

  it('is used until it expires, and is not exchanged again', async () => {
    const { app, provider, clock, header } = await switchAway();
    expect((await visit(app, header)).session?.accessToken).toBe('access for refresh-1');
    clock.advance(tokenLifetimeMs);
    expect(await visit(app, header)).toEqual({ session: null, cookies: [] });
    expect(provider.calls).toEqual(['refresh-1']);
  });

  it('gives its own session to another switch', async () => {
    const { app, provider, header, variant } = await switchAway();
    const { session, cookies } = await app.resolver.switchSession(header, variant, {});
    expect([session?.accessToken, cookies, provider.calls]).toEqual(['access for refresh-1', [], ['refresh-1']]);
  });
});

describe('a cookie without a session', () => {
  it('is reported once, until it was not sent for ten minutes', async () => {
    const { resolver, clock, rejected } = setUp();
    const send = async (header: string) => {
      await resolver.resolve(header, unsent);
      return rejected().length;
    };
    expect([await send('memory=rubbish'), await send('memory=rubbish; other=1')]).toEqual([1, 1]);
    expect(await send('memory=other-rubbish')).toBe(2);
    clock.advance(10 * minutes);
    expect(await send('memory=rubbish')).toBe(2);
    clock.advance(10 * minutes);
    expect(await send('memory=rubbish')).toBe(2);
    clock.advance(10 * minutes + 1);
    expect(await send('memory=rubbish')).toBe(3);
  });

  it('is known by the whole header where only a full parse finds it', async () => {
    const { resolver, rejected } = setUp({
      source: { findCookie: () => undefined, read: () => ({ kind: 'unreadable', reason: 'unreadable' }) },
    });
    for (const header of ['memory.0=a', 'memory.0=a', 'memory.0=b']) await resolver.resolve(header, unsent);
    expect(rejected()).toEqual(['unreadable', 'unreadable']);
  });

  it('is reported once for each session in it, and for each reason', async () => {
    const { resolver, provider, clock, content, rejected } = setUp();
    const grace = provider.issue('grace');
    clock.advance(1);
    for (const userId of ['ada', 'grace']) await resolver.endSession({ userId });
    for (const header of [headerOf(content), headerOf(grace), headerOf(content, grace), headerOf(content)]) {
      await resolver.resolve(header, unsent);
    }
    expect(rejected()).toEqual(['ended', 'ended', 'ended']);
    await resolver.signOut(headerOf(content));
    await resolver.resolve(headerOf(content), unsent);
    expect(rejected()).toEqual(['ended', 'ended', 'ended', 'signed_out']);
  });

  it('stays where its source finds none in it', async () => {
    const { resolver, rejected } = setUp({ source: { read: () => ({ kind: 'stored', candidates: [] }) } });
    expect(await resolver.resolve('memory=foreign', unsent)).toMatchObject({ session: null, cookies: [] });
    expect(rejected()).toEqual(['unknown']);
  });
});

describe.each([true, false])('a session from a cookie (sealed: %s)', (isSealed) => {
  it.each([
    ['answers', false, true],
    ['is down', true, false],
  ])('that is verified while the coordinator %s is confirmed or not', async (_, isDown, isConfirmed) => {
    const shared = Object.assign(createShared(), { isDown });
    const { app, resolver, header } = setUp({ shared, source: { isSealed } });
    const { session } = await visit(app, header);
    expect(resolver.isConfirmed(session!)).toBe(isConfirmed);
  });
});

it('a cookie is deleted within a second, and not where a sign-in is known to have taken its place', async () => {
  const { clock, provider, resolver } = createMemoryApp();
  const deletion = async () => {
    const content = provider.issue('ada');
    await resolver.endSession({ userId: 'ada' });
    const { cookies, isCurrent } = await resolver.resolve(createMemoryBrowser(content).header(), () => false);
    expect([cookies.length, isCurrent?.()]).toEqual([1, true]);
    return { ...content, isCurrent };
  };
  const replaced = await deletion();
  await resolver.markReplaced({ sessionId: replaced.sessionId, tokenLifetimeMs });
  expect(replaced.isCurrent?.()).toBe(false);
  const slow = await deletion();
  clock.advance(1_000);
  expect(slow.isCurrent?.()).toBe(false);
});
