import type { IncomingMessage } from 'node:http';
import { AuthError, addChallenge } from '../../errors.ts';
import { NotAccepted } from '../accept.ts';
import type { ClientFacts } from '../../session/source.ts';
import type { Session } from '../../types.ts';
import type { AuthRequest } from '../request.ts';
import { errorBody, refuse } from '../error-reply.ts';
import { passToNext } from '../next.ts';
import type { Next } from '../next.ts';
import { json } from '../reply.ts';
import { isHeadOpen, varyOn, clientFacts } from '../message.ts';
import type { Reply } from '../reply.ts';

/** The bearer tokens (RFC 6750) that a guard accepts besides those of the application's own users. */
export interface BearerRules {
  /** Whether cookies are not accepted. */
  readonly isRequired: boolean;
  /** OAuth clients whose tokens are also accepted. */
  readonly clients: ReadonlySet<string>;
  /** The guard's `maxAge`, in seconds. */
  readonly maxAge: number | undefined;
}

type Demand = ((request: AuthRequest, session: Session) => Promise<Reply | undefined>) | undefined;

/** Whether the token alone decides the request. The response then varies on `Authorization`. */
export function isBearerRequest({ req, res }: AuthRequest, { isRequired }: BearerRules): boolean {
  if (isHeadOpen(res)) varyOn(res, 'Authorization');
  return isRequired || bearerToken(req) !== undefined;
}

/** Admits the session of the bearer token, if it meets the guard's further demands. */
export function guardByBearer(request: AuthRequest, rules: BearerRules, demand: Demand, next: Next): Promise<void> {
  return admitBearer(request, {
    async find() {
      const session = await bearerSession(request, rules);
      await demand?.(request, session);
      return session;
    },
    challenge: (error) => challengeFor(error, rules.maxAge),
    next,
  });
}

interface Admission {
  /** @throws {AuthError} where the request is refused */
  readonly find: () => Promise<Session>;
  readonly challenge: Challenge;
  readonly next: Next;
}

/** Admits the session that `find` resolves to or sends a JSON error: no cookie is read or written, and nothing is renewed. */
export async function admitBearer(request: AuthRequest, { find, challenge, next }: Admission): Promise<void> {
  request.isBearer = true;
  try {
    request.admit(await find());
    passToNext(next);
  } catch (error) {
    refuseBearer(request, error, next, challenge);
  }
}

/** The `WWW-Authenticate` value for an error; `undefined` where it needs none. */
type Challenge = (error: AuthError) => string | undefined;

export function refuseBearer(
  request: AuthRequest,
  error: unknown,
  next: Next,
  challenge: Challenge = challengeFor,
): void {
  if (error instanceof AuthError) {
    const value = challenge(error);
    if (value !== undefined) {
      addChallenge(error, value);
      // Also on `res`, for an `onError` that writes no headers.
      if (isHeadOpen(request.res)) request.res.setHeader('WWW-Authenticate', value);
    }
  }
  refuse(request, error, next, bearerErrorReply);
}

/** @throws {AuthError} `unauthenticated`, `invalid_token`, `not_accepted`, or `provider_unavailable` where only the provider can decide */
export async function bearerSession(request: AuthRequest, { clients }: Pick<BearerRules, 'clients'>): Promise<Session> {
  const { resolver, foreignClient } = request.definition;
  const session = await tokenSession(request, (token, facts) => resolver.resolveBearer(token, facts));
  const client = foreignClient(session.claims);
  if (client !== undefined && !clients.has(client)) throw new AuthError('invalid_token');
  await refuseUnaccepted(request, session);
  return session;
}

/**
 * The session of the request's token. The caller asks `accept` when it knows that the token may be used here.
 *
 * @throws {AuthError} `unauthenticated`, `invalid_token`, or `provider_unavailable` where only the provider can decide
 */
export async function tokenSession(
  request: AuthRequest,
  resolve: (token: string, client: ClientFacts) => Promise<Session | undefined>,
): Promise<Session> {
  const { req, peer, waits } = request;
  const token = bearerToken(req);
  if (token === undefined) throw new AuthError('unauthenticated');
  const session = token === '' ? undefined : await waits.count(resolve(token, clientFacts(req, peer)));
  if (session === undefined) throw new AuthError('invalid_token');
  return session;
}

/** @throws {AuthError} `not_accepted` */
export async function refuseUnaccepted(request: AuthRequest, session: Session): Promise<void> {
  if (!(await request.accepts(session))) throw new NotAccepted(session);
}

/**
 * The token of `Authorization: Bearer` (RFC 6750 §2.1). `undefined` without one, because other
 * schemes belong to the application; empty where it is malformed or duplicated.
 */
export function bearerToken(req: IncomingMessage): string | undefined {
  const { authorization } = req.headers;
  if (authorization === undefined) return undefined;
  // Node keeps the first of several headers; a proxy may have checked the last one. Requests of HTTP/2 have no `headersDistinct`.
  // A request that was made by hand may have no raw headers.
  const sent = 'rawHeaders' in req ? valuesOf(req.rawHeaders, 'authorization') : [];
  const all = sent.length === 0 ? [authorization] : sent;
  if (!all.some((value) => /^\s*bearer(?:\s|,|$)/i.test(value))) return undefined;
  const [, token = ''] = /^bearer +([\w.~+/-]+=*) *$/i.exec(authorization) ?? [];
  return all.length > 1 ? '' : token;
}

/** @param rawHeaders names and values in turn */
function valuesOf(rawHeaders: readonly string[], name: string): string[] {
  return rawHeaders.filter((_, index) => index % 2 === 1 && rawHeaders[index - 1]?.toLowerCase() === name);
}

/** RFC 6750 §3, and RFC 9470 §3 for a sign-in that is too old. @param maxAge the guard's `maxAge`, in seconds */
export function challengeFor({ code, status }: AuthError, maxAge = 0): string | undefined {
  if (code === 'insufficient_scope') return 'Bearer error="insufficient_scope"';
  if (status !== 401) return undefined;
  if (code === 'unauthenticated') return 'Bearer';
  return code === 'fresh_sign_in_required'
    ? `Bearer error="insufficient_user_authentication", max_age="${maxAge}"`
    : 'Bearer error="invalid_token"';
}

/** Without `redirectTo`, because API clients do not use a sign-in page. */
function bearerErrorReply(_request: AuthRequest, error: AuthError): Reply {
  return { ...json(error.status, errorBody(error)), headers: error.headers };
}
