import { execFileSync, spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { availableParallelism } from 'node:os';
import type { Fixtures } from './fixtures.ts';
import type { LoadJob, LoadResult } from './load.ts';
import type { Ready, Usage } from './server.ts';

/** What two servers did in the same second. */
export interface Round {
  readonly variant: Sample;
  readonly over: Sample;
}

export interface Sample {
  /** Per second. */
  readonly requests: number;
  /** CPU time of the server per request, in microseconds; what a busy machine disturbs least. */
  readonly cpu: number;
  /** Milliseconds. */
  readonly p50: number;
  readonly p99: number;
  /** The share of its time in which the load generator had answers to deal with. */
  readonly ownLoad: number;
}

/** One variant's server, up and waiting. */
interface MeasuredServer {
  /** Whether it was asked for long enough to be measured. */
  isWarm(): boolean;
  sample(): Promise<Sample>;
  stop(): void;
}

export const connections = 16;
/** Short, so that a pair is measured within a second; a process that idles for longer starts to give back its memory. */
const sampleMs = 400;
/**
 * After so many requests, and so many milliseconds, nothing gets faster any more. The longest that there is to wait for is the end of
 * an idle connection, such as the one over which keys were fetched: V8 then compiles once more what it knew of connections.
 */
const warmUp = { requests: 10_000, ms: 5200 } as const;

/** Server on one core and load on another, where the system can do that. */
export const isPinned = canPin();

function canPin(): boolean {
  if (availableParallelism() < 2) return false;
  try {
    execFileSync('taskset', ['-c', '0', 'true'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

/** Node on a core of its own, with a channel to talk to it. */
export function startNode(
  core: number,
  file: string,
  args: readonly string[],
  nodeOptions: readonly string[] = [],
): ChildProcess {
  const command = [process.execPath, '--no-warnings', ...nodeOptions, new URL(file, import.meta.url).pathname, ...args];
  const [program = '', ...rest] = isPinned ? ['taskset', '-c', String(core), ...command] : command;
  return spawn(program, rest, {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    env: { ...process.env, NODE_ENV: 'production' },
  });
}

/** @throws Error with the child's own, or when it ends without an answer */
export function ask<Answer>(child: ChildProcess, question: object | string): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const settle = (outcome: () => void): void => {
      child.off('message', onMessage).off('exit', onExit);
      outcome();
    };
    const onMessage = (answer: object): void => {
      if ('error' in answer) settle(() => reject(new Error(String(answer.error))));
      else settle(() => resolve(answer as Answer));
    };
    const onExit = (): void => settle(() => reject(new Error('The process ended without an answer')));
    child.on('message', onMessage).on('exit', onExit);
    child.send(question);
  });
}

/** A fresh server process for one variant. */
async function startMeasured(load: ChildProcess, variant: string, fixtures: Fixtures): Promise<MeasuredServer> {
  const server = startNode(0, './server.ts', [variant]);
  const failed = (cause: unknown): Error => {
    server.kill('SIGKILL');
    return new Error(`${variant} could not be measured: ${String(cause)}`, { cause });
  };
  const run = async (job: Omit<LoadJob, 'connections'>): Promise<Sample> => {
    const before = await ask<Usage>(server, 'usage');
    const result = await ask<LoadResult>(load, { ...job, connections });
    const after = await ask<Usage>(server, 'usage');
    return {
      requests: result.requests / result.seconds,
      cpu: (after.cpu - before.cpu) / result.requests,
      p50: result.p50,
      p99: result.p99,
      ownLoad: result.ownLoad,
    };
  };
  try {
    const ready = await ask<Ready>(server, fixtures);
    const startedAt = performance.now();
    let served = 0;
    return {
      isWarm: () => served >= warmUp.requests && performance.now() - startedAt >= warmUp.ms,
      sample: async () => {
        try {
          const sample = await run({ ...ready, durationMs: sampleMs });
          served += sample.requests * (sampleMs / 1000);
          return sample;
        } catch (error) {
          throw failed(error);
        }
      },
      stop: () => void server.kill('SIGKILL'),
    };
  } catch (error) {
    throw failed(error);
  }
}

/** Two fresh servers side by side, in turn: what the machine does from minute to minute happens to both. */
export async function measurePair(
  load: ChildProcess,
  pair: { readonly variant: string; readonly over: string },
  fixtures: Fixtures,
  rounds: number,
): Promise<Round[]> {
  const variant = await startMeasured(load, pair.variant, fixtures);
  try {
    const over = await startMeasured(load, pair.over, fixtures);
    try {
      // In turn from the beginning: a server that waited for the other to get warm would be cold again.
      while (!variant.isWarm() || !over.isWarm()) await inReverse(variant, over);
      const measured: Round[] = [];
      while (measured.length < rounds) {
        measured.push({ variant: await variant.sample(), over: await over.sample() });
        measured.push(await inReverse(variant, over));
      }
      return measured.slice(0, rounds);
    } finally {
      over.stop();
    }
  } finally {
    variant.stop();
  }
}

/** The second of a pair may meet other caches than the first. */
async function inReverse(variant: MeasuredServer, over: MeasuredServer): Promise<Round> {
  const second = await over.sample();
  return { over: second, variant: await variant.sample() };
}

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length >> 1;
  const upper = sorted[middle] ?? NaN;
  return sorted.length % 2 === 1 ? upper : (upper + (sorted[middle - 1] ?? NaN)) / 2;
}

/** The middle half of the values. */
export function quartiles(values: readonly number[]): readonly [number, number] {
  const sorted = values.toSorted((a, b) => a - b);
  const at = (share: number): number => sorted[Math.round(share * (sorted.length - 1))] ?? NaN;
  return [at(0.25), at(0.75)];
}

export function shuffled<T>(values: readonly T[], random: () => number): T[] {
  return values
    .map((value) => ({ value, rank: random() }))
    .toSorted((a, b) => a.rank - b.rank)
    .map(({ value }) => value);
}
