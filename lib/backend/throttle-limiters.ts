import { RateLimiterMemory, RateLimiterRedis, RateLimiterRes } from 'rate-limiter-flexible';
import type { RateLimiterAbstract } from 'rate-limiter-flexible';
import type { ThrottleRedisClient } from './option-schema.ts';

/** More than the attempts that were refused before a key was blocked can take back after it. */
const blockedPoints = 1_000_000_000;

/** How many within one window. */
interface Limit {
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
  /** Refuses everything until a whole window from now has passed, whatever is taken back meanwhile. */
  block(key: string): Promise<void>;
}

export interface RedisLimiter extends Limiter {
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

/** KEYS: a count. It may have ended by now, or begun anew after a success elsewhere. */
const giveBackScript = `if tonumber(redis.call('GET', KEYS[1]) or '0') > 0 then redis.call('DECR', KEYS[1]) end`;

export function createRedisLimiter(limit: Limit, client: ThrottleRedisClient): RedisLimiter {
  // `ioredis` alone takes new commands; the library wants to be told which of the two it has.
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
