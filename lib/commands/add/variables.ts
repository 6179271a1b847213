import { randomBytes } from 'node:crypto';
import { parseEnv } from 'node:util';
import { env as backendVariables, named } from '../../backend/option-schema.ts';
import { b2bVariables } from '../../b2b/options.ts';
import { setVariable } from '../../tools/environment.ts';
import type { AdapterName } from '../../types.ts';

interface Needed {
  readonly name: string;
  /** Any of them is sufficient. */
  readonly names: readonly string[];
}

const needed: Readonly<Record<AdapterName, readonly Needed[]>> = {
  b2b: [
    { name: 'B2B_CLIENT_ID', names: b2bVariables.clientId },
    { name: 'B2B_API_KEY', names: b2bVariables.apiKey },
    { name: 'B2B_COOKIE_PASSWORD', names: b2bVariables.cookiePassword },
  ],
  backend: [
    { name: 'BAAS_URL', names: backendVariables.url },
    { name: named.anonKey, names: backendVariables.anonKey },
  ],
};

const whereToFind = {
  b2b: 'WorkOS: https://dashboard.workos.com, API Keys',
  backend: 'Supabase: https://supabase.com/dashboard, your project, Project Settings, API Keys',
} as const;

export interface Settings {
  /** Made for this application. */
  readonly made: Readonly<Record<string, string>>;
  /** Those of local stand-ins. */
  readonly local: Readonly<Record<string, string>>;
  /** The variables whose value a person must fill in. */
  readonly empty: readonly string[];
}

/**
 * What the adapter needs and neither the environment nor a file has.
 *
 * @param standIns the settings of local stand-ins, for where no variable names a provider
 */
export function missingSettings(
  adapter: AdapterName,
  environment: Readonly<Record<string, string | undefined>>,
  standIns: Readonly<Record<string, string>> = {},
): Settings {
  const names = needed[adapter]
    .filter((each) => setVariable(environment, each.names) === undefined)
    .map(({ name }) => name);
  const made = names.includes('B2B_COOKIE_PASSWORD')
    ? { B2B_COOKIE_PASSWORD: randomBytes(32).toString('base64url') }
    : {};
  const isProviderNamed = needed[adapter].some(({ name }) => name in standIns && !names.includes(name));
  const local = isProviderNamed ? {} : standIns;
  return { made, local, empty: names.filter((name) => !(name in made) && !(name in local)) };
}

/** The text of a `.env` with further lines at its end. A name that waits there for its value gets no second line. */
export function withSettings(text: string, adapter: AdapterName, { made, empty }: Settings): string {
  const present = parseEnv(text);
  const waiting = empty.filter((name) => !(name in present)).map((name) => `${name}=`);
  const own = Object.entries(made).map(([name, value]) => `${name}=${value}`);
  const lines = [...(waiting.length === 0 ? [] : [`# ${whereToFind[adapter]}`]), ...waiting, ...own];
  if (lines.length === 0) return text;
  const kept = text.trimEnd();
  return `${kept === '' ? '' : `${kept}\n\n`}${lines.join('\n')}\n`;
}
