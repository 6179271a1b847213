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

const delta = /^\d+(?:\.\d+)?$/;
/** The three forms of RFC 9110 §5.6.7 begin with the name of a day. */
const date = /^(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)/;

/**
 * Seconds, from the header `Retry-After`: a number of seconds or a date (RFC 9110 §10.2.3). A date counts from the response's own
 * `Date`, so that a difference between the clocks does not matter.
 *
 * @returns `undefined` without one, for one in the past, and for an invalid one
 */
export function retryAfterOf(headers: Headers): number | undefined {
  const value = headers.get('retry-after')?.trim() ?? '';
  const seconds = delta.test(value) ? Number(value) : date.test(value) ? secondsUntil(value, headers) : 0;
  return Number.isFinite(seconds) && seconds > 0 ? seconds : undefined;
}

function secondsUntil(value: string, headers: Headers): number {
  const sentAt = timeOf(headers.get('date') ?? '');
  return (timeOf(value) - (Number.isNaN(sentAt) ? Date.now() : sentAt)) / 1000;
}

/** The oldest form has no zone, and means GMT. */
function timeOf(text: string): number {
  return Date.parse(text.endsWith('GMT') ? text : `${text} GMT`);
}
