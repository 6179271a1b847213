import * as v from 'valibot';
import { isPlainUrl } from '../tools/url.ts';
import type { Request } from 'express';
import type { IncomingMessage } from 'node:http';
import {
  baseUrl,
  callback,
  cookieEntries,
  cookieName,
  defaultsOf,
  group,
  isHttpUrl,
  issuers,
  pageUrl,
  routePath,
  sharedEntries,
  text,
  wholeNumber,
} from '../options/shared.ts';
import type { CookieOptions, OptionsOf, SharedAuthOptions } from '../options/shared.ts';
import type { OnError } from '../http/adapter.ts';
import type { SharedCoordinator } from '../session/coordinator.ts';
import type { BackendSession, OnEvent, ProviderTokens } from '../types.ts';
import { pagesEntries } from '../pages/options.ts';
import type { PagesOptions } from '../pages/options.ts';
import { englishText } from './pages/text.ts';
import type { PagesTextKey } from './pages/text.ts';
import { providerParameters } from './oauth/provider-parameters.ts';
import { signUpEntries } from './sign-up/options.ts';
import type { OnBackendSignOut, SignUpOptions } from './sign-up/options.ts';

export type { SignUpOptions };

// Re-exported here so that the declarations of one entry do not reference the package's index,
// which references the other adapter's SDK.
export type { OnError, OnEvent, SharedCoordinator };

/** The methods that are used of a `redis` or `ioredis` client. */
export interface ThrottleRedisClient {
  eval(...args: never[]): Promise<unknown>;
  del(...args: never[]): Promise<unknown>;
  multi(): object;
}

export interface BackendSignIn {
  readonly session: BackendSession;
  readonly req: Request;
  readonly returnTo: string;
  /**
   * The OAuth provider's own tokens, in the sign-in that its callback began, after the second factor where there is one. Supabase
   * hands them out this once and never renews them. Absent in every other sign-in.
   */
  readonly providerTokens?: ProviderTokens;
}

/**
 * For side effects, such as creating a row; who may have a session is `accept`'s decision. An `AuthError` refuses the sign-in with that error; any other
 * error is passed to Express' error handling. In both cases no session is created.
 */
export type OnBackendSignIn = (
  signIn: BackendSignIn,
  // A hook that only refuses or records returns nothing, with or without `async`.
  // eslint-disable-next-line @typescript-eslint/no-invalid-void-type
) => { readonly redirectTo?: string } | undefined | void | Promise<{ readonly redirectTo?: string } | undefined | void>;

const pathEntries = {
  /** Signs in; GET shows the form. Default `/auth/login`. */
  loginPath: routePath('/auth/login'),
  /** Creates an account; GET shows the form. Default `/auth/signup`. */
  signupPath: routePath('/auth/signup'),
  /** Where OAuth providers and email links lead back to. Default `/auth/callback`. */
  callbackPath: routePath('/auth/callback'),
  /** Signs out. Default `/auth/logout`. */
  logoutPath: routePath('/auth/logout'),
  /** Answers with the signed-in user as JSON. Default `/auth/session`. */
  sessionPath: routePath('/auth/session'),
  /** Resends the confirmation email. Default `/auth/resend`. */
  resendPath: routePath('/auth/resend'),
  /** Where `token_hash` links of emails lead. Default `/auth/confirm`. */
  confirmPath: routePath('/auth/confirm'),
  /** Sends a link to choose a new password. Default `/auth/forgot`. */
  forgotPath: routePath('/auth/forgot'),
  /** Sets a new password, after such a link or signed in. Default `/auth/password`. */
  passwordPath: routePath('/auth/password'),
  /** Signs in by a code or link sent by email, where `signInMethods` has `code`. Default `/auth/code`. */
  codePath: routePath('/auth/code'),
  /** Starts single sign-on by the email's domain, with `sso: true`. Default `/auth/sso`. */
  ssoPath: routePath('/auth/sso'),
  /** Asks for the second factor. Default `/auth/verify`. */
  verifyPath: routePath('/auth/verify'),
  /** Lists, adds and removes authenticator apps, and security keys where `signInMethods` has `passkey`. Default `/auth/enroll`. */
  enrollPath: routePath('/auth/enroll'),
  /** Signs in with a passkey, where `signInMethods` has `passkey`. Default `/auth/passkey`. */
  passkeyPath: routePath('/auth/passkey'),
  /** Lists, adds, renames and removes passkeys, where `signInMethods` has `passkey`. Default `/auth/passkeys`. */
  passkeysPath: routePath('/auth/passkeys'),
  /** Where the script of the pages that ask for a passkey is served. Default `/auth/passkey.js`. */
  passkeyScriptPath: routePath('/auth/passkey.js'),
  /** Asks users whether another app may act for them, with `oauthConsent: true`. Default `/oauth/consent`. */
  consentPath: routePath('/oauth/consent'),
  /** Lists the apps that users have allowed, and disconnects them. Default `/oauth/apps`. */
  connectedAppsPath: routePath('/oauth/apps'),
};

/** The path options of the adapter's routes, with their defaults. */
export const paths = defaultsOf({ ...pathEntries, stylesheetPath: sharedEntries.stylesheetPath });

/** The environment variables of each option, in order of precedence. */
export const env = {
  url: ['BAAS_URL', 'NEXT_PUBLIC_BAAS_URL'],
  anonKey: [
    'BAAS_ANON_KEY',
    'NEXT_PUBLIC_BAAS_ANON_KEY',
    'BAAS_PUBLISHABLE_KEY',
    'NEXT_PUBLIC_BAAS_PUBLISHABLE_KEY',
    'NEXT_PUBLIC_BAAS_PUBLISHABLE_DEFAULT_KEY',
  ],
  appBaseUrl: ['APP_BASE_URL'],
};

/** Supabase's provider names, including `custom:` ones; safe in a URL and in a log. */
export const providerName = /^(?:custom:)?[a-z0-9][a-z0-9_-]{0,63}$/;

const provider = v.pipe(
  text('a provider’s name, such as github'),
  v.regex(providerName, 'must be a provider’s name in lower case, such as github'),
);

const absoluteUrl = (what: string) =>
  v.pipe(
    v.string(`must be ${what}`),
    v.check(isHttpUrl, `must be ${what}, with http:// or https://`),
    v.description(what),
  );

const optionalText = v.optional(v.string('must be a string'));

const providerEntries = {
  /** The text on its button. Default: the name as its owner writes it. */
  label: optionalText,
  /** Scopes to ask for beyond Supabase's own, separated by blanks. */
  scopes: optionalText,
  /**
   * Further parameters of the provider's own sign-in URL, such as `{ access_type: 'offline', prompt: 'consent' }` for Google.
   * Names that belong to the sign-in itself are refused.
   */
  queryParams: v.optional(providerParameters),
};

export interface OAuthProviderOptions extends OptionsOf<typeof providerEntries> {
  /** Supabase's name for it, such as `github`. Required. */
  readonly name: string;
}

const pageEntries = {
  /** The application's own sign-in page, in place of the built-in one; it gets `returnTo`, and `error` after a failure. */
  signIn: v.optional(pageUrl),
  /** The application's own sign-up page. */
  signUp: v.optional(pageUrl),
};

export interface BackendPagesOptions extends PagesOptions<PagesTextKey>, OptionsOf<typeof pageEntries> {}

const httpOnlyEntries = {
  /** Default true; false lets a browser client of @supabase/ssr share the session, and every script read it. */
  httpOnly: v.optional(v.boolean('must be true or false')),
};

export interface BackendCookieOptions extends CookieOptions, OptionsOf<typeof httpOnlyEntries> {}

const throttleEntries = {
  /** A connected client of `redis` or `ioredis`, so that several processes count together. Default: in memory. */
  redis: v.optional(v.custom<ThrottleRedisClient>(isThrottleClient, 'must be a client of redis or ioredis')),
  /** In front of every key in Redis. Default `express-auth-adapters:throttle`. */
  keyPrefix: v.optional(v.pipe(v.string('must be a string'), v.nonEmpty('is empty'))),
};

/** How failed sign-ins are counted: 10 in 15 minutes per account and network, 100 per network, 5 per second factor. */
export interface ThrottleOptions extends OptionsOf<typeof throttleEntries> {}

const ownEntries = {
  /** The Supabase project's URL. Required. Env `BAAS_URL`, then `NEXT_PUBLIC_BAAS_URL`. */
  url: v.pipe(
    absoluteUrl('the URL of a Supabase project (https://….supabase.co), from its API settings'),
    v.check(
      (value) => !isHttpUrl(value) || isPlainUrl(new URL(value)),
      'must not carry credentials, a query or a fragment',
    ),
    v.check(
      (value) => dashboardProject(value) === undefined,
      ({ input }) =>
        `is the dashboard’s address, not the project’s; paste https://${dashboardProject(input) ?? ''}.supabase.co`,
    ),
    baseUrl,
  ),
  /**
   * The project's publishable key, or its legacy anon key; any other kind is refused. Required. Env `BAAS_ANON_KEY`,
   * `NEXT_PUBLIC_BAAS_ANON_KEY`, `BAAS_PUBLISHABLE_KEY`, `NEXT_PUBLIC_BAAS_PUBLISHABLE_KEY`, `NEXT_PUBLIC_BAAS_PUBLISHABLE_DEFAULT_KEY`.
   */
  anonKey: text('the publishable key (sb_publishable_…, or the older anon key), from the project’s API settings'),
  /** The absolute URL of the callback, where it is not the application's base URL or origin plus `callbackPath`. */
  callbackUrl: v.optional(absoluteUrl('an absolute URL')),
  /**
   * What the built-in pages sign in with: passwords, codes and links sent by email, passkeys. `passkey` also lets security keys be
   * second factors. Default `['password']`.
   */
  signInMethods: v.optional(
    v.pipe(
      v.array(
        v.picklist(['password', 'code', 'passkey'], "must be a list of 'password', 'code' and 'passkey'"),
        'must be a list of methods',
      ),
      v.minLength(1, 'must name at least one method'),
    ),
    ['password'],
  ),
  /**
   * The shortest new password, in characters, which the pages say. Give it the project's own: the project refuses shorter ones for every
   * client. Default: the project alone decides, and the pages say what its last refusal named, else 8.
   */
  passwordMinLength: v.optional(wholeNumber('characters', 1, 72)),
  /**
   * Whether users can create accounts here; false removes the sign-up route and its links, and codes create no account. An object
   * (`{ data, check }`) says which further fields of the sign-up form are stored, and checks them. Default true.
   */
  signUp: v.optional(
    v.union([v.boolean(), group<SignUpOptions>(signUpEntries)], 'must be true, false or an object with data or check'),
    true,
  ),
  /** Whether the sign-in page offers SAML single sign-on by the email's domain. Default false. */
  sso: v.optional(v.boolean('must be true or false'), false),
  /** Whether the project's OAuth server asks for consent here, and users can disconnect its apps. Default false. */
  oauthConsent: v.optional(v.boolean('must be true or false'), false),
  /** Buttons of the built-in pages and, where not empty, the only providers that may be used. Default: none, any may be used. */
  providers: v.optional(
    v.array(
      v.union(
        [
          v.pipe(
            provider,
            v.transform((name) => ({ name })),
          ),
          group<OAuthProviderOptions>({ name: provider, ...providerEntries }),
        ],
        'must be a provider’s name such as github, or { name, label?, scopes?, queryParams? }',
      ),
      'must be a list of providers',
    ),
    [],
  ),
  /**
   * Whether the session cookie keeps an OAuth provider's own tokens until the first refresh, where `getSupabaseClient(req)` finds
   * them. Default false: store what you need in `onSignIn`, which gets them once.
   */
  keepProviderTokens: v.optional(v.boolean('must be true or false'), false),
  /** Starts OAuth with this provider instead of showing a sign-in page. */
  defaultProvider: v.optional(provider),
  /** The brand and texts of the built-in pages, or pages of your own. */
  pages: v.optional(group<BackendPagesOptions>({ ...pageEntries, ...pagesEntries(englishText) }), {}),
  /** The session cookie's name. Default: `sb-<first label of the project's host>-auth-token`, the name that Supabase's SDK uses. */
  cookieName: v.optional(cookieName),
  /** The attributes of the session cookie. */
  cookieOptions: v.optional(group<BackendCookieOptions>({ ...cookieEntries, ...httpOnlyEntries })),
  /** Issuers that access tokens may name besides `<url>/auth/v1`, as behind a custom domain. */
  issuer: v.optional(issuers, []),
  /** Whether signing out ends this session (`local`) or all of the user's (`global`), here and at the backend. Default `local`. */
  signOutScope: v.optional(v.picklist(['local', 'global'], "must be 'local' or 'global'"), 'local'),
  /**
   * How long sign-up, resend and forgot take to say that an email was sent, in milliseconds. This time does not tell who has an account.
   * Slower emails go on in the background. Default 1500; 0 answers when the project does, as tests may want it.
   */
  mailAnswerMs: v.optional(wholeNumber('milliseconds, or 0', 0, 10_000), 1_500),
  /** Limits failed sign-ins before the backend is asked; `false` turns that off. */
  throttle: v.optional(
    v.union(
      [v.literal(false), group<ThrottleOptions>(throttleEntries)],
      'must be false, or an object with redis or keyPrefix',
    ),
    {},
  ),
  /**
   * Whether Supabase is told the user's address in `X-Forwarded-For`. For a self-hosted project whose GoTrue counts by it
   * (`GOTRUE_RATE_LIMIT_HEADER=X-Forwarded-For`); a hosted project ignores it. Default false.
   */
  forwardClientAddress: v.optional(v.boolean('must be true or false'), false),
  /** The user's address, for the throttle. Default: Express' `req.ip`, which follows `trust proxy`, else the socket's. */
  clientAddress: v.optional(callback<(req: IncomingMessage) => string | undefined>('(req) => string | undefined')),
  /**
   * Decides who may have a session here; only `true` does. Asked at every sign-in before anything is stored, and once for each
   * access token that a request brings. It also decides about a cookie that no sign-in of ours wrote. A refusal is a 403 `not_accepted`.
   */
  accept: v.optional(
    callback<(session: BackendSession, req: Request) => boolean | Promise<boolean>>('(session, req) => boolean'),
  ),
  /** Runs once per sign-in or sign-up, after `accept` and before any cookie is stored: for side effects. It is no guard. */
  onSignIn: v.optional(callback<OnBackendSignIn>('({ session, req, returnTo }) => { redirectTo } | void')),
  /**
   * Runs at every sign-out by `logoutPath`, before the redirect, also where no session is left (`session: null`). It never stops a
   * sign-out: what it throws becomes the event `hook_failed` and, once for each cause, a warning. It has `timeoutMs`.
   */
  onSignOut: v.optional(callback<OnBackendSignOut>('({ session, req, res }) => void')),
};

/** Options of `backendAuth`; each beats its environment variable. */
export interface BackendAuthOptions
  extends SharedAuthOptions, OptionsOf<typeof ownEntries>, OptionsOf<typeof pathEntries> {}

export const backendSchema = v.strictObject({ ...sharedEntries, ...ownEntries, ...pathEntries });

function isThrottleClient(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return ['eval', 'del', 'multi'].every((method) => typeof Reflect.get(value, method) === 'function');
}

/** The project of a dashboard address, the address that people see in the browser and paste. */
function dashboardProject(url: string): string | undefined {
  const { hostname, pathname } = URL.parse(url) ?? { hostname: '', pathname: '' };
  const isDashboard = /^(?:www\.|app\.)?supabase\.(?:com|io)$/.test(hostname);
  return isDashboard ? (/\/project\/([a-z]{20})(?:\/|$)/.exec(pathname)?.[1] ?? '<project ref>') : undefined;
}
