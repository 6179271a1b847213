import { answerWithin } from '../core/deadline.ts';

/** What is used of a client of the package `redis` (a single client, a pool, a sentinel or a cluster). */
export interface NodeRedisClient {
  readonly isReady?: boolean;
  get(key: string): Promise<unknown>;
  eval(script: string, options: { keys: string[]; arguments: string[] }): Promise<unknown>;
}

/** What is used of a client of the package `ioredis` (a single client, sentinels or a cluster). */
export interface IoRedisClient {
  readonly status: string;
  get(key: string): Promise<unknown>;
  eval(script: string, numberOfKeys: number, ...keysAndArguments: string[]): Promise<unknown>;
}

export type RedisClient = NodeRedisClient | IoRedisClient;

/** The two commands that are needed, in one spelling for both libraries and with an end. */
export interface RedisCommands {
  get(key: string): Promise<unknown>;
  eval(script: string, keys: readonly string[], args: readonly string[]): Promise<unknown>;
}

/** How long a Redis that did not answer is left alone, so that not every request waits for it. */
const pauseMs = 1_000;

export function isRedisClient(value: unknown): value is RedisClient {
  if (typeof value !== 'object' || value === null) return false;
  return 'eval' in value && typeof value.eval === 'function' && 'get' in value && typeof value.get === 'function';
}

/**
 * @param timeoutMs how long a command may take; after that it rejects, and so does every other one for a second
 * @param now milliseconds from any fixed point
 */
export function createRedisCommands(client: RedisClient, timeoutMs: number, now: () => number): RedisCommands {
  let pausedUntil = -Infinity;

  function run(command: () => Promise<unknown>): Promise<unknown> {
    // A client without a connection queues its commands, and a request has no time for that.
    if (!isConnected(client)) return Promise.reject(new Error('Redis is not connected'));
    if (now() < pausedUntil) return Promise.reject(new Error('Redis did not answer lately'));
    return answerWithin(command(), timeoutMs, () => {
      pausedUntil = now() + pauseMs;
      return new Error(`Redis did not answer within ${timeoutMs} ms`);
    });
  }

  return {
    get: (key) => run(() => client.get(key)),
    eval: (script, keys, args) =>
      run(() =>
        isIoRedis(client)
          ? client.eval(script, keys.length, ...keys, ...args)
          : client.eval(script, { keys: [...keys], arguments: [...args] }),
      ),
  };
}

function isIoRedis(client: RedisClient): client is IoRedisClient {
  return 'status' in client && typeof client.status === 'string';
}

function isConnected(client: RedisClient): boolean {
  // A lazy ioredis client waits for its first command to connect.
  if (isIoRedis(client)) return client.status === 'ready' || client.status === 'wait';
  // A pool of node-redis clients cannot tell; the time limit holds for it.
  return client.isReady ?? true;
}
