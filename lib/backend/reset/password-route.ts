import type { Session as SdkSession } from '@supabase/supabase-js';
import { answerWithin } from '../../tools/deadline.ts';
import { defined } from '../../tools/json.ts';
import { AuthError, isOutage } from '../../errors.ts';
import type { Fields } from '../../http/body.ts';
import { challengeWith } from '../../http/error-reply.ts';
import type { AuthRequest } from '../../http/request.ts';
import { redirect, redirectOrJson } from '../../http/reply.ts';
import type { Reply } from '../../http/reply.ts';
import type { AuthRoute } from '../../http/router.ts';
import type { BackendSession } from '../../types.ts';
import type { BackendContext } from '../context.ts';
import { isSessionOver, needsFactor } from '../supabase/account.ts';
import { FormProblem, readCaptcha, foldAccount } from '../forms/fields.ts';
import { errorForForm, localUrl, readReturnTo, subjectFormRoute } from '../forms/forms.ts';
import type { Next } from '../forms/forms.ts';
import { readNewPassword } from '../forms/new-password.ts';
import { noAddressPage, passwordPage } from './page.ts';
import { linkExpiredPage } from '../pages/notice.ts';
import { siteFor } from '../pages/parts.ts';
import { holdsPending, markTried, readPending } from '../sign-in/pending.ts';
import type { PendingSignIn } from '../sign-in/pending.ts';
import { isOwnRefusal, organizationSignIn } from '../supabase/provider-errors.ts';
import { issuedContent } from '../supabase/session-cookie.ts';
import { checkPresent, emailWithPassword, endOtherSessions, isOfOrganization, setPassword } from './set-password.ts';
import { advance, prepareSignIn, stepUrl, storeSignIn } from '../sign-in/sign-in.ts';
import { accountFirst, secondFactorFirst } from '../sign-in/step-up.ts';
import { endOver, hasNoAddress, renewDenied, sessionOf, signInFirst, subjectOf } from '../sign-in/subject.ts';
import type { Subject } from '../sign-in/subject.ts';

/** A request about a new password; without a subject its link has expired. */
interface PasswordRequest {
  readonly subject: Subject | undefined;
  readonly returnTo: string;
}

/** `/auth/password`: sets a new password, after an email's link or signed in, and ends the account's other sessions. */
export function passwordRoute(backend: BackendContext): AuthRoute {
  return subjectFormRoute<PasswordRequest>(
    backend,
    {
      path: backend.settings.paths.password,
      option: 'paths.password',
      isReturnTarget: true,
      page: (request, input, { subject }) => showForm(backend, request, subject, input),
      submit: (request, fields, returnTo, { subject }) => save(backend, request, subject, { fields, returnTo }),
      leave: (request, error, { subject, returnTo }) =>
        subject === undefined ? undefined : otherStep(backend, request, { subject, returnTo }, error),
    },
    async (request, fields) => {
      const subject = await findSubject(backend, request, fields);
      const pending = subject === undefined ? await readPending(backend, request) : subject.pending;
      const returnTo = readReturnTo(request, fields, pending?.returnTo);
      if (subject === undefined && pending?.needs.join() === 'factor')
        return secondFactorFirst(backend, request, formUrl(backend, request, returnTo));
      if (subject === undefined && isOfSession(backend, request, fields))
        return signInFirst(request, formUrl(backend, request, returnTo));
      if (subject?.pending === undefined && subject?.session.user.isAnonymous === true)
        return accountFirst(backend, request, formUrl(backend, request, returnTo));
      return { subject, returnTo };
    },
  );
}

/** A reply where the second factor comes first, or the backend has ended the session. A link that has ended has a page of its own. */
function otherStep(
  backend: BackendContext,
  request: AuthRequest,
  { subject, returnTo }: PasswordRequest & { readonly subject: Subject },
  error: unknown,
): Promise<Reply> | undefined {
  if (isOwnRefusal(error, 'second_factor_required')) return askFactor(backend, request, subject, returnTo);
  const isOver = subject.pending === undefined && isSessionOver(error);
  return isOver ? endOver(backend, request, subject, formUrl(backend, request, returnTo)) : undefined;
}

/** The form's own URL, which a missing step leads back to. */
function formUrl({ settings }: BackendContext, request: AuthRequest, returnTo: string): string {
  return localUrl(request, settings.paths.password, returnTo);
}

async function askFactor(
  backend: BackendContext,
  request: AuthRequest,
  subject: Subject,
  returnTo: string,
): Promise<Reply> {
  // A link's sign-in returns to this form by itself; a session must be led back to it.
  if (subject.pending !== undefined) return redirectOrJson(request, stepUrl(backend, request, 'factor', returnTo));
  try {
    const over = await renewDenied(backend, request, subject, returnTo);
    if (over !== undefined) return over;
  } catch (error) {
    return showForm(backend, request, subject, { returnTo, error: errorForForm(backend, request, error) });
  }
  return redirectOrJson(request, stepUrl(backend, request, 'factor', formUrl(backend, request, returnTo)));
}

/** A form with a current password is that of the session. */
function findSubject(backend: BackendContext, request: AuthRequest, fields?: Fields): Promise<Subject | undefined> {
  const isOfSession = fields?.has('currentPassword') === true;
  return isOfSession ? sessionOf(backend, request) : subjectOf(backend, request, 'password');
}

/** Whether someone wants to change a password, and not to set one after a link: a link's sign-in has a cookie. */
function isOfSession(backend: BackendContext, request: AuthRequest, fields?: Fields): boolean {
  if (fields !== undefined) return fields.has('currentPassword');
  return !holdsPending(backend, request);
}

/** Whether the form was shown for this account: another tab may have signed in as another one meanwhile. */
function isFormOf({ session }: Subject, fields: Fields): boolean {
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

/** An outage hides what the backend did. One whose keys are not up to date (`bad_jwt`) has done nothing. */
function mayBeDone(error: AuthError): boolean {
  return isOutage(error) && error.reason !== 'bad_jwt';
}

/** The backend may have set a password whose answer was lost: then it is the account's own. */
function maybeSaved({ code, cause, reason, retryAfter }: AuthError): AuthError {
  const options = { code, cause, ...defined({ reason, retryAfter }) };
  return new FormProblem('password', 'passwordMaybeSaved', 'It may have been saved. Sign in with it.', options);
}

interface Shown {
  readonly returnTo: string;
  readonly error?: AuthError;
}

function showForm(
  backend: BackendContext,
  request: AuthRequest,
  subject: Subject | undefined,
  { returnTo, error }: Shown,
): Reply {
  // A ban is known, and a new link would not help.
  const isOver = subject?.pending !== undefined && isSessionOver(error) && error.code !== 'user_banned';
  if (subject === undefined || isOver || error?.code === 'link_expired') {
    const { cause, reason } = error ?? {};
    const expired = new AuthError('link_expired', { cause, ...defined({ reason }) });
    return linkExpiredPage(siteFor(backend, request), request, { returnTo, error: expired });
  }
  backend.passwordRule.learn(error);
  const shown = { returnTo, error };
  const { pending, session } = subject;
  if (pending !== undefined) {
    if (pending.needs[0] === 'factor') return redirect(303, stepUrl(backend, request, 'factor', returnTo));
    return passwordPage(siteFor(backend, request), request, {
      ...shown,
      email: session.user.email ?? undefined,
      asksCurrent: false,
    });
  }
  if (isOfOrganization(session)) throw organizationSignIn();
  if (hasNoAddress(session)) return noAddressPage(siteFor(backend, request), request, returnTo);
  const email = emailWithPassword(session);
  if (email === null) return redirect(303, localUrl(request, backend.settings.paths.forgot, returnTo));
  return passwordPage(siteFor(backend, request), request, { ...shown, email, asksCurrent: true });
}

interface Form {
  readonly fields: Fields;
  readonly returnTo: string;
}

/** @returns the next URL, or as `changePassword` */
async function save(
  backend: BackendContext,
  request: AuthRequest,
  subject: Subject | undefined,
  form: Form,
): Promise<Next> {
  if (subject === undefined)
    throw new AuthError('link_expired', { message: 'Sign in, or ask for a link by email first.' });
  if (!isFormOf(subject, form.fields)) throw otherAccount();
  const password = readNewPassword(form.fields, backend.settings.passwordMinLength);
  const { pending, session } = subject;
  return pending === undefined
    ? changePassword(backend, request, session, { ...form, password })
    : setAfterLink(backend, request, { ...subject, pending }, { ...form, password });
}

interface Change extends Form {
  readonly password: string;
}

async function setAfterLink(
  backend: BackendContext,
  request: AuthRequest,
  subject: Subject & { readonly pending: PendingSignIn },
  { password, returnTo }: Change,
): Promise<string> {
  const { pending, content } = subject;
  if (pending.needs[0] === 'factor') return stepUrl(backend, request, 'factor', returnTo);
  try {
    const replaced = await sessionBeside(request, pending);
    const issued = await setPassword(backend, request, { content, replaced }, password);
    return await advance(backend, request, subject, { step: 'password', issued, returnTo });
  } catch (error) {
    if (!(error instanceof AuthError)) throw error;
    if (mayBeDone(error)) markTried(backend, request, pending);
    if (error.code !== 'same_password' || pending.tried !== true) throw error;
    // That attempt has not ended them here.
    await endOtherSessions(backend, { content });
    throw maybeSaved(error);
  }
}

/** How long setting the link's password waits for the session that it replaces, in milliseconds. */
const besideMs = 1_000;

/** The session of the same user that the link's sign-in replaces, where known. */
async function sessionBeside(request: AuthRequest, { session }: PendingSignIn): Promise<BackendSession | undefined> {
  const late = (): Error => new Error('late');
  const present = await answerWithin(request.resolveSession(), besideMs, late).catch(() => undefined);
  return present?.adapter === 'backend' && present.user.id === session.user.id ? present : undefined;
}

/**
 * Signs in with the current password, which the backend would not check, and continues with that session.
 *
 * @returns the next URL, or as `withoutPassword`
 */
async function changePassword(
  backend: BackendContext,
  request: AuthRequest,
  session: BackendSession,
  change: Change,
): Promise<Next> {
  if (isOfOrganization(session)) throw organizationSignIn();
  const email = emailWithPassword(session);
  if (email === null) return withoutPassword(backend, request, session, change.returnTo);
  const currentPassword = change.fields.get('currentPassword') ?? '';
  const given = { email, password: currentPassword, ...readCaptcha(change.fields) };
  const issued = await checkPresent(backend, request, session, given);
  try {
    return await changeAs(backend, request, session, { ...change, issued, currentPassword });
  } catch (error) {
    if (error instanceof AuthError) await backend.supabase.discard(issued);
    throw error;
  }
}

/** No password is known that could be changed: a page leads on, and a script gets the words with that page's URL. */
function withoutPassword(
  backend: BackendContext,
  request: AuthRequest,
  session: BackendSession,
  returnTo: string,
): Next {
  const { password, forgot } = backend.settings.paths;
  const [path, message] = hasNoAddress(session)
    ? [password, 'Your account has no email address. Without one, a password can’t be changed here.']
    : [forgot, 'Nothing was saved. Ask for a link by email to choose a password.'];
  const url = localUrl(request, path, returnTo);
  return request.wantsJson ? challengeWith(request, new AuthError('form_refused', { message }), url) : url;
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
): Promise<string> {
  const set = (grant: Parameters<typeof setPassword>[2]): Promise<SdkSession> =>
    setPassword(backend, request, { ...grant, currentPassword }, password).catch((error: unknown) => {
      throw error instanceof AuthError && mayBeDone(error) ? maybeSaved(error) : error;
    });
  if (!needsFactor(issued)) {
    const changed = await set({ content: issuedContent(issued), replaced: session });
    const prepared = await prepareSignIn(backend, request, { issued: changed, returnTo });
    await refuseSignedOut(backend, session);
    return storeSignIn(backend, request, prepared);
  }
  const content = backend.source.contentOf(session);
  if (session.claims['aal'] === 'aal2' && content !== undefined) {
    await backend.supabase.discard(issued);
    await set({ content });
    return returnTo;
  }
  await refuseSignedOut(backend, session);
  throw new AuthError('second_factor_required', { reason: 'factor_missing' });
}

/** A concurrent sign-out takes precedence. @throws {AuthError} `invalid_state` */
async function refuseSignedOut({ source, resolver }: BackendContext, { claims }: BackendSession): Promise<void> {
  const revocation = await resolver.signOutOf(source.factsOf(claims).sessionId);
  if (revocation === 'signed_out') throw new AuthError('invalid_state');
}
