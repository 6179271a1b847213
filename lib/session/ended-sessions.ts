import { createBoundedMap } from '../core/bounded-map.ts';

/**
 * How a session ended. The cookie of a `replaced` one is already overwritten by its successor's: clearing it now would take
 * the new session along.
 */
export type Ending = 'signed_out' | 'replaced';

/** A memory of sessions that ended here, kept until nothing of them can still be accepted. */
export interface EndedSessions {
  end(sessionId: string, ending: Ending, ttlMs: number): void;
  endingOf(sessionId: string | undefined): Ending | undefined;
}

/** Long enough for every request that was on its way when the visitor signed out. */
const minTombstoneMs = 25_000;
/** Supabase lets an access token live for a week; nobody lets one live longer. */
const maxTombstoneMs = 8 * 24 * 60 * 60_000;
const maxTombstones = 100_000;

/**
 * How long a signed-out session must be remembered: a refresh that was under way may bring back a token with its whole
 * lifetime before it.
 */
export function tombstoneMs(tokenLifetimeMs: number): number {
  return Math.min(Math.max(tokenLifetimeMs, 0) + minTombstoneMs, maxTombstoneMs);
}

export function createEndedSessions(now: () => number): EndedSessions {
  const tombstones = createBoundedMap<Ending>({ max: maxTombstones, ttlMs: minTombstoneMs, now });
  return {
    end(sessionId, ending, ttlMs) {
      tombstones.set(sessionId, ending, { ttl: ttlMs });
    },
    endingOf(sessionId) {
      return tombstones.size === 0 || sessionId === undefined ? undefined : tombstones.get(sessionId);
    },
  };
}
