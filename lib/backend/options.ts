import type * as v from 'valibot';
import type { Request } from 'express';
import type { IncomingMessage } from 'node:http';
import { cookiePrefixProblems } from '../http/cookie-jar.ts';
import { nameOf, readOptions } from '../http/read-options.ts';
import type { CookieOptions, SharedAuthOptions } from '../http/options.ts';
import { refusedKeyKind } from './api-key.ts';
import { backendSchema, env, paths } from './option-schema.ts';
import type { OnBackendSignIn, ThrottleRedisClient } from './option-schema.ts';
import type { PagesOptions } from '../http/page-options.ts';
import type { PagesTextKey } from './pages/text.ts';
import type { BackendSession } from '../types.ts';

/** An OAuth provider, by Supabase's name for it, such as `github`. */
export interface OAuthProviderOptions {
  readonly name: string;
  /** On its button; default: the name as its owner writes it. */
  readonly label?: string | undefined;
  /** Scopes to ask for beyond Supabase's own, separated by blanks. */
  readonly scopes?: string | undefined;
}

export interface BackendPagesOptions extends PagesOptions<PagesTextKey> {
  /** The application's own sign-in page, in place of the built-in one; it gets `returnTo`, and `error` after a failure. */
  readonly signIn?: string | undefined;
  /** The application's own sign-up page. */
  readonly signUp?: string | undefined;
}

/** How failed sign-ins are counted: 10 in 15 minutes per account and network, 100 per network, 5 per second factor. */
export interface ThrottleOptions {
  /** A connected client of `redis` or `ioredis`, so that several processes count together. Default: in memory. */
  readonly redis?: ThrottleRedisClient | undefined;
  /** In front of every key in Redis. Default `express-auth-adapters:throttle`. */
  readonly keyPrefix?: string | undefined;
}

/** Options of `backendAuth`; each beats its environment variable. */
export interface BackendAuthOptions extends SharedAuthOptions {
  /** The Supabase project's URL. Required. Env `BAAS_URL`, then `NEXT_PUBLIC_BAAS_URL`. */
  readonly url?: string | undefined;
  /**
   * The project's publishable key, or its legacy anon key; any other kind is refused. Required. Env `BAAS_ANON_KEY`,
   * `NEXT_PUBLIC_BAAS_ANON_KEY`, `BAAS_PUBLISHABLE_KEY`, `NEXT_PUBLIC_BAAS_PUBLISHABLE_KEY`, `NEXT_PUBLIC_BAAS_PUBLISHABLE_DEFAULT_KEY`.
   */
  readonly anonKey?: string | undefined;
  /** The absolute URL of the callback, where it is not the application's base URL or origin plus `callbackPath`. */
  readonly callbackUrl?: string | undefined;
  /** Signs in; GET shows the form. Default `/auth/login`. */
  readonly loginPath?: string | undefined;
  /** Creates an account; GET shows the form. Default `/auth/signup`. */
  readonly signupPath?: string | undefined;
  /** Where OAuth providers and email links lead back to. Default `/auth/callback`. */
  readonly callbackPath?: string | undefined;
  /** Signs out. Default `/auth/logout`. */
  readonly logoutPath?: string | undefined;
  /** Answers with the signed-in user as JSON. Default `/auth/session`. */
  readonly sessionPath?: string | undefined;
  /** Resends the confirmation email. Default `/auth/resend`. */
  readonly resendPath?: string | undefined;
  /** Where `token_hash` links of emails lead. Default `/auth/confirm`. */
  readonly confirmPath?: string | undefined;
  /** Has a link to choose a new password sent. Default `/auth/forgot`. */
  readonly forgotPath?: string | undefined;
  /** Sets a new password, after such a link or signed in. Default `/auth/password`. */
  readonly passwordPath?: string | undefined;
  /** Signs in by a code or link sent by email, where `signInMethods` has `code`. Default `/auth/code`. */
  readonly codePath?: string | undefined;
  /** Starts single sign-on by the email's domain, with `sso: true`. Default `/auth/sso`. */
  readonly ssoPath?: string | undefined;
  /** What the built-in pages sign in with: passwords, codes and links sent by email, or both. Default `['password']`. */
  readonly signInMethods?: readonly ('password' | 'code')[] | undefined;
  /** Whether visitors can create accounts here; false removes the sign-up route and its links, and codes create no account. Default true. */
  readonly signUp?: boolean | undefined;
  /** Whether the sign-in page offers SAML single sign-on by the email's domain. Default false. */
  readonly sso?: boolean | undefined;
  /** Asks for the second factor. Default `/auth/verify`. */
  readonly verifyPath?: string | undefined;
  /** Lists, adds and removes authenticator apps. Default `/auth/enroll`. */
  readonly enrollPath?: string | undefined;
  /** Buttons of the built-in pages and, where not empty, the only providers that may be used. Default: none, any may be used. */
  readonly providers?: readonly (string | OAuthProviderOptions)[] | undefined;
  /** Starts OAuth with this provider instead of showing a sign-in page. */
  readonly defaultProvider?: string | undefined;
  /** The brand and texts of the built-in pages, or pages of your own. */
  readonly pages?: BackendPagesOptions | undefined;
  /** The session cookie's name. Default: `sb-<first label of the project's host>-auth-token`, the name that Supabase's SDK uses. */
  readonly cookieName?: string | undefined;
  /** The attributes of the session cookie. */
  readonly cookieOptions?:
    | (CookieOptions & {
        /** Default true; false lets a browser client of @supabase/ssr share the session, and every script read it. */
        readonly httpOnly?: boolean | undefined;
      })
    | undefined;
  /** Issuers that access tokens may name besides `<url>/auth/v1`, as behind a custom domain. */
  readonly issuer?: string | readonly string[] | undefined;
  /** Whether signing out ends this session (`local`) or all of the user's (`global`). Default `local`. */
  readonly signOutScope?: 'local' | 'global' | undefined;
  /**
   * How long sign-up, resend and forgot take to say that an email was sent, in milliseconds, so that the time does not tell who has an
   * account. Slower emails go on in the background. Default 1500; 0 answers when the project does, as tests may want it.
   */
  readonly mailAnswerMs?: number | undefined;
  /** Limits failed sign-ins before the backend is asked; `false` turns that off. */
  readonly throttle?: false | ThrottleOptions | undefined;
  /**
   * Whether Supabase is told the visitor's address in `X-Forwarded-For`. For a self-hosted project whose GoTrue counts by it
   * (`GOTRUE_RATE_LIMIT_HEADER=X-Forwarded-For`); a hosted project ignores it. Default false.
   */
  readonly forwardClientAddress?: boolean | undefined;
  /** The visitor's address, for the throttle. Default: Express' `req.ip`, which follows `trust proxy`, else the socket's. */
  readonly clientAddress?: ((req: IncomingMessage) => string | undefined) | undefined;
  /**
   * Decides who may have a session here; only `true` does. Asked at every sign-in before anything is stored, and once for each
   * access token that a request brings, also where no sign-in of ours wrote its cookie. A refusal is a 403 `not_accepted`.
   */
  readonly accept?: ((session: BackendSession, req: Request) => boolean | Promise<boolean>) | undefined;
  /** Runs once per sign-in or sign-up, after `accept` and before any cookie is stored: for side effects. It is no guard. */
  readonly onSignIn?: OnBackendSignIn | undefined;
}

export type BackendOptions = Omit<v.InferOutput<typeof backendSchema>, 'cookieName'> & { readonly cookieName: string };

/** @throws {ConfigurationError} with every problem at once */
export function readBackendOptions(input: BackendAuthOptions | undefined, environment = process.env): BackendOptions {
  const options = readOptions(
    input,
    {
      name: 'backendAuth',
      schema: backendSchema,
      env,
      sdks: ['@supabase/ssr', '@supabase/supabase-js'],
      paths: { ...paths, stylesheetPath: '/auth/pages.css' },
      check: (given, _, variables) => [
        ...keyProblems(given, variables),
        ...providerProblems(given),
        ...pageProblems(given),
        ...cookiePrefixProblems(given),
      ],
    },
    environment,
  );
  return { ...options, cookieName: options.cookieName ?? defaultCookieName(options.url) };
}

/** The default of @supabase/ssr, so that an app beside this one finds the session. */
function defaultCookieName(url: string): string {
  return `sb-${new URL(url).hostname.split('.')[0] ?? ''}-auth-token`;
}

function keyProblems(
  { anonKey, url, now }: Readonly<Record<string, unknown>>,
  variables: Readonly<Record<string, readonly string[]>>,
): string[] {
  if (typeof anonKey !== 'string' || anonKey === '') return [];
  const clock = typeof now === 'function' ? Number(Reflect.apply(now, undefined, [])) : Date.now();
  const kind = refusedKeyKind(anonKey, typeof url === 'string' ? url : '', clock);
  if (kind === undefined) return [];
  return [
    `${nameOf('anonKey', variables['anonKey'])} is ${kind}; only a publishable key (sb_publishable_…) or a legacy anon key may be used here`,
  ];
}

function providerProblems({ providers }: Readonly<Record<string, unknown>>): string[] {
  if (!Array.isArray(providers)) return [];
  const names = providers.map((each: unknown) =>
    typeof each === 'object' && each !== null && 'name' in each ? each.name : each,
  );
  const twice = names.filter((name, index) => names.indexOf(name) !== index);
  return [...new Set(twice)].map((name) => `providers names ${JSON.stringify(name)} twice`);
}

/** A sign-in page on the sign-in route itself would redirect to itself endlessly. */
function pageProblems({ pages, ...given }: Readonly<Record<string, unknown>>): string[] {
  if (typeof pages !== 'object' || pages === null) return [];
  const own: readonly (readonly [page: string, path: keyof typeof paths])[] = [
    ['signIn', 'loginPath'],
    ['signUp', 'signupPath'],
  ];
  return own
    .filter(([page, path]) => Reflect.get(pages, page) === (given[path] ?? paths[path]))
    .map(([page, path]) => `pages.${page} is ${path} itself; leave it out for the built-in page`);
}
