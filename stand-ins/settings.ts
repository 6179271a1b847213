/** The settings from the environment; each side of the app uses a stand-in unless its variables name the real provider. */
export interface Settings {
  /** 0 picks a free port. */
  readonly port: number;
  /** `true`: `b2bAuth` reads the real project's id and key from the environment itself. */
  readonly isRealWorkos: boolean;
  /** `true`: `backendAuth` reads the real project's URL and key from the environment itself. */
  readonly isRealSupabase: boolean;
  /** Whether the local Supabase sends a link to confirm a new address; a real project decides that itself. */
  readonly confirmsEmail: boolean;
  /** The PostgreSQL with the notes. Without it they are read by Supabase's API. */
  readonly databaseUrl?: string | undefined;
}

/** The environment is inconsistent; `problems` are sentences for a terminal. */
export class SettingsError extends Error {
  override readonly name = 'SettingsError';
  readonly problems: readonly string[];

  constructor(problems: readonly string[]) {
    super(problems.join('\n'));
    this.problems = problems;
  }
}

type Environment = Readonly<Record<string, string | undefined>>;

const b2bVariables = [['B2B_CLIENT_ID'], ['B2B_API_KEY']] as const;
const backendVariables = [
  ['BAAS_URL', 'NEXT_PUBLIC_BAAS_URL'],
  [
    'BAAS_PUBLISHABLE_KEY',
    'BAAS_ANON_KEY',
    'NEXT_PUBLIC_BAAS_ANON_KEY',
    'NEXT_PUBLIC_BAAS_PUBLISHABLE_KEY',
    'NEXT_PUBLIC_BAAS_PUBLISHABLE_DEFAULT_KEY',
  ],
] as const;

/** @throws {SettingsError} with every problem at once */
export function readSettings(environment: Environment): Settings {
  const problems: string[] = [];
  const port = readPort(environment['PORT']);
  if (port === undefined) problems.push(`PORT must be a number from 0 to 65535, not "${environment['PORT'] ?? ''}".`);
  const isRealWorkos = areSet(environment, b2bVariables, problems);
  const isRealSupabase = areSet(environment, backendVariables, problems);

  const isProduction = environment['NODE_ENV'] === 'production';
  if (isProduction && problems.length === 0 && !(isRealWorkos && isRealSupabase)) {
    problems.push(
      'NODE_ENV is production, where the local stand-ins do not run: they check no passwords. Unset NODE_ENV, or set B2B_CLIENT_ID, B2B_API_KEY, BAAS_URL and BAAS_PUBLISHABLE_KEY.',
    );
  }
  if (problems.length > 0 || port === undefined) throw new SettingsError(problems);
  const confirmsEmail = environment['TOUR_CONFIRM_EMAIL'] !== 'false';
  const databaseUrl = environment['TOUR_DATABASE_URL'];
  return {
    port,
    isRealWorkos,
    isRealSupabase,
    confirmsEmail,
    databaseUrl: databaseUrl === '' ? undefined : databaseUrl,
  };
}

function readPort(text: string | undefined): number | undefined {
  if (text === undefined || text === '') return 3000;
  return /^\d{1,5}$/.test(text) && Number(text) <= 65_535 ? Number(text) : undefined;
}

/** Both variables of a pair or none; for each, any of its names is sufficient. */
function areSet(
  environment: Environment,
  variables: readonly (readonly [string, ...string[]])[],
  problems: string[],
): boolean {
  const isSet = (name: string): boolean => (environment[name] ?? '') !== '';
  const given = variables.flatMap((names) => names.find(isSet) ?? []);
  const missing = variables.filter((names) => !names.some(isSet)).map(([name]) => name);
  if (given.length > 0 && missing.length > 0) {
    problems.push(
      `${given.join(' and ')} is set but ${missing.join(' and ')} is missing. Set both to use the real service, or neither to use the local stand-in.`,
    );
  }
  return missing.length === 0;
}
