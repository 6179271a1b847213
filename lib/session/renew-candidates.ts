import { renewalDueAt } from '../tokens/access-token.ts';
import type { CookieWrite, RequestCookies } from '../core/cookies.ts';
import { AuthError } from '../errors.ts';
import type { Session } from '../types.ts';
import type { Allowance } from './allowance.ts';
import { isRevocation } from './record.ts';
import type { Renew, Renewal, Renewed } from './renewal.ts';
import type { SessionContext } from './session-context.ts';
import type { Candidate, ClientFacts, StoredSession } from './source.ts';
import { placeOf } from './token-lines.ts';

/** The session of a request's cookies, and the cookies for the response. */
export interface Resolution {
  readonly session: Session | null;
  readonly cookies: readonly CookieWrite[];
  /** Called when the response with the cookies was sent; until then the next request gets them, too. */
  readonly onDelivered?: () => void;
  /** Whether the cookies must still be sent; called when the head is sent, because a sign-out may have occurred meanwhile. */
  readonly isCurrent?: () => boolean;
  /** A refresh ahead of time that the request does not wait for. Never rejects. */
  readonly later?: Promise<Resolution | undefined>;
  /** Parameters of the link to the sign-in, where the ended session says what it has to name. */
  readonly signIn?: Readonly<Record<string, string>>;
}

export const signedOut: Resolution = { session: null, cookies: [] };

export function outOfTime(): AuthError {
  return new AuthError('provider_unavailable', { retryAfter: 5 });
}

/** The state of one request's resolution. */
export interface Attempt {
  readonly cookieHeader: string;
  readonly cookies: RequestCookies;
  readonly isHeadSent: () => boolean;
  readonly client: ClientFacts;
  readonly allowance: Allowance;
  /** Aborts at the request's deadline. */
  readonly signal: AbortSignal;
  /** Why candidates could not be judged; if there is one, nothing is cleared. */
  readonly outages: unknown[];
  /** Why there is no session, if there is none. */
  reason: string;
  /** Whether candidates were left out, because too many before them were forged. */
  isIncomplete?: boolean;
  /** As in `Resolution`. */
  signIn?: Readonly<Record<string, string>> | undefined;
  /** The result at a timeout. */
  fallback?: Resolution | undefined;
}

/** A session that needs a new token before it is used. */
export interface Renewable<Content> {
  readonly candidate: Candidate<Content>;
  /** Its session, used while the provider is unavailable: the token expires soon, or expired seconds ago. */
  readonly alive: Session | undefined;
  /** Whether the token is verified as the provider's own. */
  readonly isVerified: boolean;
}

interface CandidateRenewal<Content> {
  /** Renews in the background: the current token is valid, so the request must neither wait nor fail. */
  ahead(candidate: Candidate<Content>, session: Session, attempt: Attempt): Promise<Resolution>;
  /** The first session that can be renewed, or that is valid while the provider cannot be asked. */
  first(renewable: readonly Renewable<Content>[], attempt: Attempt): Promise<Resolution | undefined>;
}

export function createCandidateRenewal<Content>(
  context: SessionContext<Content>,
  renew: Renew<Content>,
): CandidateRenewal<Content> {
  const { source, lines, now, refreshWindowMs } = context;

  async function renewOne(next: Renewable<Content>, attempt: Attempt): Promise<Resolution | undefined> {
    const { candidate, alive, isVerified } = next;
    const isResting = lines.isResting(placeOf(source.adapter, candidate));
    attempt.fallback = fallbackOf(context, next);
    if (isResting && attempt.fallback !== undefined) return attempt.fallback;
    try {
      const renewal = await renewWithin(context, renew, candidate, { ...attempt, isVerified });
      if (renewal.kind === 'renewed') return await resolutionOf(context, renewal, attempt.cookies);
      // Too late for a new token. That is no outage, so an expired token is not valid any more.
      if (renewal.kind === 'skipped') {
        return alive !== undefined && alive.expiresAt > now() ? fallbackOf(context, next) : signedOut;
      }
      // Its token was exchanged in a switch, whose answer is no longer kept: its own token is still valid.
      if (renewal.reason === 'superseded' && attempt.fallback !== undefined) return attempt.fallback;
      attempt.reason = renewal.reason;
      attempt.signIn = source.signInAfter?.(candidate.content, renewal.reason);
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
      const place = placeOf(source.adapter, candidate);
      const renewed = async (): Promise<Resolution | undefined> => {
        const renewal = await renewWithin(context, renew, candidate, { ...attempt, isVerified: true });
        return renewal.kind === 'renewed' ? resolutionOf(context, renewal, attempt.cookies) : undefined;
      };
      // Whatever the provider answers, the current token is still valid; its expiry causes the next attempt.
      const tried = (): Promise<Resolution | undefined> => renewed().catch(() => undefined);
      if (lines.settledKind(place) !== undefined) return (await tried()) ?? alive;
      return attempt.isHeadSent() || lines.isResting(place) ? alive : { ...alive, later: tried() };
    },
    async first(renewable, attempt) {
      for (const next of renewable) {
        // At the deadline, no further candidates are tried.
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
  const isOver =
    alive === undefined || revocations.knownRevocation(revocations.keysOf(candidate, undefined)) !== undefined;
  return isOver ? undefined : { session: alive, cookies: [] };
}

/** A sealed cookie's session is renewed without limit, any other within the request's allowance. */
export function renewWithin<Content>(
  { source, lines, revocations }: SessionContext<Content>,
  renew: Renew<Content>,
  candidate: StoredSession<Content>,
  request: Pick<Attempt, 'isHeadSent' | 'client' | 'allowance'> & Pick<Renewable<Content>, 'isVerified'>,
): Promise<Renewal<Content>> {
  const { isHeadSent, allowance, isVerified } = request;
  const place = placeOf(source.adapter, candidate);
  // An unverified token may name another user's session, so its ids end nothing and appear in no event.
  const stored = isVerified ? candidate : { ...candidate, sessionId: undefined, userId: undefined };
  const renewal = async (): Promise<Renewal<Content>> => {
    // A token that is known to be invalid causes no call to the provider or the coordinator.
    if (!isVerified && !isHeadSent() && lines.settledKind(place) !== 'ended') {
      const { standing } = await revocations.check(candidate, undefined);
      if (isRevocation(standing)) return { kind: 'ended', reason: standing };
    }
    return renew(stored, request);
  };
  const isFree = source.isSealed || isHeadSent() || lines.knows(place);
  return isFree ? renewal() : allowance.refresh(candidate, isVerified, renewal);
}

export async function resolutionOf<Content>(
  { source, lines, writer, revocations }: SessionContext<Content>,
  { session, stored, places }: Renewed<Content>,
  cookies: RequestCookies,
): Promise<Resolution> {
  const { token } = placeOf(source.adapter, stored);
  const keys = revocations.keysOf(stored, token);
  return {
    session,
    cookies: await writer.write(stored.content, cookies),
    onDelivered: () => places.forEach((place) => lines.deliver(place, token)),
    isCurrent: () => revocations.knownRevocation(keys) === undefined && !revocations.isSpent(keys),
  };
}
