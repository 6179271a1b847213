import { createHash } from 'node:crypto';
import { createBoundedMap } from '../core/bounded-map.ts';

/**
 * How a session ended. The cookie of a `replaced` one is already overwritten by its successor's: clearing it now would take
 * the new session along.
 */
export type Revocation = 'signed_out' | 'replaced';

/** A memory of sessions that ended here, kept until nothing of them can still be accepted. */
export interface Revocations {
  end(sessionId: string, ending: Revocation, ttlMs: number): void;
  /** @param key the session's `sessionKey` */
  revocationOf(key: string | undefined): Revocation | undefined;
}

/** Names a session in as many bytes for every session id. */
export function sessionKey(sessionId: string): string;
export function sessionKey(sessionId: string | undefined): string | undefined;
export function sessionKey(sessionId: string | undefined): string | undefined {
  return sessionId === undefined ? undefined : createHash('sha256').update(sessionId).digest('base64url');
}

/** Long enough for every request that was on its way when the visitor signed out. */
const minRevocationMs = 25_000;
/** Supabase lets an access token live for a week; no project lets one live longer. */
const maxRevocationMs = 8 * 24 * 60 * 60_000;
const maxRevocations = 100_000;

/**
 * How long a signed-out session must be remembered: a refresh that was under way may bring back a token with its whole
 * lifetime before it.
 */
export function revocationMs(tokenLifetimeMs: number): number {
  return Math.min(Math.max(tokenLifetimeMs, 0) + minRevocationMs, maxRevocationMs);
}

export function createRevocations(now: () => number): Revocations {
  const revocations = createBoundedMap<Revocation>({ max: maxRevocations, ttlMs: minRevocationMs, now });
  return {
    end(sessionId, ending, ttlMs) {
      revocations.set(sessionKey(sessionId), ending, { ttl: ttlMs });
    },
    revocationOf(key) {
      return revocations.size === 0 || key === undefined ? undefined : revocations.get(key);
    },
  };
}
