import { createBoundedMap } from '../core/bounded-map.ts';
import { createAskShared } from './outage-report.ts';
import type { OutageReport } from './outage-report.ts';
import type { RefreshCoordinator, SharedCoordinator } from './refresh-coordinator.ts';

/**
 * Refresh tokens of sessions that were switched to another organization while their access tokens were good. Requests that
 * still carry one get the answer that replaced it.
 */
export interface SupersededTokens {
  /**
   * @param keys the `refreshKey` of each token
   * @param ttlMs how long access tokens that came with them may be valid, in milliseconds
   */
  add(keys: readonly string[], ttlMs: number): Promise<void>;
  /** Whether it was superseded in this process. */
  isSuperseded(key: string): boolean;
  /** Whether it was superseded in any process, and the coordinator has the answer that replaced it. `Revocations.check` may rule that out. */
  hasSuccessor(key: string, mayHaveMarks: boolean): Promise<boolean>;
}

const maxTokens = 100_000;
/** As long as every process can ask the coordinator for the answer, whether or not it was delivered. */
export const sharedMarkMs = 25_000;

export function createSupersededTokens(
  coordinator: Pick<RefreshCoordinator, 'settledKind'>,
  shared: SharedCoordinator | undefined,
  outages: OutageReport,
  now: () => number,
): SupersededTokens {
  const superseded = createBoundedMap<true>({ max: maxTokens, ttlMs: sharedMarkMs, now });
  const isSuperseded = (key: string): boolean => superseded.size > 0 && superseded.has(key);

  const askShared = createAskShared(outages, 'switch');

  return {
    async add(keys, ttlMs) {
      for (const key of keys) superseded.set(key, true, { ttl: Math.max(ttlMs, sharedMarkMs) });
      await Promise.all(keys.map((key) => askShared(shared?.endSession(markOf(key), sharedMarkMs), undefined)));
    },
    isSuperseded,
    async hasSuccessor(key, mayHaveMarks) {
      if (isSuperseded(key)) return coordinator.settledKind(key) !== undefined;
      return mayHaveMarks && askShared(shared?.isEnded(markOf(key)), false);
    },
  };
}

function markOf(key: string): string {
  return `superseded:${key}`;
}
