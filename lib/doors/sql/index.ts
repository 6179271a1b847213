import { AsyncLocalStorage } from 'node:async_hooks';
import type { IncomingMessage } from 'node:http';
import { parseCookies } from '../../tools/cookies.ts';
import { AuthError, ConfigurationError } from '../../errors.ts';
import { NotAccepted } from '../../http/accept.ts';
import { passedAs } from '../../http/passed-adapters.ts';
import type { AuthRequest } from '../../http/request.ts';
import { notMounted } from '../../http/get-session.ts';
import { jarOf } from '../../http/cookie-jar.ts';
import { keepPrivate } from '../../http/message.ts';
import { readToken } from '../../session/jwt.ts';
import type { Json, Session } from '../../types.ts';
import { backendPart } from '../../backend/context.ts';
import type { SqlPool, SqlTransaction } from './pool.ts';
import { openTransaction } from './transaction.ts';
import type { UserTransaction } from './transaction.ts';
import type { SqlUser } from './statements.ts';

/** Whom PostgreSQL has to see: the values of `role` and, as JSON, of `request.jwt.claims`. */
export interface SqlSession {
  readonly role: 'authenticated' | 'anon';
  /** The claims of the verified access token; `{ role: 'anon' }` without a session. */
  readonly claims: Readonly<Record<string, Json | undefined>>;
}

export interface SqlSessionOptions {
  /** Whether a request without a session acts as `anon`. Default: it is refused with 401. */
  readonly anon?: true;
}

/** A `withUser` call whose callback is running. */
interface OpenCall {
  readonly pool: SqlPool;
  readonly req: IncomingMessage;
  readonly user: SqlUser;
  readonly transaction: UserTransaction;
  /** The call that this one is nested in. */
  readonly outer: OpenCall | undefined;
}

const anonymous: SqlSession = Object.freeze({ role: 'anon', claims: Object.freeze({ role: 'anon' }) });

/** Tells a nested call, which shares its transaction, from a concurrent one. */
const openCall = new AsyncLocalStorage<OpenCall>();

/**
 * Runs a callback in a PostgreSQL transaction as the signed-in user, so that row-level security applies. Role and claims, from the
 * verified access token, are local to the transaction. It commits when the callback resolves, and rolls back when the callback rejects
 * or the response closes.
 *
 * A nested call for the same pool and request shares the transaction; its error fails all of it. Concurrent calls each have a
 * transaction of their own. A bearer token counts where a guard has accepted it.
 *
 * @param pool anything with `connect()`, whose clients have `query(text, values)` and `release(error)`, such as a `Pool` of pg or Neon
 * @param work gets `tx`, which rejects once the callback has settled. It must not end the transaction or change its role.
 * @throws {AuthError} `unauthenticated` (401) without a session; `forbidden` (403) for a token of another role than `authenticated`,
 *   also with `anon`; `not_accepted` (403) where the option `accept` refuses the session; `provider_unavailable` (503) when the access
 *   token has expired and the backend is out of reach
 * @throws {ConfigurationError} when `backendAuth` was not mounted before, and for a pool or callback of another kind
 * @throws {DOMException} `AbortError` when the response closes before the callback has settled
 * @throws whatever pool, callback and PostgreSQL throw
 * @example const { rows } = await withUser(pool, req, (tx) => tx.query('select id, body from notes'));
 * @see https://supabase.com/docs/guides/database/postgres/row-level-security
 */
export async function withUser<Result>(
  pool: SqlPool,
  req: IncomingMessage,
  work: (tx: SqlTransaction) => Result | Promise<Result>,
  options?: SqlSessionOptions,
): Promise<Result> {
  refuseOtherKinds(pool, work);
  const outer = openCall.getStore();
  const around = callAround(outer, pool, req);
  // Before anything is waited for, so that the transaction does not end meanwhile.
  const release = around?.transaction.hold();
  try {
    const { request, session } = await identify('withUser', req, options);
    const { role, claims } = session;
    const user = { role, claims: JSON.stringify(claims) };
    // A guard may have accepted a bearer token meanwhile.
    if (around?.user.role === role && around.user.claims === user.claims) return await around.transaction.join(work);
    const transaction = await openTransaction(pool, user, request);
    return await openCall.run({ pool, req, user, transaction, outer }, () => transaction.run(work));
  } finally {
    release?.();
  }
}

/**
 * Role and claims for a transaction that another library opens. Set both with `set_config(…, true)`, which is local to the
 * transaction, and pass them as parameters.
 *
 * @throws {AuthError} as `withUser`: 401 without a session, 403 for a token of another role, also with `anon`
 * @throws {ConfigurationError} when `backendAuth` was not mounted before
 * @example const { role, claims } = await sqlSession(req);
 * await sql`select set_config('request.jwt.claims', ${JSON.stringify(claims)}, true), set_config('role', ${role}, true)`;
 */
export async function sqlSession(req: IncomingMessage, options?: SqlSessionOptions): Promise<SqlSession> {
  const { session } = await identify('sqlSession', req, options);
  return session;
}

/** In `onSignIn` the new user, not that of the browser's former session. @param caller the called function's name, for the message */
async function identify(
  caller: string,
  req: IncomingMessage,
  options: SqlSessionOptions | undefined,
): Promise<{ readonly request: AuthRequest; readonly session: SqlSession }> {
  const takesAnon = readAnon(caller, options);
  const [request] = passedAs(req, 'backend', caller);
  if (request === undefined) throw notMounted(caller, 'backend', req);
  keepPrivate(request.res);
  jarOf(request.res).dependOnSession();
  const session = request.signingIn ?? (await resolve(request));
  if (session?.adapter === 'backend') {
    if (session.claims['role'] !== 'authenticated') throw otherRole();
    return { request, session: { role: 'authenticated', claims: session.claims } };
  }
  // Such a token is no session. Without this check its request would be anonymous without a word.
  if (hasOtherRole(request)) throw otherRole();
  if (takesAnon) return { request, session: anonymous };
  throw request.visit.is === 'refused' ? new NotAccepted(request.visit.session) : new AuthError('unauthenticated');
}

async function resolve(request: AuthRequest): Promise<Session | null> {
  try {
    return await request.resolveSession();
  } catch (error) {
    // An access token hook of the project has given the renewed token another role.
    throw error instanceof AuthError && error.code === 'token_rejected' && error.reason === 'role'
      ? otherRole(error)
      : error;
  }
}

function otherRole(cause?: unknown): AuthError {
  return new AuthError('forbidden', { reason: 'role', cause });
}

/** Whether the request's cookies hold a token with another role; its signature does not matter for a refusal. */
function hasOtherRole({ req, definition }: AuthRequest): boolean {
  const { cookie } = definition.parts.get(backendPart);
  const { sessions } = cookie.read(parseCookies(req.headers.cookie));
  return sessions.some(({ content }) => readToken(content.access_token).claims['role'] !== 'authenticated');
}

function readAnon(caller: string, options: unknown = {}): boolean {
  const { anon }: { anon?: unknown } = typeof options === 'object' && options !== null ? options : { anon: null };
  if (anon === true || anon === undefined) return anon ?? false;
  throw new ConfigurationError(caller, ['anon must be true, or left out where a session is required']);
}

function refuseOtherKinds(pool: unknown, work: unknown): void {
  // Some libraries' pool is also a function.
  const { connect }: { connect?: unknown } = Object(pool) as object;
  const problems = [
    ...(typeof connect === 'function'
      ? []
      : [
          'pool must have connect(), as a Pool of pg has; other libraries open their own transaction with sqlSession()',
        ]),
    ...(typeof work === 'function' ? [] : ['the callback must be a function, such as (tx) => tx.query(…)']),
  ];
  if (problems.length > 0) throw new ConfigurationError('withUser', problems);
}

/** The call around this one for the same pool and request, if its transaction is open. */
function callAround(outer: OpenCall | undefined, pool: SqlPool, req: IncomingMessage): OpenCall | undefined {
  for (let call = outer; call !== undefined; call = call.outer) {
    if (call.pool === pool && call.req === req && call.transaction.isOpen) return call;
  }
  return undefined;
}
