import { LRUCache } from 'lru-cache';

/** A memory of sessions that were signed out, kept until nothing of them can still be accepted. */
export interface EndedSessions {
  /** @param untilMs when the last access token of the session expires, in milliseconds since the epoch */
  end(sessionId: string, untilMs: number): void;
  has(sessionId: string | undefined): boolean;
}

/** Long enough for every request that was on its way when the visitor signed out. */
export const minTombstoneMs = 25_000;

const maxTombstones = 100_000;

export function createEndedSessions(now: () => number): EndedSessions {
  const tombstones = new LRUCache<string, true>({
    max: maxTombstones,
    ttl: minTombstoneMs,
    ttlResolution: 0,
    perf: { now },
  });
  return {
    end(sessionId, untilMs) {
      tombstones.set(sessionId, true, { ttl: Math.max(untilMs - now(), minTombstoneMs) });
    },
    has(sessionId) {
      return tombstones.size > 0 && sessionId !== undefined && tombstones.has(sessionId);
    },
  };
}
