import { errors } from 'jose';
import { AuthError } from '../../../lib/errors.ts';
import type { Verdict } from '../../../lib/session/source.ts';
import { createClock } from '../../support/clock.ts';
import {
  createMemoryApp,
  createMemoryBrowser,
  createMemoryProvider,
  createMemorySource,
  tokenLifetimeMs,
  visit,
  withoutSessionIds,
} from '../../support/memory-sessions.ts';
import type { MemoryAppSetup, MemoryContent } from '../../support/memory-sessions.ts';
import { createShared } from '../../support/shared-memory.ts';

function setUp(setup: MemoryAppSetup = {}) {
  const clock = createClock();
  const provider = createMemoryProvider(clock);
  const app = createMemoryApp({ clock, provider, ...setup });
  const content = provider.issue('ada');
  const headerOf = (held: MemoryContent) => createMemoryBrowser(held).header();
  const reasonOf = (given: MemoryContent, cookieHeader?: string) =>
    app.resolver.findSuperseded(given, { cookieHeader, peer: undefined });
  return { app, clock, provider, content, headerOf, reasonOf };
}

describe('tokens that an application stores', () => {
  it('are superseded once this process has exchanged them', async () => {
    const { app, clock, content, headerOf, reasonOf } = setUp();
    expect(await reasonOf(content)).toBeUndefined();
    clock.advance(tokenLifetimeMs);
    await visit(app, headerOf(content));
    expect(await reasonOf(content)).toBe('superseded');
    // It is no longer known which of the session's tokens were the newest.
    clock.advance(10 * 60_000 + 1);
    expect(await reasonOf(content)).toBe('superseded');
  });

  it('are not superseded by older ones of the same second that come later', async () => {
    const { app, clock, provider, content, headerOf, reasonOf } = setUp();
    const outcome = await provider.refresh(content);
    if (outcome.kind !== 'renewed') throw new Error('The provider did not renew the tokens');
    const later = { ...outcome.content, issuedAt: content.issuedAt };
    await visit(app, headerOf(later));
    await visit(app, headerOf(content));
    clock.advance(1_000);
    expect(await reasonOf(later)).toBeUndefined();
  });

  it('are not superseded where the provider gives the same refresh token again', async () => {
    const { app, clock, content, headerOf, reasonOf } = setUp({
      source: {
        refresh: (held) => {
          const times = { issuedAt: clock.now(), expiresAt: clock.now() + tokenLifetimeMs };
          return Promise.resolve({ kind: 'renewed', content: { ...held, ...times } });
        },
      },
    });
    clock.advance(tokenLifetimeMs);
    await visit(app, headerOf(content));
    expect(await reasonOf({ ...content, issuedAt: clock.now() })).toBeUndefined();
  });

  it('have the reason for which the provider refused them', async () => {
    const { app, clock, provider, content, headerOf, reasonOf } = setUp();
    provider.revoke(content.sessionId);
    clock.advance(tokenLifetimeMs);
    await visit(app, headerOf(content));
    expect(await reasonOf(content)).toBe('invalid_grant');
  });

  it('are superseded if this process has seen newer ones, unless they are newer still', async () => {
    const { app, clock, content, headerOf, reasonOf } = setUp();
    clock.advance(tokenLifetimeMs);
    await visit(app, headerOf(content));
    const other = { ...content, refreshToken: 'another' };
    expect(await reasonOf({ ...other, issuedAt: clock.now() })).toBe('superseded');
    expect(await reasonOf({ ...other, issuedAt: clock.now() + 1 })).toBeUndefined();
  });

  it('are superseded if another process exchanged them for another organization', async () => {
    const shared = createShared();
    const clock = createClock();
    const provider = createMemoryProvider(clock);
    const setup = { shared, clock, provider };
    const [one, two] = [createMemoryApp(setup), createMemoryApp(setup)];
    const content = provider.issue('ada');
    const variant = {
      name: 'organization',
      isReached: () => false,
      refresh: (held: MemoryContent) => provider.refresh(held),
    };
    const header = createMemoryBrowser(content).header();
    await two.resolver.switchSession(header, variant, {});
    expect(await one.resolver.findSuperseded(content, { cookieHeader: undefined, peer: undefined })).toBe('superseded');
  });

  it('are stored whatever their claims are from', async () => {
    const { app, content, reasonOf } = setUp();
    await app.resolver.renewSession({ userId: 'ada' });
    expect(await reasonOf(content)).toBeUndefined();
  });
});

describe('tokens that an application stores, beside a cookie', () => {
  /** The tokens are of the middle of three sign-ins or renewals of one session. */
  function withCookie(setup: MemoryAppSetup = {}) {
    const world = setUp(setup);
    const given = { ...world.content, issuedAt: world.content.issuedAt + 1 };
    const held = (change: Partial<MemoryContent>) => world.headerOf({ ...given, refreshToken: 'held', ...change });
    return { ...world, given, held };
  }

  it.each([
    ['newer tokens of their session', { laterMs: 1 }, 'superseded'],
    ['tokens of their session from the same time', { laterMs: 0 }, undefined],
    ['older tokens of their session', { laterMs: -1 }, undefined],
    ['newer tokens of another session', { laterMs: 1, sessionId: 'another' }, undefined],
  ])('that holds %s', async (_, { laterMs, ...change }, expected) => {
    const { given, held, reasonOf } = withCookie();
    const header = held({ ...change, issuedAt: given.issuedAt + laterMs });
    expect(await reasonOf(given, header)).toBe(expected);
    expect(await reasonOf(given, `memory=unreadable; ${held({ issuedAt: 0 })}; ${header}`)).toBe(expected);
  });

  it.each([undefined, '', 'memory=unreadable'])('that holds no session are not superseded: %j', async (header) => {
    const { given, reasonOf } = withCookie();
    expect(await reasonOf(given, header)).toBeUndefined();
  });

  it('are not superseded by tokens that name no session either', async () => {
    const clock = createClock();
    const memory = createMemorySource(createMemoryProvider(clock), clock);
    const { given, held, reasonOf } = withCookie({ source: withoutSessionIds(memory) });
    expect(await reasonOf(given, held({ issuedAt: given.issuedAt + 1 }))).toBeUndefined();
  });

  const unknownKey = new AuthError('provider_unavailable', { cause: new errors.JWKSNoMatchingKey() });
  const outage = new AuthError('provider_unavailable');

  it.each<[string, boolean, Verdict | AuthError | undefined, string | undefined]>([
    ['genuine', false, undefined, 'superseded'],
    ['genuine, though expired', false, { kind: 'expired' }, 'superseded'],
    ['signed with an unknown key', false, unknownKey, undefined],
    ['unverifiable', false, { kind: 'unverifiable' }, undefined],
    ['made up', false, { kind: 'invalid', reason: 'signature' }, undefined],
    ['sealed, and so ours', true, { kind: 'unverifiable' }, 'superseded'],
  ])('that holds newer tokens, which are %s', async (_, isSealed, verdict, expected) => {
    const clock = createClock();
    const memory = createMemorySource(createMemoryProvider(clock), clock);
    const verify: typeof memory.verify = async (...asked) => {
      if (verdict instanceof AuthError) throw verdict;
      return verdict ?? memory.verify(...asked);
    };
    const { given, held, reasonOf } = withCookie({ source: { isSealed, verify } });
    expect(await reasonOf(given, held({ issuedAt: given.issuedAt + 1 }))).toBe(expected);
  });

  it('are not judged while newer ones cannot be verified', async () => {
    const { given, held, reasonOf } = withCookie({ source: { isSealed: false, verify: () => Promise.reject(outage) } });
    await expect(reasonOf(given, held({ issuedAt: given.issuedAt + 1 }))).rejects.toBe(outage);
  });
});
