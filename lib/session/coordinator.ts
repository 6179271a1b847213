import { AuthError } from '../errors.ts';
import { createBreaker } from '../tools/breaker.ts';

/** Times in milliseconds since the epoch, by name. */
export type Times = Readonly<Record<string, number>>;

/** Whose turn it is to exchange a token, or to ask what is asked only once. */
export interface TokenTurn {
  /** Identifies the caller's attempt. */
  readonly holder: string;
  /** The attempt that the caller has waited for: its outcome is an answer, too. */
  readonly awaited?: string | undefined;
}

/** The answer to `take`. */
export interface TakenToken {
  /** What became of the token, as text that only the adapters read: a secret. The shipped coordinator seals it. It comes with no turn. */
  readonly answer?: string | undefined;
  /** How long the answer still stands, in milliseconds. */
  readonly ttlMs?: number | undefined;
  /** Whose turn it is where nothing stands: the caller's, or that of another attempt. */
  readonly holder?: string | undefined;
  /** How long a turn lasts if its holder does not take it again, in milliseconds. */
  readonly turnMs: number;
}

/** What became of a token. */
export interface TokenChange {
  /** The attempt whose turn ends. */
  readonly holder?: string | undefined;
  /** Without one, the answer that stands ends after `ttlMs` at the latest, unless its weight is greater. */
  readonly answer?: string | undefined;
  /**
   * An answer stays unless one of a greater weight comes. One of weight 0 is the outcome of this attempt alone: only those who have
   * waited for it get it, and it hinders no later answer. Left out without an answer: whatever stands ends.
   */
  readonly weight?: number | undefined;
  /** How long the answer stands, in milliseconds, by the coordinator's own clock. */
  readonly ttlMs: number;
}

/** Coordination over several processes; the shipped one runs on Redis. Names reveal no session, user or token. */
export interface SharedCoordinator {
  /** The record of a session or a user; `undefined` where there is none. */
  read(subject: string): Promise<Times | undefined>;
  /**
   * Adds times to a record: of each name, the later time stays. The record keeps the longer lifetime, also of an earlier call.
   * Of the names with the same text before a colon, a coordinator may drop all but the eight latest.
   */
  merge(subject: string, change: Times, ttlMs: number): Promise<void>;
  /** Takes the turn to exchange a token, if no answer stands and the turn is free, expired or the caller's own. Without `turn` it only looks. */
  take(token: string, turn?: TokenTurn): Promise<TakenToken>;
  /** Says what became of a token, and ends a turn, in one step. @returns the answer that stays instead, where one does */
  settle(token: string, change: TokenChange): Promise<string | undefined>;
  /**
   * Whether no part of the coordinator is known to be unavailable. With this method, an outage ends
   * with the first successful call while it returns true; otherwise with the first successful call.
   */
  isAvailable?(): boolean;
}

/** What a call has of a request's time: the three or four of a refresh, in turn, leave some for the provider. */
const shareOfCall = 1 / 5;
/** What a coordinator once has to start, as new connections are slow on a busy machine. */
const shareOfStart = 1 / 3;
/** How long a coordinator that did not answer in time is left alone, so that a request waits for it once. */
const pauseMs = 1_000;

/** Bounds every coordinator call that a request, a sign-out or a watched session waits for. @param timeoutMs a request's time, in milliseconds */
export function boundCoordinator(shared: SharedCoordinator, timeoutMs: number): SharedCoordinator {
  const breaker = createBreaker({
    partOf: () => '',
    timeoutMs: Math.ceil(timeoutMs * shareOfCall),
    firstTimeoutMs: Math.ceil(timeoutMs * shareOfStart),
    pauseMs,
    now: () => performance.now(),
  });
  const bound = <Result>(call: () => Promise<Result>): Promise<Result> => breaker.run('', call);
  // The async functions also convert a synchronous throw to a rejection.
  return {
    read: (subject) => bound(async () => shared.read(subject)),
    merge: (subject, change, ttlMs) => bound(async () => shared.merge(subject, change, ttlMs)),
    take: (token, turn) => bound(async () => shared.take(token, turn)),
    settle: (token, change) => bound(async () => shared.settle(token, change)),
    // Absent where a coordinator lacks it, so that it does not seem to succeed.
    ...(shared.isAvailable && { isAvailable: shared.isAvailable.bind(shared) }),
  };
}

/** @param cause what the coordinator failed with */
export function coordinatorUnavailable(cause?: unknown): AuthError {
  return new AuthError('provider_unavailable', { cause, reason: 'coordinator', retryAfter: 5 });
}
