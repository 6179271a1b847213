import type { ServerResponse } from 'node:http';
import type { CookieWrite, RequestCookies } from '../core/cookies.ts';
import { sanitizeReturnTo } from '../core/return-to.ts';
import { AuthError } from '../errors.ts';
import type { Session } from '../types.ts';
import type { MountedAdapter } from './context.ts';
import type { Adapter } from './adapter.ts';
import { isAuthRoute } from './mounts.ts';
import { isSafeMountPath, prefersJson, requestOrigin, requestTarget } from './request.ts';
import { queryOf, withQuery } from '../core/url.ts';
import type { HostRequest } from './request.ts';

/** One request to an auth route or a guard, as handlers see it: they read here and return a `Reply`. */
export class AuthRequest {
  readonly req: HostRequest;
  readonly res: ServerResponse;
  readonly definition: Adapter;
  readonly #mounted: MountedAdapter;
  /** Where the sign-in link of an error page leads back to; set by a route that knows where the visitor was going. */
  errorReturnTo: string | undefined;
  /** Whether the answer depends on `Accept`, because `wantsJson` was read. */
  isNegotiated = false;
  #prefix: string | undefined;
  #origin: string | undefined;

  constructor(mounted: MountedAdapter) {
    this.#mounted = mounted;
    this.req = mounted.req;
    this.res = mounted.res;
    this.definition = mounted.definition;
  }

  get query(): URLSearchParams {
    return queryOf(requestTarget(this.req));
  }

  /** Every value of every cookie. */
  get cookies(): RequestCookies {
    return this.#mounted.cookies;
  }

  /** Reading it makes the answer vary on `Accept`. */
  get wantsJson(): boolean {
    this.isNegotiated = true;
    return prefersJson(this.req);
  }

  /**
   * The application's public origin: `appBaseUrl` where given, else the request's own.
   *
   * @throws {AuthError} `invalid_host`
   */
  get origin(): string {
    const { appBaseUrl } = this.definition;
    return (this.#origin ??= appBaseUrl === undefined ? requestOrigin(this.req) : new URL(appBaseUrl).origin);
  }

  /** The path of `appBaseUrl`, which a proxy takes off every path on its way here. It may name the mount path as well. */
  get #basePath(): string {
    const { appBaseUrl } = this.definition;
    if (appBaseUrl === undefined) return '';
    const path = new URL(appBaseUrl).pathname.replace(/\/+$/, '');
    const prefix = this.#safePrefix();
    return path.endsWith(prefix) ? path.slice(0, path.length - prefix.length) : path;
  }

  /** The application's start page. */
  get home(): string {
    return `${this.#basePath}/`;
  }

  /** @throws {AuthError} `invalid_request` where no URL may be built below the mount path that the request chose */
  refuseUnsafeMountPath(): void {
    if (this.#safePrefix() !== this.#mounted.prefix) throw new AuthError('invalid_request');
  }

  /** One of the adapter's own paths, as a browser has to ask for it. */
  localPath(path: string): string {
    return this.#basePath + this.#safePrefix() + path;
  }

  /** The absolute URL of one of the adapter's own paths. */
  publicUrl(path: string): string {
    return this.origin + this.localPath(path);
  }

  /** The path and query that were asked for, made safe, as the way back. */
  get wayBack(): string {
    return this.returnTo(this.#basePath + requestTarget(this.req));
  }

  /** Where to go after signing in or out, made safe; the start page for whatever is not a path of this origin. */
  returnTo(value: unknown, fallback = this.home): string {
    const base = this.#basePath;
    const isOwnRoute = (path: string): boolean =>
      isAuthRoute(this.req, path.startsWith(`${base}/`) ? path.slice(base.length) : path);
    return sanitizeReturnTo(value, { fallback, isOwnRoute });
  }

  /** The sign-in page with the way back in `returnTo`. */
  signInUrl(returnTo: string): string {
    const { signInPage, loginPath } = this.definition;
    const page = signInPage ?? this.localPath(loginPath);
    if (returnTo === this.home) return page;
    return withQuery(page, { returnTo });
  }

  /** The address that calls to the provider for tokens that were not verified count under. */
  get peer(): string | undefined {
    return this.#mounted.peer;
  }

  #safePrefix(): string {
    return (this.#prefix ??= isSafeMountPath(this.#mounted.prefix) ? this.#mounted.prefix : '');
  }

  resolveSession(): Promise<Session | null> {
    return this.#mounted.resolve();
  }

  writeCookies(writes: readonly CookieWrite[]): void {
    this.#mounted.writeCookies(writes);
  }
}
