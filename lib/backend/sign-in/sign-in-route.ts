import { accountName } from '../../pages/texts.ts';
import type { AuthRoute } from '../../http/router.ts';
import type { BackendContext } from '../context.ts';
import { formRoute, readReturnTo, wantsOtherAccount } from '../forms/forms.ts';
import { siteFor } from '../pages/parts.ts';
import { signedInPage, signInPage } from '../pages/sign-in.ts';
import { providersOf } from '../supabase/account.ts';
import { accountFirst } from './step-up.ts';
import { hasNoAddress, sessionAtHand } from './subject.ts';

/** `/auth/login`: the sign-in page, to which each room adds its part. */
export function signInRoute(backend: BackendContext): AuthRoute {
  const { settings, signIn, ways } = backend;
  const submit = signIn.find((part) => part.submit)?.submit;
  return formRoute(backend, {
    path: settings.loginPath,
    option: 'loginPath',
    ownPage: settings.pages.signIn,
    async open(request) {
      request.errorReturnTo = readReturnTo(request);
      for (const { open } of signIn) {
        const reply = await open?.(backend, request);
        if (reply !== undefined) return reply;
      }
      return undefined;
    },
    async page(request, { returnTo, fields, error }) {
      const isOtherAccount = wantsOtherAccount(request, fields);
      const atHand = isOtherAccount || error !== undefined ? undefined : await sessionAtHand(request);
      // A guard's `maxAge` requires a new sign-in, even with a session.
      const isFresh = request.query.has('max_age');
      // Which a guest cannot give.
      if (isFresh && atHand?.user.isAnonymous === true && ways.signUp !== undefined)
        return accountFirst(backend, request, returnTo);
      const session = atHand?.user.isAnonymous === true ? undefined : atHand;
      if (session !== undefined && !isFresh) {
        return signedInPage(siteFor(backend, request), request, { returnTo, account: accountName(session) });
      }
      const email = fields.get('email') ?? session?.user.email ?? undefined;
      const known = session !== undefined &&
        hasNoAddress(session) && { hasNoAddress: true, providers: providersOf(session) };
      return signInPage(siteFor(backend, request), request, { returnTo, isOtherAccount, email, error, ...known });
    },
    ...(submit && { submit: (request, fields, returnTo) => submit(backend, request, fields, returnTo) }),
  });
}
