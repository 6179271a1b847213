// A name that an old Node does not export would be a syntax error there, in place of the one about its version.
import util from 'node:util';

/**
 * A hint for a start without the variables of a `.env` beside it, which Node reads only when asked.
 *
 * @param names the environment variables that are missing
 * @param path of the file
 */
export function unreadEnvFile(names: readonly string[], path = '.env'): string | undefined {
  const variables = util.parseEnv(textOf(path));
  const listed = names.filter((name) => (variables[name] ?? '') !== '');
  if (listed.length === 0) return undefined;
  return `${listed.join(' and ')} ${listed.length === 1 ? 'is' : 'are'} in the file ${path} here, which was not read; start with node --env-file=${path}`;
}

function textOf(path: string): string {
  try {
    // Imported as an ES module, it would load its streams and promises, too.
    return process.getBuiltinModule('node:fs').readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}
