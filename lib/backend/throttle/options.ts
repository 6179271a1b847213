import * as v from 'valibot';
import { group } from '../../options/shared.ts';
import type { OptionsOf } from '../../options/shared.ts';

/** The methods that are used of a `redis` or `ioredis` client. */
export interface ThrottleRedisClient {
  eval(...args: never[]): Promise<unknown>;
  del(...args: never[]): Promise<unknown>;
  multi(): object;
}

const throttleParts = {
  /** A connected client of `redis` or `ioredis`, so that several processes count together. Default: in memory. */
  redis: v.optional(v.custom<ThrottleRedisClient>(isThrottleClient, 'must be a client of redis or ioredis')),
  /** In front of every key in Redis. Default `express-auth-adapters:throttle`. */
  keyPrefix: v.optional(v.pipe(v.string('must be a string'), v.nonEmpty('is empty'))),
};

/** How failed sign-ins are counted: 10 in 15 minutes per account and network, 100 per network, 5 per second factor. */
export interface ThrottleOptions extends OptionsOf<typeof throttleParts> {}

export const throttleEntries = {
  /** Limits failed sign-ins before the backend is asked; `false` turns that off. */
  throttle: v.optional(
    v.union(
      [v.literal(false), group<ThrottleOptions>(throttleParts)],
      'must be false, or an object with redis or keyPrefix',
    ),
    {},
  ),
};

function isThrottleClient(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return ['eval', 'del', 'multi'].every((method) => typeof Reflect.get(value, method) === 'function');
}
