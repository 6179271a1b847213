import type { IncomingMessage } from 'node:http';
import { AuthError } from '../errors.ts';
import { NotAccepted } from './acceptance.ts';
import type { Session } from '../types.ts';
import type { AuthRequest } from './auth-request.ts';
import { errorBody, goOn, refuse } from './error-reply.ts';
import type { Next } from './error-reply.ts';
import { json } from './reply.ts';
import { isHeadOpen, varyOn, clientFacts } from './message.ts';
import type { Reply } from './reply.ts';

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

/** Admits the session of the bearer token or sends a JSON error: no cookie is read or written, and nothing is renewed. */
export async function guardByBearer(
  request: AuthRequest,
  rules: BearerRules,
  demand: Demand,
  next: Next,
): Promise<void> {
  request.isBearer = true;
  try {
    const session = await bearerSession(request, rules);
    await demand?.(request, session);
    request.admit(session);
    goOn(next);
  } catch (error) {
    refuseBearer(request, error, next, rules.maxAge);
  }
}

/** @param maxAge the guard's `maxAge`, in seconds */
export function refuseBearer(request: AuthRequest, error: unknown, next: Next, maxAge?: number): void {
  if (error instanceof AuthError) tellScheme(request, error, maxAge);
  refuse(request, error, next, bearerErrorReply);
}

/** @throws {AuthError} `unauthenticated`, `invalid_token`, `not_accepted`, or `provider_unavailable` where only the provider can decide */
export async function bearerSession(request: AuthRequest, { clients }: Pick<BearerRules, 'clients'>): Promise<Session> {
  const { req, definition, peer } = request;
  const token = bearerToken(req);
  if (token === undefined) throw new AuthError('unauthenticated');
  const { waits } = request;
  const resolve = () => waits.count(definition.resolver.resolveBearer(token, clientFacts(req, peer)));
  const session = token === '' ? undefined : await resolve();
  if (session === undefined) throw new AuthError('invalid_token');
  const client = definition.foreignClient(session.claims);
  if (client !== undefined && !clients.has(client)) throw new AuthError('invalid_token');
  if (!(await request.accepts(session))) throw new NotAccepted(session);
  return session;
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

/** Sets `WWW-Authenticate`: RFC 6750 §3, and RFC 9470 §3 for a sign-in that is too old. Set on `res`, so that `onError` keeps it. */
function tellScheme({ res }: AuthRequest, { code, status }: AuthError, maxAge = 0): void {
  if (status !== 401 || !isHeadOpen(res)) return;
  const challenge =
    code === 'fresh_sign_in_required'
      ? `Bearer error="insufficient_user_authentication", max_age="${maxAge}"`
      : code === 'unauthenticated'
        ? 'Bearer'
        : 'Bearer error="invalid_token"';
  res.setHeader('WWW-Authenticate', challenge);
}

/** Without `redirectTo`, because API clients do not use a sign-in page. */
function bearerErrorReply(_request: AuthRequest, error: AuthError): Reply {
  return { ...json(error.status, errorBody(error)), headers: error.headers };
}
