import { RateLimiterMemory, RateLimiterRedis, RateLimiterRes } from 'rate-limiter-flexible';
import type { RateLimiterAbstract } from 'rate-limiter-flexible';
import type { ThrottleRedisClient } from './option-schema.ts';

/** A count so high that attempts that are taken back cannot bring a blocked key below its limit. */
const blockedPoints = 1_000_000_000;
/** A count above is blocked: far more than attempts could add. */
const leastBlocked = blockedPoints / 2;
/** How far two readings of a window's end may differ, in milliseconds. */
const slackMs = 10;
/** The same where Redis keeps the window: the clock of either server may be corrected meanwhile. */
const redisSlackMs = 1_000;

/** How many attempts one window allows. */
interface Limit {
  /** Prefix of every key, so that two limits do not share counts. */
  readonly keyPrefix: string;
  readonly points: number;
  readonly windowSeconds: number;
}

/** The state with one more attempt. */
export interface Count {
  /** Attempts over the limit; zero or less where the attempt was counted. */
  readonly excess: number;
  /** Milliseconds until the window ends and the count starts at zero. */
  readonly windowEndsInMs: number;
}

/** Counts by key in fixed windows. `restMs` identifies the window of an attempt: a later one ends later. */
export interface Limiter {
  /** Counts an attempt within the limit. One over it is not counted and does not extend the window. */
  count(key: string): Promise<Count>;
  /** Takes one attempt back. In a later window it was never counted, and taking it back there would allow one more. */
  giveBack(key: string, restMs: number): Promise<void>;
  /** Starts the count anew, unless the key is blocked or a later window has begun. */
  reset(key: string, restMs: number): Promise<void>;
  /** Refuses all attempts for one whole window from now, even if attempts succeed or are taken back meanwhile. */
  block(key: string): Promise<void>;
}

export interface MemoryLimiter extends Limiter {
  /** Milliseconds until a blocked key opens; 0 where it is not blocked. */
  blockedForMs(key: string): Promise<number>;
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
export function createMemoryLimiter(limit: Limit, maxKeys: number): MemoryLimiter {
  const memory = new RateLimiterMemory(optionsOf(limit));
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
  const blockedForMs = async (key: string): Promise<number> => {
    const found = await memory.get(key);
    return found !== null && found.consumedPoints > leastBlocked ? found.msBeforeNext : 0;
  };
  const remove = async (key: string): Promise<void> => {
    keys.delete(key);
    await memory.delete(key);
  };
  const takeBack = async (key: string): Promise<void> => {
    // A key without a count is removed; otherwise made-up accounts would evict keys that are counted.
    if ((await memory.reward(key)).consumedPoints <= 0) await remove(key);
  };
  const hasWindow = async (key: string, restMs: number): Promise<boolean> => {
    const found = await memory.get(key);
    return found !== null && found.msBeforeNext <= restMs + slackMs;
  };
  return {
    count: async (key) => {
      touch(key);
      const { excess, windowEndsInMs } = await countIn(memory, key);
      if (excess <= 0) return { excess, windowEndsInMs };
      await takeBack(key);
      // Others that are refused at the same time are not counted either.
      return { excess: 1, windowEndsInMs };
    },
    giveBack: async (key, restMs) => {
      if (await hasWindow(key, restMs)) await takeBack(key);
    },
    reset: async (key, restMs) => {
      if ((await hasWindow(key, restMs)) && (await blockedForMs(key)) === 0) await remove(key);
    },
    block: async (key) => {
      touch(key);
      await memory.set(key, blockedPoints, limit.windowSeconds);
    },
    blockedForMs,
  };
}

/**
 * KEYS: a count. ARGV: 1, the seconds of a window, the limit. An attempt over the limit is not counted: taking it back
 * later, after a success in another process, would allow one more. A count never stays without an end.
 */
const countScript = `
local counted = tonumber(redis.call('GET', KEYS[1]) or '0') + ARGV[1]
if counted <= tonumber(ARGV[3]) then
  redis.call('SET', KEYS[1], '0', 'EX', ARGV[2], 'NX')
  redis.call('INCRBY', KEYS[1], ARGV[1])
end
if redis.call('PTTL', KEYS[1]) == -1 then redis.call('EXPIRE', KEYS[1], ARGV[2]) end
return {counted, redis.call('PTTL', KEYS[1])}`;

/** KEYS: a count. ARGV: the highest remaining time of its window. It may have expired, or started anew after a success elsewhere. */
const giveBackScript = `
if tonumber(redis.call('GET', KEYS[1]) or '0') > 0 and redis.call('PTTL', KEYS[1]) <= tonumber(ARGV[1]) then
  redis.call('DECR', KEYS[1])
end`;

/** KEYS: a count. ARGV: as above, and the lowest count that is blocked. */
const resetScript = `
if tonumber(redis.call('GET', KEYS[1]) or '0') < tonumber(ARGV[2]) and redis.call('PTTL', KEYS[1]) <= tonumber(ARGV[1]) then
  redis.call('DEL', KEYS[1])
end`;

/** KEYS: a count. ARGV: its new value, the seconds of a window. */
const blockScript = `redis.call('SET', KEYS[1], ARGV[1], 'EX', ARGV[2])`;

export function createRedisLimiter(limit: Limit, client: ThrottleRedisClient): RedisLimiter {
  const evaluate = createEvaluate(client);
  const shared = new RateLimiterRedis({
    ...optionsOf(limit),
    // With the client itself the library would define a command on it, which another limiter of the application replaces.
    storeClient: { eval: (script: string, call: ScriptCall) => evaluate(script, call.keys, call.arguments) },
    useRedisPackage: true,
    customIncrTtlLuaScript: countScript,
  });
  const keyOf = (key: string): string => shared.getKey(key);
  const run = async (script: string, key: string, ...values: readonly number[]): Promise<void> => {
    await evaluate(script, [keyOf(key)], values.map(String));
  };
  return {
    keyOf,
    count: (key) => countIn(shared, key),
    giveBack: (key, restMs) => run(giveBackScript, key, restMs + redisSlackMs),
    reset: (key, restMs) => run(resetScript, key, restMs + redisSlackMs, leastBlocked),
    block: (key) => run(blockScript, key, blockedPoints, limit.windowSeconds),
  };
}

interface ScriptCall {
  readonly keys: readonly string[];
  readonly arguments: readonly string[];
}

/** Runs a script through either package; only `ioredis` has `defineCommand`. */
function createEvaluate(client: ThrottleRedisClient) {
  const evaluating: { eval(...args: unknown[]): Promise<unknown> } = client;
  const isIoredis = 'defineCommand' in client && typeof client.defineCommand === 'function';
  return (script: string, keys: readonly string[], values: readonly string[]): Promise<unknown> =>
    isIoredis
      ? evaluating.eval(script, keys.length, ...keys, ...values)
      : evaluating.eval(script, { keys, arguments: values });
}

function optionsOf({ keyPrefix, points, windowSeconds }: Limit) {
  return { keyPrefix, points, duration: windowSeconds };
}

async function countIn(limiter: RateLimiterAbstract, key: string): Promise<Count> {
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
