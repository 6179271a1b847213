import { RateLimiterRedis } from 'rate-limiter-flexible';
import type { IRateLimiterOptions } from 'rate-limiter-flexible';
import { createBreaker } from '../../tools/breaker.ts';
import { answerWithin } from '../../tools/deadline.ts';
import { failureOf, watchConnection } from '../../tools/coordinator-failure.ts';
import { createMasterOf } from '../../tools/redis-slot.ts';
import { warnOfCoordinator } from '../../session/events.ts';
import type { Emit } from '../../session/events.ts';
import type { ThrottleRedisClient } from './options.ts';

/** A sign-in must not wait longer for Redis than people notice. */
const redisTimeoutMs = 500;
/** New connections take their time on a busy machine, and what is counted in memory meanwhile is counted for one process only. */
const redisFirstTimeoutMs = 2_500;
/** How long a Redis that did not answer is left alone, so that not every sign-in waits for it. */
const redisPauseMs = 1_000;

/** What ends an attempt, by the limiter's method. */
export type Ending = 'delete' | 'reward' | 'set';

/** The application's Redis. It may be away, which must neither hold up a sign-in nor leave its attempt counted. */
export interface Store {
  createLimiter(options: IRateLimiterOptions): RateLimiterRedis;
  /** Resolves to `undefined` where Redis fails, does not answer in time, or did not do so lately. */
  count<Result>(storeKey: string, work: () => Promise<Result>): Promise<Result | undefined>;
  /** Ends an attempt that Redis has counted. A Redis that is away gets the command too, or it would keep the count for the whole window. */
  readonly end: (how: Ending, work: () => Promise<unknown>) => Promise<unknown>;
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
  const connectionError = watchConnection(client);
  /** What Redis refuses: until that succeeds, another command is no end of the outage. */
  const refused = new Set<Ending | 'count'>();
  let isAway = false;
  const failed = (call: Ending | 'count', error: unknown): void => {
    // A client without a connection keeps its commands, and only the connection knows why.
    const failure = failureOf(isConnected(client) ? error : (connectionError() ?? error));
    if (failure.reason !== 'unavailable') refused.add(call);
    warnOfCoordinator('backend', 'throttle', failure);
    // Once for each outage: a listener that pages an operator must not be called for every sign-in.
    if (!isAway) emit({ type: 'coordinator_unavailable', operation: 'throttle', reason: failure.reason });
    isAway = true;
  };
  const answered = (call: Ending | 'count'): void => {
    refused.delete(call);
    if (!isAway || refused.size > 0 || !breaker.isClosed()) return;
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
        answered('count');
        return result;
      } catch (error) {
        failed('count', error);
        return undefined;
      }
    },
    async end(how, work) {
      const ended = work();
      // Only what a refusal concerns: a late success is no sign that Redis answers in time.
      ended.then(
        () => (refused.has(how) ? answered(how) : undefined),
        () => undefined,
      );
      await answerWithin(ended, isAway ? 0 : redisTimeoutMs, () => new Error('Too late')).catch((error: unknown) =>
        failed(how, error),
      );
    },
  };
}

/** Whether the connection is open, as far as the client says. */
function isConnected(client: ThrottleRedisClient): boolean {
  const { status, isReady } = client as { readonly status?: unknown; readonly isReady?: unknown };
  return typeof status === 'string' ? status === 'ready' : isReady !== false;
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
