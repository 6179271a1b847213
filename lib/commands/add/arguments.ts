import { parseOptions } from '../arguments.ts';
import type { AdapterName } from '../../types.ts';

export const usage = `Usage: express-auth-adapters add b2b|backend [options]

Adds an adapter to the Express application in this folder: b2b is WorkOS (b2bAuth), backend is Supabase (backendAuth).
Installs the package and its SDK, adds the missing variables to .env, shows the lines to add, and ends with the doctor.

  --write        adds the lines to the file that calls express()
  --file FILE    that file; needed where several call express()
  --local        the settings of local stand-ins, which express-auth-adapters providers starts
  --dry-run      says all of it and changes nothing
  -h, --help     this text

Exit code: 0 done, 1 nothing was changed or a step failed, 2 wrong usage.
`;

export interface AddCommand {
  readonly adapter: AdapterName;
  readonly isWritten: boolean;
  readonly isLocal: boolean;
  readonly isDryRun: boolean;
  readonly file: string | undefined;
}

const options = {
  write: { type: 'boolean', default: false },
  file: { type: 'string' },
  local: { type: 'boolean', default: false },
  'dry-run': { type: 'boolean', default: false },
  help: { type: 'boolean', short: 'h', default: false },
} as const;

/**
 * @param args behind `add`
 * @throws {TypeError} with a reason for the user
 */
export function parseAdd(args: readonly string[]): AddCommand | 'help' {
  const { values, positionals } = parseOptions(args, options);
  if (values.help) return 'help';
  const [adapter, ...others] = positionals;
  if ((adapter !== 'b2b' && adapter !== 'backend') || others.length > 0)
    throw new TypeError('Say which adapter: add b2b (WorkOS) or add backend (Supabase)');
  const { write: isWritten, local: isLocal, 'dry-run': isDryRun, file } = values;
  return { adapter, isWritten, isLocal, isDryRun, file };
}
