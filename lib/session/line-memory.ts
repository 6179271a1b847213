import { createBoundedMap, stringBytes } from '../tools/bounded-map.ts';
import { mergeLines } from './line-merge.ts';
import { emptyLine, isOpen, lifeOf, openMs, settledOf, refusedMs } from './token-line.ts';
import type { KnownLine, Place, SettledRefresh, TokenLine } from './token-line.ts';

export type LineMemory = ReturnType<typeof createLineMemory>;

/** The newest tokens of a session that this process has seen. */
interface NewestToken {
  readonly token: string;
  /** When its access token was issued, in milliseconds since the epoch. */
  readonly issuedAt: number;
}

/** Longer than the duration of any request. */
const newestMs = 10 * 60_000;
const defaultRestMs = 5_000;
/** About 250 bytes each. */
const maxTokens = 20_000;
/** Bytes of memory: about 5,000 answers of 2 KB, which is 200 refreshes a second for 25 seconds. */
const maxClosingBytes = 12 * 1024 * 1024;
/** Bytes of memory. */
const maxOpenBytes = 16 * 1024 * 1024;
/** What part of them one user can take: about 400 sessions of 5 KB whose browsers have not fetched their tokens yet. */
const sharePerUser = 1 / 8;
/** Users whose lines are counted. */
const maxUsers = 10_000;
/** Measured bytes of a line besides its answers and tokens, and of each token. */
const lineBytes = 400;
const tokenBytes = 200;
/** Maximum bytes of one line: the limit of its answers, with two bytes for each character. */
const maxLineBytes = 160 * 1024;

/**
 * The lines that this process knows. Answers that a browser still needs are apart from those that it has received, and refused tokens
 * from both: anyone can make up tokens, and they must evict neither.
 *
 * @param now milliseconds since the epoch
 */
export function createLineMemory(now: () => number) {
  const [open, closing] = [createLines(maxOpenBytes, now), createLines(maxClosingBytes, now)];
  const newest = createBoundedMap<NewestToken>({ max: maxTokens, ttlMs: newestMs, now });
  const refused = createBoundedMap<{ readonly reason: string }>({ max: maxTokens, ttlMs: refusedMs, now });
  const resting = createBoundedMap<true>({ max: maxTokens, ttlMs: defaultRestMs, now });

  const get = (name: string): KnownLine => open.get(name) ?? closing.get(name) ?? unknown;

  function replace({ line: name, owner }: WhoseLine, known: KnownLine): void {
    const [to, from] = isOpen(known.line, now()) ? [open, closing] : [closing, open];
    from.delete(name);
    const ttl = lifeOf(known.line, now());
    if (ttl === 0 || known.line.spent.length === 0) to.delete(name);
    else to.set(name, known, ttl, owner);
  }

  return {
    get,
    /** What the holder of a pair gets. */
    find({ line, token, pair }: Place): SettledRefresh | undefined {
      const refusal = refused.get(token);
      return settledOf(get(line).line, pair, now()) ?? (refusal && { kind: 'ended', reason: refusal.reason });
    },
    replace,
    /** Adds what is known elsewhere. @returns what is known together */
    learn(place: WhoseLine, { line, version }: KnownLine): TokenLine {
      const merged = mergeLines(line, get(place.line).line, now());
      replace(place, { line: merged, version: merged === line ? version : undefined });
      return merged;
    },
    refuse({ token }: Place, reason: string): void {
      refused.set(token, { reason });
    },
    rest({ token }: Place, ms: number): void {
      resting.set(token, true, { ttl: ms });
    },
    isResting: ({ token }: Place): boolean => resting.has(token),
    stopResting({ token }: Place): void {
      resting.delete(token);
    },
    /** @param replaced the tokens that led to it: it is newer than they are, also where the provider's clock went back */
    noteNewest(name: string, token: NewestToken, replaced: readonly Place[]): void {
      const known = newest.get(name);
      const isReplaced = replaced.some((each) => each.token === known?.token);
      const issuedAt = Math.max(known?.issuedAt ?? 0, token.issuedAt);
      // A request that waited may bring an older one.
      if (isReplaced || issuedAt === token.issuedAt) newest.set(name, { token: token.token, issuedAt });
    },
    /** The newest token of the session that this process has seen in the last ten minutes. */
    newestOf: ({ line }: Place): NewestToken | undefined => newest.get(line),
    forget({ line, token }: Place): void {
      [open, closing].forEach((map) => map.delete(line));
      refused.delete(token);
    },
  };
}

type WhoseLine = Pick<Place, 'line' | 'owner'>;

/** Lines with a limit for all, and one for each user: many sign-ins of one account evict its own lines, and no other user's. */
function createLines(max: number, now: () => number) {
  const lines = createBoundedMap<KnownLine>({
    max,
    maxSizeOfOne: maxLineBytes,
    sizeOf: bytesOf,
    ttlMs: openMs,
    now,
  });
  /** The bytes of each user's lines by their names, the newest last. Some of these lines may be gone. */
  const owned = createBoundedMap<Map<string, number>>({ max: maxUsers, ttlMs: openMs, now });
  const isTooMuch = (own: ReadonlyMap<string, number>): boolean =>
    [...own.values()].reduce((sum, bytes) => sum + bytes, 0) > max * sharePerUser;

  function count(name: string, bytes: number, owner: string): void {
    const own = owned.get(owner) ?? new Map<string, number>();
    own.delete(name);
    own.set(name, bytes);
    owned.set(owner, own);
    if (isTooMuch(own)) [...own.keys()].filter((each) => !lines.has(each)).forEach((gone) => own.delete(gone));
    for (const eldest of own.keys()) {
      if (!isTooMuch(own)) return;
      own.delete(eldest);
      lines.delete(eldest);
    }
  }

  return {
    get: (name: string): KnownLine | undefined => lines.get(name),
    delete: (name: string): unknown => lines.delete(name),
    set(name: string, known: KnownLine, ttl: number, owner: string | undefined): void {
      lines.set(name, known, { ttl });
      if (owner !== undefined) count(name, bytesOf(known), owner);
    },
  };
}

const unknown: KnownLine = { line: emptyLine };

function bytesOf({ line: { spent, refused, answers } }: KnownLine): number {
  const texts = Object.values(answers).reduce((sum, text) => sum + stringBytes(text), 0);
  return lineBytes + (spent.length + refused.length) * tokenBytes + texts;
}
