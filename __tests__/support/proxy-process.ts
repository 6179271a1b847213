import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';

export interface ProxyProcess {
  readonly origin: string;
  readonly port: number;
  /** Idempotent. Removes its directory, too. */
  close(): Promise<void>;
}

export interface ProxySetup {
  readonly name: string;
  readonly binary: string;
  /** Of the command; it runs in its own directory. */
  readonly parameters: readonly string[];
  readonly port: number;
  /** In its directory, by name. */
  readonly files: Readonly<Record<string, string>>;
  /** Whether it serves; asked every 20 ms, for five seconds. */
  readonly isReady: () => Promise<boolean>;
}

/** A server of another maker on 127.0.0.1, as an ordinary process with files of its own. */
export async function startProxy({
  name,
  binary,
  parameters,
  port,
  files,
  isReady,
}: ProxySetup): Promise<ProxyProcess> {
  const directory = await mkdtemp(join(tmpdir(), `${name.toLowerCase()}-`));
  for (const [file, text] of Object.entries(files)) await writeFile(join(directory, file), text);
  const child = spawn(binary, parameters, {
    cwd: directory,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, HOME: directory, XDG_CONFIG_HOME: directory, XDG_DATA_HOME: directory },
  });
  let complaints = '';
  for (const output of [child.stdout, child.stderr])
    output.on('data', (chunk: Buffer) => (complaints = (complaints + chunk.toString()).slice(-4_000)));
  child.once('error', (error) => (complaints += error.message));
  const exited = once(child, 'exit').catch(() => undefined);
  const isOver = (): boolean => child.pid === undefined || child.exitCode !== null || child.signalCode !== null;

  const close = async (): Promise<void> => {
    if (!isOver()) {
      child.kill('SIGKILL');
      await exited;
    }
    await rm(directory, { recursive: true, force: true });
  };

  for (let tries = 0; !(await isReady()); tries += 1) {
    if (isOver() || tries === 250) {
      await close();
      throw new Error(`${name} does not answer: ${complaints}`);
    }
    await wait(20);
  }
  return { origin: `http://127.0.0.1:${port}`, port, close };
}
