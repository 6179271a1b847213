import type { Emit } from './events.ts';

/** What of a coordinator says that a part of it is away. */
interface Availability {
  isAvailable?(): boolean;
}

/** Reports an outage of the shared coordinator once when it begins and once when it ends. */
export interface OutageReport {
  /** @param operation the requested operation */
  failed(operation: 'refresh' | 'record'): void;
  succeeded(): void;
}

export function createOutageReport(shared: Availability | undefined, emit: Emit): OutageReport {
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

function isPartAway(shared: Availability | undefined): boolean {
  try {
    return shared?.isAvailable?.() === false;
  } catch {
    // An exception in the application's coordinator must not lose the answer that it has just given.
    return false;
  }
}

/** Resolves to `undefined` where the coordinator is unavailable. */
export type AskShared = <Result>(call: Promise<Result>) => Promise<Result | undefined>;

export function createAskShared(outages: OutageReport): AskShared {
  return async (call) => {
    try {
      const result = await call;
      outages.succeeded();
      return result;
    } catch {
      outages.failed('record');
      return undefined;
    }
  };
}
