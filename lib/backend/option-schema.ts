import * as v from 'valibot';
import type { Request } from 'express';
import type { IncomingMessage } from 'node:http';
import {
  callback,
  cookieEntries,
  isHttpUrl,
  pageUrl,
  routePath,
  sharedEntries,
  text,
  wholeNumber,
} from '../http/options.ts';
import type { Accept } from '../http/acceptance.ts';
import type { OnError } from '../http/adapter.ts';
import type { SharedCoordinator } from '../session/shared-coordinator.ts';
import type { BackendSession, OnEvent } from '../types.ts';
import { pagesEntries } from '../http/page-options.ts';
import { englishText } from './pages/text.ts';

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

/** The path options of the adapter's routes, with their defaults. */
export const paths = {
  loginPath: '/auth/login',
  signupPath: '/auth/signup',
  callbackPath: '/auth/callback',
  logoutPath: '/auth/logout',
  sessionPath: '/auth/session',
  resendPath: '/auth/resend',
  confirmPath: '/auth/confirm',
  forgotPath: '/auth/forgot',
  passwordPath: '/auth/password',
  codePath: '/auth/code',
  ssoPath: '/auth/sso',
  verifyPath: '/auth/verify',
  enrollPath: '/auth/enroll',
};

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

const pathEntries = Object.fromEntries(
  Object.entries(paths).map(([option, fallback]) => [option, routePath(fallback)]),
) as Readonly<Record<keyof typeof paths, ReturnType<typeof routePath>>>;

const optionalText = v.optional(v.string('must be a string'));

const issuer = text('an issuer');

export const backendSchema = v.strictObject({
  ...sharedEntries,
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
    v.transform((value) => value.replace(/\/+$/, '')),
  ),
  anonKey: text('the publishable key (sb_publishable_…, or the older anon key), from the project’s API settings'),
  callbackUrl: v.optional(absoluteUrl('an absolute URL')),
  ...pathEntries,
  signInMethods: v.optional(
    v.pipe(
      v.array(v.picklist(['password', 'code'], "must be a list of 'password' and 'code'"), 'must be a list of methods'),
      v.minLength(1, 'must name at least one method'),
    ),
    ['password'],
  ),
  signUp: v.optional(v.boolean('must be true or false'), true),
  sso: v.optional(v.boolean('must be true or false'), false),
  providers: v.optional(
    v.array(
      v.union(
        [
          v.pipe(
            provider,
            v.transform((name) => ({ name })),
          ),
          v.strictObject({ name: provider, label: optionalText, scopes: optionalText }),
        ],
        'must be a provider’s name such as github, or { name, label?, scopes? }',
      ),
      'must be a list of providers',
    ),
    [],
  ),
  defaultProvider: v.optional(provider),
  pages: v.optional(
    v.strictObject(
      {
        signIn: v.optional(pageUrl),
        signUp: v.optional(pageUrl),
        ...pagesEntries(englishText),
      },
      'must be an object with signIn, signUp, title, logo, logoDark, accent, lang, dir, text or links',
    ),
    {},
  ),
  cookieName: v.optional(
    v.pipe(
      v.string('must be a cookie name'),
      v.regex(/^[A-Za-z0-9_-]+$/, 'must be a cookie name of letters, digits, _ and -'),
    ),
  ),
  cookieOptions: v.optional(
    v.strictObject(
      { ...cookieEntries, httpOnly: v.optional(v.boolean('must be true or false')) },
      'must be an object with domain, path, sameSite, secure, maxAge or httpOnly',
    ),
  ),
  issuer: v.optional(
    v.union(
      [
        v.pipe(
          issuer,
          v.transform((only) => [only]),
        ),
        v.array(issuer),
      ],
      'must be an issuer or a list of issuers',
    ),
    [],
  ),
  signOutScope: v.optional(v.picklist(['local', 'global'], "must be 'local' or 'global'"), 'local'),
  mailAnswerMs: v.optional(wholeNumber('milliseconds, or 0', 0, 10_000), 1_500),
  throttle: v.optional(
    v.union(
      [
        v.literal(false),
        v.strictObject({
          redis: v.optional(v.custom<ThrottleRedisClient>(isThrottleClient, 'must be a client of redis or ioredis')),
          keyPrefix: v.optional(v.pipe(v.string('must be a string'), v.nonEmpty('is empty'))),
        }),
      ],
      'must be false, or an object with redis or keyPrefix',
    ),
    {},
  ),
  forwardClientAddress: v.optional(v.boolean('must be true or false'), false),
  clientAddress: v.optional(callback<(req: IncomingMessage) => string | undefined>('(req) => string | undefined')),
  accept: v.optional(callback<Accept<BackendSession>>('(session, req) => boolean')),
  onSignIn: v.optional(callback<OnBackendSignIn>('({ session, req, returnTo }) => { redirectTo } | void')),
});

function isThrottleClient(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return ['eval', 'del', 'multi'].every((method) => typeof Reflect.get(value, method) === 'function');
}

function isPlainUrl({ username, password, search, hash }: URL): boolean {
  return username + password + search + hash === '';
}

/** The project of a dashboard address, the address that people see in the browser and paste. */
function dashboardProject(url: string): string | undefined {
  const { hostname, pathname } = URL.parse(url) ?? { hostname: '', pathname: '' };
  const isDashboard = /^(?:www\.|app\.)?supabase\.(?:com|io)$/.test(hostname);
  return isDashboard ? (/\/project\/([a-z]{20})(?:\/|$)/.exec(pathname)?.[1] ?? '<project ref>') : undefined;
}
