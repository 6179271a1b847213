import type { Reply } from './http.ts';
import { json } from './http.ts';

/** A refusal as GoTrue words it: HTTP status, `error_code`, message. */
export class GoTrueError extends Error {
  readonly status: number;
  readonly code: string;
  readonly extra: Readonly<Record<string, unknown>>;

  constructor(status: number, code: string, message: string, extra: Readonly<Record<string, unknown>> = {}) {
    super(message);
    this.status = status;
    this.code = code;
    this.extra = extra;
  }
}

/**
 * GoTrue has two shapes of error. A client that names API version 2024-01-01 gets `{ code: string, message }` and the
 * version echoed; anybody else `{ code: number, error_code, msg }`.
 */
export function errorReply(error: GoTrueError, requestedVersion: string | undefined): Reply {
  const headers = { 'x-sb-error-code': error.code };
  return requestedVersion !== undefined && requestedVersion >= '2024-01-01'
    ? json(
        error.status,
        { code: error.code, message: error.message, ...error.extra },
        { ...headers, 'x-supabase-api-version': '2024-01-01' },
      )
    : json(error.status, { code: error.status, error_code: error.code, msg: error.message, ...error.extra }, headers);
}
