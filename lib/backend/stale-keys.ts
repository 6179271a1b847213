import { AuthError } from '../errors.ts';
import { staleKeys } from '../session/events.ts';
import type { Emit } from '../session/events.ts';

/**
 * For `catch`, after a call with a token that was verified here. Where the backend refuses even so (`bad_jwt`), its own keys are
 * not up to date: the session is not to blame, and operators are told.
 *
 * @see https://github.com/supabase/auth/issues/2821
 */
export function rethrowStaleKeys({ emit }: { readonly emit: Emit }): (error: unknown) => never {
  return (error) => {
    if (!(error instanceof AuthError) || error.reason !== 'bad_jwt') throw error;
    emit({ type: 'configuration_warning', message: staleKeys });
    throw new AuthError('provider_unavailable', { cause: error.cause, reason: error.reason, retryAfter: 5 });
  };
}
