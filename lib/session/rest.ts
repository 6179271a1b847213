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

  /** What is left of the provider's number, in milliseconds; 0 where calls may be made. */
  function leftMs(): number {
    if (rest === undefined) return 0;
    const { startedAt, ms } = rest;
    const passed = now() - startedAt;
    // A clock that was set back must not prolong it.
    return passed < 0 || passed >= Math.min(ms, maxRestMs) ? 0 : ms - passed;
  }

  return {
    begin({ reason, retryAfter = 0 }) {
      const ms = retryAfter * 1000;
      // The answer to another call that was under way must not shorten it.
      if (ms > leftMs()) rest = { startedAt: now(), ms, reason };
    },
    refuse() {
      const left = leftMs();
      if (left > 0) throw new AuthError('provider_unavailable', { reason: rest?.reason, retryAfter: left / 1000 });
    },
  };
}
