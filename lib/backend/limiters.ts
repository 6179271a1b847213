import { RateLimiterMemory, RateLimiterRedis, RateLimiterRes } from 'rate-limiter-flexible';
import type { RateLimiterAbstract } from 'rate-limiter-flexible';

/** How many within one window. */
export interface Limit {
  /** In front of every key, so that two limits do not count each other's. */
  readonly keyPrefix: string;
  readonly points: number;
  readonly windowSeconds: number;
}

/** One more was counted. */
export interface Count {
  /** How many there are over the limit; below it, zero or less. */
  readonly excess: number;
  /** Milliseconds until the window ends and counting starts anew. */
  readonly windowEndsInMs: number;
}

/** Counts by key in windows of fixed length: what comes after the limit does not make the window longer. */
export interface Limiter {
  count(key: string): Promise<Count>;
  /** Takes one back. */
  giveBack(key: string): Promise<void>;
  reset(key: string): Promise<void>;
  /** Refuses everything until a whole window from now has passed. */
  block(key: string): Promise<void>;
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

/** What is used of a client of `redis` or `ioredis`. */
export interface ThrottleRedisClient {
  eval(...args: never[]): Promise<unknown>;
  del(...args: never[]): Promise<unknown>;
}

export interface RedisLimiter extends Limiter {
  /** What a key is called in Redis. */
  keyOf(key: string): string;
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
      await limiter.reward(key);
    },
    reset: async (key) => {
      await limiter.delete(key);
    },
    block: async (key) => {
      await limiter.block(key, windowSeconds);
    },
  };
}
