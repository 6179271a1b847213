import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { add } from './add.ts';
import { parseAdd, usage } from './arguments.ts';
import type { Surroundings } from './surroundings.ts';

/**
 * @param args behind `add`
 * @param ownCli this package's own command line
 */
export async function runAdd(
  args: readonly string[],
  ownCli: string,
  standIns: Surroundings['standIns'],
): Promise<void> {
  try {
    const command = parseAdd(args);
    if (command === 'help') process.stdout.write(usage);
    else process.exitCode = await add(command, { ...here(ownCli), standIns });
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    process.stderr.write(`${error.message}\n\n${usage}`);
    process.exitCode = 2;
  }
}

function here(ownCli: string): Omit<Surroundings, 'standIns'> {
  const directory = process.cwd();
  const run: Surroundings['run'] = (program, args, { isQuiet } = { isQuiet: false }) =>
    new Promise((resolve) => {
      // Package managers are scripts on Windows, which only a shell runs.
      const shell = process.platform === 'win32' && program !== process.execPath;
      const child = spawn(program, args, { cwd: directory, stdio: isQuiet ? 'ignore' : 'inherit', shell });
      child.once('error', () => resolve(undefined));
      child.once('close', (code) => resolve(code ?? undefined));
    });
  return {
    directory,
    env: process.env,
    print: (text) => process.stdout.write(text),
    run,
    runDoctor: (adapter) => {
      // The application's own one knows which packages are installed there.
      const installed = join(directory, 'node_modules/express-auth-adapters/dist/cli.js');
      return run(process.execPath, [existsSync(installed) ? installed : ownCli, 'doctor', '--adapter', adapter]);
    },
  };
}
