import { randomUUID } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import type { SharedCoordinator } from '../session/refresh-coordinator.ts';
import { createRedisCommands } from './client.ts';
import { createCoordinator } from './coordinator.ts';
import { readOptions } from './options.ts';
import type { RedisCoordinatorOptions } from './options.ts';
import { createAnswerSeal } from './seal.ts';

export type { IoRedisClient, NodeRedisClient, RedisClient } from './client.ts';
export type { RedisCoordinatorOptions } from './options.ts';
export type { SessionCutoffs, SettledRefresh, SharedCoordinator } from '../session/shared-coordinator.ts';

/** Leaves a request, which waits five seconds by default, enough time for the provider. */
const firstTimeoutMs = 2_500;

/**
 * Extends the promise of one refresh per token, and of sign-out, over every process that shares a Redis. Hand the same
 * coordinator to both adapters if both are mounted. While Redis is away each process goes on by itself and says so in the
 * events `coordinator_unavailable` and `coordinator_recovered`. In a cluster this concerns the sessions of the masters that are
 * away.
 *
 * @example
 * const client = await createClient({ url: process.env.REDIS_URL }).on('error', log).connect();
 * const coordinator = createRedisCoordinator({ client, password: process.env.COORDINATOR_PASSWORD });
 * app.use(b2bAuth({ coordinator }));
 *
 * @throws {ConfigurationError} with every problem of the options
 */
export function createRedisCoordinator(options: RedisCoordinatorOptions): SharedCoordinator {
  const { client, passwords, keyPrefix, commandTimeoutMs, lockTtlMs } = readOptions(options);
  return createCoordinator({
    commands: createRedisCommands(client, {
      timeoutMs: commandTimeoutMs,
      firstTimeoutMs,
      now: () => performance.now(),
    }),
    seal: createAnswerSeal(passwords),
    keyPrefix,
    lockTtlMs,
    createToken: randomUUID,
    wait: (ms, signal) => wait(ms, undefined, { signal }),
    random: Math.random,
  });
}
