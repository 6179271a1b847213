import type { Session } from '../types.ts';
import { createBoundedMap } from '../tools/bounded-map.ts';
import type { ChangeCount } from '../tools/bounded-map.ts';
import type { CookieFinder } from '../tools/cookies.ts';
import type { SessionKeys } from './ended/records.ts';

export type SessionCache = ReturnType<typeof createSessionCache>;

export interface VerifiedSession {
  readonly session: Session;
  readonly keys: SessionKeys;
  /** Milliseconds since the epoch; not after the token's own expiry. */
  readonly validUntil: number;
  /** When the shared revocations were checked, in milliseconds since the epoch. */
  readonly checkedAt: number;
  /** The change count up to which no change concerned the session; `unseen` at first. */
  changes: number;
}

export const unseen = -1;

interface Entry {
  readonly cookie: string;
  readonly verified: VerifiedSession;
}

/** The average memory of one session in bytes: enough for a cookie of 2.4 KB. */
const averageBytes = 7 * 1024;
const minBytes = 64 * 1024;
/** The cookie, its token, its claims and the session take three times the cookie's length, measured by `npm run bench:memory`. */
const bytesPerCharacter = 3;

/**
 * Sessions with a verified cookie, so that a repeated request costs a look-up instead of cryptography.
 *
 * @param max the maximum number of sessions, of 7 KB of memory each on average; 0 turns the cache off
 * @param now milliseconds since the epoch
 */
export function createSessionCache(max: number, now: () => number) {
  const maxBytes = Math.max(max * averageBytes, minBytes);
  // Each entry counts at least its share, so the byte limit bounds the number, too.
  const share = Math.floor(maxBytes / Math.max(max, 1));
  const entries = createBoundedMap<Entry, number>({
    max: maxBytes,
    sizeOf: ({ cookie }) => Math.max(share, cookie.length * bytesPerCharacter),
    ttlMs: Infinity,
    now,
  });

  return {
    /** @param cookie the raw cookie value, compared in full */
    get(cookie: string): VerifiedSession | undefined {
      const entry = entries.get(fingerprint(cookie));
      // The fingerprint only finds the entry; access requires that the whole cookie is equal.
      return entry?.cookie === cookie ? entry.verified : undefined;
    },
    add(cookie: string, verified: VerifiedSession): void {
      // An entry is held in its last millisecond, a session is not valid in the one that ends it.
      const ttl = verified.validUntil - 1 - now();
      if (max > 0 && ttl >= 0) entries.set(fingerprint(cookie), { cookie: detach(cookie), verified }, { ttl });
    },
    delete(cookie: string): void {
      entries.delete(fingerprint(cookie));
    },
  };
}

interface LookUp {
  readonly cache: SessionCache;
  readonly findCookie: CookieFinder;
  /** Whether this process knows a reason to reject the session or its claims. */
  readonly isConcerned: (keys: SessionKeys) => boolean;
  /** Counts the changes that `isConcerned` depends on. */
  readonly changes: ChangeCount;
  readonly recheckMs: number;
  readonly now: () => number;
}

/**
 * The fast path of almost every request. A session's revocation state changes only when this
 * process learns of a change, so it is checked only then.
 *
 * @returns a function of the `Cookie` header; it returns `undefined` where a look-up is not sufficient
 */
export function createCachedSession({ cache, findCookie, isConcerned, changes, recheckMs, now }: LookUp) {
  return (cookieHeader: string | undefined): Session | undefined => {
    const cookie = cookieHeader === undefined ? undefined : findCookie(cookieHeader);
    const cached = cookie === undefined ? undefined : cache.get(cookie);
    // A clock that was set back must not make a check last.
    if (cached === undefined || Math.abs(now() - cached.checkedAt) > recheckMs) return undefined;
    if (cached.changes !== changes.count) {
      if (isConcerned(cached.keys)) return undefined;
      cached.changes = changes.count;
    }
    return cached.session;
  };
}

const samples = 32;

/**
 * Samples characters spread over the cookie and its last eight (a seal ends with its MAC) instead of hashing kilobytes,
 * as a number that fits a machine word (FNV-1a). A collision costs one verification and never returns a wrong session.
 */
function fingerprint(cookie: string): number {
  const { length } = cookie;
  const stride = Math.max(1, (length / samples) | 0);
  let hash = 0x811c9dc5 ^ length;
  for (let at = 0; at < length; at += stride) hash = Math.imul(hash ^ cookie.charCodeAt(at), 0x01000193);
  for (let at = Math.max(0, length - 8); at < length; at += 1) {
    hash = Math.imul(hash ^ cookie.charCodeAt(at), 0x01000193);
  }
  return hash >> 1;
}

/** A copy, because a slice would keep the whole `Cookie` header in memory. */
function detach(text: string): string {
  return Buffer.from(text, 'latin1').toString('latin1');
}
