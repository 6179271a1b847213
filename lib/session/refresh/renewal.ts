import { AuthError, causeOf } from '../../errors.ts';
import { defined } from '../../tools/json.ts';
import { isRenewalUrgent } from '../jwt.ts';
import type { Session } from '../../types.ts';
import type { Allowance } from '../allowance.ts';
import { measureRefresh } from '../events.ts';
import { isRevocation } from '../ended/record.ts';
import type { RefreshStart, Standing } from '../ended/record.ts';
import { revocationMs } from '../ended/revocations.ts';
import type { RevocationCheck } from '../ended/revocations.ts';
import { holderOf, ownerOf } from '../session-context.ts';
import type { SessionContext } from '../session-context.ts';
import { verdictReason, verifyStored } from '../source.ts';
import type { ClientFacts, RefreshOutcome, RefreshVariant, StoredSession } from '../source.ts';
import { openMs, superseded } from './answers.ts';
import type { Ended, Holder } from './answers.ts';
import { NotStarted } from './exchange.ts';
import type { Exchanged, Refreshed } from './exchange.ts';

/** The newest tokens that one led to may have to be renewed themselves, and others may renew them meanwhile. */
const maxRounds = 4;

/** More than an answer takes. A provider repeats one for a token that comes a second time, for seconds. */
const repeatedMs = 5_000;
/** So many of its last answers say how far the provider's clock is ahead: one of the clocks may be set. */
const comparedAnswers = 8;

export interface Renewed<Content> {
  readonly kind: 'renewed';
  readonly session: Session;
  readonly stored: StoredSession<Content>;
  /** The tokens that this answer replaces. */
  readonly replaced: readonly Holder[];
  /** From when on a session in use renews it, in milliseconds since the epoch. Default: by its expiry alone. */
  readonly renewalDueAt?: number;
}

export type Renewal<Content> = Renewed<Content> | EndedRenewal | { readonly kind: 'skipped' };

interface EndedRenewal {
  readonly kind: 'ended';
  readonly reason: string;
  /** Whether the session has reached its lifetime. */
  readonly isAged?: boolean;
}

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
  readonly holder: Holder;
  /** The tokens that led to it, the browser's own first. */
  readonly former: readonly Holder[];
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
  const { source, emit } = context;
  const takeRound = createRound(context);

  return async function renew(first, request) {
    let former: readonly Holder[] = [];
    let current = first;
    /** Due for renewal, but valid where the provider returns nothing better. */
    let best: Renewed<Content> | undefined;
    while (former.length < maxRounds) {
      const holder = holderOf(source, current);
      try {
        const found = await takeRound({ first, current, holder, former, request });
        if (found.kind !== 'old') return found;
        current = found.next;
        best = found.answer;
      } catch (error) {
        if (best !== undefined) return best;
        if (!(error instanceof NotStarted)) throw error;
        emit({ type: 'refresh_skipped', reason: 'headers_sent' });
        return { kind: 'skipped' };
      }
      former = [...former, holder];
    }
    if (best !== undefined) return best;
    // Each answer was out of date when it came. The next request may have more luck.
    throw new AuthError('provider_unavailable', { retryAfter: 1 });
  };
}

/** One token's answer: the session that it holds, or the token to renew next. */
function createRound<Content>(
  context: SessionContext<Content>,
): (round: Round<Content>) => Promise<RoundResult<Content>> {
  const { source, refresh, revocations, unconfirmed, emit } = context;
  const [ask, spend, isOld] = [createAsk(context), createSpend(context), createIsOld(context)];

  /** A refresh may return a token of another session; revocations of both count. */
  async function checkBoth(first: StoredSession<Content>, next: StoredSession<Content>): Promise<RevocationCheck> {
    const check = await revocations.checkAfterRefresh(revocations.keysOf(next, holderOf(source, next).pair));
    if (isRevocation(check.standing) || first.sessionId === next.sessionId) return check;
    const before = await revocations.checkAfterRefresh(revocations.keysOf(first, undefined));
    return isRevocation(before.standing) ? before : { ...check, isConfirmed: check.isConfirmed && before.isConfirmed };
  }

  async function keep(round: Round<Content>, { session, stored, replaced }: Renewed<Content>, isConfirmed: boolean) {
    // Where another process' answer counts, that process need not know of the switch.
    await spend(round, stored);
    const newest = holderOf(source, stored);
    const { issuedAt, sessionId } = stored;
    refresh.note(sessionId, { token: newest.token, issuedAt }, replaced);
    await revocations.extend(revocations.keysOf(stored, newest.pair), session);
    if (!isConfirmed) unconfirmed.add(session);
  }

  async function refused({ first, current, holder }: Round<Content>, answer: Ended, isNew: boolean): Promise<Ended> {
    const isSuperseded = refresh.isSuperseded(current.sessionId, holder.token, current.issuedAt);
    if (answer.reason === superseded.reason || isSuperseded) return superseded;
    // The provider ends a session whose browser signs in again: the cookie already holds the new one.
    const revocation = await revocations.signOutOf(first.sessionId, first.beganAt);
    if (revocation === 'replaced') return { kind: 'ended', reason: revocation };
    if (isNew) emit({ type: 'session_ended', reason: answer.reason, ...subject(current) });
    return answer;
  }

  return async (round) => {
    const { first, holder, former, request } = round;
    const replaced = [...former, holder];
    const { answer, isNew } = await ask(round);
    if (answer.kind === 'ended') return refused(round, answer, isNew);
    const renewed = source.deserialize(answer.text);
    if (renewed === undefined) throw new AuthError('token_rejected');
    const next = source.toStored(renewed);
    if (isNew) await spend(round, next);
    const { standing, isConfirmed } = await checkBoth(first, next);
    if (isRevocation(standing)) {
      replaced.forEach(({ token }) => refresh.drop(token));
      return { kind: 'ended', reason: standing };
    }
    const taken = await takeAnswer(context, next, replaced, isNew ? 'new' : request.variant);
    if (taken.kind === 'renewed') await keep(round, taken, isConfirmed);
    // Renewed before `renewSession` was called: its claims may be outdated, too.
    if (standing === 'stale' && taken.kind !== 'ended') return { kind: 'old', next };
    return taken.kind === 'renewed' && !isNew && isOld(taken, standing) ? { kind: 'old', next, answer: taken } : taken;
  };
}

/** Whether an answer is itself due for renewal. */
function createIsOld<Content>({ source, refresh, now }: SessionContext<Content>) {
  return ({ session, stored, renewalDueAt = Infinity }: Renewed<Content>, standing: Standing): boolean =>
    standing === 'spent' ||
    isRenewalUrgent(session.claims, now()) ||
    // No request waits for a provider that has just failed.
    (renewalDueAt <= now() && !refresh.isResting(holderOf(source, stored).token));
}

/** After a switch of the organization the refresh tokens that led to the new one are spent, and the pairs of one that was given again. */
function createSpend<Content>({ source, revocations, now }: SessionContext<Content>) {
  return async ({ first, current, holder, former, request }: Round<Content>, next: StoredSession<Content>) => {
    if (request.variant === undefined) return;
    const newest = holderOf(source, next);
    const spent = [...former, holder].filter(({ pair }) => pair !== newest.pair);
    const times: Record<string, number> = {};
    for (const { token } of spent) {
      if (token === newest.token) times[newest.pair] = next.issuedAt;
      else times[token] = now();
    }
    const ttlMs = revocationMs(current.tokenLifetimeMs);
    await revocations.spend([first.sessionId, current.sessionId], times, ttlMs);
  };
}

/** One call to the provider per token, in this or another process. */
function createAsk<Content>(context: SessionContext<Content>): (round: Round<Content>) => Promise<Refreshed> {
  const { source, refresh, revocations } = context;
  const askProvider = createAskProvider(context);
  return ({ current, holder, former, request: { client, variant, isHeadSent } }) => {
    const call = (signal: AbortSignal): Promise<RefreshOutcome<Content>> => {
      // A switch leaves an access token that is still valid, and the provider may take a second use of its refresh token for a theft.
      if (revocations.isSpent(revocations.keysOf({ ...current, issuedAt: Infinity }, holder.token)))
        return Promise.resolve({ kind: 'ended', reason: 'superseded' });
      return variant?.refresh(current.content, signal) ?? source.refresh(current.content, signal, client);
    };
    return refresh.run(holder, {
      former: former.map(({ token }) => token),
      variant: variant?.name,
      mayStart: () => !isHeadSent(),
      run: (signal) => askProvider(current, call, signal),
    });
  };
}

/** @param asked `new` where the provider just answered this request, else the requested variant */
async function takeAnswer<Content>(
  context: SessionContext<Content>,
  next: StoredSession<Content>,
  replaced: readonly Holder[],
  asked: 'new' | RefreshVariant<Content> | undefined,
): Promise<Renewed<Content> | Old<Content> | EndedRenewal> {
  const { source, emit, now } = context;
  const isNew = asked === 'new';
  const verdict = await verifyStored(source, next, 'provider');
  if (verdict.kind === 'live') {
    const { session, renewalDueAt } = verdict;
    const answer: Renewed<Content> = { kind: 'renewed', session, stored: next, replaced, ...defined({ renewalDueAt }) };
    if (isNew) {
      const { id: userId } = session.user;
      await context.writer.fits(next.content, userId);
      emit({ type: 'session_refreshed', userId, ...subject(next) });
      // A token that the provider just issued cannot be fresher.
      return answer;
    }
    return asked?.isReached(session) === false ? { kind: 'old', next } : answer;
  }
  if (verdict.kind === 'invalid' && verdict.isAged === true)
    return { kind: 'ended', reason: verdict.reason, isAged: true };
  // A new token that fails verification is an error, to avoid endless retries. The tokens are kept, because the old ones are spent:
  // once they have expired, the next attempt renews them, also where only the provider could verify them.
  const isOver = verdict.kind === 'unverifiable' && isRenewalUrgent(next.token.claims, now());
  if (isNew || (verdict.kind !== 'expired' && !isOver)) {
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
function createAskProvider<Content>({
  source,
  revocations,
  now,
}: SessionContext<Content>): (
  stored: StoredSession<Content>,
  call: (signal: AbortSignal) => Promise<RefreshOutcome<Content>>,
  signal: AbortSignal,
) => Promise<Exchanged> {
  /** How far the provider's clock is ahead, at least, by its last answers: each was issued before it came. In milliseconds. */
  let aheadMs: readonly number[] = [];

  /** Called before any caller gets the answer, so that a `renewSession` costs one refresh and not one per caller. */
  async function acceptRenewed(content: Content, start: RefreshStart): Promise<Exchanged> {
    const next = source.toStored(content);
    const { token, pair } = holderOf(source, next);
    const ahead = aheadMs.length === 0 ? 0 : Math.max(...aheadMs);
    const isRepeated = next.issuedAt < start.at + ahead - repeatedMs;
    aheadMs = [...aheadMs, next.issuedAt - now()].slice(-comparedAnswers);
    await revocations.acceptRenewed(revocations.keysOf(next, pair), start, revocationMs(next.tokenLifetimeMs));
    // A browser that holds an earlier token may ask for as long as the new ones are valid, and exchange none.
    return {
      kind: 'renewed',
      text: source.serialize(content),
      token,
      issuedAt: next.issuedAt,
      owner: ownerOf(next),
      isRepeated,
      lifeMs: revocationMs(next.tokenLifetimeMs) + openMs,
    };
  }

  async function ask(
    stored: StoredSession<Content>,
    call: (signal: AbortSignal) => Promise<RefreshOutcome<Content>>,
    signal: AbortSignal,
  ): Promise<Exchanged> {
    const start = revocations.refreshStart(revocations.keysOf(stored, holderOf(source, stored).pair));
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
  { source, refresh, revocations }: SessionContext<Content>,
  renew: Renew<Content>,
  candidate: StoredSession<Content>,
  request: LimitedRequest,
): Promise<Renewal<Content>> {
  const { isHeadSent, allowance, isVerified } = request;
  const holder = holderOf(source, candidate);
  // An unverified token may name another user's session, so its ids end nothing and appear in no event.
  const stored = isVerified ? candidate : { ...candidate, sessionId: undefined, userId: undefined };
  const renewal = async (): Promise<Renewal<Content>> => {
    // A token that is known to be invalid causes no call to the provider or the coordinator.
    if (!isVerified && !isHeadSent() && refresh.settled(holder)?.kind !== 'ended') {
      const { standing } = await revocations.check(revocations.keysOf(candidate, undefined));
      if (isRevocation(standing)) return { kind: 'ended', reason: standing };
    }
    return renew(stored, request);
  };
  const isFree = source.isSealed || isHeadSent() || refresh.knows(holder);
  return isFree ? renewal() : allowance.refresh(candidate, isVerified, renewal);
}
