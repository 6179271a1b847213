import { withDeadline } from '../../tools/deadline.ts';
import type { Allowance } from '../../session/allowance.ts';
import type { SessionFacts } from '../../session/ended/record.ts';
import type { EndedSession } from '../../session/sign-out.ts';
import { isRenewalUrgent } from '../../session/jwt.ts';
import { outOfTime } from '../supabase/connection.ts';
import type { BackendContext } from '../context.ts';
import type { StoredContent } from '../supabase/session-cookie.ts';

/**
 * Ends a session at the backend, which identifies it by its access token. A token that the backend would not accept is refreshed first.
 *
 * @returns the content after the refresh, if there was one
 * @throws {AuthError} where the backend did not answer in time, or refused
 */
export async function endAtBackend(
  { supabase, settings }: BackendContext,
  scope: 'local' | 'global',
  { candidate, verdict, isAuthentic }: EndedSession<StoredContent>,
  allowance: Allowance,
): Promise<StoredContent | undefined> {
  const { access_token: accessToken, refresh_token: refreshToken } = candidate.content;
  const end = async (signal: AbortSignal): Promise<StoredContent | undefined> => {
    if (verdict === undefined || verdict.kind === 'invalid') return undefined;
    const isUsable = verdict.kind === 'live' && !isRenewalUrgent(verdict.session.claims, settings.now());
    if (isUsable && (await supabase.revoke(accessToken, scope, signal)) === 'revoked') return undefined;
    const renewal = await allowance.refresh(candidate, isAuthentic, () => supabase.refresh(refreshToken, signal));
    if (renewal.kind === 'unanswered') throw outOfTime();
    if (renewal.kind === 'ended') return undefined;
    await supabase.revoke(renewal.content.access_token, scope, signal);
    return renewal.content;
  };
  return withDeadline(end, settings.timeoutMs, outOfTime);
}

/** What a sign-out ends: this session, all of the user's, or all but this one. */
export type SignOutScope = 'local' | 'global' | 'others';

/**
 * Ends here, and in every process that shares the coordinator, the user's other sessions that a sign-out ends at the backend: their
 * tokens stay valid there until they expire. It never throws: while the coordinator is down, it applies in this process.
 *
 * @param facts of a session that the backend has issued
 */
export async function endOthersHere(
  { resolver, explain }: Pick<BackendContext, 'resolver' | 'explain'>,
  scope: SignOutScope,
  facts: SessionFacts,
): Promise<void> {
  const { userId } = facts;
  if (scope === 'local' || userId === undefined) return;
  try {
    await (scope === 'global' ? resolver.endSession({ userId }) : resolver.endOthers(facts));
  } catch (error) {
    explain('the other sessions were ended in this process only: %s', String(error));
  }
}
