/** Counts changes: while the number is the same, data derived from it is still valid. */
export interface ChangeCount {
  count: number;
}

/** A place in a ring, in the order of use. */
interface Place {
  older: Place;
  newer: Place;
}

interface Entry<Key, Value> extends Place {
  readonly key: Key;
  readonly value: Value;
  readonly size: number;
  /** The last moment of its life, in milliseconds. */
  readonly endsAt: number;
}

interface BoundedMapParts<Key, Value> {
  readonly max: number;
  readonly ttlMs: number;
  readonly now: () => number;
  readonly sizeOf?: (value: Value) => number;
  readonly maxSizeOfOne?: number;
  readonly onEvict?: (key: Key) => void;
  readonly changes?: ChangeCount;
}

/**
 * A map with limits: it drops each entry after its time, and the least recently used ones beyond `max`. Each step takes the same
 * time, however many entries there are: the order of a `Map` would not do, because finding its eldest key walks over all that left.
 *
 * @param max the maximum number of entries, or the maximum sum of their sizes
 * @param sizeOf the size of an entry; default 1
 * @param maxSizeOfOne larger entries are not stored
 * @param ttlMs the default lifetime of an entry, in milliseconds
 * @param now milliseconds
 * @param onEvict told of each entry beyond `max`
 * @param changes counts set entries, not expired or evicted ones
 */
export function createBoundedMap<Value extends object | string | boolean, Key extends string | number = string>(
  parts: BoundedMapParts<Key, Value>,
) {
  const { max, ttlMs, now, sizeOf = () => 1, maxSizeOfOne = max, onEvict, changes } = parts;
  const entries = new Map<Key, Entry<Key, Value>>();
  /** Lies between the newest entry and the eldest. */
  const ends = {} as Place;
  ends.older = ends.newer = ends;
  let total = 0;

  function drop(entry: Entry<Key, Value>): void {
    unlink(entry);
    total -= entry.size;
    entries.delete(entry.key);
  }

  function find(key: Key): Entry<Key, Value> | undefined {
    const entry = entries.get(key);
    if (entry === undefined || now() <= entry.endsAt) return entry;
    drop(entry);
    return undefined;
  }

  return {
    get(key: Key): Value | undefined {
      const entry = find(key);
      if (entry === undefined) return undefined;
      unlink(entry);
      putBefore(ends, entry);
      return entry.value;
    },
    /** Does not count as a use. */
    has: (key: Key): boolean => find(key) !== undefined,
    set(key: Key, value: Value, { ttl = ttlMs, size = sizeOf(value) } = {}): void {
      const before = entries.get(key);
      if (before !== undefined) drop(before);
      if (size > maxSizeOfOne) return;
      const entry = { key, value, size, endsAt: now() + ttl, older: ends, newer: ends };
      putBefore(ends, entry);
      entries.set(key, entry);
      total += size;
      while (total > max) {
        const eldest = ends.newer as Entry<Key, Value>;
        drop(eldest);
        onEvict?.(eldest.key);
      }
      if (changes !== undefined) changes.count += 1;
    },
    delete(key: Key): void {
      const entry = entries.get(key);
      if (entry !== undefined) drop(entry);
    },
    /** Milliseconds; 0 where there is no such entry. */
    getRemainingTTL: (key: Key): number => (entries.get(key)?.endsAt ?? now()) - now(),
  };
}

function unlink({ older, newer }: Place): void {
  older.newer = newer;
  newer.older = older;
}

/** @param end the end of the order: what is put there is the newest */
function putBefore(end: Place, place: Place): void {
  place.older = end.older;
  place.newer = end;
  end.older = end.older.newer = place;
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
