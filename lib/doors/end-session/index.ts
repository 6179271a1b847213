import type { Router } from 'express';
import { ConfigurationError } from '../../errors.ts';
import type { SessionTarget } from '../../session/ended/records.ts';
import { definitionOf } from '../../http/adapter.ts';

/**
 * Ends one session, or all of a user's sessions that began before the call: at once in this
 * process, within 5 seconds in every process that shares the coordinator. A sign-in completed after
 * the call always works. With `b2bAuth`, a session id also ends the session at WorkOS, within `timeoutMs`; a failure there is the event
 * `revocation_failed`. Otherwise the provider is not called: end the session there, too.
 *
 * @param auth the return value of `b2bAuth()` or `backendAuth()`
 * @param target a session id (WorkOS `sid`, Supabase `session_id`) or a user id
 * @throws {ConfigurationError} where `auth` is something else, or `target` does not name exactly one of the two
 * @throws {AuthError} `provider_unavailable` (503) where the coordinator is out of reach: it holds in this process only, so call again
 * @example await endSession(auth, { userId: user.id });
 */
export async function endSession(auth: Router, target: SessionTarget): Promise<void> {
  const { resolver, revokeSession } = definitionOf('endSession', auth);
  const named = checked('endSession', target);
  try {
    await resolver.endSession(named);
  } finally {
    // Also where other processes were not told: they ask the provider at the next refresh.
    if ('sessionId' in named) await revokeSession?.(named.sessionId);
  }
}

/**
 * Makes the next request of these sessions refresh its token instead of trusting its claims, after a role, a permission
 * or a membership has changed. A bearer token issued before the call is refused. The scope is that of `endSession`.
 *
 * @param auth the return value of `b2bAuth()` or `backendAuth()`
 * @param target a session id (WorkOS `sid`, Supabase `session_id`) or a user id
 * @throws {ConfigurationError} where `auth` is something else, or `target` does not name exactly one of the two
 * @throws {AuthError} `provider_unavailable` (503) where the coordinator is out of reach: it holds in this process only, so call again
 * @example await renewSession(auth, { userId: membership.userId });
 */
export async function renewSession(auth: Router, target: SessionTarget): Promise<void> {
  await definitionOf('renewSession', auth).resolver.renewSession(checked('renewSession', target));
}

/** An id from a webhook may be missing despite its type, and the call must then fail visibly. */
function checked(caller: string, target: unknown): SessionTarget {
  const { sessionId, userId } = (target ?? {}) as Readonly<Record<string, unknown>>;
  if (isId(sessionId) && userId === undefined) return { sessionId };
  if (isId(userId) && sessionId === undefined) return { userId };
  throw new ConfigurationError(caller, ['name either { sessionId } or { userId }, a text of 1 to 256 characters']);
}

function isId(value: unknown): value is string {
  return typeof value === 'string' && value !== '' && value.length <= 256;
}
