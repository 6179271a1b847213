import { withDeadline } from '../tools/deadline.ts';
import { defined } from '../tools/json.ts';
import { b2bVariables, readB2bOptions } from '../b2b/options.ts';
import type { B2bOptions } from '../b2b/options.ts';
import { createProvider } from '../b2b/workos.ts';
import type { Provider } from '../b2b/workos.ts';
import { classifyFailure } from '../b2b/provider-errors.ts';
import { checkAuthkit } from '../doors/resource/doctor.ts';
import { algorithmsOf, ask, checkClock, explain, unreachableFix } from './ask.ts';
import { checkSpelling, readOrReport } from './environment.ts';
import { isProduction, setVariable } from '../tools/environment.ts';
import type { DoctorContext } from './environment.ts';
import type { Add } from './report.ts';

/** Checks everything that `b2bAuth()` needs, from the environment to the provider's dashboard. */
export async function checkB2b(context: DoctorContext, add: Add): Promise<void> {
  const { env, fetch, timeoutMs, callbackPath, pathPrefix } = context;
  const given = {
    fetch,
    // The adapter's own limits are stricter than the doctor's.
    timeoutMs: Math.min(30_000, Math.max(100, timeoutMs)),
    ...defined({ callbackPath, pathPrefix }),
  };
  const read = readOrReport(() => readB2bOptions(given, env), add);
  // A missing cookie password is reported; the provider is still checked.
  const options = read ?? readOrReport(() => readB2bOptions({ ...given, cookiePassword: 'x'.repeat(32) }, env));
  checkSpelling('b2b', b2bVariables, context, add);
  if (options === undefined) return;
  checkCredentials(options, env, add);
  if (read !== undefined) checkCookiePassword(read, env, add);
  checkProviderAddress(options, env, add);
  const provider = createProvider(options);
  if (await isProviderReachable(provider.jwksUrl, context, add)) await checkApiKey(provider, timeoutMs, add);
  await checkAuthkit(options, context, add);
  addUrlsToRegister(options, context.appUrl, add);
}

/** Checks the form of each value: its kind, its variable and its environment. */
function checkCredentials({ clientId, apiKey }: B2bOptions, env: NodeJS.ProcessEnv, add: Add): void {
  const kinds = [
    ['client_id', 'B2B_CLIENT_ID', clientId, 'a client id (client_…)', 'client_'],
    ['api_key_kind', 'B2B_API_KEY', apiKey, 'an API key (sk_…)', 'sk_'],
  ] as const;
  for (const [id, name, value, what, prefix] of kinds) {
    const fix = `Copy ${what} from API Keys in the WorkOS dashboard, without anything around it.`;
    if (value.startsWith(prefix)) add('ok', id, `${name} is ${what}`);
    // The options refuse swapped values; WorkOS may give others a new form.
    else add('warning', id, `${name} is not ${what}`, { fix });
  }
  const inProduction = isProduction(env);
  if (!apiKey.startsWith(inProduction ? 'sk_test_' : 'sk_live_')) return;
  const kind = inProduction
    ? 'a staging key (sk_test_…) although NODE_ENV is'
    : 'a production key (sk_live_…) although NODE_ENV is not';
  add('warning', 'api_key_environment', `B2B_API_KEY is ${kind} production`, {
    fix: 'Use the key and client id of the environment that fits.',
  });
}

function checkCookiePassword({ isFallbackPassword }: B2bOptions, env: NodeJS.ProcessEnv, add: Add): void {
  const name = setVariable(env, b2bVariables.cookiePassword);
  const fix = 'Set B2B_COOKIE_PASSWORD to the output of: openssl rand -base64 32';
  if (isFallbackPassword || name === undefined) {
    add('note', 'cookie_password', 'No cookie password is set: in development one is derived from the API key', {
      fix,
    });
  } else if (new Set(env[name]).size < 8) add('problem', 'cookie_password', `${name} is easy to guess`, { fix });
  else add('ok', 'cookie_password', `${name} is set and long enough`);
}

function checkProviderAddress({ apiUrl }: B2bOptions, env: NodeJS.ProcessEnv, add: Add): void {
  const { protocol, hostname } = new URL(apiUrl);
  if (protocol === 'http:') {
    const level = isProduction(env) ? 'problem' : 'warning';
    add(level, 'https', 'B2B_API_HTTPS=false: the API key and every token travel to the provider unencrypted', {
      fix: 'Use it for a stand-in on this machine only.',
    });
  }
  if (hostname === 'api.workos.com') return;
  add('note', 'host', `The provider is ${hostname} (B2B_API_HOSTNAME), not api.workos.com`);
}

async function isProviderReachable(jwksUrl: string, context: DoctorContext, add: Add): Promise<boolean> {
  const { host } = new URL(jwksUrl);
  const reply = await ask(jwksUrl, context);
  if (reply.kind === 'unreachable') {
    add('problem', 'reachable', `${host} cannot be reached: ${reply.reason}`, {
      fix: unreachableFix(host, 'Allow outgoing https to it from where the application runs.'),
    });
    return false;
  }
  checkClock(reply, context.now, add);
  const algorithms = algorithmsOf(reply);
  if (reply.status === 404) {
    add('problem', 'client_id', `${host} does not know this client id`, {
      fix: 'Copy B2B_CLIENT_ID from the environment that the API key belongs to.',
    });
  } else if (algorithms === undefined) {
    add('problem', 'keys', `${host} answered ${reply.status} without a key set when asked for its signing keys`, {
      fix: 'Check B2B_API_HOSTNAME, and what may answer in its place: a proxy, a firewall, a maintenance page.',
    });
  } else if (!algorithms.includes('RS256')) {
    add('problem', 'keys', `${host} publishes no RS256 key, so no session can be verified`, { values: { algorithms } });
  } else {
    add('ok', 'keys', `${host} is reachable and publishes signing keys (${algorithms.join(', ')})`, {
      values: { algorithms },
    });
  }
  return true;
}

/** Sends a refresh token that does not exist: WorkOS checks the key first and changes nothing. */
async function checkApiKey(provider: Provider, timeoutMs: number, add: Add): Promise<void> {
  const failure = await withDeadline(
    (signal) => provider.refresh({ refreshToken: 'express-auth-adapters-doctor' }, {}, signal),
    timeoutMs,
    () => new Error(`no answer within ${timeoutMs} ms`),
  ).then(
    () => undefined,
    (error: unknown) => ({ error, ...classifyFailure(error) }),
  );
  const again = 'Run the doctor again in a moment; https://status.workos.com reports outages.';
  if (failure === undefined) {
    add('warning', 'api_key', 'The provider renewed a session that does not exist: it is not WorkOS');
  } else if (failure.kind === 'misconfigured') {
    add('problem', 'api_key', 'WorkOS refuses the API key for this client id', {
      fix: 'Copy B2B_API_KEY and B2B_CLIENT_ID from one environment of the WorkOS dashboard; replace a revoked key.',
    });
  } else if (failure.kind !== 'refused') {
    const reason = failure.kind === 'unanswered' ? explain(failure.error) : 'WorkOS has an outage or a rate limit';
    add('problem', 'api_key', `The API key could not be tried: ${reason}`, { fix: again });
  } else if (failure.code === 'invalid_grant') add('ok', 'api_key', 'WorkOS accepts the API key');
  else add('warning', 'api_key', `WorkOS answered ${failure.code} when the API key was tried`);
}

function addUrlsToRegister({ callbackPath, loginPath }: B2bOptions, appUrl: string, add: Add): void {
  const redirectUri = appUrl + callbackPath;
  add('note', 'redirect_uri', `The redirect URI is ${redirectUri}`, {
    fix: 'Register exactly this string under Redirects in the WorkOS dashboard; localhost and 127.0.0.1 differ.',
    values: { redirectUri },
  });
  const signOutUri = `${new URL(appUrl).origin}/`;
  const signInUrl = appUrl + loginPath;
  add('note', 'sign_out_redirect', `After sign-out WorkOS sends people to ${signOutUri}`, {
    fix: `Register it as a sign-out redirect, and ${signInUrl} as the sign-in endpoint, for links that start at WorkOS.`,
    values: { signOutUri, signInUrl },
  });
}
