/**
 * How to add a form route, with its page, JSON, throttle and the same answer for everyone:
 *
 *     export function forgotRoute(backend: BackendContext): AuthRoute {
 *       const { settings, sendMail } = backend;
 *       return {
 *         path: settings.forgotPath,
 *         option: 'forgotPath',
 *         get: (request) => forgotPage(backend, request, { returnTo: readReturnTo(request) }),
 *         async post(request) {
 *           const fields = await readFields(request.req, request.res);
 *           const state = { returnTo: readReturnTo(request, fields), email: fields.get('email') };
 *           try {
 *             const email = readEmail(fields);
 *             …
 *             return redirectOrJson(request, state.returnTo);
 *           } catch (error) {
 *             return forgotPage(backend, request, { ...state, error: errorForForm(backend, request, error) });
 *           }
 *         },
 *       };
 *     }
 *
 * - The page is a function in `pages/` of the site, the request and its state; its words stand in `pages/text.ts`.
 * - `attempts.run` counts a try against its address and network before the backend is asked.
 * - `supabase.call` talks to the backend; `sendMail` does it so that every address gets the same answer in the same time.
 * - `signIn` verifies and stores what the backend issued. What is to be remembered until a callback is in `sign-in/flow-cookies.ts`.
 * - The path option goes into `options.ts` and `option-schema.ts`, the route into the list in `index.ts`.
 */
import { withQuery } from '../core/url.ts';
import { AuthError } from '../errors.ts';
import type { AuthRequest } from '../http/auth-request.ts';
import { json, redirect, redirectOrJson } from '../http/reply.ts';
import type { Reply } from '../http/reply.ts';
import { signInFailed } from '../session/events.ts';
import type { EmailConfirmationBody, MailSentBody } from '../types.ts';
import type { BackendContext } from './context.ts';
import { mailPage, mailWords, otherLinkPage } from './pages/notice-page.ts';
import type { MailNotice } from './pages/notice-page.ts';

/**
 * The failure that a form shows above itself; it is an event, too.
 *
 * @throws what no form shows: any failure where the client wants JSON, and errors of the application's own
 */
export function errorForForm({ emit }: Pick<BackendContext, 'emit'>, request: AuthRequest, error: unknown): AuthError {
  emit(signInFailed(error), request.startedAt);
  if (!(error instanceof AuthError) || request.wantsJson) throw error;
  return error;
}

/**
 * Where a form is, if it is not the answer itself: at the application's own page, or, for a client that wants JSON, at its URL.
 *
 * @param ownPage the option for the application's own page
 * @param path the built-in form's
 */
export function formElsewhere(
  request: AuthRequest,
  ownPage: string | undefined,
  path: string,
  returnTo: string,
): Reply | undefined {
  if (ownPage === undefined && !request.wantsJson) return undefined;
  const page = ownPage ?? request.localPath(path);
  return redirectOrJson(request, withQuery(page, returnTo === request.home ? {} : { returnTo }), 302);
}

/** Back to the application's own page, which gets the error's code. */
export function failureElsewhere(request: AuthRequest, ownPage: string, error: AuthError, returnTo: string): Reply {
  const state = { error: error.code, ...(returnTo === request.home ? {} : { returnTo }) };
  return redirect(303, withQuery(ownPage, state));
}

/** After `sendMail`: the same for every address, whether or not an email was sent. */
export function mailAnswer(backend: BackendContext, request: AuthRequest, notice: MailNotice): Reply {
  if (!request.wantsJson) return mailPage(backend, request, notice);
  const { email, returnTo } = notice;
  const sent: MailSentBody = {
    email,
    message: mailWords(backend, notice).plain,
    redirectTo: request.signInUrl(returnTo),
  };
  const body: MailSentBody | EmailConfirmationBody =
    notice.kind === 'forgot_sent' ? sent : { emailConfirmationRequired: true, ...sent };
  return json(200, body);
}

/** After the first of the two links that confirm a changed address. */
export function otherLinkAnswer(backend: BackendContext, request: AuthRequest, returnTo: string): Reply {
  return request.wantsJson ? redirectOrJson(request, returnTo) : otherLinkPage(backend, request, returnTo);
}
