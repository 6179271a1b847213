import { createHmac } from 'node:crypto';
import type { Request } from 'express';
import * as v from 'valibot';
import { isProduction, setVariable, valueOf } from '../tools/environment.ts';
import { isLoopback } from '../tools/url.ts';
import { cookieProblems } from '../http/cookie-jar.ts';
import { nameOf, readOptions } from '../options/read.ts';
import type { NamedVariables } from '../options/read.ts';
import {
  callback,
  cookieEntries,
  cookieName,
  pathsOf,
  group,
  issuers,
  origin,
  pageUrl,
  queryParameters,
  routePath,
  routePaths,
  sharedEntries,
  text,
} from '../options/shared.ts';
import type { CookieOptions, OptionsOf, SharedAuthOptions } from '../options/shared.ts';
import { formerB2bEntries, formerSharedEntries, writtenNames } from '../options/former.ts';
import type { FixedShared, FormerB2bOptions, FormerPaths, FormerSharedOptions } from '../options/former.ts';
import { backendTextKeys } from '../pages/backend-text-keys.ts';
import { pagesEntries } from '../pages/options.ts';
import type { PagesOptions } from '../pages/options.ts';
import { sharedText } from '../pages/texts.ts';
import type { OnError } from '../http/adapter.ts';
import type { SignOutOf } from '../http/sign-out-hook.ts';
import type { SharedCoordinator } from '../session/coordinator.ts';
import type { B2bSession, OnEvent } from '../types.ts';
import { lifetimeEntries } from '../http/lifetime/options.ts';
import { organizationsPaths } from './organizations/options.ts';

// Re-exported here so that the declarations of one entry do not reference the package's index,
// which references the other adapter's SDK.
export type { OnError, OnEvent, SharedCoordinator };

export interface B2bSignIn {
  readonly session: B2bSession;
  readonly req: Request;
  readonly returnTo: string;
  /** The session's organization, from the verified access token; absent for a personal session. */
  readonly organizationId?: string;
  /** What the sign-in was started for: the option `organizationId`, else `organization_id` of the query. Asked for, not granted. */
  readonly requestedOrganizationId?: string;
  /** As WorkOS names it: `Password`, `SSO`, `GoogleOAuth`, … */
  readonly authenticationMethod?: string;
  /** The social provider's own tokens, where WorkOS is set up to return them. They are in no cookie: keep what you need. */
  readonly oauthTokens?: OAuthTokens;
}

export interface OAuthTokens {
  readonly accessToken: string;
  readonly refreshToken: string;
  /** Seconds since the epoch; 0 for a token that does not expire. */
  readonly expiresAt: number;
  readonly scopes: readonly string[];
}

/** Where to go instead of `returnTo`, sanitised like it; nothing keeps `returnTo`. */
// eslint-disable-next-line @typescript-eslint/no-invalid-void-type -- a hook that returns nothing is the common one
export type SignInHookResult = { readonly redirectTo?: string } | undefined | void;

/**
 * The place to map `organizationId` to a tenant or to create a row. Throwing an `AuthError` refuses the sign-in with that error;
 * anything else thrown goes to Express' error handling. In both cases there is no session.
 */
export type OnB2bSignIn = (signIn: B2bSignIn) => SignInHookResult | Promise<SignInHookResult>;

export interface B2bSignOut extends SignOutOf<B2bSession> {}

export type OnB2bSignOut = (signOut: B2bSignOut) => unknown;

/** The environment variables of each option, in order of precedence; WorkOS' own names come last. */
export const b2bVariables = {
  clientId: ['B2B_CLIENT_ID', 'WORKOS_CLIENT_ID'],
  apiKey: ['B2B_API_KEY', 'WORKOS_API_KEY'],
  cookiePassword: ['B2B_COOKIE_PASSWORD', 'LEGACY_B2B_COOKIE_PASSWORD', 'WORKOS_COOKIE_PASSWORD'],
  apiHostname: ['B2B_API_HOSTNAME'],
  port: ['B2B_API_PORT'],
  https: ['B2B_API_HTTPS'],
  authkitDomain: ['B2B_AUTHKIT_DOMAIN'],
};

/** The packages that an application installs for this adapter. */
export const b2bSdks = ['@workos-inc/node'];

const password = v.pipe(
  v.string('must be a string, or a list of strings'),
  v.minLength(32, 'must be at least 32 characters; make one with: openssl rand -base64 32'),
);

/** Parameters that each sign-in sets itself, or that the query of `/login` chooses. */
const ownParameters: ReadonlySet<string> = new Set([
  'client_id',
  'client_secret',
  'code_challenge',
  'code_challenge_method',
  'domain_hint',
  'invitation_token',
  'login_hint',
  'max_age',
  'organization_id',
  'prompt',
  'provider',
  'redirect_uri',
  'response_type',
  'screen_hint',
  'state',
]);

const authorizationParams = queryParameters(
  v.union([v.string(), v.array(v.string())], 'must hold strings or lists of strings'),
  {
    form: /^[a-z_]{1,64}(?:\[[\w-]{0,64}\])?$/,
    example: 'connection_id',
    isOwn: (name) => ownParameters.has(name.replace(/\[.*$/, '')),
  },
);

const domainRule = 'must be a host such as example.authkit.app, or its origin; http: for loopback addresses only';

/** Read as an origin. */
const authkitDomain = v.pipe(
  v.string(domainRule),
  v.transform((value) => (/^https?:\/\//i.test(value) ? value : `https://${value}`).replace(/\/$/, '')),
  v.check(isAuthkitOrigin, domainRule),
  v.toLowerCase(),
);

function isAuthkitOrigin(value: string): boolean {
  // The parser is lenient (quotes, for example), so only plain hosts are accepted.
  const isPlain = /^https?:\/\/(?:[a-z0-9.-]+|\[[0-9a-f:.]+\])(?::\d+)?$/i.test(value);
  const url = URL.parse(value);
  if (!isPlain || url?.origin !== value.toLowerCase()) return false;
  return url.protocol === 'https:' || isLoopback(url.hostname);
}

const paths = {
  ...organizationsPaths,
};

/** The paths of the routes that have no option of their own, named as in the typed client. */
export interface B2bPathsOptions extends OptionsOf<typeof organizationsPaths> {}

const pathEntries = {
  /** Where hosted sign-in starts. Default `/login`. */
  loginPath: routePath('/login'),
  /** Where hosted sign-up starts. Default `/signup`. */
  signUpPath: routePath('/signup'),
  /** Where WorkOS sends the browser back to. Default `/callback`. With the application's origin and mount path it is the redirect URI to register with WorkOS. */
  callbackPath: routePath('/callback'),
  /** Signs out (POST). Default `/logout`. */
  logoutPath: routePath('/logout'),
  /** Answers with the session as JSON. Default `/auth/session`. */
  sessionPath: routePath('/auth/session'),
  /** The paths of all other routes, named as in the typed client: `{ organization: '/team' }`. The client takes the same object. */
  paths: routePaths<B2bPathsOptions>(paths),
};

/** A value that a copy often brings something with. */
const credential = (what: string) =>
  v.pipe(text(what), v.regex(/^[^\s"'`]*$/, `holds blanks, quotes or a line break: ${what}`), v.description(what));

const ownEntries = {
  /** WorkOS client id. Required. Env `B2B_CLIENT_ID`, last `WORKOS_CLIENT_ID`. */
  clientId: credential('the client id (client_…), under API Keys in the WorkOS dashboard'),
  /** WorkOS API key. Required. Env `B2B_API_KEY`, last `WORKOS_API_KEY`. */
  apiKey: credential('an API key (sk_…), under API Keys in the WorkOS dashboard'),
  /**
   * Seals the session cookie; 32 random characters or more. Of a list the first seals and all open. Env `B2B_COOKIE_PASSWORD`, then
   * `LEGACY_B2B_COOKIE_PASSWORD`, last `WORKOS_COOKIE_PASSWORD`. Default: derived from `apiKey` in development, required in production.
   */
  cookiePassword: v.optional(
    v.union(
      [
        v.pipe(
          password,
          v.transform((only) => [only]),
        ),
        v.pipe(v.array(password), v.minLength(1, 'must not be an empty list')),
      ],
      (issue) =>
        (issue.issues?.[0] as { message?: string } | undefined)?.message ?? 'must be a string, or a list of strings',
    ),
  ),
  /** The session cookie's name. Default `b2b-session`. Give it WorkOS' own (`wos-session`) to share the session with an app on their SDKs. */
  cookieName: v.optional(cookieName, 'b2b-session'),
  /** The attributes of the session cookie; it is always `HttpOnly`. */
  cookieOptions: v.optional(group<CookieOptions>(cookieEntries)),
  /**
   * Signs users in to this organization only: `organization_id` in the query is ignored, and a sign-in that ends
   * anywhere else is a 403 `organization_required`. It is no guard: sessions that began elsewhere need `requireSession`.
   */
  organizationId: v.optional(credential('the id of a WorkOS organization, such as org_01…')),
  /**
   * Further parameters of the authorize URL, named as there: `connection_id`, `provider_scopes`, `provider_query_params[hd]`, …
   * Names that belong to the sign-in itself are refused. With `connection_id` no `provider` is sent.
   */
  authorizationParams: v.optional(authorizationParams, {}),
  /** Where WorkOS sends the browser after sign-out: an absolute URL or a root-relative path. Default: the application's origin. */
  logoutReturnTo: v.optional(pageUrl),
  /**
   * Where WorkOS is: an origin, such as that of a custom domain or of a stand-in. `B2B_API_HOSTNAME`, `B2B_API_PORT` and `B2B_API_HTTPS`
   * name its parts in the environment. Default `https://api.workos.com`.
   */
  apiUrl: v.optional(origin),
  /**
   * Your AuthKit domain, whose tokens `protectResource` takes: `example.authkit.app`, or an origin; `http:` for loopback addresses only.
   * Env `B2B_AUTHKIT_DOMAIN`. Default: none.
   */
  authkitDomain: v.optional(authkitDomain),
  /** Issuers (`iss`) that access tokens may name. Default: any, as the signature comes from the client's own keys. */
  issuer: v.optional(issuers),
  /** What makes the built-in pages (errors, the choice of an organization, signing out) your own. */
  pages: v.optional(group<PagesOptions>(pagesEntries(sharedText, backendTextKeys)), {}),
  /**
   * Decides who may have a session here, for example in which organizations; only `true` does. Asked at every sign-in before
   * anything is stored, and once for each new access token of a session. A refusal is a 403 `not_accepted`.
   */
  accept: v.optional(
    callback<(session: B2bSession, req: Request) => boolean | Promise<boolean>>('(session, req) => boolean'),
  ),
  /** Runs once per sign-in, after `accept` and before any cookie is stored: for side effects. An organization switch is no sign-in. */
  onSignIn: v.optional(callback<OnB2bSignIn>('({ session, req, returnTo }) => { redirectTo } | void')),
  /**
   * Runs at every sign-out by `logoutPath`, before the redirect, also where no session is left (`session: null`). It never stops a
   * sign-out: what it throws becomes the event `hook_failed` and, once for each cause, a warning. It has `timeoutMs`.
   */
  onSignOut: v.optional(callback<OnB2bSignOut>('({ session, req, res }) => void')),
};

/** Options of `b2bAuth`; each beats its environment variable. */
export interface B2bAuthOptions
  extends
    SharedAuthOptions,
    FormerSharedOptions,
    FormerB2bOptions,
    FormerPaths<keyof B2bPathsOptions>,
    OptionsOf<typeof ownEntries>,
    OptionsOf<typeof pathEntries>,
    OptionsOf<typeof lifetimeEntries> {}

const entries = {
  ...sharedEntries,
  ...formerSharedEntries,
  ...ownEntries,
  ...lifetimeEntries,
  ...formerB2bEntries,
  ...pathEntries,
};

export const b2bSchema = v.strictObject(entries);

type Read = v.InferOutput<typeof b2bSchema>;

export type B2bOptions = Omit<Read, 'cookiePassword' | keyof FixedShared | keyof typeof formerB2bEntries> &
  FixedShared & {
    readonly apiUrl: string;
    /** Former names of options that the application wrote, by those of today. */
    readonly writtenAs: ReadonlyMap<string, string>;
    readonly passwords: readonly [string, ...string[]];
    /** Whether the local fallback password is in use. */
    readonly isFallbackPassword: boolean;
  };

/** The options that are paths of the adapter's routes, with their defaults. */
export const routeDefaults = pathsOf(entries, paths);

/** @throws {ConfigurationError} with every problem at once */
export function readB2bOptions(input: B2bAuthOptions | undefined, environment = process.env): B2bOptions {
  const { cookiePassword, ...read } = readOptions(
    input,
    {
      name: 'b2bAuth',
      schema: b2bSchema,
      env: b2bVariables,
      sdks: b2bSdks,
      paths: routeDefaults,
      check: (given, _, variables) => [
        ...(given['cookiePassword'] === undefined && isProduction(environment)
          ? [
              `${nameOf('cookiePassword', variables['cookiePassword'])} is missing; in production set one of at least 32 characters`,
            ]
          : []),
        ...swappedKeyProblems(given, variables),
        ...cookieProblems(given),
      ],
    },
    environment,
  );
  const options = { ...read, apiUrl: apiUrlOf(read), writtenAs: writtenNames(input) };
  const [first, ...others] = cookiePassword ?? [];
  return first === undefined
    ? { ...options, passwords: [developmentPassword(options.apiKey)], isFallbackPassword: true }
    : { ...options, passwords: [first, ...others, ...quotedPassword(input, environment)], isFallbackPassword: false };
}

interface ApiAddress {
  readonly apiUrl?: string | undefined;
  readonly apiHostname?: string | undefined;
  readonly port?: number | undefined;
  readonly https?: boolean | undefined;
}

function apiUrlOf({ apiUrl, apiHostname = 'api.workos.com', port, https = true }: ApiAddress): string {
  return (
    apiUrl ?? new URL(`${https ? 'https' : 'http'}://${apiHostname}${port === undefined ? '' : `:${port}`}`).origin
  );
}

/** With the quotes or blanks around it the variable's value sealed cookies before they were taken away: these still open. */
function quotedPassword(input: B2bAuthOptions | undefined, environment: NodeJS.ProcessEnv): string[] {
  if (input?.cookiePassword !== undefined) return [];
  const name = setVariable(environment, b2bVariables.cookiePassword);
  const [value = '', read] = name === undefined ? [] : [environment[name], valueOf(environment[name])];
  return value === read ? [] : [value];
}

/** The client id is part of every sign-in URL: an API key in its place would reach visitors. The values are not printed. */
function swappedKeyProblems(
  { clientId, apiKey }: Readonly<Record<string, unknown>>,
  variables: NamedVariables,
): string[] {
  const begins = (value: unknown, prefix: string): boolean =>
    typeof value === 'string' && value.trim().startsWith(prefix);
  return [
    ...(begins(clientId, 'sk_')
      ? [`${nameOf('clientId', variables['clientId'])} holds an API key (sk_…); it must be the client id (client_…)`]
      : []),
    ...(begins(apiKey, 'client_')
      ? [`${nameOf('apiKey', variables['apiKey'])} holds a client id (client_…); it must be an API key (sk_…)`]
      : []),
  ];
}

/** Stable across restarts, different for each developer, and not derivable from the source code. */
function developmentPassword(apiKey: string): string {
  return createHmac('sha256', apiKey)
    .update('express-auth-adapters: cookie password for development')
    .digest('base64url');
}
