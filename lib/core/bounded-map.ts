import { createHash } from 'node:crypto';
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

/** Maximum bytes of memory for stored outcomes; those of sign-ins hold tokens. */
const maxBytes = 8 * 1024 * 1024;
/** Objects take about twice the bytes of their JSON. */
const bytesPerByte = 2;
/** An error with its stack. */
const failureBytes = 4096;
/** The size of an unmeasurable outcome: that of a large session. */
const unknownBytes = 64 * 1024;

/**
 * Runs work at most once per key, a hash of its secrets. All callers within the lifetime share one outcome, failures included.
 *
 * @param ttlMs the lifetime of an outcome, in milliseconds
 * @param max the maximum number of outcomes; together they take at most 8 MB
 * @param keeps which outcomes are stored; others are shared only by concurrent callers
 */
export function createOnce<Result>(parts: {
  readonly ttlMs: number;
  readonly max: number;
  readonly now: () => number;
  readonly keeps?: 'all' | 'successes' | 'none';
}): (secrets: readonly string[], work: () => Promise<Result>) => Promise<Result> {
  const { ttlMs, max, now, keeps = 'all' } = parts;
  const share = Math.floor(maxBytes / max);
  const outcomes = createBoundedMap<Promise<Result>>({ max: share * max, sizeOf: () => share, ttlMs, now });

  /** The size of an outcome is known once it has settled. */
  function weigh(key: string, outcome: Promise<Result>, bytes: number): void {
    if (outcomes.get(key) !== outcome) return;
    const ttl = outcomes.getRemainingTTL(key);
    outcomes.delete(key);
    outcomes.set(key, outcome, { ttl, size: Math.max(share, bytes) });
  }

  return (secrets, work) => {
    // A hash, so that every key has the same size. The outcome itself is stored unhashed, including a session's tokens.
    const key = createHash('sha256').update(JSON.stringify(secrets)).digest('base64url');
    const known = outcomes.get(key);
    if (known !== undefined) return known;
    const outcome = work();
    outcomes.set(key, outcome);
    const forget = (): unknown => outcomes.delete(key);
    outcome.then(
      (result) => (keeps === 'none' ? forget() : weigh(key, outcome, bytesOf(result))),
      (error: unknown) => (keeps === 'all' ? weigh(key, outcome, failureBytes + bytesOf(answerOf(error))) : forget()),
    );
    return outcome;
  };
}

/** The parts of an error that may hold the provider's response. */
function answerOf(error: unknown): unknown {
  const cause = error instanceof Error ? error.cause : undefined;
  return [error, cause, ...[error, cause].map((each) => (each instanceof Error ? each.message : undefined))];
}

function bytesOf(result: unknown): number {
  try {
    const text = JSON.stringify(result) as string | undefined;
    return bytesPerByte * stringBytes(text ?? '');
  } catch {
    // An application may have added values to a session that have no JSON, such as a BigInt or a cycle.
    return unknownBytes;
  }
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
