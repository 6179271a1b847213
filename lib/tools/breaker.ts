import { answerWithin } from './deadline.ts';

/**
 * A circuit breaker for a service of several parts. A part that does not answer in time is not
 * called for a while; then one call at a time probes it.
 */
interface Breaker {
  /**
   * @param key the key of the call; it belongs to one part at a time
   * @throws the error of `call`, or an error where the part did not answer in time or is paused
   */
  run<Result>(key: string, call: () => Promise<Result>): Promise<Result>;
  /** Records that the part of this key could not be called at all. */
  fail(key: string): void;
  /** Whether the last call to each part succeeded. */
  isClosed(): boolean;
}

interface BreakerSettings {
  /** The part that a key belongs to now. */
  readonly partOf: (key: string) => string;
  /** How long a call may take, in milliseconds. */
  readonly timeoutMs: number;
  /** The same for calls to a part that never answered, until the first outage: its connection may still be opening. */
  readonly firstTimeoutMs?: number;
  /** How long a part that did not answer is paused, in milliseconds. */
  readonly pauseMs: number;
  /** How long a part that answered with an error is paused. Default 0: the error may concern one key. */
  readonly errorPauseMs?: number;
  /** Milliseconds from any fixed point. */
  readonly now: () => number;
}

interface Outage {
  /** A key of the part: the outage ends once a later call for it succeeds, whichever part it belongs to then. */
  readonly key: string;
  /** No call starts earlier; `-Infinity` where calls may run concurrently. */
  readonly retryAt: number;
}

export function createBreaker(settings: BreakerSettings): Breaker {
  const { partOf, timeoutMs, firstTimeoutMs = timeoutMs, pauseMs, errorPauseMs = 0, now } = settings;
  const outages = new Map<string, Outage>();
  const answered = new Set<string>();
  let hadOutage = false;

  function fail(part: string, key: string, forMs: number): void {
    hadOutage = true;
    outages.set(part, { key, retryAt: forMs === 0 ? -Infinity : now() + forMs });
  }

  function succeed(part: string): void {
    answered.add(part);
    if (outages.size === 0) return;
    outages.delete(part);
    // After a fail-over the keys of a dead part belong to another one.
    for (const [other, { key }] of outages) if (partOf(key) === part) outages.delete(other);
  }

  return {
    isClosed: () => outages.size === 0,
    fail: (key) => fail(partOf(key), key, 0),
    run(key, call) {
      const part = partOf(key);
      const outage = outages.get(part);
      if (outage !== undefined && now() < outage.retryAt) return Promise.reject(new Error('No answer lately'));
      const limitMs = hadOutage || answered.has(part) ? timeoutMs : Math.max(timeoutMs, firstTimeoutMs);
      // Half-open: other calls wait for the result of this one.
      if (outage !== undefined && outage.retryAt > -Infinity) fail(part, key, limitMs + pauseMs);
      // A synchronous throw counts as a failed call.
      const reply = (async () => call())();
      let isLate = false;
      const failed = (): void => {
        if (!isLate) fail(part, key, errorPauseMs);
      };
      // A late success also counts.
      reply.then(() => succeed(part), failed);
      return answerWithin(reply, limitMs, () => {
        isLate = true;
        fail(part, key, pauseMs);
        return new Error(`No answer within ${limitMs} ms`);
      });
    },
  };
}
