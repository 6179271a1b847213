import { AuthError } from '../../errors.ts';
import type { AuthRequest } from '../../http/auth-request.ts';
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

const gone: ReadonlySet<string> = new Set(['session_not_found', 'user_not_found', 'session_expired', 'bad_jwt']);

/** Whether the anonymous session has ended at the backend, so that there is no user to convert. */
export function isGone(error: unknown): boolean {
  return error instanceof AuthError && gone.has(error.reason ?? '');
}
