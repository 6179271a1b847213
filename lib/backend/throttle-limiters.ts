import { RateLimiterMemory, RateLimiterRedis, RateLimiterRes } from 'rate-limiter-flexible';
import type { RateLimiterAbstract } from 'rate-limiter-flexible';
import type { ThrottleRedisClient } from './option-schema.ts';

/** A count so high that concurrent give-backs cannot bring a blocked key below its limit. */
const blockedPoints = 1_000_000_000;

/** How many attempts one window allows. */
interface Limit {
  /** Prefix of every key, so that two limits do not share counts. */
  readonly keyPrefix: string;
  readonly points: number;
  readonly windowSeconds: number;
}

/** The state after one more attempt was counted. */
export interface Count {
  /** Attempts over the limit; zero or less while the limit holds. */
  readonly excess: number;
  /** Milliseconds until the window ends and the count starts at zero. */
  readonly windowEndsInMs: number;
}

/** Counts by key in fixed windows: attempts over the limit do not extend the window. */
export interface Limiter {
  count(key: string): Promise<Count>;
  /** Takes one attempt back. */
  giveBack(key: string): Promise<void>;
  reset(key: string): Promise<void>;
  /** Refuses all attempts for one whole window from now, even if attempts are taken back meanwhile. */
  block(key: string): Promise<void>;
}

export interface RedisLimiter extends Limiter {
  /** The name of a key in Redis. */
  keyOf(key: string): string;
}

/**
 * Counts in this process' memory, with a fixed number of keys. A flood of keys evicts the least recently counted ones.
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
      // A key without a count is removed; otherwise made-up accounts would evict keys that are counted.
      if ((await memory.reward(key)).consumedPoints <= 0) await reset(key);
    },
    reset,
    block: async (key) => {
      touch(key);
      await limiter.block(key);
    },
  };
}

/** KEYS: a count. It may have expired, or started anew after a success in another process. */
const giveBackScript = `if tonumber(redis.call('GET', KEYS[1]) or '0') > 0 then redis.call('DECR', KEYS[1]) end`;

export function createRedisLimiter(limit: Limit, client: ThrottleRedisClient): RedisLimiter {
  // Only `ioredis` has `defineCommand`; the library must know which of the two clients it gets.
  const useRedisPackage = !('defineCommand' in client && typeof client.defineCommand === 'function');
  const shared = new RateLimiterRedis({ ...optionsOf(limit), storeClient: client, useRedisPackage });
  const evaluating = client as { eval(...args: unknown[]): Promise<unknown> };
  const keyOf = (key: string): string => shared.getKey(key);
  return {
    ...limiterOf(shared, limit.windowSeconds),
    keyOf,
    giveBack: async (key) => {
      const keys = [keyOf(key)];
      await (useRedisPackage
        ? evaluating.eval(giveBackScript, { keys, arguments: [] })
        : evaluating.eval(giveBackScript, keys.length, ...keys));
    },
  };
}

function optionsOf({ keyPrefix, points, windowSeconds }: Limit) {
  return { keyPrefix, points, duration: windowSeconds };
}

function limiterOf(limiter: RateLimiterAbstract, windowSeconds: number): Omit<Limiter, 'giveBack'> {
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
    reset: async (key) => {
      await limiter.delete(key);
    },
    block: async (key) => {
      await limiter.set(key, blockedPoints, windowSeconds);
    },
  };
}
