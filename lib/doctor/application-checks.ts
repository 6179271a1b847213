import { isHttpUrl } from '../http/options.ts';
import { findingsOf } from './finding.ts';
import type { Step } from './finding.ts';

export interface ApplicationFacts {
  readonly env: NodeJS.ProcessEnv;
  /** `process.versions.node` */
  readonly nodeVersion: string;
  /** As given with `--app-url`. */
  readonly appUrl: string | undefined;
}

const found = findingsOf('application');

/** `engines` of the package. */
const leastNode = [22, 13] as const;
const assumedAppUrl = 'http://localhost:3000';

/** Where the application is said to live, without a trailing slash; an assumption where no setting says it. */
export function appUrlOf(env: NodeJS.ProcessEnv, appUrl: string | undefined): string {
  const said = [appUrl, env['APP_BASE_URL']].find((url) => url !== undefined && isHttpUrl(url));
  // It is printed: nothing of credentials, and nothing of a query that may hold a key.
  const { origin, pathname } = new URL(said ?? assumedAppUrl);
  return (origin + pathname).replace(/\/+$/, '');
}

/** What concerns the process and its surroundings, whichever adapter is used. */
export function* checkApplication(facts: ApplicationFacts): Generator<Step, void, undefined> {
  const { env } = facts;
  const isProduction = env['NODE_ENV'] === 'production';
  yield checkNode(facts.nodeVersion);
  yield isProduction
    ? found('ok', 'node_env', 'NODE_ENV is production: its rules are applied here too')
    : found('note', 'node_env', `NODE_ENV is ${env['NODE_ENV'] ?? 'not set'}: the rules of development are applied`, {
        fix: 'To check what you deploy, run the doctor there, or with NODE_ENV=production.',
      });
  yield* checkAppUrl(facts, isProduction);
  if (env['NODE_TLS_REJECT_UNAUTHORIZED'] === '0') {
    yield found(
      isProduction ? 'problem' : 'warning',
      'tls',
      'NODE_TLS_REJECT_UNAUTHORIZED=0 turns off the verification of TLS certificates: anybody on the way can pose as the provider',
      { fix: 'Remove it; trust a certificate authority of your own with NODE_EXTRA_CA_CERTS.' },
    );
  }
  yield* checkOutgoingProxy(env);
}

function checkNode(version: string): Step {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  const isRecent = major > leastNode[0] || (major === leastNode[0] && minor >= leastNode[1]);
  return isRecent
    ? found('ok', 'node', `Node ${version}`)
    : found('problem', 'node', `Node ${version} is too old`, {
        fix: `Use Node ${leastNode.join('.')} or later.`,
      });
}

function* checkAppUrl(facts: ApplicationFacts, isProduction: boolean): Generator<Step, void, undefined> {
  const [name, said] =
    facts.appUrl === undefined ? ['APP_BASE_URL', facts.env['APP_BASE_URL'] ?? ''] : ['--app-url', facts.appUrl];
  const url = appUrlOf(facts.env, facts.appUrl);
  if (said === '') {
    yield found('note', 'url', `No setting says where the application lives; ${url} is assumed`, {
      fix: 'Set APP_BASE_URL, or pass --app-url https://app.example.com',
      values: { appUrl: url, isAssumed: true },
    });
    return;
  }
  if (!isHttpUrl(said)) {
    yield found('problem', 'url', `${name} is not an absolute URL`, {
      fix: `Write it with its protocol, such as https://app.example.com`,
    });
    return;
  }
  const { username, password, search, hash } = new URL(said);
  if (username + password + search + hash !== '') {
    yield found(
      'problem',
      'url',
      `${name} holds more than an address: a user name, a password, a query or a fragment`,
      {
        fix: 'Write its protocol, host and path alone, such as https://app.example.com',
      },
    );
    return;
  }
  const { protocol, hostname, pathname } = new URL(url);
  const values = { appUrl: url, isAssumed: false };
  const isLoopback = /^(?:localhost|127(?:\.\d+){3}|\[::1\])$|\.localhost$/.test(hostname);
  if (isProduction && isLoopback) {
    yield found('warning', 'url', `${name} is ${url} although NODE_ENV is production`, {
      fix: 'Set it to the address that visitors use: redirect URIs are made from it.',
      values,
    });
  } else if (protocol === 'http:' && !isLoopback) {
    yield found(
      isProduction ? 'problem' : 'warning',
      'url',
      `${name} is ${url}: without https cookies travel in the clear, and providers refuse such redirect URIs`,
      { fix: 'Serve the application over https and write https:// here.', values },
    );
  } else {
    yield found('ok', 'url', `${name} is ${url}`, { values });
  }
  yield* checkMounting(name, protocol, pathname);
}

function* checkMounting(name: string, protocol: string, pathname: string): Generator<Step, void, undefined> {
  if (pathname !== '/') {
    yield found(
      'note',
      'mount',
      `${name} has the path ${pathname}; adapters that are mounted under it do not see other spellings of it, such as /${pathname}`,
      {
        fix: 'Mount an adapter with protectedRoutes at the root, or put requireSession() in front of what serves these pages.',
      },
    );
  }
  if (protocol === 'https:') {
    yield found('note', 'proxy', 'The application is public over https; a proxy or load balancer probably ends TLS', {
      fix: "Call app.set('trust proxy', 1) (the number of proxies), or give the adapters appBaseUrl; else redirect URIs start with http:// and cookies lack Secure.",
    });
  }
}

/** Node's `fetch` takes no notice of these variables by itself. */
function* checkOutgoingProxy(env: NodeJS.ProcessEnv): Generator<Step, void, undefined> {
  const name = ['HTTPS_PROXY', 'https_proxy', 'HTTP_PROXY', 'http_proxy'].find((each) => (env[each] ?? '') !== '');
  if (name === undefined || env['NODE_USE_ENV_PROXY'] === '1') return;
  yield found('warning', 'outgoing_proxy', `${name} is set, but Node goes to the provider without that proxy`, {
    fix: 'Set NODE_USE_ENV_PROXY=1 (Node 22.21, 24 or later), or pass the adapter a fetch that uses the proxy.',
  });
}
