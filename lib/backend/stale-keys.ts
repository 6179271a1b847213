import { AuthError } from '../errors.ts';
import { staleKeys } from '../session/events.ts';
import { readToken, urgentWindowMs } from '../tokens/access-token.ts';
import type { BackendContext } from './context.ts';

/**
 * For `catch`, after a call with a token that was verified here. Where the backend refuses even so (`bad_jwt`), its own keys are
 * not up to date: the session is not to blame, and operators are told. A token that is about to expire here may have expired there.
 *
 * @see https://github.com/supabase/auth/issues/2821
 */
export function rethrowStaleKeys(
  { emit, settings }: Pick<BackendContext, 'emit' | 'settings'>,
  accessToken: string,
): (error: unknown) => never {
  return (error) => {
    if (!(error instanceof AuthError) || error.reason !== 'bad_jwt') throw error;
    const { exp } = readToken(accessToken).claims;
    const mayHaveExpired = typeof exp === 'number' && exp * 1000 <= settings.now() + urgentWindowMs;
    if (!mayHaveExpired) emit({ type: 'configuration_warning', message: staleKeys });
    throw new AuthError('provider_unavailable', { cause: error.cause, reason: error.reason, retryAfter: 5 });
  };
}
