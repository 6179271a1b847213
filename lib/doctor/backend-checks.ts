import { env as backendVariables } from '../backend/option-schema.ts';
import { readBackendOptions } from '../backend/options.ts';
import type { BackendOptions } from '../backend/options.ts';
import { ask, parseObject } from './ask.ts';
import type { Reply } from './ask.ts';
import { findingsOf, variablePrefixes } from './finding.ts';
import type { DoctorContext, Step, Steps } from './finding.ts';
import { askForKeys, checkClock } from './keys-check.ts';
import { checkSpelling, readOrReport, setVariable } from './options-check.ts';

const found = findingsOf('backend');

/** Everything that `backendAuth()` needs, from the environment to the project's settings. */
export async function* checkBackend(context: DoctorContext): Steps {
  const { env, fetch, callbackPath } = context;
  const { options, steps } = readOrReport('backend', () =>
    readBackendOptions({ fetch, ...(callbackPath === undefined ? {} : { callbackPath }) }, withoutBadBaseUrl(env)),
  );
  yield* steps;
  yield* checkSpelling('backend', env, variablePrefixes.backend, backendVariables);
  if (options === undefined) return;
  yield* checkUrl(options, env);
  yield* checkKeyKind(options, env);

  const { host } = new URL(options.url);
  yield { kind: 'started', subject: 'backend', what: `asking ${host} for the project's settings` };
  const reply = await ask(`${options.url}/auth/v1/settings`, context, { apikey: options.anonKey });
  yield* checkSettings(host, reply);
  yield* checkClock('backend', reply, context);
  if (reply.kind === 'answered') {
    yield { kind: 'started', subject: 'backend', what: `asking ${host} for its signing keys` };
    yield await checkKeys(options.url, context);
  }
  yield* urlsToRegister(options, context);
}

/** It is reported once, as the application's. */
function withoutBadBaseUrl(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const { APP_BASE_URL: url = '', ...others } = env;
  const parsed = /^https?:\/\//i.test(url) ? URL.parse(url) : null;
  return parsed !== null && parsed.href === parsed.origin + parsed.pathname ? env : others;
}

function* checkUrl({ url }: BackendOptions, env: NodeJS.ProcessEnv): Generator<Step, void, undefined> {
  const { protocol, hostname, pathname } = new URL(url);
  const name = setVariable(env, backendVariables.url) ?? 'BAAS_URL';
  const isLoopback = /^(?:localhost|127(?:\.\d+){3}|\[::1\])$/.test(hostname);
  if (protocol === 'http:' && (!isLoopback || env['NODE_ENV'] === 'production')) {
    yield found(
      env['NODE_ENV'] === 'production' ? 'problem' : 'warning',
      'https',
      `${name} starts with http://: passwords and tokens go to the project in the clear`,
      { fix: 'Write https://' },
    );
  }
  if (/^\/(?:auth|rest|storage)\/v1/.test(pathname)) {
    yield found('problem', 'url', `${name} ends in ${pathname}, but only the project's base URL is asked for`, {
      fix: `Set it to ${new URL(url).origin}`,
    });
  }
}

function* checkKeyKind({ anonKey }: BackendOptions, env: NodeJS.ProcessEnv): Generator<Step, void, undefined> {
  const name = setVariable(env, backendVariables.anonKey) ?? 'The key';
  yield anonKey.startsWith('sb_publishable_')
    ? found('ok', 'key_kind', `${name} is a publishable key`)
    : found('note', 'key_kind', `${name} is a legacy anon key: it works, and Supabase is replacing it`, {
        fix: 'Make a publishable key (sb_publishable_…) under API Keys in the project’s settings.',
      });
}

function* checkSettings(host: string, reply: Reply): Generator<Step, void, undefined> {
  if (reply.kind === 'unreachable') {
    yield found('problem', 'reachable', `${host} cannot be reached: ${reply.reason}`, {
      fix: 'Check BAAS_URL, whether the project is paused, and outgoing https from where the application runs.',
    });
    return;
  }
  if (reply.status === 401 || reply.status === 403) {
    yield found('problem', 'key', `${host} refuses the key`, {
      fix: 'Copy URL and publishable key from the same project; a disabled or revoked key has to be replaced.',
    });
    return;
  }
  const settings = reply.status === 200 ? parseObject(reply.text) : undefined;
  const external = settings?.['external'];
  if (settings === undefined || typeof external !== 'object' || external === null) {
    yield found(
      'problem',
      'reachable',
      `${host} answered ${reply.status} without settings: it is not a Supabase project`,
      {
        fix: 'Check BAAS_URL, and whatever answers in its place: a proxy, a firewall, a paused project’s page.',
      },
    );
    return;
  }
  yield found('ok', 'key', `${host} is reachable and accepts the key`);
  yield* checkWaysIn(settings, { ...external });
}

/** Members of `external` that are no OAuth providers. */
const otherWays: ReadonlySet<string> = new Set(['email', 'phone', 'anonymous_users']);

function* checkWaysIn(
  settings: Readonly<Record<string, unknown>>,
  external: Readonly<Record<string, unknown>>,
): Generator<Step, void, undefined> {
  const providers = Object.keys(external)
    .filter((name) => external[name] === true && !otherWays.has(name))
    .sort();
  yield found(
    'ok',
    'providers',
    providers.length === 0 ? 'No OAuth provider is enabled' : `Enabled OAuth providers: ${providers.join(', ')}`,
    { values: { providers } },
  );
  if (external['email'] !== true) {
    yield found('warning', 'email', 'Sign-in by e-mail is switched off: the built-in form cannot sign anybody in', {
      fix: 'Enable it under Sign In / Providers, or set defaultProvider or pages.signIn.',
      values: { isEnabled: false },
    });
  }
  const isSignupOpen = settings['disable_signup'] !== true;
  const isConfirmed = settings['mailer_autoconfirm'] !== true;
  yield found(
    'note',
    'signup',
    !isSignupOpen
      ? 'New accounts cannot be created: sign-up is switched off'
      : isConfirmed
        ? 'New accounts have to confirm their e-mail address'
        : 'New accounts are signed in at once, without confirming their e-mail address',
    {
      ...(isSignupOpen && isConfirmed
        ? { fix: 'Set up SMTP of your own before launch: Supabase’s own mails only to members of the project’s team.' }
        : {}),
      values: { isSignupOpen, isConfirmationRequired: isConfirmed },
    },
  );
}

async function checkKeys(url: string, context: DoctorContext): Promise<Step> {
  const { reply, algorithms } = await askForKeys(`${url}/auth/v1/.well-known/jwks.json`, context);
  if (algorithms === undefined) {
    const reason = reply.kind === 'unreachable' ? reply.reason : `it answered ${reply.status} without a key set`;
    return found('problem', 'keys', `The project’s signing keys could not be read: ${reason}`, {
      fix: 'Without them no session can be verified; check what stands between here and the project.',
    });
  }
  if (algorithms.length === 0) {
    return found(
      'warning',
      'keys',
      'The project signs with a shared secret (HS256), so the project is asked about every session once a minute',
      {
        fix: 'Migrate to signing keys (ES256) under JWT Keys in the project’s settings: sessions are then verified here, outages included.',
        values: { algorithms },
      },
    );
  }
  return found('ok', 'keys', `The project publishes signing keys (${algorithms.join(', ')})`, {
    values: { algorithms },
  });
}

function* urlsToRegister(options: BackendOptions, { appUrl }: DoctorContext): Generator<Step, void, undefined> {
  const redirectUrl = appUrl + options.callbackPath;
  yield found('note', 'redirect_url', `The redirect URL is ${redirectUrl}`, {
    fix: `Add exactly this string to Redirect URLs under URL Configuration; for links in mails, make ${appUrl} the Site URL.`,
    values: { redirectUrl, siteUrl: appUrl },
  });
  const providerCallback = `${options.url}/auth/v1/callback`;
  yield found('note', 'provider_callback', `OAuth providers (GitHub, Google, …) call back at ${providerCallback}`, {
    fix: 'Register that one in the provider’s own console.',
    values: { providerCallback },
  });
}
