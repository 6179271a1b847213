import { defined } from '../tools/json.ts';
import { AuthError } from '../errors.ts';
import type { AuthRequest } from '../http/request.ts';
import type { Fields } from '../http/body.ts';
import { refuseUnintended } from '../http/origin.ts';
import { isHttpUrl } from '../options/shared.ts';
import { accountName } from '../pages/texts.ts';
import { redirectOrJson } from '../http/reply.ts';
import type { Reply } from '../http/reply.ts';
import type { AuthRoute } from '../http/router.ts';
import type { BackendSession } from '../types.ts';
import type { BackendContext } from './context.ts';
import type { Submit } from './forms.ts';
import { asBadAddress, FormProblem, readCaptcha, readEmail, readPassword } from './fields.ts';
import { formRoute, redirectUrl } from './forms.ts';
import { rethrowAs } from './fields.ts';
import { wantsOtherAccount } from './forms.ts';
import { providerName } from './oauth/options.ts';
import type { OAuthProviderOptions } from './oauth/options.ts';
import { offers } from './options.ts';
import type { BackendOptions } from './options.ts';
import { signedInPage, signInPage } from './pages/credentials.ts';
import { siteFor } from './pages/parts.ts';
import { ssoPage } from './sso/page.ts';
import { completeSignIn } from './sign-in.ts';

/** `/auth/login`: the form, or OAuth; its POST signs in with email and password. */
export function signInRoute(backend: BackendContext): AuthRoute {
  const { settings, supabase, attempts } = backend;
  const submit: Submit = async (request, fields, returnTo) => {
    const email = readEmail(fields);
    const password = readPassword(fields);
    const ask = () =>
      supabase.call(request, async ({ auth, unwrap }) => {
        const options = readCaptcha(fields);
        return unwrap(await auth.signInWithPassword({ email, password, options })).session;
      });
    const issued = await attempts.run(request.req, email, () => ask().catch(asBadAddress));
    return completeSignIn(backend, request, issued, returnTo);
  };
  return formRoute(backend, {
    path: settings.loginPath,
    option: 'loginPath',
    ownPage: settings.pages.signIn,
    open(request) {
      const isForProvider = request.query.has('provider') || startsAtOnce(settings, wantsOtherAccount(request));
      return isForProvider ? startOAuth(backend, request) : undefined;
    },
    async page(request, { returnTo, fields, error }) {
      const isOtherAccount = wantsOtherAccount(request, fields);
      const session = isOtherAccount || error !== undefined ? null : await sessionAtHand(request);
      // A guard's `maxAge` requires a new sign-in, even with a session.
      const isFresh = request.query.has('max_age');
      if (session !== null && !isFresh) {
        return signedInPage(siteFor(backend, request), request, { returnTo, account: accountName(session) });
      }
      const email = fields.get('email') ?? session?.user.email ?? undefined;
      return signInPage(siteFor(backend, request), request, { returnTo, isOtherAccount, email, error });
    },
    ...(offers(settings, 'password') && { submit }),
  });
}

/** The browser's session. An anonymous one does not count, and an outage must not hide the form. */
async function sessionAtHand(request: AuthRequest): Promise<BackendSession | null> {
  const session = await request.resolveSession().catch(() => undefined);
  return session?.adapter === 'backend' && !session.user.isAnonymous ? session : null;
}

type ProviderParameters = NonNullable<OAuthProviderOptions['queryParams']>;

/** Not where the provider would sign in the same account again: the page then offers the other ways. */
function startsAtOnce({ defaultProvider }: BackendOptions, isOtherAccount: boolean): boolean {
  return defaultProvider !== undefined && (!isOtherAccount || accountQuestion(defaultProvider) !== undefined);
}

/**
 * The parameters, passed on by Supabase, with which a provider asks for the account. Without them it signs in its current
 * one again. Those without parameters always ask. The remaining ones know no such parameter.
 */
const accountQuestions: ReadonlyMap<string, Readonly<Record<string, string>>> = new Map(
  Object.entries({
    azure: { prompt: 'select_account' },
    github: { prompt: 'select_account' },
    google: { prompt: 'select_account' },
    kakao: { prompt: 'select_account' },
    keycloak: { prompt: 'login' },
    facebook: { auth_type: 'reauthenticate' },
    spotify: { show_dialog: 'true' },
    twitch: { force_verify: 'true' },
    apple: {},
    discord: {},
    notion: {},
  }),
);

/** A project's own provider speaks OpenID Connect, where `login` must work (§15.1), or ignores it (RFC 6749 §3.1). */
function accountQuestion(provider: string): Readonly<Record<string, string>> | undefined {
  return provider.startsWith('custom:') ? { prompt: 'login' } : accountQuestions.get(provider);
}

/** The option's parameters, and those that ask for the account. Google takes several prompts at once, as OpenID Connect Core §3.1.2.1 has them. */
function withQuestion(provider: string, given: ProviderParameters | undefined): ProviderParameters | undefined {
  const question = accountQuestion(provider);
  const [asked, configured] = [question?.['prompt'], given?.['prompt']];
  const isBoth = provider === 'google' && asked !== undefined && configured === 'consent';
  return question === undefined
    ? given
    : { ...given, ...question, ...(isBoth && { prompt: `${asked} ${configured}` }) };
}

/** `GET /auth/login?provider=`: redirects to the provider through the backend. */
async function startOAuth(backend: BackendContext, request: AuthRequest): Promise<Reply> {
  const { settings, supabase, flows } = backend;
  const { req, query, definition } = request;
  // A HEAD must not start a flow: an unfinished one would push out a real one.
  if (req.method === 'HEAD') return { status: 204 };
  refuseUnintended(req, () => request.origin, definition.trustedOrigins);
  const {
    name,
    scopes,
    queryParams: configured,
  } = allowedProvider(query.get('provider') ?? settings.defaultProvider, settings);
  const returnTo = request.returnTo(query.get('returnTo'));
  const redirectTo = redirectUrl(request, settings);
  const { url, writes } = await supabase.call(request, async (call) => {
    const queryParams = wantsOtherAccount(request) ? withQuestion(name, configured) : configured;
    const options = { redirectTo, skipBrowserRedirect: false, ...defined({ scopes, queryParams }) };
    // The SDK's type lists the current providers; `custom:` ones and future ones work as well.
    const result = await call.auth.signInWithOAuth({ provider: name as 'github', options });
    const writes = flows.remember(call.started(), { kind: 'oauth', provider: name, returnTo }, request.cookies);
    return { url: call.unwrap(result).url, writes };
  });
  request.writeCookies(writes);
  return redirectOrJson(request, url, 302);
}

/** @throws {AuthError} `unknown_provider` */
function allowedProvider(
  name: string | undefined,
  { providers, defaultProvider }: BackendOptions,
): Pick<OAuthProviderOptions, 'name' | 'scopes' | 'queryParams'> {
  const listed = providers.find((provider) => provider.name === name);
  if (listed !== undefined) return listed;
  const isOpen = providers.length === 0 || name === defaultProvider;
  if (name === undefined || !isOpen || !providerName.test(name)) throw new AuthError('unknown_provider');
  return { name };
}

/** GoTrue's codes for a domain without a usable identity provider. */
const ssoUnavailable: ReadonlySet<string | undefined> = new Set([
  'sso_provider_not_found',
  'sso_provider_disabled',
  'saml_provider_disabled',
]);
const asUnavailable = rethrowAs('sso_unavailable', ({ reason }) => ssoUnavailable.has(reason));

/** `/auth/sso`: redirects to the SAML identity provider of the email's domain, which returns through the callback like OAuth. */
export function ssoRoute(backend: BackendContext): AuthRoute {
  return formRoute(backend, {
    path: backend.settings.ssoPath,
    option: 'ssoPath',
    page(request, { returnTo, fields, error }) {
      const email = fields.get('email') ?? fields.get('domain');
      return ssoPage(siteFor(backend, request), request, { returnTo, email, error });
    },
    submit: (request, fields, returnTo) => startSso(backend, request, fields, returnTo),
  });
}

async function startSso(
  { settings, supabase, flows, attempts }: BackendContext,
  request: AuthRequest,
  fields: Fields,
  returnTo: string,
): Promise<string> {
  const domain = readDomain(fields);
  const options = { redirectTo: redirectUrl(request, settings), ...readCaptcha(fields) };
  const ask = () =>
    supabase.call(request, async (call) => {
      const result = await call.auth.signInWithSSO({ domain, options });
      const url = call.unwrap(result)?.url ?? '';
      if (!isHttpUrl(url)) throw new AuthError('provider_refused');
      return { url, writes: flows.remember(call.started(), { kind: 'oauth', returnTo }, request.cookies) };
    });
  const { url, writes } = await attempts.run(request.req, undefined, () => ask().catch(asUnavailable));
  request.writeCookies(writes);
  return url;
}

/** The field `domain`, else the domain of the address, in lower case, as GoTrue compares it. @throws {FormProblem} */
function readDomain(fields: Fields): string {
  const given = fields.get('domain')?.trim() ?? readEmail(fields).replace(/^.*@/, '');
  const domain = given.toLowerCase();
  if (domain.length <= 253 && /^[^\s@/:\\]+\.[^\s@/:\\]+$/.test(domain)) return domain;
  throw new FormProblem('email', 'emailInvalid', 'The domain is not valid.');
}
