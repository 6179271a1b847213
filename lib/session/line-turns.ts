import { randomUUID } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import { AuthError } from '../errors.ts';
import { fitForEvent } from './events.ts';
import type { SharedCoordinator, SharedLine, TakenLine } from './shared-coordinator.ts';
import { emptyLine, emptyState, lifeOf, positionOf } from './token-line.ts';
import type { LineState, Place, TokenLine } from './token-line.ts';

/** One process' turn to exchange a token. */
export interface Turn {
  readonly holder: string;
  /** The line at its start. */
  readonly state: LineState;
  /** How long the turn lasts if it is not taken again, in milliseconds. */
  readonly turnMs: number;
}

export type LineTurns = ReturnType<typeof createLineTurns>;

/** An attempt that failed, for the processes that waited for it. */
interface Failure {
  readonly attempt: string;
  readonly code: string;
  readonly reason?: string;
  /** Seconds. */
  readonly retryAfter?: number;
}

interface StoredLine extends TokenLine {
  readonly failure?: Failure | undefined;
}

/** How far the clocks of two processes may differ. */
export const skewMs = 60_000;
/** Long enough for every waiting process to ask once more. */
const failureMs = 1_000;
const firstPollMs = 60;
const steadyPollMs = 200;
const maxPollMs = 1_000;
const maxConflicts = 5;

/**
 * Turns over all processes: one at a time exchanges a token of a session, and the others wait for its answer. A process that finds the
 * turn expired takes over. A line changes by compare-and-set, so a late holder applies its answer to what the others have.
 *
 * @param now milliseconds since the epoch
 */
export function createLineTurns(shared: SharedCoordinator, now: () => number) {
  /** @returns the standing line, with the change or without need of it */
  async function change(
    name: string,
    from: LineState,
    apply: (state: LineState) => LineState,
    holder: string,
    failure?: Failure,
  ): Promise<LineState> {
    let state = from;
    for (let conflicts = 0; conflicts < maxConflicts; conflicts += 1) {
      const next = apply(state);
      if (next === state && holder === '') return state;
      const version: string = randomUUID();
      const standing = await shared.settle(name, {
        from: state.version ?? '',
        version,
        holder,
        ...toShared(next, failure),
        answer: next.text === state.text ? undefined : next.text,
        ttlMs: Math.max(lifeOf(next.line, now()), failure === undefined ? 0 : failureMs),
      });
      // A client may repeat a command whose first reply was lost.
      if (standing === undefined || standing.version === version) return { ...next, version };
      state = fromShared(standing).state;
    }
    throw new Error('The line of a session changed too often meanwhile');
  }

  return {
    /**
     * Waits for the turn.
     *
     * @returns the line instead, where it has the token's answer by now
     * @throws {AuthError} the failure of the attempt that was waited for
     */
    async take(place: Place, signal: AbortSignal): Promise<Turn | LineState> {
      const holder: string = randomUUID();
      let awaited: string = holder;
      for (let pollMs = firstPollMs; ; pollMs = nextPollMs(pollMs)) {
        signal.throwIfAborted();
        const attempt = `${awaited}:${place.token}`;
        let taken = await shared.take(place.line, holder, [place.token, attempt]);
        if (taken.holder === undefined) {
          const { state, failure } = fromShared(taken);
          if (positionOf(state.line, place.token, now() - skewMs) !== undefined) return state;
          if (failure?.attempt === attempt) throw fromFailure(failure);
          // Its time is over.
          taken = await shared.take(place.line, holder, []);
        }
        if (taken.holder === holder) return { holder, state: fromShared(taken).state, turnMs: turnOf(taken) };
        awaited = String(taken.holder);
        await wait(pollMs * (0.75 + Math.random() / 2), undefined, { signal });
      }
    },
    /** Keeps the turn while the work runs. */
    async hold<Result>({ line }: Place, { holder, turnMs }: Turn, work: () => Promise<Result>, signal: AbortSignal) {
      const heartbeat = setInterval(() => {
        // No request still waits for an exchange that exceeds its deadline.
        if (signal.aborted) clearInterval(heartbeat);
        // The turn expires without it.
        else shared.take(line, holder, []).catch(() => undefined);
      }, turnMs / 3).unref();
      try {
        return await work();
      } finally {
        clearInterval(heartbeat);
      }
    },
    /** Ends the turn with an answer. */
    settle: ({ line }: Place, { state, holder }: Turn, apply: (state: LineState) => LineState) =>
      change(line, state, apply, holder),
    /** Ends the turn without an answer. */
    fail: ({ line, token }: Place, { state, holder }: Turn, error: unknown) =>
      change(line, state, (same) => same, holder, toFailure(`${holder}:${token}`, error)),
    /** Changes the line without a turn. */
    change: (name: string, from: LineState, apply: (state: LineState) => LineState) => change(name, from, apply, ''),
    async forget(name: string): Promise<void> {
      await shared.settle(name, { ...toShared(emptyState), from: undefined, version: '', holder: '', ttlMs: 0 });
    },
  };
}

/**
 * Four commands in 200 ms, nine in a second. A notification would take five, a second connection
 * per process, and one command for each refresh even without waiting processes.
 */
function nextPollMs(pollMs: number): number {
  return Math.min(pollMs * (pollMs < steadyPollMs ? 1.25 : 1.05), maxPollMs);
}

const minTurnMs = 100;

/** An application's own coordinator may return anything; a turn without a time would be taken again all the time. */
function turnOf({ turnMs }: TakenLine): number {
  return turnMs >= minTurnMs ? turnMs : minTurnMs;
}

function toShared({ line }: LineState, failure?: Failure) {
  const stored: StoredLine = { ...line, failure };
  const tokens = [...line.spent, ...line.refused].map(([token]) => token);
  return { line: JSON.stringify(stored), known: failure === undefined ? tokens : [...tokens, failure.attempt] };
}

function fromShared({ version, line: text, answer }: SharedLine): {
  readonly state: LineState;
  readonly failure?: Failure | undefined;
} {
  if (version === '' || text === '') return { state: { ...emptyState, version } };
  const stored: unknown = JSON.parse(text);
  if (!isStoredLine(stored)) throw new Error('The coordinator holds a line that no process of ours has written');
  const { failure, ...line } = stored;
  return { state: { line: { ...emptyLine, ...line }, text: answer, version }, failure };
}

function isStoredLine(value: unknown): value is StoredLine {
  if (typeof value !== 'object' || value === null || !('spent' in value) || !('refused' in value)) return false;
  return Array.isArray(value.spent) && Array.isArray(value.refused);
}

/** The parts of a failure for waiting processes; its cause stays here. */
function toFailure(attempt: string, error: unknown): Failure {
  if (!(error instanceof AuthError)) return { attempt, code: 'provider_unavailable' };
  const { code, reason, retryAfter } = error;
  return { attempt, code, ...(reason !== undefined && { reason }), ...(retryAfter !== undefined && { retryAfter }) };
}

function fromFailure({ code, reason, retryAfter }: Failure): AuthError {
  return new AuthError(code === 'provider_refused' || code === 'token_rejected' ? code : 'provider_unavailable', {
    ...(typeof reason === 'string' && { reason: fitForEvent(reason) }),
    ...(typeof retryAfter === 'number' && { retryAfter }),
  });
}
