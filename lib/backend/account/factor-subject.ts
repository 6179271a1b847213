import type { Session as SdkSession } from '@supabase/supabase-js';
import { withQuery } from '../../core/url.ts';
import { AuthError } from '../../errors.ts';
import type { AuthRequest } from '../../http/auth-request.ts';
import { redirectOrJson } from '../../http/reply.ts';
import type { Reply } from '../../http/reply.ts';
import type { BackendSession } from '../../types.ts';
import type { BackendContext } from '../context.ts';
import type { StoredContent } from '../session-cookie.ts';
import type { PendingSignIn } from '../sign-in/pending.ts';
import type { SignedIn } from '../sign-in/sign-in.ts';
import { passwordUrl } from '../sign-in/start-flow.ts';
import type { UserFactors } from './factors.ts';
import { asIssued, contentOf } from './set-password.ts';

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
  readonly signedIn?: SignedIn;
  /** Why that sign-in was refused. */
  readonly refusal?: unknown;
}

export interface FactorSubjects {
  /** @throws {AuthError} `provider_unavailable` where it takes the backend to tell */
  find(request: AuthRequest): Promise<FactorSubject | undefined>;
  /** @throws {AuthError} `provider_unavailable` */
  live(request: AuthRequest): Promise<FactorSubject | undefined>;
  /** @throws {AuthError} `unauthenticated` for clients that want JSON */
  signInFirst(request: AuthRequest, returnTo: string): Reply;
  /** The backend has ended it, so it ends here. */
  endOver(request: AuthRequest, subject: FactorSubject, returnTo: string): Promise<Reply>;
  /** Verifies a sign-in that is complete now, and asks `onSignIn`. It never throws. */
  accept(request: AuthRequest, subject: FactorSubject, issued: SdkSession, returnTo: string): Promise<GivenFactor>;
  /** Puts the tokens of a given second factor in their place. @returns where to go next */
  raise(request: AuthRequest, subject: FactorSubject, given: GivenFactor, returnTo: string): Promise<string>;
  /** The same for a user who has no second factor any more. */
  goOnWithout(
    request: AuthRequest,
    subject: FactorSubject,
    asked: Pick<UserFactors, 'user'> & { readonly returnTo: string },
  ): Promise<string>;
  enrollUrl(request: AuthRequest, returnTo: string): string;
  /** @param then where it leads before `returnTo` */
  verifyUrl(request: AuthRequest, returnTo: string, then: 'enroll'): string;
}

export function createFactorSubjects(backend: BackendContext): FactorSubjects {
  const { settings, pending, resolver, source, explain } = backend;
  return {
    live: (request) => findLive(backend, request),
    signInFirst,
    async find(request) {
      const waiting = await pending.read(request);
      if (waiting === undefined) return findOwnLive(backend, request);
      const { content, session } = waiting;
      return (await findOtherLive(backend, request, waiting)) ?? { content, session, waiting };
    },
    async endOver(request, { waiting }, returnTo) {
      if (waiting !== undefined) pending.clear(request);
      else request.writeCookies((await resolver.signOut(request.req.headers.cookie, request.peer)).cookies);
      return signInFirst(request, returnTo);
    },
    accept: (request, { waiting }, issued, returnTo) => accept(backend, request, waiting, { issued, returnTo }),
    async raise(request, { waiting, session, content }, given, returnTo) {
      const next = await store(backend, request, waiting, { ...given, returnTo });
      // The backend has ended the user's other sessions without a second factor: their next request renews them, and learns it. Requests
      // of this session that are under way must not: the backend has exchanged their refresh token just now.
      const [spent, newest] = [source.toStored(content), source.toStored(contentOf(given.issued))];
      await resolver.renewOthers(session.user.id, spent, newest).catch((error: unknown) => {
        explain('other processes were not told of a second factor: %s', String(error));
      });
      return next;
    },
    async goOnWithout(request, { waiting, content }, { user, returnTo }) {
      if (waiting === undefined) return localUrl(request, settings.enrollPath, returnTo);
      const given = await accept(backend, request, waiting, { issued: asIssued(content, user), returnTo });
      return store(backend, request, waiting, { ...given, returnTo });
    },
    enrollUrl: (request, returnTo) => localUrl(request, settings.enrollPath, returnTo),
    verifyUrl: (request, returnTo, then) => localUrl(request, settings.verifyPath, returnTo, { then }),
  };
}

/** None where the page was that of a sign-in which waited, and has ended meanwhile: the code is not meant for this session. */
async function findOwnLive(backend: BackendContext, request: AuthRequest): Promise<FactorSubject | undefined> {
  const live = await findLive(backend, request);
  const isOver = request.query.get('then') === 'sign-in' && live?.session.claims['aal'] !== 'aal2';
  return isOver ? undefined : live;
}

async function findLive({ source }: BackendContext, request: AuthRequest): Promise<FactorSubject | undefined> {
  const session = await request.resolveSession();
  if (session?.adapter !== 'backend') return undefined;
  const content = source.contentOf(session);
  return content && { content, session, waiting: undefined };
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

function signInFirst(request: AuthRequest, returnTo: string): Reply {
  request.errorReturnTo = returnTo;
  if (request.wantsJson) throw new AuthError('unauthenticated');
  return redirectOrJson(request, request.signInUrl(returnTo), request.req.method === 'POST' ? 303 : 302);
}

interface Given extends GivenFactor {
  readonly returnTo: string;
}

async function accept(
  { signIn }: BackendContext,
  request: AuthRequest,
  waiting: PendingSignIn | undefined,
  { issued, returnTo }: Given,
): Promise<GivenFactor> {
  if (waiting?.kind !== 'factor') return { issued };
  try {
    return { issued, signedIn: await signIn.verifySignIn(request, issued, returnTo) };
  } catch (refusal) {
    return { issued, refusal };
  }
}

async function store(
  backend: BackendContext,
  request: AuthRequest,
  waiting: PendingSignIn | undefined,
  given: Given,
): Promise<string> {
  const { settings, pending, signIn } = backend;
  if (waiting === undefined) {
    await signIn.renew(request, given.issued);
    return given.returnTo;
  }
  if (waiting.kind === 'factor') return complete(backend, request, given);
  // The new password is still to come.
  await pending.begin(request, { ...waiting, issued: given.issued, returnTo: given.returnTo });
  return passwordUrl(settings, request, given.returnTo);
}

/** The first factor was given before; what was missing is here, so no further one is asked for. */
async function complete(
  { pending, signIn }: BackendContext,
  request: AuthRequest,
  { signedIn, refusal }: Given,
): Promise<string> {
  try {
    if (signedIn === undefined) throw refusal;
    await signIn.storeSession(request, signedIn);
    pending.clear(request);
    return signedIn.redirectTo;
  } catch (error) {
    // After an outage the same sign-in may be tried again; after a refusal it is over.
    const mayWork = error instanceof AuthError && error.code === 'provider_unavailable';
    if (!mayWork) pending.clear(request);
    throw error;
  }
}

function localUrl(
  request: AuthRequest,
  path: string,
  returnTo: string,
  further: { readonly then?: string } = {},
): string {
  return withQuery(request.localPath(path), { ...further, ...(returnTo === request.home ? {} : { returnTo }) });
}
