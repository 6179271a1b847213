/**
 * The line of a session's refresh tokens: which were exchanged, and which the provider refused. It is plain data, so that it travels
 * between processes; every change is a function of the line before it, and two lines merge. Times are in milliseconds since the epoch.
 *
 * ```
 *   newest ──exchange──▶ open ──its browser got a newer one──▶ closing ──25 seconds──▶ closed, and unknown
 *     │                    └────eight days after the tokens of its last exchange expire───────▲
 *     └────the provider refuses it──▶ refused, for ten minutes
 * ```
 *
 * A closed token goes to the provider again: where the network lost the response, only its replay window can still help.
 */
export interface TokenLine {
  /** Exchanged tokens, oldest first. */
  readonly spent: readonly SpentToken[];
  /** The latest are kept. */
  readonly refused: readonly RefusedToken[];
  /** The newest tokens as text, by their refresh token: several where a session has several sign-ins. */
  readonly answers: Readonly<Record<string, string>>;
}

/** A refresh token that was exchanged; in a record, `spent` is only a switch. Tokens are identified without revealing them. */
export interface SpentToken {
  readonly token: string;
  /** The refresh token that it was exchanged for. */
  readonly issued: string;
  /** The newest refresh token that this one led to, which its holders get. */
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

/** Where a refresh token stands: its session's line, and the token. A token without a session id has a line of its own. */
export interface Place {
  readonly line: string;
  /** Identifies the refresh token without revealing it. */
  readonly token: string;
}

/** A line as this process knows it. */
export interface KnownLine {
  readonly line: TokenLine;
  /** The coordinator's version that has all of it; `undefined` where this process alone may know a part, as after an outage. */
  readonly version?: string | undefined;
}

/** What became of a token, as the line says it to each of its holders: its newest tokens, or the provider's refusal. */
export type SettledRefresh =
  { readonly kind: 'renewed'; readonly text: string } | { readonly kind: 'ended'; readonly reason: string };

/** Whether tokens as text are no newer than those that one has, as where the provider gives a token again. */
export type IsHeld = (text: string) => boolean;

/** What a token was exchanged for. */
interface NewTokens {
  readonly newest: string;
  readonly text: string;
  readonly isForeign?: boolean;
  /** How long holders of the token get it, in milliseconds. Default: eight days. */
  readonly lifeMs?: number | undefined;
  /** The token that the asking browser holds, where that is one that led to this one. */
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

/** @param isHeld whether the asking one has these tokens: they are no answer to it */
export function settledOf(line: TokenLine, token: string, now: number, isHeld?: IsHeld): SettledRefresh | undefined {
  const newest = newestFor(line, token, now);
  const text = newest === undefined ? undefined : answerOf(line, newest);
  if (text !== undefined && isHeld?.(text) !== true) return { kind: 'renewed', text };
  const refused = line.refused.find((each) => each.token === token && each.until >= now);
  return refused && { kind: 'ended', reason: refused.reason };
}

/** The newest token, which the holder of a token gets. */
export function newestFor(line: TokenLine, token: string, now: number): string | undefined {
  return line.spent.find((each) => each.token === token && endOf(each) >= now)?.newest;
}

/**
 * A token was exchanged: its holders, and those of all tokens that led to it, get the newest tokens. The first answer stays,
 * because others already use it, except where the provider gave the token itself again. @returns the very same line then
 */
export function exchange(
  line: TokenLine,
  token: string,
  { newest, text, isForeign = false, lifeMs = openMs, held }: NewTokens,
  now: number,
): TokenLine {
  const first = newestFor(line, token, now);
  const isSettled = first !== undefined && first !== token && answerOf(line, first) !== undefined;
  if (isSettled || text.length > maxCharacters) return line;
  const until = now + lifeMs;
  const at = Math.max(now, ...line.spent.map(({ newestAt }) => newestAt + 1));
  const entryOf = (spent: string): SpentToken => {
    return { token: spent, issued: newest, newest, at, newestAt: at, until, ...(isForeign && { isForeign }) };
  };
  // A token that the provider gives again is not spent (WorkOS documents that tokens may be rotated): only requests under way need the answer.
  const isAgain = reachOf(newest, entriesOf(line.spent)).has(token);
  const others = line.spent
    .filter((each) => each.token !== token && !(isAgain && each.token === newest))
    .map((each) =>
      each.token === held && isOpenAt(each, now) ? { ...each, until: Math.max(each.until, until) } : each,
    );
  const own = token === newest ? [] : [entryOf(token)];
  if (isAgain) own.push(close(entryOf(newest), now));
  // A late success takes precedence over the refusal of a second attempt with the same token.
  const refused = line.refused.filter((each) => each.token !== token);
  return tidy({ spent: [...others, ...own], refused, answers: { ...line.answers, [newest]: text } }, now);
}

/** The provider refused a token. @returns the very same line where it says that the token was exchanged, or refused */
export function refuse(line: TokenLine, token: string, reason: string, now: number): TokenLine {
  if (settledOf(line, token, now) !== undefined) return line;
  return tidy({ ...line, refused: [...line.refused, { token, reason, until: now + refusedMs }] }, now);
}

/** Drops a token and those that led to it or lead where it leads: the sign-in of all of them is over. */
export function forgetToken(line: TokenLine, token: string, now: number): TokenLine {
  const own = line.spent.find((each) => each.token === token);
  if (own === undefined) return line;
  return tidy({ ...line, spent: line.spent.filter(({ newest }) => newest !== own.newest) }, now);
}

/**
 * A browser that held a token received a newer one, so that only requests that were sent before carry it, and the tokens that led to it.
 *
 * @param received what the browser received
 * @returns the very same line where nothing changes
 */
export function deliver(line: TokenLine, token: string, received: string, now: number): TokenLine {
  const leads = leadingTo(line, received);
  return closeAll(line, (each) => each.token === token || leads(each), now);
}

/**
 * A request carries a token, so that its browser has received it, whichever response brought it: only requests that were sent before
 * carry those that led to it.
 *
 * @returns the very same line where nothing changes
 */
export function present(line: TokenLine, token: string, now: number): TokenLine {
  return closeAll(line, leadingTo(line, token), now);
}

function closeAll(line: TokenLine, isOver: (each: SpentToken) => boolean, now: number): TokenLine {
  const over = new Set(line.spent.filter((each) => isOpenAt(each, now) && isOver(each)));
  if (over.size === 0) return line;
  return { ...line, spent: line.spent.map((each) => (over.has(each) ? close(each, now) : each)) };
}

function leadingTo({ spent }: TokenLine, token: string): (each: SpentToken) => boolean {
  const entries = entriesOf(spent);
  return (each) => each.token !== token && reachOf(each.token, entries).has(token);
}

/** Which of two knows the newer token. */
export function laterOf(one: SpentToken, other: SpentToken): SpentToken {
  if (one.newestAt !== other.newestAt) return other.newestAt > one.newestAt ? other : one;
  return other.newest > one.newest ? other : one;
}

function close(spent: SpentToken, now: number): SpentToken {
  return { ...spent, closes: Math.min(spent.closes ?? Infinity, now + closingMs) };
}

export function endOf({ until, closes = Infinity }: SpentToken): number {
  return Math.min(until, closes);
}

/** Whether a browser may still hold only this token. */
function isOpenAt({ until, closes }: SpentToken, now: number): boolean {
  return closes === undefined && until >= now;
}

/** The newest tokens as text. A line that others wrote may name anything, such as `__proto__`. */
export function answerOf({ answers }: Pick<TokenLine, 'answers'>, newest: string): string | undefined {
  return Object.hasOwn(answers, newest) ? answers[newest] : undefined;
}

type Entries = ReadonlyMap<string, SpentToken>;

export function entriesOf(spent: readonly SpentToken[]): Entries {
  return new Map(spent.map((each) => [each.token, each]));
}

/** A token and all that it led to, as far as the line still has them, with their entries. A circle is walked once. */
function reachOf(token: string, entries: Entries): ReadonlyMap<string, SpentToken | undefined> {
  const reach = new Map<string, SpentToken | undefined>();
  const ahead = [token];
  for (let each = ahead.pop(); each !== undefined; each = ahead.pop()) {
    if (reach.has(each)) continue;
    const entry = entries.get(each);
    reach.set(each, entry);
    if (entry !== undefined) ahead.push(entry.issued, entry.newest);
  }
  return reach;
}

/** Drops what has expired and what exceeds the limits, and lets each token lead to the newest. */
export function tidy({ spent, refused, answers }: TokenLine, now: number): TokenLine {
  const entries = entriesOf(spent);
  const lead = (each: SpentToken): SpentToken => {
    const reach = reachOf(each.token, entries);
    const found = [...reach.values()].filter((entry) => entry !== undefined);
    // A token that was exchanged itself is not the newest; one that the provider gave again may be.
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
 * Of several sign-ins the one with the most tokens drops one: the token that ends first, because the one that its browser still
 * sends ends last. What another session's tokens lead to never displaces the session's own.
 */
function isDroppedBefore(one: SpentToken, other: SpentToken, counts: ReadonlyMap<string, number>): boolean {
  const byCount = (counts.get(one.newest) ?? 0) - (counts.get(other.newest) ?? 0);
  const byOwner = Number(one.isForeign === true) - Number(other.isForeign === true);
  return (byOwner || byCount || other.until - one.until || one.at - other.at) > 0;
}

/** Whether a browser may still hold only a spent token. */
export function isOpen(line: TokenLine, now: number): boolean {
  return line.spent.some((each) => isOpenAt(each, now));
}

/** How long the line is of use, in milliseconds. */
export function lifeOf({ spent, refused }: TokenLine, now: number): number {
  const ends = [...spent.map(endOf), ...refused.map(({ until }) => until)];
  return Math.max(0, ...ends.map((end) => end - now));
}
