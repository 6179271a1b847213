import * as v from 'valibot';
import type { ThrottleRedisClient } from './limiters.ts';
import type { IncomingMessage } from 'node:http';
import { AuthError } from '../errors.ts';
import type { AuthErrorCode } from '../errors.ts';
import type { Emit } from '../session/events.ts';
import { createThrottle } from './throttle.ts';
import type { OnSuccess } from './throttle-counter.ts';
import type { ThrottledAttempt } from './throttle.ts';
import { createClientAddress } from './client-address.ts';
import type { ClientAddress } from './client-address.ts';

/** How failed sign-ins are counted: 10 in 15 minutes per account and network, 100 per network, 5 per second factor. */
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

/** Limits attempts per account and per network before the backend is asked. */
export interface Attempts {
  /**
   * Runs an attempt that counts against its account and network, unless its failure is none of the visitor's doing.
   *
   * @param email `undefined` for a code or a link, which names no account
   * @throws {AuthError} `rate_limited` before `work` is begun, or what `work` throws
   */
  run<Result>(
    req: IncomingMessage,
    email: string | undefined,
    work: () => Promise<Result>,
    success: OnSuccess,
  ): Promise<Result>;
  /**
   * Runs a try of a six-digit code: after five wrong ones for its subject, from whatever networks, none is tried for 15 minutes.
   *
   * @param subject whose code it is, such as `factor:<id>`
   * @throws {AuthError} `rate_limited` before `work` is begun, or what `work` throws
   */
  runCode<Result>(req: IncomingMessage, subject: string, work: () => Promise<Result>): Promise<Result>;
  /**
   * Runs a call that sends an email with a code, once a minute for each address, unless it fails.
   *
   * @throws {AuthError} `rate_limited` with the seconds until the next one, or what `work` throws
   */
  runMail<Result>(email: string, work: () => Promise<Result>): Promise<Result>;
}

/** What a person who tries passwords, addresses, codes or links would see; everything else tells them nothing. */
const countedFailures: ReadonlySet<AuthErrorCode> = new Set<AuthErrorCode>([
  'invalid_credentials',
  'code_rejected',
  'link_expired',
  'email_in_use',
  'captcha_failed',
  'code_wrong',
  'sso_unavailable',
]);

export function createAttempts(parts: {
  readonly throttle: false | ThrottleOptions;
  readonly clientAddress?: ClientAddress | undefined;
  readonly emit: Emit;
  readonly now: () => number;
}): Attempts {
  const { throttle: options, emit, now } = parts;
  if (options === false) {
    const run: Attempts['runCode'] = (_req, _subject, work) => work();
    return { run, runCode: run, runMail: (_email, work) => work() };
  }
  const { redis: store, keyPrefix = 'express-auth-adapters:throttle' } = options;
  const throttle = createThrottle({ store, keyPrefix, emit, now });
  const addressOf = createClientAddress(parts.clientAddress, emit);

  async function settle<Result>(attempt: ThrottledAttempt, success: OnSuccess, work: () => Promise<Result>) {
    try {
      const result = await work();
      if (success === 'forgives') await attempt.succeeded();
      else await attempt.counted();
      return result;
    } catch (error) {
      if (error instanceof AuthError && countedFailures.has(error.code)) await attempt.counted();
      else await attempt.cancelled();
      throw error;
    }
  }

  return {
    run: async (req, email, work, success) =>
      settle(await throttle.attempt(email, addressOf(req), success), success, work),
    async runCode(req, subject, work) {
      const ofNetwork = await throttle.attempt(undefined, addressOf(req));
      return settle(ofNetwork, 'forgives', async () => settle(await throttle.code(subject), 'forgives', work));
    },
    runMail: async (email, work) => settle(await throttle.mail(email), 'counts', work),
  };
}
