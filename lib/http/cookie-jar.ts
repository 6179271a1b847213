import onHeaders from 'on-headers';
import type { ServerResponse } from 'node:http';
import { serializeCookie } from '../tools/cookies.ts';
import { isRecord } from '../tools/json.ts';
import { isClosed, isHeadOpen, onceSent, varyOn } from './message.ts';
import type { CookieAttributes, CookieWrite, RequestCookies } from '../tools/cookies.ts';
import type { Adapter } from './adapter.ts';

/** Callbacks for the delivery of cookies. */
export interface Delivery {
  /** Called when the head is sent; where it returns false, the cookies are dropped. */
  readonly isCurrent?: (() => boolean) | undefined;
  /** Called each second until the head is sent, so that `isCurrent` knows what other processes did. It never rejects. */
  readonly recheck?: (() => Promise<unknown>) | undefined;
  /** Called when the whole response was sent; never for a response to a gateway. */
  readonly onDelivered?: (() => void) | undefined;
  /** Called when the head was sent without them, or the connection closed before the head. */
  readonly onLost?: ((names: readonly string[]) => void) | undefined;
}

/** The cookies that this package adds to one response: one write per name, domain, path and partition, sent with the head. */
interface CookieJar {
  /** Says to caches that the response depends on whether there is a session, also where there is none. */
  dependOnSession(): void;
  /** @param attributes the adapter's own defaults */
  write(writes: readonly CookieWrite[], attributes: CookieAttributes, delivery?: Delivery): void;
  /**
   * The response goes to a gateway, which decides what the browser gets: nothing counts as delivered. nginx passes on one `Set-Cookie`,
   * and a part of a session would destroy it, so that several cookies are withheld.
   */
  answerGateway(): void;
}

interface Pending {
  readonly text: string;
  readonly isDeletion: boolean;
  readonly delivery: CookieDelivery;
}

interface CookieDelivery extends Delivery {
  readonly names: readonly string[];
}

/** Without a limit, cookies from a sibling domain could make every response too large for a proxy. */
const maxDeletions = 20;

/** As the request's `AuthRequest`: a property that cannot be enumerated, because a `WeakMap` costs too much. */
const ownJar = Symbol('cookie jar');
interface JarredResponse extends ServerResponse {
  readonly [ownJar]?: CookieJar;
}

/** Shared by all adapters, so that each of their cookies is sent once. */
export function jarOf(res: JarredResponse): CookieJar {
  let jar = res[ownJar];
  if (jar === undefined) {
    jar = createCookieJar(res);
    Object.defineProperty(res, ownJar, { value: jar });
  }
  return jar;
}

export function createCookieJar(res: ServerResponse): CookieJar {
  const pending = new Map<string, Pending>();
  let deliveries: readonly CookieDelivery[] = [];
  let isListening = false;
  let dependsOnSession = false;
  let isForGateway = false;

  // Just before the head is sent: a handler may replace the header, and a response with our cookie must never be cached.
  const flush = (): void => {
    const current = new Set(deliveries.filter(({ isCurrent }) => isCurrent?.() ?? true));
    const sent = [...pending.values()].filter(({ delivery }) => current.has(delivery));
    // A later write may have replaced all of an earlier one's.
    deliveries = [...new Set(sent.map(({ delivery }) => delivery))];
    const lines = linesOf(sent);
    const isWithheld = isForGateway && lines.length + foreignCookies(res).length > 1;
    if (lines.length === 0 && dependsOnSession) refusePublic(res);
    else if (lines.length > 0 && !isWithheld) sendCookies(res, lines);
  };

  function listen(): void {
    if (isListening) return;
    isListening = true;
    onHeaders(res, flush);
    onceSent(res, () => {
      if (!isForGateway) for (const { onDelivered } of deliveries) onDelivered?.();
    });
    res.once('close', () => {
      // A response that broke off after its head may have delivered the cookies.
      if (res.headersSent) return;
      for (const { onLost, names } of deliveries) onLost?.(names);
    });
  }

  return {
    dependOnSession() {
      if (dependsOnSession || !isHeadOpen(res)) return;
      dependsOnSession = true;
      varyOn(res, 'Cookie');
      listen();
    },
    write(writes, attributes, delivery = {}) {
      if (writes.length === 0) return;
      const names = writes.map((write) => write.name);
      // A connection that closed earlier emits no further `close`.
      if (!isHeadOpen(res) || isClosed(res)) {
        delivery.onLost?.(names);
        return;
      }
      listen();
      const named = { ...delivery, names };
      for (const write of writes) {
        for (const variant of variantsOf(write, attributes)) add(pending, variant, attributes, named);
      }
      deliveries = [...deliveries, named];
      if (delivery.recheck !== undefined) recheckWhileOpen(res, delivery, maxRechecks);
    },
    answerGateway: () => void (isForGateway = true),
  };
}

/** Milliseconds between two questions. */
const recheckMs = 1_000;
/** Ten minutes: longer than any request, and a response that never had a connection never closes. */
const maxRechecks = 600;

function recheckWhileOpen(res: ServerResponse, delivery: Delivery, left: number): void {
  const next = async (): Promise<void> => {
    if (left === 0 || !isHeadOpen(res) || isClosed(res) || delivery.isCurrent?.() === false) return;
    await delivery.recheck?.();
    recheckWhileOpen(res, delivery, left - 1);
  };
  setTimeout(() => void next(), recheckMs).unref();
}

/**
 * A cookie that was set before `partitioned` was configured is another one to browsers, and its tokens may be spent: each write and each
 * deletion of a partitioned cookie deletes it.
 */
function variantsOf(write: CookieWrite, attributes: CookieAttributes): readonly CookieWrite[] {
  if (attributes.partitioned !== true) return [write];
  // In front, for clients that know no partitions: to them both are one cookie.
  return [{ ...write, value: undefined, attributes: { ...write.attributes, partitioned: false } }, write];
}

/** One write per name, domain, path and partition: the last one counts. */
function add(
  pending: Map<string, Pending>,
  write: CookieWrite,
  attributes: CookieAttributes,
  delivery: CookieDelivery,
): void {
  const { domain, path, partitioned = false } = { ...attributes, ...write.attributes };
  const key = `${write.name};${domain ?? ''};${path};${partitioned}`;
  pending.delete(key);
  pending.set(key, { text: serializeCookie(write, attributes), isDeletion: write.value === undefined, delivery });
}

function linesOf(writes: readonly Pending[]): readonly string[] {
  const surplus = new Set(writes.filter(({ isDeletion }) => isDeletion).slice(maxDeletions));
  return writes.filter((write) => !surplus.has(write)).map(({ text }) => text);
}

function foreignCookies(res: ServerResponse): readonly string[] {
  return [res.getHeader('set-cookie') ?? []].flat().map(String);
}

function sendCookies(res: ServerResponse, lines: readonly string[]): void {
  res.setHeader('Set-Cookie', [...foreignCookies(res), ...lines]);
  res.setHeader('Cache-Control', 'private, no-store');
  varyOn(res, 'Cookie');
}

/** What a handler has set stays, but no shared cache may show one visitor's page to another. */
function refusePublic(res: ServerResponse): void {
  varyOn(res, 'Cookie');
  const set = res.getHeader('cache-control');
  if (set === undefined) return;
  const kept = String(set).replaceAll(/(^|[\s,])public(?=[\s,]|$)/giu, '$1private');
  if (kept !== String(set)) res.setHeader('Cache-Control', kept);
}

/** Seconds that a cookie of a sign-in that is not complete lives: ten minutes. */
export const flowMaxAge = 600;

/** The attributes of such a cookie. Providers return by a cross-site navigation, and browsers do not send a strict cookie with it. */
export function flowAttributes(sameSite: CookieAttributes['sameSite'] | undefined) {
  return { maxAge: flowMaxAge, sameSite: sameSite === 'none' ? 'none' : 'lax' } as const;
}

/** Browsers accept such a cookie only over https from this host, so no sibling domain can set one (RFC 6265bis §4.1.3.2). */
const hostPrefix = '__Host-';

type Cookies = Pick<Adapter, 'cookieName' | 'cookieOptions'>;

/**
 * Whether the cookies of a pending sign-in (`<cookieName>-…`) carry the prefix. Cookies shared with a sibling
 * domain or a browser client of @supabase/ssr keep the names that the other software expects.
 */
function isPrefixed({ cookieName, cookieOptions }: Cookies, isSecure: boolean): boolean {
  const { domain, httpOnly } = cookieOptions;
  return isSecure && domain === undefined && httpOnly && !cookieName.startsWith(hostPrefix);
}

/** The request's cookies under the adapter's names; a pending sign-in's cookie without the prefix is dropped. */
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

/** The cookie with the name and attributes that are sent. */
export function toHostCookie(write: CookieWrite, adapter: Cookies, isSecure: boolean): CookieWrite {
  if (!isPrefixed(adapter, isSecure) || !write.name.startsWith(`${adapter.cookieName}-`)) return write;
  const attributes = { ...write.attributes, path: '/', secure: true, domain: undefined };
  return { ...write, name: hostPrefix + write.name, attributes };
}

/** Options with which browsers would drop the cookies silently. */
export function cookieProblems(given: Readonly<Record<string, unknown>>): string[] {
  return [...cookiePrefixProblems(given), ...partitionProblems(given)];
}

/** Browsers take a partitioned cookie only over https, and in a frame only with `SameSite=None`. */
function partitionProblems({ cookieOptions }: Readonly<Record<string, unknown>>): string[] {
  if (!isRecord(cookieOptions) || cookieOptions['partitioned'] !== true) return [];
  const { sameSite, secure } = cookieOptions;
  return [
    ...(sameSite === 'none' ? [] : ["sameSite must be 'none'"]),
    ...(secure === false ? ['secure must not be false'] : []),
  ].map(
    (problem) => `cookieOptions.${problem} with cookieOptions.partitioned, or browsers drop the cookies in a frame`,
  );
}

/** A name prefix requires attributes (RFC 6265bis §4.1.3). */
function cookiePrefixProblems(given: Readonly<Record<string, unknown>>): string[] {
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
