import { env as backendVariables } from '../backend/option-schema.ts';
import { b2bVariables } from '../b2b/options.ts';
import { nearestName } from '../nearest.ts';
import { ConfigurationError } from '../errors.ts';
import type { AdapterName } from '../types.ts';
import type { Add } from './report.ts';

export interface DoctorContext {
  /** The environment variables. */
  readonly env: NodeJS.ProcessEnv;
  readonly fetch: typeof globalThis.fetch;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  /** For each call to a provider, in milliseconds. */
  readonly timeoutMs: number;
  /** The application's public base URL without a trailing slash. */
  readonly appUrl: string;
  /** Where it differs from the adapter's default. */
  readonly callbackPath: string | undefined;
  /** As the adapter's option. */
  readonly pathPrefix: string | undefined;
}

const prefixes = { b2b: /^(?:LEGACY_)?B2B_/, backend: /^(?:NEXT_PUBLIC_)?BAAS_/ } as const;

const read: Readonly<Record<AdapterName, readonly string[]>> = {
  b2b: Object.values(b2bVariables).flat(),
  // Applications of any kind have it.
  backend: Object.values(backendVariables)
    .flat()
    .filter((name) => name !== 'APP_BASE_URL'),
};

/** The adapters with at least one variable set, so that an incomplete environment is reported. */
export function configuredAdapters(env: NodeJS.ProcessEnv): readonly AdapterName[] {
  const names = Object.keys(env).filter((name) => (env[name] ?? '') !== '');
  return (['b2b', 'backend'] as const).filter((adapter) =>
    names.some((name) => prefixes[adapter].test(name) || read[adapter].includes(name)),
  );
}

/** Reads an adapter's options like the adapter, and reports every problem that would prevent its start. */
export function readOrReport<Options>(read: () => Options, add?: Add): Options | undefined {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof ConfigurationError)) throw error;
    for (const problem of error.problems) add?.('problem', 'options', problem);
    return undefined;
  }
}

/** Reports misspelled variables, whose options would silently keep their defaults. */
export function checkSpelling(
  adapter: AdapterName,
  variables: Readonly<Record<string, readonly string[]>>,
  { env }: { readonly env: NodeJS.ProcessEnv },
  add: Add,
): void {
  const known = Object.values(variables).flat();
  for (const name of Object.keys(env)) {
    if (!prefixes[adapter].test(name) || env[name] === '' || known.includes(name)) continue;
    add('warning', 'variables', `${name} is set, but nothing reads it`, { fix: spellingFix(name, known) });
  }
}

function spellingFix(name: string, known: readonly string[]): string {
  const nearest = nearestName(name, known);
  return nearest === undefined ? `Check its spelling; these are read: ${known.join(', ')}` : `Did you mean ${nearest}?`;
}

/** Maps a variable name from the vendors' documentation to this package's variable. */
function ownNameOf(name: string): string | undefined {
  const workos = /^WORKOS_(CLIENT_ID|API_KEY|COOKIE_PASSWORD|API_HOSTNAME|API_PORT|API_HTTPS)$/.exec(name)?.[1];
  if (workos !== undefined) return `B2B_${workos}`;
  const supabase = /^(?:NEXT_PUBLIC_|VITE_|PUBLIC_)?SUPABASE_(URL|ANON_KEY|PUBLISHABLE_(?:DEFAULT_)?KEY)$/;
  const found = supabase.exec(name)?.[1];
  return found === undefined ? undefined : `BAAS_${found.replace('_DEFAULT', '')}`;
}

const isRead = (name: string): boolean => Object.values(read).some((names) => names.includes(name));

/** Reports variables with a vendor's name that this package does not read. */
export function checkVendorNames(env: NodeJS.ProcessEnv, add: Add): void {
  for (const [name, value = ''] of Object.entries(env)) {
    const own = ownNameOf(name);
    if (own === undefined || value === '' || isRead(name) || isCovered(own, env)) continue;
    add('warning', 'variables', `${name} is set; this package reads ${own}`, {
      fix: `Set ${own} to the value of ${name}.`,
      values: { variable: name, instead: own },
    });
  }
}

/** Any of the key's variables is sufficient. */
function isCovered(own: string, env: NodeJS.ProcessEnv): boolean {
  const same = own.startsWith('BAAS_') && own.endsWith('_KEY') ? /^(?:NEXT_PUBLIC_)?BAAS_\w+_KEY$/ : undefined;
  return Object.keys(env).some(
    (name) => env[name] !== '' && (same?.test(name) ?? [own, `NEXT_PUBLIC_${own}`].includes(name)),
  );
}

/** Variables whose value is never printed, including the vendors' own names. */
const secretNames = /(?:KEY|PASSWORD|SECRET|TOKEN)$/;

/** Keys and tokens by their form: a prefix, a JWT, a long run of letters and digits. The placeholder `sk_test_…` is not one. */
const secretForms = /\bs[kb]_[\w-]{4,}(?![\w-]*…)|\beyJ[\w-]{4,}(?:\.[\w-]*)*|\b(?=\w*\d)(?=\w*[a-z])\w{24,}/g;

/**
 * Removes credentials from texts, even where they were pasted into a host name, a path or another
 * variable. Case is ignored, because URLs write host names in lower case.
 */
export function createRedaction(env: NodeJS.ProcessEnv): (text: string) => string {
  const secrets = Object.entries(env)
    .flatMap(([name, value = '']) => (secretNames.test(name) ? [value, value.replaceAll(/^\W+|\W+$/g, '')] : []))
    .filter((value) => value.length >= 8)
    .map((value) => value.replaceAll(/[\\^$.*+?()[\]{}|]/g, '\\$&'));
  const known = secrets.length === 0 ? undefined : new RegExp(secrets.join('|'), 'gi');
  return (text) => (known === undefined ? text : text.replaceAll(known, '…')).replaceAll(secretForms, '…');
}
