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

/** Who is asked for a second factor: a sign-in that waits for it, else the session of this browser. */
export interface FactorSubject {
  readonly content: StoredContent;
  readonly session: BackendSession;
  readonly waiting: PendingSignIn | undefined;
}

/** What came with a given second factor. */
export interface GivenFactor {
  readonly issued: SdkSession;
  /** Where it completed a sign-in, whose `onSignIn` is asked once, however many requests share this. */
  readonly prepared?: PreparedSignIn;
  /** Why that sign-in was refused. */
  readonly refusal?: unknown;
}

/** @throws {AuthError} `provider_unavailable` where it takes the backend to tell */
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

/** None where the page was that of a sign-in which waited, and has ended meanwhile: the code is not meant for this session. */
async function findOwnLive(backend: BackendContext, request: AuthRequest): Promise<FactorSubject | undefined> {
  const live = await findLive(backend, request);
  const isOver = request.query.get('then') === 'sign-in' && live?.session.claims['aal'] !== 'aal2';
  return isOver ? undefined : live;
}

/**
 * The session of another user than the one whose sign-in waits, where it is the one that is asked: a link that was opened beside it must not
 * keep it from its second factor. The URLs of a sign-in that waits say so; clients that want JSON name no URL after a sign-in.
 */
async function findOtherLive(
  backend: BackendContext,
  request: AuthRequest,
  { kind, session }: PendingSignIn,
): Promise<FactorSubject | undefined> {
  const isAsked = request.query.get('then') === 'sign-in' || (kind === 'factor' && request.wantsJson);
  // What waits needs no answer about the session.
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

/** The backend has ended it, so it ends here. */
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

/** Prepares a sign-in that is complete now. It never throws: a refusal is shared like a sign-in. */
export async function acceptFactor(
  backend: BackendContext,
  request: AuthRequest,
  { waiting }: FactorSubject,
  { issued, returnTo }: { readonly issued: SdkSession; readonly returnTo: string },
): Promise<GivenFactor> {
  if (waiting?.kind !== 'factor') return { issued };
  try {
    // The first factor was given before; what was missing is here, so no further one is asked for.
    return { issued, prepared: await prepareSignIn(backend, request, { kind: 'session', issued, returnTo }) };
  } catch (refusal) {
    return { issued, refusal };
  }
}

/** Puts the tokens of a given second factor in their place. @returns where to go next */
export async function raiseSubject(
  backend: BackendContext,
  request: AuthRequest,
  subject: FactorSubject,
  given: Given,
): Promise<string> {
  const { resolver, source, explain } = backend;
  const { session, content } = subject;
  const next = await store(backend, request, subject, given);
  // The backend has ended the user's other sessions without a second factor: their next request renews them, and learns it. Requests
  // of this session that are under way must not: the backend has exchanged their refresh token just now.
  const [spent, newest] = [source.toStored(content), source.toStored(issuedContent(given.issued))];
  await resolver.renewOthers(session.user.id, spent, newest).catch((error: unknown) => {
    explain('other processes were not told of a second factor: %s', String(error));
  });
  return next;
}

/** The same for a user who has no second factor any more. */
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

interface Given extends GivenFactor {
  readonly returnTo: string;
}

async function store(
  backend: BackendContext,
  request: AuthRequest,
  { waiting }: FactorSubject,
  { issued, prepared, refusal, returnTo }: Given,
): Promise<string> {
  if (waiting === undefined) {
    await renewSession(backend, request, issued);
    return returnTo;
  }
  const { kind, isUnanswered } = waiting;
  // The new password is still to come.
  if (kind === 'recovery') return storeSignIn(backend, request, { kind, issued, returnTo, isUnanswered });
  try {
    if (prepared === undefined) throw refusal;
    const next = await storeSignIn(backend, request, prepared);
    clearPending(backend, request);
    return next;
  } catch (error) {
    // After an outage the same sign-in may be tried again; after a refusal it is over.
    const mayWork = error instanceof AuthError && error.code === 'provider_unavailable';
    if (!mayWork) clearPending(backend, request);
    throw error;
  }
}
