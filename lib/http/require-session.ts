import type { IncomingMessage, ServerResponse } from 'node:http';
import type { RequestHandler } from 'express';
import { AuthError, ConfigurationError } from '../errors.ts';
import type { AuthErrorCode } from '../errors.ts';
import type { AdapterName, B2bSession, BackendSession, Session } from '../types.ts';
import { firstMounted, mountedAdapter, notMounted } from './context.ts';
import type { MountedAdapter } from './context.ts';
import { Exchange } from './exchange.ts';
import { keepPrivate } from './headers.ts';
import { json, sendReply } from './reply.ts';
import { requestTarget } from './request.ts';
import { challengeRedirect, errorBody, refuse } from './router.ts';

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

type Next = (error?: unknown) => void;

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
    guard(anySession, first as IncomingMessage, next);
    return undefined;
  }
  const requirements = readRequirements(first);
  return (req, _res, proceed) => guard(requirements, req, proceed);
}

const anySession: Requirements = { adapter: undefined, organization: undefined, aal: undefined, check: undefined };

function readRequirements(options: unknown): Requirements {
  if (options === undefined) return anySession;
  if (typeof options !== 'object' || options === null || Array.isArray(options)) {
    throw new ConfigurationError('requireSession', ['options must be an object, such as { organization: true }']);
  }
  const { adapter, organization, aal, check, ...unknown } = options as Record<string, unknown>;
  const problems = [
    // Such as a variable that is not set: what was meant to narrow would let everybody pass.
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

function guard(requirements: Requirements, req: IncomingMessage, next: Next): void {
  const mounted = pick(req, requirements);
  if (mounted instanceof ConfigurationError) {
    next(mounted);
    return;
  }
  const known = mounted.peek();
  // The way of almost every request: a session seen before and nothing more to ask.
  if (known !== undefined && requirements === anySession) {
    pass(mounted, next);
    return;
  }
  void decide(requirements, mounted, known, next);
}

async function decide(
  requirements: Requirements,
  mounted: MountedAdapter,
  known: Session | undefined,
  next: Next,
): Promise<void> {
  const exchange = new Exchange(mounted);
  let isAllowed: boolean;
  try {
    const session = known ?? (await mounted.resolve());
    if (session === null) {
      challenge(exchange, next);
      return;
    }
    const shortfall = shortfallOf(session, requirements);
    if (shortfall !== undefined) throw new AuthError(shortfall);
    isAllowed = await (requirements.check?.(session, mounted.req) ?? true);
  } catch (error) {
    refuse(exchange, error, next);
    return;
  }
  if (isAllowed) pass(mounted, next);
  else refuse(exchange, new AuthError('forbidden'), next);
}

function pass(mounted: MountedAdapter, next: Next): void {
  mounted.isGuarded = true;
  keepPrivate(mounted.res);
  next();
}

function pick(req: IncomingMessage, requirements: Requirements): MountedAdapter | ConfigurationError {
  const adapter =
    requirements.adapter ??
    (requirements.organization !== undefined ? 'b2b' : requirements.aal !== undefined ? 'backend' : undefined);
  if (adapter !== undefined) return mountedAdapter(req, adapter) ?? notMounted('requireSession', adapter);
  const only = firstMounted(req);
  if (only === undefined) return notMounted('requireSession', undefined);
  if (only.following === undefined) return only;
  return new ConfigurationError('requireSession', [
    "both adapters are mounted, so say which one guards: requireSession({ adapter: 'b2b' }) or requireSession({ adapter: 'backend' })",
  ]);
}

/** What keeps a session out, apart from `check`. */
function shortfallOf(session: Session, { organization, aal }: Requirements): AuthErrorCode | undefined {
  if (organization !== undefined) {
    const own = session.adapter === 'b2b' ? session.organizationId : undefined;
    if (own === undefined || (organization !== true && organization !== own)) return 'forbidden';
  }
  return aal === undefined || session.claims['aal'] === aal ? undefined : 'second_factor_required';
}

function challenge(exchange: Exchange, next: Next): void {
  const { req, res, definition } = exchange;
  const error = new AuthError('unauthenticated');
  if (definition.onError !== undefined && exchange.wantsJson) {
    refuse(exchange, error, next);
    return;
  }
  const reply = exchange.wantsJson
    ? json(401, errorBody(error, exchange.signInUrl(exchange.returnTo(requestTarget(req)))))
    : challengeRedirect(exchange);
  sendReply(req, res, { ...reply, isNegotiated: true });
}
