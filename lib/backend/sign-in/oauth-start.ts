import { AuthError } from '../../errors.ts';
import { refuseUnintended } from '../../http/cross-site.ts';
import type { AuthRequest } from '../../http/auth-request.ts';
import { redirectOrJson } from '../../http/reply.ts';
import type { Reply } from '../../http/reply.ts';
import type { BackendContext } from '../context.ts';
import { providerName } from '../option-schema.ts';
import type { BackendOptions } from '../options.ts';
import { redirectUrl, rememberFlow } from './start-flow.ts';

/** `GET /auth/login?provider=`: to the provider's own page, by way of the backend. */
export async function startOAuth(backend: BackendContext, request: AuthRequest): Promise<Reply> {
  const { settings, supabase, flows } = backend;
  const { req, query, definition } = request;
  // A HEAD asks what a GET would do; starting a flow that is never finished would push out a real one.
  if (req.method === 'HEAD') return { status: 204 };
  refuseUnintended(req, () => request.origin, definition.trustedOrigins);
  const provider = allowedProvider(query.get('provider') ?? settings.defaultProvider, settings);
  const returnTo = request.returnTo(query.get('returnTo'));
  const redirectTo = redirectUrl(request, settings);
  const { url, writes } = await supabase.call(request, async (call) => {
    const { name, scopes } = provider;
    const options = { redirectTo, skipBrowserRedirect: false, ...(scopes === undefined ? {} : { scopes }) };
    // Supabase's type lists the providers of today; `custom:` ones and those of tomorrow work as well.
    const result = await call.auth.signInWithOAuth({ provider: name as 'github', options });
    const writes = rememberFlow(call, flows, request.cookies, { kind: 'oauth', returnTo });
    return { url: call.unwrap(result).url, writes };
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
  { providers, defaultProvider }: Pick<BackendOptions, 'providers' | 'defaultProvider'>,
): Provider {
  const listed = providers.find((provider) => provider.name === name);
  if (listed !== undefined) return listed;
  const isOpen = providers.length === 0 || name === defaultProvider;
  if (name === undefined || !isOpen || !providerName.test(name)) throw new AuthError('unknown_provider');
  return { name };
}
