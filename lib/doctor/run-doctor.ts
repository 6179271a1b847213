import type { AdapterName } from '../types.ts';
import { appUrlOf, checkApplication } from './application-checks.ts';
import { checkB2b } from './b2b-checks.ts';
import { checkBackend } from './backend-checks.ts';
import { findingsOf, variablePrefixes } from './finding.ts';
import { checkVendorNames } from './options-check.ts';
import type { DoctorContext, Finding, Step, Steps } from './finding.ts';

export interface DoctorOptions {
  readonly env: NodeJS.ProcessEnv;
  /** `process.versions.node` */
  readonly nodeVersion: string;
  readonly fetch?: typeof globalThis.fetch;
  /** Milliseconds since the epoch. */
  readonly now?: () => number;
  /** For each question to a provider, in milliseconds. Default 5,000. */
  readonly timeoutMs?: number;
  /** Default: those whose variables are set. */
  readonly adapter?: AdapterName | undefined;
  /** The application's public base URL; default `APP_BASE_URL`, else `http://localhost:3000`. */
  readonly appUrl?: string | undefined;
  readonly callbackPath?: string | undefined;
  /** Told of each step as it happens. */
  readonly onStep?: (step: Step) => void;
}

/** What `--json` prints. Members may be added; those that are here stay as long as `format` does. */
export interface DoctorReport {
  readonly format: 1;
  /** No problems; warnings are none. */
  readonly ok: boolean;
  readonly adapters: readonly AdapterName[];
  readonly findings: readonly Finding[];
}

/** Reads the environment as the adapters do, asks the providers, and says what it finds. Changes nothing anywhere. */
export async function runDoctor(options: DoctorOptions): Promise<DoctorReport> {
  const { env, fetch = globalThis.fetch, now = Date.now, timeoutMs = 5_000, callbackPath, onStep } = options;
  const adapters = options.adapter === undefined ? configuredAdapters(env) : [options.adapter];
  const context = { env, fetch, now, timeoutMs, callbackPath, appUrl: appUrlOf(env, options.appUrl) };
  const findings: Finding[] = [];
  for await (const step of steps(options, adapters, context)) {
    if (step.kind === 'found') findings.push(step.finding);
    onStep?.(step);
  }
  return { format: 1, ok: !findings.some(({ level }) => level === 'problem'), adapters, findings };
}

async function* steps(options: DoctorOptions, adapters: readonly AdapterName[], context: DoctorContext): Steps {
  const { env, nodeVersion, appUrl } = options;
  yield* checkApplication({ env, nodeVersion, appUrl });
  const found = findingsOf('application');
  yield* checkVendorNames(env);
  if (adapters.length === 0) {
    yield found('problem', 'adapter', 'Neither adapter is configured: no B2B_… and no BAAS_… variable is set', {
      fix: 'Set B2B_CLIENT_ID and B2B_API_KEY for b2bAuth, or BAAS_URL and BAAS_PUBLISHABLE_KEY for backendAuth; --env .env reads them from a file.',
    });
  }
  if (adapters.length === 2) {
    yield found('note', 'adapter', 'Both adapters are configured, and both answer /auth/session by default', {
      fix: "If you mount both, name one of them: backendAuth({ sessionPath: '/auth/me' })",
    });
  }
  if (adapters.includes('b2b')) yield* checkB2b(context);
  if (adapters.includes('backend')) yield* checkBackend(context);
}

/** Those of which anything is set, so that a half-filled environment is reported and not passed over. */
export function configuredAdapters(env: NodeJS.ProcessEnv): readonly AdapterName[] {
  const isSet = (pattern: RegExp): boolean =>
    Object.entries(env).some(([name, value]) => pattern.test(name) && value !== undefined && value !== '');
  return [
    ...(isSet(variablePrefixes.b2b) ? ['b2b' as const] : []),
    ...(isSet(variablePrefixes.backend) ? ['backend' as const] : []),
  ];
}
