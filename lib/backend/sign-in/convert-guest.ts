import type { Session as SdkSession } from '@supabase/supabase-js';
import { AuthError } from '../../errors.ts';
import type { AuthRequest } from '../../http/auth-request.ts';
import { clientFacts } from '../../http/request.ts';
import type { Session } from '../../types.ts';
import type { BackendContext } from '../context.ts';
import type { StoredContent } from '../session-cookie.ts';
import type { SupabaseCall } from '../supabase.ts';

/** What a sign-up asks for. */
export interface NewAccount {
  readonly email: string;
  readonly password: string;
  readonly options: { readonly emailRedirectTo: string };
}

/** The session of a visitor without an account (`is_anonymous`), where the browser has one. */
export async function guestSession(
  { source }: Pick<BackendContext, 'source'>,
  request: AuthRequest,
): Promise<StoredContent | undefined> {
  const session = await request.resolveSession();
  return session?.adapter === 'backend' && session.user.isAnonymous ? source.contentOf(session) : undefined;
}

/**
 * Adds address and password to the user that a visitor without an account already is, so that the user's id stays. GoTrue stores the
 * password at once, so a form that is sent twice meets `same_password`: then the address alone is sent.
 *
 * @returns whether the account is complete; else an email has to be confirmed first, and the anonymous session goes on
 * @throws {AuthError} as `unwrap`; `isGone` tells of a session that the backend has ended
 */
export async function convertGuest({ auth, unwrap }: SupabaseCall, account: NewAccount): Promise<boolean> {
  const { email, password, options } = account;
  const update = async (attributes: { readonly email: string; readonly password?: string }): Promise<boolean> => {
    const { user } = unwrap(await auth.updateUser(attributes, options));
    return user.is_anonymous !== true;
  };
  try {
    return await update({ email, password });
  } catch (error) {
    if (!(error instanceof AuthError) || error.reason !== 'same_password') throw error;
    return await update({ email });
  }
}

const gone: ReadonlySet<string | undefined> = new Set([
  'session_not_found',
  'user_not_found',
  'session_expired',
  'bad_jwt',
]);

/** Whether the anonymous session has ended at the backend, so that there is no user to convert. */
export function isGone(error: unknown): boolean {
  return error instanceof AuthError && gone.has(error.reason);
}

/**
 * Signs in a user who is complete at once: a refresh brings the claims that say so, and other requests of the guest share it.
 *
 * @returns where to go next
 * @throws {AuthError} `unauthenticated` where the session has ended meanwhile, or as `signIn.complete`: the guest's session ends then, as it
 * does at the backend
 */
export async function completeGuest(
  { resolver, signIn, source }: Pick<BackendContext, 'resolver' | 'signIn' | 'source'>,
  request: AuthRequest,
  guest: StoredContent,
  returnTo: string,
): Promise<string> {
  const isComplete = (session: Session): boolean => session.adapter === 'backend' && !session.user.isAnonymous;
  const renewal = await resolver.renewChanged(guest, isComplete, clientFacts(request.req, request.peer));
  if (renewal.kind !== 'renewed') throw new AuthError('unauthenticated');
  try {
    return await signIn.complete(request, renewal.stored.content as unknown as SdkSession, returnTo);
  } catch (error) {
    const { sessionId } = source.toStored(guest);
    // Out of reach, the coordinator does not hear of it; this process knows.
    if (sessionId !== undefined) await resolver.endSession({ sessionId }).catch(() => undefined);
    throw error;
  }
}
