import { stringifySetCookie } from 'cookie';

export interface CookieAttributes {
  readonly domain?: string | undefined;
  readonly path: string;
  readonly sameSite: 'lax' | 'strict' | 'none';
  readonly secure: boolean;
  readonly httpOnly: boolean;
  /** Whether the cookie of a page in a frame belongs to the site around the frame (CHIPS). Default false. */
  readonly partitioned?: boolean | undefined;
  /** Seconds; `undefined` makes a cookie that ends with the browser session. */
  readonly maxAge: number | undefined;
}

/** One cookie to send; `undefined` as its value deletes it. */
export interface CookieWrite {
  readonly name: string;
  readonly value: string | undefined;
  /** Attributes that differ from the adapter's own, such as a flow cookie's lifetime and path. */
  readonly attributes?: Partial<CookieAttributes>;
}

/** The `Cookie` header, parsed once: every value of every name, in the order sent. */
export type RequestCookies = ReadonlyMap<string, readonly string[]>;

/** Seconds; user agents cap every lifetime at 400 days (RFC 6265bis §5.5). */
export const MAX_COOKIE_AGE = 400 * 24 * 60 * 60;

/**
 * Parses a `Cookie` header in linear time; never throws.
 *
 * The `cookie` package keeps one value per name, but a sibling domain or a deeper path can put a cookie of the same name
 * in front of the real one (RFC 6265bis §8.6), so every value is kept. The header is split before anything is decoded:
 * an encoded `;` never starts a cookie. Pairs without `=` are skipped, and so are names that no `Set-Cookie` could have.
 *
 * @param header the value of `req.headers.cookie`
 */
export function parseCookies(header: string | undefined): RequestCookies {
  const cookies = new Map<string, string[]>();
  if (header === undefined) return cookies;
  for (const pair of header.split(';')) {
    const equals = pair.indexOf('=');
    const name = equals === -1 ? '' : trimmedSlice(pair, 0, equals);
    if (!isWritableName(name)) continue;
    const value = decode(unquote(trimmedSlice(pair, equals + 1, pair.length)));
    const values = cookies.get(name);
    if (values) values.push(value);
    else cookies.set(name, [value]);
  }
  return cookies;
}

/** Finds one cookie in a `Cookie` header. */
export type CookieFinder = (header: string) => string | undefined;

/**
 * The raw value of the first cookie with exactly this name, without parsing the rest. It is neither decoded nor unquoted: usable
 * as a cache key, never as a session. Names match as browsers write them, without spaces before the `=`.
 */
export function createCookieFinder(name: string): CookieFinder {
  // V8: a concatenated string would be flattened by every `indexOf`.
  const start = Buffer.from(`${name}=`).toString();
  return (header) => {
    for (let at = header.indexOf(start); at !== -1; at = header.indexOf(start, at + start.length)) {
      if (!startsPair(header, at)) continue;
      const end = header.indexOf(';', at);
      return trimmedSlice(header, at + start.length, end === -1 ? header.length : end);
    }
    return undefined;
  };
}

/**
 * The raw value of the first cookie of this name, its chunks joined, without a full parse: a cache
 * key for verified sessions. `undefined` where there is none.
 */
export function createChunksFinder(name: string): CookieFinder {
  const findWhole = createCookieFinder(name);
  /** At most as many as a `Cookie` header can hold. */
  const finders: CookieFinder[] = [];
  const findChunk = (header: string, index: number): string | undefined =>
    (finders[index] ??= createCookieFinder(`${name}.${index}`))(header);
  return (header) => {
    const whole = findWhole(header);
    if (whole !== undefined) return whole;
    const chunks: string[] = [];
    for (let chunk = findChunk(header, 0); chunk !== undefined; chunk = findChunk(header, chunks.length)) {
      chunks.push(chunk);
    }
    return chunks.length === 0 ? undefined : chunks.join('');
  };
}

/**
 * One `Set-Cookie` value (RFC 6265bis §4.1). A deletion repeats Domain, Path and the flags, as a user agent replaces
 * only the cookie of the same name, domain and path, and refuses to let an insecure one overlay a secure one.
 *
 * @param attributes the adapter's own; `write.attributes` override them
 * @throws {TypeError} when name, domain or path is invalid in a cookie
 */
export function serializeCookie(write: CookieWrite, attributes: CookieAttributes): string {
  const { domain, path, sameSite, secure, httpOnly, partitioned, maxAge } = { ...attributes, ...write.attributes };
  const isDeletion = write.value === undefined;
  return stringifySetCookie(
    {
      name: write.name,
      value: write.value ?? '',
      path,
      sameSite,
      secure,
      httpOnly,
      ...(domain === undefined ? {} : { domain }),
      ...(partitioned === true ? { partitioned } : {}),
      // Expires as well, for user agents and proxies without support for Max-Age.
      ...(isDeletion ? { maxAge: 0, expires: new Date(0) } : {}),
      ...(isDeletion || maxAge === undefined ? {} : { maxAge: Math.trunc(Math.min(maxAge, MAX_COOKIE_AGE)) }),
    },
    { encode: encodeCookieValue },
  );
}

/** Leaves cookie octets as they are and percent-encodes the whole value otherwise; `parseCookies` undoes it. */
export function encodeCookieValue(value: string): string {
  return needsEncoding(value) ? percentEncode(value) : value;
}

/** Anything but cookie-octet (RFC 6265bis §4.1.1), and `%`, which would be decoded although it was never encoded. */
export function needsEncoding(value: string): boolean {
  return /[^\x21\x23\x24\x26-\x2b\x2d-\x3a\x3c-\x5b\x5d-\x7e]/.test(value);
}

/** `encodeURIComponent` throws on a lone surrogate; UTF-8 has no form for one, so it becomes U+FFFD. */
export function percentEncode(value: string): string {
  return encodeURIComponent(value.replace(/[\ud800-\udfff]/gu, '\uFFFD'));
}

/** Whether only spaces and tabs lie between `at` and the preceding `;` or the start. */
function startsPair(header: string, at: number): boolean {
  let before = at - 1;
  while (before >= 0 && isBlank(header, before)) before -= 1;
  return before < 0 || header[before] === ';';
}

/** Whether `serializeCookie` accepts it: visible ASCII only. It cannot contain `;` or `=`. */
function isWritableName(name: string): boolean {
  for (let at = 0; at < name.length; at += 1) {
    const code = name.charCodeAt(at);
    if (code <= 0x20 || code >= 0x7f) return false;
  }
  return name !== '';
}

/** Not `trim()`, which removes more than HTTP whitespace, and not `/[ \t]+$/`, which is quadratic. */
function trimmedSlice(text: string, start: number, end: number): string {
  let from = start;
  let to = end;
  while (from < to && isBlank(text, from)) from += 1;
  while (to > from && isBlank(text, to - 1)) to -= 1;
  return text.slice(from, to);
}

function isBlank(text: string, at: number): boolean {
  const code = text.charCodeAt(at);
  return code === 0x20 || code === 0x09;
}

function unquote(value: string): string {
  return value.length > 1 && value.startsWith('"') && value.endsWith('"') ? value.slice(1, -1) : value;
}

function decode(value: string): string {
  if (!value.includes('%')) return value;
  try {
    return decodeURIComponent(value);
  } catch {
    return value;
  }
}
