import { LRUCache } from 'lru-cache';
import type { Emit } from './events.ts';

/** A provider's definitive answer, in a form that can travel between processes. */
export type SettledRefresh =
  | { readonly kind: 'renewed'; readonly text: string }
  | { readonly kind: 'ended'; readonly reason: string };

/** Coordination over several processes; the shipped one runs on Redis. */
export interface SharedCoordinator {
  /**
   * Runs `refresh` unless another process does so, or just did, for the same key; resolves to the answer they share.
   *
   * @param key names the refresh token without revealing it
   * @param signal the caller's time budget
   */
  coordinate(key: string, refresh: () => Promise<SettledRefresh>, signal: AbortSignal): Promise<SettledRefresh>;
  /** Leaves a tombstone for a signed-out session. */
  endSession(sessionId: string, ttlMs: number): Promise<void>;
  isEnded(sessionId: string): Promise<boolean>;
}

export interface RefreshCoordinator {
  /**
   * One refresh per token, however many requests wait for it. `isNew` is true for the caller whose refresh was run here and
   * now, false for everybody who shares its answer.
   */
  run(key: string, refresh: () => Promise<SettledRefresh>, signal: AbortSignal): Promise<CoordinatedRefresh>;
  /** The answer that a token got lately, if any. */
  recall(key: string): SettledRefresh | undefined;
}

export interface CoordinatedRefresh {
  readonly settled: SettledRefresh;
  readonly isNew: boolean;
}

/** Requests that were sent with the old cookie arrive this long after the answer. */
const renewedMemoMs = 25_000;
/** A spent token stays spent; remembering it spares the provider a call per request of a client that keeps its cookie. */
const endedMemoMs = 600_000;
const maxMemo = 20_000;

export function createRefreshCoordinator(parts: {
  readonly now: () => number;
  readonly emit: Emit;
  readonly shared: SharedCoordinator | undefined;
}): RefreshCoordinator {
  const { now, emit, shared } = parts;
  const running = new Map<string, Promise<CoordinatedRefresh>>();
  const memo = new LRUCache<string, SettledRefresh>({
    max: maxMemo,
    ttl: renewedMemoMs,
    ttlResolution: 0,
    perf: { now },
  });

  async function overAllProcesses(
    key: string,
    refresh: () => Promise<SettledRefresh>,
    signal: AbortSignal,
  ): Promise<CoordinatedRefresh> {
    let own: Promise<SettledRefresh> | undefined;
    const once = (): Promise<SettledRefresh> => (own ??= refresh());
    if (shared === undefined) return { settled: await once(), isNew: true };
    try {
      const settled = await shared.coordinate(key, once, signal);
      return { settled, isNew: own !== undefined };
    } catch (error) {
      // A refresh that ran and failed is the provider's failure; anything else is the coordinator's, and we go on alone.
      if (own === undefined) emit({ type: 'coordinator_unavailable', operation: describe(error) });
      return { settled: await once(), isNew: true };
    }
  }

  return {
    recall: (key) => memo.get(key),
    run(key, refresh, signal) {
      const settled = memo.get(key);
      if (settled !== undefined) return Promise.resolve({ settled, isNew: false });
      const joined = running.get(key);
      if (joined !== undefined) return joined.then((result) => ({ ...result, isNew: false }));
      const started = overAllProcesses(key, refresh, signal)
        .then((result) => {
          memo.set(key, result.settled, { ttl: result.settled.kind === 'ended' ? endedMemoMs : renewedMemoMs });
          return result;
        })
        .finally(() => running.delete(key));
      running.set(key, started);
      return started;
    },
  };
}

function describe(error: unknown): string {
  return error instanceof Error ? error.name : 'unknown';
}
