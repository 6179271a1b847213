import { defined } from '../../tools/json.ts';
import { sanitizeReturnTo } from '../../tools/paths/return-to.ts';
import { pathOf } from '../../tools/paths/request-path.ts';
import { withQuery } from '../../tools/url.ts';
import { AuthError } from '../../errors.ts';
import type { Adapter } from '../adapter.ts';
import { isSafeMountPath } from '../message.ts';
import { isAuthRoute, isOwnPage } from '../mount/mounts.ts';
import type { Passed } from '../mount/mounts.ts';

/**
 * The URLs of an adapter as one request sees them: the public path of each is the path of `appBaseUrl`, the mount path and the
 * adapter's own path.
 */

type Placed = Pick<Passed, 'prefix'> & { readonly definition: Pick<Adapter, 'appBaseUrl'> };

/** The mount path; `''` where it is not safe in a URL. */
function safePrefix({ prefix }: Pick<Passed, 'prefix'>): string {
  return isSafeMountPath(prefix) ? prefix : '';
}

/** @throws {AuthError} `invalid_request` where the request's mount path is not safe in a URL */
export function refuseUnsafeMountPath(request: Pick<Passed, 'prefix'>): void {
  if (safePrefix(request) !== request.prefix) throw new AuthError('invalid_request');
}

/** The path of `appBaseUrl`, which a proxy strips from every path. It may include the mount path. */
export function basePath(request: Placed): string {
  const prefix = safePrefix(request);
  const path = publicMountPath(request, prefix);
  return path.slice(0, path.length - prefix.length);
}

/** The mount path below the path of `appBaseUrl`, spelled as there: Express and its users do not distinguish capitals. */
function publicMountPath({ definition: { appBaseUrl } }: Placed, prefix: string): string {
  if (appBaseUrl === undefined) return prefix;
  const path = new URL(appBaseUrl).pathname.replace(/\/+$/, '');
  return path.toLowerCase().endsWith(prefix.toLowerCase()) ? path : path + prefix;
}

function withoutBase(request: Placed, path: string): string {
  const base = basePath(request);
  return path.toLowerCase().startsWith(`${base.toLowerCase()}/`) ? path.slice(base.length) : path;
}

/** The public URL path of one of the adapter's own paths. */
export function localPath(request: Placed, path: string): string {
  return publicMountPath(request, safePrefix(request)) + path;
}

/** The path of the application's start page. */
export function homeOf(request: Passed): string {
  return request.definition.frontendOrigin === undefined ? `${basePath(request)}/` : '/';
}

/**
 * The URL of a sanitized path: on the front end's origin, where there is one. Pages of the adapters, and the application's own
 * pages for signing in, stay here.
 */
export function urlOf(request: Passed, path: string): string {
  const { frontendOrigin, openPages } = request.definition;
  if (frontendOrigin === undefined || !path.startsWith('/')) return path;
  const own = pathOf(path);
  const isHere = leadsToOwnPage(request, path) || openPages.some((page) => pathOf(page) === own);
  return isHere ? path : frontendOrigin + path;
}

/** Whether a sanitized path is a page of an adapter. */
export function leadsToOwnPage(request: Passed, path: string): boolean {
  return isOwnPage(request, withoutBase(request, pathOf(path)));
}

/** The sanitized target after sign-in or sign-out; the start page where the value is not a path of this origin. */
export function returnPath(request: Passed, value: unknown, fallback = homeOf(request)): string {
  return sanitizeReturnTo(value, { fallback, isOwnRoute: (path) => isAuthRoute(request, withoutBase(request, path)) });
}

/** The sign-in page's URL. @param parameters come before `returnTo`; also those that it must not have, as `undefined` */
export function signInUrl(
  request: Passed,
  returnTo: string,
  parameters: Readonly<Record<string, string | undefined>>,
): string {
  const { signInPage, loginPath } = request.definition;
  const page = signInPage ?? localPath(request, loginPath);
  return withQuery(page, { ...defined(parameters), ...(returnTo === homeOf(request) ? {} : { returnTo }) });
}
