import type {
  BackendSessionBody,
  ConnectedAppsBody,
  ConsentBody,
  EmailConfirmationBody,
  MailSentBody,
  RedirectBody,
} from '../types.ts';
import { createClient, prefixPaths } from './send.ts';
import type { CallOptions, ClientOptions, ClientResult, PostCall, ReturnTo } from './send.ts';
import type { CredentialJson } from './webauthn.ts';

const defaultPaths = {
  /** Default `/auth/login`. */
  login: '/auth/login',
  /** Default `/auth/signup`. */
  signup: '/auth/signup',
  /** Default `/auth/logout`. */
  logout: '/auth/logout',
  /** Default `/auth/session`. */
  session: '/auth/session',
  /** Default `/auth/resend`. */
  resend: '/auth/resend',
  /** Default `/auth/forgot`. */
  forgot: '/auth/forgot',
  /** Default `/auth/password`. */
  password: '/auth/password',
  /** Default `/auth/verify`. */
  verify: '/auth/verify',
  /** Default `/auth/enroll`. */
  enroll: '/auth/enroll',
  /** Default `/auth/code`. */
  code: '/auth/code',
  /** Default `/auth/sso`. */
  sso: '/auth/sso',
  /** Default `/auth/passkey`. */
  passkey: '/auth/passkey',
  /** Default `/auth/passkeys`. */
  passkeys: '/auth/passkeys',
  /** Default `/oauth/consent`. */
  consent: '/oauth/consent',
  /** Default `/oauth/apps`. */
  connectedApps: '/oauth/apps',
};

/** The paths of the backend adapter's routes. */
export interface BackendPaths extends Readonly<typeof defaultPaths> {}

export type PasswordCall = PostCall<{ readonly email: string; readonly password: string }>;
export type BackendLogoutCall = Partial<PostCall<ReturnTo>>;
export type ResendCall = PostCall<{ readonly email: string }>;
export type ForgotCall = PostCall<{ readonly email: string }>;
export type SendCodeCall = PostCall<{ readonly email: string }>;
export type SsoCall = PostCall<{ readonly email: string } | { readonly domain: string }>;

export type EnterCodeCall = PostCall<{
  readonly email: string;
  /** The digits from the email. */
  readonly code: string;
}>;

export interface OAuthCall extends CallOptions {
  readonly query: ReturnTo & {
    /** A provider's name as Supabase spells it, such as `github`; without it the adapter's `defaultProvider`. */
    readonly provider?: string;
  };
}

export type NewPasswordCall = PostCall<{
  /** The new password. */
  readonly password: string;
  /** Required with a session; omitted after an email's link. */
  readonly currentPassword?: string;
}>;

export type VerifyCall = PostCall<
  | {
      /** Six digits. */
      readonly code: string;
      /** Which factor; default: the authenticator app, or the phone to which a code was sent. */
      readonly factorId?: string;
    }
  /** The answer of `getPasskey`, for a security key. */
  | (CredentialFields & { readonly factorId: string })
  /** Sends a code to the phone with this factor id. */
  | { readonly send: string }
>;

/** Asks for a challenge of the security key with this factor id. */
export type StartKeyCall = PostCall<{ readonly challenge: string }>;

export type EnrollCall = PostCall<
  /** Starts with an authenticator app. */
  | { readonly code?: undefined; readonly remove?: undefined; readonly type?: undefined }
  /** The answer of `createPasskey`, for a security key. */
  | (CredentialFields & { readonly factorId: string })
  /** The first code that the app shows. */
  | { readonly factorId: string; readonly code: string }
  /** The id of a factor that is no longer wanted. */
  | { readonly remove: string }
>;

/** The answer of a passkey or a security key. */
export interface CredentialFields {
  /** Of the challenge that it answers. */
  readonly challengeId: string;
  /** What `getPasskey` or `createPasskey` resolved to, or the browser's `credential.toJSON()`. */
  readonly credential: CredentialJson;
}

export type StartPasskeyCall = PostCall<{
  readonly credential?: undefined;
  /** For a project that asks for a captcha. */
  readonly captchaToken?: string;
}>;
export type PasskeyCall = PostCall<CredentialFields>;
export type StartPasskeysCall = PostCall<{
  readonly credential?: undefined;
  readonly rename?: undefined;
  readonly remove?: undefined;
}>;

export type PasskeysCall = PostCall<
  /** A new passkey. */
  | CredentialFields
  /** The id of a passkey, and its new name of at most 120 bytes. */
  | { readonly rename: string; readonly name: string }
  /** The id of a passkey that is no longer wanted. */
  | { readonly remove: string }
>;

/** A challenge for `getPasskey` or `createPasskey`. It works once, for five minutes, and in this browser. */
export interface ChallengeBody {
  readonly challengeId: string;
  readonly options: CredentialJson;
}

export interface PasskeysBody {
  /** The newest first. Times are ISO 8601, or null where unknown. */
  readonly passkeys: readonly {
    readonly id: string;
    readonly name: string;
    readonly createdAt: string | null;
    readonly lastUsedAt: string | null;
  }[];
}

export interface ConsentQueryCall extends CallOptions {
  readonly query: {
    /** From the query of the page to which the project's OAuth server sent the browser. */
    readonly authorization_id: string;
  };
}

export interface ConsentCall extends CallOptions {
  readonly body: { readonly authorization_id: string; readonly action: 'allow' | 'deny' };
}

export type DisconnectCall = PostCall<{
  /** The id of the app's client. */
  readonly revoke: string;
}>;

/** An authenticator app that must be confirmed by its first code. */
export interface EnrollmentBody {
  readonly factorId: string;
  /** For typing. */
  readonly secret: string;
  /** `otpauth://totp/…`, for a QR code. */
  readonly uri: string;
}

/** Starts with a security key. */
export type EnrollKeyCall = PostCall<{ readonly type: 'webauthn'; readonly credential?: undefined }>;

/** A challenge of a security key as second factor. */
export interface KeyChallengeBody extends ChallengeBody {
  readonly factorId: string;
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
  /** Starts with a security key: pass `data.options` to `getPasskey`. */
  verify(call: StartKeyCall): Promise<ClientResult<KeyChallengeBody>>;
  /** The factors that can verify the session, the best first. */
  verify(call?: CallOptions): Promise<ClientResult<FactorsBody>>;
  /** Starts with an authenticator app (`'uri' in data`), confirms it by its first code, or removes a factor. */
  enroll(call: EnrollCall): Promise<ClientResult<RedirectBody | EnrollmentBody>>;
  /** Starts with a security key: pass `data.options` to `createPasskey`. */
  enroll(call: EnrollKeyCall): Promise<ClientResult<KeyChallengeBody>>;
  /** The second factors of the signed-in user. */
  enroll(call?: CallOptions): Promise<ClientResult<FactorsBody>>;
  /** Signs in with the code of an email; then send the browser to `data.redirectTo`. */
  code(call: EnterCodeCall): Promise<ClientResult<RedirectBody>>;
  /** Has an email with a code and a link sent; the answer is the same for every address. */
  code(call: SendCodeCall): Promise<ClientResult<MailSentBody>>;
  /** Starts single sign-on by the email's domain: send the browser to `data.redirectTo`. */
  sso(call: SsoCall): Promise<ClientResult<RedirectBody>>;
  /** Signs in with the answer of `getPasskey`; then send the browser to `data.redirectTo`. After `challenge_expired`, start again. */
  passkey(call: PasskeyCall): Promise<ClientResult<RedirectBody>>;
  /** Starts a sign-in with a passkey: pass `data.options` to `getPasskey`. */
  passkey(call: StartPasskeyCall): Promise<ClientResult<ChallengeBody>>;
  /** Adds the answer of `createPasskey`, renames or removes a passkey. */
  passkeys(call: PasskeysCall): Promise<ClientResult<RedirectBody>>;
  /** Starts to add a passkey: pass `data.options` to `createPasskey`. */
  passkeys(call: StartPasskeysCall): Promise<ClientResult<ChallengeBody>>;
  /** The passkeys of the signed-in user. */
  passkeys(call?: CallOptions): Promise<ClientResult<PasskeysBody>>;
  /** Allows or denies what an app asks for; then send the browser to `data.redirectTo`, which is the app's own address. */
  consent(call: ConsentCall): Promise<ClientResult<RedirectBody>>;
  /** What an app asks for; `'redirectTo' in data` where the user has allowed it before. Ask once, when the page is opened. */
  consent(call: ConsentQueryCall): Promise<ClientResult<ConsentBody | RedirectBody>>;
  /** Disconnects an app. */
  connectedApps(call: DisconnectCall): Promise<ClientResult<RedirectBody>>;
  /** The apps that act for the signed-in user. */
  connectedApps(call?: CallOptions): Promise<ClientResult<ConnectedAppsBody>>;
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
  const paths = { ...prefixPaths(options.pathPrefix, defaultPaths), ...options.paths };
  const factors = { get: 'factors', post: ['redirectTo', 'factorId'] } as const;
  return createClient<BackendClient>(options, {
    login: { path: paths.login, post: 'redirectTo' },
    signup: { path: paths.signup, post: 'redirectTo' },
    oauth: { path: paths.login, get: 'redirectTo' },
    logout: { path: paths.logout, post: 'redirectTo' },
    session: { path: paths.session, get: 'user' },
    resend: { path: paths.resend, post: 'message' },
    forgot: { path: paths.forgot, post: 'message' },
    password: { path: paths.password, post: 'redirectTo' },
    verify: { path: paths.verify, ...factors },
    enroll: { path: paths.enroll, ...factors },
    code: { path: paths.code, post: 'redirectTo' },
    sso: { path: paths.sso, post: 'redirectTo' },
    passkey: { path: paths.passkey, post: ['redirectTo', 'challengeId'] },
    passkeys: { path: paths.passkeys, get: 'passkeys', post: ['redirectTo', 'challengeId'] },
    consent: { path: paths.consent, get: ['client', 'redirectTo'], post: 'redirectTo' },
    connectedApps: { path: paths.connectedApps, get: 'apps', post: 'redirectTo' },
  });
}
