import { randomUUID } from 'node:crypto';
import type { Background } from '../../tools/background.ts';
import { AuthError } from '../../errors.ts';
import {
  betweenOf,
  closingMs,
  isFor,
  isKept,
  wasGivenAgain,
  openMs,
  refusedMs,
  superseded,
  weightOf,
} from './answers.ts';
import type { Answer, Answers, Ended, Holder, Renewed } from './answers.ts';
import type { OutageReport } from '../outages.ts';
import { variantRefused } from './refresh-shared.ts';
import type { SharedRefresh, StandingAnswer } from './refresh-shared.ts';

/** The provider's answer to the exchange of a token. */
export type Exchanged = Ended | ExchangedFor;

export interface ExchangedFor extends Pick<Renewed, 'kind' | 'owner' | 'token' | 'text'> {
  /** When the access token was issued, in milliseconds since the epoch. */
  readonly issuedAt: number;
  /** How long the token's holders get it, in milliseconds, if no browser has received it. Default: eight days. */
  readonly lifeMs?: number;
  /** Whether the provider may have given it before, as it was issued before it was asked for. */
  readonly isRepeated?: boolean;
}

/** How a token is exchanged. */
export interface Exchange {
  /** The names of the tokens that led to this one, the browser's own first: their holders get the answer, too. */
  readonly former: readonly string[];
  /** The name of the variant, where this is one. */
  readonly variant?: string | undefined;
  /** Whether this request may exchange the token itself. Otherwise it only gets an answer that is there or under way. */
  readonly mayStart?: () => boolean;
  readonly run: (signal: AbortSignal) => Promise<Exchanged>;
}

export interface Refreshed {
  readonly answer: Renewed | Ended;
  /** True for the caller whose exchange ran here and now, false for callers that get another one's answer. */
  readonly isNew: boolean;
}

/** No answer is there or under way, and the request may not exchange the token itself. */
export class NotStarted extends Error {}

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

/** Tells the other processes, if any, what no request waits for, and once more where that fails. @param send tells what is true by then */
export type Tell = (send: (shared: SharedRefresh) => Promise<unknown> | undefined) => void;

export interface ExchangeParts {
  readonly answers: Answers;
  readonly shared: SharedRefresh | undefined;
  readonly outages: OutageReport;
  readonly background: Background;
  readonly tell: Tell;
}

/**
 * One exchange of a token, in this or another process.
 *
 * @throws whatever the provider, or as an `AuthError` another process, fails with
 */
export async function exchange(
  parts: ExchangeParts,
  holder: Holder,
  exchanging: Exchange,
  signal: AbortSignal,
): Promise<Refreshed> {
  const { answers, shared, outages, tell } = parts;
  const { token } = holder;
  let own: Promise<Exchanged> | undefined;
  const once = (): Promise<Exchanged> => (own ??= exchanging.run(signal));
  if (shared === undefined) return conclude(parts, holder, exchanging, await once(), settleAlone);
  const attempt = randomUUID();
  try {
    const refreshed = await exchangeInTurn(parts, shared, holder, { ...exchanging, attempt, run: once }, signal);
    outages.succeeded();
    return refreshed;
  } catch (error) {
    const known = answers.lastOf(token);
    // The provider gave this token again, so it still works: its last answer is better than none.
    if (known !== undefined && isFor(known, holder)) return { answer: known, isNew: false };
    // An error of the provider's, also in another process' attempt: asking again from every process would not help it recover.
    if (own === undefined && (signal.aborted || error instanceof AuthError)) throw error;
    // It throws where the provider failed; else the coordinator did.
    await own;
    outages.failed('refresh', error);
  }
  // The token is spent, so the answer counts even if it could not be shared. The coordinator may have given the turn before it failed.
  return conclude(parts, holder, exchanging, await once(), (answer, ms) => {
    tell((others) => others.settle(token, { attempt, answer, ms }));
    return settleAlone();
  });
}

/** Shares the token's answer. @param ms how long it stands; `undefined`: only for those who wait for it @returns what stands instead, if anything does */
type Settle = (answer: Answer, ms: number | undefined) => Promise<StandingAnswer | undefined>;

const settleAlone = (): Promise<undefined> => Promise.resolve(undefined);

/** An exchange by one process, under a name of its own. */
interface AttemptedExchange extends Exchange {
  readonly attempt: string;
}

async function exchangeInTurn(
  parts: ExchangeParts,
  shared: SharedRefresh,
  holder: Holder,
  exchanging: AttemptedExchange,
  signal: AbortSignal,
): Promise<Refreshed> {
  const { answers, tell } = parts;
  const { token } = holder;
  const { attempt } = exchanging;
  const taken = await shared.take(token, { holder: attempt, accepts: (answer) => isFor(answer, holder) }, signal);
  if ('answer' in taken) return learn(parts, holder, exchanging, await walkOn(answers, shared, taken));
  // The browser sent an earlier token, the head, which led to this one. Another process may have exchanged this one for it meanwhile:
  // then what the head leads to by now is the answer, and this token's is `by` it.
  const led = await lookAtHead(answers, shared, exchanging);
  if (led !== undefined && isBeyond(answers, token, led)) {
    const by = led.by ?? led.head;
    tell((others) => others.settle(token, { attempt, answer: { kind: 'by', token: by }, ms: led.ms }));
    return learn(parts, holder, exchanging, { ...led, by });
  }
  if (led !== undefined) answers.settle(led.head, led.answer, led.ms);
  // No other process knows more: the provider gave the token again just now, or the coordinator has lost what it led to.
  const recent = answers.lastOf(token);
  if (recent?.kind === 'renewed' && isFor(recent, holder)) {
    tell((others) => others.settle(token, { attempt, answer: recent, ms: undefined }));
    return { answer: recent, isNew: false };
  }
  const exchanged = await holdTurn(parts, shared, holder, { taken, exchanging, signal });
  return conclude(parts, holder, exchanging, exchanged, (answer, ms) => shared.settle(token, { attempt, answer, ms }));
}

/** Where a browser has what the token led to, or may have it, or the provider gave that again, it may have been exchanged since. */
async function walkOn(answers: Answers, shared: SharedRefresh, found: StandingAnswer): Promise<StandingAnswer> {
  let last = found;
  for (let steps = 0; steps < maxSteps; steps += 1) {
    const { answer, ms } = last;
    if (answer.kind !== 'renewed') return last;
    const known = answers.lastOf(answer.token) ?? answer;
    if (ms > closingMs && !wasGivenAgain(known) && answer.isBrought !== true) return last;
    const next = await shared.look(answer.token).catch(() => undefined);
    if (next?.answer.kind !== 'renewed') return last;
    last = { answer: { ...next.answer, steps: answer.steps + next.answer.steps }, ms: Math.min(ms, next.ms) };
    if (next.answer.steps === 0) return last;
  }
  return last;
}

/** As many tokens as requests of one page may still carry, each exchanged within 25 seconds. */
export const maxSteps = 4;

/** The token whose answer is that of all after it: the browser's own one. */
function headOf(answers: Answers, { former: [own] }: Exchange): string | undefined {
  const answer = own === undefined ? undefined : answers.find(own);
  return answer?.kind === 'by' ? answer.token : own;
}

async function lookAtHead(
  answers: Answers,
  shared: SharedRefresh,
  exchanging: Exchange,
): Promise<(StandingAnswer & { readonly head: string }) | undefined> {
  const head = headOf(answers, exchanging);
  if (head === undefined) return undefined;
  const led = await shared.look(head);
  return led && { ...led, head };
}

/** Whether the head leads further than to this token: another process has exchanged it. */
function isBeyond(
  answers: Answers,
  token: string,
  { head, answer }: StandingAnswer & { readonly head: string },
): boolean {
  if (answer.kind !== 'renewed' || answer.token === token) return false;
  const known = answers.find(head);
  if (known === undefined) return true;
  // What is known of the head itself may be older than what is known of a token after it.
  const last = answers.lastOf(answer.token);
  const isOnTheWay =
    answers.formerOf(token).includes(answer.token) || (last?.kind === 'renewed' && last.token === token);
  const steps = answers.wayTo(head, token)?.steps ?? 0;
  return !isOnTheWay && weightOf(answer) > weightOf(known) && answer.steps > steps;
}

async function holdTurn(
  { background }: ExchangeParts,
  shared: SharedRefresh,
  { token }: Holder,
  {
    taken,
    exchanging,
    signal,
  }: {
    readonly taken: Parameters<SharedRefresh['hold']>[1];
    readonly exchanging: AttemptedExchange;
    readonly signal: AbortSignal;
  },
): Promise<Exchanged> {
  try {
    return await shared.hold(token, taken, () => exchanging.run(signal), signal);
  } catch (error) {
    background.run(shared.fail(token, exchanging.attempt, error).catch(() => undefined));
    throw error;
  }
}

/** Whether an answer says that a token is spent. */
function isSpentBy(answer: Answer | undefined): boolean {
  return answer?.kind === 'by' || answer === superseded || (answer?.kind === 'renewed' && answer.steps > 0);
}

/** What became of a token that the provider had given before, if it is spent. */
async function findLater(
  { shared }: ExchangeParts,
  token: string,
  issued: string,
): Promise<Renewed | Ended | undefined> {
  const found = await shared?.look(issued).catch(() => undefined);
  if (found === undefined) return undefined;
  // What was answered by this token led on from it before.
  if (found.by === token) return superseded;
  return isSpentBy(found.answer) ? found.answer : undefined;
}

/** Keeps what another process exchanged a token for. */
export function noteStanding(answers: Answers, token: string, { answer, ms, by }: StandingAnswer): void {
  if (by !== undefined) answers.settle(by, answer, ms);
  const isShort = answer.kind === 'renewed' && answer.steps === 0;
  answers.settle(token, by === undefined ? answer : { kind: 'by', token: by }, isShort ? closingMs : ms);
  if (answer.kind === 'renewed') answers.leads(by === undefined ? [token] : [by, token], answer.token);
}

/** Another process' answer. */
function learn(
  { answers }: ExchangeParts,
  { token }: Holder,
  { former }: Exchange,
  standing: StandingAnswer,
): Refreshed {
  const { answer, ms, by } = standing;
  noteStanding(answers, token, standing);
  if (answer.kind !== 'renewed') return { answer, isNew: false };
  for (const each of by === undefined ? former : []) {
    const [way, leftMs = 0] = [answers.wayTo(each, token), answers.leftOf(each)];
    if (way === undefined) continue;
    answers.settle(each, { ...answer, ...way, steps: way.steps + answer.steps }, Math.min(leftMs, ms));
  }
  return { answer: answers.lastOf(token) ?? answer, isNew: false };
}

/** Keeps the provider's answer, here and by `settle` elsewhere. */
async function conclude(
  parts: ExchangeParts,
  holder: Holder,
  exchanging: Exchange,
  exchanged: Exchanged,
  settle: Settle,
): Promise<Refreshed> {
  const { answers } = parts;
  const { token } = holder;
  if (exchanged.kind === 'ended') return concludeEnded(parts, holder, exchanging, exchanged, settle);
  const { token: issued, isRepeated = false } = exchanged;
  // The provider gives again what it has given before, and that may be spent.
  if (issued !== token && isSpentBy(answers.find(issued)))
    return concludeLater(parts, holder, answers.lastOf(issued) ?? superseded, settle);
  const own = renewedBy(exchanged, token);
  const { lifeMs = openMs } = exchanged;
  const standing = await settle(own, own.steps > 0 && isKept(own) ? lifeMs : undefined);
  if (standing !== undefined) return learn(parts, holder, exchanging, standing);
  // Not before: the turn has ended in time.
  const later = isRepeated ? await findLater(parts, token, issued) : undefined;
  if (later !== undefined) return concludeLater(parts, holder, later, settle);
  keep(parts, token, exchanging, own, lifeMs);
  const last = answers.lastOf(token);
  // The first one that spent the token stays, because others already use it.
  const answer = last === undefined || !isFor(last, holder) ? own : last;
  return { answer, isNew: answer.kind === 'renewed' && answer.text === own.text };
}

/** Keeps the provider's answer here, and leads on those tokens that led to it. */
function keep(parts: ExchangeParts, token: string, exchanging: Exchange, own: Renewed, lifeMs: number): void {
  const { answers } = parts;
  answers.leads([token], own.token);
  // What led to it has ended.
  if (answers.find(token)?.kind === 'by') answers.drop(token);
  answers.settle(token, own, own.steps > 0 ? lifeMs : closingMs);
  leadOn(parts, token, headOf(answers, exchanging), own, lifeMs);
}

async function concludeEnded(
  parts: ExchangeParts,
  holder: Holder,
  exchanging: Exchange,
  ended: Ended,
  settle: Settle,
): Promise<Refreshed> {
  const { answers } = parts;
  const { token } = holder;
  // What this process says itself is no refusal of the provider's, and concerns no other one.
  const standing = await settle(ended, ended.reason === superseded.reason ? undefined : refusedMs);
  if (standing !== undefined) return learn(parts, holder, exchanging, standing);
  answers.settle(token, ended, refusedMs);
  const answer = answers.lastOf(token) ?? ended;
  return { answer, isNew: answer.kind === 'ended' };
}

/** The provider gave again what it had given before, and that is spent: the token leads to what became of that. */
async function concludeLater(
  { answers, tell }: ExchangeParts,
  { token }: Holder,
  later: Renewed | Ended,
  settle: Settle,
): Promise<Refreshed> {
  answers.drop(token);
  if (later.kind === 'ended') {
    await settle(later, undefined);
    tell((others) => others.close(token, 0));
  } else {
    const entry = { ...later, steps: later.steps + 1 };
    await settle(entry, closingMs);
    answers.settle(token, entry, closingMs);
  }
  return { answer: later, isNew: false };
}

function renewedBy({ kind, token, issuedAt, text, owner }: ExchangedFor, from: string): Renewed {
  const renewed = { kind, token, text, owner };
  return token === from ? { ...renewed, steps: 0, reissuedAt: issuedAt } : { ...renewed, steps: 1 };
}

/**
 * Lets the token that the browser still sent lead to what one after it was exchanged for. As there is no telling which of them the browser
 * has received, this one is answered by that one from then on, for as long, and the new tokens are stored once.
 */
function leadOn(
  { answers, tell }: ExchangeParts,
  token: string,
  head: string | undefined,
  own: Renewed,
  lifeMs: number,
): void {
  if (head === undefined) return;
  const way = answers.wayTo(head, token);
  if (way === undefined) return;
  const { between, dropped } = betweenOf(token, way.between);
  const answer: Renewed = { ...own, steps: way.steps + own.steps, between };
  if (!answers.settle(head, answer, lifeMs)) return;
  answers.leads([head], own.token);
  const byHead: Answer = { kind: 'by', token: head };
  const isSpent = own.steps > 0;
  if (isSpent) answers.settle(token, byHead, lifeMs);
  tell(async (others) => {
    const ms = answers.leftOf(head);
    if (ms === undefined) return;
    const standing = await others.settle(head, { answer, ms });
    const isLed = standing === undefined || (standing.answer.kind === 'renewed' && standing.answer.token === own.token);
    if (isLed && isSpent) await others.settle(token, { answer: byHead, ms });
  });
  for (const each of dropped) {
    answers.drop(each);
    tell((others) => others.close(each, 0));
  }
}
