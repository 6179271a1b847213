import { AuthError } from '../errors.ts';
import { readFields } from '../http/body.ts';
import type { AuthRoute } from '../http/router.ts';
import type { FormParts } from './form-routes.ts';
import { mailAnswer } from './form-answers.ts';
import { readCaptchaToken, readEmail } from './credentials.ts';
import { redirectUrl, rememberFlow } from './oauth-start.ts';
import { codeOf } from './provider-errors.ts';
import { unwrap } from './sign-in.ts';

/** `POST /auth/resend`: has the confirmation mail sent again, and says the same about every address. */
export function resendRoute(path: string, parts: FormParts): AuthRoute {
  const { settings, views, runFlow, flows, attempts, emit } = parts;
  return {
    path,
    option: 'resendPath',
    async post(exchange) {
      const fields = await readFields(exchange.req, exchange.res);
      const email = readEmail(fields);
      const captchaToken = readCaptchaToken(fields);
      const returnTo = exchange.returnTo(fields.get('returnTo'));
      const ask = () =>
        runFlow(exchange.cookies, async (flow) => {
          const emailRedirectTo = redirectUrl(exchange, settings);
          const options = { emailRedirectTo, ...(captchaToken === undefined ? {} : { captchaToken }) };
          const result = await flow.auth.resend({ type: 'signup', email, options });
          try {
            unwrap(flow, result, emit);
          } catch (error) {
            if (!saysWhoExists(error)) throw error;
          }
          return rememberFlow(flow, flows, exchange.cookies, 'mail', returnTo);
        });
      exchange.writeCookies(await attempts.run(exchange.req, email, ask, 'counts'));
      return mailAnswer(exchange, views, 'mail_sent', email, returnTo);
    },
  };
}

/** "You have just been sent one" is only ever said of an address that waits for its confirmation. */
function saysWhoExists(error: unknown): boolean {
  return error instanceof AuthError && codeOf(error.cause) === 'over_email_send_rate_limit';
}
