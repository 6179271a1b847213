/**
 * The line of a session's tokens: which pairs of them were exchanged, and which refresh tokens the provider refused. It is plain data, so
 * that it travels between processes; every change is a function of the line before it, and two lines merge. Times are in milliseconds
 * since the epoch.
 *
 * A pair is a refresh token with the access token that came with it. A provider may give a refresh token again (WorkOS documents that it
 * "may be rotated"), but with a new access token, so an exchange always leads from one pair to another.
 *
 * ```
 *   newest ──exchange──▶ open ──its browser got a newer one──▶ closing ──25 seconds──▶ closed, and unknown
 *     │                    └────eight days after the tokens of its last exchange expire───────▲
 *     └────the provider refuses it──▶ refused, for ten minutes from when a process hears of it
 * ```
 *
 * A closed pair goes to the provider again: where the network lost the response, only its replay window can still help.
 */
export interface TokenLine {
  /** Exchanged pairs, oldest first. */
  readonly spent: readonly SpentPair[];
  /** The latest are kept. */
  readonly refused: readonly RefusedToken[];
  /** The newest tokens as text, by their pair: several where a session has several sign-ins. */
  readonly answers: Readonly<Record<string, string>>;
}

/** A pair that was exchanged; in a record, `spent` is only a switch. */
export interface SpentPair {
  readonly pair: string;
  /** The pair that it was exchanged for. */
  readonly issued: string;
  /** The newest pair that this one led to, which its holders get. */
  readonly newest: string;
  /** When it was exchanged; later than what the line knew then. */
  readonly at: number;
  /** When `newest` was issued, by the same clock: the later one is the newest. */
  readonly newestAt: number;
  /** Until when its holders get the newest tokens. */
  readonly until: number;
  /** The same, once a browser has received what it was exchanged for. */
  readonly closes?: number;
  /** Whether the provider answered with tokens of another session: the presented id may be another user's. */
  readonly isForeign?: boolean;
}

interface RefusedToken {
  readonly token: string;
  readonly reason: string;
  readonly until: number;
}

/** Where tokens stand: their session's line, and who they are. Tokens without a session id have a line of their own. */
export interface Place {
  readonly line: string;
  /** Identifies the refresh token without revealing it: what the provider is asked with, by one at a time. */
  readonly token: string;
  /** Identifies the refresh token together with its access token. */
  readonly pair: string;
  /** Identifies the user that the access token names. */
  readonly owner?: string | undefined;
}

/** A line as this process knows it. */
export interface KnownLine {
  readonly line: TokenLine;
  /** The coordinator's version that has all its exchanges; `undefined` where this process alone may know one, as after an outage. */
  readonly version?: string | undefined;
}

/** What became of a pair, as the line says it to each of its holders: its newest tokens, or the provider's refusal. */
export type SettledRefresh =
  { readonly kind: 'renewed'; readonly text: string } | { readonly kind: 'ended'; readonly reason: string };

/** What a pair was exchanged for. */
interface NewTokens {
  /** Their pair. */
  readonly newest: string;
  readonly text: string;
  readonly isForeign?: boolean;
  /** How long holders of the pair get it, in milliseconds. Default: eight days. */
  readonly lifeMs?: number | undefined;
  /** The pair that the asking browser holds, where that is one that led to this one. */
  readonly held?: string | undefined;
}

/**
 * Until a response delivers the newest tokens, the browser holds only a spent one and sends it again; people come back after a week.
 */
export const openMs = 8 * 24 * 60 * 60_000;
/** Requests that were sent with the old cookie arrive at most this long after the answer. */
export const closingMs = 25_000;
/** A refused token stays refused; that saves a provider call for each request of a client that keeps its cookie. */
export const refusedMs = 10 * 60_000;
const maxSpent = 16;
const maxRefused = 8;
/** Characters of all answers of a line: several times what cookies can hold. A larger answer only reaches callers that already wait. */
const maxCharacters = 64 * 1024;

export const emptyLine: TokenLine = { spent: [], refused: [], answers: {} };

/** @param token identifies the refresh token @param tag its access token @returns what identifies the pair */
export function pairOf(token: string, tag: string): string {
  return `${token}.${tag}`;
}

/** The refresh token of a pair. */
export function tokenOf(pair: string): string {
  return pair.split('.', 1)[0] ?? pair;
}

export function settledOf(line: TokenLine, pair: string, now: number): SettledRefresh | undefined {
  const newest = newestFor(line, pair, now);
  const text = newest === undefined ? undefined : answerOf(line, newest);
  if (text !== undefined) return { kind: 'renewed', text };
  const refused = line.refused.find(({ token, until }) => token === tokenOf(pair) && until >= now);
  return refused && { kind: 'ended', reason: refused.reason };
}

/** The newest pair, which the holder of a pair gets. */
export function newestFor({ spent }: TokenLine, pair: string, now: number): string | undefined {
  const newest = nextIn(spent.filter((each) => endOf(each) >= now))(pair)?.newest;
  return newest === pair ? undefined : newest;
}

/**
 * A pair was exchanged: its holders, and those of all pairs that led to it, get the newest tokens. The first answer stays, because others
 * already use it, but a new refresh token is the last that a provider answers to one. @returns the very same line where it stays
 */
export function exchange(
  line: TokenLine,
  pair: string,
  { newest, text, isForeign = false, lifeMs = openMs, held }: NewTokens,
  now: number,
): TokenLine {
  const first = newestFor(line, pair, now);
  const isLast = tokenOf(newest) !== tokenOf(pair) && tokenOf(first ?? pair) === tokenOf(pair);
  const isSettled = first !== undefined && answerOf(line, first) !== undefined && !isLast;
  if (isSettled || newest === pair || text.length > maxCharacters) return line;
  const until = now + lifeMs;
  const at = Math.max(now, ...line.spent.map(({ newestAt }) => newestAt + 1));
  const awaited = held === undefined ? undefined : nextIn(line.spent)(held);
  const others = line.spent
    .filter((each) => each.pair !== pair)
    .map((each) => (each === awaited && isOpenAt(each, now) ? { ...each, until: Math.max(each.until, until) } : each));
  const own: SpentPair = { pair, issued: newest, newest, at, newestAt: at, until, ...(isForeign && { isForeign }) };
  // A late success takes precedence over the refusal of a second attempt with the same token, which is spent.
  const isOver = (token: string): boolean => token === tokenOf(pair) && token !== tokenOf(newest);
  const refused = line.refused.filter(({ token }) => !isOver(token));
  return tidy({ spent: [...others, own], refused, answers: { ...line.answers, [newest]: text } }, now);
}

/** The provider refused a pair's token. @returns the very same line where it says that the pair was exchanged, or refused */
export function refuse(line: TokenLine, pair: string, reason: string, now: number): TokenLine {
  if (settledOf(line, pair, now) !== undefined) return line;
  return tidy({ ...line, refused: [...line.refused, { token: tokenOf(pair), reason, until: now + refusedMs }] }, now);
}

/** Drops an exchanged pair and those that lead where it leads: the sign-in of all of them is over. */
export function forgetPair(line: TokenLine, pair: string, now: number): TokenLine {
  const own = nextIn(line.spent)(pair);
  if (own === undefined) return line;
  return tidy({ ...line, spent: line.spent.filter(({ newest }) => newest !== own.newest) }, now);
}

/**
 * A browser that held a pair received a newer one, so that only requests that were sent before carry it, and the pairs that led to it.
 *
 * @param received what the browser received
 * @returns the very same line where nothing changes
 */
export function deliver(line: TokenLine, pair: string, received: string, now: number): TokenLine {
  const [followed, leads] = [nextIn(line.spent)(pair), leadingTo(line, received)];
  return closeAll(line, (each) => each === followed || leads(each), now);
}

/**
 * A request carries a pair, so that its browser has received it, whichever response brought it: only requests that were sent before
 * carry those that led to it.
 *
 * @returns the very same line where nothing changes
 */
export function present(line: TokenLine, pair: string, now: number): TokenLine {
  return closeAll(line, leadingTo(line, pair), now);
}

function closeAll(line: TokenLine, isOver: (each: SpentPair) => boolean, now: number): TokenLine {
  const over = new Set(line.spent.filter((each) => isOpenAt(each, now) && isOver(each)));
  if (over.size === 0) return line;
  return { ...line, spent: line.spent.map((each) => (over.has(each) ? close(each, now) : each)) };
}

/** A pair that the line has not met counts by its token. */
function leadingTo({ spent }: TokenLine, pair: string): (each: SpentPair) => boolean {
  const next = nextIn(spent);
  const isMet = spent.some((each) => each.pair === pair || each.issued === pair || each.newest === pair);
  const isIt = (other: string): boolean => (isMet ? other === pair : tokenOf(other) === tokenOf(pair));
  return (each) => !isIt(each.pair) && [...reachOf(each.pair, next).keys()].some(isIt);
}

/** Which of two knows the newer pair. */
export function laterOf(one: SpentPair, other: SpentPair): SpentPair {
  if (one.newestAt !== other.newestAt) return other.newestAt > one.newestAt ? other : one;
  return other.newest > one.newest ? other : one;
}

function close(spent: SpentPair, now: number): SpentPair {
  return { ...spent, closes: Math.min(spent.closes ?? Infinity, now + closingMs) };
}

export function endOf({ until, closes = Infinity }: SpentPair): number {
  return Math.min(until, closes);
}

/** Whether a browser may still hold only this pair. */
function isOpenAt({ until, closes }: SpentPair, now: number): boolean {
  return closes === undefined && until >= now;
}

/** The newest tokens as text. A line that others wrote may name anything, such as `__proto__`. */
export function answerOf({ answers }: Pick<TokenLine, 'answers'>, newest: string): string | undefined {
  return Object.hasOwn(answers, newest) ? answers[newest] : undefined;
}

/**
 * The exchange that a pair's holder follows: the pair's own, or that of another pair with the same refresh token, if it led to another
 * refresh token. The provider has spent that token, whichever access token came with it, and may take a second use for a theft.
 */
function nextIn(spent: readonly SpentPair[]): (pair: string) => SpentPair | undefined {
  const own = new Map(spent.map((each) => [each.pair, each]));
  const byToken = new Map(spent.filter(isRotated).map((each) => [tokenOf(each.pair), each]));
  return (pair) => own.get(pair) ?? byToken.get(tokenOf(pair));
}

/** Whether the provider gave another refresh token. */
export function isRotated({ pair, newest }: SpentPair): boolean {
  return tokenOf(newest) !== tokenOf(pair);
}

/** By what its holders find an exchange: all holders of a rotated token, else those of the pair alone. */
export function nameOf(spent: SpentPair): string {
  return isRotated(spent) ? tokenOf(spent.pair) : spent.pair;
}

/** A pair and all that it led to, as far as the line still has them, with the exchanges. A circle is walked once. */
function reachOf(pair: string, next: ReturnType<typeof nextIn>): ReadonlyMap<string, SpentPair | undefined> {
  const reach = new Map<string, SpentPair | undefined>();
  const ahead = [pair];
  for (let each = ahead.pop(); each !== undefined; each = ahead.pop()) {
    if (reach.has(each)) continue;
    const entry = next(each);
    reach.set(each, entry);
    if (entry !== undefined) ahead.push(entry.pair, entry.issued, entry.newest);
  }
  return reach;
}

/** Drops what has expired and what exceeds the limits, and lets each pair lead to the newest. */
export function tidy({ spent, refused, answers }: TokenLine, now: number): TokenLine {
  const next = nextIn(spent);
  const lead = (each: SpentPair): SpentPair => {
    const reach = reachOf(each.pair, next);
    const found = [...reach.values()].filter((entry) => entry !== undefined);
    // A pair that was exchanged itself is not the newest.
    const ends = found.filter((entry) => reach.get(entry.newest) === undefined);
    const { newest, newestAt } = (ends.length > 0 ? ends : found).reduce(laterOf);
    return { ...each, newest, newestAt };
  };
  const open = spent.filter((each) => endOf(each) >= now).map(lead);
  const used = (): string[] => [...new Set(open.map(({ newest }) => newest))];
  const textOf = (newest: string): string | undefined => answerOf({ answers }, newest);
  const characters = (): number => used().reduce((sum, newest) => sum + (textOf(newest)?.length ?? 0), 0);
  while (open.length > maxSpent || characters() > maxCharacters) {
    const counts = new Map<string, number>();
    for (const { newest } of open) counts.set(newest, (counts.get(newest) ?? 0) + 1);
    const dropped = open.reduce((one, other) => (isDroppedBefore(other, one, counts) ? other : one));
    open.splice(open.indexOf(dropped), 1);
  }
  const kept = used().flatMap((newest) => {
    const text = textOf(newest);
    return text === undefined ? [] : [[newest, text] as const];
  });
  return {
    spent: open,
    refused: refused.filter(({ until }) => until >= now).slice(-maxRefused),
    answers: kept.length === Object.keys(answers).length ? answers : Object.fromEntries(kept),
  };
}

/**
 * Of several sign-ins the one with the most pairs drops one: the pair that is open for the shortest time, because the one that its
 * browser still sends is open for the longest. One whose token the provider gave again goes first: it may ask once more. What another session's tokens lead to never
 * displaces the session's own.
 */
function isDroppedBefore(one: SpentPair, other: SpentPair, counts: ReadonlyMap<string, number>): boolean {
  const byCount = (counts.get(one.newest) ?? 0) - (counts.get(other.newest) ?? 0);
  const byOwner = Number(one.isForeign === true) - Number(other.isForeign === true);
  const byToken = Number(isRotated(other)) - Number(isRotated(one));
  return (byOwner || byCount || byToken || other.until - one.until || one.at - other.at) > 0;
}

/** Whether a browser may still hold only a spent pair. */
export function isOpen(line: TokenLine, now: number): boolean {
  return line.spent.some((each) => isOpenAt(each, now));
}

/** How long the line is of use, in milliseconds. */
export function lifeOf({ spent, refused }: TokenLine, now: number): number {
  const ends = [...spent.map(endOf), ...refused.map(({ until }) => until)];
  return Math.max(0, ...ends.map((end) => end - now));
}
