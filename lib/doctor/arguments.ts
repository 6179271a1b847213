import { parseArgs } from 'node:util';
import { isHttpUrl } from '../http/options.ts';
import type { AdapterName } from '../types.ts';

export const usage = `Usage: express-auth-adapters doctor [options]

Reads the environment as the adapters do, asks the providers, and says what is wrong and what to do.
Changes nothing. Keys and passwords are never printed.

  --adapter b2b|backend   check only this one (default: those whose variables are set)
  --app-url URL           the application's public base URL (default: APP_BASE_URL, else http://localhost:3000)
  --callback-path PATH    where it differs from the default; needs --adapter when both are configured
  --env FILE              read variables from a file; those that are set already win
  --timeout MS            for each question to a provider (default 5000)
  --json                  one JSON document instead of text
  -h, --help              this text

Exit code: 0 no problems, 1 problems, 2 wrong usage.
`;

export type Command =
  | { readonly kind: 'help' }
  | { readonly kind: 'wrong'; readonly reason: string }
  | {
      readonly kind: 'doctor';
      readonly isJson: boolean;
      readonly adapter: AdapterName | undefined;
      readonly appUrl: string | undefined;
      readonly callbackPath: string | undefined;
      readonly envFile: string | undefined;
      /** Milliseconds. */
      readonly timeoutMs: number;
    };

/** @param args without node and script */
export function parseCommand(args: readonly string[]): Command {
  let parsed;
  try {
    parsed = parseArgs({
      args: [...args],
      allowPositionals: true,
      options: {
        adapter: { type: 'string' },
        'app-url': { type: 'string' },
        'callback-path': { type: 'string' },
        env: { type: 'string' },
        timeout: { type: 'string', default: '5000' },
        json: { type: 'boolean', default: false },
        help: { type: 'boolean', short: 'h', default: false },
      },
    });
  } catch (error) {
    return wrong(error instanceof Error ? error.message : 'Unknown arguments');
  }
  const { values, positionals } = parsed;
  if (values.help) return { kind: 'help' };
  if (positionals.length !== 1 || positionals[0] !== 'doctor') {
    return wrong(positionals.length === 0 ? 'A command is missing' : `Unknown command: ${positionals.join(' ')}`);
  }
  const { adapter, 'app-url': appUrl, 'callback-path': callbackPath, env: envFile } = values;
  if (adapter !== undefined && adapter !== 'b2b' && adapter !== 'backend') return wrong('--adapter is b2b or backend');
  if (appUrl !== undefined && !isHttpUrl(appUrl)) return wrong('--app-url must be an absolute http(s) URL');
  if (callbackPath?.startsWith('/') === false) return wrong('--callback-path must start with /');
  const timeoutMs = /^\d+$/.test(values.timeout) ? Number(values.timeout) : 0;
  if (timeoutMs < 100 || timeoutMs > 30_000) return wrong('--timeout must be between 100 and 30000 milliseconds');
  return { kind: 'doctor', isJson: values.json, adapter, appUrl, callbackPath, envFile, timeoutMs };
}

const wrong = (reason: string): Command => ({ kind: 'wrong', reason });
