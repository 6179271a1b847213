import { isRecord } from '../../tools/json.ts';
import { AuthError } from '../../errors.ts';
import type { AuthErrorCode, AuthErrorOptions } from '../../errors.ts';
import { staleKeys } from '../../session/events.ts';
import type { Emit } from '../../session/events.ts';
import { readToken, urgentWindowMs } from '../../session/jwt.ts';
import type { ProviderResponse } from './connection.ts';
import { weakPassword } from '../forms/new-password.ts';

/**
 * Maps GoTrue's error codes to ours. Codes take precedence over statuses. Messages are read only
 * for the number of seconds, which GoTrue sends nowhere else.
 *
 * @see https://supabase.com/docs/guides/auth/debugging/error-codes
 */
const codes: ReadonlyMap<string, AuthErrorCode> = new Map(
  Object.entries({
    invalid_credentials: 'invalid_credentials',
    email_not_confirmed: 'email_not_confirmed',
    user_banned: 'user_banned',
    email_provider_disabled: 'email_disabled',
    signup_disabled: 'signup_disabled',
    user_already_exists: 'email_in_use',
    email_exists: 'email_in_use',
    weak_password: 'weak_password',
    same_password: 'same_password',
    current_password_required: 'current_password_wrong',
    current_password_invalid: 'current_password_wrong',
    reauthentication_needed: 'sign_in_not_fresh',
    // Responses to a user's own token whose session has ended.
    session_not_found: 'link_expired',
    bad_jwt: 'link_expired',
    no_authorization: 'link_expired',
    // A form says more of an address (`asBadAddress`); elsewhere these say no more than that it did not work.
    validation_failed: 'sign_in_failed',
    bad_json: 'sign_in_failed',
    email_address_invalid: 'sign_in_failed',
    email_address_not_authorized: 'sign_in_failed',
    over_email_send_rate_limit: 'rate_limited',
    over_request_rate_limit: 'rate_limited',
    captcha_failed: 'captcha_failed',
    otp_expired: 'link_expired',
    otp_disabled: 'email_disabled',
    flow_state_not_found: 'code_rejected',
    flow_state_expired: 'code_rejected',
    bad_code_verifier: 'code_rejected',
    flow_state_already_used: 'code_rejected',
    pkce_code_verifier_not_found: 'code_rejected',
    bad_oauth_state: 'invalid_state',
    bad_oauth_callback: 'invalid_state',
    provider_disabled: 'unknown_provider',
    oauth_provider_not_supported: 'unknown_provider',
    provider_email_needs_verification: 'provider_email_unverified',
    user_not_found: 'sign_in_failed',
    oauth_client_state_not_found: 'invalid_state',
    oauth_client_state_expired: 'invalid_state',
    oauth_invalid_state: 'invalid_state',
    identity_already_exists: 'identity_in_use',
    invite_not_found: 'link_expired',
    email_address_not_provided: 'provider_email_missing',
    user_sso_managed: 'managed_account',
    phone_not_confirmed: 'sign_in_failed',
    phone_provider_disabled: 'signup_disabled',
    anonymous_provider_disabled: 'signup_disabled',
    sso_provider_not_found: 'unknown_provider',
    sso_provider_disabled: 'unknown_provider',
    saml_provider_disabled: 'unknown_provider',
    over_sms_send_rate_limit: 'rate_limited',
    sms_send_failed: 'provider_unavailable',
    mfa_verification_failed: 'code_wrong',
    mfa_challenge_expired: 'code_wrong',
    // The challenge was answered already, or from another address.
    mfa_ip_address_mismatch: 'code_wrong',
    mfa_factor_not_found: 'code_wrong',
    mfa_verification_rejected: 'sign_in_refused',
    insufficient_aal: 'second_factor_required',
    too_many_enrolled_mfa_factors: 'factor_unavailable',
    mfa_totp_enroll_not_enabled: 'factor_unavailable',
    mfa_totp_verify_not_enabled: 'factor_unavailable',
    mfa_phone_enroll_not_enabled: 'factor_unavailable',
    mfa_phone_verify_not_enabled: 'factor_unavailable',
    mfa_webauthn_enroll_not_enabled: 'factor_unavailable',
    mfa_webauthn_verify_not_enabled: 'factor_unavailable',
    passkey_disabled: 'unknown_provider',
    manual_linking_disabled: 'unknown_provider',
    single_identity_not_deletable: 'last_sign_in_method',
    too_many_passkeys: 'factor_unavailable',
    webauthn_challenge_not_found: 'challenge_expired',
    webauthn_challenge_expired: 'challenge_expired',
    webauthn_verification_failed: 'code_wrong',
    webauthn_credential_not_found: 'code_wrong',
    webauthn_credential_exists: 'code_wrong',
    // A hook's own refusal has no specific code.
    unknown: 'sign_in_failed',
    // Only the project's owner can fix these.
    unexpected_failure: 'provider_refused',
    unexpected_audience: 'provider_refused',
    hook_payload_over_size_limit: 'provider_refused',
    hook_payload_invalid_content_type: 'provider_refused',
    hook_timeout: 'provider_unavailable',
    hook_timeout_after_retry: 'provider_unavailable',
    request_timeout: 'provider_unavailable',
    conflict: 'provider_unavailable',
    oauth_authorization_not_found: 'authorization_expired',
    oauth_consent_not_found: 'authorization_expired',
    oauth_client_not_found: 'authorization_expired',
    // The project's OAuth server is off.
    feature_disabled: 'provider_refused',
  } satisfies Record<string, AuthErrorCode>),
);

/** Responses to a refresh that end the session permanently; after any other response it may still be valid. */
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

/** Seconds until a retry of an unavailable backend makes sense. */
const outageRetryAfter = 5;
/** Seconds, where a rate limit gives none. */
const limitRetryAfter = 60;

/**
 * Converts a failed call to the backend into the error for the visitor.
 *
 * @param answer the recorded response
 * @param error the SDK's error; it has its own codes for calls that never left this process
 * @param signsIn whether the call is a part of a sign-in; otherwise no refusal speaks of one
 */
export function providerError(answer: ProviderResponse, error: unknown, signsIn = true): AuthError {
  if (answer.kind === 'unanswered') return failure('provider_unavailable', { cause: answer.cause });
  const status = answer.kind === 'answered' ? answer.status : statusOf(error);
  // The SDK invents codes for responses without one.
  const gotrueCode = answer.kind === 'answered' ? answer.code : codeOf(error);
  const isAboutRequest = gotrueCode === undefined && requestStatuses.includes(status);
  const options = { cause: error, reason: isAboutRequest ? `http_${status}` : reasonOf(gotrueCode) };
  if (status >= 500) return failure('provider_unavailable', options, waitOf(answer));
  const code = codes.get(gotrueCode ?? '') ?? codeForStatus(status, gotrueCode !== undefined);
  if (code === 'weak_password') return weakPassword(error, options);
  return failure(code === 'sign_in_failed' && !signsIn ? 'action_failed' : code, options, waitOf(answer));
}

/** @param wait seconds, where the backend says how long */
function failure(code: AuthErrorCode, options: AuthErrorOptions, wait?: number): AuthError {
  if (code === 'rate_limited') return new AuthError(code, { ...options, retryAfter: wait ?? limitRetryAfter });
  if (code === 'provider_unavailable') return new AuthError(code, { ...options, retryAfter: wait ?? outageRetryAfter });
  return new AuthError(code, options);
}

/** Statuses with which GoTrue itself refuses; others, such as 404, come from a gateway or a wrong host. */
const refusalStatuses: readonly number[] = [400, 403, 422];
/** What may pass, or what only the project's owner can fix: no answer about a session. */
const noVerdicts: ReadonlySet<AuthErrorCode | undefined> = new Set([
  'provider_unavailable',
  'provider_refused',
  'rate_limited',
  'captcha_failed',
] as const);

/**
 * The reason why the response to a refresh ends the session, if it does: one of the known codes, or GoTrue's refusal with
 * a code that is neither a limit nor an outage.
 *
 * @param isLongOver whether the session's access token has been over for ten minutes
 */
export function endingOf(answer: ProviderResponse, isLongOver = true): string | undefined {
  if (answer.kind !== 'answered' || answer.code === undefined || answer.status >= 500) return undefined;
  const { code, status } = answer;
  // A hook of the project gives no other code where it fails than where it refuses.
  if (code === 'unknown' && status === 403 && !isLongOver) return undefined;
  if (endings.has(code)) return code;
  const isVerdict = refusalStatuses.includes(status) && !noVerdicts.has(codes.get(code));
  return isVerdict ? (reasonOf(code) ?? 'refused') : undefined;
}

/**
 * The error in a callback's query: GoTrue's own code first, then OAuth's (RFC 6749 §4.1.2.1). Anyone can write a query, so it is
 * never an outage or a refused key, and no operator is warned. Only OAuth's bare `access_denied` is a cancellation.
 *
 * @param isOAuth whether the browser has started a sign-in that may create an account
 */
export function callbackError(error: string | null, errorCode: string | null, isOAuth = false): AuthError {
  const options = { reason: reasonOf(errorCode ?? error) };
  if (error === 'access_denied' && errorCode === null) return failure('access_denied', options);
  // The project's hooks alone have no code. There, the one that is asked before a user is created refuses.
  const isRefused = isOAuth && errorCode === '' && error !== 'server_error';
  return failure(isRefused ? 'signup_refused' : callbackCode(errorCode), options);
}

/** What a callback can be about; the other codes are about forms, and speak of fields that it does not have. */
const callbackCodes: ReadonlySet<AuthErrorCode | undefined> = new Set<AuthErrorCode>([
  'code_rejected',
  'email_disabled',
  'email_in_use',
  'identity_in_use',
  'invalid_state',
  'link_expired',
  'managed_account',
  'provider_email_missing',
  'provider_email_unverified',
  'rate_limited',
  'second_factor_required',
  'signup_disabled',
  'unknown_provider',
  'user_banned',
]);

/** A second try within the minute gets a limit: the email of the first is on its way, unless the project has used up its quota. */
const unverified: ReadonlySet<string | null> = new Set(['over_email_send_rate_limit', 'email_not_confirmed']);

/** No link brought these: they are about a session's token. */
const aboutTokens: ReadonlySet<string | null> = new Set(['bad_jwt', 'no_authorization', 'session_not_found']);

function callbackCode(errorCode: string | null): AuthErrorCode {
  if (unverified.has(errorCode)) return 'provider_email_unverified';
  if (aboutTokens.has(errorCode)) return 'sign_in_failed';
  const code = codes.get(errorCode ?? '');
  return code !== undefined && callbackCodes.has(code) ? code : 'sign_in_failed';
}

/** A code that is safe in an event: anyone can write a callback's query. */
function reasonOf(code: string | null | undefined): string | undefined {
  return code !== null && code !== undefined && /^\w{1,64}$/.test(code) ? code : undefined;
}

/** For an account whose password only its organization's identity provider knows. */
export function organizationSignIn(): AuthError {
  return new AuthError('managed_account', { reason: 'user_sso_managed' });
}

/** GoTrue's code of a failed call. */
export function codeOf(error: unknown): string | undefined {
  const code = isRecord(error) ? error['code'] : undefined;
  return typeof code === 'string' ? code : undefined;
}

function statusOf(error: unknown): number {
  const status = isRecord(error) ? error['status'] : undefined;
  return typeof status === 'number' ? status : 0;
}

/** With these a gateway, such as a firewall for web applications, refuses what a visitor has sent: they say nothing of the key. */
const requestStatuses: readonly number[] = [400, 403, 413, 414, 431];

/** For responses without a known code: from a gateway in front of GoTrue, or with a future code. */
function codeForStatus(status: number, isGoTrue: boolean): AuthErrorCode {
  if (status === 429) return 'rate_limited';
  if (status === 408) return 'provider_unavailable';
  // GoTrue's own refusals have a code. Without one, the gateway has refused the key or does not know the path.
  return isGoTrue ? 'sign_in_failed' : 'provider_refused';
}

/** "…only request this after 42 seconds": GoTrue sends no Retry-After header with it. */
function waitOf(answer: ProviderResponse): number | undefined {
  if (answer.kind !== 'answered') return undefined;
  const [, seconds] = /\bafter (\d{1,5}) seconds?\b/.exec(answer.message ?? '') ?? [];
  return answer.retryAfter ?? (seconds === undefined ? undefined : Number(seconds));
}

/** Whether the backend, or this package, refused with this code: the application's own refusals, such as of `onSignIn`, have no reason. */
export function isOwnRefusal(error: unknown, code: AuthErrorCode): error is AuthError {
  return error instanceof AuthError && error.code === code && error.reason !== undefined;
}

/** GoTrue's codes where it, or a project's hook that it asked, did not answer in time; `timeout` is our own. */
const timeouts: ReadonlySet<string | undefined> = new Set([
  'timeout',
  'request_timeout',
  'hook_timeout',
  'hook_timeout_after_retry',
]);

/** Whether GoTrue may have judged a password or a six-digit code, although nothing says how. */
export function isTimeout({ code, reason }: AuthError): boolean {
  return code === 'provider_unavailable' && timeouts.has(reason);
}

/**
 * Whether GoTrue refused a password or a six-digit code without calling it wrong. A project's hook is asked after it was
 * judged, and a hook that slows down wrong ones would hide them. The application's own refusals have no reason.
 *
 * @see https://supabase.com/docs/guides/auth/auth-hooks/mfa-verification-hook
 */
export function isRefusedGuess({ code, reason }: AuthError): boolean {
  return refusedGuesses.has(code) && reason !== undefined;
}

const refusedGuesses: ReadonlySet<AuthErrorCode> = new Set(['sign_in_failed', 'action_failed', 'sign_in_refused']);

/**
 * For `catch`, after a call with a token that was verified here. Where the backend refuses even so (`bad_jwt`), its own keys are
 * not up to date: the session is not to blame, and operators are told. A token that is about to expire here may have expired there.
 *
 * @see https://github.com/supabase/auth/issues/2821
 */
export function rethrowStaleKeys(
  { emit, settings }: { readonly emit: Emit; readonly settings: { readonly now: () => number } },
  accessToken: string,
): (error: unknown) => never {
  return (error) => {
    if (!(error instanceof AuthError) || error.reason !== 'bad_jwt') throw error;
    const { exp } = readToken(accessToken).claims;
    const mayHaveExpired = typeof exp === 'number' && exp * 1000 <= settings.now() + urgentWindowMs;
    if (!mayHaveExpired) emit({ type: 'configuration_warning', message: staleKeys });
    throw new AuthError('provider_unavailable', { cause: error.cause, reason: error.reason, retryAfter: 5 });
  };
}
