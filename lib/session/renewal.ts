import type { RequestCookies } from '../tools/cookies.ts';
import { AuthError, causeOf } from '../errors.ts';
import { isRenewalUrgent } from './jwt.ts';
import type { Session } from '../types.ts';
import type { Allowance } from './allowance.ts';
import { measureRefresh } from './events.ts';
import { isRevocation } from './record.ts';
import type { RefreshStart, Standing } from './record.ts';
import { revocationMs } from './revocations.ts';
import type { RevocationCheck } from './revocations.ts';
import type { SessionContext } from './session-context.ts';
import { verdictReason, verifyStored } from './source.ts';
import type { ClientFacts, RefreshOutcome, RefreshVariant, Resolution, StoredSession } from './source.ts';
import { openMs } from './token-line.ts';
import { placeOf } from './token-lines.ts';
import type { Exchanged, Place, TokenAnswer } from './token-lines.ts';

/** The newest tokens of a line may have to be renewed themselves, and others may renew them meanwhile. */
const maxRounds = 4;

export interface Renewed<Content> {
  readonly kind: 'renewed';
  readonly session: Session;
  readonly stored: StoredSession<Content>;
  /** Where the tokens stand that this answer replaces. */
  readonly places: readonly Place[];
}

export type Renewal<Content> =
  Renewed<Content> | { readonly kind: 'ended'; readonly reason: string } | { readonly kind: 'skipped' };

/** An answer that must itself be renewed. */
interface Old<Content> {
  readonly kind: 'old';
  readonly next: StoredSession<Content>;
  /** Its session, if it is still valid. */
  readonly answer?: Renewed<Content>;
}

interface Round<Content> {
  readonly first: StoredSession<Content>;
  readonly current: StoredSession<Content>;
  /** Where `current` stands. */
  readonly place: Place;
  /** Where the tokens stand that led to it, the browser's own first. */
  readonly former: readonly Place[];
  readonly request: RenewalRequest<Content>;
}

type RoundResult<Content> = Exclude<Renewal<Content>, { kind: 'skipped' }> | Old<Content>;

/**
 * Renews an expired session: one exchange per token; where the answer is itself due, it is renewed.
 *
 * @throws {AuthError} `provider_unavailable`, `provider_refused` or `token_rejected`; the session is kept
 */
export type Renew<Content> = (
  stored: StoredSession<Content>,
  request: RenewalRequest<Content>,
) => Promise<Renewal<Content>>;

/** The request that needs the renewal. */
interface RenewalRequest<Content> {
  /** Whether it is too late to send cookies; then no token is spent. */
  readonly isHeadSent: () => boolean;
  readonly client: ClientFacts;
  /** Where the token stands by what its cookie says, proven or not. Default: by the session's own facts. */
  readonly place?: Place;
  /** The refresh to use instead of the ordinary one. */
  readonly variant?: RefreshVariant<Content>;
}

/** A request that may not renew without limit. */
interface LimitedRequest extends Pick<RenewalRequest<unknown>, 'isHeadSent' | 'client'> {
  readonly allowance: Allowance;
  /** Whether the token is verified as the provider's own. */
  readonly isVerified: boolean;
}

export function createRenew<Content>(context: SessionContext<Content>): Renew<Content> {
  const { source, lines, emit } = context;
  const takeRound = createRound(context);

  return async function renew(first, request) {
    let former: readonly Place[] = [];
    let current = first;
    /** Due for renewal, but valid where the provider returns nothing better. */
    let best: Renewed<Content> | undefined;
    while (former.length < maxRounds) {
      const place =
        former.length === 0 && request.place !== undefined ? request.place : placeOf(source.adapter, current);
      if (request.isHeadSent() && !lines.knows(place)) {
        if (best !== undefined) return best;
        emit({ type: 'refresh_skipped', reason: 'headers_sent' });
        return { kind: 'skipped' };
      }
      try {
        const found = await takeRound({ first, current, place, former, request });
        if (found.kind !== 'old') return found;
        current = found.next;
        best = found.answer;
      } catch (error) {
        if (best !== undefined) return best;
        throw error;
      }
      former = [...former, place];
    }
    if (best !== undefined) return best;
    throw new AuthError('token_rejected');
  };
}

/** One token's answer: the session that it holds, or the token to renew next. */
function createRound<Content>(
  context: SessionContext<Content>,
): (round: Round<Content>) => Promise<RoundResult<Content>> {
  const { source, lines, revocations, unconfirmed, emit, now } = context;
  const [askLine, spend] = [createAskLine(context), createSpend(context)];

  /** A refresh may return a token of another session; revocations of both count. */
  async function checkBoth(first: StoredSession<Content>, next: StoredSession<Content>): Promise<RevocationCheck> {
    const check = await revocations.checkAfterRefresh(revocations.keysOf(next, placeOf(source.adapter, next).pair));
    if (isRevocation(check.standing) || first.sessionId === next.sessionId) return check;
    const before = await revocations.checkAfterRefresh(revocations.keysOf(first, undefined));
    return isRevocation(before.standing) ? before : { ...check, isConfirmed: check.isConfirmed && before.isConfirmed };
  }

  async function accept(round: Round<Content>, { session, stored, places }: Renewed<Content>, isConfirmed: boolean) {
    // Where another process' answer counts, that process need not know of the switch.
    await spend(round, stored);
    const newest = placeOf(source.adapter, stored);
    lines.note(newest, stored.issuedAt, places);
    await revocations.extend(revocations.keysOf(stored, newest.pair), session);
    if (!isConfirmed) unconfirmed.add(session);
  }

  const isOld = ({ session }: Renewed<Content>, standing: Standing): boolean =>
    standing === 'spent' || isRenewalUrgent(session.claims, now());

  return async (round) => {
    const { first, current, place, former, request } = round;
    const places = [...former, place];
    const { settled, isNew } = await askLine(round);
    if (settled.kind === 'ended') {
      // Not by its place: an unverified token may name another user's session.
      const isSuperseded = lines.isSuperseded(placeOf(source.adapter, current), current.issuedAt);
      if (settled.reason === 'superseded' || isSuperseded) return { kind: 'ended', reason: 'superseded' };
      // The provider ends a session whose browser signs in again: the cookie already holds the new one.
      const revocation = await revocations.find(first.sessionId, first.beganAt);
      if (revocation === 'replaced') return { kind: 'ended', reason: revocation };
      if (isNew) emit({ type: 'session_ended', reason: settled.reason, ...subject(current) });
      return settled;
    }
    const renewed = source.deserialize(settled.text);
    if (renewed === undefined) throw new AuthError('token_rejected');
    const next = source.toStored(renewed);
    if (isNew) await spend(round, next);
    const { standing, isConfirmed } = await checkBoth(first, next);
    if (isRevocation(standing)) {
      places.forEach((each) => lines.forgetPair(each));
      return { kind: 'ended', reason: standing };
    }
    const taken = await takeAnswer(context, next, places, isNew ? 'new' : request.variant);
    if (taken.kind === 'renewed') await accept(round, taken, isConfirmed);
    // Renewed before `renewSession` was called: its claims may be outdated, too.
    if (standing === 'stale') return { kind: 'old', next };
    return taken.kind === 'renewed' && !isNew && isOld(taken, standing) ? { kind: 'old', next, answer: taken } : taken;
  };
}

/** After a switch of the organization the refresh tokens that led to the new one are spent, and the pairs of one that was given again. */
function createSpend<Content>({ source, revocations }: SessionContext<Content>) {
  return async ({ first, current, place, former, request }: Round<Content>, next: StoredSession<Content>) => {
    if (request.variant === undefined) return;
    const newest = placeOf(source.adapter, next);
    const spent = [...former, place].filter(({ pair }) => pair !== newest.pair);
    const names = spent.map(({ token, pair }) => (token === newest.token ? pair : token));
    await revocations.spend([first.sessionId, current.sessionId], names, revocationMs(current.tokenLifetimeMs));
  };
}

/** One call to the provider per token, in this or another process. */
function createAskLine<Content>(context: SessionContext<Content>): (round: Round<Content>) => Promise<TokenAnswer> {
  const { source, lines, revocations } = context;
  const refresh = createRefresh(context);
  return ({ current, place, former, request: { client, variant } }) => {
    const call = (signal: AbortSignal): Promise<RefreshOutcome<Content>> => {
      // A switch leaves an access token that is still valid, and the provider may take a second use of its refresh token for a theft.
      if (revocations.isSpent(revocations.keysOf(current, place.token)))
        return Promise.resolve({ kind: 'ended', reason: 'superseded' });
      return variant?.refresh(current.content, signal) ?? source.refresh(current.content, signal, client);
    };
    return lines.run(place, {
      former,
      variant: variant?.name,
      run: (signal) => refresh(current, call, signal),
    });
  };
}

/** @param asked `new` where the provider just answered this request, else the requested variant */
async function takeAnswer<Content>(
  context: SessionContext<Content>,
  next: StoredSession<Content>,
  places: readonly Place[],
  asked: 'new' | RefreshVariant<Content> | undefined,
): Promise<Renewed<Content> | Old<Content>> {
  const { source, emit } = context;
  const isNew = asked === 'new';
  const verdict = await verifyStored(source, next, 'provider');
  if (verdict.kind === 'live') {
    const { session } = verdict;
    const answer: Renewed<Content> = { kind: 'renewed', session, stored: next, places };
    if (isNew) {
      const { id: userId } = session.user;
      await context.writer.fits(next.content, userId);
      emit({ type: 'session_refreshed', userId, ...subject(next) });
      // A token that the provider just issued cannot be fresher.
      return answer;
    }
    return asked?.isReached(session) === false ? { kind: 'old', next } : answer;
  }
  // A new token that fails verification is an error, to avoid endless retries. The tokens stay in
  // the line, because the old ones are spent: once they have expired, the next attempt renews them.
  if (isNew || verdict.kind !== 'expired') {
    const rejected = new AuthError('token_rejected', { reason: verdictReason(verdict) });
    if (isNew) emit({ type: 'refresh_failed', ...causeOf(rejected), ...subject(next) });
    throw rejected;
  }
  return { kind: 'old', next };
}

function subject(stored: StoredSession<unknown>): { readonly sessionId?: string } {
  return stored.sessionId === undefined ? {} : { sessionId: stored.sessionId };
}

/** Asks the provider, and once more where its answer may have been lost. */
function createRefresh<Content>({
  source,
  revocations,
}: SessionContext<Content>): (
  stored: StoredSession<Content>,
  call: (signal: AbortSignal) => Promise<RefreshOutcome<Content>>,
  signal: AbortSignal,
) => Promise<Exchanged> {
  /** Called before any caller gets the answer, so that a `renewSession` costs one refresh and not one per caller. */
  async function acceptRenewed(content: Content, start: RefreshStart): Promise<Exchanged> {
    const next = source.toStored(content);
    const place = placeOf(source.adapter, next);
    await revocations.acceptRenewed(revocations.keysOf(next, place.pair), start, revocationMs(next.tokenLifetimeMs));
    // A browser that holds an earlier token may ask for as long as the new ones are valid, and exchange none.
    return {
      kind: 'renewed',
      text: source.serialize(content),
      place,
      lifeMs: revocationMs(next.tokenLifetimeMs) + openMs,
    };
  }

  async function ask(
    stored: StoredSession<Content>,
    call: (signal: AbortSignal) => Promise<RefreshOutcome<Content>>,
    signal: AbortSignal,
  ): Promise<Exchanged> {
    const start = revocations.refreshStart(revocations.keysOf(stored, placeOf(source.adapter, stored).pair));
    let outcome = await call(signal);
    // The provider may have rotated the token and its answer was lost: resend the same token within its replay window.
    if (outcome.kind === 'unanswered' && !signal.aborted) outcome = await call(signal);
    switch (outcome.kind) {
      case 'renewed':
        return acceptRenewed(outcome.content, start);
      case 'ended':
        return outcome;
      case 'unanswered':
        throw new AuthError('provider_unavailable', { cause: outcome.cause, reason: 'unanswered', retryAfter: 5 });
    }
  }

  return (...asked) => measureRefresh(source.adapter, () => ask(...asked));
}

/** A sealed cookie's session is renewed without limit, any other within the request's allowance. */
export function renewWithin<Content>(
  { source, lines, revocations }: SessionContext<Content>,
  renew: Renew<Content>,
  candidate: StoredSession<Content>,
  request: LimitedRequest,
): Promise<Renewal<Content>> {
  const { isHeadSent, allowance, isVerified } = request;
  const place = placeOf(source.adapter, candidate);
  // An unverified token may name another user's session, so its ids end nothing and appear in no event.
  const stored = isVerified ? candidate : { ...candidate, sessionId: undefined, userId: undefined };
  const renewal = async (): Promise<Renewal<Content>> => {
    // A token that is known to be invalid causes no call to the provider or the coordinator.
    if (!isVerified && !isHeadSent() && lines.settled(place)?.kind !== 'ended') {
      const { standing } = await revocations.check(revocations.keysOf(candidate, undefined));
      if (isRevocation(standing)) return { kind: 'ended', reason: standing };
    }
    return renew(stored, { ...request, place });
  };
  const isFree = source.isSealed || isHeadSent() || lines.knows(place);
  return isFree ? renewal() : allowance.refresh(candidate, isVerified, renewal);
}

export async function resolutionOf<Content>(
  { source, lines, writer, revocations }: SessionContext<Content>,
  { session, stored, places }: Renewed<Content>,
  cookies: RequestCookies,
): Promise<Resolution> {
  const newest = placeOf(source.adapter, stored);
  const keys = revocations.keysOf(stored, newest.pair);
  return {
    session,
    cookies: await writer.write(stored.content, cookies),
    onDelivered: () => places.forEach((place) => lines.deliver(place, newest.pair)),
    // A slow response must not bring back tokens that were exchanged meanwhile.
    isCurrent: () =>
      revocations.knownRevocation(keys) === undefined &&
      !revocations.isSpent(keys) &&
      lines.settled(newest) === undefined,
  };
}
