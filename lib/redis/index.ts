import * as v from 'valibot';
import { ConfigurationError } from '../errors.ts';
import type { SessionCutoffs, SharedCoordinator } from '../session/shared-coordinator.ts';
import { createRedisCommands, isPresent, isRedisClient, tagOf } from './client.ts';
import type { RedisClient } from './client.ts';
import { createAnswerSeal, createRefreshes } from './refreshes.ts';

export type { IoRedisClient, NodeRedisClient, RedisClient } from './client.ts';
export type { SessionCutoffs, SettledRefresh, SharedCoordinator } from '../session/shared-coordinator.ts';

export interface RedisCoordinatorOptions {
  /** A connected client of `redis` or of `ioredis`; connecting, errors and closing stay yours. */
  readonly client: RedisClient;
  /**
   * Seals what rests in Redis; 32 characters or more, and not the cookie's. Of a list the first one seals and all of them
   * open: to change it, add the new one at the end everywhere, then move it to the front, then drop the old one.
   */
  readonly password: string | readonly string[];
  /** The prefix of all keys. Default `express-auth-adapters`. */
  readonly keyPrefix?: string | undefined;
  /** How long one command may take, in milliseconds. Default 500. */
  readonly commandTimeoutMs?: number | undefined;
  /**
   * After how many milliseconds the holder of a lock counts as dead; while it lives it renews its lock. Keep it under half of
   * the adapter's `timeoutMs`, so that a waiting process has time to take over. Default 2,000.
   */
  readonly lockTtlMs?: number | undefined;
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
        // Braces would change the cluster's hash tag.
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

/** Leaves enough time for the provider, because a request waits five seconds by default. */
const firstTimeoutMs = 2_500;

/**
 * Extends the guarantees of one refresh per token, and of sign-out, to all processes that share a
 * Redis. Pass the same coordinator to both adapters if both are mounted. While Redis is
 * unavailable, each process works on its own and emits `coordinator_unavailable`, later
 * `coordinator_recovered`. In a cluster this affects only the sessions of the unavailable masters.
 *
 * @example
 * const client = await createClient({ url: process.env.REDIS_URL }).on('error', log).connect();
 * const coordinator = createRedisCoordinator({ client, password: process.env.COORDINATOR_PASSWORD });
 * app.use(b2bAuth({ coordinator }));
 *
 * @throws {ConfigurationError} with every problem of the options
 */
export function createRedisCoordinator(options: RedisCoordinatorOptions): SharedCoordinator {
  const { client, password: passwords, keyPrefix, commandTimeoutMs, lockTtlMs } = readOptions(options);
  const commands = createRedisCommands(client, {
    timeoutMs: commandTimeoutMs,
    firstTimeoutMs,
    now: () => performance.now(),
  });
  const revocationKey = (sessionId: string): string => `${tagOf(keyPrefix, sessionId)}:ended`;
  const cutoffsKey = (subject: string): string => `${tagOf(keyPrefix, subject)}:cutoffs`;
  return {
    isAvailable: () => commands.isAvailable(),
    ...createRefreshes({ commands, seal: createAnswerSeal(passwords), keyPrefix, lockTtlMs }),
    async endSession(sessionId, ttlMs) {
      await commands.eval(revokeScript, [revocationKey(sessionId)], [String(Math.ceil(ttlMs))]);
    },
    async isEnded(sessionId) {
      return isPresent(await commands.get(revocationKey(sessionId)));
    },
    async setCutoffs(subject, { endedUntil, staleUntil }, ttlMs) {
      const args = [endedUntil, staleUntil, ttlMs].map((value) => String(Math.ceil(value)));
      await commands.eval(cutoffsScript, [cutoffsKey(subject)], args);
    },
    async cutoffsOf(subject) {
      const reply = await commands.get(cutoffsKey(subject));
      return isPresent(reply) ? parseCutoffs(String(reply)) : undefined;
    },
  };
}

/** @throws {ConfigurationError} with every problem; option values are never printed */
function readOptions(options: RedisCoordinatorOptions): v.InferOutput<typeof schema> {
  const result = v.safeParse(schema, options);
  if (result.success) return result.output;
  throw new ConfigurationError('createRedisCoordinator', [...new Set(result.issues.map((issue) => issue.message))]);
}

/** Never shortens the lifetime of an existing revocation. KEYS: revocation. ARGV: its lifetime in milliseconds. */
const revokeScript = `
if redis.call('PTTL', KEYS[1]) >= tonumber(ARGV[1]) then return 0 end
redis.call('SET', KEYS[1], '1', 'PX', ARGV[1])
return 1`;

/**
 * Keeps the later of each time, and the longer lifetime. KEYS: cutoffs. ARGV: ended until, stale until, lifetime in milliseconds.
 */
const cutoffsScript = `
local ended, stale, ttl = ARGV[1], ARGV[2], ARGV[3]
local standing = redis.call('GET', KEYS[1])
if standing then
  local e, s = string.match(standing, '^(-?%d+) (-?%d+)$')
  if e and tonumber(e) > tonumber(ended) then ended = e end
  if s and tonumber(s) > tonumber(stale) then stale = s end
  local rest = redis.call('PTTL', KEYS[1])
  if rest > tonumber(ttl) then ttl = string.format('%.0f', rest) end
end
redis.call('SET', KEYS[1], ended .. ' ' .. stale, 'PX', ttl)
return 1`;

function parseCutoffs(text: string): SessionCutoffs {
  const [, endedUntil, staleUntil] = /^(-?\d+) (-?\d+)$/.exec(text) ?? [];
  if (endedUntil === undefined) throw new Error('Redis holds times that no script of ours has written');
  return { endedUntil: Number(endedUntil), staleUntil: Number(staleUntil) };
}
