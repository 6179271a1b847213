import { AuthError } from '../../errors.ts';
import type { AuthRequest } from '../../http/request.ts';
import type { Reply } from '../../http/reply.ts';
import type { AuthRoute } from '../../http/router.ts';
import type { BackendContext } from '../context.ts';
import { readCaptcha, readEmail } from '../forms/fields.ts';
import { errorForForm, formRoute, redirectUrl } from '../forms/forms.ts';
import { mailAnswer, sendMail } from '../forms/mail.ts';
import { mailPage } from '../pages/notice.ts';
import type { MailNotice } from '../pages/notice.ts';
import { siteFor } from '../pages/parts.ts';
import { mailSent } from './page.ts';
import { resendAfter } from '../pages/resend.ts';
import type { SupabaseCall } from '../supabase/supabase-call.ts';

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
      const notice = { ...mailSent(settings), email, returnTo };
      try {
        await sendMail(backend, request, { email, returnTo, sendsMail: true, ask });
      } catch (error) {
        return tooSoon(backend, request, notice, error);
      }
      return mailAnswer(backend, request, notice);
    },
  });
}

/** The same page, with the time until its button works again. @throws every other error, and all where the client wants JSON */
function tooSoon(backend: BackendContext, request: AuthRequest, notice: MailNotice, failure: unknown): Reply {
  if (!(failure instanceof AuthError) || failure.retryAfter === undefined || failure.code !== 'rate_limited') {
    throw failure;
  }
  const error = errorForForm(backend, request, failure);
  const resend = resendAfter(failure.retryAfter, backend.settings.now());
  return mailPage(siteFor(backend, request), request, { ...notice, error, resend });
}
