import type { JSONWebKeySet } from 'jose';

/** Whose id tokens the project takes, as configured under the provider. */
export interface IdTokenIssuer {
  readonly issuer: string;
  readonly audience: string;
  readonly jwks: JSONWebKeySet;
}
import type { StoredCredential } from './webauthn.ts';

/** Settings that a test may change while the stand-in runs; every default is that of a fresh hosted project. */
export interface Switches {
  /** `true`: no confirmation email, sign-up returns a session. */
  autoconfirm: boolean;
  signupDisabled: boolean;
  emailProviderDisabled: boolean;
  /** The only accepted captcha response; `undefined` switches captcha off. */
  captchaToken: string | undefined;
  minimumPasswordLength: number;
  /** Letters and digits are both required. */
  requireLettersAndDigits: boolean;
  /** Passwords that "were found in a breach". */
  pwnedPasswords: ReadonlySet<string>;
  /** Domains that answer `email_address_invalid`. */
  invalidEmailDomains: ReadonlySet<string>;
  /** Enabled OAuth providers. Those of `everyProvider` include a project's own, `custom:…`. */
  providers: ReadonlySet<string>;
  /** The signed-in user at the OAuth providers unless the consent form names another. */
  oauthEmail: string;
  /** Whether an OAuth provider tells a name and a picture, which Supabase keeps as metadata. */
  oauthNames: boolean;
  /** Whether an OAuth provider remembers who is signed in, and asks again only where a request wants it. */
  oauthSessions: boolean;
  /** Seconds between two mails to the same address. */
  mailFrequency: number;
  /** The failure of every email: the mail server is down, the project's quota is used up, the default server sends to members only. */
  mailFailure: 'smtp' | 'quota' | 'not_authorized' | undefined;
  /** Whether a `before_user_created` hook refuses every new user. */
  newUsersRefused: boolean;
  /** Additional real milliseconds of any call with this address. */
  extraMs: (email: string) => number;
  /** The duration of sending an email in real milliseconds: calls for known addresses take longer by it. */
  mailMs: number;
  /** Whether sign-up without an address makes an anonymous user. */
  anonymousUsers: boolean;
  /** "Secure password change": a session older than a day needs a nonce for a new password. */
  requireReauthentication: boolean;
  requireCurrentPassword: boolean;
  /** "Secure email change": both addresses confirm. */
  secureEmailChange: boolean;
  /** Whether users may link and unlink accounts of OAuth providers. */
  manualLinking: boolean;
  /** Whether accounts may have passkeys. */
  passkeys: boolean;
  maximumPasskeys: number;
  totpFactors: boolean;
  /** Whether security keys may be second factors (`webauthn`). */
  keyFactors: boolean;
  phoneFactors: boolean;
  /** Whether users may sign in by a text message. */
  phoneProvider: boolean;
  /** Whose id tokens sign in, by the provider's name. */
  idTokenIssuers: ReadonlyMap<string, IdTokenIssuer>;
  /** Whether an MFA verification hook rejects every code, right ones too: GoTrue then ends all of the user's sessions. */
  factorCodesRejected: boolean;
  /** The maximum number of factors of a user, verified or not. */
  maximumFactors: number;
  /** Seconds between two text messages of one phone factor. */
  textFrequency: number;
  /** The email domains of SAML identity providers; `undefined` switches SAML off. */
  ssoDomains: ReadonlySet<string> | undefined;
  /** Whether the project is an OAuth server for other applications, which may register themselves. */
  oauthServer: boolean;
  /** Seconds. */
  accessTokenTtl: number;
  /** Claims that a custom access token hook sets. */
  tokenClaims: Readonly<Record<string, string>>;
  /** The result of a reused refresh token: `parent` returns the active token to its direct parent, as GoTrue does. */
  reuse: 'strict' | 'parent';
}

export interface Mail {
  readonly kind: 'signup' | 'magiclink' | 'recovery' | 'invite' | 'email_change' | 'reauthentication';
  readonly to: string;
  /** `{{ .Token }}`: six digits. */
  readonly token: string;
  /** `{{ .ConfirmationURL }}`: the backend's own /verify link. */
  readonly confirmationUrl: string;
  /** `{{ .TokenHash }}`. */
  readonly tokenHash: string;
  /** `{{ .RedirectTo }}`. */
  readonly redirectTo: string;
  /** Milliseconds since the epoch. */
  readonly sentAt: number;
}

/** A text message with the code of a phone factor. */
export interface TextMessage {
  readonly to: string;
  readonly code: string;
}

export interface Factor {
  readonly id: string;
  /** `totp`, `phone`, `webauthn`, or a type of tomorrow. */
  readonly type: string;
  readonly name: string;
  readonly secret: string;
  /** Without the plus sign. */
  readonly phone: string;
  readonly createdAt: string;
  updatedAt: string;
  isVerified: boolean;
  lastChallengedAt: string | undefined;
  /** Of a security key, once it was registered. */
  credential: StoredCredential | undefined;
}

export interface NewFactor {
  readonly type?: Factor['type'];
  readonly name?: string;
  readonly phone?: string;
  /** Default: `true`. */
  readonly verified?: boolean;
}

/** Someone whom an OAuth provider knows. */
export interface Person {
  readonly name: string;
  readonly email: string;
}

export interface NewUser {
  /** Default: a new one. */
  readonly id?: string;
  readonly email: string;
  readonly password?: string;
  readonly confirmed?: boolean;
  readonly metadata?: Record<string, unknown>;
  readonly appMetadata?: Record<string, unknown>;
  readonly banned?: boolean;
}

export interface User {
  readonly id: string;
  /** Empty for an anonymous user, and one with a phone number alone. */
  email: string;
  /** Without the plus sign. */
  phone: string;
  newEmail: string | undefined;
  password: string | undefined;
  isAnonymous: boolean;
  isSsoUser: boolean;
  factors: Factor[];
  /** ISO 8601; `undefined` while the address is unconfirmed. */
  confirmedAt: string | undefined;
  confirmationSentAt: string | undefined;
  recoverySentAt: string | undefined;
  emailChangeSentAt: string | undefined;
  reauthenticationSentAt: string | undefined;
  invitedAt: string | undefined;
  lastSignInAt: string | undefined;
  metadata: Record<string, unknown>;
  /** The metadata of the sign-up, which later changes do not affect. */
  readonly identityData: Readonly<Record<string, unknown>>;
  appMetadata: Record<string, unknown>;
  banned: boolean;
  readonly providers: string[];
  /** The addresses that OAuth providers gave, by provider. */
  readonly addresses: Map<string, string>;
  readonly createdAt: string;
}

/** GoTrue's response to every grant. */
export interface SessionJson {
  readonly access_token: string;
  readonly token_type: 'bearer';
  readonly expires_in: number;
  readonly expires_at: number;
  readonly refresh_token: string;
  readonly user: UserJson;
  readonly provider_token?: string;
  readonly provider_refresh_token?: string;
  readonly weak_password?: { readonly message: string; readonly reasons: readonly string[] };
}

export interface UserJson {
  readonly id: string;
  readonly aud: string;
  readonly role: string;
  readonly email: string;
  readonly [field: string]: unknown;
}

export type Endpoint =
  | 'password'
  | 'refresh'
  | 'pkce'
  | 'signup'
  | 'resend'
  | 'admin'
  | 'recover'
  | 'verify'
  | 'authorize'
  | 'logout'
  | 'user'
  | 'update-user'
  | 'link-identity'
  | 'unlink-identity'
  | 'reauthenticate'
  | 'otp'
  | 'sso'
  | 'enroll'
  | 'challenge'
  | 'verify-factor'
  | 'unenroll'
  | 'passkey-options'
  | 'passkey-verify'
  | 'add-passkey-options'
  | 'add-passkey'
  | 'passkeys'
  | 'rename-passkey'
  | 'remove-passkey'
  | 'settings'
  | 'authorization'
  | 'consent'
  | 'grants'
  | 'revoke-grant'
  | 'client-token'
  | 'jwks'
  | 'rest'
  | 'other';

/** `token` is every grant, `all` is everything. */
export type FaultTarget = Endpoint | 'token' | 'all';

export type Fault =
  /** The socket is closed before any byte is sent. */
  | 'refuse'
  /** There is never a response. */
  | 'hang'
  /** Half a response, then the socket is closed. */
  | 'reset'
  /** The work is done (a refresh token is spent), but its response never arrives. */
  | 'lost'
  /** A proxy's HTML page. */
  | 'html502'
  /** A refusal of GoTrue. */
  | { readonly status: number; readonly code: string }
  | 401
  | 403
  | 404
  | 408
  | 429
  | 500
  | 503;
