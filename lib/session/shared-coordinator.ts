import { answerWithin } from '../core/deadline.ts';
import type { Emit } from './events.ts';

/** A provider's definitive answer, in a form that can travel between processes. */
export type SettledRefresh =
  { readonly kind: 'renewed'; readonly text: string } | { readonly kind: 'ended'; readonly reason: string };

/** Coordination over several processes; the shipped one runs on Redis. */
export interface SharedCoordinator {
  /**
   * Runs `refresh` unless another process does so, or just did, for the same key; resolves to the shared
   * answer. If `refresh` fails, its caller gets the error, and waiting callers in other processes get an
   * `AuthError`. Any other rejection is the coordinator's own failure, and the caller continues alone.
   *
   * @param key identifies the refresh token without revealing it
   * @param signal aborts when the answer is no longer needed, long after the requests were answered
   */
  coordinate(key: string, refresh: () => Promise<SettledRefresh>, signal: AbortSignal): Promise<SettledRefresh>;
  /**
   * The browser received the new tokens, so only requests that were sent before still need the answer. A coordinator with this
   * method keeps an answer until then, for at most a day: the browser may return hours later, to another process.
   */
  confirmDelivery?(key: string): Promise<void>;
  /** The session has ended; no request gets the answer any more. */
  forget?(key: string): Promise<void>;
  /** Keeps a name for so many milliseconds, such as the id of a session that was signed out. */
  endSession(sessionId: string, ttlMs: number): Promise<void>;
  isEnded(sessionId: string): Promise<boolean>;
  /**
   * Records when `endSession` or `renewSession` was called; keeps the later of each time, also where both are -1.
   * Without this method and `cutoffsOf`, these calls apply to their own process only. With both, sign-outs are also
   * recorded here, so that a request looks up one record of its session and one of its user.
   *
   * @param subject identifies a session or a user without revealing the id
   */
  setCutoffs?(subject: string, cutoffs: SessionCutoffs, ttlMs: number): Promise<void>;
  cutoffsOf?(subject: string): Promise<SessionCutoffs | undefined>;
  /**
   * Whether no part of the coordinator is known to be unavailable. With this method, an outage ends
   * with the first successful call while it returns true; otherwise with the first successful call.
   */
  isAvailable?(): boolean;
}

/** Times in milliseconds since the epoch, -1 for never. Of a session that was signed out, `endedUntil` is 8,640,000,000,000,000 plus the time. */
export interface SessionCutoffs {
  /** Sessions that began until then have ended. */
  readonly endedUntil: number;
  /** Access tokens that were issued until then are renewed before use. */
  readonly staleUntil: number;
}

/**
 * Bounds every coordinator call that a request, a sign-out or a watched session waits for. `coordinate` has its own deadline.
 *
 * @param timeoutMs milliseconds
 */
export function boundCoordinator(shared: SharedCoordinator, timeoutMs: number): SharedCoordinator {
  const late = (): Error => new Error(`The coordinator did not answer within ${timeoutMs} ms`);
  // The async function also converts a synchronous throw to a rejection.
  const bound = <Result>(call: () => Promise<Result>): Promise<Result> => answerWithin(call(), timeoutMs, late);
  return {
    coordinate: (key, refresh, signal) => shared.coordinate(key, refresh, signal),
    endSession: (sessionId, ttlMs) => bound(async () => shared.endSession(sessionId, ttlMs)),
    isEnded: (sessionId) => bound(async () => shared.isEnded(sessionId)),
    // Optional methods that a coordinator lacks stay absent, so that they do not seem to succeed.
    ...(shared.confirmDelivery && { confirmDelivery: (key) => bound(async () => shared.confirmDelivery?.(key)) }),
    ...(shared.forget && { forget: (key) => bound(async () => shared.forget?.(key)) }),
    ...(shared.setCutoffs && {
      setCutoffs: (subject, cutoffs, ttlMs) => bound(async () => shared.setCutoffs?.(subject, cutoffs, ttlMs)),
    }),
    ...(shared.cutoffsOf && { cutoffsOf: (subject) => bound(async () => shared.cutoffsOf?.(subject)) }),
    ...(shared.isAvailable && { isAvailable: () => shared.isAvailable?.() ?? true }),
  };
}

/** Reports an outage of the shared coordinator once when it begins and once when it ends. */
export interface OutageReport {
  /** @param operation the requested operation */
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
    // An exception in the application's coordinator must not lose the answer that it has just given.
    return false;
  }
}

/** Resolves to the fallback where the coordinator is unavailable or absent. */
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
