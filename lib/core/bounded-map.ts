import { LRUCache } from 'lru-cache';

/** How often something has changed: where the number is the same, what was derived from it still holds. */
export interface ChangeCount {
  count: number;
}

/**
 * A map that forgets: each entry after its time, and the least recently used one where there are too many. It grows as it
 * fills; lru-cache's `max` would reserve the memory for all of them at once, several MB for each adapter that starts.
 *
 * @param max the most entries held, or the most that their sizes come to
 * @param sizeOf what an entry counts as; 1 unless given
 * @param maxSizeOfOne an entry that is larger is not held
 * @param ttlMs how long an entry is held unless it says otherwise, in milliseconds
 * @param now milliseconds, never 0
 * @param changes counts the entries that were set, and not those that ended by their time or by eviction
 */
export function createBoundedMap<Value extends object | string | boolean>(parts: {
  readonly max: number;
  readonly ttlMs: number;
  readonly now: () => number;
  readonly sizeOf?: (value: Value) => number;
  readonly maxSizeOfOne?: number;
  readonly changes?: ChangeCount;
}): LRUCache<string, Value> {
  const { max, ttlMs, now, sizeOf = () => 1, maxSizeOfOne = max, changes } = parts;
  return new LRUCache<string, Value>({
    maxSize: max,
    maxEntrySize: maxSizeOfOne,
    sizeCalculation: sizeOf,
    ttl: ttlMs,
    ttlResolution: 0,
    perf: { now },
    ...(changes === undefined ? {} : { onInsert: () => void (changes.count += 1) }),
  });
}

/** Bytes that V8 takes for the characters of a string: one each, or two where one of them is beyond Latin-1. */
export function stringBytes(text: string): number {
  return /^[\0-\xff]*$/.test(text) ? text.length : text.length * 2;
}
