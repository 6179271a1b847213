import * as v from 'valibot';
import { ConfigurationError } from '../errors.ts';
import { isRedisClient } from './client.ts';
import type { RedisClient } from './client.ts';

export interface RedisCoordinatorOptions {
  /** A connected client of `redis` or of `ioredis`; connecting, errors and closing stay yours. */
  readonly client: RedisClient;
  /**
   * Seals what rests in Redis; 32 characters or more, and not the cookie's. Of a list the first one seals and all of them
   * open: to change it, add the new one at the end everywhere, then move it to the front, then drop the old one.
   */
  readonly password: string | readonly string[];
  /** What the names of all keys begin with. Default `express-auth-adapters`. */
  readonly keyPrefix?: string | undefined;
  /** How long one command may take, in milliseconds. Default 500. */
  readonly commandTimeoutMs?: number | undefined;
  /**
   * After how many milliseconds the holder of a lock counts as dead; while it lives it renews its lock. Keep it under half of
   * the adapter's `timeoutMs`, so that a waiting process has time to take over. Default 2,000.
   */
  readonly lockTtlMs?: number | undefined;
}

interface ReadOptions {
  readonly client: RedisClient;
  readonly passwords: readonly [string, ...string[]];
  readonly keyPrefix: string;
  readonly commandTimeoutMs: number;
  readonly lockTtlMs: number;
}

const minPasswordLength = 32;

const milliseconds = (name: string, least: number) => {
  const message = `${name} must be a whole number of milliseconds from ${least} to 60000`;
  return v.pipe(v.number(message), v.integer(message), v.minValue(least, message), v.maxValue(60_000, message));
};

const password = v.pipe(
  v.string('password must be a string or a list of strings'),
  v.minLength(minPasswordLength, `password must have ${minPasswordLength} characters or more`),
);

const schema = v.strictObject(
  {
    client: v.custom<RedisClient>(isRedisClient, 'client must be a client of the package redis or ioredis'),
    password: v.pipe(
      v.unknown(),
      v.transform((value): unknown[] => (Array.isArray(value) ? value : [value])),
      v.tupleWithRest([password], password, 'password must not be an empty list'),
    ),
    keyPrefix: v.optional(
      v.pipe(
        v.string('keyPrefix must be a string'),
        // Braces would move a cluster's hash tag.
        v.regex(/^[^{}]+$/, 'keyPrefix must not be empty and must not contain braces'),
      ),
      'express-auth-adapters',
    ),
    commandTimeoutMs: v.optional(milliseconds('commandTimeoutMs', 1), 500),
    lockTtlMs: v.optional(milliseconds('lockTtlMs', 100), 2_000),
  },
  (issue) =>
    issue.expected === 'never'
      ? `${v.getDotPath(issue) ?? 'an option'} is not an option of createRedisCoordinator`
      : `${v.getDotPath(issue) ?? 'the options object'} is missing`,
);

/** @throws {ConfigurationError} with every problem; no value is ever printed */
export function readOptions(options: RedisCoordinatorOptions): ReadOptions {
  const result = v.safeParse(schema, options);
  if (!result.success) {
    throw new ConfigurationError('createRedisCoordinator', [...new Set(result.issues.map((issue) => issue.message))]);
  }
  const { password: passwords, ...rest } = result.output;
  return { ...rest, passwords };
}
