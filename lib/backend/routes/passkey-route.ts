import { readFields } from '../../http/body.ts';
import type { Fields } from '../../http/body.ts';
import type { AuthRequest } from '../../http/auth-request.ts';
import { json, redirectOrJson } from '../../http/reply.ts';
import type { Reply } from '../../http/reply.ts';
import type { AuthRoute } from '../../http/router.ts';
import { bindCeremony, readAnswer } from '../challenges.ts';
import type { Ceremony } from '../challenges.ts';
import type { BackendContext } from '../context.ts';
import { errorForForm, formRoute, readCaptcha, readReturnTo } from '../forms.ts';
import { signInPage } from '../pages/credentials.ts';
import { asksAgain } from '../pages/passkeys.ts';
import { startSignIn, verifySignIn } from '../passkeys.ts';
import { completeSignIn } from '../sign-in.ts';

/** `/auth/passkey`: gives a challenge, and signs in the account whose passkey answers it. */
export function passkeyRoute(backend: BackendContext): AuthRoute {
  const { settings, attempts } = backend;
  const start = (request: AuthRequest, fields: Fields): Promise<Ceremony> =>
    attempts.runChallenge(request.req, () => startSignIn(backend, request, readCaptcha(fields)));
  const form = formRoute(backend, {
    path: settings.passkeyPath,
    option: 'passkeyPath',
    ownPage: settings.pages.signIn,
    // The form of this path is on the sign-in page.
    open: (request) => redirectOrJson(request, request.signInUrl(readReturnTo(request)), 302),
    page(request, { returnTo, fields, error }) {
      return signInPage(backend, request, { returnTo, error, isAgain: asksAgain({ error }, fields.has('again')) });
    },
    async submit(request, fields, returnTo) {
      if (asksForChallenge(fields)) {
        // The page's script got none. Where there is one now, it asks again.
        await start(request, fields);
        return signInPage(backend, request, { returnTo, isAgain: !fields.has('again') });
      }
      const answer = readAnswer(backend, request, fields);
      const verify = () => verifySignIn(backend, request, answer);
      const issued = await attempts.run(request.req, undefined, verify, 'forgives');
      return completeSignIn(backend, request, issued, returnTo);
    },
  });
  return withChallenges(backend, form, async (request, fields) => {
    if (!asksForChallenge(fields)) return undefined;
    return json(200, bindCeremony(backend, request, await start(request, fields)));
  });
}

/** Whether a POST has no answer of a passkey. */
export function asksForChallenge(fields: Fields): boolean {
  return (fields.get('credential') ?? '') === '';
}

/**
 * A form whose JSON clients ask for challenges on the same path. Each challenge works once, so no other request shares it.
 *
 * @param start `undefined` where the POST asks for something else
 */
export function withChallenges(
  backend: BackendContext,
  { post, ...route }: AuthRoute,
  start: (request: AuthRequest, fields: Fields) => Promise<Reply | undefined>,
): AuthRoute {
  if (post === undefined) return route;
  return {
    ...route,
    async post(request) {
      const fields = await readFields(request.req, request.res);
      if (!request.wantsJson) return post(request);
      const started = await start(request, fields).catch((error: unknown) => {
        throw errorForForm(backend, request, error);
      });
      return started ?? post(request);
    },
  };
}
