import type { AdapterName } from '../types.ts';

/** `problem`: sign-in fails or is unsafe. `warning`: it works, and something will surprise you. `note`: worth knowing. */
export type Level = 'ok' | 'note' | 'warning' | 'problem';

export type Subject = 'application' | AdapterName;

/** One result of a check. Never holds a key, a password or a part of one. */
export interface Finding {
  /** Stable, such as `b2b.api_key`. */
  readonly id: string;
  readonly subject: Subject;
  readonly level: Level;
  readonly message: string;
  /** What to do about it. */
  readonly fix?: string;
  /** For scripts, such as the redirect URI. */
  readonly values?: Readonly<Record<string, string | number | boolean | readonly string[]>>;
}

/** Adds a finding about one subject. @param id without the subject */
export type Add = (level: Level, id: string, message: string, details?: Pick<Finding, 'fix' | 'values'>) => void;

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
}
