import { createHash } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import { createBreaker } from '../tools/breaker.ts';
import { failureOf, UnreadableAnswer, watchConnection } from '../tools/coordinator-failure.ts';
import { createMasterOf } from '../tools/redis-slot.ts';

/** The members used of a client of the package `redis` (a single client, a pool, a sentinel or a cluster). */
export interface NodeRedisClient {
  readonly isReady?: boolean;
  readonly isOpen?: boolean;
  hGet(key: string, field: string): Promise<unknown>;
  eval(script: string, options: { keys: string[]; arguments: string[] }): Promise<unknown>;
}

/** The members used of a client of the package `ioredis` (a single client, sentinels or a cluster). */
export interface IoRedisClient {
  readonly status: string;
  hget(key: string, field: string): Promise<unknown>;
  eval(script: string, numberOfKeys: number, ...keysAndArguments: string[]): Promise<unknown>;
}

export type RedisClient = NodeRedisClient | IoRedisClient;

/** The two required commands, with one signature for both libraries and a time limit. */
export interface RedisCommands {
  hget(key: string, field: string): Promise<unknown>;
  /** @param keys all in one slot */
  eval(script: string, keys: readonly [string, ...string[]], args: readonly string[]): Promise<unknown>;
  /** Whether the last command to each master succeeded. */
  isAvailable(): boolean;
}

interface RedisCommandSettings {
  /** The timeout of a command, in milliseconds; then other commands to this master reject immediately for a second. */
  readonly timeoutMs: number;
  /** The timeout until the client has connected and a master has answered once: new connections are slow on a busy machine. */
  readonly firstTimeoutMs: number;
  /** Milliseconds from any fixed point. */
  readonly now: () => number;
}

/** How long a master that did not answer is paused, so that not every request waits for it. */
const pauseMs = 1_000;
const connectPollMs = 25;

export function isRedisClient(value: unknown): value is RedisClient {
  if (typeof value !== 'object' || value === null) return false;
  return ['eval', 'status' in value ? 'hget' : 'hGet'].every((name) => typeof Reflect.get(value, name) === 'function');
}

export function createRedisCommands(client: RedisClient, settings: RedisCommandSettings): RedisCommands {
  const breaker = createBreaker({ ...settings, partOf: createMasterOf(client), pauseMs });
  const connectionError = watchConnection(client);
  // A refused password stays refused.
  const isOpening = (): boolean => isConnecting(client) && failureOf(connectionError()).reason === 'unavailable';
  const connected = createFirstConnection(isOpening, settings.firstTimeoutMs);

  async function run(key: string, command: () => Promise<unknown>): Promise<unknown> {
    await connected();
    // A client without a connection queues its commands, and a request cannot wait for that.
    if (!isConnected(client)) {
      breaker.fail(key);
      throw new Error('Redis is not connected', { cause: connectionError() });
    }
    return breaker.run(key, command);
  }

  return {
    isAvailable: () => breaker.isClosed(),
    hget: (key, field) =>
      run(key, async () => checkReply(await (isIoRedis(client) ? client.hget(key, field) : client.hGet(key, field)))),
    eval: (script, keys, args) =>
      run(keys[0], () =>
        isIoRedis(client)
          ? client.eval(script, keys.length, ...keys, ...args)
          : client.eval(script, { keys: [...keys], arguments: [...args] }),
      ),
  };
}

/** A client with a callback API returns nothing, which would read as a session that has not ended. */
function checkReply(reply: unknown): unknown {
  if (reply === null || typeof reply === 'string' || reply instanceof Uint8Array) return reply;
  throw new UnreadableAnswer('The client gave an answer that HGET does not give');
}

/** Waits once, shared by all commands, while the client connects for the first time. @param isOpening whether it still may connect */
function createFirstConnection(isOpening: () => boolean, limitMs: number): () => Promise<void> | undefined {
  let isOver = false;
  let waiting: Promise<void> | undefined;
  const waitForIt = async (): Promise<void> => {
    for (let waitedMs = 0; waitedMs < limitMs && isOpening(); waitedMs += connectPollMs) {
      await wait(connectPollMs);
    }
    isOver = true;
  };
  return () => (isOver ? undefined : (waiting ??= waitForIt()));
}

function isIoRedis(client: RedisClient): client is IoRedisClient {
  return 'status' in client && typeof client.status === 'string';
}

function isConnected(client: RedisClient): boolean {
  // A lazy ioredis client connects at its first command.
  if (isIoRedis(client)) return client.status === 'ready' || client.status === 'wait';
  // A pool of node-redis clients has no `isReady`; the timeout applies to it.
  return client.isReady ?? true;
}

function isConnecting(client: RedisClient): boolean {
  if (isIoRedis(client)) return client.status === 'connecting' || client.status === 'connect';
  return client.isReady === false && client.isOpen === true;
}

/** The key of a name. */
export function tagOf(keyPrefix: string, name: string): string {
  return `${keyPrefix}:{${createHash('sha256').update(name).digest('base64url')}}`;
}

export function isPresent(reply: unknown): boolean {
  return reply !== null && reply !== undefined;
}
