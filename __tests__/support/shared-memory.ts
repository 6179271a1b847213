import { mergeRecords } from '../../lib/session/record.ts';
import type { SessionRecord } from '../../lib/session/record.ts';
import type { SharedCoordinator } from '../../lib/session/shared-coordinator.ts';

export interface SharedMemory extends SharedCoordinator {
  isDown: boolean;
  /** The number of look-ups of records. */
  lookUps: number;
  /** Look-ups that begin meanwhile read now and answer when it resolves. */
  heldBy: Promise<unknown> | undefined;
}

/** What several processes share, without Redis. */
export function createShared(now: () => number = () => 0): SharedMemory {
  const records = new Map<string, { readonly record: SessionRecord; readonly heldUntil: number }>();
  const reach = <Result>(work: () => Result): Promise<Result> =>
    shared.isDown ? Promise.reject(new Error('down')) : Promise.resolve(work());
  const shared: SharedMemory = {
    isDown: false,
    lookUps: 0,
    heldBy: undefined,
    coordinate: (_key, refresh) => refresh(),
    confirmDelivery: () => Promise.resolve(),
    forget: () => Promise.resolve(),
    async read(subject) {
      shared.lookUps += 1;
      const { heldBy } = shared;
      const found = await reach(() => records.get(subject));
      await heldBy;
      return found !== undefined && found.heldUntil > now() ? found.record : undefined;
    },
    merge: (subject, change, ttlMs) =>
      reach(() => {
        const { record, heldUntil } = records.get(subject) ?? { record: {}, heldUntil: 0 };
        records.set(subject, {
          record: mergeRecords(record, change),
          heldUntil: Math.max(heldUntil, now() + ttlMs),
        });
      }),
  };
  return shared;
}
