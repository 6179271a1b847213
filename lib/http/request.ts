import type { IncomingMessage, ServerResponse } from 'node:http';
import { parseCookies } from '../tools/cookies.ts';
import type { CookieWrite, RequestCookies } from '../tools/cookies.ts';
import { WaitingTime, withDeadline } from '../tools/deadline.ts';
import { defined } from '../tools/json.ts';
import { sanitizeReturnTo } from '../tools/paths/return-to.ts';
import { pathOf } from '../tools/paths/request-path.ts';
import { queryOf, withQuery } from '../tools/url.ts';
import { clientFacts, isHeadOpen, isSafeMountPath, keepPrivate, prefersJson, requestTarget } from './message.ts';
import type { HostRequest } from './message.ts';
import { peerAddress, protocolOf, requestOrigin } from './origin.ts';
import { AuthError } from '../errors.ts';
import type { ConfigurationError } from '../errors.ts';
import type { Resolution } from '../session/source.ts';
import { outOfTime } from '../session/source.ts';
import type { Session } from '../types.ts';
import { NotAccepted } from './accept.ts';
import { Parts } from './adapter.ts';
import type { Adapter } from './adapter.ts';
import { jarOf, readHostCookies, toHostCookie } from './cookie-jar.ts';
import type { Delivery } from './cookie-jar.ts';
import { hookDestination } from './destination.ts';
import { isAuthRoute, isOwnPage } from './mount/mounts.ts';
import { wayBackOf } from './way-back.ts';
import type { Brand } from '../pages/page.ts';
import { stylesheetQuery } from '../pages/style.ts';

/** One list for all requests: most write no cookie. */
const none: readonly never[] = [];

/**
 * One request from one adapter's view: handlers and guards read it and return a `Reply`. All values
 * are lazy, because most requests need none; the session is resolved once.
 */
export class AuthRequest {
  readonly definition: Adapter;
  readonly req: HostRequest;
  readonly res: ServerResponse;
  /** The mount path, `''` at the root. */
  readonly prefix: string;
  /** Whether the adapter's router has it. Otherwise `protectResource` guards it, and the router leaves it alone. */
  isMounted = true;
  /** The same request as seen by the adapter that it passed before this one. */
  readonly preceding: AuthRequest | undefined;
  /** The same request as seen by the next adapter that it passed. */
  following: AuthRequest | undefined;
  /** Why the adapter is mounted wrongly. Then nothing is guarded by it, even where the application goes on after the error. */
  misuse: ConfigurationError | undefined;
  /** Whether a guard uses a bearer token. Then a session of the cookies writes no cookie; its new tokens wait for the next request. */
  isBearer = false;
  /** Whether a guard or route answers in JSON, whatever the request accepts. It holds for the rest of the request. */
  isForApi = false;
  /** The return path of an error page's sign-in link; set by a route that knows the visitor's target. */
  errorReturnTo: string | undefined;
  /** Where "Try again" leads after an outage, in place of the sign-in; set by a form. */
  errorRetryUrl: string | undefined;
  /** What a link to the sign-in names besides `returnTo`: what this one was asked with, or what the provider wants after it has ended the session. */
  signIn: Readonly<Record<string, string>> | undefined;
  /** The session of the cookies that `accept` refused; the request counts as one without a session. */
  refusedSession: Session | undefined;
  /** While `onSignIn` runs: the session that no cookie holds before the hook has let it pass. */
  signingIn: Session | undefined;
  /** When a sign-in of this request began, as a `performance.now()` value: when one of the adapter's routes, or `storeSession`, got it. */
  startedAt: number | undefined;
  /** The same time, in milliseconds since the epoch. */
  arrivedAt: number | undefined;
  /** The cookies that a route has written, under the adapter's names; without those that depend on the session's state. */
  written: readonly CookieWrite[] = none;
  #brand: Brand | undefined;
  #parts: Parts | undefined;
  #waits: WaitingTime | undefined;
  #cookies: RequestCookies | undefined;
  /** The names of all cookies that were written, also of those that the response may yet drop. */
  #writtenNames: readonly string[] = none;
  #isGuarded = false;
  #session: Session | undefined;
  #resolution: Promise<Session | null> | undefined;

  constructor(definition: Adapter, req: IncomingMessage, res: ServerResponse, prefix: string, preceding?: AuthRequest) {
    this.definition = definition;
    this.req = req;
    this.res = res;
    this.prefix = prefix;
    this.preceding = preceding;
  }

  /** Whether a guard of this adapter has let the request pass. */
  get isGuarded(): boolean {
    return this.#isGuarded;
  }

  get query(): URLSearchParams {
    return queryOf(requestTarget(this.req));
  }

  get wantsJson(): boolean {
    return this.isForApi || prefersJson(this.req);
  }

  /** The address under which provider calls for unverified tokens are counted. */
  get peer(): string | undefined {
    return this.definition.clientAddress?.(this.req) ?? peerAddress(this.req);
  }

  /** What doors and rooms keep of this request. */
  get parts(): Parts {
    return (this.#parts ??= new Parts());
  }

  /** What `timeoutMs` leaves for the waits of this request. */
  get waits(): WaitingTime {
    return (this.#waits ??= new WaitingTime(this.definition.timeoutMs));
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

  /** The path of the application's start page. */
  get home(): string {
    return this.definition.frontendOrigin === undefined ? `${this.#basePath}/` : '/';
  }

  /**
   * The URL of a sanitized path: on the front end's origin, where there is one. Pages of the adapters, and the application's own
   * pages for signing in, stay here.
   */
  urlOf(path: string): string {
    const { frontendOrigin, openPages } = this.definition;
    if (frontendOrigin === undefined || !path.startsWith('/')) return path;
    const isHere = isOwnPage(this, this.#withoutBase(pathOf(path))) || openPages.some((page) => isSamePage(page, path));
    return isHere ? path : frontendOrigin + path;
  }

  /** @throws {AuthError} `invalid_request` where the request's mount path is not safe in a URL */
  refuseUnsafeMountPath(): void {
    if (this.#safePrefix !== this.prefix) throw new AuthError('invalid_request');
  }

  /** The public URL path of one of the adapter's own paths. */
  localPath(path: string): string {
    return this.#basePath + this.#safePrefix + path;
  }

  /** The absolute URL of one of the adapter's own paths. */
  publicUrl(path: string): string {
    return this.origin + this.localPath(path);
  }

  /** What the built-in pages show, in the language of the request. */
  get brand(): Brand {
    return (this.#brand ??= this.definition.brands.of(this.req));
  }

  /** The URL of the built-in pages' stylesheet, with its content hash. */
  get stylesheetUrl(): string {
    return this.localPath(this.definition.stylesheetPath) + stylesheetQuery(this.brand.accent);
  }

  /** The sanitized path and query of the page where the person is. */
  get wayBack(): string {
    return wayBackOf(this, { method: this.req.method, target: this.#basePath + requestTarget(this.req) });
  }

  /** The sanitized target after sign-in or sign-out; the start page where the value is not a path of this origin. */
  returnTo(value: unknown, fallback = this.home): string {
    return sanitizeReturnTo(value, { fallback, isOwnRoute: (path) => isAuthRoute(this, this.#withoutBase(path)) });
  }

  /** Where a sign-in leads that `onSignIn` has answered. @param returnTo sanitized @returns the final URL */
  hookDestination(redirectTo: unknown, returnTo: string): string {
    return hookDestination(this, redirectTo, returnTo);
  }

  /** The sign-in page's URL with further parameters and then `returnTo`. @param parameters also those that it must not have, as `undefined` */
  signInUrl(returnTo: string, parameters: Readonly<Record<string, string | undefined>> = {}): string {
    const { signInPage, loginPath } = this.definition;
    const page = signInPage ?? this.localPath(loginPath);
    const named = defined({ ...this.signIn, ...parameters });
    return withQuery(page, { ...named, ...(returnTo === this.home ? {} : { returnTo }) });
  }

  /** Every value of every cookie; cookies of a pending sign-in have the adapter's own names, without the `__Host-` prefix. */
  get cookies(): RequestCookies {
    return (this.#cookies ??= readHostCookies(parseCookies(this.req.headers.cookie), this.definition, this.#isSecure));
  }

  /** `cookies` and the names of those that the response carries by now: what a new session has to replace in the browser. */
  get heldCookies(): RequestCookies {
    return new Map([...this.#writtenNames.map((name) => [name, []] as const), ...this.cookies]);
  }

  writeCookies(writes: readonly CookieWrite[], delivery: Omit<Delivery, 'onLost'> = {}): void {
    if (writes.length === 0) return;
    if (delivery.isCurrent === undefined) this.written = [...this.written, ...writes];
    this.#writtenNames = [...this.#writtenNames, ...writes.map(({ name }) => name)];
    const { cookieOptions, emit } = this.definition;
    const secure = this.#isSecure;
    const named = writes.map((write) => toHostCookie(write, this.definition, secure));
    const reported: Delivery = { ...delivery, onLost: (names) => emit({ type: 'cookie_lost', names }) };
    jarOf(this.res).write(named, { secure, ...cookieOptions }, reported);
  }

  /** The session, if it is already known or in the cache. */
  cachedSession(): Session | undefined {
    if (this.#resolution !== undefined) return this.#session;
    if (this.#session !== undefined) return this.#session;
    const { resolver, acceptance } = this.definition;
    const known = resolver.cachedSession(this.req.headers.cookie);
    if (known !== undefined && acceptance?.isAccepted(known) !== false) this.#session = known;
    return this.#session;
  }

  /** @throws {AuthError} when the provider is needed and unavailable */
  resolveSession(): Promise<Session | null> {
    return (this.#resolution ??= this.#resolve());
  }

  /**
   * Marks the request as admitted by a guard.
   *
   * @param session replaces the session of the cookies from here on, where given
   */
  admit(session?: Session): void {
    if (session !== undefined) {
      this.#session = session;
      this.#resolution = Promise.resolve(session);
    }
    this.#isGuarded = true;
    keepPrivate(this.res);
  }

  /** Whether `accept` lets in a verified session. @throws {AuthError} `provider_unavailable` without an answer in time, or what `accept` throws */
  async accepts(session: Session): Promise<boolean> {
    const { acceptance } = this.definition;
    return acceptance === undefined || this.waits.limit(() => acceptance.admits(session, this.req), outOfTime);
  }

  /**
   * For a sign-in: refuses tokens that were just issued, before anything is stored.
   *
   * @throws {AuthError} `not_accepted`, or as `accepts`
   */
  async refuseUnaccepted(session: Session): Promise<void> {
    const { acceptance, timeoutMs } = this.definition;
    if (acceptance === undefined) return;
    // What was waited for before does not count: the tokens cannot be issued again.
    const isAccepted = await withDeadline(() => acceptance.ask(session, this.req), timeoutMs, outOfTime);
    if (!isAccepted) throw new NotAccepted(session);
  }

  /**
   * Waits for work that the platform may stop once the response is sent, with what is left of the request's time. It never rejects.
   *
   * @returns `undefined` where there is nothing to wait for
   */
  settled(): Promise<void> | undefined {
    const settled = this.definition.resolver.background.settled();
    return settled && this.waits.limit(() => settled, outOfTime).catch(() => undefined);
  }

  async #resolve(): Promise<Session | null> {
    const known = this.cachedSession();
    if (known !== undefined) return known;
    const { cookie } = this.req.headers;
    const { resolver } = this.definition;
    // In the cache and not accepted: its token need not be verified again.
    const verified = resolver.cachedSession(cookie);
    const resolution: Resolution =
      verified === undefined
        ? await this.waits.count(
            resolver.resolve(cookie, () => !isHeadOpen(this.res), clientFacts(this.req, this.peer)),
          )
        : { session: verified, cookies: [] };
    // Before `accept` is asked: the tokens that these cookies replace may be spent.
    this.#deliver(resolution);
    if (resolution.later !== undefined) resolver.background.run(this.#deliverLater(resolution.later));
    this.signIn ??= resolution.signIn;
    try {
      return await this.#take(resolution.session);
    } finally {
      // Last, because it may take all the time that is left.
      const settled = this.settled();
      if (settled !== undefined) await settled;
    }
  }

  async #take(session: Session | null): Promise<Session | null> {
    if (session !== null && !(await this.accepts(session))) {
      this.refusedSession = session;
      return null;
    }
    // A guard may have admitted the request by its bearer token meanwhile.
    if (this.#session?.credential !== 'bearer') this.#session = session ?? undefined;
    return session;
  }

  #deliver({ cookies, isCurrent, onDelivered }: Resolution): void {
    // A sign-in of this request may have replaced the session meanwhile; its cookies have the same names.
    if (isCurrent?.() === false) return;
    this.writeCookies(cookies, {
      isCurrent: () => !this.isBearer && (isCurrent?.() ?? true),
      onDelivered: () => (this.isBearer ? undefined : onDelivered?.()),
    });
  }

  /** A refresh ahead of time sets its cookies if it completes before the head is sent; otherwise the next request gets them. */
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

  #withoutBase(path: string): string {
    const base = this.#basePath;
    return path.startsWith(`${base}/`) ? path.slice(base.length) : path;
  }

  /** The path of `appBaseUrl`, which a proxy strips from every path. It may include the mount path. */
  get #basePath(): string {
    const { appBaseUrl } = this.definition;
    if (appBaseUrl === undefined) return '';
    const path = new URL(appBaseUrl).pathname.replace(/\/+$/, '');
    const prefix = this.#safePrefix;
    return path.endsWith(prefix) ? path.slice(0, path.length - prefix.length) : path;
  }
}

function isSamePage(one: string, other: string): boolean {
  return pathOf(one) === pathOf(other);
}
