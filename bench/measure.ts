import { execFileSync, spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { availableParallelism } from 'node:os';
import type { Case } from './cases.ts';
import type { Fixtures } from './fixtures.ts';
import type { LoadJob, LoadResult } from './load.ts';
import type { Ready, Usage } from './server.ts';

/** The samples of two servers from the same second. */
export interface Round {
  readonly variant: Sample;
  readonly over: Sample;
}

export interface Sample {
  /** Per second. */
  readonly requests: number;
  /** CPU time of the server per request, in microseconds; the value that a busy machine affects least. */
  readonly cpu: number;
  /** Milliseconds. */
  readonly p50: number;
  readonly p99: number;
  /** The share of its time that the load generator spends on responses. */
  readonly ownLoad: number;
}

/** The running server of one variant. */
interface MeasuredServer {
  /** Whether it has received enough requests to be measured. */
  isWarm(requests: number): boolean;
  sample(): Promise<Sample>;
  stop(): void;
}

export const connections = 16;
/** Short, so that a pair is measured within a second; a process that idles longer starts to release its memory. */
const sampleMs = 400;
/**
 * After this many requests and milliseconds, no server becomes faster. The longest wait is for the
 * end of an idle connection, such as that of the key fetch: V8 then recompiles its connection code.
 */
const warmUp = { requests: 10_000, ms: 5200 } as const;

/** Server and load on separate cores, where the system supports that. */
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

/** A Node process pinned to a core, with an IPC channel. */
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

/** @throws the child's error, or an Error when it exits without an answer */
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

/** A new server process for one variant. */
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
      isWarm: (requests) => served >= requests && performance.now() - startedAt >= warmUp.ms,
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

/** Two new servers, measured alternately, so that noise of the machine affects both. */
export async function measurePair(
  load: ChildProcess,
  pair: Case,
  fixtures: Fixtures,
  rounds: number,
): Promise<Round[]> {
  const { warmUpRequests: requests = warmUp.requests } = pair;
  const variant = await startMeasured(load, pair.variant, fixtures);
  try {
    const over = await startMeasured(load, pair.over, fixtures);
    try {
      // Alternating from the start: a server that waited for the other to warm up would be cold again.
      while (!variant.isWarm(requests) || !over.isWarm(requests)) await inReverse(variant, over);
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

/** The second of a pair may find other cache contents than the first. */
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
