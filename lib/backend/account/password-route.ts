import type { Session as SdkSession } from '@supabase/supabase-js';
import { answerWithin } from '../../core/deadline.ts';
import { createOnce } from '../../core/once.ts';
import { AuthError } from '../../errors.ts';
import { readFields } from '../../http/body.ts';
import type { Fields } from '../../http/body.ts';
import type { AuthRequest } from '../../http/auth-request.ts';
import { redirect, redirectOrJson } from '../../http/reply.ts';
import type { Reply } from '../../http/reply.ts';
import type { AuthRoute } from '../../http/router.ts';
import type { BackendSession } from '../../types.ts';
import type { BackendContext } from '../context.ts';
import { errorForForm, formElsewhere } from '../form-answers.ts';
import { readCaptcha, readNewPassword, readReturnTo } from '../form-fields.ts';
import { linkExpiredPage, passwordPage } from '../pages/password-page.ts';
import { organizationSignIn } from '../provider-errors.ts';
import { needsFactor } from '../sign-in/pending.ts';
import type { PendingSignIn } from '../sign-in/pending.ts';
import type { SignedIn } from '../sign-in/sign-in.ts';
import { forgotUrl, verifyUrl } from '../sign-in/start-flow.ts';
import {
  asIssued,
  checkPassword,
  claimedUser,
  contentOf,
  emailWithPassword,
  endOtherSessions,
  isOfOrganization,
  setPassword,
} from './set-password.ts';

/** Who may set a password: a link's reader, or someone signed in who gives the current one. */
type Grant =
  | { readonly kind: 'recovery'; readonly session: BackendSession; readonly waiting: PendingSignIn }
  | { readonly kind: 'session'; readonly session: BackendSession };

/** For how long a form may come twice, in milliseconds: a browser shows the answer to the second press. */
const twiceMs = 60_000;

/** `/auth/password`: sets a new password, after a link of an email or signed in, and ends the account's other sessions. */
export function passwordRoute(backend: BackendContext): AuthRoute {
  const { settings, signIn, pending } = backend;
  const { passwordPath, now } = settings;
  const once = createOnce<SignedIn>({ ttlMs: twiceMs, max: 10_000, now, keeps: 'successes' });
  const change = createChange(backend);

  /** @returns where to go next */
  async function save(request: AuthRequest, grant: Grant, fields: Fields, returnTo: string): Promise<string> {
    const password = readNewPassword(fields);
    if (grant.kind === 'session') return change(request, grant.session, { fields, password, returnTo });
    const { waiting } = grant;
    if (waiting.needsFactor) return verifyUrl(backend.settings, request, returnTo);
    const signedIn = await once([waiting.content.access_token, password], async () => {
      const issued = await setAfterLink(backend, request, waiting, password);
      return signIn.verifySignIn(request, issued, returnTo);
    });
    await signIn.storeSession(request, signedIn);
    pending.clear(request);
    return signedIn.redirectTo;
  }

  return {
    path: passwordPath,
    option: 'passwordPath',
    async get(request) {
      const returnTo = readReturnTo(request);
      const elsewhere = formElsewhere(request, undefined, passwordPath, returnTo);
      if (elsewhere !== undefined) return elsewhere;
      const grant = await findGrant(backend, request);
      return showForm(backend, request, grant, { returnTo: wayBackOf(request, grant) });
    },
    async post(request) {
      const fields = await readFields(request.req, request.res);
      let grant: Grant | undefined;
      let returnTo = readReturnTo(request, fields);
      try {
        grant = await findGrant(backend, request, fields);
        if (grant === undefined) throw new AuthError('link_expired');
        returnTo = wayBackOf(request, grant, fields);
        return redirectOrJson(request, await save(request, grant, fields, returnTo));
      } catch (error) {
        if (error instanceof AuthError && error.code === 'second_factor_required') {
          return redirectOrJson(request, verifyUrl(backend.settings, request, returnTo, grant?.kind === 'recovery'));
        }
        return showForm(backend, request, grant, { returnTo, error: errorForForm(backend, request, error) });
      }
    },
  };
}

/** A link that was opened here comes before the session of this browser, unless the form gives that one's current password. */
async function findGrant(
  { pending }: BackendContext,
  request: AuthRequest,
  fields?: Fields,
): Promise<Grant | undefined> {
  const waiting = await pending.read(request);
  const recovery = waiting?.kind === 'recovery' ? waiting : undefined;
  const ofLink = recovery && ({ kind: 'recovery', session: recovery.session, waiting: recovery } as const);
  if (fields?.has('currentPassword') !== true && ofLink !== undefined) return ofLink;
  const session = await request.resolveSession();
  // The form of a session whose new password got no answer: it may be the current one by now. Another user's form is that user's.
  const isSameUser = session?.user.id === recovery?.session.user.id;
  if (recovery?.isUnanswered === true && isSameUser) return ofLink;
  return session?.adapter === 'backend' ? { kind: 'session', session } : undefined;
}

/** What the form or the query says, else what was asked for with the link. */
function wayBackOf(request: AuthRequest, grant: Grant | undefined, fields?: Fields): string {
  const value = fields?.get('returnTo') ?? request.query.get('returnTo');
  return request.returnTo(value, grant?.kind === 'recovery' ? grant.waiting.returnTo : undefined);
}

interface Shown {
  readonly returnTo: string;
  readonly error?: AuthError;
}

function showForm(backend: BackendContext, request: AuthRequest, grant: Grant | undefined, shown: Shown): Reply {
  const { returnTo, error = new AuthError('link_expired') } = shown;
  if (grant === undefined || shown.error?.code === 'link_expired') {
    return linkExpiredPage(backend, request, { returnTo, error });
  }
  if (grant.kind === 'recovery') {
    const { needsFactor: isIncomplete, session } = grant.waiting;
    if (isIncomplete) return redirect(303, verifyUrl(backend.settings, request, returnTo));
    return passwordPage(backend, request, { ...shown, email: session.user.email ?? undefined, asksCurrent: false });
  }
  if (isOfOrganization(grant.session)) throw organizationSignIn();
  const email = emailWithPassword(grant.session);
  if (email === null) return redirect(303, forgotUrl(backend.settings, request, returnTo));
  return passwordPage(backend, request, { ...shown, email, asksCurrent: true });
}

async function setAfterLink(
  backend: BackendContext,
  request: AuthRequest,
  waiting: PendingSignIn,
  password: string,
): ReturnType<typeof setPassword> {
  const grant = { content: waiting.content, replaced: await sessionBeside(request, waiting) };
  try {
    return await setPassword(backend, request, grant, password);
  } catch (error) {
    if (!(error instanceof AuthError)) throw error;
    if (error.code === 'provider_unavailable') backend.pending.markUnanswered(request, waiting);
    if (error.code !== 'same_password' || !waiting.isUnanswered) throw error;
    // The try that got no answer has done it.
    await endOtherSessions(backend, grant);
    return asIssued(waiting.content, claimedUser(waiting.session));
  }
}

/** How long a link's new password waits to hear of the session beside it, in milliseconds. */
const besideMs = 1_000;

/** The session of the same user that the link's sign-in will replace, where it is known. */
async function sessionBeside(request: AuthRequest, { session }: PendingSignIn): Promise<BackendSession | undefined> {
  const late = (): Error => new Error('late');
  const present = await answerWithin(request.resolveSession(), besideMs, late).catch(() => null);
  return present?.adapter === 'backend' && present.user.id === session.user.id ? present : undefined;
}

/** The sign-in that takes the session's place, one that needs a second factor first, or where to go where the session stays. */
type Changed = SignedIn | (Pick<PendingSignIn, 'kind' | 'returnTo'> & { readonly issued: SdkSession }) | string;

interface Change {
  readonly fields: Fields;
  readonly password: string;
  readonly returnTo: string;
}

/** Shares a change while it is under way: later the same form may be meant once more. */
function createChange(backend: BackendContext) {
  const { settings, signIn, pending } = backend;
  const once = createOnce<Changed>({ ttlMs: twiceMs, max: 10_000, now: settings.now, keeps: 'none' });

  /** @returns where to go next */
  return async (request: AuthRequest, session: BackendSession, asked: Change): Promise<string> => {
    const key = [session.accessToken, asked.fields.get('currentPassword') ?? '', asked.password, asked.returnTo];
    const changed = await once(key, () => changePassword(backend, request, session, asked));
    if (typeof changed === 'string') return changed;
    if ('kind' in changed) {
      await pending.begin(request, changed);
      return verifyUrl(settings, request, changed.returnTo);
    }
    await signIn.storeSession(request, changed);
    return changed.redirectTo;
  };
}

/**
 * Signs in with the current password, which the backend would not ask for, and goes on with that session.
 *
 * No cookie is written yet: requests that share this write each its own.
 */
async function changePassword(
  backend: BackendContext,
  request: AuthRequest,
  session: BackendSession,
  { fields, password, returnTo }: Change,
): Promise<Changed> {
  const { source, resolver, signIn, pending } = backend;
  if (isOfOrganization(session)) throw organizationSignIn();
  const email = emailWithPassword(session);
  if (email === null) return forgotUrl(backend.settings, request, returnTo);
  const currentPassword = fields.get('currentPassword') ?? '';
  const issued = await checkPassword(backend, request, { email, password: currentPassword, ...readCaptcha(fields) });
  // A token may name an address that has become another user's since.
  if (issued.user.id !== session.user.id) {
    await signIn.discard(issued);
    throw new AuthError('current_password_wrong', { reason: 'other_user' });
  }
  const content = source.contentOf(session);
  /** A sign-out that ran at the same time wins. */
  const isSignedOut = async (): Promise<boolean> =>
    (await resolver.revocationOf(source.factsOf(session.claims).sessionId)) === 'signed_out';
  const refuseSignedOut = async (): Promise<void> => {
    if (await isSignedOut()) throw new AuthError('invalid_state');
  };
  try {
    if (!needsFactor(issued)) {
      const grant = { content: contentOf(issued), currentPassword, replaced: session };
      const changed = await setPassword(backend, request, grant, password);
      if (!needsFactor(changed)) {
        const signedIn = await signIn.verifySignIn(request, changed, returnTo);
        await refuseSignedOut();
        return signedIn;
      }
      await refuseSignedOut();
      return { kind: 'factor', issued: changed, returnTo };
    }
    if (session.claims['aal'] === 'aal2' && content !== undefined) {
      await signIn.discard(issued);
      const grant = { content, currentPassword };
      await setPassword(backend, request, grant, password);
      return returnTo;
    }
    await refuseSignedOut();
  } catch (error) {
    if (!(error instanceof AuthError)) throw error;
    // The next try needs no current password: it may have been replaced already.
    if (error.code === 'provider_unavailable' && !needsFactor(issued) && !(await isSignedOut())) {
      await pending.begin(request, { kind: 'recovery', issued, returnTo, isUnanswered: true });
    } else await signIn.discard(issued);
    throw error;
  }
  return { kind: 'recovery', issued, returnTo };
}
