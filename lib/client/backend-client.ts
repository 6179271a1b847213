import type { BackendSessionBody, EmailConfirmationBody, MailSentBody, RedirectBody } from '../types.ts';
import { createSender } from './send.ts';
import type { CallOptions, ClientOptions, ClientResult } from './send.ts';

/** The paths of the backend adapter's routes. */
export interface BackendPaths {
  /** Default `/auth/login`. */
  readonly login: string;
  /** Default `/auth/signup`. */
  readonly signup: string;
  /** Default `/auth/logout`. */
  readonly logout: string;
  /** Default `/auth/session`. */
  readonly session: string;
  /** Default `/auth/resend`. */
  readonly resend: string;
  /** Default `/auth/forgot`. */
  readonly forgot: string;
  /** Default `/auth/password`. */
  readonly password: string;
}

export interface PasswordCall extends CallOptions {
  readonly body: {
    readonly email: string;
    readonly password: string;
    /** A root-relative path to go to afterwards. */
    readonly returnTo?: string;
  };
}

export interface OAuthCall extends CallOptions {
  readonly query: {
    /** A provider's name as Supabase spells it, such as `github`; without it the adapter's `defaultProvider`. */
    readonly provider?: string;
    /** A root-relative path to come back to. */
    readonly returnTo?: string;
  };
}

export interface BackendLogoutCall extends CallOptions {
  readonly body?: {
    /** A root-relative path to go to afterwards. */
    readonly returnTo?: string;
  };
}

export interface ResendCall extends CallOptions {
  readonly body: {
    readonly email: string;
    /** A root-relative path to go to after the confirmation. */
    readonly returnTo?: string;
  };
}

export interface ForgotCall extends CallOptions {
  readonly body: {
    readonly email: string;
    /** A root-relative path to go to after the new password. */
    readonly returnTo?: string;
  };
}

export interface NewPasswordCall extends CallOptions {
  readonly body: {
    /** The new one. */
    readonly password: string;
    /** Where the person is signed in; not after the link of an email. */
    readonly currentPassword?: string;
    /** A root-relative path to go to afterwards. */
    readonly returnTo?: string;
  };
}

/** No method ever rejects; look at `error`. */
export interface BackendClient {
  /** Signs in with email and password; then send the browser to `data.redirectTo`. */
  login(call: PasswordCall): Promise<ClientResult<RedirectBody>>;
  /** Creates an account. `'emailConfirmationRequired' in data` tells that a mail comes first. */
  signup(call: PasswordCall): Promise<ClientResult<RedirectBody | EmailConfirmationBody>>;
  /** Starts sign-in at an OAuth provider: send the browser to `data.redirectTo`. */
  oauth(call: OAuthCall): Promise<ClientResult<RedirectBody>>;
  /** Signs out; then send the browser to `data.redirectTo`. */
  logout(call?: BackendLogoutCall): Promise<ClientResult<RedirectBody>>;
  /** Who is signed in; without a session the error with status 401 and code `unauthenticated`. */
  session(call?: CallOptions): Promise<ClientResult<BackendSessionBody>>;
  /** Has the confirmation mail sent again; the answer is the same for every address. */
  resend(call: ResendCall): Promise<ClientResult<EmailConfirmationBody>>;
  /** Has a link for a new password sent; the answer is the same for every address. */
  forgot(call: ForgotCall): Promise<ClientResult<MailSentBody>>;
  /** Sets a new password; then send the browser to `data.redirectTo`, which may ask for the second factor first. */
  password(call: NewPasswordCall): Promise<ClientResult<RedirectBody>>;
}

/**
 * A typed client for the routes of `backendAuth`, for browsers.
 *
 * @example
 * const auth = createBackendClient();
 * const { data, error } = await auth.login({ body: { email, password, returnTo: '/account' } });
 * if (error) show(error.message);
 * else location.assign(data.redirectTo);
 */
export function createBackendClient(options: ClientOptions<BackendPaths> = {}): BackendClient {
  const send = createSender(options);
  const paths: BackendPaths = {
    login: '/auth/login',
    signup: '/auth/signup',
    logout: '/auth/logout',
    session: '/auth/session',
    resend: '/auth/resend',
    forgot: '/auth/forgot',
    password: '/auth/password',
    ...options.paths,
  };
  return {
    login: (call) => send({ ...call, method: 'POST', path: paths.login, proof: 'redirectTo' }),
    signup: (call) => send({ ...call, method: 'POST', path: paths.signup, proof: 'redirectTo' }),
    oauth: (call) => send({ ...call, method: 'GET', path: paths.login, proof: 'redirectTo' }),
    logout: (call) => send({ ...call, method: 'POST', path: paths.logout, proof: 'redirectTo' }),
    session: (call) => send({ ...call, method: 'GET', path: paths.session, proof: 'user' }),
    resend: (call) => send({ ...call, method: 'POST', path: paths.resend, proof: 'message' }),
    forgot: (call) => send({ ...call, method: 'POST', path: paths.forgot, proof: 'message' }),
    password: (call) => send({ ...call, method: 'POST', path: paths.password, proof: 'redirectTo' }),
  };
}
