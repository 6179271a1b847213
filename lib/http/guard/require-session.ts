import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Request, RequestHandler } from 'express';
import * as v from 'valibot';
import { AuthError, ConfigurationError } from '../../errors.ts';
import type { AdapterName, B2bSession, BackendSession, Session } from '../../types.ts';
import { passedAs } from '../passed-adapters.ts';
import { notMounted } from '../get-session.ts';
import type { AuthRequest } from '../request.ts';
import type { Next } from '../next.ts';
import { challengeWith } from '../error-reply.ts';
import { guard } from './guard.ts';
import type { GuardRules } from './guard.ts';
import type { ExactOptionsOf } from '../../options/shared.ts';
import { problemsOf } from '../../options/read.ts';
import type { OptionsSchema } from '../../options/read.ts';
import type { Reply } from '../reply.ts';
import { askFreshSignIn, askSecondFactor } from './step-up.ts';

/** For example an unset variable: an option that should restrict access would admit every session. */
const must = (rule: string) => (issue: v.BaseIssue<unknown>) =>
  issue.received === 'undefined' ? 'is undefined; leave it out where every session may pass' : `must be ${rule}`;

const anOrganization = must('true or the id of an organization');
const seconds = must('a whole number of seconds, 1 or more');
const kinds = must("a list of 'cookie' and 'bearer'");
const ids = must('a list of client ids');
const clientId = v.pipe(v.string('must be a client id'), v.nonEmpty('must be a client id'));

export const credentialEntries = {
  /**
   * The accepted credentials: the adapter's cookie, or an access token in `Authorization: Bearer`
   * (RFC 6750). With `bearer`, such a token alone decides its request. Default `['cookie']`.
   */
  credentials: v.exactOptional(
    v.pipe(v.array(v.picklist(['cookie', 'bearer'], "must be 'cookie' or 'bearer'"), kinds), v.minLength(1, kinds)),
  ),
  /** Ids of further OAuth clients whose bearer tokens pass, besides the application's own. Default: none. */
  clients: v.exactOptional(v.pipe(v.array(clientId, ids), v.minLength(1, ids))),
};

const ageEntries = {
  /**
   * How long ago the person may have signed in, in seconds. Otherwise a document is sent to sign in again and comes back, and JSON gets
   * 401 `fresh_sign_in_required`.
   */
  maxAge: v.exactOptional(v.pipe(v.number(seconds), v.safeInteger(seconds), v.minValue(1, seconds))),
};

const organizationEntries = {
  /** `true`: some organization; a string: this organization's id. */
  organization: v.exactOptional(
    v.union([v.literal(true), v.pipe(v.string(), v.nonEmpty(anOrganization))], anOrganization),
  ),
};

const aalEntries = {
  /**
   * The required authenticator assurance level: `aal2` requires a second factor, `enrolled` requires it only of users who have
   * one. Otherwise a document is redirected to verify or add one, and JSON gets 403 `second_factor_required` with `redirectTo`.
   */
  aal: v.exactOptional(v.picklist(['aal2', 'enrolled'], must("'aal2' or 'enrolled'"))),
};

export const outageEntries = {
  /**
   * Which sessions pass while the coordinator does not answer. `serve`: those that this process does not know to be over. `refuse`: none
   * whose end only another process could know of; the answer is 503, and the session stays. It needs the adapter's `coordinator`.
   * Default `serve`.
   */
  whenCoordinatorDown: v.exactOptional(v.picklist(['serve', 'refuse'], must("'serve' or 'refuse'"))),
};

const answerEntries = {
  /**
   * `json`: every signed-out or refused request gets JSON, whatever its `Accept`. For APIs, whose clients may send none. Default: as
   * the request asks.
   */
  respond: v.exactOptional(v.literal('json', must("'json'"))),
};

/** Its type depends on the session's, so that the interfaces repeat it. */
export const checkEntry = v.exactOptional(
  v.custom<(session: Session, req: Request) => boolean | Promise<boolean>>(
    (value) => typeof value === 'function',
    must('a function'),
  ),
);

const schema = v.strictObject({
  adapter: v.optional(v.picklist(['b2b', 'backend'], "must be 'b2b' or 'backend'")),
  ...organizationEntries,
  ...aalEntries,
  ...ageEntries,
  check: checkEntry,
  ...credentialEntries,
  ...outageEntries,
  ...answerEntries,
});

type Requirements = v.InferOutput<typeof schema>;

interface Narrowing<S extends Session>
  extends
    ExactOptionsOf<typeof ageEntries>,
    ExactOptionsOf<typeof credentialEntries>,
    ExactOptionsOf<typeof outageEntries>,
    ExactOptionsOf<typeof answerEntries> {
  /** Decides whether the session passes; may be asynchronous. Only `true` passes, any other result is a 403. */
  readonly check?: (session: S, req: Request) => boolean | Promise<boolean>;
}

export interface RequireB2bSessionOptions extends Narrowing<B2bSession>, ExactOptionsOf<typeof organizationEntries> {
  readonly adapter: 'b2b';
}

export interface RequireBackendSessionOptions extends Narrowing<BackendSession>, ExactOptionsOf<typeof aalEntries> {
  readonly adapter: 'backend';
}

export interface RequireAnySessionOptions
  extends Narrowing<Session>, ExactOptionsOf<typeof organizationEntries>, ExactOptionsOf<typeof aalEntries> {
  readonly adapter?: undefined;
}

export type RequireSessionOptions = RequireB2bSessionOptions | RequireBackendSessionOptions | RequireAnySessionOptions;

/**
 * A guard for routers and handlers: without a session a document is redirected to sign in and a JSON request gets 401
 * `{ error, redirectTo }`; a session that does not satisfy the options gets 403.
 *
 * @throws {ConfigurationError} at once for unknown options; on the request when no adapter was mounted before it
 * @example app.use('/api', requireSession({ respond: 'json', organization: true }), api);
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
  _res?: ServerResponse,
  next?: Next,
): RequestHandler | undefined {
  if (next !== undefined) {
    guardBy({}, { challenge }, first as IncomingMessage, next);
    return undefined;
  }
  const requirements = readRequirements('requireSession', schema, first);
  const whose = { adapter: adapterOf(requirements), respond: requirements.respond };
  const rules = { demand: demandOf(requirements), challenge, bearer: bearerRules(requirements) };
  return (req, _res, proceed) => guardBy(whose, rules, req, proceed);
}

/**
 * @param caller the called function, for the message
 * @throws {ConfigurationError} for options that the schema does not have, and for undefined and invalid ones
 */
export function readRequirements<Schema extends OptionsSchema>(
  caller: string,
  rules: Schema,
  options: unknown = {},
): v.InferOutput<Schema> {
  if (typeof options !== 'object' || options === null || Array.isArray(options)) {
    throw new ConfigurationError(caller, ['options must be an object, such as { check: () => true }']);
  }
  const parsed = v.safeParse(rules, options);
  const problems = [...problemsOf(parsed, rules), ...contradictions({ ...options })];
  if (!parsed.success || problems.length > 0) throw new ConfigurationError(caller, problems);
  return parsed.output;
}

function contradictions(options: Readonly<Record<string, unknown>>): string[] {
  const { adapter, organization, aal, credentials, clients } = options;
  return [
    ...(organization !== undefined && adapter === 'backend' ? ["organization belongs to adapter 'b2b'"] : []),
    ...(aal !== undefined && adapter === 'b2b' ? ["aal belongs to adapter 'backend'"] : []),
    ...(clients !== undefined && !(Array.isArray(credentials) && credentials.includes('bearer'))
      ? ["clients needs credentials that include 'bearer'"]
      : []),
  ];
}

function guardBy(
  { adapter, respond }: { readonly adapter?: AdapterName | undefined; readonly respond?: 'json' | undefined },
  rules: GuardRules,
  req: IncomingMessage,
  next: Next,
): void {
  let request: AuthRequest;
  try {
    request = pick(req, adapter);
    if (respond === 'json') request.isForApi = true;
  } catch (error) {
    next(error);
    return;
  }
  guard(request, rules, next);
}

/** @throws {ConfigurationError} unless exactly one adapter is meant */
function pick(req: IncomingMessage, adapter: AdapterName | undefined): AuthRequest {
  const [only, ...others] = passedAs(req, adapter, 'requireSession');
  if (only === undefined) throw notMounted('requireSession', adapter, req);
  if (others.length === 0) return only;
  throw new ConfigurationError('requireSession', [
    "both adapters are mounted, so say which one guards: requireSession({ adapter: 'b2b' }) or requireSession({ adapter: 'backend' })",
  ]);
}

/** The named adapter, or the only one that supports the requirement. */
function adapterOf({ adapter, organization, aal }: Requirements): AdapterName | undefined {
  if (adapter !== undefined) return adapter;
  return organization !== undefined ? 'b2b' : aal !== undefined ? 'backend' : undefined;
}

function bearerRules({ credentials = ['cookie'], clients, maxAge }: Requirements): GuardRules['bearer'] {
  if (!credentials.includes('bearer')) return undefined;
  return { isRequired: !credentials.includes('cookie'), clients: new Set(clients), maxAge };
}

/** In this order: requirements that a new sign-in cannot satisfy come before `maxAge`. */
function demandOf({ organization, aal, maxAge, check, whenCoordinatorDown }: Requirements): GuardRules['demand'] {
  const isStrict = whenCoordinatorDown === 'refuse';
  if (!isStrict && [organization, aal, maxAge, check].every((requirement) => requirement === undefined))
    return undefined;
  return async (request, session) => {
    if (isStrict) refuseUnconfirmed('requireSession', request, session);
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

/**
 * For guards with `whenCoordinatorDown: 'refuse'`.
 *
 * @param caller the called function's name, for the message
 * @throws {AuthError} `provider_unavailable` where the coordinator did not answer when the session was looked up
 * @throws {ConfigurationError} without a coordinator: no process would ever hear of an end in another one
 */
export function refuseUnconfirmed(caller: string, request: AuthRequest, session: Session): void {
  const { name, resolver } = request.definition;
  if (!resolver.isShared) {
    throw new ConfigurationError(caller, [
      `whenCoordinatorDown: 'refuse' needs the option coordinator of ${name}(), because other processes' sign-outs arrive through it; leave whenCoordinatorDown out where the application is a single process`,
    ]);
  }
  if (!resolver.isConfirmed(session)) {
    throw new AuthError('provider_unavailable', { reason: 'coordinator', retryAfter: 5 });
  }
}
