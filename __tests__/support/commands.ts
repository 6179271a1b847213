import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** `npx express-auth-adapters …` in a folder. */
export function runCommand(cwd: string, args: readonly string[], env = process.env) {
  const command = ['--disable-warning=ExperimentalWarning', `${process.cwd()}/bin/cli.ts`, ...args];
  const { status, stdout, stderr } = spawnSync(process.execPath, command, { cwd, env, encoding: 'utf8' });
  return { status, stdout, stderr };
}

/** The texts of the email templates that the command writes, by their names. */
export function writtenEmails(...args: readonly string[]): Readonly<Record<string, string>> {
  const folder = mkdtempSync(join(tmpdir(), 'emails-'));
  try {
    const { status, stderr } = runCommand(folder, ['emails', '--out', 'out', ...args]);
    if (status !== 0) throw new Error(stderr);
    const files = readdirSync(join(folder, 'out'));
    return Object.fromEntries(
      files.map((file) => [file.replace('.html', ''), readFileSync(join(folder, 'out', file), 'utf8')]),
    );
  } finally {
    rmSync(folder, { recursive: true });
  }
}
