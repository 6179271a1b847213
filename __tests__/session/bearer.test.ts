import { jest } from '@jest/globals';
import { errors } from 'jose';
import { AuthError } from '../../lib/errors.ts';
import { readToken } from '../../lib/session/jwt.ts';
import type { Verdict } from '../../lib/session/source.ts';
import type { Token } from '../../lib/session/jwt.ts';
import { createClock } from '../support/clock.ts';
import { createMemoryApp, createMemoryProvider, createMemorySource } from '../support/memory-sessions.ts';
import type { MemoryAppSetup } from '../support/memory-sessions.ts';
import { createShared } from '../support/shared-memory.ts';

interface Setup extends Pick<MemoryAppSetup, 'shared' | 'timeoutMs'> {
  /** What the verification gives instead of the live session. */
  readonly judge?: (live: Extract<Verdict, { kind: 'live' }>) => Verdict | Promise<Verdict>;
  /** Default: as of a token that does not say when its session began. */
  readonly beganAt?: number;
}

const lifetimeMs = 300_000;
const startedAt = 1_700_000_000_000;
const encode = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');

/** Two processes, and a token of a session. */
function setUp({ judge = (live) => live, beganAt = 0, ...setup }: Setup = {}) {
  const clock = createClock(startedAt);
  const provider = createMemoryProvider(clock);
  const verify = async ({ text, claims }: Token): Promise<Verdict> => {
    const user = { id: 'ada', email: 'ada@example.com' };
    const expiresAt = Number(claims['exp']) * 1_000;
    const session = { adapter: 'b2b', credential: 'bearer', user, accessToken: text, claims, expiresAt };
    return judge({ kind: 'live', session } as Extract<Verdict, { kind: 'live' }>);
  };
  const [verifyBearer, verifyForResource] = [jest.fn(verify), jest.fn(verify)];
  const memory = createMemorySource(provider, clock);
  const source = {
    verifyBearer,
    verifyForResource,
    factsOf: (claims: Token['claims']) => ({ ...memory.factsOf(claims), beganAt }),
  };
  const [app, other] = [1, 2].map(() => createMemoryApp({ clock, provider, source, ...setup }).resolver);
  const issue = (): string => {
    const iat = clock.now() / 1_000;
    return `${encode({ alg: 'RS256' })}.${encode({ sub: 'ada', sid: 'session', iat, exp: iat + lifetimeMs / 1_000 })}.AA`;
  };
  return { clock, app: app!, other: other!, token: issue(), issue, verifyBearer, verifyForResource };
}

describe('a bearer token', () => {
  it('is verified once, for a session and for a resource apart', async () => {
    const { app, token, verifyBearer, verifyForResource } = setUp();
    const first = await app.resolveBearer(token, {});
    expect([first?.user.id, verifyForResource.mock.calls.length]).toEqual(['ada', 0]);
    expect((await app.resolveForResource(token, {}))?.user.id).toBe('ada');
    await app.resolveForResource(token, {});
    expect(await app.resolveBearer(token, {})).toBe(first);
    expect([verifyBearer.mock.calls.length, verifyForResource.mock.calls.length]).toEqual([1, 1]);
  });

  it.each<Verdict>([{ kind: 'expired' }, { kind: 'unverifiable' }, { kind: 'invalid', reason: 'audience' }])(
    'is no session where its verification says %j',
    async (verdict) => {
      const { app, token } = setUp({ judge: () => verdict });
      expect(await app.resolveBearer(token, {})).toBeUndefined();
    },
  );

  it('is no session from the moment it expires, whatever tolerance its verification has', async () => {
    const { app, clock, token } = setUp();
    clock.advance(lifetimeMs);
    expect(await app.resolveBearer(token, {})).toBeUndefined();
  });

  it.each([
    ['before it expires', lifetimeMs - 1_000, lifetimeMs - 1_000],
    ['after it expires', lifetimeMs + 1_000, lifetimeMs],
  ])('is valid no longer than its verification says, %s', async (_, validForMs, expectedMs) => {
    const { app, clock, token, verifyBearer } = setUp({
      judge: (live) => ({ ...live, validUntil: startedAt + validForMs }),
    });
    await app.resolveBearer(token, {});
    clock.advance(expectedMs - 1);
    await app.resolveBearer(token, {});
    expect(verifyBearer).toHaveBeenCalledTimes(1);
    clock.advance(1);
    await app.resolveBearer(token, {});
    expect(verifyBearer).toHaveBeenCalledTimes(2);
  });

  it('of a session that was signed out is not verified', async () => {
    const { app, token, verifyBearer } = setUp({ shared: createShared() });
    await app.revokeSession({ sessionId: 'session', tokenLifetimeMs: lifetimeMs });
    expect(await app.resolveBearer(token, {})).toBeUndefined();
    expect(verifyBearer).not.toHaveBeenCalled();
  });

  it('of a session that has ended is not verified again, if no other process can have spared it', async () => {
    const { app, token, verifyBearer } = setUp();
    await app.resolveBearer(token, {});
    await app.endSession({ userId: 'ada' });
    expect(await app.resolveBearer(token, {})).toBeUndefined();
    expect(verifyBearer).toHaveBeenCalledTimes(1);
  });

  it('passes at once if another process has spared its session', async () => {
    const { app, other, token } = setUp({ shared: createShared() });
    await app.resolveBearer(token, {});
    await app.endSession({ userId: 'ada' });
    expect(await app.resolveBearer(token, {})).toBeUndefined();
    const facts = { sessionId: 'session', userId: 'ada', beganAt: 0, issuedAt: startedAt };
    await other.beginSession({ ...facts, refreshToken: 'own', token: readToken('') }, { beganAt: 0 });
    expect((await app.resolveBearer(token, {}))?.user.id).toBe('ada');
  });

  it('from before renewSession is taken only where outdated claims are, verified before or not', async () => {
    const { app, token, verifyBearer } = setUp();
    await app.renewSession({ userId: 'ada' });
    for (let request = 0; request < 2; request += 1) {
      expect(await app.resolveBearer(token, {})).toBeUndefined();
      expect((await app.resolveBearer(token, {}, { takesStale: true }))?.user.id).toBe('ada');
    }
    expect(verifyBearer).toHaveBeenCalledTimes(2);
    await app.endSession({ userId: 'ada' });
    expect(await app.resolveBearer(token, {}, { takesStale: true })).toBeUndefined();
  });

  it('of a session that has ended in another process is refused where outdated claims are taken, too', async () => {
    const { app, other, token } = setUp({ shared: createShared() });
    await other.endSession({ userId: 'ada' });
    expect(await app.resolveBearer(token, {}, { takesStale: true })).toBeUndefined();
  });

  it.each([
    [5_000, 1],
    [5_001, 2],
    [-5_000, 1],
    [-5_001, 2],
  ])('is checked with the other processes again after %i ms, or not: %i times', async (laterMs, times) => {
    const { app, clock, token, verifyBearer } = setUp({ shared: createShared() });
    await app.resolveBearer(token, {});
    clock.advance(laterMs);
    await app.resolveBearer(token, {});
    expect(verifyBearer).toHaveBeenCalledTimes(times);
  });

  it.each([
    [false, true],
    [true, false],
  ])('that was verified while the coordinator was down (%j) is confirmed: %j', async (isDown, isConfirmed) => {
    const { app, token } = setUp({ shared: Object.assign(createShared(), { isDown }) });
    const session = await app.resolveBearer(token, {});
    expect(app.isConfirmed(session!)).toBe(isConfirmed);
  });

  it('whose key is not known is no session, and an error where a newer key may come', async () => {
    const unknownKey = new AuthError('provider_unavailable', { cause: new errors.JWKSNoMatchingKey() });
    const { app, token } = setUp({ judge: () => Promise.reject(unknownKey) });
    expect(await app.resolveBearer(token, {})).toBeUndefined();
    await expect(app.resolveBearer(token, {}, { awaitsKeys: true })).rejects.toBe(unknownKey);
  });

  it.each<[string, Setup]>([
    ['while the keys cannot be fetched', { judge: () => Promise.reject(new AuthError('provider_unavailable')) }],
    ['if its verification exceeds the time limit', { timeoutMs: 20, judge: () => new Promise(() => undefined) }],
  ])('is neither accepted nor refused %s', async (_, setup) => {
    const { app, token } = setUp(setup);
    await expect(app.resolveBearer(token, {})).rejects.toMatchObject({ code: 'provider_unavailable' });
  });
});

describe('endSession for the user', () => {
  it('ends the resource tokens that were issued until then, if they do not say when their session began', async () => {
    const { app, clock, token, issue } = setUp();
    clock.advance(1_000);
    await app.endSession({ userId: 'ada' });
    clock.advance(1_000);
    const later = issue();
    expect(await app.resolveForResource(token, {})).toBeUndefined();
    expect((await app.resolveForResource(later, {}))?.user.id).toBe('ada');
    // The session's own token has the start of the session, which is over.
    expect(await app.resolveBearer(later, {})).toBeUndefined();
  });

  it('ends every resource token whose session began before', async () => {
    const { app, clock, issue } = setUp({ beganAt: startedAt });
    await app.endSession({ userId: 'ada' });
    clock.advance(1_000);
    expect(await app.resolveForResource(issue(), {})).toBeUndefined();
  });
});
