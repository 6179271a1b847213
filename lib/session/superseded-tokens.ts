import { createBoundedMap } from '../core/bounded-map.ts';
import type { ChangeCount } from '../core/bounded-map.ts';
import { createAskShared } from './shared-coordinator.ts';
import type { OutageReport, SharedCoordinator } from './shared-coordinator.ts';
import type { RefreshCoordinator } from './refresh-coordinator.ts';

export type SupersededTokens = ReturnType<typeof createSupersededTokens>;

const maxTokens = 100_000;
/** As long as every process can get the answer from the coordinator, even after delivery. */
export const sharedMarkMs = 25_000;

/**
 * Refresh tokens of sessions that were switched to another organization while their access tokens
 * were valid. Requests that still carry one get its successor.
 *
 * @param changes counts the tokens that are superseded in this process
 */
export function createSupersededTokens(
  coordinator: Pick<RefreshCoordinator, 'settledKind'>,
  shared: SharedCoordinator | undefined,
  outages: OutageReport,
  now: () => number,
  changes: ChangeCount,
) {
  const superseded = createBoundedMap<true>({ max: maxTokens, ttlMs: sharedMarkMs, now, changes });
  /** Whether it was superseded in this process. */
  const isSuperseded = (key: string): boolean => superseded.has(key);

  const askShared = createAskShared(outages, 'switch');

  return {
    /**
     * @param keys the `refreshKey` of each token
     * @param ttlMs the remaining lifetime of their access tokens, in milliseconds
     */
    async add(keys: readonly string[], ttlMs: number): Promise<void> {
      for (const key of keys) superseded.set(key, true, { ttl: Math.max(ttlMs, sharedMarkMs) });
      await Promise.all(keys.map((key) => askShared(shared?.endSession(markOf(key), sharedMarkMs), undefined)));
    },
    isSuperseded,
    /** Whether it was superseded in any process and its answer is available. `Revocations.check` may rule that out. */
    async hasSuccessor(key: string, mayHaveMarks: boolean): Promise<boolean> {
      if (isSuperseded(key)) return coordinator.settledKind(key) !== undefined;
      return mayHaveMarks && askShared(shared?.isEnded(markOf(key)), false);
    },
  };
}

function markOf(key: string): string {
  return `superseded:${key}`;
}
