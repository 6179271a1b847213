// Tokens that the backend just issued, and that no cookie holds yet.
import type { Session as SdkSession } from '@supabase/supabase-js';
import { AuthError } from '../../errors.ts';
import { verdictReason } from '../../session/source.ts';
import { readToken } from '../../tokens/access-token.ts';
import type { BackendSession } from '../../types.ts';
import type { BackendContext } from '../context.ts';
import { readFactors } from '../factor-list.ts';
import { parseContent } from '../session-cookie.ts';
import type { StoredContent } from '../session-cookie.ts';

/** Ends an issued session that will not be used, at the backend. It never throws. */
export async function discardIssued(
  { supabase, settings }: BackendContext,
  { access_token: accessToken }: Pick<SdkSession, 'access_token'>,
): Promise<void> {
  await supabase.revoke(accessToken, 'local', AbortSignal.timeout(settings.timeoutMs)).catch(() => undefined);
}

/** @throws {AuthError} `token_rejected` */
export function issuedContent(issued: SdkSession): StoredContent {
  const content = parseContent(issued);
  if (content === undefined) throw new AuthError('token_rejected');
  return content;
}

/** Verifies tokens that the backend just issued. @throws {AuthError} `token_rejected` or `provider_unavailable` */
export async function verifyIssued({ source }: BackendContext, content: StoredContent): Promise<BackendSession> {
  const verdict = await source.verify(content, 'provider');
  if (verdict.kind === 'live' && verdict.session.adapter === 'backend') return verdict.session;
  throw new AuthError('token_rejected', { reason: verdictReason(verdict) });
}

/** Earlier `endSession` calls do not apply to it. */
export function beginSession({ source, resolver }: BackendContext, content: StoredContent): Promise<unknown> {
  const facts = source.toStored(content);
  return resolver.beginSession(facts, facts.beganAt);
}

/** Whether the user has a verified factor that this sign-in lacks; the token itself does not list factors. */
export function needsFactor({ user, access_token: accessToken }: SdkSession): boolean {
  const { verified } = readFactors(user);
  return verified.length > 0 && readToken(accessToken).claims['aal'] !== 'aal2';
}
