import { LRUCache } from 'lru-cache';

/** A memory of sessions that were signed out, kept until nothing of them can still be accepted. */
export interface EndedSessions {
  end(sessionId: string, ttlMs: number): void;
  has(sessionId: string | undefined): boolean;
}

/** Long enough for every request that was on its way when the visitor signed out. */
const minTombstoneMs = 25_000;
const maxTombstoneMs = 24 * 60 * 60_000;
const maxTombstones = 100_000;

/**
 * How long a signed-out session must be remembered: a refresh that was under way may bring back a token with its whole
 * lifetime before it.
 */
export function tombstoneMs(tokenLifetimeMs: number): number {
  return Math.min(Math.max(tokenLifetimeMs, 0) + minTombstoneMs, maxTombstoneMs);
}

export function createEndedSessions(now: () => number): EndedSessions {
  const tombstones = new LRUCache<string, true>({
    max: maxTombstones,
    ttl: minTombstoneMs,
    ttlResolution: 0,
    perf: { now },
  });
  return {
    end(sessionId, ttlMs) {
      tombstones.set(sessionId, true, { ttl: ttlMs });
    },
    has(sessionId) {
      return tombstones.size > 0 && sessionId !== undefined && tombstones.has(sessionId);
    },
  };
}
