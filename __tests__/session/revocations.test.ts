import { createRevocations, sessionKey, revocationMs } from '../../lib/session/revocations.ts';
import { createClock } from '../support/clock.ts';

describe('a tombstone', () => {
  it('stands until no token of the session can be valid any more, and then falls', () => {
    const clock = createClock();
    const ended = createRevocations(clock.now);
    ended.end('session', 'signed_out', revocationMs(300_000));
    clock.advance(325_000);
    expect(ended.revocationOf(sessionKey('session'))).toBe('signed_out');
    clock.advance(1);
    expect(ended.revocationOf(sessionKey('session'))).toBeUndefined();
  });

  it('says how the session ended, of this session only', () => {
    const ended = createRevocations(createClock().now);
    expect(ended.revocationOf(sessionKey('one'))).toBeUndefined();
    ended.end('one', 'replaced', 1_000);
    ended.end('two', 'signed_out', 1_000);
    expect([
      ended.revocationOf(sessionKey('one')),
      ended.revocationOf(sessionKey('two')),
      ended.revocationOf(sessionKey('three')),
      ended.revocationOf(undefined),
    ]).toEqual(['replaced', 'signed_out', undefined, undefined]);
  });

  it.each([
    ['a token of five minutes', 300_000, 325_000],
    ['a token that was never valid', -1_000, 25_000],
    ['the longest token that Supabase can be told to issue', 604_800_000, 604_825_000],
    ['a token that does not say', Infinity, 691_200_000],
  ])('stands for the whole lifetime of %s and 25 seconds', (_, lifetime, expected) => {
    expect(revocationMs(lifetime)).toBe(expected);
  });
});

describe('the name of a session', () => {
  it('takes as many bytes for every session id', () => {
    expect([sessionKey('a'), sessionKey('b'.repeat(10_000))].map((key) => key.length)).toEqual([43, 43]);
    expect(sessionKey('a')).not.toBe(sessionKey('b'));
    expect(sessionKey(undefined)).toBeUndefined();
  });
});
