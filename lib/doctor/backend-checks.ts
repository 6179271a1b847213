import { env as backendVariables } from '../backend/option-schema.ts';
import { readBackendOptions } from '../backend/options.ts';
import type { BackendOptions } from '../backend/options.ts';
import { defined, isRecord } from '../tools/json.ts';
import { isLoopback } from '../tools/url.ts';
import { algorithmsOf, ask, checkClock, parseObject } from './ask.ts';
import type { Reply } from './ask.ts';
import { checkSpelling, readOrReport, setVariable } from './environment.ts';
import type { DoctorContext } from './environment.ts';
import type { Add } from './report.ts';

/** Checks everything that `backendAuth()` needs, from the environment to the project's settings. */
export async function checkBackend(context: DoctorContext, add: Add): Promise<void> {
  const { env, fetch, callbackPath, pathPrefix, now } = context;
  const given = { fetch, ...defined({ callbackPath, pathPrefix }) };
  const options = readOrReport(() => readBackendOptions(given, withoutBadBaseUrl(env)), add);
  checkSpelling('backend', backendVariables, context, add);
  if (options === undefined) return;
  checkUrl(options, env, add);
  const name = setVariable(env, backendVariables.anonKey) ?? 'The key';
  if (options.anonKey.startsWith('sb_publishable_')) add('ok', 'key_kind', `${name} is a publishable key`);
  else {
    add('note', 'key_kind', `${name} is a legacy anon key: it works, and Supabase is replacing it`, {
      fix: 'Create a publishable key (sb_publishable_…) under API Keys in the project’s settings.',
    });
  }
  const headers = { apikey: options.anonKey };
  const [settings, keys, oauthServer] = await Promise.all(
    ['settings', '.well-known/jwks.json', '.well-known/oauth-authorization-server'].map((path) =>
      ask(`${options.url}/auth/v1/${path}`, context, headers),
    ),
  );
  if (settings === undefined || keys === undefined || oauthServer === undefined) return;
  const hasPasskeys = settings.kind === 'answered' && parseObject(settings.text)?.['passkeys_enabled'] === true;
  const party = hasPasskeys ? await askRelyingParty(options, context) : undefined;
  checkSettings(new URL(options.url).host, settings, { id: party, appUrl: context.appUrl }, add);
  checkClock(settings, now, add);
  if (settings.kind === 'answered') checkKeys(keys, add);
  if (oauthServer.kind === 'answered' && parseObject(oauthServer.text)?.['token_endpoint'] !== undefined) {
    addOAuthServer(parseObject(oauthServer.text) ?? {}, options, context.appUrl, add);
  }
  addUrlsToRegister(options, context.appUrl, add);
}

/** The key cannot read where the server sends people: only an application's own request shows it. */
function addOAuthServer(
  { registration_endpoint: registration }: Readonly<Record<string, unknown>>,
  { consentPath }: BackendOptions,
  appUrl: string,
  add: Add,
): void {
  const consentUrl = appUrl + consentPath;
  add('note', 'oauth_server', 'The project is an OAuth server: other applications get tokens of its users', {
    fix: 'Such a token is no session here; list its client id on a guard that should accept it as a bearer token.',
    values: { isEnabled: true },
  });
  add('note', 'oauth_consent', `The OAuth server needs a consent page: with oauthConsent: true it is ${consentUrl}`, {
    fix: `Set the authorization path to ${consentPath} under OAuth Server, and the Site URL to ${appUrl}.`,
    values: { consentUrl },
  });
  if (registration === undefined) return;
  add('note', 'oauth_registration', 'Any application can register itself at the OAuth server, under any name', {
    fix: 'MCP clients need that. If you know all of your clients, switch off dynamic registration.',
    values: { isOpen: true },
  });
}

/** A bad base URL is reported once, as the application's. */
function withoutBadBaseUrl(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const { APP_BASE_URL: url = '', ...others } = env;
  const parsed = /^https?:\/\//i.test(url) ? URL.parse(url) : null;
  return parsed !== null && parsed.href === parsed.origin + parsed.pathname ? env : others;
}

function checkUrl({ url }: BackendOptions, env: NodeJS.ProcessEnv, add: Add): void {
  const { protocol, hostname, pathname, origin } = new URL(url);
  const name = setVariable(env, backendVariables.url) ?? 'BAAS_URL';
  const isProduction = env['NODE_ENV'] === 'production';
  if (protocol === 'http:' && (!isLoopback(hostname) || isProduction)) {
    const message = `${name} starts with http://: passwords and tokens travel to the project unencrypted`;
    add(isProduction ? 'problem' : 'warning', 'https', message, { fix: 'Write https://' });
  }
  if (!/^\/(?:auth|rest|storage)\/v1/.test(pathname)) return;
  add('problem', 'url', `${name} ends in ${pathname}; it must be the project's base URL`, {
    fix: `Set it to ${origin}`,
  });
}

/** What passkeys belong to, and the application that asks for them. */
interface Party {
  /** `undefined` where the project does not tell. */
  readonly id: string | undefined;
  readonly appUrl: string;
}

/** It is in each challenge of a sign-in, which a publishable key may ask for. A project with a captcha gives none. */
async function askRelyingParty({ url, anonKey }: BackendOptions, context: DoctorContext): Promise<string | undefined> {
  const reply = await ask(`${url}/auth/v1/passkeys/authentication/options`, context, { apikey: anonKey }, '{}');
  const options = reply.kind === 'answered' && reply.status === 200 ? parseObject(reply.text)?.['options'] : undefined;
  const id = isRecord(options) ? options['rpId'] : undefined;
  return typeof id === 'string' && /^[\w.-]{1,253}$/.test(id) ? id.toLowerCase() : undefined;
}

function checkSettings(host: string, reply: Reply, party: Party, add: Add): void {
  if (reply.kind === 'unreachable') {
    add('problem', 'reachable', `${host} cannot be reached: ${reply.reason}`, {
      fix: 'Check BAAS_URL, whether the project is paused, and outgoing https from where the application runs.',
    });
    return;
  }
  if (reply.status === 401 || reply.status === 403) {
    add('problem', 'key', `${host} refuses the key`, {
      fix: 'Copy URL and publishable key from the same project; replace a disabled or revoked key.',
    });
    return;
  }
  const settings = reply.status === 200 ? parseObject(reply.text) : undefined;
  const external = settings?.['external'];
  if (settings === undefined || typeof external !== 'object' || external === null) {
    add('problem', 'reachable', `${host} answered ${reply.status} without settings: no Supabase project`, {
      fix: 'Check BAAS_URL, and what may answer in its place: a proxy, a firewall, a paused project’s page.',
    });
    return;
  }
  add('ok', 'key', `${host} is reachable and accepts the key`);
  checkSignInMethods(settings, { ...external }, party, add);
  checkSignUp(settings, add);
}

type Settings = Readonly<Record<string, unknown>>;

/** Members of `external` that are not OAuth providers. */
const otherMethods: ReadonlySet<string> = new Set(['email', 'phone', 'anonymous_users']);

function checkSignInMethods(settings: Settings, external: Settings, party: Party, add: Add): void {
  const providers = Object.keys(external)
    .filter((name) => external[name] === true && !otherMethods.has(name))
    .sort();
  const listed =
    providers.length === 0 ? 'No OAuth provider is enabled' : `Enabled OAuth providers: ${providers.join(', ')}`;
  add('ok', 'providers', listed, { values: { providers } });
  if (external['email'] !== true) {
    add('warning', 'email', 'Sign-in by email is switched off: the built-in form signs no one in', {
      fix: 'Enable it under Sign In / Providers, or set defaultProvider or pages.signIn.',
      values: { isEnabled: false },
    });
  }
  const isEnabled = settings['saml_enabled'] === true;
  add('note', 'sso', `SAML single sign-on is ${isEnabled ? 'on: the option sso offers it' : 'off in this project'}`, {
    values: { isEnabled },
  });
  checkPasskeys(settings, party, add);
  add('note', 'mfa', 'This key cannot read whether second factors are enabled', {
    fix: 'Before you guard with { aal }, enable TOTP under Multi-Factor in the project’s settings.',
  });
}

/** The settings say whether passkeys are on, and a challenge for which relying party; nothing says for which origins. */
function checkPasskeys(settings: Settings, { id, appUrl }: Party, add: Add): void {
  const isEnabled = settings['passkeys_enabled'];
  // Older versions know no passkeys.
  if (typeof isEnabled !== 'boolean') return;
  const values = { isEnabled };
  if (!isEnabled) {
    add('note', 'passkeys', 'Passkeys are off in this project: leave passkey out of signInMethods', { values });
    return;
  }
  const { hostname, origin } = new URL(appUrl);
  if (/^(?:\[.*\]|\d+(?:\.\d+){3})$/.test(hostname)) {
    add('note', 'passkeys', `Passkeys are on, but browsers have none on an IP address such as ${hostname}`, {
      fix: 'Open the application at its domain, or at localhost.',
      values: { ...values, ...defined({ relyingPartyId: id }) },
    });
    return;
  }
  const isDomain = id === undefined || hostname === id || hostname.endsWith(`.${id}`);
  const party = id === undefined ? 'their relying party ID must be the application’s domain' : `they belong to ${id}`;
  if (isDomain) {
    add('note', 'passkeys', `Passkeys are on: passkey in signInMethods offers them, and ${party}`, {
      fix: `This key cannot read their relying party origins: list ${origin} there.`,
      values: { ...values, ...defined({ relyingPartyId: id }) },
    });
    return;
  }
  add(
    'note',
    'passkeys',
    `Passkeys are on for ${id}, so browsers refuse them on ${hostname}, where this application is`,
    {
      fix: `Before you put passkey into signInMethods, make ${hostname}, or a domain above it, the relying party ID under Passkeys, and list ${origin} as an origin. Passkeys that exist then stop working.`,
      values: { ...values, relyingPartyId: id },
    },
  );
}

function checkSignUp(settings: Settings, add: Add): void {
  const isSignupOpen = settings['disable_signup'] !== true;
  const isConfirmationRequired = settings['mailer_autoconfirm'] !== true;
  const values = { isSignupOpen, isConfirmationRequired };
  if (!isSignupOpen) add('note', 'signup', 'New accounts cannot be created: sign-up is switched off', { values });
  else if (isConfirmationRequired) {
    add('note', 'signup', 'New accounts have to confirm their email address', {
      fix: 'Set up your own SMTP server before launch: Supabase’s default one sends only to members of the project’s team.',
      values,
    });
  } else
    add('note', 'signup', 'New accounts are signed in at once, without confirming their email address', { values });
  add('note', 'mail_templates', 'This key cannot read the email templates', {
    fix: 'For links that work in any browser, link to /auth/confirm?token_hash={{ .TokenHash }}&type=… there; for codes, add {{ .Token }} to Magic Link.',
  });
}

function checkKeys(reply: Reply, add: Add): void {
  const algorithms = algorithmsOf(reply);
  if (algorithms === undefined) {
    const reason = reply.kind === 'unreachable' ? reply.reason : `it answered ${reply.status} without a key set`;
    add('problem', 'keys', `The project’s signing keys could not be read: ${reason}`, {
      fix: 'Without them no session can be verified; check what stands between here and the project.',
    });
  } else if (algorithms.length === 0) {
    add(
      'warning',
      'keys',
      'The project signs with a shared secret (HS256), so it is asked about every session each minute',
      {
        fix: 'Migrate to signing keys (ES256) under JWT Keys in the project’s settings: sessions are then verified here.',
        values: { algorithms },
      },
    );
  } else add('ok', 'keys', `The project publishes signing keys (${algorithms.join(', ')})`, { values: { algorithms } });
}

function addUrlsToRegister({ url, callbackPath }: BackendOptions, appUrl: string, add: Add): void {
  const redirectUrl = appUrl + callbackPath;
  add('note', 'redirect_url', `The redirect URL is ${redirectUrl}`, {
    fix: `Add exactly this string to Redirect URLs under URL Configuration; for links in emails, make ${appUrl} the Site URL.`,
    values: { redirectUrl, siteUrl: appUrl },
  });
  const providerCallback = `${url}/auth/v1/callback`;
  add('note', 'provider_callback', `OAuth providers (GitHub, Google, …) call back at ${providerCallback}`, {
    fix: 'Register that one in the provider’s own console.',
    values: { providerCallback },
  });
}
