import type { Request, RequestHandler, Router } from 'express';
import type { IncomingMessage, ServerResponse } from 'node:http';
import * as v from 'valibot';
import { isPlainPath, onlyReading, pathOf } from '../../tools/paths/request-path.ts';
import { AuthError, ConfigurationError } from '../../errors.ts';
import type { Session } from '../../types.ts';
import { NotAccepted } from '../../http/accept.ts';
import { definitionOf } from '../../http/adapter.ts';
import type { Adapter } from '../../http/adapter.ts';
import { passedAs } from '../../http/passed-adapters.ts';
import type { AuthRequest } from '../../http/request.ts';
import { jarOf } from '../../http/cookie-jar.ts';
import { errorReply, explainDecision, refusalReason, signedOutReason } from '../../http/error-reply.ts';
import { asError, passToNext } from '../../http/next.ts';
import type { Next } from '../../http/next.ts';
import { notMounted } from '../../http/get-session.ts';
import { header, mountPath, requestTarget } from '../../http/message.ts';
import type { HostRequest } from '../../http/message.ts';
import type { ExactOptionsOf } from '../../options/shared.ts';
import { refuseCrossSite } from '../../http/origin.ts';
import { sendReply } from '../../http/reply.ts';
import { wayBackOf } from '../../http/request/way-back.ts';
import type { Reply } from '../../http/reply.ts';
import { checkEntry, outageEntries, readRequirements, refuseUnconfirmed } from '../../http/guard/require-session.ts';

const forwardEntries = {
  /** Whether the answer carries the provider's access token in `Authorization: Bearer`, for services that verify it. Default `false`. */
  token: v.exactOptional(v.boolean('must be true or false')),
};

const schema = v.strictObject({ check: checkEntry, ...forwardEntries, ...outageEntries });

export interface ForwardAuthOptions
  extends ExactOptionsOf<typeof forwardEntries>, ExactOptionsOf<typeof outageEntries> {
  /**
   * Decides whether the session passes; may be asynchronous. Only `true` passes, any other result is a 403.
   *
   * `method` and `path` are what the client asked for. The method is in capitals. The path is read as `protectedRoutes` reads it: decoded,
   * in small letters, with single slashes, without a trailing slash and without its query. The request is a 403, and `check` is not asked,
   * where the gateway names no path, or several, or one that servers read in several ways: dot segments, escaped or reversed slashes,
   * double escapes, `;`, `:`, `#`, a dot or space at the end of a segment.
   */
  readonly check?: (
    session: Session,
    req: Request,
    asked: { readonly method: string; readonly path: string },
  ) => boolean | Promise<boolean>;
}

type Asked = Parameters<NonNullable<ForwardAuthOptions['check']>>[2];

/** Where gateways put the client's own path: nginx' and Envoy's configurations say so, Traefik and Caddy always send the second one. */
const uriHeaders = ['x-original-uri', 'x-forwarded-uri'];
const methodHeaders = ['x-original-method', 'x-forwarded-method'];
/** Methods that change nothing (RFC 9110 §9.2.1). */
const safeMethods: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS', 'TRACE']);
/** Seconds after which a gateway's client may try again. */
const retryAfter = 5;

/**
 * The handler for the subrequest by which nginx (`auth_request`), Traefik (`forwardAuth`), Caddy (`forward_auth`) and Envoy (`ext_authz`)
 * ask whether a request may pass to a service behind them. Mount it after the adapter, for every method, at a path in small letters that
 * no guard covers. It answers this path alone: all below it, beside it and in another spelling is a 404.
 *
 * - 200 and no body with a session: `X-Auth-Request-User`, `-Email` and `-Organization`, percent-encoded, as far as the session has them.
 * - 401 without one, never a redirect: `X-Auth-Redirect` is the absolute URL to sign in, which leads back to `X-Original-URI`.
 * - 403 where `check` or `accept` refuses, and for a change that another site sends (`X-Original-Method`, else the method).
 * - 503 with `Retry-After` where only the provider could tell.
 *
 * A renewed session passes as one `Set-Cookie`. One of several cookies waits for a direct response of the application, eight days at
 * most, and requests with the former cookie pass until then. No `onError` is called, because gateways read the status.
 *
 * @param auth what `b2bAuth()` or `backendAuth()` returned
 * @throws {ConfigurationError} at once where `auth` is something else, and for unknown or undefined options; on the request where `auth`
 * is not mounted before it, or a guard is
 * @example app.use('/auth/forward', forwardAuth(auth));
 * @see https://nginx.org/en/docs/http/ngx_http_auth_request_module.html
 */
export function forwardAuth(auth: Router, options?: ForwardAuthOptions): RequestHandler {
  const definition = definitionOf('forwardAuth', auth);
  const rules = readRequirements('forwardAuth', schema, options) as ForwardAuthOptions;
  return (req: IncomingMessage, _res: ServerResponse, next: Next): void => {
    let request: AuthRequest;
    try {
      request = requestOf(definition, req);
    } catch (error) {
      next(error);
      return;
    }
    void answer(request, rules, next);
  };
}

/** @throws {ConfigurationError} where the adapter has not seen the request, or a guard that redirects has */
function requestOf(definition: Adapter, req: IncomingMessage): AuthRequest {
  const { adapter } = definition;
  const request = passedAs(req, adapter, 'forwardAuth').find((passed) => passed.definition === definition);
  if (request === undefined) throw notMounted('forwardAuth', adapter, req);
  if (request.visit.is !== 'admitted') return request;
  throw new ConfigurationError('forwardAuth', [
    'a guard (protectedRoutes or requireSession) covers its path, and would redirect signed-out visitors, which gateways take for an error; choose a path that no guard covers',
  ]);
}

async function answer(request: AuthRequest, rules: ForwardAuthOptions, next: Next): Promise<void> {
  jarOf(request.res).answerGateway();
  try {
    sendReply(request, isAtMountPath(request.req) ? await verdict(request, rules) : nothingHere(request));
  } catch (error) {
    passToNext(next, asError(error));
  }
}

/** A gateway that asks here is configured wrongly, and another handler of the application must not say yes in place of this one. */
function nothingHere(request: AuthRequest): Reply {
  explainDecision(request, () => 'not the path that forwardAuth is mounted at, in small letters: 404');
  return errorReply(request, new AuthError('not_found'));
}

/** @throws whatever `check` throws that is no `AuthError` */
async function verdict(request: AuthRequest, rules: ForwardAuthOptions): Promise<Reply> {
  return decide(request, rules).catch((error: unknown) => refusal(request, error));
}

/** @throws {AuthError} for every request that may not pass */
async function decide(request: AuthRequest, rules: ForwardAuthOptions): Promise<Reply> {
  const { req, definition } = request;
  const session = request.cachedSession() ?? (await request.resolveSession());
  if (session?.credential !== 'cookie') {
    if (request.visit.is === 'refused') throw new NotAccepted(request.visit.session);
    throw new AuthError('unauthenticated');
  }
  if (rules.whenCoordinatorDown === 'refuse') refuseUnconfirmed('forwardAuth', request, session);
  if (changesSomething(req)) refuseCrossSite(req, () => request.origin, definition.trustedOrigins);
  const isAllowed: unknown = rules.check === undefined || (await rules.check(session, req as Request, askedFor(req)));
  if (isAllowed !== true) throw new AuthError('forbidden');
  explainDecision(request, () => 'let in');
  const organization = session.adapter === 'b2b' ? session.organizationId : undefined;
  return {
    // Envoy takes no other status for a yes.
    status: 200,
    headers: {
      ...identity('User', session.user.id),
      ...identity('Email', session.user.email),
      ...identity('Organization', organization),
      ...(rules.token === true && { Authorization: `Bearer ${session.accessToken}` }),
    },
  };
}

/**
 * Whether the path is the one that the handler was mounted at, as a gateway names it: Express also hands over all paths below, and other
 * cases of letters. A gateway's rule that hides the handler may miss those (CWE-647).
 */
function isAtMountPath(req: HostRequest & { readonly route?: { readonly path?: unknown } }): boolean {
  const path = pathOf(requestTarget(req));
  const mounted = mountPath(req);
  const ofRoute = typeof req.route?.path === 'string' ? req.route.path : '';
  return (path === mounted || path === mounted + ofRoute) && path === path.toLowerCase() && isPlainPath(path);
}

/** @throws {AuthError} `forbidden` where the gateway leaves a doubt */
function askedFor(req: IncomingMessage): Asked {
  const paths = valuesOf(req, uriHeaders).map(onlyReading);
  const methods = valuesOf(req, methodHeaders);
  // Most gateways ask with a GET of their own.
  if (methods.length === 0 || req.method !== 'GET') methods.push(req.method ?? '');
  const [path, ...otherPaths] = new Set(paths);
  const [method = '', ...otherMethods] = new Set(methods.map((each) => each.toUpperCase()));
  const isClear = path !== undefined && /^[A-Z-]+$/.test(method) && otherPaths.length + otherMethods.length === 0;
  if (isClear) return { method, path };
  throw new AuthError('forbidden', {
    reason: 'the gateway names no path or method, several, or a path with several readings',
  });
}

/** Of those headers that came. Node joins several of one name with a comma and a space. */
function valuesOf(req: IncomingMessage, names: readonly string[]): string[] {
  return names.map((name) => header(req, name)).filter((value) => value !== undefined);
}

function identity(name: string, value: string | null | undefined): Record<string, string> {
  return value === undefined || value === null || value === '' ? {} : { [`X-Auth-Request-${name}`]: encode(value) };
}

/** `@` and `+` stay, so that a plain address reads as it is (RFC 3986 §2.1). A lone surrogate has no UTF-8. */
function encode(value: string): string {
  const wellFormed = value.replaceAll(/[\ud800-\udfff]/gu, '\ufffd');
  return encodeURIComponent(wellFormed).replaceAll('%40', '@').replaceAll('%2B', '+');
}

/** Whether the client's request may change something: its method, as the gateway says or repeats it, or a WebSocket. */
function changesSomething(req: IncomingMessage): boolean {
  const methods = [req.method, ...methodHeaders.map((name) => header(req, name))];
  const isUpgrade = header(req, 'sec-websocket-key') !== undefined || header(req, 'sec-fetch-mode') === 'websocket';
  return isUpgrade || methods.some((method) => method !== undefined && !safeMethods.has(method.toUpperCase()));
}

/** Gateways know three refusals, and take every other status for a failure of their own. */
function toGatewayError(error: AuthError): AuthError {
  const { status, retryAfter: given } = error;
  if (status === 401 || status === 403) return error;
  if (status < 500) return new AuthError('forbidden');
  return new AuthError('provider_unavailable', { retryAfter: given ?? retryAfter });
}

/**
 * nginx uses the status and headers alone; the other gateways hand the body to the client.
 *
 * @throws whatever is no `AuthError`
 */
function refusal(request: AuthRequest, failure: unknown): Reply {
  if (!(failure instanceof AuthError)) throw failure;
  const error = toGatewayError(failure);
  const isSignedOut = error.status === 401;
  const wayBack = wayBackOf(request, { method: methodAsked(request.req), target: originalUri(request.req) });
  request.errorReturnTo = wayBack;
  explainDecision(request, () =>
    isSignedOut ? `signed out, as ${signedOutReason(request)}: 401` : refusalReason(request, failure),
  );
  const reply = errorReply(request, error);
  const signInUrl = isSignedOut ? absoluteUrl(request, request.signInUrl(wayBack)) : undefined;
  return signInUrl === undefined ? reply : { ...reply, headers: { ...reply.headers, 'X-Auth-Redirect': signInUrl } };
}

/** The gateway's own request repeats the client's method where no header names it. */
function methodAsked(req: IncomingMessage): string | undefined {
  return valuesOf(req, methodHeaders)[0]?.toUpperCase() ?? req.method;
}

/** `undefined` where the gateway sent none, or several, or what no browser sends: then the sign-in leads to the start page. */
function originalUri(req: IncomingMessage): string | undefined {
  const sent = uriHeaders.map((name) => header(req, name)).find((value) => value !== undefined);
  // Node joins several with a comma and a space.
  return sent !== undefined && /^[\x21-\x7e]+$/.test(sent) ? sent : undefined;
}

/** `undefined` where the request names no usable host. */
function absoluteUrl(request: AuthRequest, url: string): string | undefined {
  try {
    return new URL(url, request.origin).href;
  } catch {
    return undefined;
  }
}
