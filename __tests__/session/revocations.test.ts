import { createOutageReport } from '../../lib/session/outages.ts';
import { hash } from '../../lib/session/record.ts';
import { createRevocations, revocationMs } from '../../lib/session/revocations.ts';
import { createClock } from '../support/clock.ts';

const createLocal = (now = createClock().now) =>
  createRevocations(
    'b2b',
    undefined,
    createOutageReport(undefined, () => undefined),
    now,
    { count: 0 },
  );

const keysOf = (sessionId: string | undefined) =>
  createLocal().keysOf({ sessionId, userId: undefined, beganAt: 0, issuedAt: 0 }, undefined);

describe('a revocation', () => {
  it('lasts until no token of the session can be valid anymore', async () => {
    const clock = createClock();
    const revocations = createLocal(clock.now);
    await revocations.revoke('session', 'signed_out', 300_000);
    clock.advance(325_000);
    expect(revocations.knownRevocation(keysOf('session'))).toBe('signed_out');
    clock.advance(1);
    expect(revocations.knownRevocation(keysOf('session'))).toBeUndefined();
  });

  it('returns how the session ended, for this session only', async () => {
    const revocations = createLocal();
    expect(revocations.knownRevocation(keysOf('one'))).toBeUndefined();
    await revocations.revoke('one', 'replaced', 1_000);
    await revocations.revoke('two', 'signed_out', 1_000);
    expect([
      revocations.knownRevocation(keysOf('one')),
      revocations.knownRevocation(keysOf('two')),
      revocations.knownRevocation(keysOf('three')),
      revocations.knownRevocation(keysOf(undefined)),
    ]).toEqual(['replaced', 'signed_out', undefined, undefined]);
  });

  it.each([
    ['a token of five minutes', 300_000, 325_000],
    ['a token that was never valid', -1_000, 25_000],
    ['the longest token that Supabase can be told to issue', 604_800_000, 604_825_000],
    ['a token that does not say', Infinity, 691_200_000],
  ])('lasts for the whole lifetime of %s and 25 seconds', (_, lifetime, expected) => {
    expect(revocationMs(lifetime)).toBe(expected);
  });
});

describe('the key of a session', () => {
  it('has the same number of bytes for every session id', () => {
    expect([hash('a'), hash('b'.repeat(10_000))].map((key) => key.length)).toEqual([43, 43]);
    expect(hash('a')).not.toBe(hash('b'));
  });
});
