import { AuthError } from '../errors.ts';

/** A pause in all calls of one kind, because the provider asked for it with `Retry-After`. */
export interface Rest {
  /** @param error the failure, with the provider's own number of seconds */
  begin(error: Pick<AuthError, 'reason' | 'retryAfter'>): void;
  /** @throws {AuthError} `provider_unavailable` during the pause, with what is left of the provider's number */
  refuse(): void;
}

/** We wait at most so long, in milliseconds, whatever number browsers are told. */
const maxRestMs = 60_000;

export function createRest(now: () => number): Rest {
  let rest: { readonly startedAt: number; readonly ms: number; readonly reason: string | undefined } | undefined;
  return {
    begin({ reason, retryAfter = 0 }) {
      rest = { startedAt: now(), ms: retryAfter * 1000, reason };
    },
    refuse() {
      if (rest === undefined) return;
      const { startedAt, ms, reason } = rest;
      const passed = now() - startedAt;
      // A clock that was set back must not prolong it.
      if (passed < 0 || passed >= Math.min(ms, maxRestMs)) rest = undefined;
      else throw new AuthError('provider_unavailable', { reason, retryAfter: (ms - passed) / 1000 });
    },
  };
}
