import { noBackground } from '../tools/background.ts';
import type { Background } from '../tools/background.ts';
import { withDeadline } from '../tools/deadline.ts';
import { AuthError, causeOf } from '../errors.ts';
import type { AdapterName } from '../types.ts';
import type { Emit } from './events.ts';
import { createLineMemory } from './line-memory.ts';
import { createLineTurns } from './line-turns.ts';
import { hash } from './record.ts';
import { createOutageReport } from './outages.ts';
import type { OutageReport } from './outages.ts';
import type { SharedCoordinator } from './coordinator.ts';
import type { StoredSession } from './source.ts';
import { exchangeToken, VariantRefused } from './token-exchange.ts';
import type { Exchange, LineParts, TokenAnswer } from './token-exchange.ts';
import { deliver, exchange, forgetPair, pairOf, present } from './token-line.ts';
import type { Place, SettledRefresh, TokenLine } from './token-line.ts';

export type { Place, SettledRefresh } from './token-line.ts';
export type { Exchanged, TokenAnswer } from './token-exchange.ts';

/** One line of tokens per session: one exchange per token, delivery, and rest after a failure. */
export interface TokenLines {
  /**
   * Runs one exchange per pair, however many requests ask for it, and one at a time per refresh token. A slow call continues after its first
   * caller stopped waiting, and later callers join it. Its answer always counts, because the token is spent.
   *
   * @throws {AuthError} `provider_unavailable` after 25 seconds, or the longer `timeoutMs`; callers decide how long they wait
   * @throws {VariantRefused} for callers with this variant
   */
  run(place: Place, exchanging: Exchange): Promise<TokenAnswer>;
  /** Whether the pair's answer is available or pending, so that `run` starts nothing. */
  knows(place: Place): boolean;
  /** The pair's answer, where it is available. */
  settled(place: Place): SettledRefresh | undefined;
  /** Whether an exchange failed recently, so that only a request that needs it should start the next one. */
  isResting(place: Place): boolean;
  /**
   * This process has seen a later token of the session since, so that a late request carries this one: its browser has the newer
   * one, and the session continues. A token that is later still is that of a new sign-in into the same session.
   *
   * @param issuedAt of the token, in milliseconds since the epoch
   */
  isSuperseded(place: Place, issuedAt: number): boolean;
  /** Notes that this process has seen tokens, and where those stand that led to them. @param issuedAt in milliseconds since the epoch */
  note(place: Place, issuedAt: number, replaced: readonly Place[]): void;
  /** Gives requests with a spent token its successor, where no refresh produced it. */
  follow(place: Place, newest: Place, text: string): void;
  /** A browser received a pair: only requests that were sent before carry the one that it replaces. */
  deliver(place: Place, newest: string): void;
  /** A request carries a token that was verified: its browser has received it. */
  present(place: Place): void;
  /** The session has ended; no request gets its tokens any more. */
  forget(place: Place): void;
  /** A sign-in has ended; no request gets its tokens any more. The session may have a later sign-in. */
  forgetPair(place: Place): void;
}

/** Long enough for a slow answer, and short enough to resend the same token within a replay window of 30 seconds. */
const defaultCallLifeMs = 25_000;
const defaultRestSeconds = 5;
const maxRestSeconds = 60;

export function createTokenLines(settings: {
  readonly now: () => number;
  readonly emit: Emit;
  /** After this time without an answer an exchange counts as failed until the answer arrives. */
  readonly timeoutMs: number;
  readonly callLifeMs?: number;
  readonly shared: SharedCoordinator | undefined;
  readonly outages?: OutageReport;
  readonly background?: Background;
}): TokenLines {
  const { now, emit, shared } = settings;
  const { outages = createOutageReport(shared, emit), background = noBackground } = settings;
  const memory = createLineMemory(now);
  const parts: LineParts = { now, turns: shared && createLineTurns(shared, now), outages, background, memory };
  const flights = new Map<string, Flight>();
  const start = createStart(parts, settings);

  /** @param isLater whether the call began after this request came with its pair, so that its answer is newer than any pair of its token */
  async function join(flight: Flight, place: Place, exchanging: Exchange, isLater: boolean): Promise<TokenAnswer> {
    const answer = await flight.landing.catch((error: unknown) => {
      if (error instanceof VariantRefused && error.variant !== exchanging.variant) return undefined;
      throw error;
    });
    if (answer === undefined) return run(place, exchanging);
    // Another pair's answer may be older than this pair, where the provider gives a token again. Whose token it is, its line says.
    const isAnswer = flight.place.pair === place.pair || (isLater && answer.isNew);
    const settled = isAnswer ? answer.settled : memory.find({ ...place, line: flight.place.line });
    return settled === undefined ? run(place, exchanging, true) : { settled, isNew: false };
  }

  function run(place: Place, exchanging: Exchange, isLater = false): Promise<TokenAnswer> {
    const settled = memory.find(place);
    if (settled !== undefined) return Promise.resolve({ settled, isNew: false });
    const joined = flights.get(place.token);
    if (joined !== undefined) return join(joined, place, exchanging, isLater);
    const landing = start(place, exchanging).finally(() => flights.delete(place.token));
    flights.set(place.token, { place, landing });
    background.outlive(landing);
    return landing;
  }

  return {
    run: (place, exchanging) => run(place, exchanging),
    knows: (place) => memory.find(place) !== undefined || flights.get(place.token)?.place.pair === place.pair,
    settled: (place) => memory.find(place),
    isResting: memory.isResting,
    isSuperseded(place, issuedAt) {
      const newest = memory.newestOf(place);
      return newest !== undefined && newest.issuedAt >= issuedAt && newest.token !== place.token;
    },
    note: ({ line, token }, issuedAt, replaced) => memory.noteNewest(line, { token, issuedAt }, replaced),
    ...createChanges(parts),
  };
}

/** One call for a refresh token. */
interface Flight {
  readonly place: Place;
  readonly landing: Promise<TokenAnswer>;
}

/** One exchange with its deadline, its event and its rest after a failure. */
function createStart(
  parts: LineParts,
  { emit, timeoutMs, callLifeMs }: { readonly emit: Emit; readonly timeoutMs: number; readonly callLifeMs?: number },
) {
  const lifeMs = Math.max(callLifeMs ?? defaultCallLifeMs, timeoutMs);
  const { memory } = parts;

  return async (place: Place, exchanging: Exchange): Promise<TokenAnswer> => {
    let isReported = false;
    const report = (error: AuthError): void => {
      memory.rest(place, restMs(error));
      if (!isReported) emit({ type: 'refresh_failed', ...causeOf(error) });
      isReported = true;
    };
    const slow = setTimeout(() => report(outOfTime()), timeoutMs).unref();
    // Stored here and not after the deadline: whenever the answer arrives, the old token is spent.
    const work = async (signal: AbortSignal): Promise<TokenAnswer> => {
      const answer = await exchangeToken(parts, place, exchanging, signal);
      memory.stopResting(place);
      return answer;
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

/** What else changes a line: no request fails because the other processes do not hear of it. */
function createChanges({
  now,
  turns,
  outages,
  background,
  memory,
}: LineParts): Pick<TokenLines, 'deliver' | 'follow' | 'forget' | 'forgetPair' | 'present'> {
  function tell(told: Promise<unknown> | undefined): void {
    if (told === undefined) return;
    background.run(told);
    told.then(
      () => outages.succeeded(),
      (error: unknown) => outages.failed('refresh', error),
    );
  }

  function change(place: Place, apply: (line: TokenLine) => TokenLine): void {
    const known = memory.get(place.line);
    const line = apply(known.line);
    if (line === known.line) return;
    memory.replace(place, { ...known, line });
    tell(turns?.change(place.line, known, apply));
  }

  return {
    follow({ line: name, pair }, { line: newestLine, pair: newest, owner }, text) {
      const apply = (line: TokenLine): TokenLine => {
        const isKnown = line.spent.some((each) => each.pair === pair);
        const followed = exchange(line, pair, { newest, text, isForeign: newestLine !== name }, now());
        // The response to this request carries the tokens, so only requests under way need them.
        return isKnown ? followed : deliver(followed, pair, newest, now());
      };
      const known = memory.get(name);
      memory.learn({ line: name, owner }, { line: apply(known.line) });
      tell(turns?.change(name, known, apply));
    },
    deliver: (place, newest) => change(place, (known) => deliver(known, place.pair, newest, now())),
    present: (place) => change(place, (known) => present(known, place.pair, now())),
    forgetPair: (place) => change(place, (known) => forgetPair(known, place.pair, now())),
    forget(place) {
      memory.forget(place);
      tell(turns?.forget(place.line));
    },
  };
}

function restMs({ retryAfter = defaultRestSeconds }: AuthError): number {
  return Math.min(Math.max(retryAfter, 1), maxRestSeconds) * 1000;
}

function outOfTime(cause?: unknown): AuthError {
  return new AuthError('provider_unavailable', { cause, reason: 'timeout', retryAfter: 5 });
}

/** Where a session's tokens stand. */
export function placeOf(
  adapter: AdapterName,
  {
    refreshToken,
    sessionId,
    userId,
    token: { text },
  }: Pick<StoredSession<unknown>, 'refreshToken' | 'sessionId' | 'token'> & { readonly userId?: string | undefined },
): Place {
  const token = `${adapter}:${hash(refreshToken)}`;
  // An access token differs from others by the end of its signature.
  const pair = pairOf(token, hash(text.slice(-43)).slice(0, 22));
  return {
    line: sessionId === undefined ? token : `${adapter}:session:${hash(sessionId)}`,
    token,
    pair,
    ...(userId !== undefined && { owner: hash(userId) }),
  };
}
