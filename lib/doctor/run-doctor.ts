import type { AdapterName } from '../types.ts';
import { appUrlOf, checkApplication } from './application-checks.ts';
import type { ApplicationFacts } from './application-checks.ts';
import { checkB2b } from './b2b-checks.ts';
import { checkBackend } from './backend-checks.ts';
import { checkVendorNames, configuredAdapters, createRedaction } from './environment.ts';
import type { Add, DoctorContext, Finding, Subject } from './finding.ts';

export interface DoctorOptions extends ApplicationFacts, Partial<Omit<DoctorContext, 'env' | 'appUrl'>> {
  /** Default: those whose variables are set. */
  readonly adapter?: AdapterName | undefined;
  /** Whether there is a file `.env` that was not read. */
  readonly isEnvFileUnread?: boolean;
}

/** What `--json` prints. Members may be added; those that are here stay as long as `format` does. */
export interface DoctorReport {
  readonly format: 1;
  /** Whether no finding is a problem. */
  readonly ok: boolean;
  readonly adapters: readonly AdapterName[];
  readonly findings: readonly Finding[];
}

/** Reads the environment as the adapters do, asks the providers, and reports what it finds. Changes nothing anywhere. */
export async function runDoctor(options: DoctorOptions): Promise<DoctorReport> {
  const { env, fetch = globalThis.fetch, now = Date.now, timeoutMs = 5_000, callbackPath } = options;
  const adapters = options.adapter === undefined ? configuredAdapters(env) : [options.adapter];
  const context = { env, fetch, now, timeoutMs, callbackPath, appUrl: appUrlOf(options) };
  const redact = createRedaction(env);
  const redactText = (_key: string, value: unknown): unknown => (typeof value === 'string' ? redact(value) : value);
  const findings: Finding[] = [];
  const addTo =
    (subject: Subject): Add =>
    (level, id, message, details) => {
      const finding: Finding = { id: `${subject}.${id}`, subject, level, message, ...details };
      findings.push(JSON.parse(JSON.stringify(finding, redactText)) as Finding);
    };
  const add = addTo('application');
  checkApplication(options, add);
  checkVendorNames(env, add);
  if (adapters.length === 0) {
    add('problem', 'adapter', 'Neither adapter is configured: no B2B_… and no BAAS_… variable is set', {
      fix:
        options.isEnvFileUnread === true
          ? 'There is a file .env here; read it with --env-file .env'
          : 'Set B2B_CLIENT_ID and B2B_API_KEY for b2bAuth, or BAAS_URL and BAAS_PUBLISHABLE_KEY for backendAuth; --env-file .env reads them from a file.',
    });
  }
  if (adapters.length === 2) {
    add('note', 'adapter', 'Both adapters are configured, and both answer /auth/session by default', {
      fix: "If you mount both, name one of them: backendAuth({ sessionPath: '/auth/me' })",
    });
  }
  if (adapters.includes('b2b')) await checkB2b(context, addTo('b2b'));
  if (adapters.includes('backend')) await checkBackend(context, addTo('backend'));
  return { format: 1, ok: !findings.some(({ level }) => level === 'problem'), adapters, findings };
}
