import { randomUUID } from 'node:crypto';
import { setTimeout } from 'node:timers/promises';
import { UnreadableAnswer } from '../tools/coordinator-failure.ts';
import { isRecord } from '../tools/json.ts';
import { AuthError } from '../errors.ts';
import { fitForEvent } from './events.ts';
import type { SharedCoordinator, SharedLine, TakenLine } from './coordinator.ts';
import { forever } from './record.ts';
import { mergeLines } from './line-merge.ts';
import { emptyLine, lifeOf, nameOf } from './token-line.ts';
import type { KnownLine, Place, SettledRefresh, TokenLine } from './token-line.ts';

/** One process' turn to exchange a token. */
export interface Turn {
  readonly holder: string;
  /** The line at its start. */
  readonly shared: KnownLine;
  /** How long the turn lasts if it is not taken again, in milliseconds. */
  readonly turnMs: number;
}

export type LineTurns = ReturnType<typeof createLineTurns>;

/** An attempt that failed, for the processes that waited for it. */
interface Failure {
  readonly attempt: string;
  readonly code: string;
  readonly reason?: string | undefined;
  /** Seconds. */
  readonly retryAfter?: number | undefined;
}

interface StoredLine extends Omit<TokenLine, 'answers'> {
  readonly failure?: Failure | undefined;
}

interface StandingLine extends KnownLine {
  readonly version: string;
  readonly failure?: Failure | undefined;
}

type Wait = (ms: number, value: undefined, options?: { readonly signal?: AbortSignal }) => Promise<unknown>;

/** How long a line is kept at least: long enough for every waiting process to ask once more about a failure (`maxPollMs`). */
const failureMs = 2_000;
const firstPollMs = 60;
const steadyPollMs = 200;
const maxPollMs = 1_000;
const maxConflicts = 5;
const conflictMs = 20;
const [minTurnMs, maxTurnMs] = [100, 60_000];
/** Entries of each kind in a line, and characters of their texts: several times what a process of ours writes. */
const [maxEntries, maxTextLength] = [64, 1_000];

/**
 * Turns over all processes: one at a time exchanges a token, and the others wait for its answer. A process that finds the
 * turn expired takes over. A line changes by compare-and-set, so a late holder applies its answer to what the others have.
 *
 * @param now milliseconds since the epoch
 */
export function createLineTurns(shared: SharedCoordinator, now: () => number, wait: Wait = setTimeout) {
  /** How far the coordinator's clock is ahead of this process' clock: a line has the coordinator's times there, and ours here. */
  let aheadMs = 0;
  /** The version where nothing is kept. At first none has it, so that no time is written before the coordinator's clock is known. */
  let noVersion = 'unheard';

  function read({ version, line: text, answer, now: theirNow }: SharedLine): StandingLine {
    aheadMs = Number.isFinite(theirNow) ? theirNow - now() : 0;
    noVersion = '';
    if (text === '') return { version, line: emptyLine };
    const stored: unknown = JSON.parse(text);
    if (!isStoredLine(stored))
      throw new UnreadableAnswer('The coordinator holds a line that no process of ours has written');
    const { spent, refused: ended, failure } = shiftTimes(stored, -aheadMs);
    // A reason is in events, which no text of a stranger reaches.
    const refused = ended.map((each) => ({ ...each, reason: fitForEvent(each.reason) ?? 'refused' }));
    const answers: unknown = answer === undefined ? {} : JSON.parse(answer);
    // Tokens without their answer, as where the password differs, say nothing.
    return { version, line: { spent, refused, answers: isTexts(answers) ? answers : {} }, failure };
  }

  /** @param from what of it has no version is added to what stands @returns the standing line */
  async function change(
    name: string,
    from: KnownLine,
    apply: (line: TokenLine) => TokenLine,
    turn?: { readonly token: string; readonly holder: string },
    { failure, isNeeded = () => false }: { readonly failure?: Failure; readonly isNeeded?: () => boolean } = {},
  ): Promise<KnownLine> {
    let state: StandingLine =
      from.version === undefined ? { version: noVersion, line: emptyLine } : { ...from, version: from.version };
    for (let conflicts = 0; conflicts < maxConflicts || isNeeded(); conflicts += 1) {
      if (conflicts > 0) await wait(Math.random() * conflictMs, undefined);
      const line = apply(from.version === undefined ? mergeLines(state.line, from.line, now()) : state.line);
      if (line === state.line && turn === undefined) return state;
      const { spent, refused, answers } = line;
      const names = [...spent.map(nameOf), ...refused.map(({ token }) => token)];
      const version: string = randomUUID();
      const standing = await shared.settle(name, {
        from: state.version,
        version,
        line: JSON.stringify({ ...shiftTimes({ spent, refused }, aheadMs), failure }),
        known: failure === undefined ? names : [...names, failure.attempt],
        answer: answers === state.line.answers ? undefined : JSON.stringify(answers),
        ttlMs: Math.max(lifeOf(line, now()), failureMs),
        ...turn,
      });
      // A client may repeat a command whose first reply was lost.
      if (standing === undefined || standing.version === version) return { line, version };
      state = read(standing);
    }
    throw new Error('The line of a session changed too often meanwhile');
  }

  return {
    take: createTake(shared, read, now, wait),
    /** Keeps the turn while the work runs. */
    async hold<Result>(
      { line, token }: Place,
      { holder, turnMs }: Turn,
      work: () => Promise<Result>,
      signal: AbortSignal,
    ) {
      const heartbeat = setInterval(() => {
        // No request still waits for an exchange that exceeds its deadline.
        if (signal.aborted) clearInterval(heartbeat);
        // The turn expires without it.
        else shared.take(line, { token, holder }, []).catch(() => undefined);
      }, turnMs / 3).unref();
      try {
        return await work();
      } finally {
        clearInterval(heartbeat);
      }
    },
    /** Ends the turn with an answer, which is needed until the signal aborts. @returns the standing line */
    settle: (
      { line, token }: Place,
      { shared: from, holder }: Turn,
      apply: (line: TokenLine) => TokenLine,
      signal: AbortSignal,
    ) => change(line, from, apply, { token, holder }, { isNeeded: () => !signal.aborted }),
    /** Ends the turn without an answer. */
    fail: ({ line, token }: Place, { shared: from, holder }: Turn, error: unknown) =>
      change(line, from, (same) => same, { token, holder }, { failure: toFailure(`${holder}:${token}`, error) }),
    /** Changes the line without a turn. */
    change: (name: string, from: KnownLine, apply: (line: TokenLine) => TokenLine) => change(name, from, apply),
    async forget(name: string): Promise<void> {
      await shared.settle(name, { from: undefined, version: '', line: '', known: [], ttlMs: 0 });
    },
  };
}

/** Waits for turns. */
function createTake(
  shared: SharedCoordinator,
  read: (shared: SharedLine) => StandingLine,
  now: () => number,
  wait: Wait,
) {
  /**
   * Waits for the turn.
   *
   * @param settledIn the pair's answer in a line
   * @returns that answer instead, where there is one by now
   * @throws {AuthError} the failure of the attempt that was waited for
   */
  return async function take(
    { line, token, pair }: Place,
    signal: AbortSignal,
    settledIn: (shared: KnownLine) => SettledRefresh | undefined,
  ): Promise<Turn | SettledRefresh> {
    const holder: string = randomUUID();
    let awaited = holder;
    let answered = [pair, token];
    let isTakenUntil = -Infinity;
    const ask = async (unless: readonly string[]): Promise<TakenLine | undefined> => {
      try {
        return await shared.take(line, { token, holder }, unless);
      } catch (error) {
        // As long as another process may have the turn, going on alone would spend the token twice.
        if (now() < isTakenUntil) return undefined;
        throw error;
      }
    };
    for (let pollMs = firstPollMs; ; pollMs = nextPollMs(pollMs)) {
      signal.throwIfAborted();
      const attempt = `${awaited}:${token}`;
      let taken = await ask([...answered, attempt]);
      if (taken !== undefined && taken.holder === undefined) {
        const { failure, ...known } = read(taken);
        const settled = settledIn(known);
        if (settled !== undefined) return settled;
        if (failure?.attempt === attempt) throw fromFailure(failure);
        // Its time is over, or the asking one has it: with its turn it looks again.
        answered = [];
        taken = await ask([]);
      }
      if (taken !== undefined) {
        if (taken.holder === holder) return { holder, shared: read(taken), turnMs: turnOf(taken) };
        if (taken.holder === undefined) throw new Error('The coordinator neither gave a turn nor said who has it');
        awaited = taken.holder;
        isTakenUntil = now() + turnOf(taken);
      }
      await wait(pollMs * (0.75 + Math.random() / 2), undefined, { signal });
    }
  };
}

/**
 * At most four commands in 200 ms, nine in a second. A notification would take five, a second connection
 * per process, and one command for each refresh even without waiting processes.
 */
function nextPollMs(pollMs: number): number {
  return Math.min(pollMs * (pollMs < steadyPollMs ? 1.25 : 1.05), maxPollMs);
}

/** An application's own coordinator may return anything; a turn without a time would be taken again all the time. */
function turnOf({ turnMs }: TakenLine): number {
  return turnMs >= minTurnMs ? Math.min(turnMs, maxTurnMs) : minTurnMs;
}

function shiftTimes<Stored extends StoredLine>(stored: Stored, byMs: number): Stored {
  return {
    ...stored,
    spent: stored.spent.map((each) => ({
      ...each,
      at: each.at + byMs,
      newestAt: each.newestAt + byMs,
      until: each.until + byMs,
      ...(each.closes !== undefined && { closes: each.closes + byMs }),
    })),
    refused: stored.refused.map((each) => ({ ...each, until: each.until + byMs })),
  };
}

/** An application's own coordinator may return anything; only what is whole may end a session or give tokens. */
function isStoredLine(value: unknown): value is StoredLine {
  return (
    isRecord(value) &&
    isListOf(value['spent'], ['pair', 'issued', 'newest'], ['at', 'newestAt', 'until']) &&
    isListOf(value['refused'], ['token', 'reason'], ['until']) &&
    (value['failure'] === undefined || isRecord(value['failure']))
  );
}

function isListOf(value: unknown, texts: readonly string[], times: readonly string[]): boolean {
  const isWhole = (each: unknown): boolean =>
    isRecord(each) &&
    texts.every((name) => isShortText(each[name])) &&
    times.every((name) => isTime(each[name])) &&
    (each['closes'] === undefined || isTime(each['closes']));
  // A longer one would cost each request the square of its length.
  return Array.isArray(value) && value.length <= maxEntries && value.every(isWhole);
}

function isShortText(value: unknown): boolean {
  return typeof value === 'string' && value.length <= maxTextLength;
}

/** Redis would refuse a line that lives longer, with each later command for it. */
function isTime(value: unknown): boolean {
  return typeof value === 'number' && Math.abs(value) <= forever;
}

function isTexts(value: unknown): value is Readonly<Record<string, string>> {
  return isRecord(value) && Object.values(value).every((text) => typeof text === 'string');
}

/** The parts of a failure for waiting processes; its cause stays here. */
function toFailure(attempt: string, error: unknown): Failure {
  if (!(error instanceof AuthError)) return { attempt, code: 'provider_unavailable' };
  const { code, reason, retryAfter } = error;
  return { attempt, code, reason, retryAfter };
}

function fromFailure({ code, reason, retryAfter }: Failure): AuthError {
  return new AuthError(code === 'provider_refused' || code === 'token_rejected' ? code : 'provider_unavailable', {
    ...(typeof reason === 'string' && { reason: fitForEvent(reason) }),
    ...(typeof retryAfter === 'number' && { retryAfter }),
  });
}
