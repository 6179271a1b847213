import { parseOptions } from '../commands/arguments.ts';
import { isHttpUrl, isPathPrefix } from '../options/shared.ts';
import type { AdapterName } from '../types.ts';

export const usage = `Usage: express-auth-adapters doctor [options]
       express-auth-adapters add b2b|backend            adds an adapter to an application; see add --help
       express-auth-adapters emails --title TITLE       Supabase's email templates in the pages' look; see emails --help
       express-auth-adapters providers [port] [--env]   local stand-ins for both providers; see providers --help

Reads the environment as the adapters do, asks the providers, and says what is wrong and what to do.
Changes nothing. Keys and passwords are never printed.

  --adapter b2b|backend   check only this one (default: those whose variables are set)
  --app-url URL           the application's public base URL (default: APP_BASE_URL, else http://localhost:3000)
  --path-prefix PATH      the option pathPrefix of your app; needs --adapter when both are configured
  --callback-path PATH    the option callbackPath of your app; likewise
  --env-file FILE         read variables from this file only (default: .env and .env.local); those that are set already win
  --timeout MS            for each call to a provider (default 5000)
  --quiet                 problems and warnings only
  --json                  one JSON document instead of text
  --version               the version of this package
  -h, --help              this text

Exit code: 0 no problems, 1 problems, 2 wrong usage.
`;

type Command =
  | { readonly kind: 'help' | 'version' }
  | {
      readonly kind: 'doctor';
      readonly isJson: boolean;
      readonly isQuiet: boolean;
      readonly adapter: AdapterName | undefined;
      readonly appUrl: string | undefined;
      readonly callbackPath: string | undefined;
      readonly pathPrefix: string | undefined;
      readonly envFile: string | undefined;
      /** Milliseconds. */
      readonly timeoutMs: number;
    };

const options = {
  adapter: { type: 'string' },
  'app-url': { type: 'string' },
  'callback-path': { type: 'string' },
  'path-prefix': { type: 'string' },
  'env-file': { type: 'string' },
  timeout: { type: 'string', default: '5000' },
  quiet: { type: 'boolean', default: false },
  json: { type: 'boolean', default: false },
  version: { type: 'boolean', default: false },
  help: { type: 'boolean', short: 'h', default: false },
} as const;

/**
 * @param args without node and script
 * @throws {TypeError} with a reason for the user
 */
export function parseCommand(args: readonly string[]): Command {
  const { values, positionals } = parseOptions(args, options);
  if (values.help) return { kind: 'help' };
  if (values.version) return { kind: 'version' };
  const { adapter, 'app-url': appUrl, 'callback-path': callbackPath, 'env-file': envFile } = values;
  const { 'path-prefix': pathPrefix } = values;
  if (positionals.length === 0) throw new TypeError('A command is missing');
  if (positionals.join(' ') !== 'doctor') throw new TypeError(`Unknown command: ${positionals.join(' ')}`);
  if (adapter !== undefined && adapter !== 'b2b' && adapter !== 'backend')
    throw new TypeError('--adapter is b2b or backend');
  if (appUrl !== undefined && !isHttpUrl(appUrl)) throw new TypeError('--app-url must be an absolute http(s) URL');
  if (callbackPath?.startsWith('/') === false) throw new TypeError('--callback-path must start with /');
  if (pathPrefix !== undefined && !isPathPrefix(pathPrefix))
    throw new TypeError('--path-prefix must be a path such as /v1/auth, without a trailing slash');
  const timeoutMs = parseTimeout(values.timeout);
  const { json: isJson, quiet: isQuiet } = values;
  return { kind: 'doctor', isJson, isQuiet, adapter, appUrl, callbackPath, pathPrefix, envFile, timeoutMs };
}

function parseTimeout(text: string): number {
  const timeoutMs = /^\d+$/.test(text) ? Number(text) : 0;
  if (timeoutMs >= 100 && timeoutMs <= 30_000) return timeoutMs;
  throw new TypeError('--timeout must be between 100 and 30000 milliseconds');
}
