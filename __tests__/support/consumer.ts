import { execFile } from 'node:child_process';
import { mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** The TypeScript that applications mostly have. */
const usual = 'typescript@6';

/**
 * What a user has after `npm install`: the packed tarball in an empty directory, and what is installed beside it.
 *
 * @param typescript packages of TypeScript, in place of the usual one
 */
export async function installTarball(
  beside: readonly string[],
  typescript: readonly string[] = [usual],
): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'consumer-'));
  const { stdout } = await run('npm', ['pack', '--json', '--ignore-scripts', '--pack-destination', directory]);
  const [{ filename }] = JSON.parse(stdout);
  await writeFile(join(directory, 'package.json'), JSON.stringify({ name: 'consumer', private: true, type: 'module' }));
  const tools = ['@types/express@5', '@types/node@22', ...typescript];
  await run('npm', ['install', '--no-audit', '--no-fund', `./${filename}`, ...beside, ...tools], { cwd: directory });
  return directory;
}

/**
 * The files in which TypeScript finds an error.
 *
 * @param typescript the name under which it is installed
 */
export async function typeErrors(
  directory: string,
  source: string,
  options: object,
  typescript = 'typescript',
): Promise<string[]> {
  await writeFile(join(directory, 'consumer.ts'), source);
  const shared = { target: 'es2022', module: 'nodenext', strict: true, noEmit: true, types: ['node'] };
  const compilerOptions = { ...shared, ...options };
  await writeFile(join(directory, 'tsconfig.json'), JSON.stringify({ compilerOptions, files: ['consumer.ts'] }));
  const tsc = join(directory, 'node_modules', typescript, 'bin/tsc');
  const check = run(process.execPath, [tsc, '-p', directory], { cwd: directory });
  const { stdout } = await check.catch((failure: unknown) => failure as { stdout: string });
  return stdout.split('\n').filter((line) => /^\S.*: error TS/.test(line));
}
