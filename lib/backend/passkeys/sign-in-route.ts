import { json, redirectOrJson } from '../../http/reply.ts';
import type { AuthRoute } from '../../http/router.ts';
import { asksForChallenge, bindCeremony, readAnswer } from '../webauthn/challenges.ts';
import type { BackendContext } from '../context.ts';
import { readCaptcha } from '../forms/fields.ts';
import { formRoute, readReturnTo } from '../forms/forms.ts';
import { signInPage } from '../pages/sign-in.ts';
import { siteFor } from '../pages/parts.ts';
import { asksAgain } from '../webauthn/page.ts';
import { passkeyMethod } from './options.ts';
import { startSignIn, verifySignIn } from './passkeys.ts';
import { completeSignIn } from '../sign-in/sign-in.ts';

/** `/auth/passkey`: gives a challenge, and signs in the account whose passkey answers it. */
export function passkeyRoute(backend: BackendContext): AuthRoute {
  const { settings, attempts } = backend;
  return formRoute(backend, {
    path: settings.paths.passkey,
    option: 'paths.passkey',
    ownPage: settings.pages.signIn,
    // The form of this path is on the sign-in page.
    open: (request) => redirectOrJson(request, request.signInUrl(readReturnTo(request)), 302),
    page(request, { returnTo, fields, error }) {
      return signInPage(siteFor(backend, request), request, {
        returnTo,
        error,
        isAgain: asksAgain({ error }, fields.has('again')),
      });
    },
    isShared: (_request, fields) => !asksForChallenge(fields),
    async submit(request, fields, returnTo) {
      if (asksForChallenge(fields)) {
        const ask = () => startSignIn(backend, request, readCaptcha(fields));
        const started = await attempts.runChallenge(request.req, undefined, ask);
        if (request.wantsJson) return json(200, bindCeremony(backend, request, started));
        // The page's script got no challenge. As there is one now, it asks again.
        return signInPage(siteFor(backend, request), request, { returnTo, isAgain: !fields.has('again') });
      }
      const answer = readAnswer(backend, request, fields);
      const verify = () => verifySignIn(backend, request, answer);
      const issued = await attempts.run(request.req, undefined, verify);
      return completeSignIn(backend, request, issued, returnTo, passkeyMethod);
    },
  });
}
