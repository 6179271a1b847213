import { createHash } from 'node:crypto';
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

/** Bytes of memory that remembered outcomes take; those of sign-ins hold tokens. */
const maxBytes = 8 * 1024 * 1024;
/** Objects take about as much again as their JSON. */
const bytesPerByte = 2;
/** An error with its stack. */
const failureBytes = 4096;
/** What cannot be measured counts as a large session. */
const unknownBytes = 64 * 1024;

/**
 * Runs a piece of work at most once per key, which is made of the secrets it takes; all who ask within its memory share the one outcome, failures included.
 *
 * @param ttlMs how long an outcome is remembered, in milliseconds
 * @param max the most outcomes remembered; all of them take 8 MB at most
 * @param keeps which outcomes are remembered; those that are not are shared by all who wait at the same time
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

  /** What an outcome takes is known once it is there. */
  function weigh(key: string, outcome: Promise<Result>, bytes: number): void {
    if (outcomes.get(key) !== outcome) return;
    const ttl = outcomes.getRemainingTTL(key);
    outcomes.delete(key);
    outcomes.set(key, outcome, { ttl, size: Math.max(share, bytes) });
  }

  return (secrets, work) => {
    // A hash, so that a key takes as many bytes whatever was sent. The outcome beside it is kept as it is, a session's tokens included.
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

/** What a library keeps of the provider's answer in the error that it throws. */
function answerOf(error: unknown): unknown {
  const cause = error instanceof Error ? error.cause : undefined;
  return [error, cause, ...[error, cause].map((each) => (each instanceof Error ? each.message : undefined))];
}

function bytesOf(result: unknown): number {
  try {
    const text = JSON.stringify(result) as string | undefined;
    return bytesPerByte * stringBytes(text ?? '');
  } catch {
    // An application may have added to a session what has no JSON, such as a BigInt or a circle.
    return unknownBytes;
  }
}
