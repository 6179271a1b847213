import type { AdapterName } from '../types.ts';

/** `problem`: signing in will not work, or not safely. `warning`: it will, and something will surprise you. `note`: worth knowing. */
export type Level = 'ok' | 'note' | 'warning' | 'problem';

export type Subject = 'application' | AdapterName;

/** One thing that was looked at, in plain words. Never holds a key, a password or a part of one. */
export interface Finding {
  /** Stable, such as `b2b.api_key`. */
  readonly id: string;
  readonly subject: Subject;
  readonly level: Level;
  readonly message: string;
  /** What to do about it. */
  readonly fix?: string;
  /** What a script may want to read, such as the redirect URI. */
  readonly values?: Readonly<Record<string, string | number | boolean | readonly string[]>>;
}

/** What is being looked at, or what came of it. */
export type Step =
  | { readonly kind: 'started'; readonly subject: Subject; readonly what: string }
  | { readonly kind: 'found'; readonly finding: Finding };

export type Steps = AsyncGenerator<Step, void, undefined>;

/** Which variables are meant for an adapter, spelt well or not. */
export const variablePrefixes = { b2b: /^(?:LEGACY_)?B2B_/, backend: /^(?:NEXT_PUBLIC_)?BAAS_/ } as const;

type Details = Pick<Finding, 'fix' | 'values'>;

/** Shorthand for the findings of one subject. */
export function findingsOf(subject: Subject) {
  return (level: Level, id: string, message: string, details: Details = {}): Step => ({
    kind: 'found',
    finding: { id: `${subject}.${id}`, subject, level, message, ...details },
  });
}

export interface DoctorContext {
  /** The environment variables. */
  readonly env: NodeJS.ProcessEnv;
  readonly fetch: typeof globalThis.fetch;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  /** For each question to a provider, in milliseconds. */
  readonly timeoutMs: number;
  /** The application's public base URL without a trailing slash. */
  readonly appUrl: string;
  /** Where it differs from the adapter's default. */
  readonly callbackPath: string | undefined;
}
