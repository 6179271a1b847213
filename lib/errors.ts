/**
 * Every failure a visitor or an application can meet, in one closed table.
 * `status` and `message` are decided here and nowhere else; a provider's own words never reach a visitor.
 */

interface ErrorRow {
  readonly status: number;
  /** Safe to show to anybody: what happened, and what to do. */
  readonly message: string;
  /** When this code is used; read by the documentation's table. */
  readonly when: string;
}

export const errorTable = {
  invalid_request: {
    status: 400,
    message: 'The request could not be understood. Check its parameters and try again.',
    when: 'A parameter or body is malformed.',
  },
  invalid_host: {
    status: 400,
    message: 'The Host header is not a valid host name. Open the application under its own address.',
    when: 'The request names no usable host, so no absolute URL can be built.',
  },
  invalid_state: {
    status: 400,
    message: 'This sign-in was not started in this browser, or it took too long. Please start again.',
    when: 'The callback’s state is missing, foreign, expired or already used.',
  },
  code_rejected: {
    status: 400,
    message: 'This sign-in link has already been used or has expired. Please sign in again.',
    when: 'The provider refuses the authorization code.',
  },
  unknown_provider: {
    status: 400,
    message: 'This sign-in provider is not available here. Choose another way to sign in.',
    when: 'An OAuth start names a provider that is malformed or not in the configured list.',
  },
  link_expired: {
    status: 400,
    message: 'This link has already been used or has expired. Request a new one, then try again.',
    when: 'A confirmation link’s token is spent or too old.',
  },
  unsupported_flow: {
    status: 400,
    message: 'This kind of link is not supported here. Sign in as usual, or ask the people who run this application.',
    when: 'A link asks for something this adapter does not do, such as password recovery.',
  },
  captcha_failed: {
    status: 400,
    message: 'The captcha could not be verified. Reload the page and try again.',
    when: 'The backend demands a captcha and refuses the answer.',
  },
  unauthenticated: {
    status: 401,
    message: 'You are not signed in. Sign in to continue.',
    when: 'A guarded resource or the session route is asked for without a session.',
  },
  invalid_credentials: {
    status: 401,
    message: 'The e-mail address or the password is not correct. Check both and try again.',
    when: 'E-mail and password do not match; the same for an unknown address.',
  },
  access_denied: {
    status: 403,
    message: 'Sign-in was cancelled or refused. You can try again.',
    when: 'The provider reports that the person cancelled, or may not sign in.',
  },
  forbidden: {
    status: 403,
    message: 'You are signed in, but this is not open to you. Ask for access, or sign in with another account.',
    when: 'A guard’s organization or check is not satisfied.',
  },
  second_factor_required: {
    status: 403,
    message: 'This needs your second factor. Sign in with it, then try again.',
    when: 'A guard asks for `aal2`, and the session was signed in without a second factor.',
  },
  cross_site_request: {
    status: 403,
    message: 'This request came from another site and was refused. Go to the page itself and try again.',
    when: 'Sec-Fetch-Site or Origin names another site that is not in trustedOrigins.',
  },
  prefetch_refused: {
    status: 403,
    message: 'Sign-in and sign-out do not start from a prefetch or an embedded resource. Open the page itself.',
    when: 'A browser prefetches a route with side effects, or loads it as an image, script or the like.',
  },
  email_not_confirmed: {
    status: 403,
    message: 'Please confirm your e-mail address first: open the link in the mail that was sent to you.',
    when: 'The password is right but the address is not confirmed yet.',
  },
  signup_disabled: {
    status: 403,
    message:
      'New accounts cannot be created here. Sign in with an existing one, or ask the people who run this application.',
    when: 'Sign-up, or sign-in by e-mail, is switched off in the project.',
  },
  signup_refused: {
    status: 403,
    message: 'This account cannot be created. Use another email address, or ask the people who run this application.',
    when: 'A hook of the project refuses the new account.',
  },
  user_banned: {
    status: 403,
    message: 'This account may not sign in. Contact the people who run this application.',
    when: 'The backend reports the user as banned.',
  },
  organization_required: {
    status: 403,
    message: 'This application is for the members of one organization. Sign in with an account that belongs to it.',
    when: 'A sign-in ended outside of the organization that the option `organizationId` names.',
  },
  sign_in_incomplete: {
    status: 403,
    message: 'Sign-in needs one more step at the provider. Please sign in again and follow its instructions.',
    when: 'WorkOS asks for a step of its own (e-mail verification, MFA, SSO) that only its hosted pages can do.',
  },
  method_not_allowed: {
    status: 405,
    message: 'This method has no meaning here. Use one that the Allow header names.',
    when: 'An auth route is asked with a method it does not know.',
  },
  email_in_use: {
    status: 409,
    message: 'An account with this e-mail address already exists. Sign in instead.',
    when: 'Sign-up for a known address, where the backend itself says so.',
  },
  identity_in_use: {
    status: 409,
    message: 'This sign-in is connected to another account already. Sign in with it instead, or choose another one.',
    when: 'A sign-in method is to be connected to an account, and belongs to another one.',
  },
  payload_too_large: {
    status: 413,
    message: 'The request body is larger than 16 KB. Send only the fields of the form.',
    when: 'A form or JSON body exceeds the limit.',
  },
  unsupported_media_type: {
    status: 415,
    message: 'Send application/json or application/x-www-form-urlencoded.',
    when: 'A body of another content type arrives.',
  },
  weak_password: {
    status: 422,
    message: 'This password is too weak. Choose a longer one that mixes letters, digits and symbols.',
    when: 'The backend refuses the password.',
  },
  session_too_large: {
    status: 422,
    message:
      'Your account carries more data than a session cookie can hold. Contact the people who run this application.',
    when: 'The session would take more than 12 KB of cookies.',
  },
  rate_limited: {
    status: 429,
    message: 'Too many attempts. Wait a little, then try again.',
    when: 'The throttle or the backend’s own rate limit applies; Retry-After says how long.',
  },
  provider_refused: {
    status: 502,
    message:
      'Sign-in is not available because of a configuration problem. Please tell the people who run this application.',
    when: 'The provider refuses the application’s own key, or answers something unusable.',
  },
  token_rejected: {
    status: 502,
    message: 'The sign-in provider issued a session that could not be verified. Please try again later.',
    when: 'A token fresh from the provider fails verification.',
  },
  provider_unavailable: {
    status: 503,
    message:
      'The sign-in service cannot be reached right now. If you are signed in, you stay so. Please try again in a moment.',
    when: 'The provider does not answer in time, or answers with an outage; the session is kept.',
  },
} as const satisfies Record<string, ErrorRow>;

export type AuthErrorCode = keyof typeof errorTable;

export interface AuthErrorOptions {
  readonly cause?: unknown;
  /** Replaces the table's message; must be safe to show to anybody. */
  readonly message?: string;
  /** Seconds until another try makes sense; sent as `Retry-After` (RFC 9110 §10.2.3). */
  readonly retryAfter?: number;
  /** The methods that a 405 names in `Allow` (RFC 9110 §10.2.1). */
  readonly allow?: readonly string[];
  /** Why, for operators: our verdict or the provider's error code, never its text. Events carry it, answers do not. */
  readonly reason?: string | undefined;
}

/**
 * A failure that can be shown: it knows its HTTP status and a message without secrets.
 *
 * @example throw new AuthError('forbidden', { message: 'This tenant is suspended.' });
 */
export class AuthError extends Error {
  override readonly name = 'AuthError';
  readonly code: AuthErrorCode;
  readonly status: number;
  /** Seconds. */
  readonly retryAfter: number | undefined;
  readonly allow: readonly string[] | undefined;
  /** For operators; no answer shows it. */
  readonly reason: string | undefined;

  constructor(code: AuthErrorCode, options: AuthErrorOptions = {}) {
    const row = errorTable[code];
    super(options.message ?? row.message, options.cause === undefined ? undefined : { cause: options.cause });
    this.code = code;
    this.status = row.status;
    this.retryAfter = seconds(options.retryAfter);
    this.allow = options.allow;
    this.reason = options.reason;
  }
}

/** What `Retry-After` may say: whole seconds, a day at most, and nothing for what is no number of seconds. */
function seconds(retryAfter: number | undefined): number | undefined {
  if (retryAfter === undefined || !Number.isFinite(retryAfter) || retryAfter < 0) return undefined;
  return Math.min(Math.ceil(retryAfter), 86_400);
}

/**
 * The application is set up wrongly. Thrown at construction with every problem at once, or on the first request for
 * what only a mounted router can know.
 */
export class ConfigurationError extends Error {
  override readonly name = 'ConfigurationError';
  readonly code = 'invalid_configuration';
  /** One sentence each, naming the option and its environment variable. */
  readonly problems: readonly string[];

  constructor(subject: string, problems: readonly string[]) {
    super(`${subject}: ${problems.length === 1 ? '' : `${problems.length} problems\n- `}${problems.join('\n- ')}`);
    this.problems = problems;
  }
}
