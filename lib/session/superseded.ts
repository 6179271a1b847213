import { parseCookies } from '../tools/cookies.ts';
import { isUnknownKey } from './jwt.ts';
import type { Allowance } from './allowance.ts';
import type { SessionContext } from './session-context.ts';
import { verifyStored } from './source.ts';
import type { StoredSession } from './source.ts';
import { placeOf } from './token-lines.ts';
import type { Place } from './token-lines.ts';

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
    const place = placeOf(source.adapter, given);
    const known = knownReason(context, given, place);
    if (known !== undefined) return known;
    // Whether their claims are outdated does not matter here.
    const { standing } = await revocations.check(revocations.keysOf({ ...given, issuedAt: Infinity }, place.pair));
    const isSuperseded = standing === 'spent' || (await holdsNewer(context, given, cookieHeader, allowanceOf(peer)));
    return isSuperseded ? 'superseded' : undefined;
  };
}

/** What this process knows of the refresh token. */
function knownReason<Content>(
  { source, lines }: SessionContext<Content>,
  { issuedAt }: StoredSession<Content>,
  place: Place,
): string | undefined {
  const settled = lines.settled(place);
  if (settled?.kind === 'ended') return settled.reason;
  const next = settled && source.deserialize(settled.text);
  const newest = next && placeOf(source.adapter, source.toStored(next));
  if ((newest ?? place).token !== place.token || lines.isSuperseded(place, issuedAt)) return 'superseded';
  // The provider gave the same refresh token again, and may have refused it since.
  const later = newest && lines.settled(newest);
  return later?.kind === 'ended' ? later.reason : undefined;
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
