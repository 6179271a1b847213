import { createHash } from 'node:crypto';
import { createBoundedMap } from './bounded-map.ts';

/** Outcomes by key: a double click, a reload and parallel requests share one. */
export interface SharedOutcomes<Result> {
  /**
   * Returns the kept outcome, or that of the same work in progress; otherwise starts the work.
   *
   * @param secrets what makes two calls the same; only their hash is stored
   */
  share(secrets: readonly string[], work: () => Promise<Result>): Promise<Result>;
  /** A kept result; `undefined` while the work runs. */
  kept(secrets: readonly string[]): Result | undefined;
  /** The next call starts the work again. */
  forget(secrets: readonly string[]): void;
}

interface Entry<Result> {
  readonly outcome: Promise<Result>;
  readonly result: Result | undefined;
}

/** What one of them takes at least, in bytes; a larger one, such as a session with its tokens, takes the place of several. */
const placeBytes = 800;
/** Objects take about twice the bytes of their JSON. */
const bytesPerByte = 2;
/** The size of an unmeasurable outcome: that of a large session. */
const unknownBytes = 64 * 1024;

/**
 * The callers of one key share one outcome while the work runs, its failure included. Afterward it is kept as long as these
 * parameters say. Each caller writes its own response and cookies.
 *
 * @param now milliseconds, never 0
 * @param keepMs how long a result is kept, in milliseconds. Default 0
 * @param failureMs how long a failure is kept, for work that must not be tried again, such as the exchange of a code (RFC 6749 §4.1.2). Default 0
 * @param joinMs how long work that does not settle is waited for; then the next caller starts it again. Default one minute, longer than any call
 * @param max the maximum number, in places of 800 bytes; the least recently used ones go first. Default 10,000, which is 8 MB
 */
export function createSharedOutcomes<Result>({
  now,
  keepMs = () => 0,
  failureMs = 0,
  joinMs = 60_000,
  max = 10_000,
}: {
  readonly now: () => number;
  readonly keepMs?: (result: Result) => number;
  readonly failureMs?: number;
  readonly joinMs?: number;
  readonly max?: number;
}): SharedOutcomes<Result> {
  const entries = createBoundedMap<Entry<Result>>({
    max: max * placeBytes,
    sizeOf: () => placeBytes,
    ttlMs: joinMs,
    now,
  });

  function settle(key: string, settled: Entry<Result>, ttl: number, content: unknown): void {
    const present = entries.get(key);
    // The work took longer than `joinMs` and was started again.
    if (present !== undefined && present.outcome !== settled.outcome) return;
    entries.delete(key);
    if (ttl > 0) entries.set(key, settled, { ttl, size: Math.max(placeBytes, bytesOf(content)) });
  }

  return {
    share(secrets, work) {
      const key = keyOf(secrets);
      const known = entries.get(key);
      if (known !== undefined) return known.outcome;
      const outcome = work();
      entries.set(key, { outcome, result: undefined });
      outcome.then(
        (result) => settle(key, { outcome, result }, keepMs(result), result),
        (error: unknown) => settle(key, { outcome, result: undefined }, failureMs, error),
      );
      return outcome;
    },
    kept: (secrets) => entries.get(keyOf(secrets))?.result,
    forget: (secrets) => entries.delete(keyOf(secrets)),
  };
}

function keyOf(secrets: readonly string[]): string {
  return createHash('sha256').update(JSON.stringify(secrets)).digest('base64url');
}

function bytesOf(content: unknown): number {
  try {
    const text = JSON.stringify(content, withErrors) as string | undefined;
    return bytesPerByte * Buffer.byteLength(text ?? '');
  } catch {
    // An application may have added values to a session that have no JSON, such as a BigInt or a cycle.
    return unknownBytes;
  }
}

/** An error's JSON lacks its stack and its cause, which may hold the provider's response. */
function withErrors(_name: string, value: unknown): unknown {
  return value instanceof Error ? [Object.entries(value), value.stack, value.cause] : value;
}
