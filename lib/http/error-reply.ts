import type { Request, Response } from 'express';
import { isNativeError } from 'node:util/types';
import { AuthError } from '../errors.ts';
import type { AuthErrorCode } from '../errors.ts';
import type { ErrorBody } from '../types.ts';
import type { OnError } from './adapter.ts';
import type { AuthRequest } from './auth-request.ts';
import { errorPage } from './error-page.ts';
import type { ErrorPageParts } from './error-page.ts';
import { otherAccountUrl } from './page.ts';
import { accountName } from './page-text.ts';
import { json, sendReply } from './reply.ts';
import type { Reply } from './reply.ts';
import { explainDecision, refusalReason } from './explain.ts';

export type Next = (error?: unknown) => void;

/**
 * Hands a request on from asynchronous code. What comes next may throw under bare `node:http`: it then ends as it does after
 * synchronous code, as an uncaught exception, and neither rejects a promise of ours nor reaches one of our `catch` blocks.
 */
export function goOn(next: Next, error?: Error): void {
  process.nextTick(() => {
    if (error === undefined) next();
    else next(error);
  });
}

/** Every failure ends here: an `AuthError` becomes an answer of its client's kind, anything else goes to the application. */
export function refuse(
  request: AuthRequest,
  error: unknown,
  next: Next,
  toReply: (request: AuthRequest, error: AuthError) => Reply = errorReply,
): void {
  const { req, res, definition } = request;
  if (!(error instanceof AuthError)) {
    goOn(next, isError(error) ? error : new Error('A value that is no Error was thrown', { cause: error }));
    return;
  }
  explainDecision(request, () => refusalReason(request, error));
  const fail = failOnce(error, next);
  try {
    if (definition.onError === undefined) {
      sendReply(request, toReply(request, error));
      return;
    }
    // It may well be async, whatever its type says; its rejection must not end the process.
    const takeOver: (...parameters: Parameters<OnError>) => unknown = definition.onError;
    // Under another host than Express they lack what Express adds.
    Promise.resolve(takeOver(error, req as Request, res as Response, fail)).catch(fail);
  } catch (failure) {
    fail(failure);
  }
}

/**
 * `next` for a request that was refused: it hands on an error, whatever it is called with, and once. Express takes `next()` for
 * success, every falsy value, too, and `'route'` and `'router'` for the way around what is left.
 */
function failOnce(refusal: AuthError, next: Next): Next {
  let isDone = false;
  return (failure) => {
    if (isDone) return;
    isDone = true;
    goOn(next, isError(failure) ? failure : refusal);
  };
}

/** Also an error of another realm, such as a `vm` context. */
function isError(value: unknown): value is Error {
  return value instanceof Error || isNativeError(value);
}

function errorReply(request: AuthRequest, error: AuthError): Reply {
  if (request.wantsJson) return jsonErrorReply(request, error);
  const page = errorPage({
    error,
    signInUrl: errorSignInUrl(request),
    account: accountOf(request, error),
    now: request.definition.now(),
    canReload: error.status === 503 && isLoading(request),
    home: request.home,
    stylesheet: request.stylesheetUrl,
    brand: request.definition.brand,
  });
  return { ...page, headers: errorHeaders(error) };
}

export function jsonErrorReply(request: AuthRequest, error: AuthError): Reply {
  const body = errorBody(error, error.status === 401 ? errorSignInUrl(request) : undefined);
  return { ...json(error.status, body), headers: errorHeaders(error) };
}

function errorSignInUrl(request: AuthRequest): string {
  return request.signInUrl(request.errorReturnTo ?? request.wayBack);
}

/** An error of the application may hold anything, and Node throws at a line break. */
export function headerText(value: unknown): string {
  return String(value).replaceAll(/[^\t\x20-\x7e]/g, '');
}

export function errorHeaders({ retryAfter, allow, challenge }: AuthError): Record<string, string> {
  return {
    ...(retryAfter === undefined ? {} : { 'Retry-After': String(Math.max(1, Math.ceil(retryAfter))) }),
    ...(allow === undefined ? {} : { Allow: headerText([allow].flat().join(', ')) }),
    ...(challenge === undefined ? {} : { 'WWW-Authenticate': headerText(challenge) }),
  };
}

/** Refusals of an account, which another one may not meet. */
const aboutAccount: ReadonlySet<AuthErrorCode> = new Set([
  'forbidden',
  'second_factor_required',
  'organization_required',
]);

function accountOf(request: AuthRequest, { code }: AuthError): ErrorPageParts['account'] {
  const session = aboutAccount.has(code) ? request.cachedSession() : undefined;
  const returnTo = request.errorReturnTo ?? request.wayBack;
  return session && { name: accountName(session), otherUrl: otherAccountUrl(request, returnTo) };
}

/** Whether a reload asks again: a form would have to be sent again, and an error in the query stays there. */
function isLoading({ req, query }: AuthRequest): boolean {
  return req.method === 'GET' && !query.has('error');
}

export function errorBody(error: AuthError, redirectTo?: string): ErrorBody {
  const { status, code, message } = error;
  return { error: { status, code, message }, ...(redirectTo === undefined ? {} : { redirectTo }) };
}
