import { execFile } from 'node:child_process';
import { mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** The packages that each adapter needs. */
export const sdks = {
  b2b: ['@workos-inc/node@11'],
  backend: ['@supabase/ssr@0.12', '@supabase/supabase-js@2'],
} as const;

/** The translations of the built-in pages. */
export const languages = ['ar', 'de', 'es', 'fr', 'it', 'ja', 'nl', 'pl', 'pt', 'zh'];

/** The newest TypeScript, which `npm install` gives applications. */
const newest = 'typescript@7';

interface Tarball {
  readonly path: string;
  /** Of the tarball, in bytes. */
  readonly size: number;
  /** The paths of its files. */
  readonly files: readonly string[];
}

/** The package as `npm publish` packs it, from dist/ as it is. */
export async function packTarball(directory: string): Promise<Tarball> {
  const { stdout } = await run('npm', ['pack', '--json', '--ignore-scripts', '--pack-destination', directory]);
  const [{ filename, size, files }] = JSON.parse(stdout);
  return { path: join(directory, filename), size, files: files.map(({ path }: { path: string }) => path) };
}

/**
 * What a user has after `npm install`: the packed tarball in an empty directory, and what is installed beside it.
 *
 * @param typescript packages of TypeScript, beside the newest one
 */
export async function installTarball(beside: readonly string[], typescript: readonly string[] = []): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'consumer-'));
  const tarball = await packTarball(directory);
  await writeFile(join(directory, 'package.json'), JSON.stringify({ name: 'consumer', private: true, type: 'module' }));
  const tools = ['@types/express@5', '@types/node@22', newest, ...typescript];
  const options = ['--prefer-offline', '--no-audit', '--no-fund'];
  await run('npm', ['install', ...options, tarball.path, ...beside, ...tools], { cwd: directory });
  return directory;
}

/** The output of a program in a file of the directory. */
export async function inDirectory(directory: string, file: string, source: string): Promise<string> {
  await writeFile(join(directory, file), source);
  const { stdout } = await run(process.execPath, [file], { cwd: directory });
  return stdout.trim();
}

/**
 * The files in which TypeScript finds an error.
 *
 * @param typescript the name under which it is installed. Default: the newest one
 */
export async function typeErrors(
  directory: string,
  source: string,
  options: object,
  typescript = 'typescript',
): Promise<string[]> {
  await writeFile(join(directory, 'consumer.ts'), source);
  // TypeScript's own declarations are not checked.
  const project = { strict: true, noEmit: true, skipDefaultLibCheck: true, types: ['node'] };
  const shared = { target: 'es2022', module: 'nodenext', ...project };
  const compilerOptions = { ...shared, ...options };
  await writeFile(join(directory, 'tsconfig.json'), JSON.stringify({ compilerOptions, files: ['consumer.ts'] }));
  const tsc = join(directory, 'node_modules', typescript, 'bin/tsc');
  const check = run(process.execPath, [tsc, '-p', directory], { cwd: directory });
  const { stdout } = await check.catch((failure: unknown) => failure as { stdout: string });
  return stdout.split('\n').filter((line) => /^\S.*: error TS/.test(line));
}

/**
 * Waits until a process has said `words`, and reads on afterwards: a command ends once its output has no reader.
 *
 * @returns what it has said until then
 */
export function readUntil(output: Readable, words: string): Promise<string> {
  let said = '';
  return new Promise((resolve) => {
    output.on('data', (chunk) => {
      said += String(chunk);
      if (said.includes(words)) resolve(said);
    });
  });
}
