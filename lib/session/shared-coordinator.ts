import { answerWithin } from '../core/deadline.ts';
import type { Emit } from './events.ts';

/** A provider's definitive answer, in a form that can travel between processes. */
export type SettledRefresh =
  { readonly kind: 'renewed'; readonly text: string } | { readonly kind: 'ended'; readonly reason: string };

/** Coordination over several processes; the shipped one runs on Redis. */
export interface SharedCoordinator {
  /**
   * Runs `refresh` unless another process does so, or just did, for the same key; resolves to the answer they share. A failure
   * of `refresh` rejects for its caller, and with an `AuthError` for those in other processes who waited for it; anything else
   * that rejects is the coordinator's own failure, and the caller goes on alone.
   *
   * @param key names the refresh token without revealing it
   * @param signal aborts when an answer is no longer waited for, long after the requests that asked have been answered
   */
  coordinate(key: string, refresh: () => Promise<SettledRefresh>, signal: AbortSignal): Promise<SettledRefresh>;
  /**
   * The new tokens reached their browser, so that only requests that were sent before still need the answer. Where a coordinator
   * has this, it keeps an answer until then, for a day at most: a browser may come back hours later, and to another process.
   */
  confirmDelivery?(key: string): Promise<void>;
  /** The session is over; no request gets the answer any more. */
  forget?(key: string): Promise<void>;
  /** Keeps a name for so many milliseconds, such as the id of a session that was signed out. */
  endSession(sessionId: string, ttlMs: number): Promise<void>;
  isEnded(sessionId: string): Promise<boolean>;
  /**
   * Records when `endSession` or `renewSession` was called; of each time the later one stands, also where both are -1. Where a
   * coordinator lacks this and `cutoffsOf`, these calls hold in their own process. Where it has both, sign-outs are recorded here, too,
   * so that a request looks up one record of its session and one of its user.
   *
   * @param subject names a session or a user without revealing the id
   */
  setCutoffs?(subject: string, cutoffs: SessionCutoffs, ttlMs: number): Promise<void>;
  cutoffsOf?(subject: string): Promise<SessionCutoffs | undefined>;
  /**
   * Whether no part of the coordinator is known to be out of reach. Where a coordinator has this, an outage ends with the first call
   * that succeeds while this is true; otherwise with the first call that succeeds.
   */
  isAvailable?(): boolean;
}

/** Times in milliseconds since the epoch, -1 for never. Of a session that was signed out, `endedUntil` is 8,640,000,000,000,000. */
export interface SessionCutoffs {
  /** Sessions that began until then have ended. */
  readonly endedUntil: number;
  /** Access tokens that were issued until then are renewed before they are used. */
  readonly staleUntil: number;
}

/**
 * The same coordinator, with an end to every call that a request, a sign-out or a watched session waits for: a store that never answers
 * counts as out of reach. `coordinate` has its own deadline.
 *
 * @param timeoutMs milliseconds
 */
export function boundCoordinator(shared: SharedCoordinator, timeoutMs: number): SharedCoordinator {
  const late = (): Error => new Error(`The coordinator did not answer within ${timeoutMs} ms`);
  // An asynchronous function also turns what a coordinator throws into a rejection.
  const bound = <Result>(call: () => Promise<Result>): Promise<Result> => answerWithin(call(), timeoutMs, late);
  return {
    coordinate: (key, refresh, signal) => shared.coordinate(key, refresh, signal),
    endSession: (sessionId, ttlMs) => bound(async () => shared.endSession(sessionId, ttlMs)),
    isEnded: (sessionId) => bound(async () => shared.isEnded(sessionId)),
    // What a coordinator lacks is not called, so that it does not seem to answer.
    ...(shared.confirmDelivery && { confirmDelivery: (key) => bound(async () => shared.confirmDelivery?.(key)) }),
    ...(shared.forget && { forget: (key) => bound(async () => shared.forget?.(key)) }),
    ...(shared.setCutoffs && {
      setCutoffs: (subject, cutoffs, ttlMs) => bound(async () => shared.setCutoffs?.(subject, cutoffs, ttlMs)),
    }),
    ...(shared.cutoffsOf && { cutoffsOf: (subject) => bound(async () => shared.cutoffsOf?.(subject)) }),
    ...(shared.isAvailable && { isAvailable: () => shared.isAvailable?.() ?? true }),
  };
}

/** Tells of an outage of the shared coordinator once when it begins and once when it ends. */
export interface OutageReport {
  /** @param operation what the coordinator was asked for */
  failed(operation: 'refresh' | 'switch' | 'tombstone'): void;
  succeeded(): void;
}

export function createOutageReport(
  shared: Pick<SharedCoordinator, 'isAvailable'> | undefined,
  emit: Emit,
): OutageReport {
  let isAway = false;
  return {
    failed(operation) {
      if (!isAway) emit({ type: 'coordinator_unavailable', operation });
      isAway = true;
    },
    succeeded() {
      if (!isAway || isPartAway(shared)) return;
      isAway = false;
      emit({ type: 'coordinator_recovered' });
    },
  };
}

function isPartAway(shared: Pick<SharedCoordinator, 'isAvailable'> | undefined): boolean {
  try {
    return shared?.isAvailable?.() === false;
  } catch {
    // What a coordinator of the application throws here must not cost the answer that it has just given.
    return false;
  }
}

/** Resolves to the fallback where the coordinator is out of reach, or where there is none. */
export type AskShared = <Result>(call: Promise<Result> | undefined, fallback: Result) => Promise<Result>;

export function createAskShared(outages: OutageReport, operation: 'switch' | 'tombstone'): AskShared {
  return async (call, fallback) => {
    if (call === undefined) return fallback;
    try {
      const result = await call;
      outages.succeeded();
      return result ?? fallback;
    } catch {
      outages.failed(operation);
      return fallback;
    }
  };
}
