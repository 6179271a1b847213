import type { Session as SdkSession } from '@supabase/supabase-js';
import { AuthError } from '../../errors.ts';
import type { AuthRequest } from '../../http/auth-request.ts';
import { readFields } from '../../http/body.ts';
import { redirectOrJson } from '../../http/reply.ts';
import { clientFacts } from '../../http/message.ts';
import type { AuthRoute } from '../../http/router.ts';
import type { Session } from '../../types.ts';
import { mailAnswer, sendMail } from '../account/mail-routes.ts';
import type { BackendContext } from '../context.ts';
import { errorForForm, failureElsewhere, formElsewhere, redirectUrl } from '../forms.ts';
import { readCaptcha, readEmail, readNewPassword, readReturnTo, rethrowAs } from '../forms.ts';
import { signUpPage } from '../pages/credentials.ts';
import type { StoredContent } from '../session-cookie.ts';
import type { SupabaseCall } from '../supabase-call.ts';
import { completeSignIn } from './sign-in.ts';

/** What a sign-up asks for. */
interface NewAccount {
  readonly email: string;
  readonly password: string;
  readonly options: { readonly emailRedirectTo: string };
}

/** GoTrue tells a visitor without an account who has one; a sign-up does not. */
const addressInUse = ['email_exists', 'user_already_exists'];

/** `/auth/signup`: the form; its POST creates an account with email and password. */
export function signUpRoute(backend: BackendContext): AuthRoute {
  const { settings } = backend;
  const { signupPath, pages } = settings;
  const signUp = createSignUp(backend);

  return {
    path: signupPath,
    option: 'signupPath',
    get(request) {
      const returnTo = readReturnTo(request);
      const elsewhere = formElsewhere(request, pages.signUp, signupPath, returnTo);
      return elsewhere ?? signUpPage(backend, request, { returnTo });
    },
    async post(request) {
      const fields = await readFields(request.req, request.res);
      const returnTo = readReturnTo(request, fields);
      try {
        const email = readEmail(fields);
        const password = readNewPassword(fields);
        const options = { emailRedirectTo: redirectUrl(request, settings), ...readCaptcha(fields) };
        const redirectTo = await signUp(request, { email, password, options }, returnTo);
        if (redirectTo === null) return mailAnswer(backend, request, { kind: 'confirmation_sent', email, returnTo });
        return redirectOrJson(request, redirectTo);
      } catch (error) {
        const shown = errorForForm(backend, request, error);
        if (pages.signUp !== undefined) return failureElsewhere(request, pages.signUp, shown, returnTo);
        return signUpPage(backend, request, { returnTo, email: fields.get('email'), error: shown });
      }
    },
  };
}

/** @returns a function that creates an account, and says where to go next: `null` where an email has to be confirmed first */
function createSignUp(backend: BackendContext) {
  /** Whether new addresses have to be confirmed: only the project's answers say so. */
  let sendsMail = false;

  return async (request: AuthRequest, account: NewAccount, returnTo: string): Promise<string | null> => {
    const guest = await guestSession(backend, request);
    let isConverted = false as boolean;
    const create = async ({ auth, unwrap }: SupabaseCall): Promise<SdkSession | null> => {
      const { session } = unwrap(await auth.signUp(account));
      sendsMail = session === null;
      return session;
    };
    const convert = async (call: SupabaseCall): Promise<SdkSession | null> => {
      try {
        isConverted = await convertGuest(call, account);
        sendsMail = !isConverted;
        return null;
      } catch (error) {
        if (isGone(error)) return create(call);
        throw error;
      }
    };
    const mail = { email: account.email, returnTo, sendsMail, session: guest };
    const ask = guest === undefined ? create : convert;
    const telling = guest === undefined ? [] : addressInUse;
    const session = await sendMail(backend, request, { ...mail, ask, telling }).catch(refuseByHook);
    if (guest !== undefined && isConverted) return completeGuest(backend, request, guest, returnTo);
    return session === null ? null : completeSignIn(backend, request, session, returnTo);
  };
}

/** GoTrue calls what a `before_user_created` hook refuses `unknown`; its text is the project's and not shown. */
const refuseByHook = rethrowAs('signup_refused', ({ reason }) => reason === 'unknown');

/** The session of a visitor without an account (`is_anonymous`), where the browser has one. */
async function guestSession({ source }: BackendContext, request: AuthRequest): Promise<StoredContent | undefined> {
  const session = await request.resolveSession();
  return session?.adapter === 'backend' && session.user.isAnonymous ? source.contentOf(session) : undefined;
}

/**
 * Adds address and password to the user that a visitor without an account already is, so that the user's id stays. GoTrue stores the
 * password at once, so a form that is sent twice meets `same_password`: then the address alone is sent.
 *
 * @returns whether the account is complete; else an email has to be confirmed first, and the anonymous session goes on
 * @throws {AuthError} as `unwrap`; `isGone` tells of a session that the backend has ended
 */
async function convertGuest({ auth, unwrap }: SupabaseCall, account: NewAccount): Promise<boolean> {
  const { email, password, options } = account;
  const update = async (attributes: { readonly email: string; readonly password?: string }): Promise<boolean> => {
    const { user } = unwrap(await auth.updateUser(attributes, options));
    return user.is_anonymous !== true;
  };
  try {
    return await update({ email, password });
  } catch (error) {
    if (!(error instanceof AuthError) || error.reason !== 'same_password') throw error;
    return await update({ email });
  }
}

const gone: ReadonlySet<string | undefined> = new Set([
  'session_not_found',
  'user_not_found',
  'session_expired',
  'bad_jwt',
]);

/** Whether the anonymous session has ended at the backend, so that there is no user to convert. */
function isGone(error: unknown): boolean {
  return error instanceof AuthError && gone.has(error.reason);
}

/**
 * Signs in a user who is complete at once: a refresh brings the claims that say so, and other requests of the guest share it.
 *
 * @returns where to go next
 * @throws {AuthError} `unauthenticated` where the session has ended meanwhile, or as `completeSignIn`: the guest's session ends then, as it
 * does at the backend
 */
async function completeGuest(
  backend: BackendContext,
  request: AuthRequest,
  guest: StoredContent,
  returnTo: string,
): Promise<string> {
  const { resolver, source } = backend;
  const isComplete = (session: Session): boolean => session.adapter === 'backend' && !session.user.isAnonymous;
  const renewal = await resolver.renewChanged(guest, isComplete, clientFacts(request.req, request.peer));
  if (renewal.kind !== 'renewed') throw new AuthError('unauthenticated');
  try {
    return await completeSignIn(backend, request, renewal.stored.content as unknown as SdkSession, returnTo);
  } catch (error) {
    const { sessionId } = source.toStored(guest);
    // Out of reach, the coordinator does not hear of it; this process knows.
    if (sessionId !== undefined) await resolver.endSession({ sessionId }).catch(() => undefined);
    throw error;
  }
}
