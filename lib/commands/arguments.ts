import { parseArgs } from 'node:util';
import type { ParseArgsConfig } from 'node:util';
import { nearestName } from '../nearest.ts';

type Options = NonNullable<ParseArgsConfig['options']>;

/**
 * The options and the other words of a command.
 *
 * @throws {TypeError} which names the option that a misspelled one most likely means
 */
export function parseOptions<const Given extends Options>(args: readonly string[], options: Given) {
  try {
    return parseArgs({ args: [...args], allowPositionals: true, options });
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    const [, unknown = ''] = /^Unknown option '--([\w-]+)'/.exec(error.message) ?? [];
    const nearest = nearestName(unknown, Object.keys(options));
    throw nearest === undefined ? error : new TypeError(`Unknown option '--${unknown}'; did you mean --${nearest}?`);
  }
}
