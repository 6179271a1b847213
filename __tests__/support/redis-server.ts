import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createConnection } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { freePortsInARow } from './servers.ts';

export interface RedisServer {
  readonly port: number;
  readonly url: string;
  /** Starts it again on the same port, empty, after `stop` or `kill`. */
  start(): Promise<void>;
  /** Lets it end in order; idempotent. Removes its directory, too. */
  stop(): Promise<void>;
  /** Ends it as a crash would; idempotent. */
  kill(): Promise<void>;
  /** Pauses it without closing its connections, like a partition; `resume` continues it. */
  pause(): void;
  resume(): void;
}

/**
 * A real Redis on a free port of 127.0.0.1, which keeps nothing on disk. Stop it in `afterAll`. `REDIS_SERVER` names another binary,
 * such as Valkey's.
 *
 * @param settings further ones, as on the command line
 * @param file a configuration file that the server may write to
 */
export async function startRedisServer(settings: readonly string[] = [], file?: string): Promise<RedisServer> {
  const port = await freePortsInARow(1);
  let child: ChildProcess | undefined;
  let directory: string | undefined;

  const end = async (signal: NodeJS.Signals): Promise<void> => {
    const ending = child;
    child = undefined;
    if (ending?.exitCode !== null || ending.signalCode !== null) return;
    const exited = once(ending, 'exit');
    // A paused process does not get around to SIGTERM.
    ending.kill('SIGCONT');
    ending.kill(signal);
    await exited;
  };

  const server: RedisServer = {
    port,
    url: `redis://127.0.0.1:${port}`,
    start: async () => {
      if (child !== undefined) return;
      directory ??= await mkdtemp(join(tmpdir(), 'redis-'));
      const options = [
        ...(file === undefined ? [] : [file]),
        '--port',
        String(port),
        '--bind',
        '127.0.0.1',
        '--save',
        '',
        '--appendonly',
        'no',
        '--dir',
        directory,
        ...settings,
      ];
      child = spawn(process.env['REDIS_SERVER'] ?? 'redis-server', options, { stdio: 'ignore' });
      await answering(port, child);
    },
    stop: async () => {
      await end('SIGTERM');
      if (directory !== undefined) await rm(directory, { recursive: true, force: true });
      directory = undefined;
    },
    kill: () => end('SIGKILL'),
    pause: () => void child?.kill('SIGSTOP'),
    resume: () => void child?.kill('SIGCONT'),
  };
  await server.start();
  return server;
}

async function answering(port: number, child: ChildProcess): Promise<void> {
  let failure: Error | undefined;
  child.once('error', (error) => (failure = error));
  for (let tries = 0; tries < 250; tries += 1) {
    if (failure !== undefined) throw failure;
    if (child.exitCode !== null) throw new Error(`redis-server ended with ${child.exitCode}`);
    if (await answersPing(port)) return;
    await wait(20);
  }
  throw new Error('redis-server does not answer');
}

function answersPing(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = createConnection({ port, host: '127.0.0.1' }, () => socket.write('PING\r\n'));
    const settle = (answers: boolean): void => {
      socket.destroy();
      resolve(answers);
    };
    socket.setTimeout(1_000, () => settle(false));
    socket.once('data', (reply) => settle(reply.toString().startsWith('+PONG')));
    socket.once('error', () => settle(false));
  });
}
