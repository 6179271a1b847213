import { RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible';
import type { IRateLimiterOptions, RateLimiterAbstract } from 'rate-limiter-flexible';
import { createBoundedMap } from '../../tools/bounded-map.ts';
import type { Ending, Store } from './store.ts';

/** How an attempt ends: the count starts anew, the attempt counts for nothing, or it stays counted. */
export type End = 'forgive' | 'cancel' | 'keep';

/** An attempt that was let through. It is counted until its end is known. */
export interface Attempt {
  end(how: End): Promise<void>;
}

/** @param mayMakeRoom whether the attempt is taken back where it succeeds */
export type Counter = (key: string, mayMakeRoom: boolean) => Promise<Attempt | { readonly waitMs: number }>;

interface CounterParts {
  /** With a prefix of its own, so that two limits do not share counts. */
  readonly limit: IRateLimiterOptions;
  /** Whether the last attempt that is allowed, once it stays counted, begins a new window in which none is. */
  readonly isClosedByLast: boolean;
  readonly store: Store | undefined;
  readonly maxKeys: number;
  readonly now: () => number;
}

/** Counts in Redis, and in this process while Redis is away. An attempt ends wherever it was counted. */
export function createCounter({ limit, isClosedByLast, store, maxKeys, now }: CounterParts): Counter {
  const memory = {
    limiter: new BoundedMemory(limit, maxKeys, now),
    end: (_how: Ending, ended: Promise<unknown>) => ended,
  };
  const redis = store?.(limit);
  /** Attempts that may make room, by key. With those that stay counted, how long an email takes would tell who has an account. */
  const inProgress = new Map<string, number>();

  async function count(key: string) {
    let isUnanswered = false;
    const counted = await redis?.count(key, () => {
      isUnanswered = true;
      return consume(redis.limiter, key).finally(() => (isUnanswered = false));
    });
    if (redis !== undefined && counted !== undefined) return { ...counted, places: [redis] };
    // Redis may still count what it did not answer.
    const places = redis !== undefined && (isUnanswered as boolean) ? [memory, redis] : [memory];
    return { ...(await consume(memory.limiter, key)), places };
  }

  return async (key, mayMakeRoom) => {
    const { excess, waitMs, places } = await count(key);
    const windowEndsAt = now() + waitMs;
    const inEach = async (how: Ending): Promise<void> => {
      const change = async ({ limiter }: (typeof places)[number]): Promise<void> => {
        const left = how === 'block' ? await limiter.block(key, limit.duration) : await limiter[how](key);
        // Redis has lost what is taken back.
        if (typeof left === 'object' && left.consumedPoints < 0) await limiter.delete(key);
      };
      await Promise.all(places.map((place) => place.end(how, change(place))));
    };
    const takeBack = async (): Promise<void> => {
      // In a later window it would allow one more.
      if (now() < windowEndsAt) await inEach('reward');
    };
    if (excess > 0) {
      // Of a flood, those that are on their way as a key is closed would open it.
      if (!isClosedByLast) await takeBack();
      return { waitMs: inProgress.has(key) ? 0 : waitMs };
    }
    if (mayMakeRoom) inProgress.set(key, (inProgress.get(key) ?? 0) + 1);
    return {
      async end(how) {
        const isClosing = how === 'keep' && excess === 0 && isClosedByLast;
        if (isClosing) await inEach('block');
        if (how === 'cancel') await takeBack();
        if (how === 'forgive') await inEach('delete');
        const left = (inProgress.get(key) ?? 0) - 1;
        // Nothing makes room in a closed key.
        if (left > 0 && !isClosing) inProgress.set(key, left);
        else inProgress.delete(key);
      },
    };
  };
}

/** The library's memory, with a fixed number of keys of about 700 bytes: a flood evicts the least recently counted ones. */
class BoundedMemory extends RateLimiterMemory {
  readonly #keys;

  constructor(options: IRateLimiterOptions, maxKeys: number, now: () => number) {
    super(options);
    const onEvict = (key: string): void => void this.delete(key);
    this.#keys = createBoundedMap<true>({ max: maxKeys, ttlMs: Infinity, now, onEvict });
  }

  override consume(key: string) {
    this.#keys.set(key, true);
    return super.consume(key);
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
}

/** Counts one more attempt. `excess` is the number of attempts over the limit: zero or less where this one is within it. */
async function consume(limiter: RateLimiterAbstract, key: string) {
  const counted = await limiter.consume(key).catch((reason: unknown) => {
    if (reason instanceof RateLimiterRes) return reason;
    throw reason;
  });
  // Some clients return numbers as text, and behind some proxies an answer is no number at all.
  const { consumedPoints, msBeforeNext }: Readonly<Record<keyof RateLimiterRes, unknown>> = counted;
  const [excess, waitMs] = [Number(consumedPoints) - limiter.points, Number(msBeforeNext)];
  if (!Number.isFinite(excess + waitMs)) throw new Error('No count');
  return { excess, waitMs };
}
