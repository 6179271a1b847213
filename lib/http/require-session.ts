import type { IncomingMessage, ServerResponse } from 'node:http';
import type { RequestHandler } from 'express';
import { AuthError, ConfigurationError } from '../errors.ts';
import type { AuthErrorCode } from '../errors.ts';
import type { AdapterName, B2bSession, BackendSession, Session } from '../types.ts';
import { authRequestOf, firstAuthRequest, notMounted } from './auth-request.ts';
import type { AuthRequest } from './auth-request.ts';
import { errorBody } from './error-reply.ts';
import type { Next } from './error-reply.ts';
import { challengeRedirect, guard } from './guard.ts';
import type { GuardRules } from './guard.ts';
import { json } from './reply.ts';
import type { Reply } from './reply.ts';

interface Narrowing<S extends Session> {
  /** Lets the session pass or not; may be asynchronous. A refusal is a 403. */
  readonly check?: (session: S, req: IncomingMessage) => boolean | Promise<boolean>;
}

export interface RequireB2bSessionOptions extends Narrowing<B2bSession> {
  readonly adapter: 'b2b';
  /** `true`: some organization; a string: this organization's id. */
  readonly organization?: true | string;
}

export interface RequireBackendSessionOptions extends Narrowing<BackendSession> {
  readonly adapter: 'backend';
  /** The authenticator assurance level that the session must have reached (a second factor). */
  readonly aal?: 'aal2';
}

export interface RequireAnySessionOptions extends Narrowing<Session> {
  readonly adapter?: undefined;
  readonly organization?: true | string;
  readonly aal?: 'aal2';
}

export type RequireSessionOptions = RequireB2bSessionOptions | RequireBackendSessionOptions | RequireAnySessionOptions;

/** The options as the guard reads them, whichever adapter they are typed for. */
interface Requirements {
  readonly adapter: AdapterName | undefined;
  readonly organization: true | string | undefined;
  readonly aal: 'aal2' | undefined;
  readonly check: ((session: Session, req: IncomingMessage) => boolean | Promise<boolean>) | undefined;
}

/**
 * A guard for routers and handlers: without a session a document is redirected to sign in and a JSON request gets 401
 * `{ error, redirectTo }`; a session that does not satisfy the options gets 403.
 *
 * @throws {ConfigurationError} at once for unknown options; on the request when no adapter was mounted before it
 * @example app.use('/api', requireSession({ organization: true }), api);
 * @example app.use('/account', requireSession, account);
 */
// eslint-disable-next-line @typescript-eslint/unified-signatures -- with optional options TypeScript could not tell what `check` is given
export function requireSession(options: RequireSessionOptions): RequestHandler;
/** The guard with its defaults. */
export function requireSession(): RequestHandler;
/** The guard with its defaults, where it is handed to `use` uncalled. */
export function requireSession(req: IncomingMessage, res: ServerResponse, next: Next): void;
export function requireSession(
  first?: RequireSessionOptions | IncomingMessage,
  res?: ServerResponse,
  next?: Next,
): RequestHandler | undefined {
  if (res !== undefined && next !== undefined) {
    guardBy(undefined, { challenge }, first as IncomingMessage, next);
    return undefined;
  }
  const requirements = readRequirements(first);
  const adapter = adapterOf(requirements);
  const rules = { allows: allowedBy(requirements), challenge };
  return (req, _res, proceed) => guardBy(adapter, rules, req, proceed);
}

const anySession: Requirements = { adapter: undefined, organization: undefined, aal: undefined, check: undefined };

function readRequirements(options: unknown): Requirements {
  if (options === undefined) return anySession;
  if (typeof options !== 'object' || options === null || Array.isArray(options)) {
    throw new ConfigurationError('requireSession', ['options must be an object, such as { organization: true }']);
  }
  const { adapter, organization, aal, check, ...unknown } = options as Record<string, unknown>;
  const problems = [
    // Such as a variable that is not set: what was meant to narrow would let every session pass.
    ...['organization', 'aal', 'check']
      .filter((name) => name in options && Reflect.get(options, name) === undefined)
      .map((name) => `${name} is undefined; leave it out where every session may pass`),
    ...Object.keys(unknown).map((key) => `${key} is not an option; there are adapter, organization, aal and check`),
    ...(adapter === undefined || adapter === 'b2b' || adapter === 'backend'
      ? []
      : ["adapter must be 'b2b' or 'backend'"]),
    ...(organization === undefined || organization === true || isText(organization)
      ? []
      : ['organization must be true or the id of an organization']),
    ...(organization !== undefined && adapter === 'backend' ? ["organization belongs to adapter 'b2b'"] : []),
    ...(aal === undefined || aal === 'aal2' ? [] : ["aal must be 'aal2'"]),
    ...(aal !== undefined && adapter === 'b2b' ? ["aal belongs to adapter 'backend'"] : []),
    ...(check === undefined || typeof check === 'function' ? [] : ['check must be a function']),
  ];
  if (problems.length > 0) throw new ConfigurationError('requireSession', problems);
  return options as Requirements;
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== '';
}

function guardBy(adapter: AdapterName | undefined, rules: GuardRules, req: IncomingMessage, next: Next): void {
  const request = pick(req, adapter);
  if (request instanceof ConfigurationError) next(request);
  else guard(request, rules, next);
}

function pick(req: IncomingMessage, adapter: AdapterName | undefined): AuthRequest | ConfigurationError {
  if (adapter !== undefined) return authRequestOf(req, adapter) ?? notMounted('requireSession', adapter);
  const only = firstAuthRequest(req);
  if (only === undefined) return notMounted('requireSession', undefined);
  if (only.following === undefined) return only;
  return new ConfigurationError('requireSession', [
    "both adapters are mounted, so say which one guards: requireSession({ adapter: 'b2b' }) or requireSession({ adapter: 'backend' })",
  ]);
}

/** The adapter that is named, or that alone knows the requirement. */
function adapterOf({ adapter, organization, aal }: Requirements): AdapterName | undefined {
  if (adapter !== undefined) return adapter;
  return organization !== undefined ? 'b2b' : aal !== undefined ? 'backend' : undefined;
}

function allowedBy({ organization, aal, check }: Requirements): GuardRules['allows'] {
  if (organization === undefined && aal === undefined && check === undefined) return undefined;
  return (session, req) => {
    const shortfall = shortfallOf(session, organization, aal);
    if (shortfall !== undefined) throw new AuthError(shortfall);
    return check === undefined || check(session, req);
  };
}

/** What keeps a session out, apart from `check`. */
function shortfallOf(
  session: Session,
  organization: Requirements['organization'],
  aal: Requirements['aal'],
): AuthErrorCode | undefined {
  if (organization !== undefined) {
    const own = session.adapter === 'b2b' ? session.organizationId : undefined;
    if (own === undefined || (organization !== true && organization !== own)) return 'forbidden';
  }
  return aal === undefined || session.claims['aal'] === aal ? undefined : 'second_factor_required';
}

/** @throws {AuthError} `unauthenticated`, where `onError` takes over what a JSON client is told */
function challenge(request: AuthRequest): Reply {
  const { definition } = request;
  if (!request.wantsJson) return challengeRedirect(request);
  const error = new AuthError('unauthenticated');
  if (definition.onError !== undefined) throw error;
  return json(401, errorBody(error, request.signInUrl(request.wayBack)));
}
