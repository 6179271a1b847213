import { AuthError } from '../errors.ts';
import type { Fields } from '../http/body.ts';
import type { Exchange } from '../http/auth-request.ts';
import type { Reply } from '../http/reply.ts';
import type { AuthRoute, RouteHandler } from '../http/router.ts';
import type { Attempts } from './throttle-options.ts';
import type { RunAuthFlow } from './supabase-call.ts';
import { readCredentials, refuseLongPassword } from './credentials.ts';
import { answerForm, go, mailAnswer, showForm } from './form-answers.ts';
import type { RunMailCall } from './mail-calls.ts';
import { redirectUrl } from './oauth-start.ts';
import type { BackendOptions } from './options.ts';
import { signInPage, signUpPage } from './pages/index.ts';
import { unwrap } from './sign-in.ts';
import type { SignIn } from './sign-in.ts';
import type { Views } from './views.ts';
import type { Emit } from '../session/events.ts';

export interface FormParts {
  readonly settings: Pick<BackendOptions, 'loginPath' | 'signupPath' | 'callbackPath' | 'callbackUrl' | 'pages'>;
  readonly views: Views;
  readonly runFlow: RunAuthFlow;
  readonly runMailCall: RunMailCall;
  readonly signIn: SignIn;
  readonly attempts: Attempts;
  readonly emit: Emit;
}

/** `/auth/login`: the form, or OAuth; its POST signs in with e-mail and password. */
export function loginRoute(
  parts: FormParts,
  startOAuth: RouteHandler,
  isOAuthStart: (exchange: Exchange) => boolean,
): AuthRoute {
  const { settings, views, runFlow, signIn, attempts, emit } = parts;

  async function withPassword(exchange: Exchange, fields: Fields, returnTo: string): Promise<Reply> {
    const { email, password, captchaToken } = readCredentials(fields);
    const ask = () =>
      runFlow(exchange, async (flow) => {
        const result = await flow.auth.signInWithPassword({ email, password, options: captchaOption(captchaToken) });
        return unwrap(flow, result, emit).session;
      });
    const issued = await attempts.run(exchange.req, email, ask, 'forgives');
    return go(exchange, await finish(exchange, signIn, issued, returnTo));
  }

  return {
    path: settings.loginPath,
    option: 'loginPath',
    get(exchange) {
      if (isOAuthStart(exchange)) return startOAuth(exchange);
      const returnTo = exchange.returnTo(exchange.query.get('returnTo'));
      return showForm(exchange, settings.pages.signIn, settings.loginPath, returnTo, () =>
        signInPage(views.signIn(exchange, { status: 200, returnTo })),
      );
    },
    post: (exchange) =>
      answerForm(exchange, parts, settings.pages.signIn, withPassword, (state, error) =>
        signInPage(views.signIn(exchange, { ...state, offerResend: error.code === 'email_not_confirmed' })),
      ),
  };
}

/** `/auth/signup`: the form; its POST creates an account with e-mail and password. */
export function signUpRoute(parts: FormParts): AuthRoute {
  const { settings, views, runMailCall, signIn, emit } = parts;
  /** Whether new addresses have to be confirmed: only the project's answers say so. */
  let sendsMail = false;

  async function withPassword(exchange: Exchange, fields: Fields, returnTo: string): Promise<Reply> {
    const credentials = readCredentials(fields);
    refuseLongPassword(credentials);
    const { email, password, captchaToken } = credentials;
    const emailRedirectTo = redirectUrl(exchange, settings);
    const options = { emailRedirectTo, ...captchaOption(captchaToken) };
    const session = await runMailCall(exchange, {
      email,
      returnTo,
      sendsMail,
      async send(flow) {
        const { session: issued } = unwrap(flow, await flow.auth.signUp({ email, password, options }), emit);
        sendsMail = issued === null;
        return issued;
      },
    }).catch(refuseByHook);
    if (session !== null) return go(exchange, await finish(exchange, signIn, session, returnTo));
    return mailAnswer(exchange, views, 'confirmation_sent', email, returnTo);
  }

  return {
    path: settings.signupPath,
    option: 'signupPath',
    get(exchange) {
      const returnTo = exchange.returnTo(exchange.query.get('returnTo'));
      return showForm(exchange, settings.pages.signUp, settings.signupPath, returnTo, () =>
        signUpPage(views.signUp(exchange, { status: 200, returnTo })),
      );
    },
    post: (exchange) =>
      answerForm(exchange, parts, settings.pages.signUp, withPassword, (state) =>
        signUpPage(views.signUp(exchange, state)),
      ),
  };
}

async function finish(
  exchange: Exchange,
  signIn: SignIn,
  issued: Parameters<SignIn['admit']>[1],
  returnTo: string,
): Promise<string> {
  const signedIn = await signIn.admit(exchange, issued, returnTo);
  await signIn.store(exchange, signedIn);
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
