import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createConnection } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { freePortsInARow } from './servers.ts';

export interface NginxServer {
  readonly origin: string;
  readonly port: number;
  /** Idempotent. Removes its directory, too. */
  close(): Promise<void>;
}

const folders = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'];

/**
 * A real nginx on a free port of 127.0.0.1, as an ordinary process with files of its own. `NGINX` names another binary.
 *
 * @param configuration what stands in `http`, by the port to listen on
 */
export async function startNginx(configuration: (port: number) => string): Promise<NginxServer> {
  const port = await freePortsInARow(1);
  const directory = await mkdtemp(join(tmpdir(), 'nginx-'));
  const text = [
    'daemon off; master_process off; pid nginx.pid; error_log error.log;',
    'events {}',
    'http {',
    'access_log off;',
    ...folders.map((name) => `${name}_temp_path ${name};`),
    configuration(port),
    '}',
  ].join('\n');
  await writeFile(join(directory, 'nginx.conf'), text);
  const settings = ['-p', directory, '-c', 'nginx.conf', '-e', 'error.log'];
  const child = spawn(process.env['NGINX'] ?? 'nginx', settings, { stdio: ['ignore', 'ignore', 'pipe'] });
  let complaints = '';
  child.stderr.on('data', (chunk: Buffer) => (complaints += chunk.toString()));
  child.once('error', (error) => (complaints += error.message));
  const exited = once(child, 'exit').catch(() => undefined);
  const isOver = (): boolean => child.pid === undefined || child.exitCode !== null || child.signalCode !== null;

  const close = async (): Promise<void> => {
    if (!isOver()) {
      child.kill('SIGTERM');
      await exited;
    }
    await rm(directory, { recursive: true, force: true });
  };

  for (let tries = 0; !(await accepts(port)); tries += 1) {
    if (isOver() || tries === 250) {
      await close();
      throw new Error(`nginx does not answer: ${complaints}`);
    }
    await wait(20);
  }
  return { origin: `http://127.0.0.1:${port}`, port, close };
}

function accepts(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = createConnection({ port, host: '127.0.0.1' });
    const settle = (isOpen: boolean): void => {
      socket.destroy();
      resolve(isOpen);
    };
    socket.once('connect', () => settle(true));
    socket.once('error', () => settle(false));
  });
}
