import { readFields } from '../../http/body.ts';
import type { AuthRoute } from '../../http/router.ts';
import type { BackendContext } from '../context.ts';
import { errorForForm, formElsewhere, mailAnswer } from '../form-answers.ts';
import { readCaptcha, readEmail, readReturnTo } from '../form-fields.ts';
import { forgotPage } from '../pages/forgot-page.ts';
import { redirectUrl } from '../sign-in/start-flow.ts';

/** `/auth/forgot`: has a link for a new password sent, and says the same about every address. */
export function forgotRoute(backend: BackendContext): AuthRoute {
  const { settings, sendMail } = backend;
  const { forgotPath } = settings;
  return {
    path: forgotPath,
    option: 'forgotPath',
    get(request) {
      const returnTo = readReturnTo(request);
      return formElsewhere(request, undefined, forgotPath, returnTo) ?? forgotPage(backend, request, { returnTo });
    },
    async post(request) {
      const fields = await readFields(request.req, request.res);
      const returnTo = readReturnTo(request, fields);
      try {
        const email = readEmail(fields);
        const options = { redirectTo: redirectUrl(request, settings), ...readCaptcha(fields) };
        await sendMail(request, {
          email,
          returnTo,
          sendsMail: true,
          kind: 'recovery',
          async ask({ auth, unwrap }) {
            unwrap(await auth.resetPasswordForEmail(email, options));
            return null;
          },
        });
        return mailAnswer(backend, request, { kind: 'forgot_sent', email, returnTo });
      } catch (error) {
        const shown = errorForForm(backend, request, error);
        return forgotPage(backend, request, { returnTo, email: fields.get('email'), error: shown });
      }
    },
  };
}
