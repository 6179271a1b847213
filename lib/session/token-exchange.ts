import { AuthError } from '../errors.ts';
import type { LineMemory, SettledRefresh } from './line-memory.ts';
import { skewMs } from './line-turns.ts';
import type { LineTurns, Turn } from './line-turns.ts';
import type { OutageReport } from './outages.ts';
import { exchange, hasToken, positionOf, refuse } from './token-line.ts';
import type { Holder, LineState, NewestToken, Place } from './token-line.ts';

/** The provider's answer to the exchange of a token. */
export type Exchanged =
  | {
      readonly kind: 'renewed';
      readonly text: string;
      readonly newest: NewestToken;
      /** The line of the session that the new tokens belong to. */
      readonly line: string;
    }
  | Extract<SettledRefresh, { kind: 'ended' }>;

export interface TokenAnswer {
  readonly settled: SettledRefresh;
  /** True for the caller whose exchange ran here and now, false for callers that share its answer. */
  readonly isNew: boolean;
}

/** How a token is exchanged. */
export interface Exchange {
  /** Who holds the token. */
  readonly holder: Holder;
  /** The name of the variant, where this is one. */
  readonly variant?: string | undefined;
  readonly run: (signal: AbortSignal) => Promise<Exchanged>;
}

/** The `reason` of a `VariantRefused`, by which other processes recognize it. */
export const variantRefused = 'variant_refused';

/** The provider refused a variant of a refresh, and the token is still valid. Requests for the ordinary refresh retry. */
export class VariantRefused extends AuthError {
  readonly variant: string;
  readonly failure: unknown;

  /**
   * @param variant the name of the variant
   * @param failure the adapter's refusal
   */
  constructor(variant: string, failure: unknown) {
    super('provider_unavailable', { reason: variantRefused });
    this.variant = variant;
    this.failure = failure;
  }
}

export interface LineParts {
  readonly now: () => number;
  /** Over all processes, where there are several. */
  readonly turns: LineTurns | undefined;
  readonly outages: OutageReport;
  readonly memory: LineMemory;
}

/**
 * One exchange of a token, in this or another process, and its answer in the session's line.
 *
 * @throws whatever the provider, or as an `AuthError` another process, fails with
 */
export async function exchangeToken(
  parts: LineParts,
  place: Place,
  exchanging: Exchange,
  signal: AbortSignal,
): Promise<TokenAnswer> {
  let own: Promise<Exchanged> | undefined;
  const once = (): Promise<Exchanged> => (own ??= exchanging.run(signal));
  try {
    const answer = await exchangeInTurn(parts, place, { ...exchanging, run: once }, signal);
    if (answer !== undefined) {
      parts.outages.succeeded();
      return answer;
    }
  } catch (error) {
    if (own === undefined) {
      if (signal.aborted) throw error;
      // The provider's answer in another process is final; asking again from every process would not help it recover.
      if (error instanceof AuthError && error.reason !== variantRefused) throw error;
      if (error instanceof AuthError) return exchangeToken(parts, place, exchanging, signal);
      parts.outages.failed('refresh');
    }
  }
  // The token is spent, so the answer counts even if it could not be shared.
  return keepHere(parts, place, exchanging, await once());
}

async function exchangeInTurn(
  parts: LineParts,
  place: Place,
  exchanging: Exchange,
  signal: AbortSignal,
): Promise<TokenAnswer | undefined> {
  const { now, turns, memory } = parts;
  if (turns === undefined) return undefined;
  const turn = await turns.take(place, signal);
  if (!('holder' in turn)) {
    const settled = learn(memory, place.line, place, turn, now() - skewMs);
    if (settled === undefined) throw new Error('The coordinator holds an exchanged token without its answer');
    return { settled, isNew: false };
  }
  const answer = await holdTurn(turns, place, turn, exchanging, signal);
  if (nameOf(place, answer) !== place.line) {
    turns.fail(place, turn, new AuthError('provider_unavailable')).catch(() => undefined);
    return keepHere(parts, place, exchanging, answer);
  }
  const apply = withAnswer(place, answer, { now: now(), holder: exchanging.holder });
  // Where the coordinator does not know the token, such as after an outage, this process' line continues.
  const state = await turns.settle(place, turn, (standing) => {
    const here = memory.get(place.line);
    return apply(hasToken(standing.line, place.token) || !hasToken(here.line, place.token) ? standing : here);
  });
  return conclude(parts, place.line, place, state, answer);
}

async function holdTurn(
  turns: LineTurns,
  place: Place,
  turn: Turn,
  { run }: Exchange,
  signal: AbortSignal,
): Promise<Exchanged> {
  try {
    return await turns.hold(place, turn, () => run(signal), signal);
  } catch (error) {
    turns.fail(place, turn, error).catch(() => undefined);
    throw error;
  }
}

/** The answer in this process' own line. */
function keepHere(parts: LineParts, place: Place, { holder }: Exchange, answer: Exchanged): TokenAnswer {
  const name = nameOf(place, answer);
  const { line, text } = withAnswer(place, answer, { now: parts.now(), holder })(parts.memory.get(name));
  return conclude(parts, name, place, { line, text }, answer);
}

function conclude(
  { now, memory }: LineParts,
  name: string,
  place: Place,
  state: LineState,
  answer: Exchanged,
): TokenAnswer {
  const settled = learn(memory, name, place, state, now()) ?? answer;
  if (settled.kind === 'ended') memory.refuse(place, settled.reason);
  return { settled, isNew: true };
}

/** Keeps what was learned of a line, and says what it means for the token. @param at milliseconds since the epoch */
function learn(
  memory: LineMemory,
  name: string,
  { token }: Place,
  state: LineState,
  at: number,
): SettledRefresh | undefined {
  const position = positionOf(state.line, token, at);
  if (state.text !== undefined) memory.set(name, state);
  if (position?.kind === 'refused') return { kind: 'ended', reason: position.reason };
  return position === undefined || state.text === undefined ? undefined : { kind: 'renewed', text: state.text };
}

/** An answer for another session has a line of its own, under the token's name: the presented id may be another user's. */
function nameOf({ line, token }: Place, answer: Exchanged): string {
  return answer.kind === 'ended' || line === token || answer.line === line ? line : token;
}

/** The line with the answer. The first one stays: a late holder must not replace tokens that others already use. */
function withAnswer({ token }: Place, answer: Exchanged, at: { readonly now: number; readonly holder: Holder }) {
  return (state: LineState): LineState => {
    const { line } = state;
    if (answer.kind === 'ended') {
      const refused = refuse(line, token, answer.reason, at.now);
      return refused === line ? state : { ...state, line: refused };
    }
    if (positionOf(line, token, at.now)?.kind === 'spent') return state;
    return { ...state, line: exchange(line, token, answer.newest, at), text: answer.text };
  };
}
