import { AuthError } from '../errors.ts';
import type { AuthErrorCode } from '../errors.ts';

/**
 * What a failed call to WorkOS means. Told from the error's shape, never with `instanceof`: an application may have a second copy
 * of the SDK, and messages change.
 */
export type ProviderFailure =
  /** The provider's definitive no, by its own code. */
  | { readonly kind: 'refused'; readonly code: string; readonly details: Readonly<Record<string, unknown>> }
  /** The connection broke before there was an answer. */
  | { readonly kind: 'unanswered' }
  | { readonly kind: 'unavailable'; readonly retryAfter: number | undefined }
  /** Our own key or client id is refused: the operator's problem, and no visitor's. */
  | { readonly kind: 'misconfigured' };

export function classifyFailure(error: unknown): ProviderFailure {
  const { status, error: oauthCode, code, rawData, cause, retryAfter } = fieldsOf(error);
  if (typeof status === 'number') {
    if (status === 401 || oauthCode === 'invalid_client') return { kind: 'misconfigured' };
    if (status === 408 || status === 429 || status >= 500) {
      return { kind: 'unavailable', retryAfter: typeof retryAfter === 'number' ? retryAfter : undefined };
    }
    const refusal = [code, oauthCode, fieldsOf(rawData)['code'], fieldsOf(rawData)['error']].find(isText);
    if (refusal !== undefined) return { kind: 'refused', code: refusal, details: fieldsOf(rawData) };
    return { kind: 'unavailable', retryAfter: undefined };
  }
  // A page instead of JSON comes from something in between, whatever its status says.
  if (typeof fieldsOf(cause)['rawStatus'] === 'number') return { kind: 'unavailable', retryAfter: undefined };
  return { kind: 'unanswered' };
}

/** Answers that end a session for good; every other one leaves it alone. */
const endings: ReadonlySet<string> = new Set(['invalid_grant', 'sso_required', 'mfa_enrollment', 'session_revoked']);

export function isEnding(failure: ProviderFailure): failure is Extract<ProviderFailure, { kind: 'refused' }> {
  return failure.kind === 'refused' && endings.has(failure.code);
}

/** A refresh that failed without a definitive answer. The session is kept, so the status is a passing one. */
export function refreshError(failure: ProviderFailure, cause: unknown): AuthError {
  const retryAfter = failure.kind === 'unavailable' ? failure.retryAfter : undefined;
  return new AuthError('provider_unavailable', { cause: loggable(cause), retryAfter: retryAfter ?? 5 });
}

/** A sign-in that failed at the token endpoint. */
export function signInError(failure: ProviderFailure, error: unknown): AuthError {
  const cause = loggable(error);
  switch (failure.kind) {
    case 'refused':
      return new AuthError(signInCodes.get(failure.code) ?? 'sign_in_incomplete', { cause });
    case 'misconfigured':
      return new AuthError('provider_refused', { cause });
    case 'unanswered':
    case 'unavailable':
      return new AuthError('provider_unavailable', {
        cause,
        message: 'The sign-in service cannot be reached right now. Please try again in a moment.',
        retryAfter: (failure.kind === 'unavailable' ? failure.retryAfter : undefined) ?? 5,
      });
  }
}

const signInCodes: ReadonlyMap<string, AuthErrorCode> = new Map([
  ['invalid_grant', 'code_rejected'],
  ['access_denied', 'access_denied'],
  // Of a chosen organization: its selection is spent or too old, or the person does not belong to it.
  ['invalid_pending_authentication_token', 'code_rejected'],
  ['organization_membership_not_found', 'access_denied'],
  ['not_found', 'access_denied'],
]);

/**
 * What an application may log: the SDK's errors carry the provider's whole answer, and with it pending tokens, or the half of
 * a session that was cut off.
 */
function loggable(error: unknown): unknown {
  const { name, status, error: oauthCode, code, requestID, cause } = fieldsOf(error);
  const isAnswer = typeof status === 'number' || typeof fieldsOf(cause)['rawStatus'] === 'number';
  if (!isAnswer) return error;
  const facts = [name, status, code, oauthCode, requestID].filter((fact) => isText(fact) || typeof fact === 'number');
  return new Error(`WorkOS answered: ${facts.join(' ')}`);
}

/** `?error=` of a callback (RFC 6749 §4.1.2.1): the visitor's choice, a passing outage, or something for the operator. */
export function callbackError(code: string): AuthError {
  if (code === 'temporarily_unavailable' || code === 'server_error') {
    return signInError({ kind: 'unavailable', retryAfter: undefined }, new Error('The provider reported an outage'));
  }
  const isOperators = code === 'unauthorized_client' || code === 'invalid_request' || code === 'invalid_scope';
  return new AuthError(isOperators ? 'provider_refused' : 'access_denied');
}

function fieldsOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== '';
}
