import { isRenewalUrgent } from '../tokens/access-token.ts';
import type { Allowance } from '../session/allowance.ts';
import type { LeftSession } from '../session/sign-out.ts';
import { outOfTime } from './connection.ts';
import type { StoredContent } from './session-cookie.ts';
import type { Supabase } from './supabase.ts';

/**
 * The backend knows a session by its access token, so one that it would not take is renewed for this last call.
 *
 * @returns what it was renewed to
 */
export async function endAtBackend(
  {
    supabase,
    scope,
    now,
  }: { readonly supabase: Supabase; readonly scope: 'local' | 'global'; readonly now: () => number },
  { candidate, verdict, isAuthentic }: LeftSession<StoredContent>,
  allowance: Allowance,
  signal: AbortSignal,
): Promise<StoredContent | undefined> {
  const { access_token: accessToken, refresh_token: refreshToken } = candidate.content;
  if (verdict === undefined || verdict.kind === 'invalid') return undefined;
  const isUsable = verdict.kind === 'live' && !isRenewalUrgent(verdict.session.claims, now());
  if (isUsable && (await supabase.revoke(accessToken, scope, signal)) === 'revoked') return undefined;
  const renewal = await allowance.refresh(candidate, isAuthentic, () => supabase.refresh(refreshToken, signal));
  if (renewal.kind === 'unanswered') throw outOfTime();
  if (renewal.kind === 'refused') throw renewal.error;
  if (renewal.kind === 'ended') return undefined;
  await supabase.revoke(renewal.content.access_token, scope, signal);
  return renewal.content;
}
