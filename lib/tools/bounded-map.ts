import { LRUCache } from 'lru-cache';

/** Counts changes: while the number is the same, data derived from it is still valid. */
export interface ChangeCount {
  count: number;
}

/**
 * A map with limits: it drops each entry after its time, and the least recently used ones beyond `max`. It
 * grows as it fills; lru-cache's `max` option would reserve several MB for each adapter at the start.
 *
 * @param max the maximum number of entries, or the maximum sum of their sizes
 * @param sizeOf the size of an entry; default 1
 * @param maxSizeOfOne larger entries are not stored
 * @param ttlMs the default lifetime of an entry, in milliseconds
 * @param now milliseconds, never 0
 * @param changes counts set entries, not expired or evicted ones
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

/** Bytes that V8 uses for a string's characters: one each, or two if one of them is beyond Latin-1. */
export function stringBytes(text: string): number {
  return /^[\0-\xff]*$/.test(text) ? text.length : text.length * 2;
}

/** Loads something with the first call. After a failure, as where no file can be opened, the next call tries again. */
export function createLazy<Result>(load: () => Promise<Result>): () => Promise<Result> {
  let loading: Promise<Result> | undefined;
  return () =>
    (loading ??= load().catch((error: unknown) => {
      loading = undefined;
      throw error;
    }));
}
