import { LRUCache } from 'lru-cache';
import { withDeadline } from '../core/deadline.ts';
import { AuthError } from '../errors.ts';
import type { Emit } from './events.ts';

/** A provider's definitive answer, in a form that can travel between processes. */
export type SettledRefresh =
  { readonly kind: 'renewed'; readonly text: string } | { readonly kind: 'ended'; readonly reason: string };

/** Coordination over several processes; the shipped one runs on Redis. */
export interface SharedCoordinator {
  /**
   * Runs `refresh` unless another process does so, or just did, for the same key; resolves to the answer they share. A failure
   * of `refresh` rejects for its caller and is not shared.
   *
   * @param key names the refresh token without revealing it
   * @param signal the caller's time budget
   */
  coordinate(key: string, refresh: () => Promise<SettledRefresh>, signal: AbortSignal): Promise<SettledRefresh>;
  /** Leaves a tombstone for a signed-out session, for so many milliseconds. */
  endSession(sessionId: string, ttlMs: number): Promise<void>;
  isEnded(sessionId: string): Promise<boolean>;
}

export interface CoordinatedRefresh {
  readonly settled: SettledRefresh;
  /** True for the caller whose refresh was run here and now, false for everybody who shares its answer. */
  readonly isNew: boolean;
}

export interface RefreshCoordinator {
  /**
   * One refresh per token, however many requests wait for it.
   *
   * @throws {AuthError} `provider_unavailable` at the latest when the time budget is spent
   */
  run(key: string, refresh: (signal: AbortSignal) => Promise<SettledRefresh>): Promise<CoordinatedRefresh>;
  /** Whether the token got an answer lately. */
  knows(key: string): boolean;
  /** Keeps an answer that did not reach the browser: the browser still holds the spent token and will come back with it. */
  retain(key: string): void;
}

/** Requests that were sent with the old cookie arrive this long after the answer. */
const renewedMemoMs = 25_000;
/** A spent token stays spent; remembering it spares the provider a call per request of a client that keeps its cookie. */
const endedMemoMs = 10 * 60_000;
const undeliveredMemoMs = 24 * 60 * 60_000;
const maxMemo = 20_000;

export function createRefreshCoordinator(parts: {
  readonly now: () => number;
  readonly emit: Emit;
  readonly timeoutMs: number;
  readonly shared: SharedCoordinator | undefined;
}): RefreshCoordinator {
  const { now, emit, timeoutMs, shared } = parts;
  const running = new Map<string, Promise<CoordinatedRefresh>>();
  const memo = new LRUCache<string, SettledRefresh>({
    max: maxMemo,
    ttl: renewedMemoMs,
    ttlResolution: 0,
    perf: { now },
  });

  async function overAllProcesses(
    key: string,
    refresh: (signal: AbortSignal) => Promise<SettledRefresh>,
    signal: AbortSignal,
  ): Promise<CoordinatedRefresh> {
    let own: Promise<SettledRefresh> | undefined;
    const once = (): Promise<SettledRefresh> => (own ??= refresh(signal));
    if (shared !== undefined) {
      try {
        const settled = await shared.coordinate(key, once, signal);
        return { settled, isNew: own !== undefined };
      } catch (error) {
        // A refresh that ran and failed is the provider's failure; anything else is the coordinator's, and we go on alone.
        if (own === undefined && !signal.aborted) {
          emit({ type: 'coordinator_unavailable', operation: 'refresh' });
        }
        if (signal.aborted) throw error;
      }
    }
    return { settled: await once(), isNew: true };
  }

  async function start(
    key: string,
    refresh: (signal: AbortSignal) => Promise<SettledRefresh>,
  ): Promise<CoordinatedRefresh> {
    try {
      const result = await withDeadline((signal) => overAllProcesses(key, refresh, signal), timeoutMs, outOfTime);
      memo.set(key, result.settled, { ttl: result.settled.kind === 'ended' ? endedMemoMs : renewedMemoMs });
      return result;
    } catch (cause) {
      const error =
        cause instanceof AuthError ? cause : new AuthError('provider_unavailable', { cause, retryAfter: 5 });
      emit({ type: 'refresh_failed', code: error.code });
      throw error;
    } finally {
      running.delete(key);
    }
  }

  return {
    run(key, refresh) {
      const settled = memo.get(key);
      if (settled !== undefined) return Promise.resolve({ settled, isNew: false });
      const joined = running.get(key);
      if (joined !== undefined) return joined.then((result) => ({ ...result, isNew: false }));
      const started = start(key, refresh);
      running.set(key, started);
      return started;
    },
    knows: (key) => memo.has(key),
    retain(key) {
      const settled = memo.get(key);
      if (settled?.kind === 'renewed') memo.set(key, settled, { ttl: undeliveredMemoMs });
    },
  };
}

function outOfTime(): AuthError {
  return new AuthError('provider_unavailable', { retryAfter: 5 });
}
