import type { Router } from 'express';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { isProduction } from '../tools/environment.ts';
import { createPathMatcher, widenForConnect } from '../tools/paths/path-matcher.ts';
import { AuthError } from '../errors.ts';
import type { ConfigurationError } from '../errors.ts';
import { passAdapter } from './passed-adapters.ts';
import type { AuthRequest } from './request.ts';
import { refuseCrossSite, refuseUnintended } from './origin.ts';
import { registerRouter } from './adapter.ts';
import type { Adapter, OwnPath } from './adapter.ts';
import { challengeRedirect, refuse } from './error-reply.ts';
import { useExpress } from './express.ts';
import type { Next } from './next.ts';
import { guard } from './guard/guard.ts';
import type { GuardRules } from './guard/guard.ts';
import { findMisuse, isAnsweredLater, seesEachPattern, warnOfMount } from './mount/mounts.ts';
import { faviconFor, faviconPath } from '../pages/favicon.ts';
import { stylesheetFor } from '../pages/style.ts';
import { rememberFactors } from './guard/step-up.ts';
import { showReply } from './reply.ts';
import type { Reply } from './reply.ts';
import { refuseUnsafeMountPath } from './request/urls.ts';
import { comparablePath, isExpress, mountPath, requestTarget } from './message.ts';
import { pathOf } from '../tools/paths/request-path.ts';

export type RouteHandler = (request: AuthRequest) => Reply | Promise<Reply>;

export interface AuthRoute extends OwnPath {
  readonly get?: RouteHandler;
  readonly post?: RouteHandler;
  /** Whether a GET changes state: unintended requests are then refused, and a HEAD does nothing. */
  readonly hasGetEffects?: boolean;
  /** Whether the route has no pages, so that every response is JSON. */
  readonly isJsonOnly?: boolean;
}

/**
 * The router of both adapters: a lazy context for every request, the adapter's own routes and the
 * protected paths. Any other request costs one path test.
 */
export function createAuthRouter(parts: Omit<Adapter, 'ownPaths'>, ownRoutes: readonly AuthRoute[]): Router {
  const routes: readonly AuthRoute[] = [...ownRoutes, ...assetRoutes(parts.stylesheetPath)];
  const routeAt = new Map(routes.map((route) => [comparablePath(route.path), route]));
  const definition: Adapter = {
    ...parts,
    ownPaths: routeAt,
    warnsOfPlainCookies: parts.cookieOptions.secure === undefined && isProduction(),
    secondFactor: parts.secondFactor && rememberFactors(parts.secondFactor, parts.now),
  };
  const inExpress = createPathMatcher(definition.protectedRoutes);
  const inConnect = createPathMatcher(widenForConnect(definition.protectedRoutes));
  // Compared in their exact spelling; pages on another host are not guarded here.
  const openPaths = new Set(definition.openPages.filter((page) => page.startsWith('/')).map(pathOf));
  const isPage = (target: string, matches: typeof inExpress): boolean =>
    matches(target) && !openPaths.has(pathOf(target));
  // An earlier middleware may have rewritten the URL: both the original and the rewritten path are tested.
  const isProtected = ({ req }: AuthRequest, path: string): boolean => {
    const target = requestTarget(req);
    const matches = isExpress(req) ? inExpress : inConnect;
    return (
      isPage(target, matches) || (target !== req.url && isRewritten(path, pathOf(target)) && isPage(path, matches))
    );
  };
  /** Where the place was found right, by application: below each of its mount paths (`true`), or below the last one. */
  const right = new WeakMap<object, string | true>();
  /** Its place is judged until a request shows that it is right; what a request shows by itself, each time. */
  const checkMount = (request: AuthRequest, path: string): ConfigurationError | undefined => {
    const { req, preceding, following, prefix } = request;
    // The engine of Socket.IO comes by the same server without the application, and shows nothing of it.
    const host = typeof req.app === 'function' ? req.app : definition;
    const place = right.get(host);
    const isRight = place === true || place === prefix;
    const showsNothing = preceding === undefined && following === undefined && (prefix === '' || path !== '/');
    if (isRight && showsNothing) return undefined;
    const misuse = findMisuse(request, !isRight);
    if (misuse !== undefined || isRight) return misuse;
    if (place === undefined) warnOfMount(request);
    right.set(host, seesEachPattern(request) || prefix);
    return undefined;
  };

  return routerOf(definition, (req, res, next) => {
    const request = passAdapter(definition, req, res, mountPath(req));
    if (!request.isMounted) {
      next();
      return;
    }
    const path = pathOf(req.url ?? '/');
    request.misuse = checkMount(request, path);
    if (request.misuse !== undefined) {
      next(request.misuse);
      return;
    }
    const route = routeAt.get(path) ?? routeAt.get(comparablePath(path));
    const fullPath = request.prefix + path;
    if (route !== undefined) void serve(request, route, next);
    else if (isProtected(request, fullPath) && !isLeftToOther(request, fullPath)) guard(request, ofPages, next);
    else next();
  });
}

/** The rules of `protectedRoutes`. */
const ofPages: GuardRules = { challenge: (request) => challengeRedirect(request) };

type Handle = (req: IncomingMessage, res: ServerResponse, next: Next) => void;

/**
 * An Express router with a single handler. As a router layer it would cost every request 2.4 microseconds, a
 * tenth of Express' total, because a router leaves by `setImmediate`; instead of the layers it costs 0.3.
 */
function routerOf(definition: Adapter, handle: Handle): Router {
  const router: Router & { handle?: Handle } = useExpress().Router();
  const handleLayers = router.handle;
  router.handle = (req, res, next) => {
    if (router.stack.length === 0) {
      handle(req, res, next);
      return;
    }
    // Handlers that the application adds to the router run after the adapter.
    handle(req, res, (error) => {
      if (error !== undefined) next(error);
      else handleLayers?.call(router, req, res, next);
    });
  };
  registerRouter(router, definition);
  return router;
}

async function serve(request: AuthRequest, route: AuthRoute, next: Next): Promise<void> {
  request.startedAt = performance.now();
  if (route.isJsonOnly === true) request.isForApi = true;
  try {
    const reply = await answer(request, route);
    await request.settled();
    await showReply(request, reply, next);
  } catch (error) {
    await request.settled();
    refuse(request, error, next);
  }
}

async function answer(request: AuthRequest, route: AuthRoute): Promise<Reply> {
  const { req, definition } = request;
  const { get, post } = route;
  const allow = [...(get ? ['GET', 'HEAD'] : []), ...(post ? ['POST'] : []), 'OPTIONS'];
  const origin = (): string => request.origin;
  refuseUnsafeMountPath(request);
  if (req.method === 'POST' && post !== undefined) {
    refuseCrossSite(req, origin, definition.trustedOrigins);
    return await post(request);
  }
  if ((req.method === 'GET' || req.method === 'HEAD') && get !== undefined) {
    if (route.hasGetEffects === true) {
      // A HEAD must not have the effects of a GET: it would spend a code or start an unfinished flow.
      if (req.method === 'HEAD') return { status: 204 };
      refuseUnintended(req, origin, definition.trustedOrigins);
    }
    return await get(request);
  }
  if (req.method === 'OPTIONS') return { status: 204, headers: { Allow: allow.join(', ') } };
  throw new AuthError('method_not_allowed', { allow });
}

/** Another adapter's own route below a broad pattern: sign-in there works even while this adapter's provider is down. */
function isLeftToOther(request: AuthRequest, path: string): boolean {
  return request.cachedSession() === undefined && isAnsweredLater(request, path);
}

/** Below `/app`, Express passes `/` for `/app` itself. */
function isRewritten(path: string, original: string): boolean {
  return path !== original && path !== `${original}/`;
}

/** What pages load. */
function assetRoutes(stylesheetPath: string): readonly AuthRoute[] {
  const icon: AuthRoute = {
    path: faviconPath(stylesheetPath),
    get({ query }) {
      const text = faviconFor(query);
      if (text === undefined) throw new AuthError('not_found');
      return { status: 200, body: { kind: 'asset', type: 'image/svg+xml', text, maxAge: 86_400 } };
    },
  };
  const stylesheet: AuthRoute = {
    path: stylesheetPath,
    get: ({ query }) => ({
      status: 200,
      body: { kind: 'asset', type: 'text/css; charset=utf-8', ...stylesheetFor(query) },
    }),
  };
  return [icon, stylesheet];
}
