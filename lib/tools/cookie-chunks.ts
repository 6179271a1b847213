import { encodeCookieValue, MAX_COOKIE_AGE, needsEncoding, percentEncode, serializeCookie } from './cookies.ts';
import type { CookieAttributes, CookieWrite, RequestCookies } from './cookies.ts';

interface ChunkOptions {
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
  partitioned: true,
  maxAge: MAX_COOKIE_AGE,
};

/** Each candidate costs an attempt to open it, so an attacker's cookies must not cause many. */
const MAX_CANDIDATES = 16;
/** The rest is reserved for chunks: duplicates of the plain name cannot displace a chunked session. */
const MAX_PLAIN_CANDIDATES = 12;
/** The maximum for names with two digits. */
const MAX_CHUNKS = 100;
/** Node's 16 KB of headers hold at most this many chunks of a session before a leftover. */
const MAX_SHORTER_CHAIN = 16;

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

/** Never splits a character or its encoding: each chunk is decoded separately. */
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

/** The possible values of the session, and whether they are complete. */
interface SessionCandidates {
  /** Likeliest first, at most 16. */
  readonly values: readonly string[];
  /** False where the request carries more values than are tried: the session may be among the rest. */
  readonly isComplete: boolean;
}

/**
 * The possible values of the session: every value of `name`, then the joined chunks, contiguous from 0. A gap
 * ends the chain; strays (`name.99`, `name.00`) are ignored. For duplicate chunk names, all first values and
 * all last values are tried before mixtures (a user agent sends each path's cookies in one order). Shorter
 * chains are tried too: the last chunks may remain from a longer session.
 *
 * @param isPlausible whether a text has the form of a session; other texts do not count toward the limit
 */
export function sessionCandidates(
  cookies: RequestCookies,
  name: string,
  isPlausible: (text: string) => boolean,
): SessionCandidates {
  const plain = distinctValues(cookies, name).filter(isPlausible);
  const isFew = plain.length <= MAX_PLAIN_CANDIDATES;
  const values = isFew ? [...plain] : firstAndLast(plain, MAX_PLAIN_CANDIDATES);
  const chain = chainOf(cookies, name);
  for (const text of joinedChunks(chain)) {
    if (values.length === MAX_CANDIDATES) return { values, isComplete: false };
    if (!values.includes(text) && isPlausible(text)) values.push(text);
  }
  const mixtures = chain.reduce((product, { length }) => product * length, 1);
  return { values, isComplete: isFew && mixtures <= MAX_CANDIDATES };
}

/** At least one value of each chunk. */
type Chain = readonly (readonly [string, ...string[]])[];

function chainOf(cookies: RequestCookies, name: string): Chain {
  const chain: (readonly [string, ...string[]])[] = [];
  for (;;) {
    const [first, ...others] = distinctValues(cookies, `${name}.${chain.length}`);
    if (first === undefined || chain.length === MAX_CHUNKS) return chain;
    chain.push([first, ...others]);
  }
}

function* joinedChunks(chain: Chain): Generator<string, void, undefined> {
  if (chain.length === 0) return;
  yield* firstsAndLasts(chain);
  // Shortest first: a real session has few chunks, however many an attacker appends.
  for (let length = 1; length < Math.min(chain.length, MAX_SHORTER_CHAIN); length += 1) {
    yield* firstsAndLasts(chain.slice(0, length));
  }
  if (chain.every(({ length }) => length === 1)) return;
  for (let mixture = 0; mixture < MAX_CANDIDATES; mixture += 1) {
    let digits = mixture;
    yield join(chain, (values) => {
      const index = digits % values.length;
      digits = Math.floor(digits / values.length);
      return values[index];
    });
  }
}

function* firstsAndLasts(chain: Chain): Generator<string, void, undefined> {
  yield join(chain, (values) => values[0]);
  if (chain.some(({ length }) => length > 1)) yield join(chain, (values) => values.at(-1));
}

function join<Values>(chain: readonly Values[], pick: (values: Values) => string | undefined): string {
  return chain.map(pick).join('');
}

/** Without empty values, which a deletion may leave behind. */
function distinctValues(cookies: RequestCookies, name: string): readonly string[] {
  const values = cookies.get(name) ?? [];
  return (values.length > 1 ? [...new Set(values)] : values).filter((value) => value !== '');
}

/** A tossed cookie with a deeper path is first, a merely newer one is last: keep both ends. */
function firstAndLast(values: readonly string[], max: number): string[] {
  return [...values.slice(0, max / 2), ...values.slice(-max / 2)];
}

/** A session within 16 KB has few chunks; names with more digits are foreign. */
const chunkIndexForm = /^(?:0|[1-9]\d?)$/;

/** Every name in the request that belongs to the cookie: the plain name first, then its chunks in order, contiguous or stray. */
export function chunkNames(cookies: RequestCookies, name: string): readonly string[] {
  const indexes = [...cookies.keys()]
    .filter((present) => present.startsWith(`${name}.`))
    .map((present) => present.slice(name.length + 1))
    .filter((index) => chunkIndexForm.test(index))
    .sort((one, other) => Number(one) - Number(other));
  return [...(cookies.has(name) ? [name] : []), ...indexes.map((index) => `${name}.${index}`)];
}

/**
 * The cookies that hold these sessions: the plain one, or the chunks. What else has the name may be another application's.
 *
 * @param sessions with their values among `sessionCandidates`
 */
export function cookiesHolding(
  cookies: RequestCookies,
  name: string,
  sessions: readonly { readonly cookie: string }[],
): RequestCookies {
  const plain = cookies.get(name) ?? [];
  const isPlain = sessions.some(({ cookie }) => plain.includes(cookie));
  const isChunked = sessions.some(({ cookie }) => !plain.includes(cookie));
  const held = chunkNames(cookies, name).filter((present) => (present === name ? isPlain : isChunked));
  return new Map(held.map((present) => [present, cookies.get(present) ?? []]));
}

/** Deletes these cookies, also those that were set before `domain` was configured: to browsers they are other ones. */
export function deletionsOf(names: readonly string[], domain: string | undefined): readonly CookieWrite[] {
  return names.flatMap((name): CookieWrite[] => {
    const deletion = { name, value: undefined };
    return domain === undefined ? [deletion] : [deletion, { ...deletion, attributes: { domain: undefined } }];
  });
}

/**
 * Stores `value`, in chunks where necessary, and deletes all other cookies of this name: older
 * chunks, strays, or the unchunked form.
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
