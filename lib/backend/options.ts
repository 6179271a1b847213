import type * as v from 'valibot';
import { cookieProblems } from '../http/cookie-jar.ts';
import { comparablePath } from '../http/message.ts';
import { nameOf, readOptions } from '../options/read.ts';
import type { NamedVariables } from '../options/read.ts';
import { writtenNames } from '../options/former.ts';
import type { FixedBackend, FixedShared } from '../options/former.ts';
import { backendSchema, env, named, roomProblems, routeDefaults } from './option-schema.ts';
import type { BackendAuthOptions } from './option-schema.ts';
import { readToken } from '../session/jwt.ts';
import type { Token } from '../session/jwt.ts';

type Read = v.InferOutput<typeof backendSchema>;

export type BackendOptions = Omit<Read, 'cookieName' | keyof FixedShared | keyof FixedBackend> &
  FixedShared &
  FixedBackend & {
    readonly cookieName: string;
    /** Former names of options that the application wrote, by those of today. */
    readonly writtenAs: ReadonlyMap<string, string>;
  };

/** Whether people sign in here by this method; the name of a room that is not there is none. */
export function offers({ signInMethods }: Pick<BackendOptions, 'signInMethods'>, method: string): boolean {
  return signInMethods.some((each) => each === method);
}

/** The packages that an application installs for this adapter. */
export const backendSdks = ['@supabase/ssr', '@supabase/supabase-js'];

/** @throws {ConfigurationError} with every problem at once */
export function readBackendOptions(input: BackendAuthOptions | undefined, environment = process.env): BackendOptions {
  const options = readOptions(
    input,
    {
      name: 'backendAuth',
      schema: backendSchema,
      env,
      named,
      sdks: backendSdks,
      paths: routeDefaults,
      check: (given, _, variables) => [
        ...keyProblems(given, variables),
        ...roomProblems.flatMap((problemsOf) => problemsOf(given)),
        ...pageProblems(given),
        ...cookieProblems(given),
      ],
    },
    environment,
  );
  const pages = { ...options.pages, ...builtInPlaces(options) };
  return {
    ...options,
    pages,
    cookieName: options.cookieName ?? defaultCookieName(options.url),
    writtenAs: writtenNames(input),
  };
}

/** The default of @supabase/ssr, so that an app beside this one finds the session. */
function defaultCookieName(url: string): string {
  return `sb-${new URL(url).hostname.split('.')[0] ?? ''}-auth-token`;
}

function keyProblems({ anonKey, url, now }: Readonly<Record<string, unknown>>, variables: NamedVariables): string[] {
  if (typeof anonKey !== 'string' || anonKey === '') return [];
  const clock = typeof now === 'function' ? Number(Reflect.apply(now, undefined, [])) : Date.now();
  const kind = refusedKeyKind(anonKey, typeof url === 'string' ? url : '', clock);
  if (kind === undefined) return [];
  return [
    `${nameOf('anonKey', variables['anonKey'])} is ${kind}; only a publishable key (sb_publishable_…) or a legacy anon key may be used here`,
  ];
}

/** A room that is not there has no path. */
const ownPages: readonly (readonly ['signIn' | 'signUp', string])[] = [
  ['signIn', 'loginPath'],
  ['signUp', 'signupPath'],
];

/** With `render`, a page on the route itself is no other page. */
function builtInPlaces({
  pages,
  appBaseUrl,
  ...given
}: Pick<BackendOptions, 'pages' | 'appBaseUrl'> & Readonly<Record<string, unknown>>): {
  readonly signIn?: undefined;
  readonly signUp?: undefined;
} {
  const same = ownPages.filter(([page, path]) => isAt(pages[page], given[path], appBaseUrl));
  return Object.fromEntries(same.map(([page]) => [page, undefined]));
}

/** A sign-in page on the sign-in route itself would redirect to itself endlessly. */
function pageProblems({ pages, ...given }: Readonly<Record<string, unknown>>): string[] {
  if (typeof pages !== 'object' || pages === null) return [];
  // It is then the page that `render` shows there.
  if (Reflect.get(pages, 'render') !== undefined) return [];
  return ownPages
    .filter(([page, path]) => isAt(Reflect.get(pages, page), given[path] ?? routeDefaults[path], given['appBaseUrl']))
    .map(([page, path]) => `pages.${page} is ${path} itself; leave it out for the built-in page`);
}

/** Whether a page's URL leads to the form of this path, in any spelling. With `provider` the path starts OAuth instead. */
function isAt(page: unknown, path: unknown, appBaseUrl: unknown): boolean {
  if (typeof page !== 'string' || typeof path !== 'string') return false;
  const base = URL.parse(typeof appBaseUrl === 'string' ? appBaseUrl : '') ?? new URL('http://host.invalid');
  const url = URL.parse(page, base.href);
  if (url?.origin !== base.origin || url.searchParams.has('provider')) return false;
  return comparablePath(url.pathname) === comparablePath(base.pathname.replace(/\/+$/, '') + path);
}

/**
 * Tells whether a server that acts for its users may use a key. Only publishable keys and legacy
 * `anon` keys are accepted, because row-level security applies to them. The signature is not
 * checked: the project does that, and this check finds mistakes.
 *
 * @param now milliseconds since the epoch
 * @returns the kind of a refused key, `undefined` for an accepted one
 * @see https://supabase.com/docs/guides/api/api-keys
 */
export function refusedKeyKind(key: string, projectUrl: string, now: number): string | undefined {
  const bare = key.replace(/^[\s"'`]+|[\s"'`]+$/g, '');
  return kindOf(bare, projectUrl, now) ?? (bare === key ? undefined : 'a key with blanks or quotes around it');
}

function kindOf(key: string, projectUrl: string, now: number): string | undefined {
  if (/^sb_publishable_[A-Za-z0-9_-]+$/.test(key)) return undefined;
  if (key.startsWith('sb_secret_')) return 'a secret key';
  if (key.startsWith('sbp_')) return 'a personal access token';
  if (key.startsWith('sb_')) return 'a key of an unknown kind';
  if (!/^[\w-]+\.[\w-]+\.[\w-]+$/.test(key)) return 'not a Supabase key';
  return refusedJwtKind(readToken(key).claims, projectUrl, now);
}

const refusedRoles: ReadonlyMap<unknown, string> = new Map([
  ['service_role', 'a service-role key'],
  ['supabase_admin', 'an administrator’s key'],
  ['authenticated', 'a user’s access token'],
]);

function refusedJwtKind(claims: Token['claims'], projectUrl: string, now: number): string | undefined {
  const { role, ref, exp } = claims;
  if (role !== 'anon') return refusedRoles.get(role) ?? 'a key of an unknown kind';
  // An access token has a subject; an API key has none.
  if (claims['sub'] !== undefined || claims['session_id'] !== undefined) return 'a user’s access token';
  if (typeof exp === 'number' && exp * 1000 <= now) return 'an expired key';
  return typeof ref === 'string' && isForeign(ref, projectUrl) ? 'a key of another project' : undefined;
}

/** Only a hosted project's host name identifies the project; custom domains and local stacks do not. */
function isForeign(ref: string, projectUrl: string): boolean {
  const host = /^([a-z0-9]{20})\.supabase\.(?:co|in)$/.exec(URL.parse(projectUrl)?.hostname ?? '');
  return host !== null && host[1] !== ref;
}
