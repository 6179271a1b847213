import { LRUCache } from 'lru-cache';
import type { Session } from '../types.ts';
import type { ChangeCount } from '../core/bounded-map.ts';
import type { CookieFinder } from '../core/cookies.ts';
import type { SessionKeys } from './cutoffs.ts';

export type SessionCache = ReturnType<typeof createSessionCache>;

export interface VerifiedSession {
  readonly session: Session;
  readonly keys: SessionKeys;
  /** Milliseconds since the epoch; not after the token's own expiry. */
  readonly validUntil: number;
  /** When the shared revocations were asked, in milliseconds since the epoch. */
  readonly checkedAt: number;
  /** The count of changes up to which nothing concerned the session; `unseen` at first. */
  changes: number;
}

export const unseen = -1;

interface Entry {
  readonly cookie: string;
  readonly verified: VerifiedSession;
}

/** What one session may take on average, in bytes of memory: enough for a cookie of 2.4 KB. */
const averageBytes = 7 * 1024;
const minBytes = 64 * 1024;
/** The cookie, the token in it, its claims and the session take three times the cookie's length; `npm run bench:memory` measures it. */
const bytesPerCharacter = 3;

/**
 * Sessions whose cookie was verified before, so that a repeat request costs a look-up instead of cryptography.
 *
 * @param max the most sessions held, of 7 KB of memory each on average; 0 turns the cache off
 * @param now milliseconds since the epoch
 */
export function createSessionCache(max: number, now: () => number) {
  const maxBytes = Math.max(max * averageBytes, minBytes);
  // Each takes its share at least, so that the bytes bound the number, too; lru-cache's `max` would reserve all of it at once.
  const share = Math.floor(maxBytes / Math.max(max, 1));
  const entries = new LRUCache<number, Entry>({
    maxSize: maxBytes,
    sizeCalculation: ({ cookie }) => Math.max(share, cookie.length * bytesPerCharacter),
  });

  return {
    /** @param cookie the raw cookie value, compared in full */
    get(cookie: string): VerifiedSession | undefined {
      const key = fingerprint(cookie);
      const entry = entries.get(key);
      // The fingerprint only finds the entry; equality of the whole cookie is what grants access.
      if (entry?.cookie !== cookie) return undefined;
      if (entry.verified.validUntil > now()) return entry.verified;
      entries.delete(key);
      return undefined;
    },
    add(cookie: string, verified: VerifiedSession): void {
      if (max === 0 || verified.validUntil <= now()) return;
      entries.set(fingerprint(cookie), { cookie: detach(cookie), verified });
    },
    delete(cookie: string): void {
      entries.delete(fingerprint(cookie));
    },
  };
}

interface LookUp {
  readonly cache: SessionCache;
  readonly findCookie: CookieFinder;
  /** Whether anything that this process knows keeps the session from passing. */
  readonly isConcerned: (keys: SessionKeys) => boolean;
  /** Counts what `isConcerned` goes by. */
  readonly changes: ChangeCount;
  readonly recheckMs: number;
  readonly now: () => number;
}

/**
 * The look-up that lets almost every request in. Between two changes of what this process knows of revocations, the answer for a
 * session stays the same, so that they are looked at after a change only.
 *
 * @returns a function of the `Cookie` header; `undefined` when it takes more than a look-up to tell
 */
export function createCachedSession({ cache, findCookie, isConcerned, changes, recheckMs, now }: LookUp) {
  return (cookieHeader: string | undefined): Session | undefined => {
    const cookie = cookieHeader === undefined ? undefined : findCookie(cookieHeader);
    const cached = cookie === undefined ? undefined : cache.get(cookie);
    if (cached === undefined || now() - cached.checkedAt > recheckMs) return undefined;
    if (cached.changes !== changes.count) {
      if (isConcerned(cached.keys)) return undefined;
      cached.changes = changes.count;
    }
    return cached.session;
  };
}

const samples = 32;

/**
 * Characters spread over the cookie and its last eight (a seal ends in its MAC) instead of a hash over kilobytes, as a number
 * that fits a machine word (FNV-1a). A collision costs one verification, never an answer.
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

/** A copy that does not keep the whole `Cookie` header alive, as a slice of it would. */
function detach(text: string): string {
  return Buffer.from(text, 'latin1').toString('latin1');
}
