import { isRecord } from '../core/json.ts';
import { AuthError } from '../errors.ts';
import type { AuthErrorCode } from '../errors.ts';
import { fitForEvent } from '../session/events.ts';
import type { RefreshOutcome } from '../session/source.ts';

/**
 * Classifies a failed call to WorkOS by the error's shape. It avoids `instanceof`, because an
 * application may have a second copy of the SDK; messages change.
 */
export type ProviderFailure =
  /** The provider's definitive refusal, with its own code. */
  | {
      readonly kind: 'refused';
      readonly status: number;
      readonly code: string;
      readonly details: Readonly<Record<string, unknown>>;
    }
  /** The connection failed before a response arrived. */
  | { readonly kind: 'unanswered' }
  | { readonly kind: 'unavailable'; readonly retryAfter: number | undefined; readonly reason: string }
  /** Our own key or client id is refused: the operator must fix it, not the visitor. */
  | { readonly kind: 'misconfigured' };

export function classifyFailure(error: unknown): ProviderFailure {
  const { status, error: oauthCode, code, rawData, cause, retryAfter } = fieldsOf(error);
  // HTML instead of JSON comes from a proxy or gateway, whatever its status.
  if (typeof fieldsOf(cause)['rawStatus'] === 'number') return unavailable('not_json');
  if (typeof status !== 'number') return { kind: 'unanswered' };
  if (status === 401 || isText(oauthCode, ownFaults)) return { kind: 'misconfigured' };
  // The SDK converts any header value to a number, which may be NaN.
  const seconds = typeof retryAfter === 'number' && Number.isFinite(retryAfter) ? retryAfter : undefined;
  if (status === 429) return unavailable('rate_limited', seconds);
  if (status === 408 || status >= 500) return unavailable('server_error', seconds);
  const refusal = [code, oauthCode, fieldsOf(rawData)['code'], fieldsOf(rawData)['error']].find((name) => isText(name));
  return refusal === undefined
    ? unavailable('no_code')
    : { kind: 'refused', status, code: refusal, details: fieldsOf(rawData) };
}

function unavailable(reason: string, retryAfter?: number): ProviderFailure {
  return { kind: 'unavailable', reason, retryAfter };
}

/** Token endpoint errors that concern the application (RFC 6749 §5.2). */
const ownFaults: ReadonlySet<string> = new Set(['invalid_client', 'unauthorized_client', 'unsupported_grant_type']);

/** Answers that end a session for good. */
const endings: ReadonlySet<string> = new Set([
  'invalid_grant',
  'sso_required',
  'mfa_enrollment',
  'session_revoked',
  'organization_selection_required',
  'email_verification_required',
  'invalid_organization_id',
  'access_denied',
  'not_found',
]);

/** The outcome of a failed refresh. */
export function failedRefresh(error: unknown): Exclude<RefreshOutcome<never>, { kind: 'renewed' }> {
  const failure = classifyFailure(error);
  switch (failure.kind) {
    case 'refused':
      return endings.has(failure.code)
        ? { kind: 'ended', reason: failure.code }
        : { kind: 'refused', status: failure.status, error: refreshError(failure.code, error) };
    case 'unanswered':
      return { kind: 'unanswered', cause: error };
    case 'misconfigured':
      throw refreshError('provider_refused', error);
    case 'unavailable':
      throw refreshError(failure.reason, error, failure.retryAfter);
  }
}

/** A refresh that failed without a definitive answer. The session is kept, so the status is a temporary one. */
function refreshError(reason: string, cause: unknown, retryAfter = 5): AuthError {
  return new AuthError('provider_unavailable', { cause: loggable(cause), reason: fitForEvent(reason), retryAfter });
}

/** A sign-in that failed at the token endpoint. */
export function signInError(failure: ProviderFailure, error: unknown): AuthError {
  const cause = loggable(error);
  switch (failure.kind) {
    case 'refused':
      return new AuthError(signInCodes.get(failure.code) ?? 'sign_in_incomplete', {
        cause,
        reason: fitForEvent(failure.code),
      });
    case 'misconfigured':
      return new AuthError('provider_refused', { cause });
    case 'unanswered':
    case 'unavailable':
      return new AuthError('provider_unavailable', {
        cause,
        message: 'We can’t reach the sign-in service right now. Please try again in a moment.',
        reason: failure.kind === 'unavailable' ? failure.reason : failure.kind,
        retryAfter: (failure.kind === 'unavailable' ? failure.retryAfter : undefined) ?? 5,
      });
  }
}

const signInCodes: ReadonlyMap<string, AuthErrorCode> = new Map([
  ['invalid_grant', 'code_rejected'],
  ['access_denied', 'access_denied'],
  // For a chosen organization: the selection is spent or expired, or the user is not a member.
  ['invalid_pending_authentication_token', 'code_rejected'],
  ['organization_membership_not_found', 'access_denied'],
  ['not_found', 'access_denied'],
]);

/**
 * An error that is safe to log. The SDK's errors contain the provider's whole response, including
 * pending tokens or part of a truncated session.
 */
function loggable(error: unknown): unknown {
  const { name, status, error: oauthCode, code, requestID, cause } = fieldsOf(error);
  const isAnswer = typeof status === 'number' || typeof fieldsOf(cause)['rawStatus'] === 'number';
  if (!isAnswer) return error;
  const facts = [name, status, code, oauthCode, requestID].filter((fact) => isText(fact) || typeof fact === 'number');
  return new Error(`WorkOS answered: ${facts.join(' ')}`);
}

/** `?error=` of a callback (RFC 6749 §4.1.2.1): the user's decision, a temporary outage, or an operator's mistake. */
export function callbackError(code: string): AuthError {
  if (code === 'temporarily_unavailable' || code === 'server_error') {
    const outage = { kind: 'unavailable', reason: code, retryAfter: undefined } as const;
    return signInError(outage, new Error('The provider reported an outage'));
  }
  const isOperators = code === 'unauthorized_client' || code === 'invalid_request' || code === 'invalid_scope';
  return new AuthError(isOperators ? 'provider_refused' : 'access_denied', { reason: fitForEvent(code) });
}

function fieldsOf(value: unknown): Readonly<Record<string, unknown>> {
  return isRecord(value) ? value : {};
}

function isText(value: unknown, among?: ReadonlySet<string>): value is string {
  return typeof value === 'string' && value !== '' && (among?.has(value) ?? true);
}
