import { setTimeout } from 'node:timers/promises';
import { UnreadableAnswer } from '../../tools/coordinator-failure.ts';
import { isRecord, parseJson } from '../../tools/json.ts';
import { AuthError } from '../../errors.ts';
import { fitForEvent } from '../events.ts';
import { closingMs, superseded, weightOf } from './answers.ts';
import type { Answer, Ended, Renewed } from './answers.ts';
import type { SharedCoordinator, TakenToken } from '../coordinator.ts';
import { forever } from '../ended/record.ts';
import { coordinatorUnavailable } from '../coordinator.ts';

/** One process' turn to exchange a token. */
interface Turn {
  readonly holder: string;
  /** How long the turn lasts if it is not taken again, in milliseconds. */
  readonly turnMs: number;
}

/** Who wants a token's turn. */
interface Attempt {
  /** A name of its own. */
  readonly holder: string;
  /** Whether an answer gives it anything: where the provider gave a token again, it may hold later tokens than others who wait. */
  readonly accepts: (answer: Renewed | Ended) => boolean;
}

/** An answer that stands at the coordinator. */
export interface StandingAnswer {
  readonly answer: Renewed | Ended;
  /** How long it still stands, in milliseconds. */
  readonly ms: number;
  /** The browser's own token whose answer it is, where that led to this one. */
  readonly by?: string;
}

/** What becomes of a token. */
interface Settling {
  /** The attempt whose turn ends with it. */
  readonly attempt?: string;
  readonly answer: Answer;
  /** How long it stands, in milliseconds; `undefined`: only for those who wait, because it spends nothing or is too large to keep. */
  readonly ms: number | undefined;
}

export type SharedRefresh = ReturnType<typeof createSharedRefresh>;

type Wait = (ms: number, value: undefined, options: { readonly signal: AbortSignal }) => Promise<unknown>;

/** The `reason` of a refused variant of a refresh: the token is still valid. */
export const variantRefused = 'variant_refused';

/** How long the outcome of an attempt is kept: each process that waits for it asks again before (`maxPollMs`). */
const outcomeMs = 2_000;
const firstPollMs = 60;
const steadyPollMs = 200;
const maxPollMs = 1_000;
const [minTurnMs, maxTurnMs] = [100, 60_000];
/** Several times what a process of ours writes. */
const [maxNames, maxNameLength] = [64, 1_000];

/**
 * One exchange of a token over all processes: one at a time has the token's turn, and the others wait for its answer. A process that
 * finds the turn expired takes over. The first answer stays, so a late holder gets that of its heir.
 */
export function createSharedRefresh(shared: SharedCoordinator, wait: Wait = setTimeout) {
  const { look, lookNow } = createLook(shared);

  return {
    take: createTake(shared, wait),
    /** Keeps the turn while the work runs. */
    async hold<Result>(token: string, { holder, turnMs }: Turn, work: () => Promise<Result>, signal: AbortSignal) {
      const heartbeat = setInterval(() => {
        // No request still waits for an exchange that exceeds its deadline.
        if (signal.aborted) clearInterval(heartbeat);
        // The turn expires without it.
        else shared.take(token, { holder }).catch(() => undefined);
      }, turnMs / 3).unref();
      try {
        return await work();
      } finally {
        clearInterval(heartbeat);
      }
    },
    /**
     * Keeps an answer, unless one stands that weighs as much.
     *
     * @returns that one
     */
    async settle(token: string, { attempt, answer, ms }: Settling): Promise<StandingAnswer | undefined> {
      const weight = ms === undefined ? 0 : weightOf(answer);
      const change = { holder: attempt, answer: JSON.stringify(answer), weight, ttlMs: ms ?? outcomeMs };
      const standing = await shared.settle(token, change);
      // A driver of an application's own database may say null for none.
      if (typeof standing !== 'string') return undefined;
      // For how long, only a look can tell.
      return (await look(token).catch(() => undefined)) ?? standingOf(shared, readAnswer(standing), closingMs);
    },
    /** Ends the turn without an answer. */
    async fail(token: string, attempt: string, error: unknown): Promise<void> {
      await shared.settle(token, {
        holder: attempt,
        answer: JSON.stringify(failureOf(error)),
        weight: 0,
        ttlMs: outcomeMs,
      });
    },
    /** What stands ends after this time at the latest. @param weight unless it weighs more, because it leads further */
    async close(token: string, ms: number, weight?: number): Promise<void> {
      await shared.settle(token, { weight, ttlMs: ms });
    },
    look,
    lookNow,
  };
}

function createLook(shared: SharedCoordinator) {
  /** What became of a token by now; `under way` where a process has its turn. */
  async function lookNow(token: string): Promise<StandingAnswer | 'under way' | undefined> {
    const taken = await shared.take(token);
    if (hasAnswer(taken)) return standingOf(shared, readAnswer(taken.answer), lifeOf(taken));
    return typeof taken.holder === 'string' ? 'under way' : undefined;
  }

  /** What became of a token by now. */
  async function look(token: string): Promise<StandingAnswer | undefined> {
    const found = await lookNow(token);
    return found === 'under way' ? undefined : found;
  }

  return { look, lookNow };
}

/** What a token's answer comes to: where a browser's own token led there, what that one leads to. */
async function standingOf(shared: SharedCoordinator, answer: Answer, ms: number): Promise<StandingAnswer> {
  if (answer.kind !== 'by') return { answer, ms };
  const { token: by } = answer;
  const led = await shared.take(by).catch((cause: unknown) => {
    // The token is spent, so asking the provider would look like a theft.
    throw coordinatorUnavailable(cause);
  });
  const found = hasAnswer(led) ? readAnswer(led.answer) : undefined;
  if (found?.kind !== 'renewed') return { answer: superseded, ms: 0 };
  return { answer: found, ms: lifeOf(led), by };
}

/** Waits for turns. */
function createTake(shared: SharedCoordinator, wait: Wait) {
  /**
   * Waits for the token's turn.
   *
   * @returns the answer instead, where there is one by now
   * @throws {AuthError} the failure of the attempt that was waited for
   */
  return async function take(
    token: string,
    { holder, accepts }: Attempt,
    signal: AbortSignal,
  ): Promise<Turn | StandingAnswer> {
    let awaited: string | undefined;
    let isTakenUntil = -Infinity;
    for (let pollMs = firstPollMs; ; pollMs = nextPollMs(pollMs)) {
      signal.throwIfAborted();
      const taken = await shared.take(token, { holder, awaited }).catch((error: unknown) => {
        // As long as another one may have the turn, going on alone would spend the token twice.
        if (performance.now() < isTakenUntil) return undefined;
        throw error;
      });
      if (taken === undefined) {
        // Asks again.
      } else if (hasAnswer(taken)) {
        const found = await answerFor(shared, taken, accepts);
        if (found !== undefined && found.answer !== superseded) return found;
        // The token that it was answered by has ended: then the provider is asked, as for each unknown token.
        if (found !== undefined) await shared.settle(token, { ttlMs: 0 });
        else if (awaited === undefined)
          throw new UnreadableAnswer('The coordinator keeps the outcome of one attempt for all');
        awaited = undefined;
      } else {
        if (taken.holder === holder) return { holder, turnMs: turnOf(taken) };
        if (typeof taken.holder !== 'string')
          throw new Error('The coordinator neither gave a turn nor said who has it');
        awaited = taken.holder;
        isTakenUntil = performance.now() + turnOf(taken);
      }
      // Also where nothing is waited for: a coordinator that answers at once must not keep this process from everything else.
      await wait(pollMs * (0.75 + Math.random() / 2), undefined, { signal });
    }
  };
}

type AnsweredToken = TakenToken & { readonly answer: string };

function hasAnswer(taken: TakenToken): taken is AnsweredToken {
  return typeof taken.answer === 'string';
}

/** `undefined` where the attempt must ask the provider itself. @throws {AuthError} the failure of the attempt that was waited for */
async function answerFor(
  shared: SharedCoordinator,
  taken: AnsweredToken,
  accepts: Attempt['accepts'],
): Promise<StandingAnswer | undefined> {
  try {
    const found = await standingOf(shared, readAnswer(taken.answer), lifeOf(taken));
    return found.answer === superseded || accepts(found.answer) ? found : undefined;
  } catch (error) {
    if (error instanceof AuthError && error.reason === variantRefused) return undefined;
    throw error;
  }
}

/**
 * At most four commands in 200 ms, nine in a second. A notification would take five, a second connection
 * per process, and one command for each refresh even without waiting processes.
 */
function nextPollMs(pollMs: number): number {
  return Math.min(pollMs * (pollMs < steadyPollMs ? 1.25 : 1.05), maxPollMs);
}

/** An application's own coordinator may return anything; a turn without a time would be taken again all the time. */
function turnOf({ turnMs }: TakenToken): number {
  return turnMs >= minTurnMs ? Math.min(turnMs, maxTurnMs) : minTurnMs;
}

function lifeOf({ ttlMs = 0 }: TakenToken): number {
  return Number.isFinite(ttlMs) ? ttlMs : 0;
}

/** Only what is whole may end a session or give tokens. @throws {AuthError} the failure that it says */
function readAnswer(text: string): Answer {
  const value = parseJson(text);
  if (isRecord(value)) {
    const { kind, token, text: tokens, steps, reason } = value;
    if (kind === 'by' && isName(token)) return { kind, token };
    if (kind === 'renewed' && isName(token) && typeof tokens === 'string' && isCount(steps))
      return { kind, token, text: tokens, steps, ...readFurther(value) };
    // A reason is in events, which no text of a stranger reaches.
    if (kind === 'ended' && typeof reason === 'string') return { kind, reason: fitForEvent(reason) ?? 'refused' };
    if (kind === 'failed') throw errorOf(value);
  }
  throw new UnreadableAnswer('The coordinator holds an answer that no process of ours has written');
}

function readFurther({ reissuedAt, between, owner, isBrought }: Readonly<Record<string, unknown>>) {
  return {
    ...(isBrought === true && { isBrought }),
    ...(isCount(reissuedAt) && { reissuedAt }),
    ...(isName(owner) && { owner }),
    ...(Array.isArray(between) && { between: between.filter(isName).slice(-maxNames) }),
  };
}

function isName(value: unknown): value is string {
  return typeof value === 'string' && value.length <= maxNameLength;
}

function isCount(value: unknown): value is number {
  return typeof value === 'number' && value >= 0 && value <= forever;
}

/** The parts of a failure for waiting processes; its cause stays here. */
function failureOf(error: unknown) {
  const { code, reason, retryAfter } = error instanceof AuthError ? error : new AuthError('provider_unavailable');
  return { kind: 'failed', code, reason, retryAfter };
}

function errorOf({ code, reason, retryAfter }: Readonly<Record<string, unknown>>): AuthError {
  return new AuthError(code === 'provider_refused' || code === 'token_rejected' ? code : 'provider_unavailable', {
    ...(typeof reason === 'string' && { reason: fitForEvent(reason) }),
    ...(typeof retryAfter === 'number' && { retryAfter }),
  });
}
