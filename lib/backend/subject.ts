import type { Session as SdkSession } from '@supabase/supabase-js';
import { AuthError, isOutage } from '../errors.ts';
import type { AuthRequest } from '../http/auth-request.ts';
import { clientFacts } from '../http/message.ts';
import { redirectOrJson } from '../http/reply.ts';
import type { Reply } from '../http/reply.ts';
import type { BackendSession, Session } from '../types.ts';
import type { BackendContext } from './context.ts';
import { errorForForm, localUrl } from './forms.ts';
import { rejectedPage } from './pages/factors.ts';
import type { StoredContent } from './session-cookie.ts';
import { issuedContent } from './session-cookie.ts';
import { clearPending, readPending } from './pending.ts';
import type { PendingSignIn } from './pending.ts';
import { prepareSignIn, renewSession, storeSignIn } from './sign-in.ts';
import type { PreparedSignIn } from './sign-in.ts';
import type { UserFactors } from './factors.ts';
import { asIssued } from './set-password.ts';

/** The subject of a second factor: a pending sign-in, else the session of this browser. */
export interface FactorSubject {
  readonly content: StoredContent;
  readonly session: BackendSession;
  readonly waiting: PendingSignIn | undefined;
}

/** The result of a verified second factor. */
export interface GivenFactor {
  readonly issued: SdkSession;
  /** Set where it completes a sign-in; `onSignIn` runs once, however many requests share this result. */
  readonly prepared?: PreparedSignIn;
  /** Why that sign-in was refused. */
  readonly refusal?: unknown;
}

/** @throws {AuthError} `provider_unavailable` where only the backend can decide */
export async function findSubject(backend: BackendContext, request: AuthRequest): Promise<FactorSubject | undefined> {
  const waiting = await readPending(backend, request);
  if (waiting === undefined || waiting.kind === 'change') return findOwnLive(backend, request);
  const { content, session } = waiting;
  return (await findOtherLive(backend, request, waiting)) ?? { content, session, waiting };
}

/** The session of this browser. @throws {AuthError} `provider_unavailable` */
export async function findLive({ source }: BackendContext, request: AuthRequest): Promise<FactorSubject | undefined> {
  const session = await request.resolveSession();
  if (session?.adapter !== 'backend') return undefined;
  const content = source.contentOf(session);
  return content && { content, session, waiting: undefined };
}

/** `undefined` where the form belongs to a pending sign-in that has ended: its code is not meant for this session. */
async function findOwnLive(backend: BackendContext, request: AuthRequest): Promise<FactorSubject | undefined> {
  const live = await findLive(backend, request);
  const isOver = request.query.get('then') === 'sign-in' && live?.session.claims['aal'] !== 'aal2';
  return isOver ? undefined : live;
}

/**
 * The live session, where it is meant instead of another user's pending sign-in. An unrelated link must not block the
 * session's second factor. URLs of a pending sign-in carry `then`; JSON clients do not use a URL after a sign-in.
 */
async function findOtherLive(
  backend: BackendContext,
  request: AuthRequest,
  { kind, session }: PendingSignIn,
): Promise<FactorSubject | undefined> {
  const isAsked = request.query.get('then') === 'sign-in' || (kind === 'factor' && request.wantsJson);
  // A request for the pending sign-in does not need the session.
  const live = isAsked ? undefined : await findLive(backend, request).catch(() => undefined);
  const isOther = live !== undefined && live.session.user.id !== session.user.id;
  return isOther && live.session.claims['aal'] !== 'aal2' ? live : undefined;
}

/** @throws {AuthError} `unauthenticated` for clients that want JSON */
export function signInFirst(request: AuthRequest, returnTo: string): Reply {
  request.errorReturnTo = returnTo;
  if (request.wantsJson) throw new AuthError('unauthenticated');
  return redirectOrJson(request, request.signInUrl(returnTo), request.req.method === 'POST' ? 303 : 302);
}

/** The backend has ended it, so it also ends here. */
export async function endOver(
  backend: BackendContext,
  request: AuthRequest,
  subject: FactorSubject,
  returnTo: string,
): Promise<Reply> {
  await endHere(backend, request, subject);
  return signInFirst(request, returnTo);
}

/**
 * The same after the project's hook rejected a code, with a page that says so.
 *
 * @throws {AuthError} `access_denied` for clients that want JSON
 */
export async function endRejected(
  backend: BackendContext,
  request: AuthRequest,
  subject: FactorSubject,
  { error, returnTo }: { readonly error: AuthError; readonly returnTo: string },
): Promise<Reply> {
  await endHere(backend, request, subject);
  const { code, cause, reason } = error;
  const message = 'Your code wasn’t accepted, and your sign-in has ended. Sign in again, or contact support.';
  const told = errorForForm(backend, request, new AuthError(code, { cause, reason, message }));
  return rejectedPage(backend, request, { error: told, returnTo });
}

async function endHere(
  backend: BackendContext,
  request: AuthRequest,
  { waiting, session }: FactorSubject,
): Promise<void> {
  const { resolver } = backend;
  if (waiting === undefined) request.writeCookies(await resolver.endOver(request.req.headers.cookie, session));
  // Another response that ended it may have stored a newer one.
  else if (!(await resolver.hasEnded(session))) clearPending(backend, request);
}

/**
 * Renews the browser's session, whose second factor was removed: its tokens may still claim it. The user's other sessions
 * renew theirs with their next request.
 *
 * @returns whether the session now lacks the second factor; `undefined` where the session has ended
 * @throws {AuthError} `provider_unavailable`; the next request renews it then
 */
export async function renewLowered(
  { resolver, writer, explain }: BackendContext,
  request: AuthRequest,
  { content, session }: Pick<FactorSubject, 'content' | 'session'>,
): Promise<boolean | undefined> {
  await resolver.renewSession({ userId: session.user.id }).catch((error: unknown) => {
    explain('other processes were not told of a removed factor: %s', String(error));
  });
  const isLowered = (renewed: Session): boolean => renewed.claims['aal'] !== 'aal2';
  const renewal = await resolver.renewChanged(content, isLowered, clientFacts(request.req, request.peer));
  if (renewal.kind !== 'renewed') return undefined;
  request.writeCookies(await writer.write(renewal.stored.content, request.cookies));
  return isLowered(renewal.session);
}

/**
 * Renews a session whose token claims a second factor that the backend denies (`insufficient_aal`): it was removed elsewhere, and
 * the page of the factor would believe the token.
 *
 * @returns a reply where the session has ended
 * @throws {AuthError} `provider_unavailable`, also where the new tokens claim the same
 */
export async function renewDenied(
  backend: BackendContext,
  request: AuthRequest,
  session: BackendSession,
  returnTo: string,
): Promise<Reply | undefined> {
  const content = backend.source.contentOf(session);
  if (session.claims['aal'] !== 'aal2' || content === undefined) return undefined;
  const subject = { content, session, waiting: undefined };
  const isLowered = await renewLowered(backend, request, subject);
  if (isLowered === undefined) return endOver(backend, request, subject, returnTo);
  if (!isLowered) throw new AuthError('provider_unavailable', { reason: 'insufficient_aal', retryAfter: 5 });
  return undefined;
}

/** Prepares a sign-in that is now complete. It never throws: a refusal is shared like a success. */
export async function acceptFactor(
  backend: BackendContext,
  request: AuthRequest,
  { waiting }: FactorSubject,
  { issued, returnTo }: { readonly issued: SdkSession; readonly returnTo: string },
): Promise<GivenFactor> {
  if (waiting?.kind !== 'factor') return { issued };
  try {
    // The first factor was verified before and the second is verified now, so no further step is pending.
    return { issued, prepared: await prepareSignIn(backend, request, { kind: 'session', issued, returnTo }) };
  } catch (refusal) {
    return { issued, refusal };
  }
}

/** Stores the tokens of a verified second factor. @returns the next URL */
export async function raiseSubject(
  backend: BackendContext,
  request: AuthRequest,
  subject: FactorSubject,
  given: VerifiedFactor,
): Promise<string> {
  const { resolver, source, explain } = backend;
  const { session, content } = subject;
  const next = await store(backend, request, subject, given);
  // The backend has ended the user's other sessions without a second factor; their next request must renew them and
  // find out. Running requests of this session must not renew: the backend has just exchanged their refresh token.
  const [spent, newest] = [source.toStored(content), source.toStored(issuedContent(given.issued))];
  await resolver.renewOthers(session.user.id, spent, newest).catch((error: unknown) => {
    explain('other processes were not told of a second factor: %s', String(error));
  });
  return next;
}

/** The same for a user who no longer has a second factor. */
export async function goOnWithout(
  backend: BackendContext,
  request: AuthRequest,
  subject: FactorSubject,
  { user, returnTo }: Pick<UserFactors, 'user'> & { readonly returnTo: string },
): Promise<string> {
  if (subject.waiting === undefined) return localUrl(request, backend.settings.enrollPath, returnTo);
  const issued = asIssued(subject.content, user);
  const given = await acceptFactor(backend, request, subject, { issued, returnTo });
  return store(backend, request, subject, { ...given, returnTo });
}

interface VerifiedFactor extends GivenFactor {
  readonly returnTo: string;
}

async function store(
  backend: BackendContext,
  request: AuthRequest,
  { waiting }: FactorSubject,
  { issued, prepared, refusal, returnTo }: VerifiedFactor,
): Promise<string> {
  if (waiting === undefined) {
    await renewSession(backend, request, issued);
    return returnTo;
  }
  const { kind, isUnanswered } = waiting;
  // The new password is still required.
  if (kind === 'recovery') return storeSignIn(backend, request, { kind, issued, returnTo, isUnanswered });
  try {
    if (prepared === undefined) throw refusal;
    const next = await storeSignIn(backend, request, prepared);
    clearPending(backend, request);
    return next;
  } catch (error) {
    // After an outage the same sign-in can be retried; after a refusal it ends.
    if (!isOutage(error)) clearPending(backend, request);
    throw error;
  }
}
