import { isIP } from 'node:net';
import type { Request, Response } from 'express';
import { isDevelopment } from '../tools/environment.ts';
import { pathOf } from '../tools/paths/request-path.ts';
import { defined } from '../tools/json.ts';
import { isLoopback } from '../tools/url.ts';
import { fitForEvent, isWarnedOf } from '../session/events.ts';
import { header, keepPrivate, requestTarget } from './message.ts';
import { AuthError, messageOf } from '../errors.ts';
import type { AuthErrorCode } from '../errors.ts';
import type { ErrorBody } from '../types.ts';
import { NotAccepted } from './accept.ts';
import type { OnError } from './adapter.ts';
import type { AuthRequest } from './request.ts';
import { errorPage, isBusy, isKeyRefused } from '../pages/error-page.ts';
import type { ErrorPageParts } from '../pages/error-page.ts';
import { askingSignInUrl, otherAccountUrl } from '../pages/page.ts';
import { accountName, duration, sharedText } from '../pages/texts.ts';
import { asError, passToNext, isError } from './next.ts';
import type { Next } from './next.ts';
import { isOwnButForHttps, isPrivate, schemeAdvice } from './origin.ts';
import { json, redirect, showReply } from './reply.ts';
import type { Reply } from './reply.ts';

/** Handles every failure: an `AuthError` becomes a response in the client's format, any other error is passed to the application. */
export function refuse(
  request: AuthRequest,
  error: unknown,
  next: Next,
  toReply: (request: AuthRequest, error: AuthError) => Reply = errorReply,
): void {
  const { req, res, definition } = request;
  // Also where the application answers: another visitor may get something else here.
  keepPrivate(res);
  if (!(error instanceof AuthError)) {
    passToNext(next, asError(error));
    return;
  }
  explainDecision(request, () => refusalReason(request, error));
  if (error.code === 'cross_site_request') warnOfOrigin(request);
  const fail = failOnce(error, next);
  try {
    if (definition.onError === undefined) {
      showReply(request, toReply(request, error), next).catch(fail);
      return;
    }
    // It may be async, whatever its type says; its rejection must not end the process.
    const takeOver: (...parameters: Parameters<OnError>) => unknown = definition.onError;
    // Outside Express, `req` and `res` lack Express' additions.
    Promise.resolve(takeOver(error, req as Request, res as Response, fail)).catch(fail);
  } catch (failure) {
    fail(failure);
  }
}

/**
 * `next` for a refused request: it passes on an error, whatever its argument, and only once. Express treats
 * every falsy value as success, and `'route'` and `'router'` as a skip of the remaining handlers.
 */
function failOnce(refusal: AuthError, next: Next): Next {
  let isDone = false;
  return (failure) => {
    if (isDone) return;
    isDone = true;
    passToNext(next, isError(failure) ? failure : refusal);
  };
}

/** In the client's format. */
export function errorReply(request: AuthRequest, error: AuthError): Reply {
  if (request.wantsJson) return jsonErrorReply(request, error);
  const page = errorPage({
    error,
    signInUrl: errorSignInUrl(request, error),
    account: accountOf(request, error),
    hasSession: holdsCookie(request),
    now: request.definition.now(),
    isInTerminal: isInTerminal(request, error),
    isSignedIn: request.cachedSession() !== undefined,
    canReload: error.status === 503 && isLoading(request),
    retryUrl: request.errorRetryUrl,
    home: request.urlOf(request.home),
    stylesheet: request.stylesheetUrl,
    brand: request.brand,
  });
  return { ...page, headers: error.headers };
}

export function jsonErrorReply(request: AuthRequest, error: AuthError): Reply {
  const leadsTo = error.status === 401 ? errorSignInUrl(request, error) : undefined;
  return { ...json(error.status, errorBody(error, leadsTo)), headers: error.headers, ...defined({ leadsTo }) };
}

function errorSignInUrl(request: AuthRequest, { code }: AuthError): string {
  const returnTo = request.errorReturnTo ?? request.wayBack;
  if (aboutAccount.has(code)) return otherAccountUrl(request, returnTo);
  return refusals.has(code) ? askingSignInUrl(request, returnTo) : request.signInUrl(returnTo);
}

/** Refusals that concern the account, so another account may succeed. */
const aboutAccount: ReadonlySet<AuthErrorCode> = new Set([
  'forbidden',
  'second_factor_required',
  'organization_required',
  'not_a_member',
  'invitation_for_another_address',
  'not_accepted',
  'user_banned',
  'managed_account',
]);

/**
 * Refusals of a person who is signed in at the provider. The provider would otherwise sign in the same account
 * again without a question, and the same refusal would follow.
 */
const refusals: ReadonlySet<AuthErrorCode> = new Set([
  ...aboutAccount,
  'access_denied',
  'sign_in_failed',
  'provider_email_missing',
  'provider_email_unverified',
  'phone_number_required',
  'identity_check_required',
  'sign_in_incomplete',
  'sign_in_refused',
  'sign_in_method_refused',
  'sign_in_not_fresh',
  'invitation_invalid',
  'session_too_large',
  'token_rejected',
  'email_not_confirmed',
  'signup_disabled',
  'signup_refused',
  'email_in_use',
  'identity_in_use',
]);

/** Without a session, too: a callback has refused the account before there was one. */
function accountOf(request: AuthRequest, error: AuthError): ErrorPageParts['account'] {
  if (!aboutAccount.has(error.code)) return undefined;
  const otherUrl = otherAccountUrl(request, request.errorReturnTo ?? request.wayBack);
  // Not the account of the browser's session: that one may be another, and stays.
  if (error instanceof NotAccepted) return { name: error.account, wasRefused: !error.isStored, otherUrl };
  const session = request.cachedSession();
  return { name: session && accountName(session), otherUrl };
}

/** Whether a reload can succeed: a form would be posted again, and an error in the query stays. */
function isLoading({ req, query }: AuthRequest): boolean {
  return req.method === 'GET' && !query.has('error');
}

/** As the built-in pages say it: what is known of an outage, and a limit names the wait. */
function messageFor(error: AuthError): string {
  const { code, message, retryAfter } = error;
  if (isKeyRefused(error)) return messageOf('provider_refused');
  if (isBusy(error)) return `${sharedText.providerBusy} Please try again in a moment.`;
  if (code !== 'rate_limited' || retryAfter === undefined) return message;
  const what = message === messageOf(code) ? sharedText.rate_limited : message;
  return `${what} ${sharedText.retryIn.replace('{time}', duration(retryAfter))}`;
}

export function errorBody(error: AuthError, redirectTo?: string): ErrorBody {
  const { status, code, fields } = error;
  return {
    error: { status, code, message: messageFor(error), ...(fields && { fields }) },
    ...(redirectTo === undefined ? {} : { redirectTo }),
  };
}

/** The guard's redirect to the sign-in page, with the return path. */
export function challengeRedirect(request: AuthRequest, url = request.signInUrl(request.wayBack)): Reply {
  const { req, definition } = request;
  const isForm = req.method !== 'GET' && req.method !== 'HEAD';
  return redirect(isForm ? definition.guardStatusForForms : 307, url);
}

/**
 * Redirects a document to the page for the required step, and sends a JSON client that page's URL.
 *
 * @throws {AuthError} the given error, where `onError` handles it for JSON clients
 */
export function challengeWith(request: AuthRequest, error: AuthError, url: string): Reply {
  if (!request.wantsJson) return challengeRedirect(request, url);
  if (request.definition.onError !== undefined) throw error;
  return { ...json(error.status, errorBody(error, url)), leadsTo: url };
}

/**
 * Explains a decision about a request with `DEBUG`. The query is omitted, because it may hold secrets.
 *
 * @param decision called only where it is printed
 */
export function explainDecision({ req, definition: { explain } }: AuthRequest, decision: () => string): void {
  if (explain.enabled === false) return;
  explain('%s %s: %s', req.method, pathOf(requestTarget(req)), decision());
}

/** Why a request counts as signed out. */
export function signedOutReason(request: AuthRequest): string {
  const { cookieName } = request.definition;
  return holdsCookie(request)
    ? `the cookie ${cookieName} holds no live session`
    : `the browser sent no cookie ${cookieName}`;
}

function holdsCookie({ cookies, definition: { cookieName } }: AuthRequest): boolean {
  return [...cookies.keys()].some((name) => name === cookieName || name.startsWith(`${cookieName}.`));
}

/** An error's code, with details that its response omits: the reason, the provider's status and code, a fix. */
export function refusalReason(request: AuthRequest, { status, code, reason, cause }: AuthError): string {
  const facts = [reason, ...causeFacts(cause), code === 'cross_site_request' ? siteOf(request) : undefined];
  const known = facts.filter((fact) => fact !== undefined);
  return `refused with ${status} ${code}${known.length === 0 ? '' : ` (${known.join('; ')})`}`;
}

/** A provider's texts may repeat its input; its status and code do not. */
function causeFacts(cause: unknown): string[] {
  if (typeof cause !== 'object' || cause === null) return [];
  const { status, code }: { status?: unknown; code?: unknown } = cause;
  const known = typeof code === 'string' ? fitForEvent(code) : undefined;
  return [
    ...(typeof status === 'number' ? [`the provider answered ${status}`] : []),
    ...(known === undefined ? [] : [`its code is ${known}`]),
  ];
}

/** Whether a developer finds out more there: `DEBUG` has printed this refusal, or a warning of this process has told its cause. */
function isInTerminal({ req, definition: { adapter, explain } }: AuthRequest, error: AuthError): boolean {
  if (!isDevelopment()) return false;
  const isTold =
    error.code === 'cross_site_request' ? warnedOrigins.has(header(req, 'origin') ?? '') : isWarnedOf(adapter, error);
  return explain.enabled === true || isTold;
}

/** The origins that a developer was warned of, of this many at most. */
const warnedOrigins = new Set<string>();
const maxWarnedOrigins = 20;

/**
 * In development another site on this machine or in this network is usually the developer's own front end. Any other site, and any
 * other peer, can choose the origin freely, and would use the warnings up.
 */
function warnOfOrigin(request: AuthRequest): void {
  const { req, definition } = request;
  const origin = header(req, 'origin');
  if (!isDevelopment() || !isPrivate(req.socket.remoteAddress) || !isOrigin(origin) || !isNear(origin)) return;
  if (isOwnButForHttps(req, () => request.origin)) return;
  if (warnedOrigins.has(origin) || warnedOrigins.size >= maxWarnedOrigins) return;
  warnedOrigins.add(origin);
  const message = `${definition.name} refused a request from another site with 403: ${siteOf(request)}`;
  process.emitWarning(message, { code: 'EXPRESS_AUTH_ADAPTERS_ORIGIN' });
}

function isNear(origin: string): boolean {
  const { hostname } = new URL(origin);
  const address = hostname.replace(/^\[|\]$/g, '');
  return isLoopback(hostname) || (isIP(address) !== 0 && isPrivate(address));
}

function isOrigin(origin: string | undefined): origin is string {
  return origin !== undefined && origin.length < 300 && URL.parse(origin)?.origin === origin;
}

/** The other site, if the value is an origin as browsers write it. */
function siteOf(request: AuthRequest): string {
  const origin = header(request.req, 'origin');
  if (isOwnButForHttps(request.req, () => request.origin))
    return `it came from ${origin}, and this application believes it is served over http; ${schemeAdvice}`;
  return isOrigin(origin)
    ? `it came from ${origin}; if that is your own site, add it to trustedOrigins`
    : 'it came from another site; an origin of your own belongs in trustedOrigins';
}
