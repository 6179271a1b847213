import { AuthError } from '../../errors.ts';
import type { Fields } from '../../http/body.ts';
import type { AuthRequest } from '../../http/request.ts';
import type { Reply } from '../../http/reply.ts';
import type { AuthRoute } from '../../http/router.ts';
import type { BackendContext } from '../context.ts';
import { has, readAction } from '../forms/action.ts';
import { foldAccount, readCaptcha, readEmail } from '../forms/fields.ts';
import { errorForForm, formRoute, redirectUrl } from '../forms/forms.ts';
import { mailAnswer, sendMail } from '../forms/mail.ts';
import { mailPage } from '../pages/notice.ts';
import type { MailNotice } from '../pages/notice.ts';
import { siteFor } from '../pages/parts.ts';
import { mailSent } from './page.ts';
import { addressInUse } from './route.ts';
import { resendAfter, waitIn } from '../pages/resend.ts';
import { guestSession } from '../sign-in/guest.ts';
import type { StoredContent } from '../supabase/session-cookie.ts';
import type { SupabaseCall } from '../supabase/supabase-call.ts';

/** `POST /auth/resend`: requests the confirmation email again, also of a guest’s sign-up; the response is the same for every address. */
export function resendRoute(backend: BackendContext): AuthRoute {
  const { settings } = backend;
  return formRoute(backend, {
    path: settings.paths.resend,
    option: 'paths.resend',
    async submit(request, fields, returnTo) {
      const email = readEmail(fields);
      const notice = { ...mailSent(settings), email, returnTo };
      if (actionOf(fields) === 'reload') return showAgain(backend, request, notice, fields);
      const options = { emailRedirectTo: redirectUrl(request, settings), ...readCaptcha(fields) };
      const guest = await guestSession(backend, request);
      const ask = async (call: SupabaseCall): Promise<null> => {
        const { auth, unwrap } = call;
        // GoTrue finds a sign-up by the account's present address, and a guest has none.
        const isOfGuest = guest !== undefined && (await waitsFor(call, guest, email));
        if (isOfGuest) unwrap(await auth.updateUser({ email }, options));
        else unwrap(await auth.resend({ type: 'signup', email, options }));
        return null;
      };
      try {
        await sendMail(backend, request, {
          email,
          returnTo,
          sendsMail: true,
          session: guest,
          telling: addressInUse,
          ask,
        });
      } catch (error) {
        return tooSoon(backend, request, notice, error);
      }
      return mailAnswer(backend, request, notice);
    },
  });
}

/** Whether the guest has signed up with this address, which is not confirmed yet. Where the backend does not say so, it is not known. */
async function waitsFor({ auth }: SupabaseCall, guest: StoredContent, email: string): Promise<boolean> {
  const { data } = await auth.getUser(guest.access_token);
  return foldAccount(data.user?.new_email ?? '') === foldAccount(email);
}

const actionOf = (fields: Fields) => readAction(fields, { reload: has('reload') }, 'send');

/** The longest wait that an error names, in seconds. */
const longest = 24 * 60 * 60;

/** The page of a refusal anew: after the time that it named it has its button again, and no email was asked for. */
function showAgain(backend: BackendContext, request: AuthRequest, notice: MailNotice, fields: Fields): Reply {
  // A page's form alone has it.
  if (request.wantsJson) throw new AuthError('invalid_request');
  const resend = waitIn(fields, 'resendAt', { now: backend.settings.now(), longest });
  const error = resend && new AuthError('rate_limited', { retryAfter: resend.seconds });
  return mailPage(siteFor(backend, request), request, { ...notice, error, resend });
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
