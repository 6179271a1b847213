import * as v from 'valibot';
import { patternProblem } from '../core/path-matcher.ts';
import type { SharedCoordinator } from '../session/shared-coordinator.ts';
import type { OnEvent } from '../types.ts';
import type { Adapter, OnError } from './adapter.ts';

/** The attributes of the session cookie that an application may choose (RFC 6265bis §4.1.2). */
export interface CookieOptions {
  /** The hosts that get the cookie. Default: none, only this host. */
  readonly domain?: string | undefined;
  /** The path below which browsers send the cookie. Default `/`. */
  readonly path?: string | undefined;
  /** Whether requests from other sites carry the cookie. Default `lax`. `strict` hides the session from the first page after a link from elsewhere; `none` implies `secure`. */
  readonly sameSite?: 'lax' | 'strict' | 'none' | undefined;
  /** Whether browsers send the cookie over https only. Default: as the public origin. */
  readonly secure?: boolean | undefined;
  /** Seconds, or `null` for a cookie that ends with the browser. Default 400 days. */
  readonly maxAge?: number | null | undefined;
}

/** The options that both adapters have. */
export interface SharedAuthOptions {
  /** The application's public base URL. The backend adapter also reads `APP_BASE_URL`. Default: the request's origin. */
  readonly appBaseUrl?: string | undefined;
  /** Root-relative path patterns of pages that need a session; a trailing `(.*)` matches any remainder. Default: none. */
  readonly protectedRoutes?: string | readonly string[] | undefined;
  /** Further origins of your own that may post to the auth routes. Default: none. */
  readonly trustedOrigins?: readonly string[] | undefined;
  /** Where the built-in pages' stylesheet is served. Default `/auth/pages.css`. */
  readonly stylesheetPath?: string | undefined;
  /**
   * How long a request waits for the provider, in milliseconds. Default 5,000. A refresh goes on for up to 25 seconds; its
   * answer is kept for the next request.
   */
  readonly timeoutMs?: number | undefined;
  /** Stands in for the global `fetch` in every call to the provider, its keys included: for a proxy, for tracing, for tests. */
  readonly fetch?: typeof globalThis.fetch | undefined;
  /**
   * With less than this to live, in seconds, a token is renewed in the background; at most a tenth of its lifetime. Default 60,
   * 0 turns it off. The request at hand does not wait, so the new token may come too late for this response and be kept in this
   * process for the next one; with several processes use it together with `coordinator`. With less than 10 seconds to live (or
   * a tenth of its lifetime) a token is always renewed before it is used.
   */
  readonly refreshWindow?: number | undefined;
  /** How many verified sessions are remembered (about 7 KB each). 0 turns the cache off. Default 10,000. */
  readonly maxCachedSessions?: number | undefined;
  /** Shares refreshes and sign-outs between processes; see `express-auth-adapters/redis`. */
  readonly coordinator?: SharedCoordinator | undefined;
  /** Takes over every error that a visitor would see. */
  readonly onError?: OnError | undefined;
  /** Is told what happens, without secrets. */
  readonly onEvent?: OnEvent | undefined;
  /** The clock, in milliseconds since the epoch; for tests. */
  readonly now?: (() => number) | undefined;
}

/** Seconds; the default of WorkOS' own SDKs, and the maximum that browsers keep a cookie (RFC 6265bis §5.5). */
const defaultCookieMaxAge = 400 * 24 * 60 * 60;

export const text = (what: string) =>
  v.pipe(v.string(`must be a string: ${what}`), v.nonEmpty(`is empty: ${what}`), v.description(what));

/** A function option; only its being a function is checked, not its signature. */
export const callback = <T>(signature: string) =>
  v.custom<T>((value) => typeof value === 'function', `must be a function: ${signature}`);

export const wholeNumber = (what: string, min: number, max: number) =>
  v.pipe(
    v.number(`must be a number: ${what}`),
    v.integer(`must be a whole number: ${what}`),
    v.minValue(min, `must be at least ${min}: ${what}`),
    v.maxValue(max, `must be at most ${max}: ${what}`),
  );

/** A path of one of the adapter's own routes: literal, so that it can be compared, printed and registered with a provider. */
export const routePath = (path: string) =>
  v.optional(
    v.pipe(
      v.string('must be a root-relative path such as /login'),
      v.regex(
        /^(?:\/[A-Za-z0-9._~-]+)+$/,
        'must be a root-relative path of letters, digits and . _ ~ - such as /login, without a trailing slash',
      ),
      v.check(
        (value) => !value.split('/').some((segment) => segment === '.' || segment === '..'),
        'must not contain dot segments',
      ),
    ),
    path,
  );

/** A page of the application: root-relative, or absolute where it is on another host. */
export const pageUrl = v.pipe(
  v.string('must be a root-relative path or an http(s) URL'),
  v.check(
    (value) => (/^\/(?![/\\])/.test(value) ? URL.canParse(value, 'http://host.invalid') : isHttpUrl(value)),
    'must be a root-relative path such as /sign-in, or an http(s) URL',
  ),
  // It is sent as a header, and compared with paths as browsers send them.
  v.regex(
    /^[\x21-\x7e]*$/,
    'must have blanks and characters other than ASCII percent-encoded, as in a browser’s request',
  ),
);

const pattern = v.pipe(
  v.string('must be a path pattern such as /dashboard(.*)'),
  v.rawCheck(({ dataset, addIssue }) => {
    const problem = dataset.typed ? patternProblem(dataset.value) : undefined;
    if (problem !== undefined) addIssue({ message: problem });
  }),
);

export function isHttpUrl(value: string): boolean {
  return /^https?:\/\//i.test(value) && URL.canParse(value);
}

/** Paths are appended to it, and providers receive it. */
function isBaseUrl(value: string): boolean {
  if (!isHttpUrl(value) || /[?#]/.test(value)) return false;
  const { username, password } = new URL(value);
  return username === '' && password === '';
}

const origin = v.pipe(
  v.string('must be an origin such as https://www.example.com'),
  v.check(
    (value) => isHttpUrl(value) && new URL(value).origin === value.toLowerCase(),
    'must be an origin, without path or trailing slash, such as https://www.example.com',
  ),
  // As browsers write it in `Origin`.
  v.toLowerCase(),
);

export const cookieEntries = {
  domain: v.optional(
    v.pipe(v.string('must be a host name'), v.regex(/^\.?[a-z0-9-]+(?:\.[a-z0-9-]+)*$/i, 'must be a host name')),
  ),
  path: v.optional(v.pipe(v.string('must be a path'), v.regex(/^\/[^;\s]*$/, 'must be a path that starts with /'))),
  sameSite: v.optional(v.picklist(['lax', 'strict', 'none'], "must be 'lax', 'strict' or 'none'")),
  secure: v.optional(v.boolean('must be true or false')),
  maxAge: v.optional(
    v.nullable(wholeNumber('seconds, or null for a cookie that ends with the browser', 1, defaultCookieMaxAge)),
  ),
};

/** Looked up at each call, so that a later replacement (instrumentation, an agent) is used. */
const globalFetch: typeof globalThis.fetch = (input, init) => globalThis.fetch(input, init);

export const sharedEntries = {
  appBaseUrl: v.optional(
    v.pipe(
      v.string('must be an absolute http(s) URL'),
      v.check(isBaseUrl, 'must be an absolute http(s) URL such as https://app.example.com, without query or user'),
    ),
  ),
  protectedRoutes: v.pipe(
    v.optional(v.union([v.array(pattern, 'must be a pattern or a list of patterns'), pattern]), []),
    v.transform((value) => (typeof value === 'string' ? [value] : value)),
  ),
  trustedOrigins: v.optional(v.array(origin, 'must be a list of origins'), []),
  stylesheetPath: routePath('/auth/pages.css'),
  timeoutMs: v.optional(wholeNumber('how long a request waits for the provider, in milliseconds', 100, 30_000), 5_000),
  fetch: v.optional(callback<typeof globalThis.fetch>('(input, init) => Promise<Response>'), () => globalFetch),
  refreshWindow: v.optional(
    wholeNumber('seconds before expiry in which a token is renewed in the background', 0, 3_600),
    60,
  ),
  maxCachedSessions: v.optional(wholeNumber('how many verified sessions are remembered', 0, 10_000_000), 10_000),
  coordinator: v.optional(
    v.custom<SharedCoordinator>(isCoordinator, 'must be a coordinator, such as createRedisCoordinator() makes'),
  ),
  onError: v.optional(callback<OnError>('(error, req, res, next) => void')),
  onEvent: v.optional(callback<OnEvent>('(event) => void')),
  /** Milliseconds since the epoch; for tests. */
  now: v.optional(callback<() => number>('() => number'), () => Date.now),
};

function isCoordinator(value: unknown): boolean {
  return (
    typeof value === 'object' &&
    value !== null &&
    ['read', 'merge', 'take', 'settle'].every((name) => typeof Reflect.get(value, name) === 'function')
  );
}

interface GivenCookieOptions {
  readonly domain?: string | undefined;
  readonly path?: string | undefined;
  readonly sameSite?: 'lax' | 'strict' | 'none' | undefined;
  readonly secure?: boolean | undefined;
  readonly maxAge?: number | null | undefined;
  readonly httpOnly?: boolean | undefined;
}

/** The attributes of an adapter's session cookie. */
export function cookieAttributes(given: GivenCookieOptions = {}, cookieName = ''): Adapter['cookieOptions'] {
  const { domain, path = '/', sameSite = 'lax', secure, maxAge = defaultCookieMaxAge, httpOnly = true } = given;
  return {
    domain,
    path,
    sameSite,
    httpOnly,
    maxAge: maxAge ?? undefined,
    // Browsers drop a cookie with SameSite=None or with a prefixed name that is not Secure.
    ...(sameSite === 'none' || /^__(?:host|secure)-/i.test(cookieName)
      ? { secure: true }
      : secure === undefined
        ? {}
        : { secure }),
  };
}
