import { readFields } from '../../http/body.ts';
import type { AuthRoute } from '../../http/router.ts';
import type { BackendContext } from '../context.ts';
import { mailAnswer } from '../form-answers.ts';
import { readCaptcha, readEmail, readReturnTo } from '../form-fields.ts';
import { redirectUrl } from '../sign-in/start-flow.ts';

/** `POST /auth/resend`: has the confirmation email sent again, and says the same about every address. */
export function resendRoute(backend: BackendContext): AuthRoute {
  const { settings, sendMail } = backend;
  return {
    path: settings.resendPath,
    option: 'resendPath',
    async post(request) {
      const fields = await readFields(request.req, request.res);
      const email = readEmail(fields);
      const returnTo = readReturnTo(request, fields);
      const options = { emailRedirectTo: redirectUrl(request, settings), ...readCaptcha(fields) };
      await sendMail(request, {
        email,
        returnTo,
        sendsMail: true,
        async ask({ auth, unwrap }) {
          unwrap(await auth.resend({ type: 'signup', email, options }));
          return null;
        },
      });
      return mailAnswer(backend, request, { kind: 'mail_sent', email, returnTo });
    },
  };
}
