import type { Session as SdkSession } from '@supabase/supabase-js';
import { AuthError } from '../../errors.ts';
import type { AuthRequest } from '../../http/auth-request.ts';
import { readFields } from '../../http/body.ts';
import { redirectOrJson } from '../../http/reply.ts';
import type { AuthRoute } from '../../http/router.ts';
import type { BackendContext } from '../context.ts';
import { errorForForm, failureElsewhere, formElsewhere, mailAnswer } from '../form-answers.ts';
import { readCaptcha, readEmail, readNewPassword, readReturnTo } from '../form-fields.ts';
import { signUpPage } from '../pages/sign-up-page.ts';
import type { SupabaseCall } from '../supabase.ts';
import { completeGuest, convertGuest, guestSession, isGone } from './convert-guest.ts';
import type { NewAccount } from './convert-guest.ts';
import { redirectUrl } from './start-flow.ts';

/** GoTrue tells a visitor without an account who has one; a sign-up does not. */
const addressInUse = ['email_exists', 'user_already_exists'];

/** `/auth/signup`: the form; its POST creates an account with email and password. */
export function signUpRoute(backend: BackendContext): AuthRoute {
  const { settings, sendMail, signIn } = backend;
  const { signupPath, pages } = settings;
  /** Whether new addresses have to be confirmed: only the project's answers say so. */
  let sendsMail = false;

  /** @returns where to go next; `null` where an email has to be confirmed first */
  async function signUp(request: AuthRequest, account: NewAccount, returnTo: string): Promise<string | null> {
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
    const { email } = account;
    const mail = { email, returnTo, sendsMail, session: guest };
    const ask = guest === undefined ? create : convert;
    const telling = guest === undefined ? [] : addressInUse;
    const session = await sendMail(request, { ...mail, ask, telling }).catch(refuseByHook);
    if (guest !== undefined && isConverted) return completeGuest(backend, request, guest, returnTo);
    return session === null ? null : signIn.complete(request, session, returnTo);
  }

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

/** GoTrue calls what a `before_user_created` hook refuses `unknown`; its text is the project's and not shown. */
function refuseByHook(error: unknown): never {
  if (!(error instanceof AuthError) || error.reason !== 'unknown') throw error;
  throw new AuthError('signup_refused', { cause: error.cause, reason: error.reason });
}
