import type { IncomingMessage, ServerResponse } from 'node:http';
import { parseCookies } from '../core/cookies.ts';
import type { CookieWrite, RequestCookies } from '../core/cookies.ts';
import { sanitizeReturnTo } from '../core/return-to.ts';
import { queryOf, withQuery } from '../core/url.ts';
import { clientFacts, createSlot, isHeadOpen, isSafeMountPath, keepPrivate, peerAddress } from './message.ts';
import { prefersJson, protocolOf, requestOrigin, requestTarget, type HostRequest } from './message.ts';
import { AuthError } from '../errors.ts';
import type { Resolution } from '../session/renew-candidates.ts';
import type { AdapterName, Session } from '../types.ts';
import type { Adapter } from './adapter.ts';
import { jarOf, readHostCookies, toHostCookie } from './cookie-jar.ts';
import type { Delivery } from './cookie-jar.ts';
import { isAuthRoute } from './express-stack.ts';
import { stylesheetQuery } from './stylesheet.ts';

/**
 * One request as one adapter sees it: handlers and guards read here and return a `Reply`. Everything is computed on first need, as
 * most requests need none of it; the session is resolved once.
 */
export class AuthRequest {
  readonly definition: Adapter;
  readonly req: HostRequest;
  readonly res: ServerResponse;
  /** The mount path, `''` at the root. */
  readonly prefix: string;
  /** The request as the adapter sees it that it passed after this one. */
  following: AuthRequest | undefined;
  /** Whether a guard of this adapter has let the request pass. */
  isGuarded = false;
  /** Whether a guard decides by a bearer token: then a session of the cookies sets none, and its new tokens wait for the next request. */
  isBearer = false;
  /** Whether the answer depends on `Accept`, because `wantsJson` was read. */
  isNegotiated = false;
  /** Where the sign-in link of an error page leads back to; set by a route that knows where the visitor was going. */
  errorReturnTo: string | undefined;
  /** When the request came to one of the adapter's own routes, as `performance.now()` says it. */
  startedAt: number | undefined;
  #cookies: RequestCookies | undefined;
  #session: Session | undefined;
  #resolution: Promise<Session | null> | undefined;

  constructor(definition: Adapter, req: IncomingMessage, res: ServerResponse, prefix: string) {
    this.definition = definition;
    this.req = req;
    this.res = res;
    this.prefix = prefix;
  }

  get query(): URLSearchParams {
    return queryOf(requestTarget(this.req));
  }

  /** Reading it makes the answer vary on `Accept`. */
  get wantsJson(): boolean {
    this.isNegotiated = true;
    return prefersJson(this.req);
  }

  /** The address that calls to the provider for tokens that were not verified count under. */
  get peer(): string | undefined {
    return this.definition.clientAddress?.(this.req) ?? peerAddress(this.req);
  }

  /**
   * The application's public origin: `appBaseUrl` where given, else the request's own.
   *
   * @throws {AuthError} `invalid_host`
   */
  get origin(): string {
    const { appBaseUrl } = this.definition;
    return appBaseUrl === undefined ? requestOrigin(this.req) : new URL(appBaseUrl).origin;
  }

  /** The application's start page. */
  get home(): string {
    return `${this.#basePath}/`;
  }

  /** @throws {AuthError} `invalid_request` where no URL may be built below the mount path that the request chose */
  refuseUnsafeMountPath(): void {
    if (this.#safePrefix !== this.prefix) throw new AuthError('invalid_request');
  }

  /** One of the adapter's own paths, as a browser has to ask for it. */
  localPath(path: string): string {
    return this.#basePath + this.#safePrefix + path;
  }

  /** The absolute URL of one of the adapter's own paths. */
  publicUrl(path: string): string {
    return this.origin + this.localPath(path);
  }

  /** Where the built-in pages' stylesheet is, with the hash of its text. */
  get stylesheetUrl(): string {
    const { stylesheetPath, brand } = this.definition;
    return this.localPath(stylesheetPath) + stylesheetQuery(brand.accent);
  }

  /** The path and query that were asked for, made safe, as the way back. */
  get wayBack(): string {
    return this.returnTo(this.#basePath + requestTarget(this.req));
  }

  /** Where to go after signing in or out, made safe; the start page for whatever is not a path of this origin. */
  returnTo(value: unknown, fallback = this.home): string {
    const base = this.#basePath;
    const isOwnRoute = (path: string): boolean =>
      isAuthRoute(this.req, authRequestsOf(this.req), path.startsWith(`${base}/`) ? path.slice(base.length) : path);
    return sanitizeReturnTo(value, { fallback, isOwnRoute });
  }

  /** The sign-in page with the way back in `returnTo`, after further parameters. */
  signInUrl(returnTo: string, parameters: Readonly<Record<string, string>> = {}): string {
    const { signInPage, loginPath } = this.definition;
    const page = signInPage ?? this.localPath(loginPath);
    return withQuery(page, { ...parameters, ...(returnTo === this.home ? {} : { returnTo }) });
  }

  /** Every value of every cookie, those of a sign-in under way by the names that the adapter knows. */
  get cookies(): RequestCookies {
    return (this.#cookies ??= readHostCookies(parseCookies(this.req.headers.cookie), this.definition, this.#isSecure));
  }

  writeCookies(writes: readonly CookieWrite[], delivery: Omit<Delivery, 'onLost'> = {}): void {
    if (writes.length === 0) return;
    const { cookieOptions, emit } = this.definition;
    const secure = this.#isSecure;
    const named = writes.map((write) => toHostCookie(write, this.definition, secure));
    const told: Delivery = { ...delivery, onLost: (names) => emit({ type: 'cookie_lost', names }) };
    jarOf(this.res).write(named, { secure, ...cookieOptions }, told);
  }

  /** The session, if it is known or costs no more than a look-up. */
  cachedSession(): Session | undefined {
    if (this.#resolution !== undefined) return this.#session;
    return (this.#session ??= this.definition.resolver.cachedSession(this.req.headers.cookie));
  }

  /** @throws {AuthError} when the provider is needed and out of reach */
  resolveSession(): Promise<Session | null> {
    return (this.#resolution ??= this.#resolve());
  }

  /**
   * Lets the request pass a guard.
   *
   * @param session the one that counts from here on, where it does not come from the cookies
   */
  admit(session?: Session): void {
    if (session !== undefined) {
      this.#session = session;
      this.#resolution = Promise.resolve(session);
    }
    this.isGuarded = true;
    keepPrivate(this.res);
  }

  async #resolve(): Promise<Session | null> {
    const known = this.cachedSession();
    if (known !== undefined) return known;
    const resolution = await this.definition.resolver.resolve(
      this.req.headers.cookie,
      () => !isHeadOpen(this.res),
      clientFacts(this.req, this.peer),
    );
    this.#deliver(resolution);
    // A guard may have let the request pass by its bearer token meanwhile.
    if (this.#session?.credential !== 'bearer') this.#session = resolution.session ?? undefined;
    if (resolution.later !== undefined) void this.#deliverLater(resolution.later);
    return resolution.session;
  }

  #deliver({ cookies, isCurrent, onDelivered }: Resolution): void {
    this.writeCookies(cookies, {
      isCurrent: () => !this.isBearer && (isCurrent?.() ?? true),
      onDelivered: () => (this.isBearer ? undefined : onDelivered?.()),
    });
  }

  /** A refresh ahead of time rides along if it is back before the head is sent; else the next request gets it. */
  async #deliverLater(later: Promise<Resolution | undefined>): Promise<void> {
    try {
      const resolution = await later;
      if (resolution !== undefined && isHeadOpen(this.res)) this.#deliver(resolution);
    } catch (error) {
      this.definition.explain('refresh ahead of time failed: %s', String(error));
    }
  }

  get #isSecure(): boolean {
    const { appBaseUrl, cookieOptions } = this.definition;
    if (cookieOptions.secure !== undefined) return cookieOptions.secure;
    return appBaseUrl === undefined ? protocolOf(this.req) === 'https' : appBaseUrl.startsWith('https:');
  }

  get #safePrefix(): string {
    return isSafeMountPath(this.prefix) ? this.prefix : '';
  }

  /** The path of `appBaseUrl`, which a proxy takes off every path on its way here. It may name the mount path as well. */
  get #basePath(): string {
    const { appBaseUrl } = this.definition;
    if (appBaseUrl === undefined) return '';
    const path = new URL(appBaseUrl).pathname.replace(/\/+$/, '');
    const prefix = this.#safePrefix;
    return path.endsWith(prefix) ? path.slice(0, path.length - prefix.length) : path;
  }
}

/** Each request's first `AuthRequest`; the others follow it. Other code can neither read nor forge it, and printing the request does not show it. */
const firstPassed = createSlot<IncomingMessage, AuthRequest>();

/** The request as the first adapter sees it that it has passed. */
export function firstAuthRequest(req: IncomingMessage): AuthRequest | undefined {
  return firstPassed.get(req);
}

/** The adapters that this request has passed, in mount order. */
export function authRequestsOf(req: IncomingMessage): readonly AuthRequest[] {
  const passed: AuthRequest[] = [];
  for (let request = firstAuthRequest(req); request !== undefined; request = request.following) passed.push(request);
  return passed;
}

/** The request as one adapter sees it; `undefined` where it has not been passed. */
export function authRequestOf(req: IncomingMessage, adapter: AdapterName): AuthRequest | undefined {
  return authRequestsOf(req).find(({ definition }) => definition.adapter === adapter);
}

/** Makes the request pass the adapter; the same object when the request comes by again. */
export function passAdapter(
  definition: Adapter,
  req: IncomingMessage,
  res: ServerResponse,
  prefix: string,
): AuthRequest {
  let last: AuthRequest | undefined;
  for (let known = firstAuthRequest(req); known !== undefined; known = known.following) {
    if (known.definition === definition && known.prefix === prefix) return known;
    last = known;
  }
  const request = new AuthRequest(definition, req, res, prefix);
  if (last === undefined) firstPassed.add(req, request);
  else last.following = request;
  return request;
}
