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
