import { RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible';
import type { IRateLimiterOptions, RateLimiterAbstract } from 'rate-limiter-flexible';
import type { Ending, Store } from './store.ts';

/** A count so high that attempts that are taken back cannot bring a closed key below its limit. */
const closedPoints = 1_000_000_000;
const isClosedBy = (points: number): boolean => points > closedPoints / 2;

/** How an attempt ends: the count starts anew, the attempt counts for nothing, or it stays counted. */
export type End = 'forgive' | 'cancel' | 'keep';

/** An attempt that was let through. It is counted until its end is known. */
export interface Attempt {
  end(how: End): Promise<void>;
}

interface Limit {
  readonly points: number;
  readonly windowSeconds: number;
  /** Whether the last attempt that is allowed, once it stays counted, begins a new window in which none is. */
  readonly isClosedByLast?: boolean;
}

/** @param mayMakeRoom whether the attempt is taken back where it succeeds */
export type Counter = (key: string, mayMakeRoom: boolean) => Promise<Attempt | { readonly waitMs: number }>;

interface CounterParts {
  readonly limit: Limit;
  /** Prefix of every key, so that two limits do not share counts. */
  readonly keyPrefix: string;
  readonly store: Store | undefined;
  readonly maxKeys: number;
  readonly now: () => number;
}

export function createCounter(parts: CounterParts): Counter {
  const { limit, now } = parts;
  const { memory, isClosed, count } = createCount(parts);
  /** Attempts that may make room, by key. With those that stay counted, how long an email takes would tell who has an account. */
  const inProgress = new Map<string, number>();

  function progress(key: string, change: 1 | -1): void {
    const attempts = (inProgress.get(key) ?? 0) + change;
    if (attempts === 0) inProgress.delete(key);
    else inProgress.set(key, attempts);
  }

  return async (key, mayMakeRoom) => {
    const { limiter, end, excess, windowEndsInMs } = await count(key);
    const windowEndsAt = now() + windowEndsInMs;
    const takeBack = async (): Promise<void> => {
      // In a later window it was never counted, and taking it back there would allow one more.
      if (now() < windowEndsAt) await end('reward', () => limiter.reward(key));
    };
    if (excess > 0) {
      await takeBack();
      return { waitMs: inProgress.has(key) && !isClosedBy(excess) ? 0 : windowEndsInMs };
    }
    if (mayMakeRoom) progress(key, 1);
    const ends: Readonly<Record<End, () => Promise<unknown>>> = {
      forgive: async () => ((await isClosed(key)) ? undefined : end('delete', () => limiter.delete(key))),
      cancel: takeBack,
      keep: async () => {
        if (excess < 0 || limit.isClosedByLast !== true) return;
        const close = (each: RateLimiterAbstract) => each.set(key, closedPoints, limit.windowSeconds);
        await Promise.all([close(memory), end('set', () => close(limiter))]);
      },
    };
    return {
      async end(how) {
        await ends[how]();
        if (mayMakeRoom) progress(key, -1);
      },
    };
  };
}

/** Counts in Redis, and in this process while Redis is away. An attempt ends where it was counted. */
function createCount({ limit, keyPrefix, store, maxKeys }: CounterParts) {
  const options = { keyPrefix, points: limit.points, duration: limit.windowSeconds };
  const memory = new BoundedMemory(options, maxKeys);
  const inMemory = { limiter: memory, end: (_how: Ending, work: () => Promise<unknown>) => work() };
  const inRedis = store && { ...store, limiter: store.createLimiter(options) };

  const isClosed = async (key: string): Promise<boolean> => isClosedBy((await memory.get(key))?.consumedPoints ?? 0);

  async function count(key: string) {
    // What this process has closed stays closed, also where Redis has lost its data since.
    if (inRedis === undefined || (await isClosed(key))) return { ...inMemory, ...(await consume(memory, key)) };
    const { limiter } = inRedis;
    let isLate = false;
    const counted = await inRedis.count(limiter.getKey(key), async () => {
      const found = await consume(limiter, key);
      // Memory has counted it since.
      if (isLate) await limiter.reward(key);
      return found;
    });
    if (counted !== undefined) return { ...inRedis, ...counted };
    isLate = true;
    return { ...inMemory, ...(await consume(memory, key)) };
  }
  return { memory, isClosed, count };
}

/** The library's memory, with a fixed number of keys: a flood of keys evicts the least recently counted ones. */
class BoundedMemory extends RateLimiterMemory {
  readonly #maxKeys: number;
  readonly #keys = new Set<string>();

  /** @param maxKeys about 500 bytes each */
  constructor(options: IRateLimiterOptions, maxKeys: number) {
    super(options);
    this.#maxKeys = maxKeys;
  }

  override consume(key: string) {
    this.#touch(key);
    return super.consume(key);
  }

  override set(key: string, points: number, seconds: number) {
    this.#touch(key);
    return super.set(key, points, seconds);
  }

  /** A key without a count is removed; otherwise made-up accounts would evict keys that are counted. */
  override async reward(key: string) {
    const left = await super.reward(key);
    if (left.consumedPoints <= 0) await this.delete(key);
    return left;
  }

  override delete(key: string) {
    this.#keys.delete(key);
    return super.delete(key);
  }

  #touch(key: string): void {
    this.#keys.delete(key);
    this.#keys.add(key);
    const [eldest] = this.#keys;
    if (this.#keys.size > this.#maxKeys && eldest !== undefined) void this.delete(eldest);
  }
}

/** Counts one more attempt. `excess` is the number of attempts over the limit: zero or less where this one is within it. */
async function consume(limiter: RateLimiterAbstract, key: string) {
  const counted = await limiter.consume(key).catch((reason: unknown) => {
    if (reason instanceof RateLimiterRes) return reason;
    throw reason;
  });
  // Some clients return numbers as text, and behind some proxies an answer is no number at all.
  const { consumedPoints, msBeforeNext }: Readonly<Record<keyof RateLimiterRes, unknown>> = counted;
  const [excess, windowEndsInMs] = [Number(consumedPoints) - limiter.points, Number(msBeforeNext)];
  if (!Number.isFinite(excess) || !Number.isFinite(windowEndsInMs)) throw new Error('No count');
  return { excess, windowEndsInMs };
}
