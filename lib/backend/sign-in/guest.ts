/** The browser's guest (`is_anonymous`), whose account may be complete by now. */
import type { Session as SdkSession } from '@supabase/supabase-js';
import { AuthError } from '../../errors.ts';
import type { AuthRequest } from '../../http/request.ts';
import { clientFacts } from '../../http/message.ts';
import type { Session } from '../../types.ts';
import type { BackendContext } from '../context.ts';
import { rethrowStaleKeys } from '../supabase/provider-errors.ts';
import type { StoredContent } from '../supabase/session-cookie.ts';
import type { SupabaseCall } from '../supabase/supabase-call.ts';
import { completeSignIn } from './sign-in.ts';

export async function guestSession(
  { source }: BackendContext,
  request: AuthRequest,
): Promise<StoredContent | undefined> {
  const session = await request.resolveSession();
  return session?.adapter === 'backend' && session.user.isAnonymous ? source.contentOf(session) : undefined;
}

/**
 * Asks the backend about a guest's session. The account may have been completed in another browser since the token was
 * issued: a sign-up must not replace its password. `gone`: the backend has ended the session.
 *
 * @returns the name of a complete account: its address, where it has one
 * @throws {AuthError} `provider_unavailable` where the backend does not answer
 */
export async function guestState(
  backend: BackendContext,
  request: AuthRequest,
  { access_token: accessToken }: StoredContent,
): Promise<'anonymous' | 'gone' | { readonly account: string }> {
  try {
    const ask = async ({ auth, unwrap }: SupabaseCall) => unwrap(await auth.getUser(accessToken));
    const { user } = await backend.supabase.call(request, ask, { signsIn: false });
    const account = [user.email, user.phone].find((name) => name !== undefined && name !== '') ?? user.id;
    return user.is_anonymous === true ? 'anonymous' : { account };
  } catch (error) {
    return isGone(error) ? 'gone' : rethrowStaleKeys(backend, accessToken)(error);
  }
}

const gone: ReadonlySet<string | undefined> = new Set([
  'no_authorization',
  'session_not_found',
  'user_not_found',
  'session_expired',
]);

/** Whether the anonymous session has ended at the backend, so there is no user to convert. */
export function isGone(error: unknown): boolean {
  return error instanceof AuthError && gone.has(error.reason);
}

/**
 * Signs in a user whose account is complete at once: a refresh returns the new claims, and concurrent requests share it.
 *
 * @returns the next URL
 * @throws {AuthError} `unauthenticated` where the session has ended meanwhile, or as
 * `completeSignIn`: then the anonymous session ends here, too
 */
export async function completeGuest(
  backend: BackendContext,
  request: AuthRequest,
  guest: StoredContent,
  returnTo: string,
): Promise<string> {
  const { resolver, source } = backend;
  const isComplete = (session: Session): boolean => session.adapter === 'backend' && !session.user.isAnonymous;
  const renewal = await resolver.renewChanged(guest, isComplete, clientFacts(request.req, request.peer));
  if (renewal.kind !== 'renewed') throw new AuthError('unauthenticated');
  try {
    return await completeSignIn(backend, request, renewal.stored.content as unknown as SdkSession, returnTo);
  } catch (error) {
    const { sessionId } = source.toStored(guest);
    // If the coordinator is unreachable, only this process ends it.
    if (sessionId !== undefined) await resolver.endSession({ sessionId }).catch(() => undefined);
    throw error;
  }
}
