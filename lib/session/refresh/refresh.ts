import { createBoundedMap } from '../../tools/bounded-map.ts';
import { noBackground } from '../../tools/background.ts';
import type { Background } from '../../tools/background.ts';
import { withDeadline } from '../../tools/deadline.ts';
import { AuthError, causeOf } from '../../errors.ts';
import { closingMs, createAnswers, isFor, openMs, wasGivenAgain, weightOf } from './answers.ts';
import type { Ended, Holder, Renewed } from './answers.ts';
import type { SharedCoordinator } from '../coordinator.ts';
import type { Emit } from '../events.ts';
import { exchange, maxSteps, NotStarted, noteStanding, VariantRefused } from './exchange.ts';
import type { Exchange, ExchangeParts, Refreshed, Tell } from './exchange.ts';
import { createOutageReport, createTelling } from '../outages.ts';
import type { OutageReport, Telling } from '../outages.ts';
import { createSharedRefresh } from './refresh-shared.ts';
import type { SharedRefresh } from './refresh-shared.ts';

/** A session's newest token that this process has seen. */
interface Newest {
  readonly token: string;
  /** When its access token was issued, in milliseconds since the epoch. */
  readonly issuedAt: number;
}

export type Refresh = ReturnType<typeof createRefresh>;

/** Longer than the duration of any request. */
const newestMs = 10 * 60_000;
/** Long enough for a slow answer, and short enough to resend the same token within a replay window of 30 seconds. */
const defaultCallLifeMs = 25_000;
const defaultRestSeconds = 5;
const maxRestSeconds = 60;
/**
 * For how long this process relies on its own knowledge of a spent token, in milliseconds: another one may exchange what it led to.
 * Most requests that carry a spent token come within it, in the burst of a page.
 */
const sureMs = 1_000;
/** About 250 bytes each. */
const maxTokens = 20_000;

/**
 * Exchanges tokens: one call per token, however many requests and processes ask for it, and its answer for every holder of the token.
 *
 * ```
 *   newest ──exchange──▶ open ──a browser has the newer one──▶ closing ──25 seconds──▶ unknown: the provider is asked again
 *     │                    └────────────────eight days──────────────────────────────────▲
 *     └────refused──▶ ten minutes
 * ```
 *
 * Where the provider gives the same refresh token again, nothing was spent: its answer is kept for 25 seconds, for holders of older
 * tokens. Any later one asks once more.
 */
export function createRefresh(settings: {
  readonly now: () => number;
  readonly emit: Emit;
  /** After this time without an answer an exchange counts as failed until the answer arrives. */
  readonly timeoutMs: number;
  readonly callLifeMs?: number;
  readonly shared: SharedCoordinator | undefined;
  readonly outages?: OutageReport;
  readonly background?: Background;
}) {
  const { now, emit, shared: coordinator, background = noBackground } = settings;
  const { outages = createOutageReport(coordinator, emit) } = settings;
  const answers = createAnswers(now);
  const resting = createBoundedMap<true>({ max: maxTokens, ttlMs: defaultRestSeconds * 1000, now });
  const shared = coordinator && createSharedRefresh(coordinator);
  const tell =
    shared === undefined
      ? () => undefined
      : createTell(shared, createTelling('refresh', outages, background), background);
  const parts: ExchangeParts = { answers, shared, outages, background, tell };

  const { settled, isLed, ask, confirm } = createKnown(parts, now);
  const flights = createFlights({ start: createStart(parts, settings, resting), settled, confirm, background });
  return {
    /**
     * Exchanges a token once, however many requests ask for it. A slow call continues after its first caller stopped waiting, and later
     * callers join it. Its answer always counts, because the token is spent.
     *
     * @throws {AuthError} `provider_unavailable` after 25 seconds, or the longer `timeoutMs`; callers decide how long they wait
     * @throws {VariantRefused} for callers with this variant
     * @throws {NotStarted} where the request may not exchange the token itself, and no other one does
     */
    run: (holder: Holder, exchanging: Exchange): Promise<Refreshed> => flights.run(holder, exchanging),
    /** Whether the token's answer is available or pending, so that `run` starts nothing. */
    knows: (holder: Holder): boolean => settled(holder) !== undefined || flights.has(holder.token),
    /** The holder's answer, where it is available. */
    settled,
    isLed,
    /** Learns what another process exchanged a token for, and whether the others were heard. Never rejects. */
    ask,
    findNewer: createFindNewer(answers, ask, flights.pending),
    /** Whether an exchange failed recently, so that only a request that needs it should start the next one. */
    isResting: (token: string): boolean => resting.has(token),
    ...createNewest(now),
    ...createTold(parts),
  };
}

/** What this process knows of a token's answer, and how it learns what the other processes know. */
function createKnown({ answers, shared }: ExchangeParts, now: () => number) {
  function settled(holder: Holder): Renewed | Ended | undefined {
    const answer = answers.lastOf(holder.token);
    if (answer === undefined || !isFor(answer, holder)) return undefined;
    // Where the provider gave the token again, another process may have exchanged it since.
    return shared === undefined || !wasGivenAgain(answer) ? answer : undefined;
  }

  /** @returns whether the other processes were heard, and none exchanges the token now */
  async function look(token: string): Promise<boolean> {
    const found = await shared?.lookNow(token).catch(() => 'unheard' as const);
    if (found === 'unheard' || found === 'under way') return false;
    if (found !== undefined) noteStanding(answers, token, found);
    return true;
  }

  /** Late requests of one page ask once. */
  const asking = new Map<string, Promise<boolean>>();
  function ask(token: string): Promise<boolean> {
    const asked = asking.get(token) ?? look(token).finally(() => asking.delete(token));
    asking.set(token, asked);
    return asked;
  }

  /** The answer by what other processes did lately, too. */
  async function confirm(holder: Holder, known: Renewed | Ended): Promise<Renewed | Ended> {
    const sureUntil = (answers.sureSince(holder.token) ?? -Infinity) + sureMs;
    if (shared === undefined || known.kind === 'ended' || now() < sureUntil) return known;
    let last = known;
    for (let steps = 0; steps < maxSteps; steps += 1) {
      await ask(last.token);
      // It is as new as can be, also where the provider gave the token again.
      const next = answers.lastOf(holder.token);
      if (next === undefined || !isFor(next, holder) || next.kind === 'ended' || next.token === last.token) break;
      last = next;
    }
    answers.confirm(holder.token);
    return last;
  }

  /** Whether the holder's token is spent, as far as this process knows. */
  function isLed(holder: Holder): boolean {
    const last = answers.lastOf(holder.token);
    return settled(holder) !== undefined || (last?.kind === 'renewed' && last.token !== holder.token);
  }

  return { settled, isLed, ask, confirm };
}

/** Whether the holder's token was exchanged lately, by all that the other processes know, too. An exchange that is under way here counts. */
function createFindNewer(
  answers: ExchangeParts['answers'],
  ask: (token: string) => Promise<boolean>,
  pending: (token: string) => Promise<unknown>,
) {
  return async (holder: Holder): Promise<boolean | undefined> => {
    await pending(holder.token);
    const isHeard = await ask(holder.token);
    const last = answers.lastOf(holder.token);
    if (last?.kind === 'renewed' && isFor(last, holder)) return true;
    return isHeard ? false : undefined;
  };
}

/** One call per token at a time. */
function createFlights({
  start,
  settled,
  confirm,
  background,
}: Pick<ReturnType<typeof createKnown>, 'settled' | 'confirm'> & {
  readonly start: (holder: Holder, exchanging: Exchange) => Promise<Refreshed>;
  readonly background: Background;
}) {
  const flights = new Map<string, Promise<Refreshed>>();

  /** @param isLater whether the call began after this holder asked, so that its answer is as new as any */
  async function join(
    flight: Promise<Refreshed>,
    holder: Holder,
    exchanging: Exchange,
    isLater: boolean,
  ): Promise<Refreshed> {
    const refreshed = await flight.catch((error: unknown) => {
      if (error instanceof VariantRefused && error.variant !== exchanging.variant) return undefined;
      throw error;
    });
    if (refreshed === undefined) return run(holder, exchanging);
    const { answer, isNew } = refreshed;
    return isFor(answer, holder) || (isLater && isNew) ? { answer, isNew: false } : run(holder, exchanging, true);
  }

  function run(holder: Holder, exchanging: Exchange, isLater = false): Promise<Refreshed> {
    const known = settled(holder);
    if (known !== undefined) return confirm(holder, known).then((answer) => ({ answer, isNew: false }));
    const joined = flights.get(holder.token);
    if (joined !== undefined) return join(joined, holder, exchanging, isLater);
    if (exchanging.mayStart?.() === false) return Promise.reject(new NotStarted());
    const flight = start(holder, exchanging).finally(() => flights.delete(holder.token));
    flights.set(holder.token, flight);
    background.outlive(flight);
    return flight;
  }

  return {
    run,
    has: (token: string): boolean => flights.has(token),
    /** Resolves when no exchange is under way. Never rejects. */
    pending: async (token: string): Promise<unknown> => flights.get(token)?.catch(() => undefined),
  };
}

/** The newest token of each session that this process has seen. */
function createNewest(now: () => number) {
  const newest = createBoundedMap<Newest>({ max: maxTokens, ttlMs: newestMs, now });
  return {
    /**
     * This process has seen a later token of the session since, so that a late request carries this one: its browser has the newer
     * one, and the session continues. A token that is later still is that of a new sign-in into the same session.
     *
     * @param issuedAt of the token, in milliseconds since the epoch
     */
    isSuperseded(session: string | undefined, token: string, issuedAt: number): boolean {
      const known = session === undefined ? undefined : newest.get(session);
      return known !== undefined && known.issuedAt >= issuedAt && known.token !== token;
    },
    /** Notes that this process has seen a session's token, and which ones it replaced: it is newer, also where the provider's clock went back. */
    note(session: string | undefined, { token, issuedAt }: Newest, replaced: readonly Pick<Holder, 'token'>[]): void {
      if (session === undefined) return;
      const known = newest.get(session);
      // A request that waited may bring an older one.
      if (known === undefined || issuedAt >= known.issuedAt) newest.set(session, { token, issuedAt });
      else if (replaced.some((each) => each.token === known.token))
        newest.set(session, { token, issuedAt: known.issuedAt });
    },
  };
}

/**
 * Gives requests with a spent token its successor, where no refresh produced it: for eight days, because the response that brings it
 * may be lost, until a browser has it.
 */
function createFollow({ answers, tell }: ExchangeParts) {
  return (token: string, next: Pick<Renewed, 'owner' | 'token' | 'text'>): void => {
    if (token === next.token) return;
    for (const each of [token, ...answers.formerOf(token)]) {
      const [steps, leftMs = 0] =
        each === token ? [0, openMs] : [answers.wayTo(each, token)?.steps, answers.leftOf(each)];
      if (steps === undefined) continue;
      const answer: Renewed = { kind: 'renewed', ...next, steps: steps + 1, isBrought: true };
      // A browser has this token already where the answers of those that led to it are about to end.
      const ms = leftMs > closingMs ? openMs : closingMs;
      const known = answers.settle(each, answer, ms) ? undefined : answers.lastOf(each);
      for (const [from, further] of beyond(each, answer, known)) answers.settle(from, further, ms);
      tell(async (others) => {
        const standing = await others.settle(each, { answer, ms });
        for (const [from, further] of beyond(each, answer, standing?.answer)) {
          answers.settle(from, further, ms);
          await others.settle(from, { answer: further, ms });
        }
      });
    }
    answers.leads([token], next.token);
  };
}

/** The token was exchanged meanwhile, for one that is spent, too: both lead on. */
function beyond(token: string, answer: Renewed, known: Renewed | Ended | undefined): readonly [string, Renewed][] {
  if (known?.kind !== 'renewed' || known.token === answer.token) return [];
  return [
    [token, { ...answer, steps: known.steps + 1 }],
    [known.token, { ...answer, steps: 1 }],
  ];
}

/** What becomes of a token otherwise: no request fails because the other processes do not hear of it. */
function createTold(parts: ExchangeParts) {
  const { answers, tell } = parts;
  /** A browser has the newest token: only requests that were sent before carry those that led to it. */
  function received(newest: string, led: readonly string[] = []): void {
    for (const token of new Set([...led, ...answers.formerOf(newest)])) {
      const last = answers.lastOf(token);
      const closed = last?.kind === 'renewed' && last.token === newest ? answers.close(token) : undefined;
      if (closed !== undefined) tell((others) => others.close(token, closingMs, weightOf(closed)));
    }
  }

  return {
    /** A browser has this token. @param led tokens that led to it, as far as the caller knows */
    received,
    follow: createFollow(parts),
    /** The token's sign-in has ended; no request gets its answer any more. */
    forget(token: string): void {
      for (const each of [token, ...answers.formerOf(token)]) {
        answers.drop(each);
        tell((others) => others.close(each, 0));
      }
    },
    /** The same, in this process alone: the others find out by themselves. */
    drop: (token: string): void => answers.drop(token),
  };
}

function createTell(shared: SharedRefresh, telling: Telling, background: Background): Tell {
  return (send) => background.run(telling(() => send(shared)));
}

/** One exchange with its deadline, its event and its rest after a failure. */
function createStart(
  parts: ExchangeParts,
  { emit, timeoutMs, callLifeMs }: { readonly emit: Emit; readonly timeoutMs: number; readonly callLifeMs?: number },
  resting: {
    set(token: string, value: true, options: { readonly ttl: number }): unknown;
    delete(token: string): unknown;
  },
) {
  const lifeMs = Math.max(callLifeMs ?? defaultCallLifeMs, timeoutMs);

  return async (holder: Holder, exchanging: Exchange): Promise<Refreshed> => {
    const { token } = holder;
    let isReported = false;
    const report = (error: AuthError): void => {
      resting.set(token, true, { ttl: restMs(error) });
      if (!isReported) emit({ type: 'refresh_failed', ...causeOf(error) });
      isReported = true;
    };
    const slow = setTimeout(() => report(outOfTime()), timeoutMs).unref();
    // Kept here and not after the deadline: whenever the answer arrives, the old token is spent.
    const work = async (signal: AbortSignal): Promise<Refreshed> => {
      const refreshed = await exchange(parts, holder, exchanging, signal);
      resting.delete(token);
      return refreshed;
    };
    try {
      return await withDeadline(work, lifeMs, outOfTime);
    } catch (cause) {
      if (cause instanceof VariantRefused) throw cause;
      const error = cause instanceof AuthError ? cause : outOfTime(cause);
      report(error);
      throw error;
    } finally {
      clearTimeout(slow);
    }
  };
}

function restMs({ retryAfter = defaultRestSeconds }: AuthError): number {
  return Math.min(Math.max(retryAfter, 1), maxRestSeconds) * 1000;
}

function outOfTime(cause?: unknown): AuthError {
  return new AuthError('provider_unavailable', { cause, reason: 'timeout', retryAfter: 5 });
}
