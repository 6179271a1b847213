import type { Request, RequestHandler, Router } from 'express';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createPathMatcher, widenForConnect } from '../../tools/paths/path-matcher.ts';
import { pathOf } from '../../tools/paths/request-path.ts';
import { isLoopback } from '../../tools/url.ts';
import { AuthError, ConfigurationError } from '../../errors.ts';
import type { Session } from '../../types.ts';
import { definitionOf, partKey } from '../../http/adapter.ts';
import type { Adapter } from '../../http/adapter.ts';
import { firstAuthRequest, passAdapter } from '../../http/passed-adapters.ts';
import type { AuthRequest } from '../../http/request.ts';
import { admitBearer, challengeFor, refuseUnaccepted, tokenSession } from '../../http/guard/bearer.ts';
import type { Next } from '../../http/next.ts';
import { isExpress, isHeadOpen, mountPath, requestTarget, varyOn } from '../../http/message.ts';
import type { HostRequest } from '../../http/message.ts';
import { declareResource, ownerOfRootForm, pathsOf, rootForm, serveMetadata } from './metadata.ts';
import type { ResourcePaths } from './metadata.ts';
import { coveredBy, readResourceOptions } from './options.ts';
import type { ProtectResourceOptions, ResourceOptions, TokenRules } from './options.ts';
import { authInfoOf, judgeToken, refuseMissingScope, warnOfAudience } from './token.ts';
import type { AuthInfo } from './token.ts';

/** A protected resource (RFC 9728) of an adapter. */
interface Resource {
  readonly definition: Adapter;
  readonly options: ResourceOptions;
  readonly rules: TokenRules;
  readonly paths: ResourcePaths;
  readonly warnOfHost: () => void;
}

/**
 * Makes a path a protected resource for OAuth clients, such as an MCP server: publishes its metadata (RFC 9728), and lets in bearer
 * tokens that were issued for it. Cookies never count there.
 *
 * Mount it at the root, before body parsers and before what answers the path. `b2bAuth` needs `authkitDomain` for it.
 *
 * @param auth what `b2bAuth()` or `backendAuth()` returned; it may be mounted before or after
 * @throws {ConfigurationError} with every problem at once, and on the request where it is mounted below a path
 * @example app.use(protectResource(auth, { path: '/mcp' }));
 * @see https://modelcontextprotocol.io/specification/2026-07-28/basic/authorization
 */
export function protectResource(auth: Router, options: ProtectResourceOptions): RequestHandler {
  const definition = definitionOf('protectResource', auth);
  const resource = createResource(definition, options);
  const { paths } = resource;
  const covered = [coveredBy(options.path)];
  const inExpress = createPathMatcher(covered);
  const inConnect = createPathMatcher(widenForConnect(covered));
  const misplacementOf = createMisplacement(definition, [options.path, ...paths.served]);

  const handle = (req: HostRequest, res: ServerResponse, next: Next): void => {
    const url = req.url ?? '/';
    const path = pathOf(url);
    const host = { req, res, next };
    const covers = isExpress(req) ? inExpress : inConnect;
    const misplacement = misplacementOf(req);
    if (misplacement !== undefined) next(misplacement);
    else if (paths.served.has(path)) serveMetadata(definition, host, resource.options, paths);
    else if (path === rootForm) answerRootForm(resource, host);
    // An earlier middleware may have rewritten the URL: both the original and the rewritten one are tested.
    else if (covers(url) || covers(requestTarget(req))) guardResource(resource, host);
    else next();
  };
  declareResource(definition, handle, options.path);
  warnOfAudience(definition, resource.rules);
  return handle;
}

interface Host {
  readonly req: HostRequest;
  readonly res: ServerResponse;
  readonly next: Next;
}

function createResource(definition: Adapter, given: ProtectResourceOptions): Resource {
  const { options, rules } = readResourceOptions(definition, given);
  let isWarned = false;
  return {
    definition,
    options,
    rules,
    paths: pathsOf(definition, options.path),
    warnOfHost() {
      if (isWarned) return;
      isWarned = true;
      const message = `protectResource: no token passes at ${options.path}, because its audience would follow the Host header, which callers choose. Set appBaseUrl of ${definition.name}.`;
      process.emitWarning(message, { code: 'EXPRESS_AUTH_ADAPTERS_AUDIENCE' });
      definition.emit({ type: 'configuration_warning', message });
    },
  };
}

/**
 * Finds mistakes that only a request shows. A mount below a path never sees the metadata's path; patterns of the adapter in front would
 * redirect clients to the sign-in page.
 */
function createMisplacement(
  definition: Adapter,
  own: readonly string[],
): (req: HostRequest) => ConfigurationError | undefined {
  const isPattern = createPathMatcher(definition.protectedRoutes);
  const redirected = own.find(isPattern);
  const isBehind = (req: HostRequest): boolean => {
    let passed = firstAuthRequest(req);
    while (passed !== undefined && passed.definition !== definition) passed = passed.following;
    return passed?.isMounted === true;
  };
  return (req) => {
    // Only Express says for sure where it is mounted.
    const prefix = req.app === undefined ? '' : mountPath(req);
    if (prefix !== '') {
      return new ConfigurationError('protectResource', [
        `it is mounted under '${prefix}', where no request for its metadata arrives; mount it at the root, with the whole path: app.use(protectResource(auth, { path: '${prefix}/…' }))`,
      ]);
    }
    if (redirected === undefined || !isBehind(req)) return undefined;
    return new ConfigurationError('protectResource', [
      `protectedRoutes of ${definition.name}() redirects '${redirected}' to the sign-in page; mount protectResource() before ${definition.name}()`,
    ]);
  };
}

function answerRootForm({ definition, options, paths }: Resource, host: Host): void {
  const owner = ownerOfRootForm(definition, host.req);
  if (owner === 'other') host.next();
  else serveMetadata(definition, host, options, owner === 'this' ? paths : undefined);
}

/** What a request was last admitted with, at the first adapter that it passed: no other code can write it there. */
const infoPart = partKey<AuthInfo>('auth info');

function guardResource(resource: Resource, { req, res, next }: Host): void {
  const request = passAdapter(resource.definition, req, res);
  if (request.misuse !== undefined) {
    next(request.misuse);
    return;
  }
  if (isHeadOpen(res)) varyOn(res, 'Authorization');
  const find = (): Promise<Session> => admit(resource, request);
  void admitBearer(request, { find, challenge: (error) => challengeOf(resource, request, error), next });
}

/** @throws {AuthError} where the token does not open the resource */
async function admit(resource: Resource, request: AuthRequest): Promise<Session> {
  const { rules, options, paths } = resource;
  const identifier = request.origin + paths.path;
  const session = await tokenSession(request, rules.server.resolve);
  await judgeToken(session.claims, rules, boundResource(resource, identifier));
  await refuseUnaccepted(request, session);
  refuseMissingScope(session.claims, options.scopes);
  const { check, attach = false } = options;
  if (check !== undefined && ((await check(session, request.req as Request)) as unknown) !== true)
    throw new AuthError('forbidden');
  const info = authInfoOf(session, rules, identifier);
  firstAuthRequest(request.req)?.parts.set(infoPart, info);
  if (attach) Object.assign(request.req, { auth: info });
  return session;
}

/**
 * The audience that a token must have. Anyone who has a token for a server of their own could name that server in `Host`, so that
 * the request's own origin counts on this machine only.
 */
function boundResource({ definition, rules, warnOfHost }: Resource, identifier: string): string | undefined {
  const { server, audience } = rules;
  const isSafe = definition.appBaseUrl !== undefined || isLoopback(new URL(identifier).hostname);
  if (isSafe || audience !== undefined || !server.bindsResource) return identifier;
  warnOfHost();
  return undefined;
}

/** RFC 6750 §3, with the parameter of RFC 9728 §5.1 by which clients find the authorization server. */
function challengeOf({ paths, options }: Resource, request: AuthRequest, error: AuthError): string | undefined {
  const challenge = challengeFor(error);
  // Without an origin there is none: that is a 400.
  if (challenge === undefined) return undefined;
  const { scopes } = options;
  const parameters = [
    `resource_metadata="${request.origin}${paths.metadata}"`,
    ...(scopes === undefined ? [] : [`scope="${scopes.join(' ')}"`]),
  ].join(', ');
  return challenge === 'Bearer' ? `Bearer ${parameters}` : `${challenge}, ${parameters}`;
}

/**
 * Who calls, in the MCP SDK's form: for its transports, and for tools.
 *
 * @throws {ConfigurationError} where no `protectResource()` has let the request pass
 */
export function authInfo(req: IncomingMessage): AuthInfo {
  const info = firstAuthRequest(req)?.parts.find(infoPart);
  if (info === undefined) {
    throw new ConfigurationError('authInfo', [
      'no protectResource() has let this request pass; mount it before the handler, with a path that contains it',
    ]);
  }
  return info;
}
