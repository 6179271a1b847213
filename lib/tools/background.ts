import type { WaitUntil } from '../types.ts';
import { answerWithin } from './deadline.ts';

/** Work that no response waits for, except where the platform may stop the process once the response is sent. */
export interface Background {
  /** Whether the platform may do so. */
  readonly mayFreeze: boolean;
  /** Whether it may, and nothing keeps the process going: then responses wait. */
  readonly mustWait: boolean;
  /** Starts nothing: the work is under way. What it rejects with is its own matter. */
  run(work: Promise<unknown>): void;
  /** For a call that may last longer than a request waits: it is handed to the platform, and no response waits for it. */
  outlive(work: Promise<unknown>): void;
  /** Resolves once what `run` got has ended, and at the latest after `timeoutMs`; `undefined` where there is nothing to wait for. */
  settled(): Promise<void> | undefined;
}

/** Where one of these is set, the platform may stop the process between requests: AWS Lambda, Vercel, Cloud Run, Netlify. */
const platforms = ['AWS_LAMBDA_FUNCTION_NAME', 'VERCEL', 'K_SERVICE', 'NETLIFY'];

export function createBackground(
  { waitUntil, timeoutMs }: { readonly waitUntil?: WaitUntil | undefined; readonly timeoutMs: number },
  environment: Readonly<Record<string, string | undefined>> = process.env,
): Background {
  const mayFreeze = waitUntil !== undefined || platforms.some((name) => (environment[name] ?? '') !== '');
  const pending = new Set<Promise<unknown>>();

  function handOver(work: Promise<unknown>): boolean {
    if (waitUntil === undefined) return false;
    try {
      // One that is asynchronous may reject, and no rejection may end the process.
      void Promise.resolve(waitUntil(work)).catch(() => undefined);
      return true;
    } catch {
      // Such as outside of a request.
      return false;
    }
  }

  const quietly = (work: Promise<unknown>): Promise<unknown> => work.catch(() => undefined);

  return {
    mayFreeze,
    mustWait: mayFreeze && waitUntil === undefined,
    run(work) {
      if (!mayFreeze) return;
      const ended = quietly(work);
      if (handOver(ended)) return;
      pending.add(ended);
      void ended.then(() => pending.delete(ended));
    },
    outlive(work) {
      if (waitUntil !== undefined) handOver(quietly(work));
    },
    settled() {
      if (pending.size === 0) return undefined;
      // What ends may start more, such as the note of a refresh for the other processes.
      const untilEmpty = async (): Promise<void> => {
        while (pending.size > 0) await Promise.all(pending);
      };
      return answerWithin(untilEmpty(), timeoutMs, () => new Error('too late')).catch(() => undefined);
    },
  };
}

/** Where the process goes on by itself. */
export const noBackground: Background = createBackground({ timeoutMs: 0 }, {});
