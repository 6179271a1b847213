import type { AuthRequest } from '../../http/auth-request.ts';
import { readFields } from '../../http/body.ts';
import { accountName } from '../../http/page-text.ts';
import { redirectOrJson } from '../../http/reply.ts';
import type { AuthRoute, RouteHandler } from '../../http/router.ts';
import type { BackendSession } from '../../types.ts';
import type { BackendContext } from '../context.ts';
import { errorForForm, failureElsewhere, formElsewhere } from '../form-answers.ts';
import { readCaptcha, readEmail, readPassword, readReturnTo } from '../form-fields.ts';
import { signedInPage, signInPage } from '../pages/sign-in-page.ts';
import { isOAuthStart, startOAuth } from './oauth-start.ts';

/** `/auth/login`: the form, or OAuth; its POST signs in with email and password. */
export function signInRoute(backend: BackendContext): AuthRoute {
  const { settings, supabase, signIn, attempts } = backend;
  const { loginPath, pages } = settings;
  const post: RouteHandler = async (request) => {
    const fields = await readFields(request.req, request.res);
    const returnTo = readReturnTo(request, fields);
    try {
      const email = readEmail(fields);
      const password = readPassword(fields);
      const issued = await attempts.run(
        request.req,
        email,
        () =>
          supabase.call(request, async ({ auth, unwrap }) => {
            const options = readCaptcha(fields);
            return unwrap(await auth.signInWithPassword({ email, password, options })).session;
          }),
        'forgives',
      );
      return redirectOrJson(request, await signIn.complete(request, issued, returnTo));
    } catch (error) {
      const shown = errorForForm(backend, request, error);
      if (pages.signIn !== undefined) return failureElsewhere(request, pages.signIn, shown, returnTo);
      return signInPage(backend, request, { returnTo, email: fields.get('email'), error: shown });
    }
  };
  return {
    path: loginPath,
    option: 'loginPath',
    async get(request) {
      if (isOAuthStart(settings, request)) return startOAuth(backend, request);
      const returnTo = readReturnTo(request);
      const elsewhere = formElsewhere(request, pages.signIn, loginPath, returnTo);
      if (elsewhere !== undefined) return elsewhere;
      const session = request.query.get('prompt') === 'login' ? null : await sessionAtHand(request);
      // A guard's `maxAge` asks for a sign-in, whatever session there is.
      const isFresh = request.query.has('max_age');
      return session === null || isFresh
        ? signInPage(backend, request, { returnTo, email: session?.user.email ?? undefined })
        : signedInPage(backend, request, { returnTo, account: accountName(session) });
    },
    // Without passwords the path answers GET only.
    ...(settings.signInMethods.includes('password') ? { post } : {}),
  };
}

/** Whose session the browser has; a guest's is none, and an outage must not hide the form. */
async function sessionAtHand(request: AuthRequest): Promise<BackendSession | null> {
  try {
    const session = await request.resolveSession();
    return session?.adapter === 'backend' && !session.user.isAnonymous ? session : null;
  } catch {
    return null;
  }
}
