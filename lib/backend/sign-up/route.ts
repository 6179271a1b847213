import type { Session as SdkSession } from '@supabase/supabase-js';
import { defined } from '../../tools/json.ts';
import { AuthError, isOutage } from '../../errors.ts';
import type { AuthRequest } from '../../http/request.ts';
import { challengeWith } from '../../http/error-reply.ts';
import { accountName } from '../../pages/texts.ts';
import type { Reply } from '../../http/reply.ts';
import type { AuthRoute } from '../../http/router.ts';
import type { BackendContext } from '../context.ts';
import { FormProblem, badAddress, readCaptcha, readEmail, rethrowAs } from '../forms/fields.ts';
import { formRoute, redirectUrl, wantsOtherAccount } from '../forms/forms.ts';
import type { Next } from '../forms/forms.ts';
import { mailAnswer, sendMail } from '../forms/mail.ts';
import { readNewPassword } from '../forms/new-password.ts';
import { accountExistsPage, confirmationSent, signUpPage } from './page.ts';
import { siteFor } from '../pages/parts.ts';
import { signedInPage } from '../pages/sign-in.ts';
import { isUnreached } from '../supabase/connection.ts';
import { isTimeout, rethrowStaleKeys } from '../supabase/provider-errors.ts';
import type { SupabaseCall } from '../supabase/supabase-call.ts';
import { completeGuest, guestSession, guestState, isGone } from '../sign-in/guest.ts';
import { completeSignIn } from '../sign-in/sign-in.ts';
import { sessionAtHand } from '../sign-in/subject.ts';
import { readSignUpData } from './data.ts';

/** The data of a sign-up. */
interface NewAccount {
  readonly email: string;
  readonly password: string;
  readonly options: { readonly emailRedirectTo: string; readonly data?: object };
}

/** GoTrue errors that reveal an existing account to an anonymous user; a sign-up does not return them. */
export const addressInUse = ['email_exists', 'user_already_exists'];

/** `/auth/signup`: the form; its POST creates an account with email and password. */
export function signUpRoute(backend: BackendContext): AuthRoute {
  const { settings } = backend;
  const signUp = createSignUp(backend);
  return formRoute(backend, {
    path: settings.signupPath,
    option: 'signupPath',
    ownPage: settings.pages.signUp,
    provesSender: true,
    async page(request, { returnTo, fields, error }) {
      const isOtherAccount = wantsOtherAccount(request, fields);
      const session = await sessionAtHand(request);
      const isGuest = session?.user.isAnonymous === true;
      if (session !== undefined && !isGuest && !isOtherAccount && error === undefined) {
        return signedInPage(siteFor(backend, request), request, { returnTo, account: accountName(session) });
      }
      backend.passwordRule.learn(error);
      return signUpPage(siteFor(backend, request), request, {
        returnTo,
        isOtherAccount,
        isGuest,
        email: fields.get('email'),
        error,
      });
    },
    async submit(request, fields, returnTo) {
      const email = readEmail(fields);
      const password = readNewPassword(fields, settings.passwordMinLength);
      const read = () => readSignUpData(settings.signUp, request, fields);
      // Behind the throttle: a check of invitations, say, must not tell what it knows to anyone who keeps asking.
      const data = typeof settings.signUp === 'object' ? await backend.attempts.runCheck(request.req, read) : undefined;
      const options = {
        emailRedirectTo: redirectUrl(request, settings),
        ...readCaptcha(fields),
        ...defined({ data }),
      };
      const next = await signUp(request, { email, password, options }, returnTo);
      return next ?? mailAnswer(backend, request, { ...confirmationSent(settings), email, returnTo });
    },
  });
}

/** @returns a function that creates an account and returns the reply or the next URL: `null` where an email must be confirmed first */
function createSignUp(backend: BackendContext) {
  /** Whether new addresses must be confirmed: known only from the project's responses. */
  let confirms: boolean | undefined;

  return async (request: AuthRequest, account: NewAccount, returnTo: string): Promise<Next | null> => {
    const found = await guestSession(backend, request);
    // Before the email, whose verifier must exist when the response is sent.
    const state = found && (await guestState(backend, request, found));
    if (found !== undefined && typeof state === 'object') {
      const next = await completeGuest(backend, request, found, returnTo);
      return accountExists(backend, request, state.account, next);
    }
    const guest = state === 'anonymous' ? found : undefined;
    let isConverted = false as boolean;
    const create = async ({ auth, unwrap }: SupabaseCall): Promise<SdkSession | null> => {
      const { session } = unwrap(await auth.signUp(account));
      confirms = session === null;
      return session;
    };
    const convert = async (call: SupabaseCall): Promise<SdkSession | null> => {
      try {
        isConverted = await convertGuest(call, account);
        // Only then: whether a complete account was confirmed at once is not known, and a guest could make it so.
        if (!isConverted) confirms = true;
        return null;
      } catch (error) {
        return isGone(error) ? create(call) : rethrowStaleKeys(backend, guest?.access_token ?? '')(error);
      }
    };
    const known = { sendsMail: confirms === true, sendsNone: confirms === false };
    const mail = { email: account.email, returnTo, ...known, session: guest, plain: badAddress };
    const ask = guest === undefined ? create : convert;
    const telling = guest === undefined ? [] : addressInUse;
    const session = await sendMail(backend, request, { ...mail, ask, telling })
      .catch(refuseByHook)
      .catch(rethrowLost);
    if (guest !== undefined && isConverted) return completeGuest(backend, request, guest, returnTo);
    return session === null ? null : completeSignIn(backend, request, session, returnTo);
  };
}

/** A guest who had signed up before, and now again: with another address, say. Nothing of it was taken. */
function accountExists(backend: BackendContext, request: AuthRequest, account: string, next: string): Reply {
  const message = `You already have an account with ${account}. Nothing was changed.`;
  const error = new FormProblem('form', 'accountExists', message, { code: 'email_in_use', values: { account } });
  if (request.wantsJson) return challengeWith(request, error, request.urlOf(next));
  return accountExistsPage(siteFor(backend, request), request, { account, returnTo: next, error });
}

/** GoTrue reports a refusal by a `before_user_created` hook as `unknown`; the hook's text is not shown. */
const refuseByHook = rethrowAs('signup_refused', ({ reason }) => reason === 'unknown');

/** For `catch`: an answer that was lost or late may be that of an account that was created. Where nothing was reached, none was. */
function rethrowLost(error: unknown): never {
  if (!(error instanceof AuthError) || !isLost(error)) throw error;
  const { code, cause, reason, retryAfter } = error;
  const message = 'Your account may have been created. Check your email, or sign in, before you try again.';
  throw new FormProblem('email', 'signUpMaybeDone', message, { code, cause, reason, ...defined({ retryAfter }) });
}

function isLost(error: AuthError): boolean {
  return isTimeout(error) || (isOutage(error) && error.reason === undefined && !isUnreached(error.cause));
}

/**
 * Adds address and password to an anonymous user, whose id stays. GoTrue stores the password at
 * once, so a form that is posted twice gets `same_password`: then only the address is sent.
 *
 * @returns whether the account is complete; otherwise an email must be confirmed first, and the anonymous session stays
 * @throws {AuthError} as `unwrap`; `isGone` detects a session that the backend has ended
 */
async function convertGuest({ auth, unwrap }: SupabaseCall, account: NewAccount): Promise<boolean> {
  const { email, password, options } = account;
  const { data, ...emailOptions } = options;
  const update = async (attributes: Pick<NewAccount, 'email'> & { readonly password?: string }): Promise<boolean> => {
    const { user } = unwrap(await auth.updateUser({ ...attributes, ...defined({ data }) }, emailOptions));
    return user.is_anonymous !== true;
  };
  try {
    return await update({ email, password });
  } catch (error) {
    if (!(error instanceof AuthError) || error.reason !== 'same_password') throw error;
    return await update({ email });
  }
}
