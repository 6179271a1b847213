import { addMailTemplates } from '../backend/confirm/doctor.ts';
import { askOAuthServer } from '../backend/consent/doctor.ts';
import { addFactors } from '../backend/factors/doctor.ts';
import { addProviderCallback, checkProviders } from '../backend/oauth/doctor.ts';
import { checkPasskeys } from '../backend/passkeys/doctor.ts';
import { checkSignUp } from '../backend/sign-up/doctor.ts';
import { checkSso } from '../backend/sso/doctor.ts';
import { env as backendVariables } from '../backend/option-schema.ts';
import { readBackendOptions } from '../backend/options.ts';
import type { BackendOptions } from '../backend/options.ts';
import { defined } from '../tools/json.ts';
import { isLoopback } from '../tools/url.ts';
import { algorithmsOf, ask, checkClock, parseObject, unreachableFix } from './ask.ts';
import type { Reply } from './ask.ts';
import { checkSpelling, readOrReport } from './environment.ts';
import { isProduction, setVariable } from '../tools/environment.ts';
import type { DoctorContext } from './environment.ts';
import type { AskProject, CheckSettings, OpenProject, Project } from './project.ts';
import type { Add } from './report.ts';

/** What the settings say, in the order of the report. */
const ofSettings: readonly CheckSettings[] = [
  checkProviders,
  checkEmail,
  checkSso,
  checkPasskeys,
  addFactors,
  checkSignUp,
  addMailTemplates,
];

/** What the project is asked beside its settings. */
const besidesSettings: readonly AskProject[] = [askOAuthServer];

/** What must be registered at the project and elsewhere. */
const toRegister: readonly ((project: Project, add: Add) => void)[] = [addRedirectUrl, addProviderCallback];

/** Checks everything that `backendAuth()` needs, from the environment to the project's settings. */
export async function checkBackend(context: DoctorContext, add: Add): Promise<void> {
  const { env, fetch, callbackPath, pathPrefix } = context;
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
  const project = { options, context };
  const [settings, keys, ...reports] = await Promise.all([
    askForDocument('settings', project),
    askForDocument('.well-known/jwks.json', project),
    ...besidesSettings.map((askAbout) => askAbout(project)),
  ]);
  await checkSettings(settings, project, add);
  checkClock(settings, context.now, add);
  if (settings.kind === 'answered') checkKeys(keys, add);
  for (const report of reports) report(add);
  for (const addUrl of toRegister) addUrl(project, add);
}

function askForDocument(path: string, { options, context }: Project): Promise<Reply> {
  return ask(`${options.url}/auth/v1/${path}`, context, { apikey: options.anonKey });
}

/** A bad base URL is reported once, as the application's. */
function withoutBadBaseUrl(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const { APP_BASE_URL: url = '', ...others } = env;
  const parsed = /^https?:\/\//i.test(url) ? URL.parse(url) : null;
  return parsed !== null && parsed.href === parsed.origin + parsed.pathname ? env : others;
}

function checkUrl({ url }: BackendOptions, env: NodeJS.ProcessEnv, add: Add): void {
  const { protocol, hostname } = new URL(url);
  const name = setVariable(env, backendVariables.url) ?? 'BAAS_URL';
  if (protocol === 'http:' && (!isLoopback(hostname) || isProduction(env))) {
    const message = `${name} starts with http://: passwords and tokens travel to the project unencrypted`;
    add(isProduction(env) ? 'problem' : 'warning', 'https', message, { fix: 'Write https://' });
  }
}

async function checkSettings(reply: Reply, project: Project, add: Add): Promise<void> {
  const { host } = new URL(project.options.url);
  if (reply.kind === 'unreachable') {
    add('problem', 'reachable', `${host} cannot be reached: ${reply.reason}`, {
      fix: unreachableFix(
        host,
        'Check BAAS_URL, whether the project is paused, and outgoing https from where the application runs.',
      ),
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
  for (const check of ofSettings) await check({ ...project, settings, external: { ...external } }, add);
}

/** The built-in form serves accounts with an email address only. */
function checkEmail({ external }: OpenProject, add: Add): void {
  if (external['email'] === true) return;
  add('warning', 'email', 'Sign-in by email is switched off: the built-in form signs no one in', {
    fix: 'Enable it under Sign In / Providers, or set defaultProvider or pages.signIn.',
    values: { isEnabled: false },
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

function addRedirectUrl({ options, context }: Project, add: Add): void {
  const { appUrl } = context;
  const redirectUrl = appUrl + options.callbackPath;
  add('note', 'redirect_url', `The redirect URL is ${redirectUrl}`, {
    fix: `Add exactly this string to Redirect URLs under URL Configuration; for links in emails, make ${appUrl} the Site URL.`,
    values: { redirectUrl, siteUrl: appUrl },
  });
}
