import type { AuthRoute } from '../../http/router.ts';
import type { BackendContext } from '../context.ts';
import { readCaptcha, readEmail } from '../form-fields.ts';
import { formRoute, redirectUrl } from '../forms.ts';
import { mailAnswer, sendMail } from '../mail.ts';
import { forgotPage } from '../pages/credentials.ts';
import type { SupabaseCall } from '../supabase-call.ts';

/** `/auth/forgot`: requests an email with a link for a new password; the response is the same for every address. */
export function forgotRoute(backend: BackendContext): AuthRoute {
  const { settings } = backend;
  return formRoute(backend, {
    path: settings.forgotPath,
    option: 'forgotPath',
    page: (request, { returnTo, fields, error }) =>
      forgotPage(backend, request, { returnTo, email: fields.get('email'), error }),
    async submit(request, fields, returnTo) {
      const email = readEmail(fields);
      const options = { redirectTo: redirectUrl(request, settings), ...readCaptcha(fields) };
      const ask = async ({ auth, unwrap }: SupabaseCall): Promise<null> => {
        unwrap(await auth.resetPasswordForEmail(email, options));
        return null;
      };
      await sendMail(backend, request, { email, returnTo, sendsMail: true, kind: 'recovery', ask });
      return mailAnswer(backend, request, { kind: 'forgot_sent', email, returnTo });
    },
  });
}

/** `POST /auth/resend`: requests the confirmation email again; the response is the same for every address. */
export function resendRoute(backend: BackendContext): AuthRoute {
  const { settings } = backend;
  return formRoute(backend, {
    path: settings.resendPath,
    option: 'resendPath',
    async submit(request, fields, returnTo) {
      const email = readEmail(fields);
      const options = { emailRedirectTo: redirectUrl(request, settings), ...readCaptcha(fields) };
      const ask = async ({ auth, unwrap }: SupabaseCall): Promise<null> => {
        unwrap(await auth.resend({ type: 'signup', email, options }));
        return null;
      };
      await sendMail(backend, request, { email, returnTo, sendsMail: true, ask });
      return mailAnswer(backend, request, { kind: 'mail_sent', email, returnTo });
    },
  });
}
