import * as v from 'valibot';
import { nearestName } from '../nearest.ts';
import { patternProblem } from '../tools/paths/path-matcher.ts';
import type { SharedCoordinator } from '../session/coordinator.ts';
import type { OnEvent, WaitUntil } from '../types.ts';
import type { Adapter, OnError } from '../http/adapter.ts';

/**
 * The options that the entries of a schema take; the environment may hold required ones. Editors and docs/options.md show the
 * comments of the entries, but TypeScript drops those of an entry that was spread from elsewhere.
 */
export type OptionsOf<Entries extends v.ObjectEntries> = {
  readonly [Option in keyof Entries]?: ReadonlyLists<v.InferInput<Entries[Option]>> | undefined;
};

/** The same for options that must not be `undefined`. */
export type ExactOptionsOf<Entries extends v.ObjectEntries> = {
  readonly [Option in keyof Entries]?: ReadonlyLists<v.InferInput<Entries[Option]>>;
};

type ReadonlyLists<Value> = Value extends readonly (infer Item)[]
  ? readonly ReadonlyLists<Item>[]
  : string extends keyof Value
    ? { readonly [Name in keyof Value]: ReadonlyLists<Value[Name]> }
    : Value;

/** Seconds; the default of WorkOS' own SDKs, and the maximum that browsers keep a cookie (RFC 6265bis §5.5). */
const defaultCookieMaxAge = 400 * 24 * 60 * 60;

export const text = (what: string) =>
  v.pipe(v.string(`must be a string: ${what}`), v.nonEmpty(`is empty: ${what}`), v.description(what));

/** An option that is an object, with a type that editors name. */
export const group = <Options extends object>(entries: Readonly<Record<keyof Options, v.GenericSchema>>) =>
  v.strictObject(
    entries,
    `must be an object with ${listOf(Object.keys(entries))}`,
  ) as v.GenericSchema as v.GenericSchema<Options>;

export const listOf = (names: readonly string[], last = 'or'): string =>
  `${names.slice(0, -1).join(', ')} ${last} ${names.at(-1) ?? ''}`;

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

/**
 * Parameters of a provider's URL, which the application adds to those of the sign-in.
 *
 * @param isOwn whether the sign-in itself sets the parameter
 */
export const queryParameters = <Value extends v.GenericSchema>(
  value: Value,
  {
    form,
    example,
    isOwn,
  }: { readonly form: RegExp; readonly example: string; readonly isOwn: (name: string) => boolean },
) =>
  v.pipe(
    v.record(
      v.pipe(v.string(), v.regex(form, `must name parameters as in the provider’s URL, such as ${example}`)),
      value,
      `must be an object, such as { ${example}: "…" }`,
    ),
    v.rawCheck(({ dataset, addIssue }) => {
      if (!dataset.typed) return;
      const own = Object.keys(dataset.value).filter(isOwn);
      if (own.length > 0) addIssue({ message: `must not set ${own.join(', ')}: the sign-in sets this itself` });
    }),
  );

const issuer = text('an issuer');

/** One or several, read as a list. */
export const issuers = v.union(
  [
    v.pipe(
      issuer,
      v.transform((only) => [only]),
    ),
    v.array(issuer),
  ],
  'must be an issuer or a list of issuers',
);

export const cookieName = v.pipe(
  v.string('must be a cookie name'),
  v.regex(/^[A-Za-z0-9_-]+$/, 'must be a cookie name of letters, digits, _ and -'),
);

const literalPath = (example: string) =>
  v.pipe(
    v.string(`must be a root-relative path such as ${example}`),
    v.regex(
      /^(?:\/[A-Za-z0-9._~-]+)+$/,
      `must be a root-relative path of letters, digits and . _ ~ - such as ${example}, without a trailing slash`,
    ),
    v.check(
      (value) => !value.split('/').some((segment) => segment === '.' || segment === '..'),
      'must not contain dot segments',
    ),
  );

/** A path of one of the adapter's own routes: literal, so that it can be compared, printed and registered with a provider. */
export const routePath = (path: string) => v.optional(literalPath('/login'), path);

const pathPrefix = literalPath('/v1/auth');

/** Whether it is a valid value of the option `pathPrefix`. */
export const isPathPrefix = (value: unknown): value is string => v.is(pathPrefix, value);

/** The option `paths`: routes by their names in the typed client. */
export const routePaths = <Options extends object>(
  entries: Readonly<Record<keyof Options, ReturnType<typeof routePath>>>,
) =>
  v.optional(
    group<Options>(entries) as v.GenericSchema<Options, { readonly [Name in keyof Options]-?: string }>,
    {} as Options,
  );

/** The defaults of the options that are paths of routes: the entries whose names end in `Path`, and those in `paths`. */
export const pathsOf = (entries: v.ObjectEntries, paths: Readonly<Record<string, ReturnType<typeof routePath>>>) =>
  Object.fromEntries([
    ...Object.entries(entries).flatMap(([name, entry]) =>
      name.endsWith('Path') ? [[name, v.getDefault(entry as ReturnType<typeof routePath>)] as const] : [],
    ),
    ...Object.entries(paths).map(([name, entry]) => [`paths.${name}`, v.getDefault(entry)] as const),
  ]) as Readonly<Record<string, string>>;

/** A page of the application: root-relative, or absolute where it is on another host. */
export const pageUrl = v.pipe(
  v.string('must be a root-relative path or an http(s) URL'),
  v.check(
    (value) => (/^\/(?![/\\])/.test(value) ? URL.parse(value, 'http://host.invalid') !== null : isHttpUrl(value)),
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

const patterns = 'must be a pattern or a list of patterns';

/** Whether it is an http(s) URL. A host with `*` parses, and no browser has it. */
export function isHttpUrl(value: string): boolean {
  // `URL.canParse` of Node 22 refuses letters such as ü, once it has been called a few thousand times.
  const url = /^https?:\/\//i.test(value) ? URL.parse(value) : null;
  return url !== null && !url.hostname.includes('*');
}

/** Paths are appended to it, and providers receive it. */
function isBaseUrl(value: string): boolean {
  if (!isHttpUrl(value) || /[?#]/.test(value)) return false;
  const { username, password } = new URL(value);
  return username === '' && password === '';
}

/** A base URL as browsers write it: scheme and host in lower case, without a trailing slash or a default port. */
export const baseUrl = v.transform((value: string) => {
  const { origin, pathname } = new URL(value);
  return origin + pathname.replace(/\/+$/, '');
});

export const origin = v.pipe(
  v.string('must be an origin such as https://www.example.com'),
  v.check(
    (value) => isHttpUrl(value) && /^[^/]+:\/\/[^/?#@\\\s]+$/.test(value),
    'must be an origin, without path, trailing slash or wildcard, such as https://www.example.com',
  ),
  // As browsers write it in `Origin`: in lower case, without a default port, and a name of other letters in ASCII.
  v.transform((value) => new URL(value).origin),
);

/** Labels of at most 63 letters, digits and hyphens (RFC 1123 §2.1); what is none makes no cookie. */
const hostName = /^\.?[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?)*$/i;

export const cookieEntries = {
  /** The hosts that get the cookie. Default: none, only this host. */
  domain: v.optional(v.pipe(v.string('must be a host name'), v.regex(hostName, 'must be a host name'))),
  /** The path below which browsers send the cookie. Default `/`. */
  path: v.optional(
    v.pipe(
      v.string('must be a path'),
      v.regex(/^\/[\x21-\x3a\x3d-\x7e]*$/, 'must be a path that starts with /, in ASCII, without blanks, ; and <'),
    ),
  ),
  /** Whether requests from other sites carry the cookie. Default `lax`. `strict` hides the session from the first page after a link from elsewhere; `none` implies `secure`. */
  sameSite: v.optional(v.picklist(['lax', 'strict', 'none'], "must be 'lax', 'strict' or 'none'")),
  /** Whether browsers send the cookie over https only. Default: as the public origin. */
  secure: v.optional(v.boolean('must be true or false')),
  /**
   * For an app in other sites' frames: each site around the frame gets a session of its own (CHIPS), also where browsers block third-party
   * cookies. Needs `sameSite: 'none'`, which implies `secure`. Default false.
   */
  partitioned: v.optional(v.boolean('must be true or false')),
  /** Seconds, or `null` for a cookie that ends with the browser. Default 400 days. */
  maxAge: v.optional(
    v.nullable(wholeNumber('seconds, or null for a cookie that ends with the browser', 1, defaultCookieMaxAge)),
  ),
};

/** The attributes of the session cookie that an application may choose (RFC 6265bis §4.1.2). */
export interface CookieOptions extends OptionsOf<typeof cookieEntries> {}

/** Looked up at each call, so that a later replacement (instrumentation, an agent) is used. */
const globalFetch: typeof globalThis.fetch = (input, init) => globalThis.fetch(input, init);

export const sharedEntries = {
  /** The application's public base URL. The Supabase adapter also reads `APP_BASE_URL`. Default: the request's origin. */
  appBaseUrl: v.optional(
    v.pipe(
      v.string('must be an absolute http(s) URL'),
      v.check(isBaseUrl, 'must be an absolute http(s) URL such as https://app.example.com, without query or user'),
      baseUrl,
    ),
  ),
  /** Root-relative path patterns of pages that need a session; a trailing `(.*)` matches any remainder. Default: none. */
  protectedRoutes: v.pipe(
    v.optional(v.union([v.array(pattern, patterns), pattern], patterns), []),
    v.transform((value) => (typeof value === 'string' ? [value] : value)),
  ),
  /**
   * The origin of a front end that is served elsewhere, such as `https://www.example.com`. `returnTo` and the start page are its paths, and
   * it is trusted as in `trustedOrigins`. Default: none, pages are on the origin of the routes.
   */
  frontendOrigin: v.optional(origin),
  /** Further origins of your own that may post to the auth routes, and that a hook's `redirectTo` may lead to. Default: none. */
  trustedOrigins: v.optional(v.array(origin, 'must be a list of origins'), []),
  /**
   * Moves all own routes at once: with `/v1/auth`, `/auth/login` and `/login` become `/v1/auth/login`. It takes the place of `/auth`.
   * An option for a single path beats it, here and in `paths`. Default: none.
   */
  pathPrefix: v.optional(pathPrefix),
  /**
   * How long a request waits for the provider, in milliseconds. Default 5,000. A refresh goes on for up to 25 seconds; its
   * answer is kept for the next request.
   */
  timeoutMs: v.optional(wholeNumber('how long a request waits for the provider, in milliseconds', 100, 30_000), 5_000),
  /** Stands in for the global `fetch` in every call to the provider, its keys included: for a proxy, for tracing, for tests. */
  fetch: v.optional(callback<typeof globalThis.fetch>('(input, init) => Promise<Response>'), () => globalFetch),
  /**
   * With less than this to live, in seconds, a token is renewed in the background; at most a tenth of its lifetime. Default 60,
   * and 0 where the platform may stop the process after a response (see `waitUntil`). 0 turns it off. The request at hand does not wait. If the new token comes too late for its response, this process keeps it
   * for the next one. With several processes, use it together with `coordinator`. With less than 10 seconds to live (or
   * a tenth of its lifetime) a token is always renewed before it is used.
   */
  refreshWindow: v.optional(
    wholeNumber('seconds before expiry in which a token is renewed in the background', 0, 3_600),
  ),
  /**
   * Gets a promise for work that goes on after a response, such as a mail that is being sent: pass the one of a platform that
   * stops the process after a response, such as `waitUntil` of `@vercel/functions`. Default: on Lambda, Vercel, Cloud Run and Netlify
   * each response waits for that work instead, by their variables in the environment; elsewhere the process goes on by itself.
   */
  waitUntil: v.optional(callback<WaitUntil>('(promise) => void')),
  /** Shares refreshes and sign-outs between processes; see `express-auth-adapters/redis`. */
  coordinator: v.optional(
    v.custom<SharedCoordinator>(isCoordinator, 'must be a coordinator, such as createRedisCoordinator() makes'),
  ),
  /** Takes over every error that a user would see. */
  onError: v.optional(callback<OnError>('(error, req, res, next) => void')),
  /** Is told what happens, without secrets. */
  onEvent: v.optional(callback<OnEvent>('(event) => void')),
  /** The clock, in milliseconds since the epoch; for tests. */
  now: v.optional(callback<() => number>('() => number'), () => Date.now),
};

/** The options that both adapters have. */
export interface SharedAuthOptions extends OptionsOf<typeof sharedEntries> {}

function isCoordinator(value: unknown): boolean {
  return (
    typeof value === 'object' &&
    value !== null &&
    ['read', 'merge', 'take', 'settle'].every((name) => typeof Reflect.get(value, name) === 'function')
  );
}

/** The attributes of an adapter's session cookie. */
export function cookieAttributes(
  given: CookieOptions & { readonly httpOnly?: boolean | undefined } = {},
  cookieName = '',
): Adapter['cookieOptions'] {
  const { domain, path = '/', sameSite = 'lax', secure, maxAge = defaultCookieMaxAge, httpOnly = true } = given;
  return {
    domain,
    path,
    sameSite,
    httpOnly,
    maxAge: maxAge ?? undefined,
    ...(given.partitioned === true ? { partitioned: true } : {}),
    // Browsers drop a cookie with SameSite=None or with a prefixed name that is not Secure.
    ...(sameSite === 'none' || /^__(?:host|secure)-/i.test(cookieName)
      ? { secure: true }
      : secure === undefined
        ? {}
        : { secure }),
  };
}

/** The origins that are the application's own, besides that of the routes. */
export function ownOrigins({
  frontendOrigin,
  trustedOrigins,
}: Pick<Adapter, 'frontendOrigin' | 'trustedOrigins'>): Pick<Adapter, 'frontendOrigin' | 'trustedOrigins'> {
  return {
    frontendOrigin,
    trustedOrigins: frontendOrigin === undefined ? trustedOrigins : [...trustedOrigins, frontendOrigin],
  };
}

/** The known name that a given one most likely means; `undefined` where it is known, or none is near. */
export function misspelledName(name: string, known: readonly string[]): string | undefined {
  return known.includes(name) ? undefined : nearestName(name, known);
}
