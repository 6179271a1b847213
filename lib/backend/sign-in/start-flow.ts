import { chunkNames } from '../../core/cookie-chunks.ts';
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
 * Where a second factor is asked for. Beside a session cookie the URL says that it is the one of the sign-in that waits: without a word,
 * the page is that of another user's session.
 *
 * @param isWaiting whether a sign-in waits for it, and not the session itself
 */
export function verifyUrl(
  { verifyPath }: Pick<BackendOptions, 'verifyPath'>,
  request: AuthRequest,
  returnTo: string,
  isWaiting = true,
): string {
  // Whose session the cookie holds may take the backend to tell, and nothing here needs to wait for that.
  const isBesideSession = isWaiting && chunkNames(request.cookies, request.definition.cookieName).length > 0;
  return localUrl(verifyPath, request, returnTo, isBesideSession ? { then: 'sign-in' } : {});
}

function localUrl(
  path: string,
  request: AuthRequest,
  returnTo: string,
  further: { readonly then?: 'sign-in' } = {},
): string {
  return withQuery(request.localPath(path), { ...further, ...(returnTo === request.home ? {} : { returnTo }) });
}
