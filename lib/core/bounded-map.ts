import { LRUCache } from 'lru-cache';

/**
 * A map that forgets: each entry after its time, and the least recently used one where there are too many. It grows as it
 * fills; lru-cache's `max` would reserve the memory for all of them at once, several MB for each adapter that starts.
 *
 * @param max the most entries held
 * @param ttlMs how long an entry is held unless it says otherwise, in milliseconds
 * @param now milliseconds, never 0
 */
export function createBoundedMap<Value extends object | string | boolean>(parts: {
  readonly max: number;
  readonly ttlMs: number;
  readonly now: () => number;
}): LRUCache<string, Value> {
  const { max, ttlMs, now } = parts;
  return new LRUCache<string, Value>({
    maxSize: max,
    sizeCalculation: () => 1,
    ttl: ttlMs,
    ttlResolution: 0,
    perf: { now },
  });
}
