import { ConfigurationError } from '../errors.ts';
import type { AdapterName } from '../types.ts';
import { findingsOf } from './finding.ts';
import type { Step } from './finding.ts';

/** What the adapter's own reader makes of the environment: its options, or every problem that it would refuse to start with. */
export function readOrReport<Options>(
  adapter: AdapterName,
  read: () => Options,
): { readonly options: Options | undefined; readonly steps: readonly Step[] } {
  try {
    return { options: read(), steps: [] };
  } catch (error) {
    if (!(error instanceof ConfigurationError)) throw error;
    const found = findingsOf(adapter);
    return { options: undefined, steps: error.problems.map((problem) => found('problem', 'options', problem)) };
  }
}

/** The first of several variables that is set, as the adapters read them. */
export function setVariable(env: NodeJS.ProcessEnv, names: readonly string[]): string | undefined {
  return names.find((name) => (env[name] ?? '') !== '');
}

/** A misspelt variable is an option that silently stays at its default. */
export function* checkSpelling(
  adapter: AdapterName,
  env: NodeJS.ProcessEnv,
  prefix: RegExp,
  variables: Readonly<Record<string, readonly string[]>>,
): Generator<Step, void, undefined> {
  const known = Object.values(variables).flat();
  const found = findingsOf(adapter);
  for (const name of Object.keys(env)) {
    if (!prefix.test(name) || env[name] === '' || known.includes(name)) continue;
    yield found('warning', 'variables', `${name} is set, but nothing reads it`, {
      fix: `Check its spelling; these are read: ${known.join(', ')}`,
    });
  }
}

/** What the vendors' own pages tell people to set, and what this package reads instead. */
function ownNameOf(name: string): string | undefined {
  const workos = /^WORKOS_(CLIENT_ID|API_KEY|COOKIE_PASSWORD|API_HOSTNAME|API_PORT|API_HTTPS)$/.exec(name)?.[1];
  if (workos !== undefined) return `B2B_${workos}`;
  const supabase = /^(?:NEXT_PUBLIC_|VITE_)?SUPABASE_(URL|ANON_KEY|PUBLISHABLE(?:_DEFAULT)?_KEY)$/.exec(name)?.[1];
  return supabase === undefined ? undefined : `BAAS_${supabase.replace('_DEFAULT', '')}`;
}

/** A variable under the vendor's name is silent, as nothing here reads it. */
export function* checkVendorNames(env: NodeJS.ProcessEnv): Generator<Step, void, undefined> {
  const found = findingsOf('application');
  for (const [name, value = ''] of Object.entries(env)) {
    const own = ownNameOf(name);
    if (own === undefined || value === '' || setVariable(env, [own, `NEXT_PUBLIC_${own}`]) !== undefined) continue;
    yield found('warning', 'variables', `${name} is set; this package reads ${own}`, {
      fix: `Set ${own} to the same value.`,
    });
  }
}
