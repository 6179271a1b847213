import { renewalDueAt } from '../tokens/access-token.ts';
import type { CookieWrite, RequestCookies } from '../core/cookies.ts';
import type { Session } from '../types.ts';
import type { Allowance } from './allowance.ts';
import { sessionKey } from './revocations.ts';
import type { Revocations } from './revocations.ts';
import { refreshKey } from './refresh-coordinator.ts';
import type { RefreshCoordinator } from './refresh-coordinator.ts';
import type { Renew, Renewal, Renewed } from './renewal.ts';
import type { Candidate, ClientFacts, SessionSource } from './source.ts';
import type { SessionWriter } from './session-writer.ts';

/** What a request's cookies came to, and which cookies the response should carry. */
export interface Resolution {
  readonly session: Session | null;
  readonly cookies: readonly CookieWrite[];
  /** To be called when the response that carries the cookies went out; until then the next request gets them, too. */
  readonly onDelivered?: () => void;
  /** Whether the cookies are still to be sent; asked when the head goes out, as a sign-out may have come in between. */
  readonly isCurrent?: () => boolean;
  /** A refresh ahead of time that the request does not wait for. Never rejects. */
  readonly later?: Promise<Resolution | undefined>;
}

export const signedOut: Resolution = { session: null, cookies: [] };

/** One request's way to its session. */
export interface Attempt {
  readonly cookieHeader: string;
  readonly cookies: RequestCookies;
  readonly isHeadSent: () => boolean;
  readonly client: ClientFacts;
  readonly allowance: Allowance;
  /** Aborts when the time of the request is up. */
  readonly signal: AbortSignal;
  /** Why candidates could not be judged; while there is one, nothing is cleared. */
  readonly outages: unknown[];
  /** Why there is no session, if there is none. */
  reason: string;
  /** What to answer if the time is up now. */
  fallback?: Resolution | undefined;
}

/** A session that needs a new token before it is used. */
export interface Renewable<Content> {
  readonly candidate: Candidate<Content>;
  /** What it still is, for use while the provider cannot be reached: its token is about to expire, or did seconds ago. */
  readonly alive: Session | undefined;
  /** Whether the token is known as the provider's own. */
  readonly isVerified: boolean;
}

export interface CandidateRenewalParts<Content> {
  readonly source: SessionSource<Content>;
  readonly coordinator: RefreshCoordinator;
  readonly writer: Pick<SessionWriter<Content>, 'write'>;
  readonly ended: Pick<Revocations, 'revocationOf'>;
  readonly renew: Renew<Content>;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  /** 0: nothing is renewed in the background. */
  readonly refreshWindowMs: number;
}

/** Renews in the background: the token at hand is good, so that this may cost the request neither time nor success. */
export type RenewAhead<Content> = (
  candidate: Candidate<Content>,
  session: Session,
  attempt: Attempt,
) => Promise<Resolution>;

/** The first session that can be renewed, or that is good while the provider cannot be asked. */
export type RenewFirst<Content> = (
  renewable: readonly Renewable<Content>[],
  attempt: Attempt,
) => Promise<Resolution | undefined>;

export function createRenewAhead<Content>(parts: CandidateRenewalParts<Content>): RenewAhead<Content> {
  const { source, coordinator, now, refreshWindowMs } = parts;
  const renewWithin = createRenewWithin(parts);
  return async (candidate, session, attempt) => {
    const { isHeadSent, cookies } = attempt;
    const alive: Resolution = { session, cookies: [] };
    if (refreshWindowMs === 0 || renewalDueAt(session.claims, refreshWindowMs) > now()) return alive;
    const key = refreshKey(source.adapter, candidate);
    const renewed = async (): Promise<Resolution | undefined> => {
      const renewal = await renewWithin(candidate, true, attempt);
      return renewal.kind === 'renewed' ? resolutionOf(parts, renewal, cookies) : undefined;
    };
    // Whatever else the provider says, the token at hand is still good; its own expiry will ask again.
    const tried = (): Promise<Resolution | undefined> => renewed().catch(() => undefined);
    if (coordinator.isSettled(key)) return (await tried()) ?? alive;
    return isHeadSent() || coordinator.isCoolingDown(key) ? alive : { ...alive, later: tried() };
  };
}

export function createRenewFirst<Content>(parts: CandidateRenewalParts<Content>): RenewFirst<Content> {
  const { source, coordinator, ended, now } = parts;
  const renewWithin = createRenewWithin(parts);

  function fallbackOf({ candidate, alive }: Renewable<Content>): Resolution | undefined {
    const isOver = alive === undefined || ended.revocationOf(sessionKey(candidate.sessionId)) !== undefined;
    return isOver ? undefined : { session: alive, cookies: [] };
  }

  return async (renewable, attempt) => {
    for (const next of renewable) {
      // Out of time: what further candidates would cost is too much.
      attempt.signal.throwIfAborted();
      const { candidate, alive, isVerified } = next;
      const isCoolingDown = coordinator.isCoolingDown(refreshKey(source.adapter, candidate));
      attempt.fallback = fallbackOf(next);
      if (isCoolingDown && attempt.fallback !== undefined) return attempt.fallback;
      try {
        const renewal = await renewWithin(candidate, isVerified, attempt);
        if (renewal.kind === 'renewed') return await resolutionOf(parts, renewal, attempt.cookies);
        // Too late for a new token; that is no outage, so an expired one is not good any more.
        if (renewal.kind === 'skipped')
          return alive !== undefined && alive.expiresAt > now() ? fallbackOf(next) : signedOut;
        attempt.reason = renewal.reason;
      } catch (error) {
        const fallback = fallbackOf(next);
        if (fallback !== undefined) return fallback;
        attempt.outages.push(error);
      }
      attempt.fallback = undefined;
    }
    return undefined;
  };
}

type RenewWithin<Content> = (
  candidate: Candidate<Content>,
  isVerified: boolean,
  attempt: Attempt,
) => Promise<Renewal<Content>>;

/** What only we can have sealed is renewed as often as it takes, everything else within the request's allowance. */
function createRenewWithin<Content>({
  source,
  coordinator,
  renew,
}: Pick<CandidateRenewalParts<Content>, 'source' | 'coordinator' | 'renew'>): RenewWithin<Content> {
  return (candidate, isVerified, attempt) => {
    // The session id that an unverified token names may be anyone's, so it ends nothing and no event repeats it.
    const stored = isVerified ? candidate : { ...candidate, sessionId: undefined };
    const renewal = (): Promise<Renewal<Content>> => renew(stored, attempt);
    const isFree = source.isSealed || attempt.isHeadSent() || coordinator.knows(refreshKey(source.adapter, candidate));
    return isFree ? renewal() : attempt.allowance.refresh(candidate, isVerified, renewal);
  };
}

async function resolutionOf<Content>(
  { coordinator, writer, ended }: CandidateRenewalParts<Content>,
  { session, content, sessionId, keys }: Renewed<Content>,
  cookies: RequestCookies,
): Promise<Resolution> {
  const key = sessionKey(sessionId);
  return {
    session,
    cookies: await writer.write(content, cookies),
    onDelivered: () => keys.forEach((key) => coordinator.confirmDelivery(key)),
    isCurrent: () => ended.revocationOf(key) === undefined,
  };
}
