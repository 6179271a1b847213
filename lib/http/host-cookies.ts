import type { CookieWrite, RequestCookies } from '../core/cookies.ts';
import type { Adapter } from './adapter.ts';

/** Browsers take such a cookie over https from this host only, so no sibling domain can set one (RFC 6265bis §4.1.3.2). */
const hostPrefix = '__Host-';

type Cookies = Pick<Adapter, 'cookieName' | 'cookieOptions'>;

/**
 * Whether the cookies of a sign-in under way (`<cookieName>-…`) carry the prefix. Those that a sister domain or a browser client
 * of @supabase/ssr shares keep the names that the other software knows.
 */
function isPrefixed({ cookieName, cookieOptions }: Cookies, isSecure: boolean): boolean {
  const { domain, httpOnly } = cookieOptions;
  return isSecure && domain === undefined && httpOnly && !cookieName.startsWith(hostPrefix);
}

/** The request's cookies under the names that the adapter knows; what lacks its prefix is left out. */
export function readHostCookies(cookies: RequestCookies, adapter: Cookies, isSecure: boolean): RequestCookies {
  if (!isPrefixed(adapter, isSecure)) return cookies;
  const own = `${adapter.cookieName}-`;
  return new Map(
    [...cookies].flatMap(([name, values]) => {
      if (name.startsWith(hostPrefix + own)) return [[name.slice(hostPrefix.length), values] as const];
      return name.startsWith(own) ? [] : [[name, values] as const];
    }),
  );
}

/** The cookie as it is sent. */
export function toHostCookie(write: CookieWrite, adapter: Cookies, isSecure: boolean): CookieWrite {
  if (!isPrefixed(adapter, isSecure) || !write.name.startsWith(`${adapter.cookieName}-`)) return write;
  const attributes = { ...write.attributes, path: '/', secure: true, domain: undefined };
  return { ...write, name: hostPrefix + write.name, attributes };
}

/** What browsers would drop without a word: the prefix of a name promises attributes (RFC 6265bis §4.1.3). */
export function cookiePrefixProblems(given: Readonly<Record<string, unknown>>): string[] {
  const { cookieName, cookieOptions } = given;
  const prefix = typeof cookieName === 'string' ? /^__(?:host|secure)-/i.exec(cookieName)?.[0] : undefined;
  if (prefix === undefined || typeof cookieOptions !== 'object' || cookieOptions === null) return [];
  const { domain, path, secure }: { domain?: unknown; path?: unknown; secure?: unknown } = cookieOptions;
  const isHost = prefix.toLowerCase() === '__host-';
  return [
    ...(isHost && domain !== undefined ? ['domain must be left out'] : []),
    ...(isHost && path !== undefined && path !== '/' ? ["path must be '/'"] : []),
    ...(secure === false ? ['secure must not be false'] : []),
  ].map((problem) => `cookieOptions.${problem} where cookieName starts with ${prefix}, or browsers drop the cookie`);
}
