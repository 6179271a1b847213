import {
  encodeCookieValue,
  createCookieFinder,
  MAX_COOKIE_AGE,
  needsEncoding,
  percentEncode,
  serializeCookie,
} from './cookie-codec.ts';
import type { CookieAttributes, CookieFinder, CookieWrite, RequestCookies } from './cookie-codec.ts';

export interface ChunkOptions {
  /** Bytes of one cookie with name, value and attributes; what every user agent takes (RFC 6265 §6.1). Default 4,096. */
  readonly maxBytes?: number;
  /** The attributes the cookies will carry, counted into `maxBytes`. Default: the longest without a domain. */
  readonly attributes?: CookieAttributes;
}

const longestAttributes: CookieAttributes = {
  path: '/',
  sameSite: 'strict',
  secure: true,
  httpOnly: true,
  maxAge: MAX_COOKIE_AGE,
};

/** Each candidate costs an attempt to open it, so a stranger's cookies must not buy many. */
const MAX_CANDIDATES = 16;
/** The rest stays for chunks: duplicates of the plain name cannot crowd out a chunked session. */
const MAX_PLAIN_CANDIDATES = 12;

/**
 * One cookie whenever it fits, so that other software can read it; else `name.0`, `name.1`, …
 *
 * @throws {RangeError} when name and attributes leave no room for a value
 */
export function chunkCookie(name: string, value: string, options: ChunkOptions = {}): readonly CookieWrite[] {
  const { maxBytes = 4096, attributes = longestAttributes } = options;
  const bytesAround = (cookieName: string) => serializeCookie({ name: cookieName, value: '' }, attributes).length;
  if (bytesAround(name) + encodeCookieValue(value).length <= maxBytes) return [{ name, value }];

  const isEncoded = needsEncoding(value);
  const chunks: CookieWrite[] = [];
  let start = 0;
  while (start < value.length) {
    const chunkName = `${name}.${chunks.length}`;
    const end = chunkEnd(value, start, maxBytes - bytesAround(chunkName), isEncoded);
    if (end === start) throw new RangeError(`A cookie named ${name} has no room for a value in ${maxBytes} bytes`);
    chunks.push({ name: chunkName, value: value.slice(start, end) });
    start = end;
  }
  return chunks;
}

/** Never between the halves of a character or of its encoding: each chunk is decoded on its own. */
function chunkEnd(value: string, start: number, room: number, isEncoded: boolean): number {
  if (!isEncoded) return Math.max(start, Math.min(value.length, start + room));
  let end = start;
  let left = room;
  for (const character of value.slice(start)) {
    left -= percentEncode(character).length;
    if (left < 0) break;
    end += character.length;
  }
  return end;
}

/**
 * What may be the session, likeliest first and at most 16: every value of `name`, then the joined chunks, contiguous
 * from 0. A hole ends the chain; strays (`name.99`, `name.00`) are ignored. Where a chunk name occurs more than once, the
 * first of each and the last of each come before mixtures (a user agent sends each path's cookies in one order); shorter
 * chains are tried too, as the last chunks may be a leftover of a longer session.
 */
export function sessionCandidates(cookies: RequestCookies, name: string): Iterable<string> {
  const plain = cookies.get(name);
  const isAlone = plain?.length === 1 && plain[0] !== '' && !cookies.has(`${name}.0`);
  return isAlone ? plain : distinctCandidates(cookies, name);
}

function* distinctCandidates(cookies: RequestCookies, name: string): Generator<string, void, undefined> {
  // No set: that would hash kilobytes, 3 microseconds for nothing where there are few candidates.
  const seen: string[] = [];
  for (const candidate of allCandidates(cookies, name)) {
    if (seen.includes(candidate)) continue;
    seen.push(candidate);
    yield candidate;
    if (seen.length === MAX_CANDIDATES) return;
  }
}

function* allCandidates(cookies: RequestCookies, name: string): Generator<string, void, undefined> {
  yield* firstAndLast(distinctValues(cookies, name), MAX_PLAIN_CANDIDATES);

  const chain: (readonly [string, ...string[]])[] = [];
  for (;;) {
    const [first, ...others] = distinctValues(cookies, `${name}.${chain.length}`);
    if (first === undefined) break;
    chain.push([first, ...others]);
  }
  if (chain.length === 0) return;

  yield* firstsAndLasts(chain);
  // Shortest first: a real session has few chunks, however many a stranger appended.
  for (let length = 1; length < chain.length; length += 1) {
    yield* firstsAndLasts(chain.slice(0, length));
  }
  for (let mixture = 0; mixture < MAX_CANDIDATES; mixture += 1) {
    let digits = mixture;
    yield join(chain, (values) => {
      const index = digits % values.length;
      digits = Math.floor(digits / values.length);
      return values[index];
    });
  }
}

function* firstsAndLasts(chain: readonly (readonly [string, ...string[]])[]): Generator<string, void, undefined> {
  yield join(chain, (values) => values[0]);
  yield join(chain, (values) => values.at(-1));
}

function join<Values>(chain: readonly Values[], pick: (values: Values) => string | undefined): string {
  return chain.map(pick).join('');
}

/** Without the empty ones: they are what a deletion may leave behind. */
function distinctValues(cookies: RequestCookies, name: string): readonly string[] {
  const values = cookies.get(name) ?? [];
  return (values.length > 1 ? [...new Set(values)] : values).filter((value) => value !== '');
}

/** A tossed cookie of a deeper path comes first, one that is merely newer comes last: keep both ends. */
function firstAndLast(values: readonly string[], max: number): readonly string[] {
  return [...values.slice(0, max / 2), ...values.slice(-max / 2)];
}

/**
 * The raw value of the first cookie of this name, its chunks joined, without a full parse: for a cache of what was verified
 * before. `undefined` when there is none.
 */
export function createChunksFinder(name: string): CookieFinder {
  const findWhole = createCookieFinder(name);
  /** No more than a `Cookie` header can hold. */
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

/** A session of 16 KB has few chunks; more digits are a stranger's. */
const chunkIndexForm = /^(?:0|[1-9]\d?)$/;

/** Every name present that belongs to the cookie: itself first, then its chunks in their order, contiguous or stray. */
export function chunkNames(cookies: RequestCookies, name: string): readonly string[] {
  const indexes = [...cookies.keys()]
    .filter((present) => present.startsWith(`${name}.`))
    .map((present) => present.slice(name.length + 1))
    .filter((index) => chunkIndexForm.test(index))
    .sort((one, other) => Number(one) - Number(other));
  return [...(cookies.has(name) ? [name] : []), ...indexes.map((index) => `${name}.${index}`)];
}

/**
 * Stores `value`, chunked where it must be, and deletes whatever else the request carries of this cookie: older chunks,
 * strays, or the unchunked form.
 */
export function writeChunks(
  name: string,
  value: string,
  cookies: RequestCookies,
  options?: ChunkOptions,
): readonly CookieWrite[] {
  const writes = chunkCookie(name, value, options);
  const written = new Set(writes.map((write) => write.name));
  const leftovers = chunkNames(cookies, name).filter((present) => !written.has(present));
  return [...writes, ...leftovers.map((leftover) => ({ name: leftover, value: undefined }))];
}

/**
 * Bytes these cookies add to every later request's `Cookie` header; attributes do not travel back. Node ends a request
 * whose headers exceed 16 KB with 431.
 */
export function cookieBytes(writes: readonly CookieWrite[]): number {
  return writes
    .map(({ name, value }) => (value === undefined ? 0 : `${name}=${encodeCookieValue(value)}; `.length))
    .reduce((total, bytes) => total + bytes, 0);
}
