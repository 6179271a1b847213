import { RateLimiterRedis } from 'rate-limiter-flexible';
import type { IRateLimiterOptions } from 'rate-limiter-flexible';
import { createBreaker } from '../core/breaker.ts';
import { answerWithin } from '../core/deadline.ts';
import { createMasterOf } from '../core/redis-slot.ts';
import type { Emit } from '../session/events.ts';
import type { ThrottleRedisClient } from './option-schema.ts';

/** A sign-in must not wait longer for Redis than people notice. */
const redisTimeoutMs = 500;
/** New connections take their time on a busy machine, and what is counted in memory meanwhile is counted for one process only. */
const redisFirstTimeoutMs = 2_500;
/** How long a Redis that did not answer is left alone, so that not every sign-in waits for it. */
const redisPauseMs = 1_000;

/** The application's Redis. It may be away, which must neither hold up a sign-in nor leave its attempt counted. */
export interface Store {
  createLimiter(options: IRateLimiterOptions): RateLimiterRedis;
  /** Resolves to `undefined` where Redis fails, does not answer in time, or did not do so lately. */
  count<Result>(storeKey: string, work: () => Promise<Result>): Promise<Result | undefined>;
  /** Ends an attempt that Redis has counted. A Redis that is away gets the command too, or it would keep the count for the whole window. */
  readonly end: (work: () => Promise<unknown>) => Promise<unknown>;
}

export function createStore(client: ThrottleRedisClient, emit: Emit, now: () => number): Store {
  const breaker = createBreaker({
    partOf: createMasterOf(client),
    timeoutMs: redisTimeoutMs,
    firstTimeoutMs: redisFirstTimeoutMs,
    pauseMs: redisPauseMs,
    errorPauseMs: redisPauseMs,
    now,
  });
  let isAway = false;
  const failed = (): void => {
    // Once for each outage: a listener that pages an operator must not be called for every sign-in.
    if (!isAway) emit({ type: 'coordinator_unavailable', operation: 'throttle' });
    isAway = true;
  };
  const answered = (): void => {
    if (!isAway || !breaker.isClosed()) return;
    isAway = false;
    emit({ type: 'coordinator_recovered' });
  };
  const storeClient = 'defineCommand' in client ? withOwnScript(client) : client;
  return {
    createLimiter: (options) =>
      new RateLimiterRedis({ ...options, storeClient, useRedisPackage: storeClient === client }),
    async count(storeKey, work) {
      try {
        const result = await breaker.run(storeKey, work);
        answered();
        return result;
      } catch {
        failed();
        return undefined;
      }
    },
    async end(work) {
      await answerWithin(work(), isAway ? 0 : redisTimeoutMs, () => new Error('Too late')).catch(failed);
    },
  };
}

/** ioredis would define the library's script as a command of the application's client, where its own limiters define theirs. */
function withOwnScript(client: ThrottleRedisClient) {
  const evaluating: { eval(...args: unknown[]): Promise<unknown> } = client;
  let script = '';
  return {
    defineCommand(_name: string, { lua }: { readonly lua: string }) {
      script = lua;
    },
    rlflxIncr: ([key, ...values]: readonly string[]) => evaluating.eval(script, 1, key, ...values),
    multi: () => client.multi(),
    del: (key: never) => client.del(key),
  };
}
