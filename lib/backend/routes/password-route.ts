import type { Session as SdkSession } from '@supabase/supabase-js';
import { answerWithin } from '../../core/deadline.ts';
import { createSharedOutcomes } from '../../core/shared-outcomes.ts';
import { AuthError, isOutage } from '../../errors.ts';
import { readFields } from '../../http/body.ts';
import type { Fields } from '../../http/body.ts';
import type { AuthRequest } from '../../http/auth-request.ts';
import { redirect, redirectOrJson } from '../../http/reply.ts';
import type { Reply } from '../../http/reply.ts';
import type { AuthRoute } from '../../http/router.ts';
import type { BackendSession } from '../../types.ts';
import type { BackendContext } from '../context.ts';
import {
  FormProblem,
  errorForForm,
  formElsewhere,
  localUrl,
  readCaptcha,
  readNewPassword,
  readReturnTo,
} from '../forms.ts';
import { passwordPage } from '../pages/credentials.ts';
import { linkExpiredPage } from '../pages/notice.ts';
import { isOwnRefusal, organizationSignIn } from '../provider-errors.ts';
import { foldAccount } from '../throttle.ts';
import { needsFactor } from '../factor-list.ts';
import { issuedContent } from '../session-cookie.ts';
import { beginPending, clearPending } from '../pending.ts';
import { markUnanswered, readPending } from '../pending.ts';
import type { PendingSignIn } from '../pending.ts';
import { prepareSignIn, storeSignIn, verifyUrl } from '../sign-in.ts';
import type { PreparedSignIn } from '../sign-in.ts';
import { renewDenied } from '../subject.ts';
import { asIssued, checkPresent, claimedUser, emailWithPassword } from '../set-password.ts';
import { endOtherSessions, isOfOrganization, isWrongPassword, setPassword } from '../set-password.ts';

/** The right to set a password: from an email's link, or from a session together with the current password. */
type Grant =
  | { readonly kind: 'recovery'; readonly session: BackendSession; readonly waiting: PendingSignIn }
  /** `waiting` where an earlier attempt got no answer, so that the new password may be the current one. */
  | { readonly kind: 'session'; readonly session: BackendSession; readonly waiting: PendingSignIn | undefined };

/** How long a repeated form shares one result, in milliseconds: after a double click the browser shows the second response. */
const twiceMs = 60_000;

/** `/auth/password`: sets a new password, after an email's link or signed in, and ends the account's other sessions. */
export function passwordRoute(backend: BackendContext): AuthRoute {
  const { passwordPath } = backend.settings;
  const save = createSave(backend);
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
        if (!isFormOf(grant, fields)) throw otherAccount();
        return redirectOrJson(request, await save(request, grant, fields, returnTo));
      } catch (error) {
        const isMissing = isOwnRefusal(error, 'second_factor_required');
        if (isMissing && grant !== undefined) return askFactor(backend, request, grant, returnTo);
        return showForm(backend, request, grant, { returnTo, error: errorForForm(backend, request, error) });
      }
    },
  };
}

async function askFactor(
  backend: BackendContext,
  request: AuthRequest,
  grant: Grant,
  returnTo: string,
): Promise<Reply> {
  // A link's sign-in returns to this form by itself; a session must be led back to it.
  if (grant.kind === 'recovery') return redirectOrJson(request, verifyUrl(backend, request, returnTo));
  try {
    const over = await renewDenied(backend, request, grant.session, returnTo);
    if (over !== undefined) return over;
  } catch (error) {
    return showForm(backend, request, grant, { returnTo, error: errorForForm(backend, request, error) });
  }
  return redirectOrJson(request, localUrl(request, backend.settings.verifyPath, returnTo, { then: 'password' }));
}

/** @returns a function that sets a password and returns the next URL; a form that is posted twice is one attempt */
function createSave(backend: BackendContext) {
  const { now } = backend.settings;
  const set = createSharedOutcomes<PreparedSignIn>({ now, keepMs: () => twiceMs });
  // Shared only while it runs: later the same form may be a new request.
  const changes = createSharedOutcomes<PreparedSignIn | string>({ now });

  return async (request: AuthRequest, grant: Grant, fields: Fields, returnTo: string): Promise<string> => {
    const password = readNewPassword(fields);
    if (grant.kind === 'recovery') {
      const { waiting } = grant;
      if (waiting.needsFactor) return verifyUrl(backend, request, returnTo);
      const prepared = await set.share([waiting.content.access_token, password], async () => {
        const issued = await setAfterLink(backend, request, waiting, password);
        return prepareSignIn(backend, request, { kind: 'session', issued, returnTo }).catch((error: unknown) => {
          // The password is set: the same form must not be told that it is the old one.
          if (isOutage(error)) markUnanswered(backend, request, waiting);
          throw error;
        });
      });
      const next = await storeSignIn(backend, request, prepared);
      clearPending(backend, request);
      return next;
    }
    const { session, waiting } = grant;
    const key = [session.accessToken, fields.get('currentPassword') ?? '', password, returnTo];
    const changed = await changes.share(key, () =>
      changePassword(backend, request, session, { fields, password, returnTo, waiting }),
    );
    if (typeof changed === 'string') return changed;
    const next = await storeSignIn(backend, request, changed);
    if (waiting !== undefined) clearPending(backend, request);
    return next;
  };
}

/** A pending link takes precedence over this browser's session, unless the form has the session's current password. */
async function findGrant(backend: BackendContext, request: AuthRequest, fields?: Fields): Promise<Grant | undefined> {
  const waiting = await readPending(backend, request);
  const recovery = waiting?.kind === 'recovery' ? waiting : undefined;
  const ofLink = recovery && ({ kind: 'recovery', session: recovery.session, waiting: recovery } as const);
  if (fields?.has('currentPassword') !== true && ofLink !== undefined) return ofLink;
  const session = await request.resolveSession();
  // The new password of this session got no answer, so it may already be current. A form of another user stays that user's.
  const isSameUser = session?.user.id === waiting?.session.user.id;
  if (recovery?.isUnanswered === true && isSameUser) return ofLink;
  const change = waiting?.kind === 'change' && (session === null || isSameUser) ? waiting : undefined;
  // The backend has ended the session where it has set the password.
  const own = session ?? change?.session;
  return own?.adapter === 'backend' ? { kind: 'session', session: own, waiting: change } : undefined;
}

/** Whether the form was shown for this account: another tab may have signed in as another one meanwhile. */
function isFormOf({ session }: Grant, fields: Fields): boolean {
  const username = fields.get('username') ?? '';
  return username === '' || foldAccount(username) === foldAccount(session.user.email ?? '');
}

function otherAccount(): AuthError {
  return new FormProblem(
    'form',
    'passwordOtherAccount',
    'This form was for another account. Check the address and send it again.',
  );
}

/** The return path of the form or the query, else of the link. */
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
    if (isIncomplete) return redirect(303, verifyUrl(backend, request, returnTo));
    return passwordPage(backend, request, { ...shown, email: session.user.email ?? undefined, asksCurrent: false });
  }
  if (isOfOrganization(grant.session)) throw organizationSignIn();
  const email = emailWithPassword(grant.session);
  if (email === null) return redirect(303, localUrl(request, backend.settings.forgotPath, returnTo));
  return passwordPage(backend, request, { ...shown, email, asksCurrent: true });
}

async function setAfterLink(
  backend: BackendContext,
  request: AuthRequest,
  waiting: PendingSignIn,
  password: string,
): Promise<SdkSession> {
  const grant = { content: waiting.content, replaced: await sessionBeside(request, waiting) };
  try {
    return await setPassword(backend, request, grant, password);
  } catch (error) {
    if (!(error instanceof AuthError)) throw error;
    if (isOutage(error)) markUnanswered(backend, request, waiting);
    if (error.code !== 'same_password' || !waiting.isUnanswered) throw error;
    // The attempt without an answer has set the password.
    await endOtherSessions(backend, grant);
    return asIssued(waiting.content, claimedUser(waiting.session));
  }
}

/** How long setting the link's password waits for the session that it replaces, in milliseconds. */
const besideMs = 1_000;

/** The session of the same user that the link's sign-in replaces, where known. */
async function sessionBeside(request: AuthRequest, { session }: PendingSignIn): Promise<BackendSession | undefined> {
  const late = (): Error => new Error('late');
  const present = await answerWithin(request.resolveSession(), besideMs, late).catch(() => null);
  return present?.adapter === 'backend' && present.user.id === session.user.id ? present : undefined;
}

interface Change {
  readonly fields: Fields;
  readonly password: string;
  readonly returnTo: string;
  readonly waiting: PendingSignIn | undefined;
}

/**
 * Signs in with the current password, which the backend would not check, and continues with that session.
 *
 * @returns the sign-in that replaces the session, or the next URL where the session stays
 */
async function changePassword(
  backend: BackendContext,
  request: AuthRequest,
  session: BackendSession,
  change: Change,
): Promise<PreparedSignIn | string> {
  const { fields, returnTo, waiting } = change;
  if (isOfOrganization(session)) throw organizationSignIn();
  const email = emailWithPassword(session);
  if (email === null) return localUrl(request, backend.settings.forgotPath, returnTo);
  const password = fields.get('currentPassword') ?? '';
  const check = (tried: string): Promise<SdkSession> =>
    checkPresent(backend, request, session, { email, password: tried, ...readCaptcha(fields) });
  let issued: SdkSession;
  try {
    issued = await check(password);
  } catch (error) {
    if (waiting === undefined || !isWrongPassword(error)) throw error;
    // The attempt without an answer may have set the password. If it has not, the first refusal is the one to show.
    const saved = await check(change.password).catch(() => undefined);
    if (saved === undefined) throw error;
    await endOtherSessions(backend, { content: issuedContent(saved), replaced: session });
    return prepareSignIn(backend, request, { issued: saved, returnTo });
  }
  try {
    return await changeAs(backend, request, session, { ...change, issued, currentPassword: password });
  } catch (error) {
    if (!(error instanceof AuthError)) throw error;
    // The current password of the next attempt may already have been replaced.
    if (isOutage(error) && !needsFactor(issued) && !(await isSignedOut(backend, session))) {
      await beginPending(backend, request, { kind: 'change', issued, returnTo, isUnanswered: true });
    } else await backend.supabase.discard(issued);
    throw error;
  }
}

/** Continues with the session that the current password returned. */
async function changeAs(
  backend: BackendContext,
  request: AuthRequest,
  session: BackendSession,
  {
    issued,
    currentPassword,
    password,
    returnTo,
  }: Change & { readonly issued: SdkSession; readonly currentPassword: string },
): Promise<PreparedSignIn | string> {
  const refuseSignedOut = async (): Promise<void> => {
    if (await isSignedOut(backend, session)) throw new AuthError('invalid_state');
  };
  if (!needsFactor(issued)) {
    const grant = { content: issuedContent(issued), currentPassword, replaced: session };
    const changed = await setPassword(backend, request, grant, password);
    const prepared = await prepareSignIn(backend, request, { issued: changed, returnTo });
    await refuseSignedOut();
    return prepared;
  }
  const content = backend.source.contentOf(session);
  if (session.claims['aal'] === 'aal2' && content !== undefined) {
    await backend.supabase.discard(issued);
    await setPassword(backend, request, { content, currentPassword }, password);
    return returnTo;
  }
  await refuseSignedOut();
  throw new AuthError('second_factor_required', { reason: 'factor_missing' });
}

/** A concurrent sign-out takes precedence. */
async function isSignedOut({ source, resolver }: BackendContext, { claims }: BackendSession): Promise<boolean> {
  return (await resolver.revocationOf(source.factsOf(claims).sessionId)) === 'signed_out';
}
