import { errorTable } from './error-table.ts';
import { didYouMean } from './nearest.ts';

export type AuthErrorCode = keyof typeof errorTable;

export interface AuthErrorOptions {
  readonly cause?: unknown;
  /** Replaces the table's message; must be safe to show to anyone. */
  readonly message?: string;
  /** Seconds until another try makes sense; sent as `Retry-After` (RFC 9110 §10.2.3). */
  readonly retryAfter?: number;
  /** The methods that a 405 names in `Allow` (RFC 9110 §10.2.1). */
  readonly allow?: readonly string[];
  /** The `WWW-Authenticate` value of a 401 (RFC 9110 §11.6.1). */
  readonly challenge?: string;
  /** What is wrong with single fields of a form, by their names; safe to show to anyone. */
  readonly fields?: Readonly<Record<string, string>>;
  /** For operators: our own reason or the provider's error code, never its message. Events include it, responses do not. */
  readonly reason?: string | undefined;
}

/**
 * An error that is safe to show: it has an HTTP status and a message without secrets. It has the members of an error of
 * `http-errors`, which the error handlers of Express, Koa, NestJS and Fastify read.
 *
 * @example throw new AuthError('forbidden', { message: 'This tenant is suspended.' });
 */
export class AuthError extends Error {
  override readonly name = 'AuthError';
  readonly code: AuthErrorCode;
  readonly status: number;
  /** The same as `status`, under the name that many error handlers read. */
  readonly statusCode: number;
  /** Whether the message may be shown to anyone; always true, also for a 503. */
  readonly expose = true;
  /** What belongs in the response's head: `Retry-After`, `Allow` and `WWW-Authenticate`, each only where the error has it. */
  readonly headers: Readonly<Record<string, string>>;
  /** Seconds. */
  readonly retryAfter: number | undefined;
  readonly allow: readonly string[] | undefined;
  /** The `WWW-Authenticate` value of a 401. */
  readonly challenge: string | undefined;
  /** What is wrong with single fields of a form, by their names. */
  readonly fields: Readonly<Record<string, string>> | undefined;
  /** For operators; no response contains it. */
  readonly reason: string | undefined;

  constructor(code: AuthErrorCode, options: AuthErrorOptions = {}) {
    const row = rowOf(code);
    super(options.message ?? row.message, options.cause === undefined ? undefined : { cause: options.cause });
    this.code = code;
    this.status = row.status;
    this.statusCode = row.status;
    this.retryAfter = seconds(options.retryAfter);
    this.allow = options.allow;
    this.challenge = options.challenge;
    this.fields = options.fields;
    this.reason = options.reason;
    this.headers = headersOf(this);
  }
}

/** @throws {TypeError} for what is no code, as from JavaScript; it names the one that is most likely meant */
function rowOf(code: unknown): (typeof errorTable)[AuthErrorCode] {
  if (typeof code === 'string' && Object.hasOwn(errorTable, code)) return errorTable[code as AuthErrorCode];
  const known = Object.keys(errorTable);
  const hint = didYouMean(
    String(code),
    known,
    `the codes are ${known.slice(0, 3).join(', ')} and those of docs/errors.md`,
  );
  throw new TypeError(`AuthError has no code ${JSON.stringify(String(code))}: ${hint}`);
}

function headersOf({ retryAfter, allow, challenge }: Omit<AuthError, 'headers'>): Record<string, string> {
  return {
    ...(retryAfter === undefined ? {} : { 'Retry-After': String(Math.max(1, retryAfter)) }),
    ...(allow === undefined ? {} : { Allow: headerText([allow].flat().join(', ')) }),
    ...(challenge === undefined ? {} : { 'WWW-Authenticate': headerText(challenge) }),
  };
}

/** Adds what a guard asks for (RFC 6750 §3), so that `onError` finds it with the other headers. A challenge of the error's own stays. */
export function addChallenge(error: AuthError, challenge: string): void {
  if (error.challenge !== undefined) return;
  Object.assign(error, { headers: { ...error.headers, 'WWW-Authenticate': challenge } });
}

/** An application's error may contain any text, and Node throws at a line break. */
export function headerText(value: unknown): string {
  return String(value).replaceAll(/[^\t\x20-\x7e]/g, '');
}

/**
 * What an error code says to the person who meets it, for a page of your own that a redirect leads to with the code in
 * its query.
 *
 * @param code any value, also one that a visitor has typed
 * @returns the table's message; a general one where there is no such code
 */
export function messageOf(code: unknown): string {
  return typeof code === 'string' && Object.hasOwn(errorTable, code)
    ? errorTable[code as AuthErrorCode].message
    : 'Something went wrong. Please try again.';
}

/** The `Retry-After` value: whole seconds, at most one day; `undefined` for an invalid number. */
function seconds(retryAfter: number | undefined): number | undefined {
  if (retryAfter === undefined || !Number.isFinite(retryAfter) || retryAfter < 0) return undefined;
  return Math.min(Math.ceil(retryAfter), 86_400);
}

/**
 * The application is misconfigured. Thrown at construction with all problems, or on the first
 * request for problems that depend on the mounted router.
 */
export class ConfigurationError extends Error {
  override readonly name = 'ConfigurationError';
  readonly code = 'invalid_configuration';
  readonly #problems: readonly string[];

  constructor(subject: string, problems: readonly string[]) {
    super(`${subject}: ${problems.length === 1 ? '' : `${problems.length} problems\n- `}${problems.join('\n- ')}`);
    this.#problems = problems;
  }

  /** One sentence each, naming the option and its environment variable. Node, which prints what an error holds, would print them twice. */
  get problems(): readonly string[] {
    return this.#problems;
  }
}

/** Whether the provider did not answer, so that the same may work later. */
export function isOutage(error: unknown): boolean {
  return error instanceof AuthError && error.code === 'provider_unavailable';
}

/** The code and reason for an event; `internal_error` means that the application's own code failed, such as `onSignIn`. */
export function causeOf(error: unknown): { readonly code: string; readonly reason?: string } {
  if (!(error instanceof AuthError)) return { code: 'internal_error' };
  const { code, reason } = error;
  return reason === undefined ? { code } : { code, reason };
}
