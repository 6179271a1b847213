import type { ServerResponse } from 'node:http';
import { defined } from '../../tools/json.ts';
import { createPathMatcher } from '../../tools/paths/path-matcher.ts';
import { AuthError, ConfigurationError } from '../../errors.ts';
import { partKey } from '../../http/adapter.ts';
import type { Adapter } from '../../http/adapter.ts';
import { passAdapter } from '../../http/passed-adapters.ts';
import type { AuthRequest } from '../../http/request.ts';
import { jsonErrorReply, refuse } from '../../http/error-reply.ts';
import type { Next } from '../../http/next.ts';
import { stackedHandlers } from '../../http/mount/express-stack.ts';
import { isHeadOpen, varyOn } from '../../http/message.ts';
import type { HostRequest } from '../../http/message.ts';
import { sendReply } from '../../http/reply.ts';
import type { Reply } from '../../http/reply.ts';
import { coveredBy } from './options.ts';
import type { ResourceOptions } from './options.ts';

/** Where a resource has no path of its own (RFC 9728 §3). */
export const rootForm = '/.well-known/oauth-protected-resource';

/** The public paths of a resource and of its metadata, and where the application serves that. */
export interface ResourcePaths {
  readonly path: string;
  /** The metadata's path that challenges name. */
  readonly metadata: string;
  /** The metadata's paths in the application. */
  readonly served: ReadonlySet<string>;
}

/**
 * The path of `appBaseUrl` precedes the resource's, because a proxy strips it, except where the resource's path contains it already.
 * The proxy may also pass on the path that clients derive from the resource's URL, which is at the origin's root.
 */
export function pathsOf({ appBaseUrl = 'http://localhost' }: Adapter, own: string): ResourcePaths {
  const basePath = new URL(appBaseUrl).pathname.replace(/\/+$/, '');
  const base = covers(basePath, own) ? '' : basePath;
  const path = own === '/' && base !== '' ? base : base + own;
  return { path, metadata: base + metadataOf(own), served: new Set([metadataOf(own), metadataOf(path)]) };
}

const metadataOf = (path: string): string => (path === '/' ? rootForm : rootForm + path);

const covers = (path: string, other: string): boolean => createPathMatcher([coveredBy(path)])(other);

/** The paths of the adapter's resources. */
const declaredPart = partKey<Set<string>>('paths of resources');
/** The path of a handler's resource, on the list by which it is known, as a router is, also where tracing wraps it. */
const ownPath = Symbol('path of the resource');

/** @throws {ConfigurationError} where two resources contain one another */
export function declareResource(definition: Adapter, handle: object, path: string): void {
  const { parts } = definition;
  const paths = parts.find(declaredPart) ?? parts.set(declaredPart, new Set());
  const other = [...paths].find((each) => each !== path && (covers(each, path) || covers(path, each)));
  if (other !== undefined) {
    throw new ConfigurationError('protectResource', [
      `path '${path}' and the path '${other}' of another resource contain one another, so that requests would need a token for each`,
    ]);
  }
  paths.add(path);
  Object.assign(handle, { stack: Object.assign([], { [ownPath]: path }) });
}

/**
 * Whose metadata the root form is: that of the application's only resource. Of several it is no one's, because clients could not tell
 * whose it is.
 */
export function ownerOfRootForm(definition: Adapter, { app }: HostRequest): 'this' | 'other' | 'none' {
  const stacked = stackedHandlers(app).flatMap(
    (identity) => (identity as { readonly [ownPath]?: string })[ownPath] ?? [],
  );
  const paths = new Set([...(definition.parts.find(declaredPart) ?? []), ...stacked]);
  if (paths.size === 1) return 'this';
  return paths.has('/') ? 'other' : 'none';
}

/** Answers a request for metadata; 404 where `paths` is omitted. */
export function serveMetadata(
  definition: Adapter,
  { req, res, next }: { readonly req: HostRequest; readonly res: ServerResponse; readonly next: Next },
  options: ResourceOptions,
  paths?: ResourcePaths,
): void {
  const request = passAdapter(definition, req, res);
  try {
    sendReply(request, answer(request, options, paths));
  } catch (error) {
    refuse(request, error, next, (_, failure) => open(jsonErrorReply(request, failure)));
  }
}

const allow = ['GET', 'HEAD', 'OPTIONS'];
/** Seconds. */
const maxAge = 300;

function answer(request: AuthRequest, options: ResourceOptions, paths: ResourcePaths | undefined): Reply {
  const { req, res, definition } = request;
  const { method = '' } = req;
  if (paths === undefined) throw new AuthError('not_found');
  if (!allow.includes(method)) throw new AuthError('method_not_allowed', { allow });
  if (method === 'OPTIONS') return open({ status: 204, headers: preflight });
  // Express' `trust proxy` decides whether they count, and a cache does not know it.
  const isFromRequest = definition.appBaseUrl === undefined && isHeadOpen(res);
  if (isFromRequest) ['X-Forwarded-Host', 'X-Forwarded-Proto'].forEach((name) => varyOn(res, name));
  const text = JSON.stringify(metadata(request, options, paths));
  return open({ status: 200, body: { kind: 'asset', type: 'application/json; charset=utf-8', text, maxAge } });
}

/** RFC 9728 §3.2 */
function metadata({ origin, definition }: AuthRequest, options: ResourceOptions, { path }: ResourcePaths): object {
  const { scopes, authorizationServer = definition.authorizationServer?.issuer } = options;
  return {
    resource: origin + path,
    authorization_servers: [authorizationServer],
    ...defined({ scopes_supported: scopes }),
    bearer_methods_supported: ['header'],
  };
}

/** Clients in browsers ask with a header of their own, such as `MCP-Protocol-Version`. */
const preflight = {
  Allow: allow.join(', '),
  'Access-Control-Allow-Methods': allow.join(', '),
  'Access-Control-Allow-Headers': '*',
  'Access-Control-Max-Age': String(maxAge),
};

/** Any page may read it: it holds no secret. */
function open(reply: Reply): Reply {
  const headers = { 'Access-Control-Allow-Origin': '*', 'Cross-Origin-Resource-Policy': 'cross-origin' };
  return { ...reply, headers: { ...reply.headers, ...headers } };
}
