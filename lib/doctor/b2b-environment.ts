import type { B2bOptions } from '../b2b/options.ts';
import { findingsOf } from './finding.ts';
import type { Step } from './finding.ts';
import { setVariable } from './options-check.ts';

const found = findingsOf('b2b');

/** By their form, without asking the provider: of the right kind, in the right place, for the right environment. */
export function* checkCredentials(
  { clientId, apiKey }: B2bOptions,
  env: NodeJS.ProcessEnv,
): Generator<Step, void, undefined> {
  if (clientId.startsWith('client_')) yield found('ok', 'client_id', 'B2B_CLIENT_ID is a client id');
  else {
    yield found(
      clientId.startsWith('sk_') ? 'problem' : 'warning',
      'client_id',
      clientId.startsWith('sk_') ? 'B2B_CLIENT_ID holds an API key' : 'B2B_CLIENT_ID does not look like a client id',
      { fix: 'Copy the client id (client_…) from API Keys in the WorkOS dashboard.' },
    );
  }
  if (!/^[\w.-]+$/.test(apiKey)) {
    yield found(
      'problem',
      'api_key_kind',
      'B2B_API_KEY holds characters that no key has: blanks, quotes or a line break',
      {
        fix: 'Copy it again, without anything around it.',
      },
    );
    return;
  }
  if (!apiKey.startsWith('sk_')) {
    yield found(
      apiKey.startsWith('client_') ? 'problem' : 'warning',
      'api_key_kind',
      apiKey.startsWith('client_') ? 'B2B_API_KEY holds a client id' : 'B2B_API_KEY does not look like an API key',
      { fix: 'Copy the API key (sk_…) from API Keys in the WorkOS dashboard.' },
    );
    return;
  }
  const isProduction = env['NODE_ENV'] === 'production';
  const [level, message] =
    isProduction && apiKey.startsWith('sk_test_')
      ? (['warning', 'B2B_API_KEY is of a staging environment (sk_test_…) although NODE_ENV is production'] as const)
      : !isProduction && apiKey.startsWith('sk_live_')
        ? (['warning', 'B2B_API_KEY is of the production environment (sk_live_…) although NODE_ENV is not'] as const)
        : (['ok', 'B2B_API_KEY is an API key'] as const);
  yield found(
    level,
    'api_key_kind',
    message,
    level === 'ok' ? {} : { fix: 'Use the key and client id of the environment that fits.' },
  );
}

/** @param hasProblems whether the password may be one of them, and has been reported */
export function* checkCookiePassword(
  { isFallbackPassword }: B2bOptions,
  env: NodeJS.ProcessEnv,
  hasProblems: boolean,
): Generator<Step, void, undefined> {
  const name = setVariable(env, ['B2B_COOKIE_PASSWORD', 'LEGACY_B2B_COOKIE_PASSWORD']);
  if (isFallbackPassword) {
    yield found(
      'note',
      'cookie_password',
      'No cookie password is set: in development one is derived from the API key',
      {
        fix: 'Before you deploy, set B2B_COOKIE_PASSWORD to the output of: openssl rand -base64 32',
      },
    );
  } else if (name !== undefined && !hasProblems) {
    yield new Set(env[name]).size < 8
      ? found('problem', 'cookie_password', `${name} is easy to guess`, {
          fix: 'Replace it by the output of: openssl rand -base64 32',
        })
      : found('ok', 'cookie_password', `${name} is set and long enough`);
  }
}

export function* checkProviderAddress(options: B2bOptions, env: NodeJS.ProcessEnv): Generator<Step, void, undefined> {
  const { https, apiHostname } = options;
  if (!https) {
    yield found(
      env['NODE_ENV'] === 'production' ? 'problem' : 'warning',
      'https',
      'B2B_API_HTTPS=false: the API key and every token go to the provider in the clear',
      { fix: 'Only for a stand-in on this machine; remove it anywhere else.' },
    );
  }
  if (apiHostname !== 'api.workos.com') {
    yield found('note', 'host', `The provider is ${apiHostname} (B2B_API_HOSTNAME), not api.workos.com`);
  }
}
