import { withQuery } from '../../core/url.ts';
import type { CookieWrite, RequestCookies } from '../../core/cookies.ts';
import type { AuthRequest } from '../../http/auth-request.ts';
import type { BackendOptions } from '../options.ts';
import type { SupabaseCall } from '../supabase.ts';
import type { FlowCookies, SignInFlow } from './flow-cookies.ts';

/** The absolute URL to which the backend sends the browser back; it must be on the project's list of redirect URLs. */
export function redirectUrl(
  request: AuthRequest,
  { callbackUrl, callbackPath }: Pick<BackendOptions, 'callbackUrl' | 'callbackPath'>,
): string {
  const url = callbackUrl ?? request.publicUrl(callbackPath);
  request.definition.explain('the redirect URL is %s', url);
  return url;
}

/** The cookies that a flow which was just started needs until its callback. */
export function rememberFlow(
  call: SupabaseCall,
  flows: FlowCookies,
  cookies: RequestCookies,
  flow: Pick<SignInFlow, 'kind' | 'returnTo'>,
): readonly CookieWrite[] {
  const id = call.startedId();
  const verifiers = call.startedWrites();
  if (id === undefined) return verifiers;
  return [...verifiers, ...flows.remember({ id, ...flow }, call.aliveIds(), cookies)];
}

/** Where a new password is chosen, with `returnTo` in its query. */
export function passwordUrl(
  { passwordPath }: Pick<BackendOptions, 'passwordPath'>,
  request: AuthRequest,
  returnTo: string,
): string {
  return localUrl(passwordPath, request, returnTo);
}

/** Where a link for a new password is asked for. */
export function forgotUrl(
  { forgotPath }: Pick<BackendOptions, 'forgotPath'>,
  request: AuthRequest,
  returnTo: string,
): string {
  return localUrl(forgotPath, request, returnTo);
}

/**
 * Where the second factor of a sign-in that waits is asked for. Beside another user's session the URL says so: without a word, the page is
 * that session's.
 *
 * @param userId whose sign-in it is; left out where none waits
 */
export async function verifyUrl(
  { verifyPath }: Pick<BackendOptions, 'verifyPath'>,
  request: AuthRequest,
  returnTo: string,
  userId: string | undefined,
): Promise<string> {
  const live = await request.resolveSession().catch(() => null);
  const isBesideOther = live !== null && userId !== undefined && live.user.id !== userId;
  return localUrl(verifyPath, request, returnTo, isBesideOther ? { then: 'sign-in' } : {});
}

function localUrl(
  path: string,
  request: AuthRequest,
  returnTo: string,
  further: { readonly then?: 'sign-in' } = {},
): string {
  return withQuery(request.localPath(path), { ...further, ...(returnTo === request.home ? {} : { returnTo }) });
}
