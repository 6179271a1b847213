import * as v from 'valibot';
import { isPlainUrl } from '../tools/url.ts';
import type { Request } from 'express';
import type { IncomingMessage } from 'node:http';
import {
  baseUrl,
  callback,
  cookieEntries,
  cookieName,
  group,
  isHttpUrl,
  issuers,
  listOf,
  pageUrl,
  pathsOf,
  routePath,
  routePaths,
  sharedEntries,
  text,
  wholeNumber,
} from '../options/shared.ts';
import type { CookieOptions, OptionsOf, SharedAuthOptions } from '../options/shared.ts';
import { formerBackendEntries, formerSharedEntries } from '../options/former.ts';
import type { FormerBackendOptions, FormerPaths, FormerSharedOptions } from '../options/former.ts';
import type { OnError } from '../http/adapter.ts';
import type { SignOutOf } from '../http/sign-out-hook.ts';
import type { SharedCoordinator } from '../session/coordinator.ts';
import type { BackendIdentity, BackendSession, OnEvent, ProviderTokens } from '../types.ts';
import { lifetimeEntries } from '../http/lifetime/options.ts';
import { pagesEntries } from '../pages/options.ts';
import type { PagesOptions } from '../pages/options.ts';
import { accountPaths } from './account/options.ts';
import { confirmPaths } from './confirm/options.ts';
import { consentEntries, consentPaths } from './consent/options.ts';
import { emailCodeEntries, emailCodePaths, emailCodeMethod } from './email-code/options.ts';
import { factorsPaths } from './factors/options.ts';
import { oauthEntries, oauthWaysIn, providerProblems } from './oauth/options.ts';
import { englishText } from './pages/text.ts';
import type { PagesTextKey } from './pages/text.ts';
import { passkeyMethod, passkeysPaths } from './passkeys/options.ts';
import { passwordMethod } from './password/options.ts';
import { providerTokensEntries } from './provider-tokens/options.ts';
import { resetPaths } from './reset/options.ts';
import { signUpEntries, signUpPaths } from './sign-up/options.ts';
import { ssoEntries, ssoPaths, ssoWaysIn } from './sso/options.ts';
import { throttleEntries } from './throttle/options.ts';

// Re-exported here so that the declarations of one entry do not reference the package's index,
// which references the other adapter's SDK.
export type { OnError, OnEvent, SharedCoordinator };

export interface BackendSignIn {
  readonly session: BackendSession;
  readonly req: Request;
  readonly returnTo: string;
  /** All of the user's ways to sign in, from Supabase's answer to this sign-in. Empty for a guest. */
  readonly identities: readonly BackendIdentity[];
  /**
   * The OAuth provider's own tokens, in the sign-in that its callback began, after the second factor where there is one. Supabase
   * hands them out this once and never renews them. Absent in every other sign-in.
   */
  readonly providerTokens?: ProviderTokens;
}

/**
 * For side effects, such as creating a row; who may have a session is `accept`'s decision. An `AuthError` refuses the sign-in with that error; any other
 * error is passed to Express' error handling. In both cases no session is created. While it runs, `getSupabaseClient(req)`, `withUser`
 * and `sqlSession` act as the new user.
 */
export type OnBackendSignIn = (
  signIn: BackendSignIn,
  // A hook that only refuses or records returns nothing, with or without `async`.
  // eslint-disable-next-line @typescript-eslint/no-invalid-void-type
) => { readonly redirectTo?: string } | undefined | void | Promise<{ readonly redirectTo?: string } | undefined | void>;

export interface BackendSignOut extends SignOutOf<BackendSession> {}

export type OnBackendSignOut = (signOut: BackendSignOut) => unknown;

/** The environment variables of each option, in order of precedence; Supabase's own names come last. */
export const env = {
  url: ['BAAS_URL', 'NEXT_PUBLIC_BAAS_URL', 'SUPABASE_URL', 'NEXT_PUBLIC_SUPABASE_URL'],
  anonKey: [
    'BAAS_ANON_KEY',
    'NEXT_PUBLIC_BAAS_ANON_KEY',
    'BAAS_PUBLISHABLE_KEY',
    'NEXT_PUBLIC_BAAS_PUBLISHABLE_KEY',
    'NEXT_PUBLIC_BAAS_PUBLISHABLE_DEFAULT_KEY',
    'SUPABASE_PUBLISHABLE_KEY',
    'SUPABASE_ANON_KEY',
    'NEXT_PUBLIC_SUPABASE_PUBLISHABLE_KEY',
    'NEXT_PUBLIC_SUPABASE_PUBLISHABLE_DEFAULT_KEY',
    'NEXT_PUBLIC_SUPABASE_ANON_KEY',
  ],
  appBaseUrl: ['APP_BASE_URL'],
};

/** The variable for a key of today. */
export const named = { anonKey: 'BAAS_PUBLISHABLE_KEY' };

const isPathOfApi = /\/(?:auth|rest|storage)\/v1(?:\/|$)/;

const absoluteUrl = (what: string) =>
  v.pipe(
    v.string(`must be ${what}`),
    v.check(isHttpUrl, `must be ${what}, with http:// or https://`),
    v.description(what),
  );

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

/** The names of the first factors: one of each room that has one. */
const methods = [passwordMethod, emailCodeMethod, passkeyMethod] as const;

const kernelEntries = {
  /** The Supabase project's URL. Required. Env `BAAS_URL`, `NEXT_PUBLIC_BAAS_URL`, last `SUPABASE_URL`, `NEXT_PUBLIC_SUPABASE_URL`. */
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
    v.check(
      (value) => !isPathOfApi.test(URL.parse(value)?.pathname ?? ''),
      'is the address of one of the project’s APIs; leave out /auth/v1, /rest/v1 or /storage/v1 and what follows',
    ),
    baseUrl,
  ),
  /**
   * The project's publishable key, or its legacy anon key; any other kind is refused. Required. Env `BAAS_ANON_KEY`,
   * `NEXT_PUBLIC_BAAS_ANON_KEY`, `BAAS_PUBLISHABLE_KEY`, `NEXT_PUBLIC_BAAS_PUBLISHABLE_KEY`, `NEXT_PUBLIC_BAAS_PUBLISHABLE_DEFAULT_KEY`,
   * last `SUPABASE_PUBLISHABLE_KEY`, `SUPABASE_ANON_KEY`, `NEXT_PUBLIC_SUPABASE_PUBLISHABLE_KEY`,
   * `NEXT_PUBLIC_SUPABASE_PUBLISHABLE_DEFAULT_KEY`, `NEXT_PUBLIC_SUPABASE_ANON_KEY`.
   */
  anonKey: text('the publishable key (sb_publishable_…, or the older anon key), from the project’s API settings'),
  /** The absolute URL of the callback, where it is not the application's base URL or origin plus `callbackPath`. */
  callbackUrl: v.optional(absoluteUrl('an absolute URL')),
  /**
   * What the built-in pages sign in with: passwords, codes and links sent by email, passkeys. `passkey` also lets security keys be
   * second factors. `[]` leaves `providers`, `defaultProvider` or `sso` alone. Default `['password']`.
   */
  signInMethods: v.optional(
    v.array(
      v.picklist(
        methods,
        `must be a list of ${listOf(
          methods.map((method) => `'${method}'`),
          'and',
        )}`,
      ),
      'must be a list of methods',
    ),
    [methods[0]],
  ),
  /**
   * The shortest new password, in characters, which the pages say. Give it the project's own: the project refuses shorter ones for every
   * client. Default: the project alone decides, and the pages say what its last refusal named, else 8.
   */
  passwordMinLength: v.optional(wholeNumber('characters', 1, 72)),
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
  /** Signs in; GET shows the form. Default `/auth/login`. */
  loginPath: routePath('/auth/login'),
  /** Where OAuth providers and email links lead back to. Default `/auth/callback`. */
  callbackPath: routePath('/auth/callback'),
  /** Signs out. Default `/auth/logout`. */
  logoutPath: routePath('/auth/logout'),
  /** Answers with the signed-in user as JSON. Default `/auth/session`. */
  sessionPath: routePath('/auth/session'),
};

const paths = {
  ...signUpPaths,
  ...confirmPaths,
  ...resetPaths,
  ...emailCodePaths,
  ...ssoPaths,
  ...factorsPaths,
  ...passkeysPaths,
  ...consentPaths,
  ...accountPaths,
};

/** The paths of the routes that have no option of their own, named as in the typed client. */
export interface BackendPathsOptions
  extends
    OptionsOf<typeof signUpPaths>,
    OptionsOf<typeof confirmPaths>,
    OptionsOf<typeof resetPaths>,
    OptionsOf<typeof emailCodePaths>,
    OptionsOf<typeof ssoPaths>,
    OptionsOf<typeof factorsPaths>,
    OptionsOf<typeof passkeysPaths>,
    OptionsOf<typeof consentPaths>,
    OptionsOf<typeof accountPaths> {}

const pathsEntries = {
  /** The paths of all other routes, named as in the typed client: `{ forgot: '/forgot' }`. The client takes the same object. */
  paths: routePaths<BackendPathsOptions>(paths),
};

/** Options of `backendAuth`; each beats its environment variable. */
export interface BackendAuthOptions
  extends
    SharedAuthOptions,
    FormerSharedOptions,
    FormerBackendOptions,
    FormerPaths<keyof BackendPathsOptions>,
    OptionsOf<typeof kernelEntries>,
    OptionsOf<typeof pathsEntries>,
    OptionsOf<typeof signUpEntries>,
    OptionsOf<typeof oauthEntries>,
    OptionsOf<typeof emailCodeEntries>,
    OptionsOf<typeof ssoEntries>,
    OptionsOf<typeof consentEntries>,
    OptionsOf<typeof providerTokensEntries>,
    OptionsOf<typeof throttleEntries>,
    OptionsOf<typeof lifetimeEntries> {}

const entries = {
  ...sharedEntries,
  ...formerSharedEntries,
  ...kernelEntries,
  ...formerBackendEntries,
  ...pathsEntries,
  ...signUpEntries,
  ...oauthEntries,
  ...emailCodeEntries,
  ...ssoEntries,
  ...consentEntries,
  ...providerTokensEntries,
  ...throttleEntries,
  ...lifetimeEntries,
};

export const backendSchema = v.strictObject(entries);

/** The options that are paths of the adapter's routes, with their defaults. */
export const routeDefaults = pathsOf(entries, paths);

/** What rooms find in options that each entry alone allows. */
export const roomProblems: readonly ((given: Readonly<Record<string, unknown>>) => readonly string[])[] = [
  providerProblems,
  methodProblems,
];

/** The options that let people sign in without one of the methods. */
const otherWaysIn: Readonly<Record<string, (value: unknown) => boolean>> = {
  ...oauthWaysIn,
  ...ssoWaysIn,
};

/** Without a method and another way in, an account could never be used. */
function methodProblems(given: Readonly<Record<string, unknown>>): string[] {
  const { signInMethods } = given;
  if (!Array.isArray(signInMethods) || signInMethods.length > 0) return [];
  const others = Object.entries(otherWaysIn);
  if (others.some(([option, isGiven]) => isGiven(given[option]))) return [];
  const instead = others.length > 0 ? `, or set ${others.map(([option]) => option).join(' or ')}` : '';
  return [`signInMethods must name at least one method${instead}`];
}

/** The project of a dashboard address, the address that people see in the browser and paste. */
function dashboardProject(url: string): string | undefined {
  const { hostname, pathname } = URL.parse(url) ?? { hostname: '', pathname: '' };
  const isDashboard = /^(?:www\.|app\.)?supabase\.(?:com|io)$/.test(hostname);
  return isDashboard ? (/\/project\/([a-z]{20})(?:\/|$)/.exec(pathname)?.[1] ?? '<project ref>') : undefined;
}
