import { isNativeError } from 'node:util/types';

export type Next = (error?: unknown) => void;

/**
 * Calls `next` from asynchronous code. Under bare `node:http` the next handler may throw. It then ends as an
 * uncaught exception, as after synchronous code, and does not reject our promise or reach our `catch` blocks.
 */
export function passToNext(next: Next, error?: Error): void {
  process.nextTick(() => {
    if (error === undefined) next();
    else next(error);
  });
}

/** Also accepts an error of another realm, such as a `vm` context. */
export function isError(value: unknown): value is Error {
  return value instanceof Error || isNativeError(value);
}

/** What an application has thrown, as an error: Express treats falsy values and `'route'` as success. */
export function asError(thrown: unknown): Error {
  return isError(thrown) ? thrown : new Error('A value that is no Error was thrown', { cause: thrown });
}
