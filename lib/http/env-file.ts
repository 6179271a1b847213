import { readFileSync } from 'node:fs';

/**
 * A hint for a start without the variables of a `.env` beside it, which Node reads only when asked.
 *
 * @param names the environment variables that are missing; all of their values stay unread
 * @param path of the file
 */
export function unreadEnvFile(names: readonly string[], path = '.env'): string | undefined {
  const text = textOf(path);
  const listed = names.filter((name) =>
    new RegExp(`^[ \\t]*(?:export[ \\t]+)?${name}[ \\t]*=[ \\t]*\\S`, 'm').test(text),
  );
  if (listed.length === 0) return undefined;
  return `${listed.join(' and ')} ${listed.length === 1 ? 'is' : 'are'} in the file ${path} here, which was not read; start with node --env-file=${path}`;
}

function textOf(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}
