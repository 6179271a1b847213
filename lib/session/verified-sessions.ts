import type { Session } from '../types.ts';

/** Sessions whose cookie was verified before, so that a repeat request costs a look-up instead of cryptography. */
export interface VerifiedSessions {
  /** @param cookie the raw cookie value, compared in full */
  get(cookie: string): VerifiedSession | undefined;
  add(cookie: string, verified: VerifiedSession): void;
  delete(cookie: string): void;
}

export interface VerifiedSession {
  readonly session: Session;
  readonly sessionKey: string | undefined;
  /** Milliseconds since the epoch; not after the token's own expiry. */
  readonly validUntil: number;
  /** When the shared tombstones were asked, in milliseconds since the epoch. */
  readonly checkedAt: number;
}

interface Entry {
  readonly cookie: string;
  readonly verified: VerifiedSession;
}

/**
 * A map in two generations: when the young one is full it becomes the old one, and what is still asked for moves up. It bounds
 * memory like an LRU at a hundredth of the bookkeeping per hit.
 *
 * @param max the most sessions held; 0 turns the cache off
 * @param now milliseconds since the epoch
 */
export function createVerifiedSessions(max: number, now: () => number): VerifiedSessions {
  const perGeneration = Math.max(1, Math.floor(max / 2));
  let young = new Map<number, Entry>();
  let old = new Map<number, Entry>();

  const insert = (key: number, entry: Entry): void => {
    if (young.size >= perGeneration && !young.has(key)) {
      old = max === 1 ? new Map<number, Entry>() : young;
      young = new Map();
    }
    young.set(key, entry);
  };

  return {
    get(cookie) {
      const key = fingerprint(cookie);
      let entry = young.get(key);
      if (entry === undefined) {
        entry = old.get(key);
        if (entry === undefined) return undefined;
        old.delete(key);
        insert(key, entry);
      }
      // The fingerprint only finds the entry; equality of the whole cookie is what grants access.
      if (entry.cookie !== cookie) return undefined;
      if (entry.verified.validUntil > now()) return entry.verified;
      young.delete(key);
      return undefined;
    },
    add(cookie, verified) {
      if (max === 0 || verified.validUntil <= now()) return;
      const key = fingerprint(cookie);
      old.delete(key);
      insert(key, { cookie: detach(cookie), verified });
    },
    delete(cookie) {
      const key = fingerprint(cookie);
      young.delete(key);
      old.delete(key);
    },
  };
}

const samples = 32;

/**
 * Characters spread over the cookie and its last eight (a seal ends in its MAC) instead of a hash over kilobytes, as a number
 * that fits a machine word (FNV-1a): a fifth of what slices and a longer key cost. A collision costs one verification, never an
 * answer.
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
