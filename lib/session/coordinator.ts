import { createBreaker } from '../tools/breaker.ts';

/** Times in milliseconds since the epoch, by name. */
export type Times = Readonly<Record<string, number>>;

/** A session's line of refresh tokens, as a coordinator keeps it. */
export interface SharedLine {
  /** Identifies this state of the line; empty where nothing is kept. */
  readonly version: string;
  /** The line, as text that only the adapters read. */
  readonly line: string;
  /** The newest tokens: a secret. The shipped coordinator seals them. */
  readonly answer?: string | undefined;
  /** The coordinator's clock, in milliseconds since the epoch: those of the processes may differ. */
  readonly now: number;
}

/** The turn to exchange a token. */
export interface TokenTurn {
  readonly token: string;
  /** Identifies the process' attempt. */
  readonly holder: string;
}

/** The answer to `take`. */
export interface TakenLine extends SharedLine {
  /** Whose turn it is: that of the caller, or of another; `undefined` where one of `unless` is known. */
  readonly holder: string | undefined;
  /** How long a turn lasts if its holder does not take it again, in milliseconds. */
  readonly turnMs: number;
}

/** The next state of a line, and whose turn ends with it, if any. */
export interface LineChange extends Partial<TokenTurn> {
  /** The change applies only to this version; `undefined`: to any. */
  readonly from: string | undefined;
  /** The version from now on. */
  readonly version: string;
  readonly line: string;
  /** What `take` finds by `unless`; with an empty list the line and its answer are dropped. */
  readonly known: readonly string[];
  /** New tokens; without them the former ones stay. */
  readonly answer?: string | undefined;
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
  /** Takes the turn to exchange a token of the line, if it is free, expired or the caller's own, and none of `unless` is known. */
  take(line: string, turn: TokenTurn, unless: readonly string[]): Promise<TakenLine>;
  /** Changes a line and ends a turn, in one step. @returns the standing line where it has another version */
  settle(line: string, change: LineChange): Promise<SharedLine | undefined>;
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
    take: (line, turn, unless) => bound(async () => shared.take(line, turn, unless)),
    settle: (line, change) => bound(async () => shared.settle(line, change)),
    // Absent where a coordinator lacks it, so that it does not seem to succeed.
    ...(shared.isAvailable && { isAvailable: shared.isAvailable.bind(shared) }),
  };
}
