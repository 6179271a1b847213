import { setTimeout as wait } from 'node:timers/promises';
import type { Background } from '../tools/background.ts';
import type { OutageReport } from './outages.ts';

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
  { outlive }: Pick<Background, 'outlive'>,
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
    outlive(tellAgain(first, send));
    return first;
  };
}
