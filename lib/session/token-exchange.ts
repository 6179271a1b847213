import type { Background } from '../tools/background.ts';
import { AuthError } from '../errors.ts';
import type { LineMemory } from './line-memory.ts';
import type { LineTurns, Turn } from './line-turns.ts';
import type { OutageReport } from './outages.ts';
import { mergeLines } from './line-merge.ts';
import { exchange, newestFor, refuse, settledOf } from './token-line.ts';
import type { KnownLine, Place, SettledRefresh, TokenLine } from './token-line.ts';

/** The provider's answer to the exchange of a token. */
export type Exchanged =
  | {
      readonly kind: 'renewed';
      readonly text: string;
      /** Where the new tokens stand. */
      readonly place: Place;
      /** How long holders of the pair get them, in milliseconds. Default: eight days. */
      readonly lifeMs?: number;
    }
  | Extract<SettledRefresh, { kind: 'ended' }>;

export interface TokenAnswer {
  readonly settled: SettledRefresh;
  /** True for the caller whose exchange ran here and now, false for callers that get another one's answer. */
  readonly isNew: boolean;
}

/** How a token is exchanged. */
export interface Exchange {
  /** Where the tokens stand that led to this one, the browser's own first: their holders get its answer, too. */
  readonly former?: readonly Place[];
  /** The name of the variant, where this is one. */
  readonly variant?: string | undefined;
  readonly run: (signal: AbortSignal) => Promise<Exchanged>;
}

/** The `reason` of a `VariantRefused`, by which other processes recognize it. */
const variantRefused = 'variant_refused';

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
  readonly background: Background;
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
      // What another process' attempt failed with: asking again from every process would not help the provider recover.
      if (error instanceof AuthError && error.reason !== variantRefused) throw error;
      // Another process was refused a variant, so the token is still valid.
      if (error instanceof AuthError) return exchangeToken(parts, place, exchanging, signal);
    }
    // It throws where the provider failed; else the coordinator did.
    await own;
    parts.outages.failed('refresh', error);
  }
  // The token is spent, so the answer counts even if it could not be shared.
  const answer = await once();
  const apply = withAnswer(parts, place, answer, exchanging);
  return conclude(parts, place, exchanging, answer, { line: apply(parts.memory.get(place.line).line) });
}

async function exchangeInTurn(
  parts: LineParts,
  place: Place,
  exchanging: Exchange,
  signal: AbortSignal,
): Promise<TokenAnswer | undefined> {
  const { now, turns, memory } = parts;
  const { former = [] } = exchanging;
  if (turns === undefined) return undefined;
  // This process may know a newer one, as after an outage.
  const settledIn = (shared: KnownLine) => settledOf(memory.learn(place, shared), place.pair, now());
  const turn = await turns.take(place, signal, settledIn);
  if (!('holder' in turn)) {
    if (turn.kind === 'ended') memory.refuse(place, turn.reason);
    return { settled: turn, isNew: false };
  }
  // A full line drops tokens between: where one that led to this one leads elsewhere, this one was exchanged.
  const known = memory.learn(place, turn.shared);
  const led = former.find(({ pair }) => (newestFor(known, pair, now()) ?? place.pair) !== place.pair);
  const newer = settledOf(known, place.pair, now()) ?? (led && settledOf(known, led.pair, now()));
  if (newer !== undefined) {
    parts.background.run(turns.settle(place, turn, (line) => line, signal).catch(() => undefined));
    return { settled: newer, isNew: false };
  }
  const answer = await holdTurn(parts, turns, turn, { place, exchanging, signal });
  const apply = withAnswer(parts, place, answer, exchanging);
  // With what only this process knows, as after an outage.
  const withOwn = (line: TokenLine): TokenLine => apply(mergeLines(line, memory.get(place.line).line, now()));
  const state = await turns.settle(place, turn, withOwn, signal);
  return conclude(parts, place, exchanging, answer, state);
}

async function holdTurn(
  { background }: LineParts,
  turns: LineTurns,
  turn: Turn,
  { place, exchanging, signal }: { readonly place: Place; readonly exchanging: Exchange; readonly signal: AbortSignal },
): Promise<Exchanged> {
  try {
    return await turns.hold(place, turn, () => exchanging.run(signal), signal);
  } catch (error) {
    background.run(turns.fail(place, turn, error).catch(() => undefined));
    throw error;
  }
}

function conclude(
  parts: LineParts,
  place: Place,
  exchanging: Exchange,
  answer: Exchanged,
  state: KnownLine,
): TokenAnswer {
  const { former = [] } = exchanging;
  const { now, turns, memory, background } = parts;
  // Whose it is, the new tokens say: those that led to them may name any user.
  const { owner } = answer.kind === 'renewed' ? answer.place : place;
  const settled = settledOf(memory.learn({ line: place.line, owner }, state), place.pair, now()) ?? answer;
  if (settled.kind === 'ended') memory.refuse(place, settled.reason);
  // The tokens that led to this one may stand in other lines: without a session id, or under an earlier one.
  for (const name of new Set(former.map(({ line }) => line))) {
    if (name === place.line || answer.kind === 'ended') continue;
    const apply = withAnswer(parts, { ...place, line: name }, answer, exchanging);
    const known = memory.get(name);
    memory.learn({ line: name, owner }, { line: apply(known.line) });
    if (turns !== undefined) background.run(turns.change(name, known, apply).catch(() => undefined));
  }
  return { settled, isNew: isSame(settled, answer) };
}

function isSame(settled: SettledRefresh, answer: Exchanged): boolean {
  return settled.kind === 'renewed' && answer.kind === 'renewed'
    ? settled.text === answer.text
    : settled.kind === answer.kind;
}

/** The line with the answer. */
function withAnswer({ now }: LineParts, { line: name, pair }: Place, answer: Exchanged, { former = [] }: Exchange) {
  return (line: TokenLine): TokenLine => {
    if (answer.kind === 'ended') return refuse(line, pair, answer.reason, now());
    const { text, place, lifeMs } = answer;
    const isForeign = name !== place.line;
    return exchange(line, pair, { newest: place.pair, text, isForeign, lifeMs, held: former[0]?.pair }, now());
  };
}
