import { AuthError, ConfigurationError } from '../errors.ts';
import type { Session } from '../types.ts';
import type { AuthRequest } from './request.ts';

/**
 * For guards with `whenCoordinatorDown: 'refuse'`.
 *
 * @param caller the called function's name, for the message
 * @throws {AuthError} `provider_unavailable` where the coordinator did not answer when the session was looked up
 * @throws {ConfigurationError} without a coordinator: no process would ever hear of an end in another one
 */
export function refuseUnconfirmed(caller: string, request: AuthRequest, session: Session): void {
  const { name, resolver } = request.definition;
  if (!resolver.isShared) {
    throw new ConfigurationError(caller, [
      `whenCoordinatorDown: 'refuse' needs the option coordinator of ${name}(), because other processes' sign-outs arrive through it; leave whenCoordinatorDown out where the application is a single process`,
    ]);
  }
  if (!resolver.isConfirmed(session)) {
    throw new AuthError('provider_unavailable', { reason: 'coordinator', retryAfter: 5 });
  }
}
