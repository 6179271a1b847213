import { randomBytes } from 'node:crypto';
import {
  chmodSync,
  chownSync,
  existsSync,
  lstatSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { dirname, isAbsolute, relative } from 'node:path';
import { Refusal } from './refusal.ts';

const again = 'Mend that, and run the command again.';

/**
 * The text of a file that the command may write again, so each of its bytes must survive that; `undefined` where there is none.
 *
 * @param name what the user calls it
 * @throws {Refusal}
 */
export function readText(path: string, name = path): string | undefined {
  const bytes = readBytes(path, name);
  try {
    return bytes && new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw new Refusal(`${name} is not UTF-8 text.`, 'Save it as UTF-8, and run the command again.');
  }
}

/** The same of a file that is only read. */
export function readLoosely(path: string, name = path): string | undefined {
  const bytes = readBytes(path, name);
  return bytes && new TextDecoder().decode(bytes);
}

function readBytes(path: string, name: string): Buffer | undefined {
  if (!existsSync(path)) return undefined;
  try {
    return readFileSync(path);
  } catch (error) {
    const code = codeOf(error);
    throw new Refusal(`${name} ${code === 'EISDIR' ? 'is a folder, not a file' : `cannot be read (${code})`}.`, again);
  }
}

/**
 * Replaces a file at once: where that fails, the file is as it was.
 *
 * @param mode of a new file; one that is there keeps its own
 * @throws {Refusal}
 */
export function writeText(path: string, text: string, { name = path, mode = 0o666 } = {}): void {
  try {
    const before = statSync(path, { throwIfNoEntry: false });
    const target = before === undefined ? path : realpathSync(path);
    const temporary = `${target}.${randomBytes(6).toString('hex')}.tmp`;
    try {
      writeFileSync(temporary, text, { mode: before?.mode ?? mode, flag: 'wx' });
      if (before !== undefined) {
        chmodSync(temporary, before.mode & 0o7777);
        if (process.getuid?.() === 0) chownSync(temporary, before.uid, before.gid);
      }
      renameSync(temporary, target);
    } finally {
      rmSync(temporary, { force: true });
    }
  } catch (error) {
    throw new Refusal(`${name} cannot be written (${codeOf(error)}), and is as it was.`, again);
  }
}

/** @throws {Refusal} where a file is a symbolic link out of its folder */
export function refuseLinkOut(path: string, name = path): void {
  if (lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() !== true) return;
  const target = existsSync(path) ? relative(realpathSync(dirname(path)), realpathSync(path)) : '..';
  if (target.startsWith('..') || isAbsolute(target))
    throw new Refusal(
      `${name} is a symbolic link to a file outside this folder, which is not written.`,
      'Set the variables there yourself.',
    );
}

export const codeOf = (error: unknown): string =>
  error instanceof Error && 'code' in error ? String(error.code) : String(error);
