/**
 * The nouns of this package: sessions, events, and the bodies that travel between server and typed client.
 * Types only; importing this file costs nothing at run time.
 */

/**
 * Why the coordinator or the throttle's Redis did not do what it was asked. `unavailable`: no connection, no answer in time, or it
 * cannot serve now. The others last until an operator changes something: `not_permitted` (Redis' `NOPERM`), `not_authenticated`
 * (`NOAUTH`, `WRONGPASS`), `read_only` (`READONLY`), `refused` (any other error that it answers) and `unreadable` (an answer of
 * another password or program).
 */
export type CoordinatorReason =
  'unavailable' | 'not_permitted' | 'not_authenticated' | 'read_only' | 'refused' | 'unreadable';

/** A JSON value as it comes out of a verified token. */
export type Json = string | number | boolean | null | readonly Json[] | { readonly [key: string]: Json | undefined };

/** The claims of a verified access token (RFC 7519 §4). */
export interface AccessTokenClaims {
  readonly sub: string;
  /** Seconds since the epoch. */
  readonly exp: number;
  /** Seconds since the epoch. */
  readonly iat?: number;
  readonly [claim: string]: Json | undefined;
}

/**
 * The claims of a WorkOS access token. Claims of a JWT template of your own are added by declaration merging.
 *
 * @example declare module 'express-auth-adapters' { interface B2bClaims { readonly plan?: string } }
 * @see https://workos.com/docs/authkit/sessions
 */
export interface B2bClaims extends AccessTokenClaims {
  /** The session's id. */
  readonly sid?: string;
  readonly org_id?: string;
  /** The first of `roles`. */
  readonly role?: string;
  readonly roles?: readonly string[];
  readonly permissions?: readonly string[];
  readonly entitlements?: readonly string[];
  readonly feature_flags?: readonly string[];
  /** Who impersonates the user. */
  readonly act?: { readonly sub: string };
  /** When the person signed in, in seconds since the epoch; a refresh does not change it. */
  readonly auth_time?: number;
  readonly client_id?: string;
}

/** The signed-in person, as WorkOS describes them. */
export interface B2bUser extends B2bPublicUser {
  /** Whether WorkOS knows that the address is theirs. Match accounts by address only where this is true. */
  readonly emailVerified?: boolean;
  /** Your own id for them, where you gave WorkOS one. */
  readonly externalId?: string | null;
  readonly metadata?: Readonly<Record<string, string>>;
  /** Such as `en-US`. */
  readonly locale?: string | null;
}

/** What the session route shows of a `B2bUser`. */
export interface B2bPublicUser {
  readonly id: string;
  readonly email: string;
  readonly firstName?: string | null;
  readonly lastName?: string | null;
  readonly profilePictureUrl?: string | null;
}

/** Who acts through a WorkOS impersonation session, and why. */
export interface Impersonator {
  readonly email: string;
  readonly reason: string | null;
}

/** A verified WorkOS AuthKit session. */
export interface B2bSession {
  readonly adapter: 'b2b';
  /** What the session came from. */
  readonly credential: 'cookie' | 'bearer';
  /** Of a bearer token `{ id }` alone, whatever the type says: WorkOS' access tokens carry no profile. */
  readonly user: B2bUser;
  readonly sessionId?: string;
  /** The application's tenant; absent for a personal session. */
  readonly organizationId?: string;
  readonly impersonator?: Impersonator;
  readonly accessToken: string;
  readonly claims: B2bClaims;
  /**
   * When the access token expires, or the session reaches `idleTimeout` or `sessionMaxAge`, in milliseconds since the epoch. The session
   * itself is renewed before that matters.
   */
  readonly expiresAt: number;
}

/** The signed-in person, from the verified claims of a Supabase access token. */
export interface BackendUser {
  readonly id: string;
  readonly email: string | null;
  readonly phone?: string;
  readonly role: string;
  readonly isAnonymous: boolean;
  readonly appMetadata: Readonly<Record<string, unknown>>;
  readonly userMetadata: Readonly<Record<string, unknown>>;
}

/** A verified Supabase session. */
export interface BackendSession {
  readonly adapter: 'backend';
  /** What the session came from. */
  readonly credential: 'cookie' | 'bearer';
  readonly user: BackendUser;
  readonly accessToken: string;
  readonly claims: AccessTokenClaims;
  /**
   * When the access token expires, or the session reaches `idleTimeout` or `sessionMaxAge`, in milliseconds since the epoch. The session
   * itself is renewed before that matters.
   */
  readonly expiresAt: number;
}

/** The session of whichever adapter is mounted, told apart by `adapter`. */
export type Session = B2bSession | BackendSession;

export type AdapterName = Session['adapter'];

/** The session type that belongs to an adapter's name. */
export type SessionOf<A extends AdapterName> = Extract<Session, { adapter: A }>;

/** WorkOS' answer to a sign-in, as the methods `authenticateWith…` of its SDK return it. Its `user` is not signed: take it from the SDK alone. */
export interface B2bTokens {
  readonly accessToken: string;
  readonly refreshToken: string;
  readonly user: { readonly id: string; readonly email: string };
  readonly organizationId?: string | null | undefined;
  readonly authenticationMethod?: string | null | undefined;
  readonly impersonator?: { readonly email: string; readonly reason?: string | null } | null | undefined;
  readonly oauthTokens?: object | null | undefined;
}

/** The tokens of a Supabase session; other fields of it are not read. */
export interface BackendTokens {
  readonly access_token: string;
  readonly refresh_token: string;
}

/** One of a user's ways to sign in, as Supabase has it. */
export interface BackendIdentity {
  /** Supabase's name for the provider, such as `google`; `email` or `phone` where there is none. */
  readonly provider: string;
  /** The provider's own id for the user, such as Google's `sub`; of `email` and `phone` Supabase's own. */
  readonly id: string;
  /** As the provider says it. Whether it is confirmed, only the provider knows: find rows by `id`. */
  readonly email?: string;
}

/** The tokens with which an OAuth provider's own API is called, such as Google's or GitHub's. */
export interface ProviderTokens {
  /** Supabase's name for it, such as `google`. */
  readonly provider: string;
  readonly accessToken: string;
  /** Absent where the provider issued none: Google does with `queryParams: { access_type: 'offline', prompt: 'consent' }`. */
  readonly refreshToken?: string;
}

/** `GET /auth/session` of the WorkOS adapter. */
export interface B2bSessionBody {
  readonly authenticated: true;
  readonly sessionId?: string;
  readonly organizationId?: string;
  readonly user: B2bPublicUser;
  /** Who acts as the user; absent in an ordinary session. */
  readonly impersonator?: Impersonator;
}

/** `GET /auth/session` of the Supabase adapter. */
export interface BackendSessionBody {
  readonly authenticated: true;
  readonly user: BackendUser;
}

/** Where the browser goes next. */
export interface RedirectBody {
  readonly redirectTo: string;
}

/** An app that asks to act for the user, in its own words: nothing of it is verified. */
export interface OAuthClientInfo {
  readonly id: string;
  /** On one line, at most 80 characters; empty where it gave none. */
  readonly name: string;
  /** Its website, where that is an https URL. */
  readonly uri?: string;
  /** An https URL of its logo. A page that shows it tells the app's host who looks at it. */
  readonly logoUri?: string;
}

/** `GET /oauth/consent`: what an app asks for. */
export interface ConsentBody {
  /** The app; show the host of `redirectUri` beside its name, which anyone can choose. */
  readonly client: OAuthClientInfo & { readonly redirectUri: string };
  readonly scopes: readonly string[];
  readonly user: BackendUser;
}

/** An app that acts for the user. */
export interface ConnectedApp {
  readonly client: OAuthClientInfo;
  readonly scopes: readonly string[];
  /** ISO 8601; empty where unknown. */
  readonly grantedAt: string;
}

/** `GET /oauth/apps`. */
export interface ConnectedAppsBody {
  readonly apps: readonly ConnectedApp[];
}

/** The answer to a form that sends an email, whether or not one was sent; `redirectTo` is the sign-in page. */
export interface MailSentBody {
  readonly email: string;
  readonly message: string;
  readonly redirectTo: string;
}

/** Sign-up answered with a mail instead of a session. */
export interface EmailConfirmationBody extends MailSentBody {
  readonly emailConfirmationRequired: true;
}

/** Every error in JSON; `redirectTo` names the sign-in route where signing in would help. */
export interface ErrorBody {
  readonly error: {
    readonly status: number;
    readonly code: string;
    readonly message: string;
    /** What is wrong with single fields of a form, by their names. */
    readonly fields?: Readonly<Record<string, string>>;
  };
  readonly redirectTo?: string;
}

interface EventBase {
  readonly adapter: AdapterName;
}

/** Whose session an event speaks of; never a token. */
interface EventSubject {
  readonly userId?: string;
  readonly sessionId?: string;
  readonly organizationId?: string;
}

/** What happened, without secrets: no token, no cookie, no code, no password, no email address. */
export type AuthEvent = EventBase &
  (
    | ({ readonly type: 'signed_in' } & EventSubject)
    | ({ readonly type: 'signed_out' } & EventSubject)
    | ({ readonly type: 'session_refreshed' } & EventSubject)
    /** The provider ended the session for good (revoked, banned, refresh token spent), or it reached `idleTimeout` or `sessionMaxAge`; the cookie is cleared. */
    | ({ readonly type: 'session_ended'; readonly reason: string } & EventSubject)
    /**
     * The provider could not be asked; the session is kept. `reason`: `rate_limited`, `timeout` (the call goes on), `unanswered`,
     * `server_error`, `provider_refused`, another verdict of ours, or the provider's error code.
     */
    | ({ readonly type: 'refresh_failed'; readonly code: string; readonly reason?: string } & EventSubject)
    /** A refresh was due but the response's headers were already sent, so no token was spent. */
    | { readonly type: 'refresh_skipped'; readonly reason: 'headers_sent' }
    /** `reason`: our verdict or the provider's error code, where there is one. */
    | { readonly type: 'sign_in_failed'; readonly code: string; readonly reason?: string }
    /** A user allowed or denied what an app asked for. `clientId`: where this process showed the page. */
    | { readonly type: 'consent_given' | 'consent_denied'; readonly userId: string; readonly clientId?: string }
    /** A user took back what an app was allowed; its tokens are over. */
    | { readonly type: 'grant_revoked'; readonly userId: string; readonly clientId: string }
    /** An email of sign-up or resend was not sent, which no answer to the visitor may tell. */
    | { readonly type: 'mail_failed'; readonly code: string; readonly reason?: string }
    /** Cookies that came too late: the response's headers were already sent. */
    | { readonly type: 'cookie_lost'; readonly names: readonly string[] }
    /** A session cookie that cannot be opened or trusted was cleared; with the reason `not_a_session` it was left for another app, with `not_accepted` the option `accept` refused it. */
    | { readonly type: 'session_rejected'; readonly reason: string }
    /** The session takes more than 8 KB of cookies. */
    | { readonly type: 'session_large'; readonly bytes: number }
    /** The session takes more than 12 KB of cookies: it is not stored, and the person is signed out. */
    | ({ readonly type: 'session_too_large'; readonly bytes: number } & EventSubject)
    /** Signing keys could not be fetched; cached ones serve meanwhile. */
    | { readonly type: 'keys_unavailable'; readonly stale: boolean }
    /** The shared coordinator, or a part of it, is out of reach or refuses; this process goes on by itself. Once for each outage. */
    | { readonly type: 'coordinator_unavailable'; readonly operation: string; readonly reason: CoordinatorReason }
    /** All of the shared coordinator is in reach again. */
    | { readonly type: 'coordinator_recovered' }
    /** A hook of the application threw, or did not answer in time; the sign-out went on. */
    | { readonly type: 'hook_failed'; readonly hook: 'onSignOut'; readonly code: string; readonly reason?: string }
    /** `endSession` ended a session here, but could not end it at the provider. */
    | {
        readonly type: 'revocation_failed';
        readonly code: string;
        readonly reason?: string;
        readonly sessionId: string;
      }
    | { readonly type: 'throttled'; readonly scope: 'account' | 'network' | 'code' }
    | { readonly type: 'configuration_warning'; readonly message: string }
  );

/** What every message on a channel of `node:diagnostics_channel` says; never a token, a cookie, an id or an email address. */
interface Measured {
  readonly adapter: AdapterName;
  /** Milliseconds, with fractions. */
  readonly durationMs: number;
}

/** Why a call failed: the same codes and reasons as in events. */
interface Failed {
  readonly outcome: 'failed';
  readonly code: string;
  readonly reason?: string;
}

/**
 * Channel `express-auth-adapters:refresh`: this process asked the provider for new tokens. `ended`: the provider ended the session,
 * `reason` is its code. `failed`: it did not say; the session is kept.
 */
export type RefreshMessage = Measured &
  (Failed | { readonly outcome: 'renewed' } | { readonly outcome: 'ended'; readonly reason: string });

/**
 * Channel `express-auth-adapters:verify`: an access token was verified, because its session was not in the cache. `unverifiable`: the
 * issuer publishes no such key. `failed`: keys were needed and out of reach.
 */
export type VerifyMessage = Measured &
  (
    | Failed
    | { readonly outcome: 'live' | 'expired' | 'unverifiable' }
    | { readonly outcome: 'invalid'; readonly reason: string }
  );

/**
 * Channel `express-auth-adapters:sign-in`: a sign-in was completed or failed, from the arrival of its last request until `onSignIn`
 * had accepted it.
 */
export type SignInMessage = Measured & (Failed | { readonly outcome: 'signed_in' });

export type OnEvent = (event: AuthEvent) => void;

/** Hands work that goes on after a response to the platform, such as Vercel's `waitUntil`. */
export type WaitUntil = (work: Promise<unknown>) => unknown;
