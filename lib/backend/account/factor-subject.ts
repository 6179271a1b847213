import type { Session as SdkSession } from '@supabase/supabase-js';
import { AuthError } from '../../errors.ts';
import type { AuthRequest } from '../../http/auth-request.ts';
import { redirectOrJson } from '../../http/reply.ts';
import type { Reply } from '../../http/reply.ts';
import type { BackendSession } from '../../types.ts';
import type { BackendContext } from '../context.ts';
import { localUrl } from '../forms.ts';
import type { StoredContent } from '../session-cookie.ts';
import { clearPending, issuedContent, readPending } from '../sign-in/pending.ts';
import type { PendingSignIn } from '../sign-in/pending.ts';
import { prepareSignIn, renewSession, storeSignIn } from '../sign-in/sign-in.ts';
import type { PreparedSignIn } from '../sign-in/sign-in.ts';
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
  if (waiting === undefined) return findOwnLive(backend, request);
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
  { waiting }: FactorSubject,
  returnTo: string,
): Promise<Reply> {
  if (waiting !== undefined) clearPending(backend, request);
  else request.writeCookies((await backend.resolver.signOut(request.req.headers.cookie, request.peer)).cookies);
  return signInFirst(request, returnTo);
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
    const mayWork = error instanceof AuthError && error.code === 'provider_unavailable';
    if (!mayWork) clearPending(backend, request);
    throw error;
  }
}
