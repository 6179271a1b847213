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
  /** Default `/auth/verify`. */
  readonly verify: string;
  /** Default `/auth/enroll`. */
  readonly enroll: string;
  /** Default `/auth/code`. */
  readonly code: string;
  /** Default `/auth/sso`. */
  readonly sso: string;
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
    /** The new password. */
    readonly password: string;
    /** Required with a session; omitted after an email's link. */
    readonly currentPassword?: string;
    /** A root-relative path to go to afterwards. */
    readonly returnTo?: string;
  };
}

export interface VerifyCall extends CallOptions {
  readonly body:
    | {
        /** Six digits. */
        readonly code: string;
        /** Which factor; default: the authenticator app, or the phone to which a code was sent. */
        readonly factorId?: string;
        /** A root-relative path to go to afterwards. */
        readonly returnTo?: string;
      }
    /** Sends a code to the phone with this factor id. */
    | { readonly send: string };
}

export interface EnrollCall extends CallOptions {
  readonly body:
    /** Starts with an authenticator app. */
    | { readonly code?: undefined; readonly remove?: undefined }
    /** The first code that the app shows. */
    | { readonly factorId: string; readonly code: string; readonly returnTo?: string }
    /** The id of a factor that is no longer wanted. */
    | { readonly remove: string };
}

/** An authenticator app that must be confirmed by its first code. */
export interface EnrollmentBody {
  readonly factorId: string;
  /** For typing. */
  readonly secret: string;
  /** `otpauth://totp/…`, for a QR code. */
  readonly uri: string;
}

/** A text message was sent. */
export interface CodeSentBody {
  readonly factorId: string;
  readonly message: string;
}

export interface FactorsBody {
  /** `type` as Supabase calls it: `totp`, `phone`, `webauthn`, or a later one. */
  readonly factors: readonly { readonly id: string; readonly type: string }[];
}

export interface SendCodeCall extends CallOptions {
  readonly body: {
    readonly email: string;
    /** A root-relative path to go to after the link of the email. */
    readonly returnTo?: string;
  };
}

export interface EnterCodeCall extends CallOptions {
  readonly body: {
    readonly email: string;
    /** The digits from the email. */
    readonly code: string;
    /** A root-relative path to go to afterwards. */
    readonly returnTo?: string;
  };
}

export interface SsoCall extends CallOptions {
  /** An email address or its domain. */
  readonly body: ({ readonly email: string } | { readonly domain: string }) & {
    /** A root-relative path to come back to. */
    readonly returnTo?: string;
  };
}

/** Methods never reject; check `error`. */
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
  /** Resends the confirmation email; the answer is the same for every address. */
  resend(call: ResendCall): Promise<ClientResult<EmailConfirmationBody>>;
  /** Has a link for a new password sent; the answer is the same for every address. */
  forgot(call: ForgotCall): Promise<ClientResult<MailSentBody>>;
  /** Sets a new password; then send the browser to `data.redirectTo`, which may ask for the second factor first. */
  password(call: NewPasswordCall): Promise<ClientResult<RedirectBody>>;
  /** Gives the second factor, or sends a code to a phone (`'message' in data`). The error of a wrong code is `code_wrong`. */
  verify(call: VerifyCall): Promise<ClientResult<RedirectBody | CodeSentBody>>;
  /** The factors that can verify the session. */
  verify(call?: CallOptions): Promise<ClientResult<FactorsBody>>;
  /** Starts with an authenticator app (`'uri' in data`), confirms it by its first code, or removes a factor. */
  enroll(call: EnrollCall): Promise<ClientResult<RedirectBody | EnrollmentBody>>;
  /** The second factors of the signed-in user. */
  enroll(call?: CallOptions): Promise<ClientResult<FactorsBody>>;
  /** Signs in with the code of an email; then send the browser to `data.redirectTo`. */
  code(call: EnterCodeCall): Promise<ClientResult<RedirectBody>>;
  /** Has an email with a code and a link sent; the answer is the same for every address. */
  code(call: SendCodeCall): Promise<ClientResult<MailSentBody>>;
  /** Starts single sign-on by the email's domain: send the browser to `data.redirectTo`. */
  sso(call: SsoCall): Promise<ClientResult<RedirectBody>>;
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
    verify: '/auth/verify',
    enroll: '/auth/enroll',
    code: '/auth/code',
    sso: '/auth/sso',
    ...options.paths,
  };
  const factors = (path: string, call: CallOptions | VerifyCall | EnrollCall = {}) =>
    send<never>({
      ...call,
      method: 'body' in call ? 'POST' : 'GET',
      path,
      proof: 'body' in call ? ['redirectTo', 'factorId'] : ['factors'],
    });
  return {
    login: (call) => send({ ...call, method: 'POST', path: paths.login, proof: 'redirectTo' }),
    signup: (call) => send({ ...call, method: 'POST', path: paths.signup, proof: 'redirectTo' }),
    oauth: (call) => send({ ...call, method: 'GET', path: paths.login, proof: 'redirectTo' }),
    logout: (call) => send({ ...call, method: 'POST', path: paths.logout, proof: 'redirectTo' }),
    session: (call) => send({ ...call, method: 'GET', path: paths.session, proof: 'user' }),
    resend: (call) => send({ ...call, method: 'POST', path: paths.resend, proof: 'message' }),
    forgot: (call) => send({ ...call, method: 'POST', path: paths.forgot, proof: 'message' }),
    password: (call) => send({ ...call, method: 'POST', path: paths.password, proof: 'redirectTo' }),
    verify: (call?: CallOptions | VerifyCall) => factors(paths.verify, call),
    enroll: (call?: CallOptions | EnrollCall) => factors(paths.enroll, call),
    code: (call: SendCodeCall | EnterCodeCall) =>
      send({ ...call, method: 'POST', path: paths.code, proof: 'redirectTo' }),
    sso: (call) => send({ ...call, method: 'POST', path: paths.sso, proof: 'redirectTo' }),
  };
}
