import * as v from 'valibot';
import { wholeNumber } from '../../options/shared.ts';

export const lifetimeEntries = {
  /** Seconds from sign-in until the session ends for good, regardless of renewals. Default: never. */
  sessionMaxAge: v.optional(
    v.pipe(v.number('must be a number of seconds'), v.minValue(1, 'must be at least 1 second')),
  ),
  /**
   * Seconds without a request after which the session ends, at least 60. A request renews the token at a quarter of it, so a session ends
   * between three quarters and the whole of it after its last request. Default: never.
   */
  idleTimeout: v.optional(wholeNumber('seconds without a request after which the session ends', 60, 31_536_000)),
};
