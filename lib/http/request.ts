import type { IncomingMessage, ServerResponse } from 'node:http';
import { parseCookies } from '../tools/cookies.ts';
import type { CookieWrite, RequestCookies } from '../tools/cookies.ts';
import { WaitingTime, withDeadline } from '../tools/deadline.ts';
import { queryOf } from '../tools/url.ts';
import { keepPrivate, prefersJson, requestTarget } from './message.ts';
import type { HostRequest } from './message.ts';
import { peerAddress, protocolOf, requestOrigin, warnOfPlainCookies } from './origin.ts';
import type { ConfigurationError } from '../errors.ts';
import { outOfTime } from '../session/source.ts';
import type { Session } from '../types.ts';
import { NotAccepted } from './accept.ts';
import { Parts } from './adapter.ts';
import type { Adapter } from './adapter.ts';
import { jarOf, readHostCookies, toHostCookie } from './cookie-jar.ts';
import type { Delivery } from './cookie-jar.ts';
import { hookDestination } from './request/destination.ts';
import { basePath, homeOf, localPath, returnPath, signInUrl, urlOf } from './request/urls.ts';
import { ask, unresolved } from './request/visit.ts';
import type { Visit } from './request/visit.ts';
import { wayBackOf } from './request/way-back.ts';
import type { Brand } from '../pages/page.ts';
import { stylesheetQuery } from '../pages/style.ts';

/** One list for all requests: most write no cookie. */
const none: readonly never[] = [];

/**
 * One request from one adapter's view: handlers and guards read it and return a `Reply`. It has facts, which do not change; URLs
 * (`request/urls.ts`); the visit, which is what is known of its session (`request/visit.ts`); and what guards and routes write. All values
 * are lazy, because most requests need none.
 */
export class AuthRequest {
  readonly definition: Adapter;
  readonly req: HostRequest;
  readonly res: ServerResponse;
  /** When the adapter got it, in milliseconds since the epoch. */
  readonly arrivedAt: number;
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
  /** What is known of its session. */
  visit: Visit = unresolved;

  // What guards and routes write.

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
  /** While `onSignIn` runs: the session that no cookie holds before the hook has let it pass. */
  signingIn: Session | undefined;
  /** When a sign-in of this request began, as a `performance.now()` value: when one of the adapter's routes, or `storeSession`, got it. */
  startedAt: number | undefined;
  /** The cookies that a route has written, under the adapter's names; without those that depend on the session's state. */
  written: readonly CookieWrite[] = none;
  /** The names of all cookies that were written, also of those that the response may yet drop. */
  #writtenNames: readonly string[] = none;
  #brand: Brand | undefined;
  #parts: Parts | undefined;
  #waits: WaitingTime | undefined;
  #cookies: RequestCookies | undefined;

  constructor(definition: Adapter, req: IncomingMessage, res: ServerResponse, prefix: string, preceding?: AuthRequest) {
    this.definition = definition;
    this.req = req;
    this.res = res;
    this.arrivedAt = definition.now();
    this.prefix = prefix;
    this.preceding = preceding;
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

  /** Every value of every cookie; cookies of a pending sign-in have the adapter's own names, without the `__Host-` prefix. */
  get cookies(): RequestCookies {
    return (this.#cookies ??= readHostCookies(parseCookies(this.req.headers.cookie), this.definition, this.#isSecure));
  }

  /** What the built-in pages show, in the language of the request. */
  get brand(): Brand {
    return (this.#brand ??= this.definition.brands.of(this.req));
  }

  get #isSecure(): boolean {
    const { appBaseUrl, cookieOptions } = this.definition;
    if (cookieOptions.secure !== undefined) return cookieOptions.secure;
    return appBaseUrl === undefined ? protocolOf(this.req) === 'https' : appBaseUrl.startsWith('https:');
  }

  /** The path of the application's start page. */
  get home(): string {
    return homeOf(this);
  }

  /** The URL of a sanitized path: on the front end's origin, where there is one. */
  urlOf(path: string): string {
    return urlOf(this, path);
  }

  /** The public URL path of one of the adapter's own paths. */
  localPath(path: string): string {
    return localPath(this, path);
  }

  /** The absolute URL of one of the adapter's own paths. */
  publicUrl(path: string): string {
    return this.origin + localPath(this, path);
  }

  /** The URL of the built-in pages' stylesheet, with its content hash. */
  get stylesheetUrl(): string {
    return localPath(this, this.definition.stylesheetPath) + stylesheetQuery(this.brand);
  }

  /** The sanitized path and query of the page where the person is. */
  get wayBack(): string {
    return wayBackOf(this, { method: this.req.method, target: basePath(this) + requestTarget(this.req) });
  }

  /** The sanitized target after sign-in or sign-out; the start page where the value is not a path of this origin. */
  returnTo(value: unknown, fallback?: string): string {
    return returnPath(this, value, fallback);
  }

  /** Where a sign-in leads that `onSignIn` has answered. @param returnTo sanitized @returns the final URL */
  hookDestination(redirectTo: unknown, returnTo: string): string {
    return hookDestination(this, redirectTo, returnTo);
  }

  /** The sign-in page's URL with further parameters and then `returnTo`. @param parameters also those that it must not have, as `undefined` */
  signInUrl(returnTo: string, parameters: Readonly<Record<string, string | undefined>> = {}): string {
    return signInUrl(this, returnTo, { ...this.signIn, ...parameters });
  }

  /** The session, if it is already known or in the cache. */
  cachedSession(): Session | undefined {
    const { visit } = this;
    if (visit.is === 'admitted' || visit.is === 'resolved') return visit.session ?? undefined;
    if (visit.is !== 'unresolved') return undefined;
    const { resolver, acceptance } = this.definition;
    const session = resolver.cachedSession(this.req.headers.cookie);
    if (session === undefined || acceptance?.isAccepted(session) === false) return undefined;
    this.visit = { is: 'resolved', session };
    return session;
  }

  /** The provider is asked once. @throws {AuthError} when it is needed and unavailable */
  resolveSession(): Promise<Session | null> {
    const known = this.cachedSession();
    if (known !== undefined) return Promise.resolve(known);
    if (this.visit.is === 'unresolved') return ask(this);
    return this.visit.is === 'asked' ? this.visit.answer : Promise.resolve(null);
  }

  /** Marks the request as admitted by a guard, which replaces the session of the cookies by that of a bearer token. */
  admit(session: Session): void {
    this.visit = { is: 'admitted', session };
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
    if (!isAccepted) throw new NotAccepted(session, false);
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

  /** `cookies` and the names of those that the response carries by now: what a new session has to replace in the browser. */
  get heldCookies(): RequestCookies {
    return new Map([...this.#writtenNames.map((name) => [name, []] as const), ...this.cookies]);
  }

  writeCookies(writes: readonly CookieWrite[], delivery: Omit<Delivery, 'onLost'> = {}): void {
    if (writes.length === 0) return;
    if (delivery.isCurrent === undefined) this.written = [...this.written, ...writes];
    this.#writtenNames = [...this.#writtenNames, ...writes.map(({ name }) => name)];
    const { cookieOptions, emit, warnsOfPlainCookies } = this.definition;
    const secure = this.#isSecure;
    if (!secure && warnsOfPlainCookies === true) warnOfPlainCookies();
    const named = writes.map((write) => toHostCookie(write, this.definition, secure));
    const reported: Delivery = { ...delivery, onLost: (names) => emit({ type: 'cookie_lost', names }) };
    jarOf(this.res).write(named, { secure, ...cookieOptions }, reported);
  }
}
