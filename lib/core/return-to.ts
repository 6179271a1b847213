import { decodeLeniently, pathOf, pathReadings } from './request-path.ts';

/** Characters; what a cookie and a provider's query carry without trouble. */
export const MAX_RETURN_TO_LENGTH = 2048;

/** A name that can never be registered (RFC 2606 §2), so no value can be meant for it. */
const DUMMY_ORIGIN = 'http://return-to.invalid';

interface ReturnToOptions {
  /** The answer to everything unfit; a clean root-relative path, as this function itself returns one. */
  readonly fallback: string;
  /** Asked for every reading of the path: as it is, and lower-case without a trailing slash. A matcher of `createPathMatcher` will do. */
  readonly isOwnRoute: (path: string) => boolean;
}

/**
 * Makes of any value a place to return to: a root-relative path of this origin that fits a `Location` header as it is
 * (printable ASCII), with query and fragment, and never one of the adapter's own routes. A clean path comes back
 * unchanged, so the function may be applied where a value comes in and again where it is used. Never throws.
 *
 * @param value whatever a query, a body, a cookie or a request target held
 */
export function sanitizeReturnTo(value: unknown, options: ReturnToOptions): string {
  const path = typeof value === 'string' ? rebuild(value) : undefined;
  return path === undefined || isOwn(path, options.isOwnRoute) ? options.fallback : path;
}

function rebuild(value: string): string | undefined {
  if (value.length > MAX_RETURN_TO_LENGTH || !isRootRelative(value)) return undefined;
  const rebuilt = resolve(value);
  if (rebuilt === undefined || rebuilt.length > MAX_RETURN_TO_LENGTH) return undefined;
  // `/.//host` is of this origin, but what is left of it, `//host`, is not; and other code may decode before redirecting.
  const once = decodeLeniently(rebuilt);
  return [rebuilt, once, decodeLeniently(once)].every(staysHere) ? rebuilt : undefined;
}

function isRootRelative(value: string): boolean {
  // The WHATWG parser drops tabs and newlines wherever they stand, and turns backslashes in a path into slashes.
  return /^\/(?!\/)/.test(value) && !/[\0-\x1f\x7f-\x9f\ud800-\udfff]/u.test(value) && !pathOf(value).includes('\\');
}

function staysHere(text: string): boolean {
  return [text, resolve(text)].every((path) => path !== undefined && !/^\/[\s\0-\x1f\x7f-\x9f]*[/\\]/.test(path));
}

/** What follows the origin once the WHATWG parser has read the value, as a browser would; nothing if the origin is another. */
function resolve(value: string): string | undefined {
  if (!URL.canParse(value, DUMMY_ORIGIN)) return undefined;
  const { href } = new URL(value, DUMMY_ORIGIN);
  return href.startsWith(`${DUMMY_ORIGIN}/`) ? href.slice(DUMMY_ORIGIN.length) : undefined;
}

function isOwn(target: string, isOwnRoute: (path: string) => boolean): boolean {
  const path = pathOf(target);
  const readings = pathReadings(path);
  return readings === undefined || isOwnRoute(path) || [...readings].some(isOwnRoute);
}
