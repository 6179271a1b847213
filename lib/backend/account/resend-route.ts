import { readFields } from '../../http/body.ts';
import type { AuthRoute } from '../../http/router.ts';
import { readCaptchaToken, readEmail } from '../credentials.ts';
import { mailAnswer } from '../form-answers.ts';
import type { FormParts } from '../sign-in/form-routes.ts';
import { redirectUrl } from '../sign-in/oauth-start.ts';
import { unwrap } from '../sign-in/sign-in.ts';

/** `POST /auth/resend`: has the confirmation email sent again, and says the same about every address. */
export function resendRoute(path: string, { settings, views, runMailCall, emit }: FormParts): AuthRoute {
  return {
    path,
    option: 'resendPath',
    async post(request) {
      const fields = await readFields(request.req, request.res);
      const email = readEmail(fields);
      const captchaToken = readCaptchaToken(fields);
      const returnTo = request.returnTo(fields.get('returnTo'));
      const emailRedirectTo = redirectUrl(request, settings);
      const options = { emailRedirectTo, ...(captchaToken === undefined ? {} : { captchaToken }) };
      await runMailCall(request, {
        email,
        returnTo,
        sendsMail: true,
        async send(flow) {
          unwrap(flow, await flow.auth.resend({ type: 'signup', email, options }), emit);
          return null;
        },
      });
      return mailAnswer(request, views, 'mail_sent', email, returnTo);
    },
  };
}
