import { isRecord } from '../tools/json.ts';
import { AuthError } from '../errors.ts';
import { fitForEvent } from '../session/events.ts';
import type { RefreshOutcome } from '../session/source.ts';
import { codeForm, organizationMessage, ownFaults, passing, refusals } from './refusals.ts';
import { refusalStatuses, ssoMessage, statusNames } from './refusals.ts';

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
  const { status, error: oauthCode, code, message, rawData, cause, retryAfter } = fieldsOf(error);
  const details = fieldsOf(rawData);
  const seconds = typeof retryAfter === 'number' && Number.isFinite(retryAfter) ? retryAfter : undefined;
  // HTML instead of JSON comes from a proxy or gateway, whatever its status.
  if (typeof fieldsOf(cause)['rawStatus'] === 'number') return unavailable('not_json', seconds);
  if (typeof status !== 'number') return { kind: 'unanswered' };
  if (isUnknownOrganization(status, message))
    return { kind: 'refused', status, code: 'organization_not_found', details };
  const named = [code, oauthCode, details['code'], details['error']].find((name) => isText(name));
  if (isText(oauthCode, ownFaults) || isOwnFault(status, named)) return { kind: 'misconfigured' };
  const reason = passingReason(status, named);
  if (reason !== undefined) return unavailable(reason, seconds);
  const refusal = named === undefined ? codeOfMessage(status, details['message']) : ownCode(named);
  if (refusal === undefined) return unavailable('no_code', seconds);
  if (!refusalStatuses.includes(status)) return unavailable('unexpected_status', seconds);
  return { kind: 'refused', status, code: refusal, details };
}

/** A refused API key is a 401 without a code of the token endpoint that we know. */
function isOwnFault(status: number, code = ''): boolean {
  return ownFaults.has(code) || (status === 401 && !refusals.has(code));
}

/** The SDK drops the body of a 404, except its code and message. */
function isUnknownOrganization(status: number, message: unknown): boolean {
  return status === 404 && isText(message) && organizationMessage.test(message);
}

function passingReason(status: number, code = ''): string | undefined {
  if (status === 429) return 'rate_limited';
  return status === 408 || status >= 500 ? 'server_error' : passing.get(code);
}

function unavailable(reason: string, retryAfter?: number): ProviderFailure {
  return { kind: 'unavailable', reason, retryAfter };
}

/** Only a code can be WorkOS' own refusal: gateways answer with words, or with the status's name. */
function ownCode(name: string): string | undefined {
  return codeForm.test(name) && !statusNames.has(name) ? name : undefined;
}

/** A refusal in words, without a code. A 403 of that kind is usually a gateway's. */
function codeOfMessage(status: number, message: unknown): string | undefined {
  if (!isText(message)) return undefined;
  if (message === ssoMessage) return 'sso_required';
  return status === 400 && !statusNames.has(message.toLowerCase().replaceAll(' ', '_')) ? 'no_code' : undefined;
}

/** The outcome of a failed refresh. The provider's refusal is final, whether or not its code is known. */
export function failedRefresh(error: unknown): Exclude<RefreshOutcome<never>, { kind: 'renewed' }> {
  const failure = classifyFailure(error);
  switch (failure.kind) {
    case 'refused':
      return { kind: 'ended', reason: fitForEvent(failure.code) ?? 'refused' };
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
  return outage(reason, loggable(cause), retryAfter);
}

function outage(reason: string, cause: unknown, retryAfter: number): AuthError {
  return new AuthError('provider_unavailable', { cause, reason: fitForEvent(reason), retryAfter });
}

/** A sign-in that failed at the token endpoint. */
export function signInError(failure: ProviderFailure, error: unknown): AuthError {
  const cause = loggable(error);
  switch (failure.kind) {
    case 'refused':
      return new AuthError(refusals.get(failure.code)?.signIn ?? 'sign_in_refused', {
        cause,
        reason: fitForEvent(failure.code),
      });
    case 'misconfigured':
      return new AuthError('provider_refused', { cause });
    case 'unanswered':
      return outage(failure.kind, cause, 5);
    case 'unavailable':
      return outage(failure.reason, cause, failure.retryAfter ?? 5);
  }
}

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

/**
 * `?error=` of a callback (RFC 6749 §4.1.2.1). Anyone can write a query, so it is never an outage or a refused key, and no
 * operator is warned. Only `access_denied` is the user's decision.
 */
export function callbackError(code: string): AuthError {
  return new AuthError(code === 'access_denied' ? code : 'sign_in_failed', { reason: fitForEvent(code) });
}

function fieldsOf(value: unknown): Readonly<Record<string, unknown>> {
  return isRecord(value) ? value : {};
}

function isText(value: unknown, among?: ReadonlySet<string>): value is string {
  return typeof value === 'string' && value !== '' && (among?.has(value) ?? true);
}
