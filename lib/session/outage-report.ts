import type { Emit } from './events.ts';
import type { SharedCoordinator } from './shared-coordinator.ts';

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
