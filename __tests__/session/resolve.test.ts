import { createMemoryApp, createMemoryBrowser, toCookie, tokenLifetimeMs, visit } from '../support/memory-sessions.ts';
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

  it('is deleted where its source finds none in it', async () => {
    const { resolver, rejected } = setUp({ source: { read: () => ({ kind: 'stored', candidates: [] }) } });
    expect(await resolver.resolve('memory=foreign', unsent)).toEqual({
      session: null,
      cookies: [{ name: 'memory', value: undefined }],
    });
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
