/** What a test may change while the stand-in runs; every default is that of a fresh hosted project. */
export interface Switches {
  /** `true`: no confirmation mail, sign-up answers with a session. */
  autoconfirm: boolean;
  signupDisabled: boolean;
  emailProviderDisabled: boolean;
  /** The one captcha answer that passes; `undefined` switches captcha off. */
  captchaToken: string | undefined;
  minimumPasswordLength: number;
  /** Letters and digits are both required. */
  requireLettersAndDigits: boolean;
  /** Passwords that "were found in a breach". */
  pwnedPasswords: ReadonlySet<string>;
  /** Domains that answer `email_address_invalid`. */
  invalidEmailDomains: ReadonlySet<string>;
  /** Enabled OAuth providers. */
  providers: ReadonlySet<string>;
  /** Who is signed in at the OAuth providers unless the consent form says otherwise. */
  oauthEmail: string;
  /** Seconds between two mails to the same address. */
  mailFrequency: number;
  /** What becomes of every mail: the mail server is down, the project's quota is used up, the default mail server sends to members only. */
  mailFailure: 'smtp' | 'quota' | 'not_authorized' | undefined;
  /** Whether a `before_user_created` hook refuses every new user. */
  newUsersRefused: boolean;
  /** Milliseconds, real ones, that sign-up and resend take longer for some addresses, as sending a mail does. */
  extraMs: (email: string) => number;
  /** Seconds. */
  accessTokenTtl: number;
  /** Claims that a custom access token hook sets. */
  tokenClaims: Readonly<Record<string, string>>;
  /** What a spent refresh token meets: `parent` gives the active token back to its direct parent, as GoTrue does. */
  reuse: 'strict' | 'parent';
}

export interface Mail {
  readonly kind: 'signup' | 'magiclink' | 'recovery' | 'invite' | 'email_change';
  readonly to: string;
  /** `{{ .ConfirmationURL }}`: the backend's own /verify link. */
  readonly confirmationUrl: string;
  /** `{{ .TokenHash }}`. */
  readonly tokenHash: string;
}

export interface NewUser {
  readonly email: string;
  readonly password?: string;
  readonly confirmed?: boolean;
  readonly metadata?: Record<string, unknown>;
  readonly appMetadata?: Record<string, unknown>;
  readonly banned?: boolean;
}

export interface User {
  readonly id: string;
  readonly email: string;
  password: string | undefined;
  /** ISO 8601; `undefined` while the address is unconfirmed. */
  confirmedAt: string | undefined;
  confirmationSentAt: string | undefined;
  lastSignInAt: string | undefined;
  metadata: Record<string, unknown>;
  appMetadata: Record<string, unknown>;
  banned: boolean;
  readonly providers: string[];
  readonly createdAt: string;
}

/** GoTrue's answer to every grant. */
export interface SessionJson {
  readonly access_token: string;
  readonly token_type: 'bearer';
  readonly expires_in: number;
  readonly expires_at: number;
  readonly refresh_token: string;
  readonly user: UserJson;
  readonly provider_token?: string;
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
  | 'recover'
  | 'verify'
  | 'authorize'
  | 'logout'
  | 'user'
  | 'settings'
  | 'jwks'
  | 'rest'
  | 'other';

/** `token` is every grant, `all` is everything. */
export type FaultTarget = Endpoint | 'token' | 'all';

export type Fault =
  /** The socket is closed before a byte is sent. */
  | 'refuse'
  /** Nothing is ever answered. */
  | 'hang'
  /** Half an answer, then the socket is closed. */
  | 'reset'
  /** The work is done (a refresh token is spent), its answer never arrives. */
  | 'lost'
  /** A proxy's HTML page. */
  | 'html502'
  | 401
  | 403
  | 404
  | 408
  | 429
  | 500
  | 503;
