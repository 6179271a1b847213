import type { Reply } from './http.ts';
import { json } from './http.ts';

/** A refusal in GoTrue's format: HTTP status, `error_code`, message. */
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

/** A refusal in the format of GoTrue's OAuth 2.1 server (RFC 6749 §5.2), without GoTrue's code and message. */
export class OAuthServerError extends Error {
  readonly code: string;

  constructor(code: string, description: string) {
    super(description);
    this.code = code;
  }
}

/**
 * GoTrue has two shapes of error. A client that names API version 2024-01-01 gets `{ code: string, message }` and the
 * version echoed; all others `{ code: number, error_code, msg }`.
 */
export function errorReply(error: GoTrueError | OAuthServerError, requestedVersion: string | undefined): Reply {
  if (error instanceof OAuthServerError) return json(400, { error: error.code, error_description: error.message });
  const isRecent = requestedVersion !== undefined && requestedVersion >= '2024-01-01';
  // GoTrue omits the header in one case: 422 {"code":"weak_password",…} of the recent version.
  const headers: Record<string, string> =
    isRecent && error.code === 'weak_password' ? {} : { 'x-sb-error-code': error.code };
  return isRecent
    ? json(
        error.status,
        { code: error.code, message: error.message, ...error.extra },
        { ...headers, 'x-supabase-api-version': '2024-01-01' },
      )
    : json(error.status, { code: error.status, error_code: error.code, msg: error.message, ...error.extra }, headers);
}
