import { parseEnv } from 'node:util';

// Imported as an ES module, it would load its streams and promises, too.
const { readFileSync } = process.getBuiltinModule('node:fs');

/**
 * A hint for a start without the variables of a `.env` beside it, which Node reads only when asked.
 *
 * @param names the environment variables that are missing
 * @param path of the file
 */
export function unreadEnvFile(names: readonly string[], path = '.env'): string | undefined {
  const variables = parseEnv(textOf(path));
  const listed = names.filter((name) => (variables[name] ?? '') !== '');
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
