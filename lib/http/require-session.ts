import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Request, RequestHandler } from 'express';
import { didYouMean } from '../core/nearest.ts';
import { AuthError, ConfigurationError } from '../errors.ts';
import type { AdapterName, B2bSession, BackendSession, Session } from '../types.ts';
import { passedAs } from './auth-request.ts';
import { notMounted } from './get-session.ts';
import type { AuthRequest } from './auth-request.ts';
import type { Next } from './error-reply.ts';
import { challengeWith, guard } from './guard.ts';
import type { GuardRules } from './guard.ts';
import type { Reply } from './reply.ts';
import { askFreshSignIn, askSecondFactor } from './step-up.ts';

interface Narrowing<S extends Session> {
  /** Decides whether the session passes; may be asynchronous. Only `true` passes, any other result is a 403. */
  readonly check?: (session: S, req: Request) => boolean | Promise<boolean>;
  /**
   * How long ago the person may have signed in, in seconds. Otherwise a document is sent to sign in again and comes back, and JSON gets
   * 401 `fresh_sign_in_required`.
   */
  readonly maxAge?: number;
  /**
   * The accepted credentials: the adapter's cookie, or an access token in `Authorization: Bearer`
   * (RFC 6750). With `bearer`, such a token alone decides its request. Default `['cookie']`.
   */
  readonly credentials?: readonly ('cookie' | 'bearer')[];
  /** Ids of further OAuth clients whose bearer tokens pass, besides the application's own. Default: none. */
  readonly clients?: readonly string[];
}

export interface RequireB2bSessionOptions extends Narrowing<B2bSession> {
  readonly adapter: 'b2b';
  /** `true`: some organization; a string: this organization's id. */
  readonly organization?: true | string;
}

export interface RequireBackendSessionOptions extends Narrowing<BackendSession> {
  readonly adapter: 'backend';
  /**
   * The required authenticator assurance level: `aal2` requires a second factor, `enrolled` requires it only of users who have
   * one. Otherwise a document is redirected to verify or add one, and JSON gets 403 `second_factor_required` with `redirectTo`.
   */
  readonly aal?: 'aal2' | 'enrolled';
}

export interface RequireAnySessionOptions extends Narrowing<Session> {
  readonly adapter?: undefined;
  readonly organization?: true | string;
  readonly aal?: 'aal2' | 'enrolled';
}

export type RequireSessionOptions = RequireB2bSessionOptions | RequireBackendSessionOptions | RequireAnySessionOptions;

/** The options as the guard reads them, independent of their adapter type. */
interface Requirements {
  readonly adapter: AdapterName | undefined;
  readonly organization: true | string | undefined;
  readonly aal: 'aal2' | 'enrolled' | undefined;
  readonly check: ((session: Session, req: Request) => boolean | Promise<boolean>) | undefined;
  readonly maxAge: number | undefined;
  readonly credentials: readonly ('cookie' | 'bearer')[] | undefined;
  readonly clients: readonly string[] | undefined;
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
/** The guard with its defaults, where it is passed to `use` without a call. */
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
  const requirements = readRequirements('requireSession', optionNames, first);
  const adapter = adapterOf(requirements);
  const rules = { demand: demandOf(requirements), challenge, bearer: bearerRules(requirements) };
  return (req, _res, proceed) => guardBy(adapter, rules, req, proceed);
}

const optionNames = ['adapter', 'organization', 'aal', 'maxAge', 'check', 'credentials', 'clients'] as const;

/**
 * @param caller the called function, for the message
 * @throws {ConfigurationError} for options that are not in `names`, or that are undefined or invalid
 */
export function readRequirements(caller: string, names: readonly string[], options: unknown = {}): Requirements {
  if (typeof options !== 'object' || options === null || Array.isArray(options)) {
    throw new ConfigurationError(caller, ['options must be an object, such as { check: () => true }']);
  }
  const problems = Object.entries(options).flatMap(([name, value]: [string, unknown]) => {
    if (!names.includes(name))
      return [`${name} is not an option; ${didYouMean(name, names, `there are ${names.join(', ')}`)}`];
    // For example an unset variable: an option that should restrict access would admit every session.
    if (value === undefined && name !== 'adapter') {
      return [`${name} is undefined; leave it out where every session may pass`];
    }
    return [];
  });
  const given = options as Requirements;
  problems.push(...problemsOf(given), ...adapterProblems(given));
  if (problems.length > 0) throw new ConfigurationError(caller, problems);
  return given;
}

function problemsOf(options: object): string[] {
  const { adapter, organization, aal, maxAge, check, credentials, clients }: Readonly<Record<string, unknown>> = {
    ...options,
  };
  const isBad: readonly (readonly [boolean, string])[] = [
    [adapter !== undefined && adapter !== 'b2b' && adapter !== 'backend', "adapter must be 'b2b' or 'backend'"],
    [
      organization !== undefined && organization !== true && !isText(organization),
      'organization must be true or the id of an organization',
    ],
    [aal !== undefined && aal !== 'aal2' && aal !== 'enrolled', "aal must be 'aal2' or 'enrolled'"],
    [
      maxAge !== undefined && !(Number.isSafeInteger(maxAge) && Number(maxAge) > 0),
      'maxAge must be a whole number of seconds, 1 or more',
    ],
    [check !== undefined && typeof check !== 'function', 'check must be a function'],
    [
      credentials !== undefined && !isListOf(credentials, (value) => value === 'cookie' || value === 'bearer'),
      "credentials must be a list of 'cookie' and 'bearer'",
    ],
    [clients !== undefined && !isListOf(clients, isText), 'clients must be a list of client ids'],
  ];
  return isBad.filter(([is]) => is).map(([, problem]) => problem);
}

/** Options that contradict each other. */
function adapterProblems({ adapter, organization, aal, credentials, clients }: Requirements): string[] {
  return [
    ...(organization !== undefined && adapter === 'backend' ? ["organization belongs to adapter 'b2b'"] : []),
    ...(aal !== undefined && adapter === 'b2b' ? ["aal belongs to adapter 'backend'"] : []),
    ...(clients !== undefined && !(Array.isArray(credentials) && credentials.includes('bearer'))
      ? ["clients needs credentials that include 'bearer'"]
      : []),
  ];
}

function isListOf(value: unknown, isEntry: (entry: unknown) => boolean): boolean {
  return Array.isArray(value) && value.length > 0 && value.every(isEntry);
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== '';
}

function guardBy(adapter: AdapterName | undefined, rules: GuardRules, req: IncomingMessage, next: Next): void {
  let request: AuthRequest;
  try {
    request = pick(req, adapter);
  } catch (error) {
    next(error);
    return;
  }
  guard(request, rules, next);
}

/** @throws {ConfigurationError} unless exactly one adapter is meant */
function pick(req: IncomingMessage, adapter: AdapterName | undefined): AuthRequest {
  const [only, ...others] = passedAs(req, adapter, 'requireSession');
  if (only === undefined) throw notMounted('requireSession', adapter);
  if (others.length === 0 || adapter !== undefined) return only;
  throw new ConfigurationError('requireSession', [
    "both adapters are mounted, so say which one guards: requireSession({ adapter: 'b2b' }) or requireSession({ adapter: 'backend' })",
  ]);
}

/** The named adapter, or the only one that supports the requirement. */
function adapterOf({ adapter, organization, aal }: Requirements): AdapterName | undefined {
  if (adapter !== undefined) return adapter;
  return organization !== undefined ? 'b2b' : aal !== undefined ? 'backend' : undefined;
}

function bearerRules({ credentials = ['cookie'], clients = [], maxAge }: Requirements): GuardRules['bearer'] {
  if (!credentials.includes('bearer')) return undefined;
  return { isRequired: !credentials.includes('cookie'), clients: new Set(clients), maxAge };
}

/** In this order: requirements that a new sign-in cannot satisfy come before `maxAge`. */
function demandOf({ organization, aal, maxAge, check }: Requirements): GuardRules['demand'] {
  if ([organization, aal, maxAge, check].every((requirement) => requirement === undefined)) return undefined;
  return async (request, session) => {
    if (organization !== undefined && !isOf(session, organization)) throw new AuthError('forbidden');
    const reply =
      (aal === undefined ? undefined : await askSecondFactor(request, session, aal)) ??
      (maxAge === undefined ? undefined : askFreshSignIn(request, session, maxAge));
    if (reply !== undefined) return reply;
    if (check !== undefined && ((await check(session, request.req as Request)) as unknown) !== true)
      throw new AuthError('forbidden');
    return undefined;
  };
}

function isOf(session: Session, organization: true | string): boolean {
  const own = session.adapter === 'b2b' ? session.organizationId : undefined;
  return own !== undefined && (organization === true || organization === own);
}

/** @throws {AuthError} `unauthenticated`, where `onError` handles it for JSON clients */
function challenge(request: AuthRequest): Reply {
  return challengeWith(request, new AuthError('unauthenticated'), request.signInUrl(request.wayBack));
}
