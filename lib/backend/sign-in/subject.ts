import { AuthError } from '../../errors.ts';
import type { AuthRequest } from '../../http/request.ts';
import { clientFacts } from '../../http/message.ts';
import { redirectOrJson } from '../../http/reply.ts';
import type { Reply } from '../../http/reply.ts';
import type { BackendSession, Session } from '../../types.ts';
import type { BackendContext } from '../context.ts';
import { clearPending, readPending } from './pending.ts';
import type { PendingSignIn } from './pending.ts';
import { providersOf } from '../supabase/account.ts';
import type { Step } from '../slots.ts';
import type { StoredContent } from '../supabase/session-cookie.ts';

/** Who completes a step: a pending sign-in, else the session of this browser. */
export interface Subject {
  readonly content: StoredContent;
  readonly session: BackendSession;
  /** `undefined` for a session. */
  readonly pending: PendingSignIn | undefined;
}

/**
 * A pending sign-in has precedence over the session, also over that of another user, until it is complete, has expired or is signed
 * out. A new password concerns it only where it needs one. Until its person has agreed to leave another user's session, it has none.
 *
 * @param step what the requested path asks for
 * @throws {AuthError} `provider_unavailable` where only the backend can decide
 */
export async function subjectOf(
  backend: BackendContext,
  request: AuthRequest,
  step: Step,
): Promise<Subject | undefined> {
  const pending = await readPending(backend, request);
  const isAsked = pending?.needs[0] === 'account';
  if (pending === undefined || isAsked || (step === 'password' && !pending.needs.includes(step)))
    return sessionOf(backend, request);
  const { content, session } = pending;
  return { content, session, pending };
}

/** The session of this browser. @throws {AuthError} `provider_unavailable` */
export async function sessionOf({ source }: BackendContext, request: AuthRequest): Promise<Subject | undefined> {
  const session = await request.resolveSession();
  if (session?.adapter !== 'backend') return undefined;
  const content = source.contentOf(session);
  return content && { content, session, pending: undefined };
}

/** The browser's session, also that of a guest. An outage must not hide a page that does without. */
export async function sessionAtHand(request: AuthRequest): Promise<BackendSession | undefined> {
  const session = await request.resolveSession().catch(() => undefined);
  return session?.adapter === 'backend' ? session : undefined;
}

/** The browser's session, where it is that of an account: a guest has none. */
export async function memberAtHand(request: AuthRequest): Promise<BackendSession | undefined> {
  const session = await sessionAtHand(request);
  return session?.user.isAnonymous === false ? session : undefined;
}

/**
 * Accounts of a phone, of a wallet, or of a provider that shares none have no email address. A token alone may lack one: a project's hook
 * can remove it.
 */
export function hasNoAddress(session: BackendSession): boolean {
  const { email, isAnonymous } = session.user;
  return email === null && !isAnonymous && providersOf(session)?.includes('email') === false;
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
  subject: Subject,
  returnTo: string,
): Promise<Reply> {
  await endHere(backend, request, subject);
  return signInFirst(request, returnTo);
}

/** Ends it here, because the backend has ended it. */
export async function endHere(
  backend: BackendContext,
  request: AuthRequest,
  { pending, session }: Subject,
): Promise<void> {
  const { resolver } = backend;
  if (pending === undefined) request.writeCookies(await resolver.endOver(request.req.headers.cookie, session));
  // Another response that ended it may have stored a newer one.
  else if (!(await resolver.hasEnded(session))) clearPending(backend, request);
}

/**
 * The user's sessions renew their tokens before the next use, here and in other processes, and learn there what has changed or ended.
 * It never throws.
 */
export async function renewAll(
  { resolver, explain }: Pick<BackendContext, 'resolver' | 'explain'>,
  userId: string,
): Promise<void> {
  await resolver.renewSession({ userId }).catch((error: unknown) => {
    explain('other processes were not told to renew the user’s sessions: %s', String(error));
  });
}

/** As `renewAll`, but for the user's other sessions: this one goes on, also while the backend can't be reached. */
export async function renewOthers(
  { resolver, source, explain }: Pick<BackendContext, 'resolver' | 'source' | 'explain'>,
  userId: string,
  content: StoredContent,
): Promise<void> {
  const own = source.toStored(content);
  await resolver.renewOthers(userId, own, own).catch((error: unknown) => {
    explain('other processes were not told to renew the user’s other sessions: %s', String(error));
  });
}

/**
 * Renews the browser's session, whose second factor was removed: its tokens may still claim it. The user's other sessions
 * renew theirs with their next request.
 *
 * @returns whether the session now lacks the second factor; `undefined` where the session has ended
 * @throws {AuthError} `provider_unavailable`; the next request renews it then
 */
export async function renewLowered(
  backend: BackendContext,
  request: AuthRequest,
  { content, session }: Subject,
): Promise<boolean | undefined> {
  const { resolver, writer } = backend;
  await renewAll(backend, session.user.id);
  const isLowered = (renewed: Session): boolean => renewed.claims['aal'] !== 'aal2';
  const renewal = await resolver.renewChanged(content, isLowered, clientFacts(request.req, request.peer));
  if (renewal.kind !== 'renewed') return undefined;
  const writes = await writer.write(renewal.stored.content, request.cookies);
  request.writeCookies(writes, resolver.deliveryOf(renewal.stored));
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
  subject: Subject,
  returnTo: string,
): Promise<Reply | undefined> {
  if (subject.session.claims['aal'] !== 'aal2') return undefined;
  const isLowered = await renewLowered(backend, request, subject);
  if (isLowered === undefined) return endOver(backend, request, subject, returnTo);
  if (!isLowered) throw new AuthError('provider_unavailable', { reason: 'insufficient_aal', retryAfter: 5 });
  return undefined;
}
