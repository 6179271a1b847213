import { decodeLeniently, pathOf, pathReadings } from './request-path.ts';

/** Maximum characters; safe in a cookie and in a provider's query. */
export const MAX_RETURN_TO_LENGTH = 2048;

/** A name that can never be registered (RFC 2606 §2), so no value refers to it. */
const DUMMY_ORIGIN = 'http://return-to.invalid';

interface ReturnToOptions {
  /** Returned for every unfit value; a clean root-relative path, as this function itself returns one. */
  readonly fallback: string;
  /** Called for every reading of the path: unchanged, and lower-case without a trailing slash. A matcher of `createPathMatcher` fits. */
  readonly isOwnRoute: (path: string) => boolean;
}

/**
 * Converts any value to a safe return path: root-relative on this origin, valid in a `Location` header as it
 * is (printable ASCII), with query and fragment, and never one of the adapter's own routes. A clean path is
 * returned unchanged, so the function can be applied on input and again on use. Never throws.
 *
 * @param value the value from a query, a body, a cookie or a request target
 */
export function sanitizeReturnTo(value: unknown, options: ReturnToOptions): string {
  const path = typeof value === 'string' ? rebuild(value) : undefined;
  return path === undefined || isOwn(path, options.isOwnRoute) ? options.fallback : path;
}

function rebuild(value: string): string | undefined {
  if (value.length > MAX_RETURN_TO_LENGTH || !isRootRelative(value)) return undefined;
  const rebuilt = resolve(value);
  if (rebuilt === undefined || rebuilt.length > MAX_RETURN_TO_LENGTH) return undefined;
  // `/.//host` is on this origin, but its normalized `//host` is not; and other code may decode before redirecting.
  const once = decodeLeniently(rebuilt);
  return [rebuilt, once, decodeLeniently(once)].every(staysHere) ? rebuilt : undefined;
}

function isRootRelative(value: string): boolean {
  // The WHATWG parser drops tabs and newlines anywhere, and converts backslashes in a path to slashes.
  return /^\/(?!\/)/.test(value) && !/[\0-\x1f\x7f-\x9f\ud800-\udfff]/u.test(value) && !pathOf(value).includes('\\');
}

function staysHere(text: string): boolean {
  return [text, resolve(text)].every((path) => path !== undefined && !/^\/[\s\0-\x1f\x7f-\x9f]*[/\\]/.test(path));
}

/** The value after the origin, parsed as a browser would; `undefined` if the origin differs. */
function resolve(value: string): string | undefined {
  // Not `URL.canParse`, which refuses letters such as ü in Node 22, once it has been called a few thousand times.
  const href = URL.parse(value, DUMMY_ORIGIN)?.href ?? '';
  return href.startsWith(`${DUMMY_ORIGIN}/`) ? href.slice(DUMMY_ORIGIN.length) : undefined;
}

function isOwn(target: string, isOwnRoute: (path: string) => boolean): boolean {
  const path = pathOf(target);
  const readings = pathReadings(path);
  return readings === undefined || isOwnRoute(path) || [...readings].some(isOwnRoute);
}
