import type { CookieWrite, RequestCookies } from '../tools/cookies.ts';
import { defined } from '../tools/json.ts';
import { AuthError } from '../errors.ts';
import type { Session } from '../types.ts';
import type { Allowance } from './allowance.ts';
import type { Emit } from './events.ts';
import type { SessionResolver } from './sessions.ts';
import type { EndedSession } from './sign-out.ts';
import { verdictReason, verifyStored } from './source.ts';
import type { SessionSource, SessionWriter } from './source.ts';

/**
 * How tokens that the provider just issued become the session of a browser, in both adapters. The first half, `admitSignIn`,
 * runs once and writes no cookie; the second, `placeSession`, runs for every response that shares it, such as those of a double click.
 */
export interface SignInContext<Content, S extends Session> {
  readonly source: Pick<SessionSource<Content, S>, 'verify' | 'factsOf' | 'toStored' | 'isSealed' | 'lifetime'>;
  readonly writer: SessionWriter<Content>;
  readonly resolver: Pick<SessionResolver<Content>, 'background' | 'replace' | 'beginSession' | 'notePlaced'>;
  readonly emit: Emit;
}

/** The request that signs in. */
export interface SignInRequest {
  readonly req: { readonly headers: { readonly cookie?: string | undefined } };
  /** What the browser holds when the response arrives, unless it is replaced. */
  readonly heldCookies: RequestCookies;
  readonly peer: string | undefined;
  readonly startedAt: number | undefined;
  /** When the request came, in milliseconds since the epoch. */
  readonly arrivedAt: number | undefined;
  /** The final URL, by what the hook returned and the sanitized way back. */
  hookDestination(redirectTo: unknown, returnTo: string): string;
  /** Asks `accept`. @throws {AuthError} `not_accepted`, or whatever `accept` throws */
  refuseUnaccepted(session: Session): Promise<void>;
}

interface SignInSteps<S extends Session> {
  readonly returnTo: string;
  /** @throws where the tokens are not those of this sign-in */
  readonly check?: (session: S) => unknown;
  /** Calls `onSignIn`. @returns its `redirectTo` */
  readonly hook: (session: S) => Promise<string | undefined>;
  /** Whether the application brought the tokens: their sign-in may be an earlier one, which no `endSession` since may spare. */
  readonly isBrought?: boolean | undefined;
  /** Whether an earlier request began it. */
  readonly isContinued?: boolean | undefined;
}

/** A verified sign-in that `accept` and `onSignIn` let pass and that fits a cookie. */
interface SignedIn<S extends Session> {
  readonly session: S;
  readonly redirectTo: string;
  /** When the session began here, in milliseconds since the epoch; tokens that the application brought began before. */
  readonly begunAt: number | undefined;
}

/**
 * @param isBrought whether the application brought the tokens: then the provider is not to blame for them
 * @throws {AuthError} `token_rejected`, or `tokens_refused` where the application brought them; `provider_unavailable`
 */
export async function verifyIssued<Content, S extends Session>(
  { source }: Pick<SignInContext<Content, S>, 'source'>,
  content: Content,
  isBrought = false,
): Promise<S> {
  // What the application brings may be old.
  const verdict = await (isBrought
    ? verifyStored(source, source.toStored(content), 'provider')
    : source.verify(content, 'provider'));
  if (verdict.kind === 'live') return verdict.session;
  throw new AuthError(isBrought ? 'tokens_refused' : 'token_rejected', { reason: verdictReason(verdict) });
}

/** Call it once per issue. @throws {AuthError} `session_too_large` */
export async function refuseLarge<Content, S extends Session>(
  { writer }: Pick<SignInContext<Content, S>, 'writer'>,
  content: Content,
  { user }: S,
): Promise<void> {
  if (!(await writer.fits(content, user.id))) throw new AuthError('session_too_large');
}

/**
 * Earlier `endSession` calls do not apply to it.
 *
 * @param arrivedAt when the request came that the sign-in began with, in milliseconds since the epoch; `undefined` where it is continued
 * @returns its start in milliseconds since the epoch
 * @throws {AuthError} `invalid_state` where a call such as a password change has ended it meanwhile
 */
export function beginSession<Content, S extends Session>(
  { source, resolver }: Pick<SignInContext<Content, S>, 'source' | 'resolver'>,
  content: Content,
  { claims }: S,
  arrivedAt: number | undefined,
): Promise<number> {
  const { beganAt } = source.factsOf(claims);
  return resolver.beginSession(source.toStored(content), { beganAt, arrivedAt });
}

/** @throws {AuthError} `token_rejected` or `tokens_refused`, `session_too_large`, `not_accepted`, `provider_unavailable`, or the application's own error */
export async function admitSignIn<Content, S extends Session>(
  context: SignInContext<Content, S>,
  request: SignInRequest,
  content: Content,
  { returnTo, check, hook, isBrought = false, isContinued = false }: SignInSteps<S>,
): Promise<SignedIn<S>> {
  const session = await verifyIssued(context, content, isBrought);
  await check?.(session);
  await refuseLarge(context, content, session);
  await request.refuseUnaccepted(session);
  const redirectTo = await hook(session);
  const arrivedAt = isContinued ? undefined : request.arrivedAt;
  const begunAt = isBrought ? undefined : await beginSession(context, content, session, arrivedAt);
  const { sessionId } = context.source.factsOf(session.claims);
  const organizationId = session.adapter === 'b2b' ? session.organizationId : undefined;
  const facts = { userId: session.user.id, ...defined({ sessionId, organizationId }) };
  context.emit({ type: 'signed_in', ...facts }, request.startedAt);
  return { session, redirectTo: request.hookDestination(redirectTo, returnTo), begunAt };
}

interface Placing<Content> {
  /** @throws where the session has ended meanwhile */
  readonly refuseEnded: (sessionId: string | undefined) => Promise<void>;
  /** Ends a session that the browser held before, at the provider. It must not reject. */
  readonly endLeft: (left: EndedSession<Content>, allowance: Allowance) => unknown;
}

/** Ends the sessions that the browser held before. @returns the cookies of the new one */
export async function placeSession<Content, S extends Session>(
  { source, writer, resolver }: SignInContext<Content, S>,
  { req, heldCookies, peer }: SignInRequest,
  content: Content,
  { refuseEnded, endLeft }: Placing<Content>,
): Promise<readonly CookieWrite[]> {
  const placed = source.toStored(content);
  const { sessionId } = placed;
  // Before, because tokens that come late must not end the session that has replaced theirs.
  await refuseEnded(sessionId);
  const writes = await writer.write(content, heldCookies);
  const { sessions, allowance } = await resolver.replace(req.headers.cookie, sessionId, peer);
  // In the background: they have already ended here.
  for (const left of sessions) resolver.background.run(Promise.resolve(endLeft(left, allowance)));
  // Afterward, because a concurrent sign-out takes precedence.
  await refuseEnded(sessionId);
  resolver.notePlaced(placed);
  return writes;
}
