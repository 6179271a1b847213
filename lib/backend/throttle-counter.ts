import { RateLimiterMemory, RateLimiterRedis, RateLimiterRes } from 'rate-limiter-flexible';
import type { RateLimiterAbstract } from 'rate-limiter-flexible';
import { createBreaker } from '../core/breaker.ts';
import { createMasterOf } from '../core/redis-slot.ts';
import type { Emit } from '../session/events.ts';
import type { ThrottleRedisClient } from './option-schema.ts';

/** A sign-in must not wait longer for Redis than people notice. */
const redisTimeoutMs = 500;
/** New connections take their time on a busy machine, and what is counted in memory meanwhile is counted for one process only. */
const redisFirstTimeoutMs = 2_500;
/** How long a command may be under way: what is taken back so shortly before a window ends might arrive in the next one. */
const redisDelayMs = 1_000;
/** More than the attempts that were refused before a key was blocked can take back after it. */
const blockedPoints = 1_000_000_000;
/** How long a Redis that did not answer is left alone, so that not every sign-in waits for it. */
const redisPauseMs = 1_000;

/** Whether an attempt that succeeds stays counted. */
export type OnSuccess = 'forgives' | 'counts';

/** An attempt that was let through. It is counted until its end is known, and one of these must be called then. */
export interface ThrottledAttempt {
  /** The count starts anew. */
  succeeded(): Promise<void>;
  /** Neither right nor wrong, as when the backend was out of reach: it counts for nothing. */
  canceled(): Promise<void>;
  /** It stays counted. The last wrong code begins a new window, so that codes are refused for all of it. */
  counted(): Promise<void>;
}

export type Counter = (
  key: string,
  success: OnSuccess,
) => Promise<
  { readonly kind: 'refused'; readonly waitMs: number } | (ThrottledAttempt & { readonly kind: 'reserved' })
>;

interface Limiters {
  readonly memory: Limiter;
  readonly shared: RedisLimiter | undefined;
  /** Whether the last attempt that is allowed, once it stays counted, begins a new window in which none is. */
  readonly isClosedByLast: boolean;
}

/** Counts in the store, and in memory while that is away; what was counted in one place is taken back there. */
export function createCounter(
  { memory, shared, isClosedByLast }: Limiters,
  guard: StoreGuard,
  now: () => number,
): Counter {
  /**
   * How many of a key's count a success may yet take back. Those that stay counted are not among them: how long an email takes
   * would tell whether there is an account.
   */
  const underWay = new Map<string, number>();
  const settle = (key: string): void => {
    const others = (underWay.get(key) ?? 1) - 1;
    if (others === 0) underWay.delete(key);
    else underWay.set(key, others);
  };

  async function count(
    key: string,
  ): Promise<Count & { readonly run: (work: (limiter: Limiter) => Promise<void>) => Promise<void> }> {
    if (shared !== undefined) {
      const counted = await guard(shared.keyOf(key), () => shared.count(key));
      if (counted !== undefined) return { ...counted, run: (work) => guard(shared.keyOf(key), () => work(shared)) };
    }
    return { ...(await memory.count(key)), run: (work) => work(memory) };
  }

  return async (key, success) => {
    const others = underWay.get(key) ?? 0;
    const isForgivable = success === 'forgives';
    if (isForgivable) underWay.set(key, others + 1);
    const settled = (): void => {
      if (isForgivable) settle(key);
    };
    const { excess, windowEndsInMs, run } = await count(key);
    const windowEndsAt = now() + windowEndsInMs;
    const end = async (work: (limiter: Limiter) => Promise<void>): Promise<void> => {
      settled();
      await run(work);
    };
    const canceled = (): Promise<void> =>
      // In the next window it was never counted: taking it back there would grant one more.
      end(async (limiter) => (now() < windowEndsAt - redisDelayMs ? limiter.giveBack(key) : undefined));
    if (excess > 0) {
      await canceled();
      // Once those under way have succeeded there is room.
      return { kind: 'refused', waitMs: excess <= others ? 0 : windowEndsInMs };
    }
    return {
      kind: 'reserved',
      succeeded: () => end((limiter) => limiter.reset(key)),
      canceled,
      counted: async () => {
        settled();
        if (isClosedByLast && excess === 0) await run((limiter) => limiter.block(key));
      },
    };
  };
}

/** Resolves to `undefined` where the store fails or does not answer in time. */
type StoreGuard = <R>(storeKey: string, work: () => Promise<R>) => Promise<R | undefined>;

/** @param client the store's; each master of a cluster is judged by itself */
export function createStoreGuard(client: object, emit: Emit, now: () => number): StoreGuard {
  const breaker = createBreaker({
    partOf: createMasterOf(client),
    timeoutMs: redisTimeoutMs,
    firstTimeoutMs: redisFirstTimeoutMs,
    pauseMs: redisPauseMs,
    errorPauseMs: redisPauseMs,
    now,
  });
  let isAway = false;
  return async (storeKey, work) => {
    try {
      const result = await breaker.run(storeKey, work);
      if (isAway && breaker.isClosed()) {
        isAway = false;
        emit({ type: 'coordinator_recovered' });
      }
      return result;
    } catch {
      // Once for each outage: a listener that pages an operator must not be called for every sign-in.
      if (!isAway) emit({ type: 'coordinator_unavailable', operation: 'throttle' });
      isAway = true;
      return undefined;
    }
  };
}

/** How many within one window. */
interface Limit {
  /** In front of every key, so that two limits do not count each other's. */
  readonly keyPrefix: string;
  readonly points: number;
  readonly windowSeconds: number;
}

/** One more was counted. */
interface Count {
  /** How many there are over the limit; below it, zero or less. */
  readonly excess: number;
  /** Milliseconds until the window ends and counting starts anew. */
  readonly windowEndsInMs: number;
}

/** Counts by key in windows of fixed length: what comes after the limit does not make the window longer. */
interface Limiter {
  count(key: string): Promise<Count>;
  /** Takes one back. */
  giveBack(key: string): Promise<void>;
  reset(key: string): Promise<void>;
  /** Refuses everything until a whole window from now has passed, whatever is taken back meanwhile. */
  block(key: string): Promise<void>;
}

interface RedisLimiter extends Limiter {
  /** What a key is called in Redis. */
  keyOf(key: string): string;
}

/**
 * In this process' memory, of a fixed size: a flood of keys pushes out those that were not asked for the longest.
 *
 * @param maxKeys about 500 bytes each
 */
export function createMemoryLimiter(limit: Limit, maxKeys: number): Limiter {
  const memory = new RateLimiterMemory(optionsOf(limit));
  const limiter = limiterOf(memory, limit.windowSeconds);
  const keys = new Set<string>();
  const touch = (key: string): void => {
    keys.delete(key);
    keys.add(key);
    if (keys.size <= maxKeys) return;
    for (const eldest of keys) {
      keys.delete(eldest);
      void memory.delete(eldest);
      return;
    }
  };
  const reset = async (key: string): Promise<void> => {
    keys.delete(key);
    await limiter.reset(key);
  };
  return {
    count: (key) => {
      touch(key);
      return limiter.count(key);
    },
    giveBack: async (key) => {
      if (!keys.has(key)) return;
      // What counts for nothing takes no place: made-up accounts would push out those that are counted.
      if ((await memory.reward(key)).consumedPoints <= 0) await reset(key);
    },
    reset,
    block: async (key) => {
      touch(key);
      await limiter.block(key);
    },
  };
}

export function createRedisLimiter(limit: Limit, client: ThrottleRedisClient): RedisLimiter {
  // `ioredis` alone takes new commands; the library wants to be told which of the two it has.
  const useRedisPackage = !('defineCommand' in client && typeof client.defineCommand === 'function');
  const shared = new RateLimiterRedis({ ...optionsOf(limit), storeClient: client, useRedisPackage });
  return { ...limiterOf(shared, limit.windowSeconds), keyOf: (key) => shared.getKey(key) };
}

function optionsOf({ keyPrefix, points, windowSeconds }: Limit) {
  return { keyPrefix, points, duration: windowSeconds };
}

function limiterOf(limiter: RateLimiterAbstract, windowSeconds: number): Limiter {
  const countOf = ({ consumedPoints, msBeforeNext }: RateLimiterRes): Count => ({
    excess: consumedPoints - limiter.points,
    windowEndsInMs: msBeforeNext,
  });
  return {
    count: async (key) => {
      try {
        return countOf(await limiter.consume(key));
      } catch (reason) {
        if (reason instanceof RateLimiterRes) return countOf(reason);
        throw reason;
      }
    },
    giveBack: async (key) => {
      // After a success elsewhere there is nothing to take back.
      if ((await limiter.reward(key)).consumedPoints < 0) await limiter.delete(key);
    },
    reset: async (key) => {
      await limiter.delete(key);
    },
    block: async (key) => {
      await limiter.set(key, blockedPoints, windowSeconds);
    },
  };
}
