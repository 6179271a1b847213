/**
 * The line of a session's refresh tokens: which were exchanged, and which the provider refused. It is plain data, so that it travels
 * between processes; every change is a function of the line before it, and two lines merge. Times are in milliseconds since the epoch.
 *
 * ```
 *   newest ──exchange──▶ open ──its browser got a newer one──▶ closing ──25 seconds──▶ closed
 *     └────the provider refuses it──▶ refused, for ten minutes
 * ```
 */
export interface TokenLine {
  /** Exchanged tokens, oldest first. */
  readonly spent: readonly SpentToken[];
  /** The latest are kept. */
  readonly refused: readonly RefusedToken[];
  /** The newest tokens as text, by their refresh token: several where a session has several sign-ins. */
  readonly answers: Readonly<Record<string, string>>;
}

/** A refresh token that was exchanged. Tokens are identified without revealing them. */
export interface SpentToken {
  readonly token: string;
  /** The newest refresh token that its holders get. */
  readonly newest: string;
  /** When it was exchanged. */
  readonly at: number;
  /** Until when its holders get the newest tokens. */
  readonly until: number;
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

/** A line, and the version of the coordinator's copy that it was last compared with. */
export interface KnownLine {
  readonly line: TokenLine;
  readonly version?: string | undefined;
}

/** What the line says of a token. */
export type Position =
  { readonly kind: 'renewed'; readonly text: string } | { readonly kind: 'ended'; readonly reason: string };

/** Until a response delivers the newest tokens, the browser holds only a spent one and sends it again. */
export const openMs = 24 * 60 * 60_000;
/** Requests that were sent with the old cookie arrive at most this long after the answer. */
export const closingMs = 25_000;
/** A refused token stays refused; that saves a provider call for each request of a client that keeps its cookie. */
export const refusedMs = 10 * 60_000;
const maxSpent = 16;
const maxRefused = 8;

export const emptyLine: TokenLine = { spent: [], refused: [], answers: {} };

export function positionOf(line: TokenLine, token: string, now: number): Position | undefined {
  const spent = line.spent.find((each) => each.token === token && each.until >= now);
  const text = spent && line.answers[spent.newest];
  if (spent !== undefined && text !== undefined) return { kind: 'renewed', text };
  const refused = line.refused.find((each) => each.token === token && each.until >= now);
  return refused && { kind: 'ended', reason: refused.reason };
}

/**
 * A token was exchanged: its holders, and those of all tokens that led to it, get the newest tokens. The first answer stays,
 * because others already use it. @returns the very same line then
 */
export function exchange(
  line: TokenLine,
  token: string,
  { newest, text, isForeign = false }: { readonly newest: string; readonly text: string; readonly isForeign?: boolean },
  now: number,
): TokenLine {
  if (positionOf(line, token, now)?.kind === 'renewed') return line;
  const until = now + openMs;
  const others = line.spent
    .filter((each) => each.token !== token)
    // The holders of open tokens have a day again.
    .map((each) => (each.newest === token && each.until > now + closingMs ? { ...each, until } : each));
  const own = { token, newest, at: now, until, ...(isForeign && { isForeign }) };
  // A late success takes precedence over the refusal of a second attempt with the same token.
  const refused = line.refused.filter((each) => each.token !== token);
  return tidy({ spent: [...others, own], refused, answers: { ...line.answers, [newest]: text } }, now);
}

/** The provider refused a token. @returns the very same line where it says that the token was exchanged, or refused */
export function refuse(line: TokenLine, token: string, reason: string, now: number): TokenLine {
  if (positionOf(line, token, now) !== undefined) return line;
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
  const { spent } = line;
  const own = spent.find((each) => each.token === token);
  if (own === undefined) return line;
  // What the browser received may have been exchanged since; the tokens from there on stay open.
  const next = spent.find((each) => each.token === received);
  const end = now + closingMs;
  const isOver = ({ newest, at, until }: SpentToken): boolean =>
    newest === own.newest &&
    until > end &&
    (next === undefined ? own.newest === received || at <= own.at : at < next.at);
  if (!spent.some(isOver)) return line;
  return { ...line, spent: spent.map((each) => (isOver(each) ? { ...each, until: end } : each)) };
}

/**
 * What two processes know together, in either order. Of two answers to one token the later one counts, and a closing token stays closing.
 *
 * @returns the very same `one` where `other` adds nothing
 */
export function mergeLines(one: TokenLine, other: TokenLine, now: number): TokenLine {
  const spent = new Map(one.spent.map((each) => [each.token, each]));
  for (const each of other.spent) {
    const known = spent.get(each.token);
    const later = known === undefined || each.at > known.at ? each : known;
    const until = known?.newest === each.newest ? Math.min(known.until, each.until) : later.until;
    spent.set(each.token, later === known && until === known.until ? known : { ...later, until });
  }
  const refused = new Map(one.refused.map((each) => [each.token, each]));
  for (const each of other.refused) if (!refused.has(each.token)) refused.set(each.token, each);
  const all = [...spent.values()].sort((a, b) => a.at - b.at);
  const isSame = all.length === one.spent.length && all.every((each, at) => each === one.spent[at]);
  if (isSame && refused.size === one.refused.length) return one;
  return tidy({ spent: all, refused: [...refused.values()], answers: { ...other.answers, ...one.answers } }, now);
}

/** Drops what has expired and what exceeds the limits, and lets each token lead to the newest. */
function tidy({ spent, refused, answers }: TokenLine, now: number): TokenLine {
  const next = new Map(spent.map(({ token, newest }) => [token, newest]));
  const newestOf = (token: string, steps = 0): string => {
    const newest = next.get(token);
    return newest === undefined || steps > maxSpent * 2 ? token : newestOf(newest, steps + 1);
  };
  const open = spent.filter(({ until }) => until >= now).map((each) => ({ ...each, newest: newestOf(each.newest) }));
  while (open.length > maxSpent) {
    // A browser holds the oldest, if it missed all answers since, or one of the latest.
    const foreign = open.findIndex(({ isForeign }) => isForeign === true);
    open.splice(foreign === -1 ? 1 : foreign, 1);
  }
  const used = new Set(open.map(({ newest }) => newest));
  const kept = Object.entries(answers).filter(([newest]) => used.has(newest));
  return {
    spent: open,
    refused: refused.filter(({ until }) => until >= now).slice(-maxRefused),
    answers: kept.length === Object.keys(answers).length ? answers : Object.fromEntries(kept),
  };
}

/** Whether a browser may still hold only a spent token. */
export function isOpen(line: TokenLine, now: number): boolean {
  return line.spent.some(({ until }) => until > now + closingMs);
}

/** How long the line is of use, in milliseconds. */
export function lifeOf({ spent, refused }: TokenLine, now: number): number {
  return Math.max(0, ...[...spent, ...refused].map(({ until }) => until - now));
}
