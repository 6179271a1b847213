import type { IncomingMessage } from 'node:http';
import { AuthError } from '../errors.ts';
import type { AuthErrorCode } from '../errors.ts';
import type { Emit } from '../session/events.ts';
import { createThrottle } from '../session/throttle.ts';
import type { OnSuccess } from '../session/throttle.ts';
import { createClientAddress } from './client-address.ts';
import type { ClientAddress } from './client-address.ts';
import type { ThrottleOptions } from './throttle-options.ts';

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
}

/** What a person who tries passwords, addresses, codes or links would see; everything else tells them nothing. */
const countedFailures: ReadonlySet<AuthErrorCode> = new Set<AuthErrorCode>([
  'invalid_credentials',
  'code_rejected',
  'link_expired',
  'email_in_use',
  'captcha_failed',
]);

export function createAttempts(parts: {
  readonly throttle: false | ThrottleOptions;
  readonly clientAddress?: ClientAddress | undefined;
  readonly emit: Emit;
  readonly now: () => number;
}): Attempts {
  const { throttle: options, emit, now } = parts;
  if (options === false) return { run: (_req, _email, work) => work() };
  const { redis: store, keyPrefix = 'express-auth-adapters:throttle' } = options;
  const throttle = createThrottle({ store, keyPrefix, emit, now });
  const addressOf = createClientAddress(parts.clientAddress, emit);

  return {
    async run(req, email, work, success) {
      const attempt = await throttle.attempt(email, addressOf(req), success);
      try {
        const result = await work();
        if (success === 'forgives') await attempt.succeeded();
        else attempt.counted();
        return result;
      } catch (error) {
        if (error instanceof AuthError && countedFailures.has(error.code)) attempt.counted();
        else await attempt.cancelled();
        throw error;
      }
    },
  };
}
