import { defined } from '../../tools/json.ts';
import { AuthError } from '../../errors.ts';
import type { AuthRequest } from '../../http/request.ts';
import { isScripted } from '../../http/message.ts';
import { refuseUnintended } from '../../http/origin.ts';
import { redirectOrJson } from '../../http/reply.ts';
import type { Reply } from '../../http/reply.ts';
import type { BackendContext } from '../context.ts';
import { redirectUrl, wantsOtherAccount } from '../forms/forms.ts';
import { providerName } from './options.ts';
import type { OAuthProviderOptions } from './options.ts';
import type { BackendOptions } from '../options.ts';

type ProviderParameters = NonNullable<OAuthProviderOptions['queryParams']>;

/** Not where the provider would sign in the same account again: the page then offers the other ways. */
export function startsAtOnce({ defaultProvider }: BackendOptions, isOtherAccount: boolean): boolean {
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
export async function startOAuth(backend: BackendContext, request: AuthRequest): Promise<Reply> {
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
    const mark = isScripted(req) ? 'scripted' : undefined;
    const flow = { kind: 'oauth', provider: name, returnTo, mark } as const;
    const writes = flows.remember(call.started(), flow, request.cookies);
    return { url: call.unwrap(result).url, writes };
  });
  request.writeCookies(writes);
  return redirectOrJson(request, url, 302);
}

/** @throws {AuthError} `unknown_provider` */
export function allowedProvider(
  name: string | undefined,
  settings: BackendOptions,
): Pick<OAuthProviderOptions, 'name' | 'scopes' | 'queryParams'> {
  if (name === undefined || !isAllowed(name, settings)) throw new AuthError('unknown_provider');
  return settings.providers.find((provider) => provider.name === name) ?? { name };
}

/** Without a list, any may be used. */
export function isAllowed(name: string, { providers, defaultProvider }: BackendOptions): boolean {
  const isOpen = providers.length === 0 || name === defaultProvider;
  return providers.some((provider) => provider.name === name) || (isOpen && providerName.test(name));
}
