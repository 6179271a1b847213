import { parseCookies } from '../../tools/cookies.ts';
import { isUnknownKey } from '../jwt.ts';
import type { Allowance } from '../allowance.ts';
import type { Holder } from './answers.ts';
import { holderOf } from '../session-context.ts';
import type { SessionContext } from '../session-context.ts';
import { verifyStored } from '../source.ts';
import type { StoredSession } from '../source.ts';

/** The request that brings tokens. */
export interface BringingRequest {
  readonly cookieHeader: string | undefined;
  /** The address by which provider calls for unverified tokens are counted. */
  readonly peer: string | undefined;
}

/**
 * Why verified tokens of the application's own flow must not be stored, though they are valid: their refresh token was exchanged or
 * refused, or the browser holds newer tokens of the same session. With them a browser would present a spent token at the next renewal,
 * for which the provider ends the session, also for the holders of its newer tokens.
 *
 * @returns `superseded`, or the reason of the provider's refusal; `undefined` where nothing speaks against the tokens
 * @throws {AuthError} `provider_unavailable` where the coordinator or the provider alone could tell
 */
export type FindSuperseded<Content> = (content: Content, request: BringingRequest) => Promise<string | undefined>;

export function createFindSuperseded<Content>(context: SessionContext<Content>): FindSuperseded<Content> {
  const { source, revocations, allowanceOf } = context;
  return async (content, { cookieHeader, peer }) => {
    const given = source.toStored(content);
    const holder = holderOf(source, given);
    const known = knownReason(context, given, holder);
    if (known !== undefined) return known;
    const keys = revocations.keysOf(given, holder.pair);
    await revocations.check(keys);
    const isSuperseded =
      revocations.isSpent(keys) || (await holdsNewer(context, given, cookieHeader, allowanceOf(peer)));
    return isSuperseded ? 'superseded' : undefined;
  };
}

/** What this process knows of the refresh token. */
function knownReason<Content>(
  { refresh }: SessionContext<Content>,
  { sessionId, issuedAt }: StoredSession<Content>,
  holder: Holder,
): string | undefined {
  const settled = refresh.settled(holder);
  if (settled?.kind === 'ended') return settled.reason;
  // Where the provider gave the same refresh token again, it is not spent.
  const isSpent = settled !== undefined && settled.token !== holder.token;
  return isSpent || refresh.isSuperseded(sessionId, holder.token, issuedAt) ? 'superseded' : undefined;
}

async function holdsNewer<Content>(
  { source }: SessionContext<Content>,
  given: StoredSession<Content>,
  cookieHeader: string | undefined,
  allowance: Allowance,
): Promise<boolean> {
  if (given.sessionId === undefined) return false;
  const read = await source.read(parseCookies(cookieHeader));
  if (read.kind !== 'stored') return false;
  for (const candidate of read.candidates) {
    if (candidate.sessionId !== given.sessionId || candidate.issuedAt <= given.issuedAt) continue;
    if (source.isSealed) return true;
    // A sibling domain may have set a made-up cookie.
    const verdict = await verifyStored(source, candidate, allowance).catch((error: unknown) => {
      if (isUnknownKey(error)) return undefined;
      throw error;
    });
    if (verdict?.kind === 'live' || verdict?.kind === 'expired') return true;
  }
  return false;
}
