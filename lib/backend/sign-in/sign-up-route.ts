import { AuthError } from '../../errors.ts';
import { readFields } from '../../http/body.ts';
import { redirectOrJson } from '../../http/reply.ts';
import type { AuthRoute } from '../../http/router.ts';
import type { BackendContext } from '../context.ts';
import { errorForForm, failureElsewhere, formElsewhere, mailAnswer } from '../form-answers.ts';
import { readCaptcha, readEmail, readNewPassword, readReturnTo } from '../form-fields.ts';
import { signUpPage } from '../pages/sign-up-page.ts';
import { redirectUrl } from './start-flow.ts';

/** `/auth/signup`: the form; its POST creates an account with email and password. */
export function signUpRoute(backend: BackendContext): AuthRoute {
  const { settings, sendMail, signIn } = backend;
  const { signupPath, pages } = settings;
  /** Whether new addresses have to be confirmed: only the project's answers say so. */
  let sendsMail = false;

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
        const session = await sendMail(request, {
          email,
          returnTo,
          sendsMail,
          async ask({ auth, unwrap }) {
            const { session: issued } = unwrap(await auth.signUp({ email, password, options }));
            sendsMail = issued === null;
            return issued;
          },
        }).catch(refuseByHook);
        if (session === null) return mailAnswer(backend, request, { kind: 'confirmation_sent', email, returnTo });
        return redirectOrJson(request, await signIn.complete(request, session, returnTo));
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
