import { renewalDueAt } from '../tokens/access-token.ts';
import type { CookieWrite, RequestCookies } from '../core/cookies.ts';
import { AuthError } from '../errors.ts';
import type { Session } from '../types.ts';
import type { Allowance } from './allowance.ts';
import { refreshKey } from './refresh-coordinator.ts';
import type { Renew, Renewal, Renewed } from './renewal.ts';
import type { SessionContext } from './session-context.ts';
import type { Candidate, ClientFacts } from './source.ts';

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

export function outOfTime(): AuthError {
  return new AuthError('provider_unavailable', { retryAfter: 5 });
}

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

interface CandidateRenewal<Content> {
  /** Renews in the background: the token at hand is good, so that this may cost the request neither time nor success. */
  ahead(candidate: Candidate<Content>, session: Session, attempt: Attempt): Promise<Resolution>;
  /** The first session that can be renewed, or that is good while the provider cannot be asked. */
  first(renewable: readonly Renewable<Content>[], attempt: Attempt): Promise<Resolution | undefined>;
}

export function createCandidateRenewal<Content>(
  context: SessionContext<Content>,
  renew: Renew<Content>,
): CandidateRenewal<Content> {
  const { source, coordinator, now, refreshWindowMs } = context;

  async function renewOne(next: Renewable<Content>, attempt: Attempt): Promise<Resolution | undefined> {
    const { candidate, alive, isVerified } = next;
    const isCoolingDown = coordinator.isCoolingDown(refreshKey(source.adapter, candidate));
    attempt.fallback = fallbackOf(context, next);
    if (isCoolingDown && attempt.fallback !== undefined) return attempt.fallback;
    try {
      const renewal = await renewWithin(context, renew, candidate, { ...attempt, isVerified });
      if (renewal.kind === 'renewed') return await resolutionOf(context, renewal, attempt.cookies);
      // Too late for a new token; that is no outage, so an expired one is not good any more.
      if (renewal.kind === 'skipped') {
        return alive !== undefined && alive.expiresAt > now() ? fallbackOf(context, next) : signedOut;
      }
      attempt.reason = renewal.reason;
    } catch (error) {
      const fallback = fallbackOf(context, next);
      if (fallback !== undefined) return fallback;
      attempt.outages.push(error);
    }
    return undefined;
  }

  return {
    async ahead(candidate, session, attempt) {
      const alive: Resolution = { session, cookies: [] };
      if (refreshWindowMs === 0 || renewalDueAt(session.claims, refreshWindowMs) > now()) return alive;
      const key = refreshKey(source.adapter, candidate);
      const renewed = async (): Promise<Resolution | undefined> => {
        const renewal = await renewWithin(context, renew, candidate, { ...attempt, isVerified: true });
        return renewal.kind === 'renewed' ? resolutionOf(context, renewal, attempt.cookies) : undefined;
      };
      // Whatever else the provider says, the token at hand is still good; its own expiry will ask again.
      const tried = (): Promise<Resolution | undefined> => renewed().catch(() => undefined);
      if (coordinator.settledKind(key) !== undefined) return (await tried()) ?? alive;
      return attempt.isHeadSent() || coordinator.isCoolingDown(key) ? alive : { ...alive, later: tried() };
    },
    async first(renewable, attempt) {
      for (const next of renewable) {
        // Out of time: what further candidates would cost is too much.
        attempt.signal.throwIfAborted();
        const resolution = await renewOne(next, attempt);
        if (resolution !== undefined) return resolution;
        attempt.fallback = undefined;
      }
      return undefined;
    },
  };
}

function fallbackOf<Content>(
  { revocations }: SessionContext<Content>,
  { candidate, alive }: Renewable<Content>,
): Resolution | undefined {
  const isOver = alive === undefined || revocations.known(revocations.keysOf(candidate, undefined)) !== undefined;
  return isOver ? undefined : { session: alive, cookies: [] };
}

/** What only we can have sealed is renewed as often as it takes, everything else within the request's allowance. */
function renewWithin<Content>(
  { source, coordinator, revocations }: SessionContext<Content>,
  renew: Renew<Content>,
  candidate: Candidate<Content>,
  request: Pick<Attempt, 'isHeadSent' | 'client' | 'allowance'> & Pick<Renewable<Content>, 'isVerified'>,
): Promise<Renewal<Content>> {
  const { isHeadSent, allowance, isVerified } = request;
  const key = refreshKey(source.adapter, candidate);
  // The session and the user that an unverified token names may be anyone's, so they end nothing and no event repeats them.
  const stored = isVerified ? candidate : { ...candidate, sessionId: undefined, userId: undefined };
  const renewal = async (): Promise<Renewal<Content>> => {
    // A token that is known to be no good asks neither the provider nor the coordinator.
    if (!isVerified && !isHeadSent() && coordinator.settledKind(key) !== 'ended') {
      const { revocation } = await revocations.check(candidate, undefined);
      if (revocation !== undefined) return { kind: 'ended', reason: revocation };
    }
    return renew(stored, request);
  };
  const isFree = source.isSealed || isHeadSent() || coordinator.knows(key);
  return isFree ? renewal() : allowance.refresh(candidate, isVerified, renewal);
}

export async function resolutionOf<Content>(
  { source, coordinator, writer, revocations, superseded }: SessionContext<Content>,
  { session, stored, keys }: Renewed<Content>,
  cookies: RequestCookies,
): Promise<Resolution> {
  const tokenKey = refreshKey(source.adapter, stored);
  const sessionKeys = revocations.keysOf(stored, tokenKey);
  return {
    session,
    cookies: await writer.write(stored.content, cookies),
    onDelivered: () => keys.forEach((spent) => coordinator.confirmDelivery(spent)),
    isCurrent: () => revocations.known(sessionKeys) === undefined && !superseded.isSuperseded(tokenKey),
  };
}
