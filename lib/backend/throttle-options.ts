import * as v from 'valibot';
import type { ThrottleRedisClient } from '../session/limiters.ts';

/** How failed sign-ins are counted: 10 in 15 minutes per account and network, 100 per network. */
export interface ThrottleOptions {
  /** A connected client of `redis` or `ioredis`, so that several processes count together. Default: in memory. */
  readonly redis?: ThrottleRedisClient | undefined;
  /** In front of every key in Redis. Default `express-auth-adapters:throttle`. */
  readonly keyPrefix?: string | undefined;
}

export const throttleEntry = v.optional(
  v.union(
    [
      v.literal(false),
      v.strictObject({
        redis: v.optional(v.custom<ThrottleRedisClient>(isRedisClient, 'must be a client of redis or ioredis')),
        keyPrefix: v.optional(v.pipe(v.string('must be a string'), v.nonEmpty('is empty'))),
      }),
    ],
    'must be false, or an object with redis or keyPrefix',
  ),
  {},
);

function isRedisClient(value: unknown): boolean {
  return (
    typeof value === 'object' &&
    value !== null &&
    ['eval', 'del'].every((name) => typeof Reflect.get(value, name) === 'function')
  );
}
