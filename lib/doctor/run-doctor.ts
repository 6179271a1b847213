import { b2bSdks } from '../b2b/options.ts';
import { backendSdks } from '../backend/options.ts';
import { nodeProblem } from '../tools/node-version.ts';
import { isLoopback } from '../tools/url.ts';
import { isHttpUrl } from '../options/shared.ts';
import { missingPackages } from '../options/read.ts';
import { isProduction, setVariable } from '../tools/environment.ts';
import type { AdapterName } from '../types.ts';
import { checkB2b } from './b2b-checks.ts';
import { checkBackend } from './backend-checks.ts';
import { checkVendorNames, configuredAdapters, createRedaction } from './environment.ts';
import type { DoctorContext } from './environment.ts';
import type { Add, DoctorReport, Finding, Subject } from './report.ts';

export interface DoctorOptions extends Partial<Omit<DoctorContext, 'env' | 'appUrl'>> {
  readonly env: NodeJS.ProcessEnv;
  /** `process.versions.node` */
  readonly nodeVersion: string;
  /** As given with `--app-url`. */
  readonly appUrl?: string | undefined;
  /** Default: those whose variables are set. */
  readonly adapter?: AdapterName | undefined;
  /** The files that the variables were read from, beside the environment. */
  readonly envFiles?: readonly string[];
  /** What starts the application, where that is known. */
  readonly startFile?: string | undefined;
  /** Those of the packages that are not installed. */
  readonly missing?: (names: readonly string[]) => readonly string[];
}

const sdks = { b2b: b2bSdks, backend: backendSdks } as const;

/** Reads the environment like the adapters, calls the providers, and reports the findings. Changes nothing. */
export async function runDoctor(options: DoctorOptions): Promise<DoctorReport> {
  const { env, fetch = globalThis.fetch, now = Date.now, timeoutMs = 5_000 } = options;
  const adapters = options.adapter === undefined ? usedAdapters(options) : [options.adapter];
  const { callbackPath, pathPrefix } = options;
  const context = { env, fetch, now, timeoutMs, callbackPath, pathPrefix, appUrl: appUrlOf(options) };
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
      fix: 'Set B2B_CLIENT_ID and B2B_API_KEY for b2bAuth, or BAAS_URL and BAAS_PUBLISHABLE_KEY for backendAuth, in the environment or in .env; --env-file reads another file.',
    });
  }
  if (adapters.length === 2) {
    add('note', 'adapter', 'Both adapters are configured, and both answer /auth/session by default', {
      fix: "If you mount both, name one of them: backendAuth({ sessionPath: '/auth/me' })",
    });
  }
  if (options.adapter === undefined) addUnused(options, adapters, add);
  if (adapters.includes('b2b')) await checkB2b(context, addTo('b2b'));
  if (adapters.includes('backend')) await checkBackend(context, addTo('backend'));
  return { format: 1, ok: !findings.some(({ level }) => level === 'problem'), adapters, findings };
}

/**
 * The stand-ins write the settings of both adapters, and most applications install the SDK of one. Without either SDK both are
 * checked, and each says what to install.
 */
function usedAdapters({ env, missing = missingPackages }: DoctorOptions): readonly AdapterName[] {
  const configured = configuredAdapters(env);
  const installed = configured.filter((adapter) => missing(sdks[adapter]).length === 0);
  return installed.length === 0 ? configured : installed;
}

function addUnused({ env, missing = missingPackages }: DoctorOptions, used: readonly AdapterName[], add: Add): void {
  for (const adapter of configuredAdapters(env).filter((each) => !used.includes(each))) {
    const packages = missing(sdks[adapter]);
    const [name, prefix] = adapter === 'b2b' ? ['b2bAuth', 'B2B_'] : ['backendAuth', 'BAAS_'];
    add(
      'note',
      'adapter',
      `${prefix}… is set, but ${packages.join(' and ')} is not installed: ${name} is not checked`,
      {
        fix: `If you mount ${name}: npm install ${packages.join(' ')}`,
      },
    );
  }
}

/** The application's base URL without a trailing slash; a default where no setting names it. */
function appUrlOf({ env, appUrl }: DoctorOptions): string {
  const given = [appUrl, env['APP_BASE_URL']].find((url) => url !== undefined && isHttpUrl(url));
  // It is printed, so credentials and the query are left out.
  const { origin, pathname } = new URL(given ?? 'http://localhost:3000');
  return (origin + pathname).replace(/\/+$/, '');
}

/** Checks the process and its environment, independent of the adapter. */
function checkApplication(facts: DoctorOptions, add: Add): void {
  const { env, nodeVersion, envFiles = [], startFile = 'app.mjs' } = facts;
  const inProduction = isProduction(env);
  const [tooOld, fix = ''] = nodeProblem(nodeVersion)?.split('; ') ?? [];
  if (tooOld === undefined) add('ok', 'node', `Node ${nodeVersion}`);
  else add('problem', 'node', tooOld, { fix: `${fix.replace(/^u/, 'U')}.` });
  if (inProduction) add('ok', 'node_env', 'NODE_ENV is production: its rules are applied here too');
  else {
    add('note', 'node_env', `NODE_ENV is ${env['NODE_ENV'] ?? 'not set'}: the rules of development are applied`, {
      fix: 'To check what you deploy, run the doctor there, or with NODE_ENV=production.',
    });
  }
  if (envFiles.length > 0) {
    add('note', 'env_files', `Variables of ${envFiles.join(' and ')} are read here too`, {
      fix: `Node reads ${envFiles.length === 1 ? 'it' : 'them'} for the application only when asked: node ${envFiles.map((file) => `--env-file=${file}`).join(' ')} ${startFile}`,
      values: { files: envFiles },
    });
  }
  checkAppUrl(facts, inProduction, add);
  if (env['NODE_TLS_REJECT_UNAUTHORIZED'] === '0') {
    const message = 'NODE_TLS_REJECT_UNAUTHORIZED=0 turns off the verification of TLS certificates';
    add(inProduction ? 'problem' : 'warning', 'tls', message, {
      fix: 'Remove it, and add your own certificate authority with NODE_EXTRA_CA_CERTS.',
    });
  }
  // Node's `fetch` ignores these variables by default.
  const proxy = setVariable(env, ['HTTPS_PROXY', 'https_proxy', 'HTTP_PROXY', 'http_proxy']);
  if (proxy !== undefined && env['NODE_USE_ENV_PROXY'] !== '1') {
    add('warning', 'outgoing_proxy', `${proxy} is set, but Node connects to the provider without that proxy`, {
      fix: 'Set NODE_USE_ENV_PROXY=1 (Node 22.21, 24 or later), or pass the adapter a fetch that uses the proxy.',
    });
  }
}

function checkAppUrl(facts: DoctorOptions, inProduction: boolean, add: Add): void {
  const name = facts.appUrl === undefined ? 'APP_BASE_URL' : '--app-url';
  const given = facts.appUrl ?? facts.env['APP_BASE_URL'] ?? '';
  const appUrl = appUrlOf(facts);
  if (given === '') {
    add('note', 'url', `No setting names the application's URL; ${appUrl} is assumed`, {
      fix: 'Set APP_BASE_URL, or pass --app-url https://app.example.com',
      values: { appUrl, isAssumed: true },
    });
    return;
  }
  const url = isHttpUrl(given) ? new URL(given) : undefined;
  if (url === undefined || url.username + url.password + url.search + url.hash !== '') {
    const what = url === undefined ? 'is not an absolute URL' : 'holds a user name, a password, a query or a fragment';
    const fix = 'Write its protocol, host and path only, such as https://app.example.com';
    add('problem', 'url', `${name} ${what}`, { fix });
    return;
  }
  checkAddress(url, { name, appUrl, inProduction }, add);
}

function checkAddress(
  { protocol, hostname, pathname }: URL,
  { name, appUrl, inProduction }: { readonly name: string; readonly appUrl: string; readonly inProduction: boolean },
  add: Add,
): void {
  const values = { appUrl, isAssumed: false };
  if (inProduction && isLoopback(hostname)) {
    add('warning', 'url', `${name} is ${appUrl} although NODE_ENV is production`, {
      fix: 'Set it to the address that visitors use: redirect URIs are made from it.',
      values,
    });
  } else if (protocol === 'http:' && !isLoopback(hostname)) {
    const message = `${name} is ${appUrl}: without https, cookies travel unencrypted and providers refuse redirect URIs`;
    const fix = 'Serve the application over https and write https:// here.';
    add(inProduction ? 'problem' : 'warning', 'url', message, { fix, values });
  } else add('ok', 'url', `${name} is ${appUrl}`, { values });
  if (pathname.replace(/\/+$/, '') !== '') {
    add('note', 'mount', `${name} has the path ${pathname}: an adapter mounted there misses other spellings of it`, {
      fix: 'Mount an adapter with protectedRoutes at the root, or put requireSession() in front of these pages.',
    });
  }
  if (protocol === 'https:') {
    add('note', 'proxy', 'The application is public over https; a proxy or load balancer probably ends TLS', {
      fix: "Call app.set('trust proxy', 1) (the number of proxies), or give the adapters appBaseUrl; else redirect URIs start with http:// and cookies lack Secure.",
    });
  }
}
