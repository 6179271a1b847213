import type { AuthRoute } from '../../http/router.ts';
import type { BackendContext } from '../context.ts';
import { readCaptcha, readEmail } from '../forms/fields.ts';
import { formRoute, redirectUrl, wantsOtherAccount } from '../forms/forms.ts';
import { mailAnswer, sendMail } from '../forms/mail.ts';
import { forgotPage, forgotSent, noAddressPage } from './page.ts';
import { siteFor } from '../pages/parts.ts';
import { hasNoAddress, memberAtHand } from '../sign-in/subject.ts';
import type { SupabaseCall } from '../supabase/supabase-call.ts';

/** `/auth/forgot`: requests an email with a link for a new password; the response is the same for every address. */
export function forgotRoute(backend: BackendContext): AuthRoute {
  const { settings } = backend;
  return formRoute(backend, {
    path: settings.paths.forgot,
    option: 'paths.forgot',
    async page(request, { returnTo, fields, error }) {
      const isOtherAccount = wantsOtherAccount(request, fields);
      const member = isOtherAccount ? undefined : await memberAtHand(request);
      const site = siteFor(backend, request);
      // The email would never come.
      if (member !== undefined && error === undefined && hasNoAddress(member))
        return noAddressPage(site, request, returnTo);
      const email = fields.get('email') ?? member?.user.email ?? undefined;
      return forgotPage(site, request, { returnTo, email, error, isMember: member !== undefined });
    },
    async submit(request, fields, returnTo) {
      const email = readEmail(fields);
      const options = { redirectTo: redirectUrl(request, settings), ...readCaptcha(fields) };
      const ask = async ({ auth, unwrap }: SupabaseCall): Promise<null> => {
        unwrap(await auth.resetPasswordForEmail(email, options));
        return null;
      };
      await sendMail(backend, request, { email, returnTo, sendsMail: true, kind: 'recovery', ask });
      return mailAnswer(backend, request, { ...forgotSent(settings), email, returnTo });
    },
  });
}
