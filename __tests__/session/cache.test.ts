import { jest } from '@jest/globals';
import { randomBytes } from 'node:crypto';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import fc from 'fast-check';
import { createCachedSession, createSessionCache, unseen } from '../../lib/session/cache.ts';
import type { VerifiedSession } from '../../lib/session/cache.ts';
import { createClock } from '../support/clock.ts';

const clock = createClock();

function verified(validForMs = 1_000): VerifiedSession {
  const validUntil = clock.now() + validForMs;
  return {
    session: {
      adapter: 'b2b',
      credential: 'cookie',
      user: { id: 'user', email: 'user@example.com' },
      accessToken: 'token',
      claims: { sub: 'user', exp: validUntil / 1000 },
      expiresAt: validUntil,
    },
    keys: { session: 'session', subjects: [], pair: undefined, beganAt: 0, issuedAt: 0 },
    validUntil,
    checkedAt: clock.now(),
    changes: unseen,
  };
}

it('finds a session under exactly the same cookie, and under no other', () => {
  const sessions = createSessionCache(10, clock.now);
  const entry = verified();
  sessions.add('cookie-one', entry);
  expect(sessions.get('cookie-one')).toBe(entry);
  expect(sessions.get('cookie-two')).toBeUndefined();
  expect(sessions.get('')).toBeUndefined();
});

it('rejects a cookie that only resembles a verified one', () => {
  const sessions = createSessionCache(10, clock.now);
  const good = 'a'.repeat(2000);
  sessions.add(good, verified());
  // Wherever it differs: no shortcut to an entry may look at a part of the cookie alone.
  for (let at = 0; at < good.length; at += 1) {
    expect(sessions.get(`${good.slice(0, at)}b${good.slice(at + 1)}`)).toBeUndefined();
  }
  expect(sessions.get(good)).toBeDefined();
});

it('drops sessions when they expire', () => {
  const sessions = createSessionCache(10, clock.now);
  sessions.add('cookie', verified(1_000));
  clock.advance(999);
  expect(sessions.get('cookie')).toBeDefined();
  clock.advance(1);
  expect(sessions.get('cookie')).toBeUndefined();
  sessions.add('late', verified(0));
  expect(sessions.get('late')).toBeUndefined();
});

it('drops what is deleted', () => {
  const sessions = createSessionCache(4, clock.now);
  sessions.add('old', verified());
  sessions.add('older', verified());
  sessions.add('young', verified());
  sessions.delete('old');
  sessions.delete('young');
  expect([sessions.get('old'), sessions.get('young')]).toEqual([undefined, undefined]);
  expect(sessions.get('older')).toBeDefined();
});

it('finds a cookie with any characters', () => {
  const sessions = createSessionCache(10, clock.now);
  sessions.add('caf\u00e9', verified());
  expect(sessions.get('caf\u00e9')).toBeDefined();
});

it('evicts nothing when a known session is added again', () => {
  const sessions = createSessionCache(4, clock.now);
  for (const cookie of ['one', 'two', 'three', 'four', 'three', 'four', 'three']) sessions.add(cookie, verified());
  expect(sessions.get('two')).toBeDefined();
});

it('stores nothing that has expired', () => {
  const sessions = createSessionCache(2, clock.now);
  sessions.add('valid', verified());
  for (const cookie of ['late', 'later', 'latest']) sessions.add(cookie, verified(0));
  expect(sessions.get('valid')).toBeDefined();
});

it('frees the space of an expired session when it is found', () => {
  const sessions = createSessionCache(4, clock.now);
  sessions.add('short', verified(1));
  clock.advance(1);
  expect(sessions.get('short')).toBeUndefined();
  for (const cookie of ['one', 'two', 'three', 'four']) sessions.add(cookie, verified());
  expect(sessions.get('one')).toBeDefined();
});

it('holds the newest sessions up to its limit', () => {
  const sessions = createSessionCache(10, clock.now);
  for (let index = 0; index < 100; index += 1) sessions.add(`cookie-${index}`, verified());
  for (let index = 90; index < 100; index += 1) expect(sessions.get(`cookie-${index}`)).toBeDefined();
  expect(sessions.get('cookie-89')).toBeUndefined();
});

it('holds fewer large sessions, and a fixed number of bytes however its users fill their cookies', () => {
  const sessions = createSessionCache(100, clock.now);
  const held = (bytes: number): number => {
    const cookies = Array.from({ length: 200 }, (_, index) => `${index}`.padStart(8, '0').repeat(bytes / 8));
    for (const cookie of cookies) sessions.add(cookie, verified());
    return cookies.filter((cookie) => sessions.get(cookie) !== undefined).length;
  };
  const [small, large, huge] = [held(800), held(8_000), held(16_000)];
  expect(small).toBe(100);
  expect(large * 8_000 * 3).toBeLessThanOrEqual(100 * 7_168);
  expect(large).toBeGreaterThan(25);
  expect(huge * 16_000 * 3).toBeLessThanOrEqual(100 * 7_168);
});

it('holds nothing if it is disabled', () => {
  const sessions = createSessionCache(0, clock.now);
  sessions.add('cookie', verified());
  expect(sessions.get('cookie')).toBeUndefined();
});

it('never exceeds its limit, and keeps what is requested often', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 12 }), fc.array(fc.nat(40), { maxLength: 200 }), (max, used) => {
      const sessions = createSessionCache(max, clock.now);
      for (const index of used) {
        const cookie = `cookie-${index}`;
        if (sessions.get(cookie) === undefined) sessions.add(cookie, verified());
        expect(sessions.get(cookie)).toBeDefined();
      }
      // Looked up in reverse, so that moving entries up cannot push out those that are still to be counted twice.
      const held = new Set([...new Set(used)].filter((index) => sessions.get(`cookie-${index}`) !== undefined));
      expect(held.size).toBeLessThanOrEqual(max);
    }),
  );
});

it('keeps a session that is requested again and again, however many others come', () => {
  const sessions = createSessionCache(10, clock.now);
  sessions.add('regular', verified());
  for (let index = 0; index < 1_000; index += 1) {
    sessions.add(`passer-by ${index}`, verified());
    expect(sessions.get('regular')).toBeDefined();
  }
});

it('stays under 120 MB of heap with 20,000 sessions whose cookies have 8 KB', () => {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  const heap = (): number => {
    collect();
    return process.memoryUsage().heapUsed / 1e6;
  };
  const text = (bytes: number): string => randomBytes((bytes * 3) / 4).toString('base64url');
  const sessions = createSessionCache(10_000, clock.now);
  let last = '';
  const before = heap();
  for (let index = 0; index < 20_000; index += 1) {
    const entry = verified();
    const metadata = JSON.parse(JSON.stringify({ text: text(3_400) })) as { text: string };
    const claims = { ...entry.session.claims, user_metadata: metadata };
    last = text(8_192);
    sessions.add(last, { ...entry, session: { ...entry.session, accessToken: text(5_600), claims } });
  }
  const grown = heap() - before;
  expect(grown).toBeLessThan(120);
  expect(grown).toBeGreaterThan(20);
  expect(sessions.get(last)).toBeDefined();
}, 60_000);

describe('the look-up of a cached session', () => {
  function createLookUp(recheckMs = Infinity) {
    const cache = createSessionCache(10, clock.now);
    const changes = { count: 0 };
    const isConcerned = jest.fn<() => boolean>(() => false);
    const entry = verified(60_000);
    cache.add('cookie', entry);
    const cachedSession = createCachedSession({
      cache,
      findCookie: (header) => header,
      isConcerned,
      changes,
      recheckMs,
      now: clock.now,
    });
    return { cachedSession, changes, isConcerned, session: entry.session };
  }

  it('checks revocations once after each change, and not on every request', () => {
    const { cachedSession, changes, isConcerned, session } = createLookUp();
    for (let request = 0; request < 3; request += 1) expect(cachedSession('cookie')).toBe(session);
    expect(isConcerned).toHaveBeenCalledTimes(1);
    changes.count += 1;
    for (let request = 0; request < 3; request += 1) expect(cachedSession('cookie')).toBe(session);
    expect(isConcerned).toHaveBeenCalledTimes(2);
  });

  it('returns no session while a revocation applies to it', () => {
    const { cachedSession, changes, isConcerned, session } = createLookUp();
    expect(cachedSession('cookie')).toBe(session);
    changes.count += 1;
    isConcerned.mockReturnValue(true);
    expect([cachedSession('cookie'), cachedSession('cookie')]).toEqual([undefined, undefined]);
    isConcerned.mockReturnValue(false);
    expect(cachedSession('cookie')).toBe(session);
  });

  it('defers to the other processes if its last look-up is too long ago', () => {
    const { cachedSession, session } = createLookUp(5_000);
    clock.advance(5_000);
    expect(cachedSession('cookie')).toBe(session);
    clock.advance(1);
    expect(cachedSession('cookie')).toBeUndefined();
  });

  it('finds nothing without a cookie', () => {
    const { cachedSession } = createLookUp();
    expect([cachedSession(undefined), cachedSession('another')]).toEqual([undefined, undefined]);
  });
});
