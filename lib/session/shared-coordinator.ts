import { answerWithin } from '../core/deadline.ts';
import type { Emit } from './events.ts';
import type { SessionRecord } from './record.ts';

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
   * The browser received the new tokens, so only requests that were sent before still need the answer. A coordinator
   * keeps an answer until then, for at most a day: the browser may return hours later, to another process.
   */
  confirmDelivery(key: string): Promise<void>;
  /** The session has ended; no request gets the answer any more. */
  forget(key: string): Promise<void>;
  /**
   * The record of a session or a user: times in milliseconds since the epoch, by name; `undefined` where there is none.
   *
   * @param subject identifies a session or a user without revealing the id
   */
  read(subject: string): Promise<SessionRecord | undefined>;
  /**
   * Adds times to a record: of each name, the later time stays. The record keeps the longer lifetime, also of an earlier call.
   * Of the names with the same text before a colon, a coordinator may drop all but the eight latest.
   */
  merge(subject: string, change: SessionRecord, ttlMs: number): Promise<void>;
  /**
   * Whether no part of the coordinator is known to be unavailable. With this method, an outage ends
   * with the first successful call while it returns true; otherwise with the first successful call.
   */
  isAvailable?(): boolean;
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
    confirmDelivery: (key) => bound(async () => shared.confirmDelivery(key)),
    forget: (key) => bound(async () => shared.forget(key)),
    read: (subject) => bound(async () => shared.read(subject)),
    merge: (subject, change, ttlMs) => bound(async () => shared.merge(subject, change, ttlMs)),
    // Absent where a coordinator lacks it, so that it does not seem to succeed.
    ...(shared.isAvailable && { isAvailable: () => shared.isAvailable?.() ?? true }),
  };
}

/** Reports an outage of the shared coordinator once when it begins and once when it ends. */
export interface OutageReport {
  /** @param operation the requested operation */
  failed(operation: 'refresh' | 'record'): void;
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

export function createAskShared(outages: OutageReport): AskShared {
  return async (call, fallback) => {
    if (call === undefined) return fallback;
    try {
      const result = await call;
      outages.succeeded();
      return result ?? fallback;
    } catch {
      outages.failed('record');
      return fallback;
    }
  };
}
