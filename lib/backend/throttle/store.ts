import { RateLimiterRedis } from 'rate-limiter-flexible';
import type { IRateLimiterOptions } from 'rate-limiter-flexible';
import { createBreaker } from '../../tools/breaker.ts';
import { answerWithin } from '../../tools/deadline.ts';
import { failureOf, watchConnection } from '../../tools/coordinator-failure.ts';
import { createMasterOf } from '../../tools/redis-slot.ts';
import { warnOfCoordinator } from '../../session/events.ts';
import type { Emit } from '../../session/events.ts';
import type { CoordinatorReason } from '../../types.ts';
import type { ThrottleRedisClient } from './options.ts';

/** A sign-in must not wait longer for Redis than people notice. */
const timeoutMs = 500;
/** New connections take their time on a busy machine, and what is counted in memory meanwhile is counted for one process only. */
const firstTimeoutMs = 2_500;
/** How long a Redis that did not answer is left alone, so that not every sign-in waits for it. */
const pauseMs = 1_000;

/** What ends an attempt, by the limiter's method. */
export type Ending = 'delete' | 'reward' | 'block';

/** The application's Redis. It may be away, which must neither hold up a sign-in nor leave its attempt counted. */
export type Store = (limit: IRateLimiterOptions) => {
  readonly limiter: RateLimiterRedis;
  /** Resolves to `undefined` where Redis fails, does not answer in time, or did not do so lately. */
  count<Result>(key: string, work: () => Promise<Result>): Promise<Result | undefined>;
  /** Waits for the end of an attempt. A Redis that is away gets it, too, or it would keep the count for the whole window. */
  readonly end: (how: Ending, ended: Promise<unknown>) => Promise<unknown>;
};

export function createStore(client: ThrottleRedisClient, emit: Emit, now: () => number): Store {
  const partOf = createMasterOf(client);
  const breaker = createBreaker({ partOf, timeoutMs, firstTimeoutMs, pauseMs, errorPauseMs: pauseMs, now });
  const connectionError = watchConnection(client);
  let outage: { readonly reason: CoordinatorReason; readonly call: Ending | 'count' } | undefined;

  function failed(call: Ending | 'count', error: unknown): void {
    // A client without a connection keeps its commands, and only the connection knows why.
    const failure = failureOf(isConnected(client) ? error : (connectionError() ?? error));
    warnOfCoordinator('backend', 'throttle', failure);
    // Once for each outage: a listener that pages an operator must not be called for every sign-in.
    if (outage === undefined) emit({ type: 'coordinator_unavailable', operation: 'throttle', reason: failure.reason });
    outage ??= { reason: failure.reason, call };
  }

  function answered(call: Ending | 'count'): void {
    if (outage === undefined || !breaker.isClosed()) return;
    // What Redis refuses it may refuse alone, and an end that succeeds late is no sign that Redis answers in time.
    if (call !== (outage.reason === 'unavailable' ? 'count' : outage.call)) return;
    outage = undefined;
    emit({ type: 'coordinator_recovered' });
  }

  async function end(how: Ending, ended: Promise<unknown>): Promise<void> {
    const told = answerWithin(ended, timeoutMs, () => new Error('Too late')).then(
      () => answered(how),
      (error: unknown) => failed(how, error),
    );
    if (outage === undefined) await told;
  }

  const storeClient = 'defineCommand' in client ? withOwnScript(client) : client;
  return (limit) => {
    const limiter = new RateLimiterRedis({ ...limit, storeClient, useRedisPackage: storeClient === client });
    return {
      limiter,
      async count(key, work) {
        try {
          const result = await breaker.run(limiter.getKey(key), work);
          answered('count');
          return result;
        } catch (error) {
          failed('count', error);
          return undefined;
        }
      },
      end,
    };
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
