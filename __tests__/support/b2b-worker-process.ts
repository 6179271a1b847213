import { fork } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import type { WorkerClock, WorkerOptions, WorkerReport } from './b2b-worker.ts';

/** A process of `b2b-worker.ts`. */
export interface Worker {
  readonly origin: string;
  /** The types of its events, which travel beside its answers. */
  readonly events: string[];
  readonly child: ChildProcess;
  /** Sets its clock ahead of the time of day. */
  setAhead(aheadMs: number): Promise<void>;
}

export async function startWorker(options: WorkerOptions): Promise<Worker> {
  const file = new URL('./b2b-worker.ts', import.meta.url);
  const child = fork(file, [JSON.stringify(options)], { execArgv: ['--disable-warning=ExperimentalWarning'] });
  const events: string[] = [];
  const clocks: (() => void)[] = [];
  const origin = await new Promise<string>((resolve, reject) => {
    child.once('exit', (code) => reject(new Error(`A worker ended with ${String(code)} before it listened`)));
    child.on('message', (message: WorkerReport) => {
      if (message.kind === 'listening') resolve(message.origin);
      else if (message.kind === 'event') events.push(message.type);
      else clocks.shift()?.();
    });
  });
  return {
    origin,
    events,
    child,
    setAhead: (aheadMs) =>
      new Promise((resolve) => {
        clocks.push(resolve);
        child.send({ aheadMs } satisfies WorkerClock);
      }),
  };
}

export const isRunning = ({ child }: Worker): boolean => child.exitCode === null && child.signalCode === null;

/** Idempotent. */
export async function killWorker(worker: Worker): Promise<void> {
  if (!isRunning(worker)) return;
  const { child } = worker;
  const exited = once(child, 'exit');
  child.kill('SIGKILL');
  await exited;
}
