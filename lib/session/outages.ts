import { setTimeout } from 'node:timers/promises';
import type { Background } from '../tools/background.ts';
import { failureOf } from '../tools/coordinator-failure.ts';
import type { CoordinatorFailure } from '../tools/coordinator-failure.ts';
import type { Emit } from './events.ts';
import type { SharedCoordinator } from './coordinator.ts';

/** What of a coordinator says that a part of it is away. */
interface Availability {
  isAvailable?(): boolean;
}

/** Reports an outage of the shared coordinator once when it begins and once when it ends. */
export interface OutageReport {
  /**
   * @param operation the requested operation
   * @param error what the coordinator failed with
   */
  failed(operation: 'refresh' | 'record', error?: unknown): void;
  succeeded(): void;
}

/**
 * @param isRefused whether the coordinator refuses a kind of call, while others succeed
 * @param warn tells operators of what only they can change
 */
export function createOutageReport(
  shared: Availability | undefined,
  emit: Emit,
  isRefused: () => boolean = () => false,
  warn: (failure: CoordinatorFailure) => void = () => undefined,
): OutageReport {
  let isAway = false;
  return {
    failed(operation, error) {
      const failure = failureOf(error);
      // Also within an outage that began for another reason.
      warn(failure);
      if (!isAway) emit({ type: 'coordinator_unavailable', operation, reason: failure.reason });
      isAway = true;
    },
    succeeded() {
      if (!isAway || isRefused() || isPartAway(shared)) return;
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

/**
 * Remembers which calls a coordinator refuses, as a Redis whose user may read and not write: until one of them succeeds, the success of
 * another one is no end of the outage.
 */
export function watchRefusals(shared: SharedCoordinator): {
  readonly shared: SharedCoordinator;
  readonly isRefused: () => boolean;
} {
  const refused = new Set<string>();
  async function watch<Result>(call: string, answer: Promise<Result>): Promise<Result> {
    try {
      const result = await answer;
      refused.delete(call);
      return result;
    } catch (error) {
      if (failureOf(error).reason !== 'unavailable') refused.add(call);
      throw error;
    }
  }
  return {
    isRefused: () => refused.size > 0,
    shared: {
      ...shared,
      read: (...given) => watch('read', shared.read(...given)),
      merge: (...given) => watch('merge', shared.merge(...given)),
      take: (...given) => watch('take', shared.take(...given)),
      settle: (...given) => watch('settle', shared.settle(...given)),
    },
  };
}

/** Resolves to `undefined` where the coordinator is unavailable. */
export type AskShared = <Result>(call: Promise<Result>) => Promise<Result | undefined>;

export function createAskShared(outages: OutageReport): AskShared {
  return async (call) => {
    try {
      const result = await call;
      outages.succeeded();
      return result;
    } catch (error) {
      outages.failed('record', error);
      return undefined;
    }
  };
}

/**
 * Tells the other processes, and twice more where that fails: most outages are shorter.
 *
 * @param send tells what is true by then
 * @returns resolves after the first attempt, and never rejects
 */
export type Telling = (send: () => Promise<unknown> | undefined) => Promise<unknown>;

/** Longer than a master that did not answer is left alone, and shorter than others wait for a turn that is not taken again. */
const tellAgainMs = [1_100, 3_000];

export function createTelling(
  operation: 'refresh' | 'record',
  outages: OutageReport,
  background: Pick<Background, 'outlive'>,
  wait: (ms: number, value: undefined, options: { readonly ref: boolean }) => Promise<unknown> = setTimeout,
): Telling {
  /** @returns whether it is told */
  async function tryToTell(send: () => Promise<unknown> | undefined): Promise<boolean> {
    try {
      await send();
      return true;
    } catch (error) {
      outages.failed(operation, error);
      return false;
    }
  }

  async function tellAgain(first: Promise<boolean>, send: () => Promise<unknown> | undefined): Promise<void> {
    let isTold = await first;
    for (const pauseMs of tellAgainMs) {
      if (isTold) return;
      await wait(pauseMs, undefined, { ref: false });
      isTold = await tryToTell(send);
    }
  }

  return (send) => {
    const first = tryToTell(send);
    // No response waits for the pauses.
    background.outlive(tellAgain(first, send));
    return first;
  };
}
