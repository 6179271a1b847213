import { AuthError } from '../../errors.ts';
import type { Fields } from '../../http/body.ts';
import type { AuthRequest } from '../../http/auth-request.ts';
import { redirectOrJson } from '../../http/reply.ts';
import type { Reply } from '../../http/reply.ts';
import type { AuthRoute, RouteHandler } from '../../http/router.ts';
import type { Attempts } from '../throttle-options.ts';
import type { CallSupabase } from '../supabase-call.ts';
import { readCredentials, refuseLongPassword } from '../credentials.ts';
import { answerForm, mailAnswer, showForm } from '../form-answers.ts';
import type { RunMailCall } from '../account/mail-calls.ts';
import { redirectUrl } from './oauth-start.ts';
import type { BackendOptions } from '../options.ts';
import { signInPage, signUpPage } from '../pages/index.ts';
import { unwrap } from './sign-in.ts';
import type { SignIn } from './sign-in.ts';
import type { Views } from '../views.ts';
import type { Emit } from '../../session/events.ts';

export interface FormParts {
  readonly settings: Pick<BackendOptions, 'loginPath' | 'signupPath' | 'callbackPath' | 'callbackUrl' | 'pages'>;
  readonly views: Views;
  readonly runFlow: CallSupabase;
  readonly runMailCall: RunMailCall;
  readonly signIn: SignIn;
  readonly attempts: Attempts;
  readonly emit: Emit;
}

/** `/auth/login`: the form, or OAuth; its POST signs in with email and password. */
export function loginRoute(
  parts: FormParts,
  startOAuth: RouteHandler,
  isOAuthStart: (request: AuthRequest) => boolean,
): AuthRoute {
  const { settings, views, runFlow, signIn, attempts, emit } = parts;

  async function withPassword(request: AuthRequest, fields: Fields, returnTo: string): Promise<Reply> {
    const { email, password, captchaToken } = readCredentials(fields);
    const ask = () =>
      runFlow(request, async (flow) => {
        const result = await flow.auth.signInWithPassword({ email, password, options: captchaOption(captchaToken) });
        return unwrap(flow, result, emit).session;
      });
    const issued = await attempts.run(request.req, email, ask, 'forgives');
    return redirectOrJson(request, await finish(request, signIn, issued, returnTo));
  }

  return {
    path: settings.loginPath,
    option: 'loginPath',
    get(request) {
      if (isOAuthStart(request)) return startOAuth(request);
      const returnTo = request.returnTo(request.query.get('returnTo'));
      return showForm(request, settings.pages.signIn, settings.loginPath, returnTo, () =>
        signInPage(views.signIn(request, { status: 200, returnTo })),
      );
    },
    post: (request) =>
      answerForm(request, parts, settings.pages.signIn, withPassword, (state, error) =>
        signInPage(views.signIn(request, { ...state, offerResend: error.code === 'email_not_confirmed' })),
      ),
  };
}

/** `/auth/signup`: the form; its POST creates an account with email and password. */
export function signUpRoute(parts: FormParts): AuthRoute {
  const { settings, views, runMailCall, signIn, emit } = parts;
  /** Whether new addresses have to be confirmed: only the project's answers say so. */
  let sendsMail = false;

  async function withPassword(request: AuthRequest, fields: Fields, returnTo: string): Promise<Reply> {
    const credentials = readCredentials(fields);
    refuseLongPassword(credentials);
    const { email, password, captchaToken } = credentials;
    const emailRedirectTo = redirectUrl(request, settings);
    const options = { emailRedirectTo, ...captchaOption(captchaToken) };
    const session = await runMailCall(request, {
      email,
      returnTo,
      sendsMail,
      async send(flow) {
        const { session: issued } = unwrap(flow, await flow.auth.signUp({ email, password, options }), emit);
        sendsMail = issued === null;
        return issued;
      },
    }).catch(refuseByHook);
    if (session !== null) return redirectOrJson(request, await finish(request, signIn, session, returnTo));
    return mailAnswer(request, views, 'confirmation_sent', email, returnTo);
  }

  return {
    path: settings.signupPath,
    option: 'signupPath',
    get(request) {
      const returnTo = request.returnTo(request.query.get('returnTo'));
      return showForm(request, settings.pages.signUp, settings.signupPath, returnTo, () =>
        signUpPage(views.signUp(request, { status: 200, returnTo })),
      );
    },
    post: (request) =>
      answerForm(request, parts, settings.pages.signUp, withPassword, (state) =>
        signUpPage(views.signUp(request, state)),
      ),
  };
}

async function finish(
  request: AuthRequest,
  signIn: SignIn,
  issued: Parameters<SignIn['verifySignIn']>[1],
  returnTo: string,
): Promise<string> {
  const signedIn = await signIn.verifySignIn(request, issued, returnTo);
  await signIn.storeSession(request, signedIn);
  return signedIn.redirectTo;
}

function captchaOption(captchaToken: string | undefined): { captchaToken?: string } {
  return captchaToken === undefined ? {} : { captchaToken };
}

/** GoTrue calls what a `before_user_created` hook refuses `unknown`; its text is the project's and not shown. */
function refuseByHook(error: unknown): never {
  if (!(error instanceof AuthError) || error.reason !== 'unknown') throw error;
  throw new AuthError('signup_refused', { cause: error.cause, reason: error.reason });
}
