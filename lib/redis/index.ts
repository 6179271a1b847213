import * as v from 'valibot';
import { UnreadableAnswer } from '../tools/coordinator-failure.ts';
import { ConfigurationError } from '../errors.ts';
import type { SharedCoordinator, Times } from '../session/coordinator.ts';
import { createRedisCommands, isPresent, isRedisClient, tagOf } from './client.ts';
import type { RedisClient } from './client.ts';
import { createAnswerSeal, createRedisTokens } from './tokens.ts';

export type { IoRedisClient, NodeRedisClient, RedisClient } from './client.ts';
export type { SharedCoordinator, TakenToken, Times, TokenChange, TokenTurn } from '../session/coordinator.ts';

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
  const keyOf = (name: string): string => tagOf(keyPrefix, name);
  return {
    ...createRedisTokens({ commands, seal: createAnswerSeal(passwords), keyOf, turnMs: lockTtlMs }),
    isAvailable: () => commands.isAvailable(),
    async read(subject) {
      const text = await commands.hget(keyOf(subject), 'record');
      return isPresent(text) ? parseRecord(String(text)) : undefined;
    },
    async merge(subject, change, ttlMs) {
      const times = Object.entries(change).flatMap(([name, time]) => [name, String(Math.ceil(time))]);
      await commands.eval(mergeScript, [keyOf(subject)], [String(Math.ceil(ttlMs)), ...times]);
    },
  };
}

/** @throws {ConfigurationError} with every problem; option values are never printed */
function readOptions(options: RedisCoordinatorOptions): v.InferOutput<typeof schema> {
  const result = v.safeParse(schema, options);
  if (result.success) return result.output;
  throw new ConfigurationError('createRedisCoordinator', [...new Set(result.issues.map((issue) => issue.message))]);
}

/**
 * Keeps the later time of each name, the eight latest names of each kind with a colon, and the longer lifetime. The record is text, `name=time` separated by
 * spaces, so that a look-up reads one field. KEYS: hash. ARGV: lifetime in milliseconds, then names and times in turn.
 */
const mergeScript = `
local times, kinds = {}, {}
local function add(name, time)
  if not times[name] or tonumber(time) > tonumber(times[name]) then times[name] = time end
end
for name, time in string.gmatch(redis.call('HGET', KEYS[1], 'record') or '', '([^ =]+)=(-?%d+)') do add(name, time) end
for at = 2, #ARGV, 2 do add(ARGV[at], ARGV[at + 1]) end
for name in pairs(times) do
  local kind = string.match(name, '^[^:]*:')
  if kind then
    kinds[kind] = kinds[kind] or {}
    table.insert(kinds[kind], name)
  end
end
for _, names in pairs(kinds) do
  table.sort(names, function(one, other)
    local a, b = tonumber(times[one]), tonumber(times[other])
    if a == b then return one > other end
    return a > b
  end)
  for at = 9, #names do times[names[at]] = nil end
end
local record = {}
for name, time in pairs(times) do table.insert(record, name .. '=' .. time) end
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local ends = math.max(now + ARGV[1], tonumber(redis.call('HGET', KEYS[1], 'record-until') or 0))
redis.call('HSET', KEYS[1], 'record', table.concat(record, ' '), 'record-until', string.format('%.0f', ends))
redis.call('PEXPIRE', KEYS[1], string.format('%.0f', math.max(ends - now, redis.call('PTTL', KEYS[1]))))
return 1`;

function parseRecord(text: string): Times {
  const times = text.split(' ').map((part) => /^([^ =]+)=(-?\d+)$/.exec(part));
  if (times.includes(null)) throw new UnreadableAnswer('Redis holds a record that no script of ours has written');
  return Object.fromEntries(times.map((time) => [String(time?.[1]), Number(time?.[2])]));
}
