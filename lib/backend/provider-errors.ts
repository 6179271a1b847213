import { AuthError } from '../errors.ts';
import type { AuthErrorCode } from '../errors.ts';
import type { Answer } from './gateway.ts';

/**
 * GoTrue's error codes, and what they are here. Codes decide, then statuses; messages never do, except for the number of
 * seconds that GoTrue says nowhere else.
 *
 * @see https://supabase.com/docs/guides/auth/debugging/error-codes
 */
const codes: ReadonlyMap<string, AuthErrorCode> = new Map(
  Object.entries({
    invalid_credentials: 'invalid_credentials',
    email_not_confirmed: 'email_not_confirmed',
    user_banned: 'user_banned',
    email_provider_disabled: 'signup_disabled',
    signup_disabled: 'signup_disabled',
    user_already_exists: 'email_in_use',
    email_exists: 'email_in_use',
    weak_password: 'weak_password',
    validation_failed: 'invalid_request',
    bad_json: 'invalid_request',
    email_address_invalid: 'invalid_request',
    email_address_not_authorized: 'invalid_request',
    over_email_send_rate_limit: 'rate_limited',
    over_request_rate_limit: 'rate_limited',
    captcha_failed: 'captcha_failed',
    otp_expired: 'link_expired',
    otp_disabled: 'signup_disabled',
    flow_state_not_found: 'code_rejected',
    flow_state_expired: 'code_rejected',
    bad_code_verifier: 'code_rejected',
    flow_state_already_used: 'code_rejected',
    pkce_code_verifier_not_found: 'code_rejected',
    bad_oauth_state: 'invalid_state',
    bad_oauth_callback: 'invalid_state',
    provider_disabled: 'unknown_provider',
    oauth_provider_not_supported: 'unknown_provider',
    provider_email_needs_verification: 'email_not_confirmed',
    user_not_found: 'access_denied',
    hook_timeout: 'provider_unavailable',
    hook_timeout_after_retry: 'provider_unavailable',
    request_timeout: 'provider_unavailable',
    conflict: 'provider_unavailable',
  } satisfies Record<string, AuthErrorCode>),
);

/** Answers to a refresh that end the session for good; after everything else it may live on. */
const endings: ReadonlySet<string> = new Set([
  'refresh_token_not_found',
  'refresh_token_already_used',
  'session_expired',
  'session_not_found',
  'user_banned',
  'user_not_found',
  'validation_failed',
  'invalid_grant',
  'invalid_client',
]);

/** Seconds until it makes sense to ask a backend again that is out of reach. */
const outageRetryAfter = 5;
/** Seconds, where a rate limit does not say. */
const limitRetryAfter = 60;

/**
 * What a failed call to the backend is to the visitor.
 *
 * @param answer what the gateway saw
 * @param error what the SDK made of it; it has codes of its own for what never left this process
 */
export function providerError(answer: Answer, error: unknown): AuthError {
  const options = { cause: error };
  const unavailable = { ...options, retryAfter: outageRetryAfter };
  if (answer.kind === 'unanswered')
    return new AuthError('provider_unavailable', { ...unavailable, cause: answer.cause });
  const status = answer.kind === 'answered' ? answer.status : statusOf(error);
  if (status >= 500) return new AuthError('provider_unavailable', unavailable);
  const gotrueCode = (answer.kind === 'answered' ? answer.code : undefined) ?? codeOf(error);
  const known = codes.get(gotrueCode ?? '');
  const code = known ?? codeForStatus(status, gotrueCode !== undefined);
  if (code === 'rate_limited')
    return new AuthError(code, { ...options, retryAfter: waitOf(answer) ?? limitRetryAfter });
  if (code === 'provider_unavailable') return new AuthError(code, unavailable);
  if (code === 'weak_password') return new AuthError(code, { ...options, ...weakPasswordMessage(error) });
  return new AuthError(code, options);
}

/** The reason for which the answer to a refresh ends the session, if it does. */
export function endingOf(answer: Answer): string | undefined {
  if (answer.kind !== 'answered' || answer.code === undefined || answer.status >= 500) return undefined;
  return endings.has(answer.code) ? answer.code : undefined;
}

/** The failure that a callback's query reports: GoTrue's own code first, then OAuth's (RFC 6749 §4.1.2.1). */
export function callbackError(error: string | null, errorCode: string | null): AuthError {
  const code = codes.get(errorCode ?? '');
  if (code === 'rate_limited') return new AuthError(code, { retryAfter: limitRetryAfter });
  if (code !== undefined) return new AuthError(code);
  if (error === 'server_error' || error === 'temporarily_unavailable') {
    return new AuthError('provider_unavailable', { retryAfter: outageRetryAfter });
  }
  return new AuthError('access_denied');
}

/** GoTrue's code of a failed call. */
export function codeOf(error: unknown): string | undefined {
  return typeof error === 'object' && error !== null && 'code' in error && typeof error.code === 'string'
    ? error.code
    : undefined;
}

function statusOf(error: unknown): number {
  return typeof error === 'object' && error !== null && 'status' in error && typeof error.status === 'number'
    ? error.status
    : 0;
}

/** For what no code explains: a gateway in front of GoTrue, or a code of tomorrow. */
function codeForStatus(status: number, isGoTrue: boolean): AuthErrorCode {
  if (status === 429) return 'rate_limited';
  if (status === 408) return 'provider_unavailable';
  // GoTrue's own refusals have a code; without one the gateway has refused the key or knows no such path.
  return isGoTrue ? 'access_denied' : 'provider_refused';
}

/** "…only request this after 42 seconds": GoTrue sends no header with it. */
function waitOf(answer: Answer): number | undefined {
  if (answer.kind !== 'answered') return undefined;
  const [, seconds] = /\bafter (\d{1,5}) seconds?\b/.exec(answer.message ?? '') ?? [];
  return answer.retryAfter ?? (seconds === undefined ? undefined : Number(seconds));
}

const weaknesses: Readonly<Record<string, string>> = {
  pwned: 'This password has appeared in a data breach. Choose another one.',
  length: 'This password is too short. Choose a longer one.',
  characters: 'This password needs more kinds of characters. Mix letters, digits and symbols.',
};

function weakPasswordMessage(error: unknown): { readonly message?: string } {
  const reasons = typeof error === 'object' && error !== null && 'reasons' in error ? error.reasons : undefined;
  if (!Array.isArray(reasons)) return {};
  const [message] = Object.keys(weaknesses)
    .filter((reason) => reasons.includes(reason))
    .map((reason) => weaknesses[reason]);
  return message === undefined ? {} : { message };
}
