/**
 * `npx express-auth-adapters providers`, and `npm run providers [port]` here: the stand-ins without the tour,
 * for another application on that port (default 3000). Prints the settings for signing in with them.
 */
import { parseArgs } from 'node:util';
import { Refusal } from '../lib/commands/refusal.ts';
import { startFile } from '../lib/commands/start-file.ts';
import { addressesOf } from './addresses.ts';
import type { MovedRoutes } from './addresses.ts';
import { keptVariables, writeEnvFile } from './env-file.ts';
import type { Variables } from './env-file.ts';
import { startProviders } from './providers.ts';
import { supabaseVariables, workosVariables } from './variables.ts';
import { readSettings, SettingsError } from './settings.ts';

const usage = `Usage: express-auth-adapters providers [port] [options]

Starts local stand-ins for WorkOS and Supabase, so that an app on http://localhost:<port> (default 3000) signs people in without an
account or a key. Prints the settings of the app. Nothing else has to be installed; Ctrl+C stops them.
Where .env has the settings of an earlier start, they are used again.

  --env                  write the settings to .env as well; the lines that are there are kept
  --path-prefix PATH     the option pathPrefix of your app; without it, the app's first requests tell
  --callback-path PATH   the option callbackPath of your app; likewise
  -h, --help             this text
`;

try {
  const { isHelp, ...command } = readArguments(process.argv.slice(2));
  if (isHelp) console.log(usage);
  else await run(command);
} catch (error) {
  if (error instanceof SettingsError) console.error(error.problems.join('\n'));
  else if (error instanceof Refusal) console.error(`${error.message}\n${error.advice}`);
  else throw error;
  process.exit(1);
}

interface Command extends MovedRoutes {
  readonly port: string | undefined;
  readonly isEnvWritten: boolean;
}

/** @throws {SettingsError} */
function readArguments(args: readonly string[]): Command & { readonly isHelp: boolean } {
  try {
    const { values, positionals } = parseArgs({
      args: args[0] === 'providers' ? args.slice(1) : [...args],
      allowPositionals: true,
      options: {
        env: { type: 'boolean', default: false },
        'path-prefix': { type: 'string' },
        'callback-path': { type: 'string' },
        help: { type: 'boolean', short: 'h', default: false },
      },
    });
    const { env: isEnvWritten, help: isHelp, 'path-prefix': pathPrefix, 'callback-path': callbackPath } = values;
    for (const path of [pathPrefix, callbackPath])
      if (path !== undefined && !/^(?:\/[\w.~-]+)+$/.test(path))
        throw new TypeError(`${path} is no path such as /v1/auth`);
    return { port: positionals[0], isEnvWritten, isHelp, pathPrefix, callbackPath };
  } catch (error) {
    throw new SettingsError([error instanceof Error ? error.message : String(error), '', usage]);
  }
}

async function run({ port, isEnvWritten, ...routes }: Command): Promise<void> {
  const settings = readSettings({
    NODE_ENV: process.env['NODE_ENV'],
    PORT: port,
    // This server has no page for the emails.
    TOUR_CONFIRM_EMAIL: 'false',
  });
  const kept = keptVariables('.env');
  const tell = (sentence: string): void => console.log(`# ${sentence}`);
  const addresses = addressesOf(`http://localhost:${settings.port}`, routes);
  const providers = await startProviders(settings, settings.port, { tell, kept, addresses });
  const { workos, supabase } = providers;
  for (const signal of ['SIGINT', 'SIGTERM'] as const)
    process.once(signal, () => void providers.close().then(() => process.exit(0)));
  const origin = `http://localhost:${settings.port}`;
  const variables: Variables = { ...workosVariables(workos), ...supabaseVariables(supabase) };
  const names = Object.keys(isEnvWritten ? variables : kept);
  if (names.length > 0) {
    const wanted = Object.fromEntries(names.map((name) => [name, variables[name] ?? '']));
    const isKept = names.every((name) => wanted[name] === kept[name]);
    if (isKept) console.log(`# The settings in .env are used again.`);
    else for (const sentence of writeEnvFile('.env', wanted)) console.log(`# ${sentence}`);
    console.log(`# Start an app on ${origin} with: node --env-file=.env ${startFile('.') ?? 'app.mjs'}`);
  } else {
    console.log(`# Stand-ins for an app on ${origin}. Paste this where it is started; Ctrl+C here stops them.`);
    for (const [name, value] of Object.entries(variables)) console.log(`export ${name}=${value}`);
  }
  if (addresses !== undefined) {
    tell(`WorkOS: register ${addresses.callback} as a redirect URI, and ${addresses.signIn} as the sign-in endpoint.`);
    tell(`Supabase: add ${addresses.callback} to the redirect URLs.`);
  }
  if (workos !== undefined)
    console.log(`# WorkOS: sign in as ${[...workos.users.values()].map(({ email }) => email).join(', ')}`);
  if (supabase !== undefined) {
    console.log(`# Supabase: sign in as ${supabase.demo.email} with ${supabase.demo.password}`);
    console.log(`# Supabase: sign in as ${supabase.admin.email}, an admin, with ${supabase.admin.password}`);
  }
}
