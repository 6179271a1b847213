import { withDeadline } from '../core/deadline.ts';
import { b2bVariables, readB2bOptions } from '../b2b/options.ts';
import type { B2bOptions } from '../b2b/options.ts';
import { createProvider } from '../b2b/workos.ts';
import type { Provider } from '../b2b/workos.ts';
import { classifyFailure } from '../b2b/provider-errors.ts';
import { explain } from './ask.ts';
import { findingsOf, variablePrefixes } from './finding.ts';
import type { DoctorContext, Step, Steps } from './finding.ts';
import { askForKeys, checkClock } from './keys-check.ts';
import { checkCookiePassword, checkCredentials, checkProviderAddress } from './b2b-environment.ts';
import { checkSpelling, readOrReport } from './options-check.ts';

const found = findingsOf('b2b');

/** Everything that `b2bAuth()` needs, from the environment to the provider's dashboard. */
export async function* checkB2b(context: DoctorContext): Steps {
  const { env } = context;
  const { options, steps } = readB2b(context);
  yield* steps;
  yield* checkSpelling('b2b', env, variablePrefixes.b2b, b2bVariables);
  if (options === undefined) return;
  yield* checkCredentials(options, env);
  yield* checkCookiePassword(options, env, steps.length > 0);
  yield* checkProviderAddress(options, env);

  const provider = createProvider(options);
  const { host } = new URL(provider.jwksUrl);
  yield { kind: 'started', subject: 'b2b', what: `asking ${host} for its signing keys` };
  const isReachable = yield* checkKeys(provider.jwksUrl, context);
  if (isReachable) {
    yield { kind: 'started', subject: 'b2b', what: `trying the API key at ${host}` };
    yield await checkApiKey(provider, context);
  }
  yield* namesToRegister(options, context);
}

/** A missing cookie password is reported; the provider is asked all the same. */
function readB2b({ env, fetch, timeoutMs, callbackPath }: DoctorContext): ReturnType<typeof readOrReport<B2bOptions>> {
  const given = {
    fetch,
    // The adapter's own limits do not apply to a question that a person is waiting for.
    timeoutMs: Math.min(30_000, Math.max(100, timeoutMs)),
    ...(callbackPath === undefined ? {} : { callbackPath }),
  };
  const first = readOrReport('b2b', () => readB2bOptions(given, env));
  if (first.options !== undefined) return first;
  const again = readOrReport('b2b', () => readB2bOptions({ ...given, cookiePassword: 'x'.repeat(32) }, env));
  return { options: again.options, steps: first.steps };
}

async function* checkKeys(url: string, context: DoctorContext): AsyncGenerator<Step, boolean, undefined> {
  const { host } = new URL(url);
  const { reply, algorithms } = await askForKeys(url, context);
  if (reply.kind === 'unreachable') {
    yield found('problem', 'reachable', `${host} cannot be reached: ${reply.reason}`, {
      fix: 'Allow outgoing https to it from where the application runs.',
    });
    return false;
  }
  yield* checkClock('b2b', reply, context);
  if (reply.status === 404) {
    yield found('problem', 'client_id', `${host} does not know this client id`, {
      fix: 'Copy B2B_CLIENT_ID from the environment that the API key is of.',
    });
  } else if (algorithms === undefined) {
    yield found(
      'problem',
      'keys',
      `${host} answered ${reply.status} without a key set to the question for its signing keys`,
      {
        fix: 'Check B2B_API_HOSTNAME, and whatever answers in its place: a proxy, a firewall, a maintenance page.',
      },
    );
  } else if (!algorithms.includes('RS256')) {
    yield found('problem', 'keys', `${host} publishes no RS256 key, so no session can be verified`, {
      values: { algorithms },
    });
  } else {
    yield found('ok', 'keys', `${host} is reachable and publishes signing keys (${algorithms.join(', ')})`, {
      values: { algorithms },
    });
  }
  return true;
}

/** A made-up refresh token: WorkOS looks at the key first, and changes nothing. */
async function checkApiKey(provider: Provider, { timeoutMs }: DoctorContext): Promise<Step> {
  const failure = await withDeadline(
    (signal) => provider.refresh({ refreshToken: 'express-auth-adapters-doctor' }, {}, signal),
    timeoutMs,
    () => new Error(`no answer within ${timeoutMs} ms`),
  ).then(
    () => undefined,
    (error: unknown) => ({ error, ...classifyFailure(error) }),
  );
  switch (failure?.kind) {
    case 'refused':
      return failure.code === 'invalid_grant'
        ? found('ok', 'api_key', 'WorkOS accepts the API key')
        : found('warning', 'api_key', `WorkOS answered ${failure.code} when the API key was tried`, {
            fix: 'Sign in once to see whether it works.',
          });
    case 'misconfigured':
      return found('problem', 'api_key', 'WorkOS refuses the API key for this client id', {
        fix: 'Copy B2B_API_KEY and B2B_CLIENT_ID from one environment of the WorkOS dashboard; a revoked key has to be replaced.',
      });
    case 'unavailable':
      return found(
        'problem',
        'api_key',
        'The API key could not be tried: WorkOS answers with an outage or a rate limit',
        {
          fix: 'Run the doctor again in a moment; https://status.workos.com tells of outages.',
        },
      );
    case 'unanswered':
      return found('problem', 'api_key', `The API key could not be tried: ${explain(failure.error)}`, {
        fix: 'Run the doctor again in a moment.',
      });
    case undefined:
      return found('warning', 'api_key', 'The provider renewed a session that does not exist: it is not WorkOS');
  }
}

function* namesToRegister(options: B2bOptions, { appUrl }: DoctorContext): Generator<Step, void, undefined> {
  const redirectUri = appUrl + options.callbackPath;
  yield found('note', 'redirect_uri', `The redirect URI is ${redirectUri}`, {
    fix: 'Register exactly this string under Redirects in the WorkOS dashboard; localhost and 127.0.0.1 are two different ones.',
    values: { redirectUri },
  });
  const signOutUri = `${new URL(appUrl).origin}/`;
  const signInUrl = appUrl + options.loginPath;
  yield found('note', 'sign_out_redirect', `After sign-out WorkOS sends people to ${signOutUri}`, {
    fix: `Register it as a sign-out redirect, and ${signInUrl} as the sign-in endpoint, for links that start at WorkOS.`,
    values: { signOutUri, signInUrl },
  });
}
