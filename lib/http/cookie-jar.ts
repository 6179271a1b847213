import onHeaders from 'on-headers';
import type { ServerResponse } from 'node:http';
import { serializeCookie } from '../core/cookies.ts';
import { createSlot, isHeadOpen, varyOn } from './message.ts';
import type { CookieAttributes, CookieWrite, RequestCookies } from '../core/cookies.ts';
import type { Adapter } from './adapter.ts';

/** What becomes of some cookies on their way out. */
export interface Delivery {
  /** Asked when the head goes out; what is no longer wanted by then stays here. */
  readonly isCurrent?: (() => boolean) | undefined;
  /** The response went out in full. */
  readonly onDelivered?: (() => void) | undefined;
  /** The head went out without them, or the connection broke before there was a head. */
  readonly onLost?: ((names: readonly string[]) => void) | undefined;
}

/** The cookies that this package adds to one response: one write per name, domain and path, sent with the head. */
interface CookieJar {
  /** @param attributes the adapter's own, for what a write does not say */
  write(writes: readonly CookieWrite[], attributes: CookieAttributes, delivery?: Delivery): void;
}

interface Pending {
  readonly text: string;
  readonly isDeletion: boolean;
  readonly isCurrent: (() => boolean) | undefined;
}

interface Parcel extends Delivery {
  readonly names: readonly string[];
}

/** Cookies that a sibling domain adds could otherwise make every response too large for a proxy in front. */
const maxDeletions = 20;

const jars = createSlot<ServerResponse, CookieJar>();

/** One for all adapters, so that each of their cookies is sent once. */
export function jarOf(res: ServerResponse): CookieJar {
  let jar = jars.get(res);
  if (jar === undefined) {
    jar = createCookieJar(res);
    jars.add(res, jar);
  }
  return jar;
}

export function createCookieJar(res: ServerResponse): CookieJar {
  const pending = new Map<string, Pending>();
  const parcels: Parcel[] = [];
  let isListening = false;

  // At the head, not before: a handler may replace the header, and what carries our cookie must never be cached.
  const flush = (): void => {
    const current = [...pending.values()].filter(({ isCurrent }) => isCurrent?.() ?? true);
    const isSurplus = new Set(current.filter(({ isDeletion }) => isDeletion).slice(maxDeletions));
    const lines = current.filter((write) => !isSurplus.has(write)).map(({ text }) => text);
    if (lines.length === 0) return;
    const foreign = res.getHeader('set-cookie') ?? [];
    res.setHeader('Set-Cookie', [...[foreign].flat().map(String), ...lines]);
    res.setHeader('Cache-Control', 'private, no-store');
    varyOn(res, 'Cookie');
  };

  function listen(): void {
    isListening = true;
    onHeaders(res, flush);
    res.once('finish', () => {
      for (const { onDelivered } of parcels) onDelivered?.();
    });
    res.once('close', () => {
      // A stream that broke off after its head may well have brought the cookies.
      if (res.headersSent) return;
      for (const { names, onLost } of parcels) onLost?.(names);
    });
  }

  return {
    write(writes, attributes, delivery = {}) {
      if (writes.length === 0) return;
      const names = writes.map((write) => write.name);
      // The close of a connection that broke earlier will not be announced again.
      if (!isHeadOpen(res) || res.closed) {
        delivery.onLost?.(names);
        return;
      }
      if (!isListening) listen();
      for (const write of writes) {
        const { domain, path } = { ...attributes, ...write.attributes };
        const key = `${write.name};${domain ?? ''};${path}`;
        pending.delete(key);
        const text = serializeCookie(write, attributes);
        pending.set(key, { text, isDeletion: write.value === undefined, isCurrent: delivery.isCurrent });
      }
      parcels.push({ ...delivery, names });
    },
  };
}

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
