/**
 * The line of a session's refresh tokens: those that were exchanged lately, and the newest, which their holders get. It is plain data,
 * so that it travels between processes; every change is a function of the line before it. Times are in milliseconds since the epoch.
 *
 * ```
 *   fresh ──exchange──▶ spent, open ──its browser got the newest──▶ closing ──25 seconds──▶ closed
 *     └────the provider refuses it──▶ refused, for ten minutes
 * ```
 */
export interface TokenLine {
  /** Until when holders of an exchanged token get the newest one, oldest first. */
  readonly spent: readonly (readonly [token: string, until: number])[];
  /** Why the provider refused a token, and until when that is remembered. */
  readonly refused: readonly (readonly [token: string, reason: string, until: number])[];
  readonly newest?: NewestToken | undefined;
}

export interface NewestToken {
  /** Identifies the refresh token without revealing it. */
  readonly token: string;
  /** When its access token was issued. */
  readonly issuedAt: number;
}

/** Where a refresh token stands: its session's line, and the token. A token without a session id has a line of its own. */
export interface Place {
  readonly line: string;
  /** Identifies the refresh token without revealing it. */
  readonly token: string;
}

/** A line with the newest tokens as text. */
export interface LineState {
  readonly line: TokenLine;
  readonly text?: string | undefined;
  /** Of the coordinator's copy, where this is one. */
  readonly version?: string | undefined;
}

/** Who holds a token at its exchange: a browser, or only requests under way, because the token reached no browser yet. */
export type Holder = 'browser' | 'requests';

/** What the line says of a token. */
export type Position = { readonly kind: 'spent' } | { readonly kind: 'refused'; readonly reason: string };

/** Until a response delivers the newest tokens, the browser holds only a spent one and sends it again. */
export const openMs = 24 * 60 * 60_000;
/** Requests that were sent with the old cookie arrive at most this long after the answer. */
export const closingMs = 25_000;
/** A refused token stays refused; the memory saves a provider call for each request of a client that keeps its cookie. */
export const refusedMs = 10 * 60_000;
/** The latest are kept. */
const maxTokens = 16;

export const emptyLine: TokenLine = { spent: [], refused: [] };
export const emptyState: LineState = { line: emptyLine };

/** @param now with the tolerance for another process' clock */
export function positionOf(line: TokenLine, token: string, now: number): Position | undefined {
  if (line.spent.some(([spent, until]) => spent === token && until >= now)) return { kind: 'spent' };
  const refusal = line.refused.find(([refused, , until]) => refused === token && until >= now);
  return refusal && { kind: 'refused', reason: refusal[1] };
}

/** Whether the token is the newest of the line, or was exchanged in it. */
export function hasToken({ newest, spent }: TokenLine, token: string): boolean {
  return newest?.token === token || spent.some(([each]) => each === token);
}

/**
 * A token was exchanged. Where it was in the line, the holders of all open tokens get the newest one from now on; a token that the
 * line does not know begins the line anew, as after a sign-in that continues the session.
 */
export function exchange(
  line: TokenLine,
  token: string,
  newest: NewestToken,
  { now, holder }: { readonly now: number; readonly holder: Holder },
): TokenLine {
  const others = line.spent.filter(([spent, until]) => spent !== token && until >= now);
  const until = now + (holder === 'browser' ? openMs : closingMs);
  return {
    spent: [...(hasToken(line, token) ? others : []), [token, until] as const].slice(-maxTokens),
    // A late success takes precedence over the refusal of a second attempt with the same token.
    refused: line.refused.filter(([refused, , end]) => refused !== token && end >= now),
    newest,
  };
}

/** The provider refused a token. @returns the very same line where it says that the token was exchanged */
export function refuse(line: TokenLine, token: string, reason: string, now: number): TokenLine {
  if (positionOf(line, token, now) !== undefined) return line;
  const others = line.refused.filter(([refused, , until]) => refused !== token && until >= now);
  return { ...line, refused: [...others, [token, reason, now + refusedMs] as const].slice(-maxTokens) };
}

/**
 * A browser that held a token received a newer one, so that only requests that were sent before carry it, and the tokens before it.
 *
 * @param newest what the browser received
 * @returns the very same line where nothing changes
 */
export function deliver(line: TokenLine, token: string, newest: string, now: number): TokenLine {
  const last =
    line.newest?.token === newest ? line.spent.length - 1 : line.spent.findIndex(([spent]) => spent === token);
  const end = now + closingMs;
  if (line.spent.every(([, until], index) => index > last || until <= end)) return line;
  return { ...line, spent: line.spent.map(([spent, until], at) => [spent, at <= last ? Math.min(until, end) : until]) };
}

/** Whether a browser may still hold only a spent token. */
export function isOpen(line: TokenLine, now: number): boolean {
  return line.spent.some(([, until]) => until > now + closingMs);
}

/** How long the line is of use, in milliseconds. */
export function lifeOf({ spent, refused }: TokenLine, now: number): number {
  return Math.max(
    0,
    ...[...spent.map(([, until]) => until), ...refused.map(([, , until]) => until)].map((until) => until - now),
  );
}
