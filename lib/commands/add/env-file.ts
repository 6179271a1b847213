import { join } from 'node:path';
import { readText, writeText } from '../files.ts';
import type { AddCommand } from './arguments.ts';
import type { Surroundings } from './surroundings.ts';
import { withSettings } from './variables.ts';
import type { Settings } from './variables.ts';

/** Adds the missing variables to `.env`. */
export function addSettings(settings: Settings, command: AddCommand, surroundings: Surroundings): void {
  const { adapter, isDryRun, isLocal } = command;
  const { directory, print, standIns } = surroundings;
  const { made, local, empty } = settings;
  if (isLocal && empty.length > 0) print('The variables name a provider already, so the stand-ins are left out.\n');
  const path = join(directory, '.env');
  const before = readText(path, '.env') ?? '';
  const own = withSettings(before, adapter, settings);
  const text = Object.keys(local).length === 0 ? own : standIns.withSettings(own, local);
  if (text === before) {
    print(empty.length === 0 ? 'The variables are set.\n' : `.env waits for ${empty.join(' and ')}.\n`);
  } else {
    // It holds secrets.
    if (!isDryRun) writeText(path, text, { name: '.env', mode: 0o600 });
    const names = [...empty, ...Object.keys(made), ...Object.keys(local)].join(', ');
    print(`.env ${isDryRun ? 'would get' : 'has new lines'}: ${names}\n`);
    if (empty.length > 0) print(`Fill in ${empty.join(' and ')}.\n`);
  }
}

/** Adds `.env` to `.gitignore`, where git would take it. */
export async function ignoreEnvFile({ isDryRun }: AddCommand, { directory, print, run }: Surroundings): Promise<void> {
  const git = (...args: readonly string[]) => run('git', [...args, '.env'], { isQuiet: true });
  if ((await git('ls-files', '--error-unmatch')) === 0)
    print('git knows .env: take it out with git rm --cached .env, and replace keys that were pushed.\n');
  // 1: not ignored. Other codes: no repository, or no git.
  else if ((await git('check-ignore', '-q')) === 1) {
    const ignored = join(directory, '.gitignore');
    const lines = readText(ignored, '.gitignore') ?? '';
    const text = `${lines}${lines === '' || lines.endsWith('\n') ? '' : '\n'}.env\n`;
    if (!isDryRun) writeText(ignored, text, { name: '.gitignore' });
    print(`.gitignore ${isDryRun ? 'would get' : 'has a new line'}: .env\n`);
  }
}
