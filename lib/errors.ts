import { errorTable } from './error-table.ts';

export type AuthErrorCode = keyof typeof errorTable;

export interface AuthErrorOptions {
  readonly cause?: unknown;
  /** Replaces the table's message; must be safe to show to anyone. */
  readonly message?: string;
  /** Seconds until another try makes sense; sent as `Retry-After` (RFC 9110 §10.2.3). */
  readonly retryAfter?: number;
  /** The methods that a 405 names in `Allow` (RFC 9110 §10.2.1). */
  readonly allow?: readonly string[];
  /** What a 401 says in `WWW-Authenticate` (RFC 9110 §11.6.1). */
  readonly challenge?: string;
  /** Why, for operators: our verdict or the provider's error code, never its text. Events carry it, answers do not. */
  readonly reason?: string | undefined;
}

/**
 * A failure that can be shown: it knows its HTTP status and a message without secrets.
 *
 * @example throw new AuthError('forbidden', { message: 'This tenant is suspended.' });
 */
export class AuthError extends Error {
  override readonly name = 'AuthError';
  readonly code: AuthErrorCode;
  readonly status: number;
  /** Seconds. */
  readonly retryAfter: number | undefined;
  readonly allow: readonly string[] | undefined;
  /** What a 401 says in `WWW-Authenticate`. */
  readonly challenge: string | undefined;
  /** For operators; no answer shows it. */
  readonly reason: string | undefined;

  constructor(code: AuthErrorCode, options: AuthErrorOptions = {}) {
    const row = errorTable[code];
    super(options.message ?? row.message, options.cause === undefined ? undefined : { cause: options.cause });
    this.code = code;
    this.status = row.status;
    this.retryAfter = seconds(options.retryAfter);
    this.allow = options.allow;
    this.challenge = options.challenge;
    this.reason = options.reason;
  }
}

/** What `Retry-After` may say: whole seconds, a day at most, and nothing for what is no number of seconds. */
function seconds(retryAfter: number | undefined): number | undefined {
  if (retryAfter === undefined || !Number.isFinite(retryAfter) || retryAfter < 0) return undefined;
  return Math.min(Math.ceil(retryAfter), 86_400);
}

/**
 * The application is set up wrongly. Thrown at construction with every problem at once, or on the first request for
 * what only a mounted router can know.
 */
export class ConfigurationError extends Error {
  override readonly name = 'ConfigurationError';
  readonly code = 'invalid_configuration';
  /** One sentence each, naming the option and its environment variable. */
  readonly problems: readonly string[];

  constructor(subject: string, problems: readonly string[]) {
    super(`${subject}: ${problems.length === 1 ? '' : `${problems.length} problems\n- `}${problems.join('\n- ')}`);
    this.problems = problems;
  }
}

/** What an event says of a failure; `internal_error` is one of the application's own, such as an `onSignIn` that throws. */
export function causeOf(error: unknown): { readonly code: string; readonly reason?: string } {
  if (!(error instanceof AuthError)) return { code: 'internal_error' };
  const { code, reason } = error;
  return reason === undefined ? { code } : { code, reason };
}
