import { answerWithin } from './deadline.ts';

/**
 * A circuit breaker for a service of several parts. A part that did not answer in time is left alone; then one call at a time
 * tries it.
 */
interface Breaker {
  /**
   * @param key names what the call is for; it belongs to one part at a time
   * @throws what `call` throws, or an error where the part did not answer in time or is being left alone
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
  /** How long a part that did not answer is left alone, in milliseconds. */
  readonly pauseMs: number;
  /** How long a part that answered with an error is left alone. Default 0: the error may concern one key. */
  readonly errorPauseMs?: number;
  /** Milliseconds from any fixed point. */
  readonly now: () => number;
}

interface Outage {
  /** A key of the part: where a later call for it succeeds, wherever it belongs by then, the outage is over. */
  readonly key: string;
  /** No call goes out before; `-Infinity` where calls need not wait for each other. */
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
      // Half-open: the others wait for what becomes of this call.
      if (outage !== undefined && outage.retryAt > -Infinity) fail(part, key, limitMs + pauseMs);
      // What throws is a call that failed.
      const reply = (async () => call())();
      let isLate = false;
      const failed = (): void => {
        if (!isLate) fail(part, key, errorPauseMs);
      };
      // A late answer counts as well.
      reply.then(() => succeed(part), failed);
      return answerWithin(reply, limitMs, () => {
        isLate = true;
        fail(part, key, pauseMs);
        return new Error(`No answer within ${limitMs} ms`);
      });
    },
  };
}
