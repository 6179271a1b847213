import type { Router } from 'express';
import { ConfigurationError } from '../errors.ts';
import type { SessionTarget } from '../session/cutoffs.ts';
import type { SessionResolver } from '../session/sessions.ts';
import { adapterOf } from './express-stack.ts';

/**
 * Ends one session, or all sessions of a user that began before the call: at once in this process, within 5 seconds in every process
 * that shares the coordinator. A sign-in that is completed after the call always works. The provider is not asked: end the session
 * there, too, or call this because the provider ended it. A second factor that is given at Supabase itself more than a minute after the
 * call counts as a new sign-in.
 *
 * @param auth what `b2bAuth()` or `backendAuth()` returned
 * @param target a session id (WorkOS `sid`, Supabase `session_id`) or a user id
 * @throws {ConfigurationError} where `auth` is something else, or `target` does not name exactly one of the two
 * @throws {AuthError} `provider_unavailable` (503) where the coordinator is out of reach: it holds in this process only, so call again
 * @example await endSession(auth, { userId: user.id });
 */
export async function endSession(auth: Router, target: SessionTarget): Promise<void> {
  await resolverOf('endSession', auth).endSession(checked('endSession', target));
}

/**
 * Has the next request of these sessions refresh its token instead of trusting the claims in it: for a role, a permission or a
 * membership that has changed. A bearer token that was issued before the call is refused. It holds as far as `endSession` does.
 *
 * @param auth what `b2bAuth()` or `backendAuth()` returned
 * @param target a session id (WorkOS `sid`, Supabase `session_id`) or a user id
 * @throws {ConfigurationError} where `auth` is something else, or `target` does not name exactly one of the two
 * @throws {AuthError} `provider_unavailable` (503) where the coordinator is out of reach: it holds in this process only, so call again
 * @example await renewSession(auth, { userId: membership.userId });
 */
export async function renewSession(auth: Router, target: SessionTarget): Promise<void> {
  await resolverOf('renewSession', auth).renewSession(checked('renewSession', target));
}

function resolverOf(caller: string, auth: unknown): Pick<SessionResolver<unknown>, 'endSession' | 'renewSession'> {
  const adapter = typeof auth === 'function' ? adapterOf(auth) : undefined;
  if (adapter !== undefined) return adapter.resolver;
  throw new ConfigurationError(caller, ['the first argument must be what b2bAuth() or backendAuth() returned']);
}

/** An id from a webhook may be missing whatever its type says, and that must not pass for a call that did something. */
function checked(caller: string, target: unknown): SessionTarget {
  const { sessionId, userId } = (target ?? {}) as Readonly<Record<string, unknown>>;
  if (isId(sessionId) && userId === undefined) return { sessionId };
  if (isId(userId) && sessionId === undefined) return { userId };
  throw new ConfigurationError(caller, ['name either { sessionId } or { userId }, a text of 1 to 256 characters']);
}

function isId(value: unknown): value is string {
  return typeof value === 'string' && value !== '' && value.length <= 256;
}
