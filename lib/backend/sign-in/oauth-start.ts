import type { CookieWrite, RequestCookies } from '../../core/cookies.ts';
import { AuthError } from '../../errors.ts';
import { refuseUnintended } from '../../http/cross-site.ts';
import type { AuthRequest } from '../../http/auth-request.ts';
import { redirectOrJson } from '../../http/reply.ts';
import type { Reply } from '../../http/reply.ts';
import type { Emit } from '../../session/events.ts';
import type { SupabaseCall, CallSupabase } from '../supabase-call.ts';
import type { FlowKind, FlowCookies } from './flow-cookies.ts';
import { providerName } from '../option-schema.ts';
import type { BackendOptions } from '../options.ts';
import { unwrap } from './sign-in.ts';

export interface OAuthStartParts {
  readonly settings: Pick<BackendOptions, 'callbackPath' | 'callbackUrl' | 'providers' | 'defaultProvider'>;
  readonly runFlow: CallSupabase;
  readonly flows: FlowCookies;
  readonly emit: Emit;
}

/** `GET /auth/login?provider=`: to the provider's own page, by way of the backend. */
export async function startOAuth(parts: OAuthStartParts, request: AuthRequest): Promise<Reply> {
  const { settings, runFlow, flows, emit } = parts;
  const { req, query, definition } = request;
  // A HEAD asks what a GET would do; starting a flow that is never finished would push out a real one.
  if (req.method === 'HEAD') return { status: 204 };
  refuseUnintended(req, () => request.origin, definition.trustedOrigins);
  const provider = allowedProvider(query.get('provider') ?? settings.defaultProvider, settings);
  const returnTo = request.returnTo(query.get('returnTo'));
  const redirectTo = redirectUrl(request, settings);
  const { url, writes } = await runFlow(request, async (flow) => {
    const { name, scopes } = provider;
    const options = { redirectTo, skipBrowserRedirect: false, ...(scopes === undefined ? {} : { scopes }) };
    // Supabase's type lists the providers of today; `custom:` ones and those of tomorrow work as well.
    const result = await flow.auth.signInWithOAuth({ provider: name as 'github', options });
    const data = unwrap(flow, result, emit);
    return { url: data.url, writes: rememberFlow(flow, flows, request.cookies, 'oauth', returnTo) };
  });
  request.writeCookies(writes);
  return redirectOrJson(request, url, 302);
}

/** Whether a GET of the sign-in route names a provider, or one is the default. */
export function isOAuthStart(
  { defaultProvider }: Pick<BackendOptions, 'defaultProvider'>,
  { query }: AuthRequest,
): boolean {
  return query.has('provider') || defaultProvider !== undefined;
}

interface Provider {
  readonly name: string;
  readonly scopes?: string | undefined;
}

/** @throws {AuthError} `unknown_provider` */
function allowedProvider(
  name: string | undefined,
  { providers, defaultProvider }: OAuthStartParts['settings'],
): Provider {
  const listed = providers.find((provider) => provider.name === name);
  if (listed !== undefined) return listed;
  const isOpen = providers.length === 0 || name === defaultProvider;
  if (name === undefined || !isOpen || !providerName.test(name)) throw new AuthError('unknown_provider');
  return { name };
}

/** The absolute URL to which the backend sends the browser back; it must be on the project's list of redirect URLs. */
export function redirectUrl(
  request: AuthRequest,
  { callbackUrl, callbackPath }: Pick<BackendOptions, 'callbackUrl' | 'callbackPath'>,
): string {
  return callbackUrl ?? request.publicUrl(callbackPath);
}

/** The cookies that a flow which was just started needs until its callback. */
export function rememberFlow(
  flow: SupabaseCall,
  flows: FlowCookies,
  cookies: RequestCookies,
  kind: FlowKind,
  returnTo: string,
): readonly CookieWrite[] {
  const id = flow.startedId();
  const verifiers = flow.startedWrites();
  if (id === undefined) return verifiers;
  return [...verifiers, ...flows.remember({ id, kind, returnTo }, flow.aliveIds(), cookies)];
}
