import type { SessionCutoffs, SharedCoordinator } from '../../lib/session/shared-coordinator.ts';

export interface SharedMemory extends SharedCoordinator {
  isDown: boolean;
  /** The number of look-ups of marks and times. */
  lookUps: number;
  /** Look-ups that begin meanwhile read now and answer when it resolves. */
  heldBy: Promise<unknown> | undefined;
}

/** What several processes share, without Redis. */
export function createShared(now: () => number = () => 0): SharedMemory {
  const marks = new Set<string>();
  const cutoffs = new Map<string, SessionCutoffs & { readonly heldUntil: number }>();
  const reach = <Result>(work: () => Result): Promise<Result> =>
    shared.isDown ? Promise.reject(new Error('down')) : Promise.resolve(work());
  const lookUp = async <Result>(work: () => Result): Promise<Result> => {
    shared.lookUps += 1;
    const { heldBy } = shared;
    const found = await reach(work);
    await heldBy;
    return found;
  };
  const shared: SharedMemory = {
    isDown: false,
    lookUps: 0,
    heldBy: undefined,
    coordinate: (_key, refresh) => refresh(),
    endSession: (name) => reach(() => void marks.add(name)),
    isEnded: (name) => lookUp(() => marks.has(name)),
    setCutoffs: (subject, { endedUntil, staleUntil }, ttlMs) =>
      reach(() => {
        const known = cutoffs.get(subject) ?? { endedUntil: -1, staleUntil: -1, heldUntil: 0 };
        cutoffs.set(subject, {
          endedUntil: Math.max(known.endedUntil, endedUntil),
          staleUntil: Math.max(known.staleUntil, staleUntil),
          heldUntil: Math.max(known.heldUntil, now() + ttlMs),
        });
      }),
    cutoffsOf: (subject) =>
      lookUp(() => {
        const known = cutoffs.get(subject);
        return known !== undefined && known.heldUntil > now() ? known : undefined;
      }),
  };
  return shared;
}
