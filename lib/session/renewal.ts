import { createBoundedMap } from '../core/bounded-map.ts';
import { isRenewalUrgent } from '../tokens/access-token.ts';
import { AuthError, causeOf } from '../errors.ts';
import type { Session } from '../types.ts';
import { hash, isRevocation } from './record.ts';
import type { Standing } from './record.ts';
import { revocationMs } from './revocations.ts';
import { createRefresh } from './refresh.ts';
import { refreshKey } from './refresh-coordinator.ts';
import type { CoordinatedRefresh } from './refresh-coordinator.ts';
import type { SessionContext } from './session-context.ts';
import { verdictReason, verifyStored } from './source.ts';
import type { ClientFacts, RefreshOutcome, RefreshVariant, StoredSession } from './source.ts';

/** Answers in the memo may have been renewed since; a late request follows the chain this far. */
const maxHops = 4;
/** Longer than the duration of any request. */
const newestMs = 10 * 60_000;
const maxNewest = 20_000;

export interface Renewed<Content> {
  readonly kind: 'renewed';
  readonly session: Session;
  readonly stored: StoredSession<Content>;
  /** The keys of the spent tokens that this answer replaces. */
  readonly keys: readonly string[];
}

export type Renewal<Content> =
  Renewed<Content> | { readonly kind: 'ended'; readonly reason: string } | { readonly kind: 'skipped' };

/** An answer from the memo that must itself be renewed. */
interface Old<Content> {
  readonly kind: 'old';
  readonly next: StoredSession<Content>;
  /** Its session, if it is still valid. */
  readonly answer?: Renewed<Content>;
}

interface HopFrom<Content> {
  readonly first: StoredSession<Content>;
  readonly current: StoredSession<Content>;
  readonly keys: readonly string[];
  readonly client: ClientFacts;
  readonly variant: RefreshVariant<Content> | undefined;
}

type Hop<Content> = Exclude<Renewal<Content>, { kind: 'skipped' }> | Old<Content>;

/**
 * Renews an expired session: one call per token; later renewals of the answer are followed.
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

export function createRenew<Content>(context: SessionContext<Content>): Renew<Content> {
  const { source, coordinator, emit } = context;
  const hop = createHop(context);

  return async function renew(stored, request) {
    const { client, variant } = request;
    const keys: string[] = [];
    let current = stored;
    /** Due for renewal, but valid where the provider returns nothing better. */
    let best: Renewed<Content> | undefined;
    for (let hops = 0; hops < maxHops; hops += 1) {
      const key = refreshKey(source.adapter, current);
      keys.push(key);
      if (request.isHeadSent() && !coordinator.knows(key)) {
        if (best !== undefined) return best;
        emit({ type: 'refresh_skipped', reason: 'headers_sent' });
        return { kind: 'skipped' };
      }
      try {
        const found = await hop({ first: stored, current, keys: [...keys], client, variant });
        if (found.kind !== 'old') return found;
        current = found.next;
        best = found.answer;
      } catch (error) {
        if (best !== undefined) return best;
        throw error;
      }
    }
    if (best !== undefined) return best;
    throw new AuthError('token_rejected');
  };
}

/** Takes one answer: the session that it holds, or the next token to follow. */
function createHop<Content>(context: SessionContext<Content>): (from: HopFrom<Content>) => Promise<Hop<Content>> {
  const { source, coordinator, revocations, emit, now } = context;
  const requestTokens = createRequestTokens(context);
  const newest = createNewestTokens(context);

  /** A refresh may return a token of another session; revocations of both count. */
  async function checkBoth(first: StoredSession<Content>, next: StoredSession<Content>): Promise<Standing> {
    const { standing } = await revocations.checkAfterRefresh(next, refreshKey(source.adapter, next));
    if (isRevocation(standing) || first.sessionId === next.sessionId) return standing;
    const before = await revocations.checkAfterRefresh(first, undefined);
    return isRevocation(before.standing) ? before.standing : standing;
  }

  const isOld = ({ session }: Renewed<Content>, standing: Standing): boolean =>
    standing === 'spent' || isRenewalUrgent(session.claims, now());

  return async (from) => {
    const { first, current, keys, variant } = from;
    const { settled, isNew } = await requestTokens(from);
    if (settled.kind === 'ended') {
      if (settled.reason === 'superseded' || newest.isSuperseded(current))
        return { kind: 'ended', reason: 'superseded' };
      if (isNew) emit({ type: 'session_ended', reason: settled.reason, ...subject(current) });
      return settled;
    }
    const renewed = source.deserialize(settled.text);
    if (renewed === undefined) throw new AuthError('token_rejected');
    const next = source.toStored(renewed);
    if (isNew) coordinator.advance(keys, refreshKey(source.adapter, current));
    const standing = await checkBoth(first, next);
    if (isRevocation(standing)) {
      keys.forEach((spent) => coordinator.forget(spent));
      return { kind: 'ended', reason: standing };
    }
    const taken = await takeAnswer(context, next, keys, isNew ? 'new' : variant);
    const hop =
      taken.kind === 'renewed' && !isNew && isOld(taken, standing)
        ? { kind: 'old' as const, next, answer: taken }
        : taken;
    if (taken.kind === 'renewed') newest.add(next);
    // Renewed before `renewSession` was called: its claims may be outdated, too.
    return standing === 'stale' && hop.kind !== 'ended' ? { kind: 'old', next } : hop;
  };
}

/** One call to the provider per token, in this or another process. */
function createRequestTokens<Content>(
  context: SessionContext<Content>,
): (from: HopFrom<Content>) => Promise<CoordinatedRefresh> {
  const { source, coordinator, revocations } = context;
  const refresh = createRefresh(context);
  return async ({ first, current, keys, client, variant }) => {
    const { content } = current;
    const key = refreshKey(source.adapter, current);
    const call = (signal: AbortSignal): Promise<RefreshOutcome<Content>> => {
      // The provider may take a second use of a spent token for a theft, and end the session.
      if (revocations.isSpent(revocations.keysOf(current, key)))
        return Promise.resolve({ kind: 'ended', reason: 'superseded' });
      return variant === undefined ? source.refresh(content, signal, client) : variant.refresh(content, signal);
    };
    const answer = await coordinator.run(key, (signal) => refresh(current, call, signal), variant?.name);
    if (answer.isNew && variant !== undefined && answer.settled.kind === 'renewed') {
      const sessionIds = [first.sessionId, current.sessionId];
      await revocations.spend(sessionIds, keys, revocationMs(current.tokenLifetimeMs));
    }
    return answer;
  };
}

/** The newest token of each session that was recently renewed here. */
function createNewestTokens<Content>({ source, now }: SessionContext<Content>) {
  const newest = createBoundedMap<NewestToken>({ max: maxNewest, ttlMs: newestMs, now });
  return {
    add(stored: StoredSession<Content>): void {
      const { sessionId, issuedAt } = stored;
      if (sessionId !== undefined) newest.set(hash(sessionId), { key: refreshKey(source.adapter, stored), issuedAt });
    },
    /**
     * A late request carries a token that was renewed here since: its browser has a newer one, and the session continues. A
     * later token is that of a new sign-in into the same session.
     */
    isSuperseded(stored: StoredSession<Content>): boolean {
      const latest = stored.sessionId === undefined ? undefined : newest.get(hash(stored.sessionId));
      if (latest === undefined || latest.issuedAt < stored.issuedAt) return false;
      return latest.key !== refreshKey(source.adapter, stored);
    },
  };
}

interface NewestToken {
  readonly key: string;
  /** When its access token was issued, in milliseconds since the epoch. */
  readonly issuedAt: number;
}

/** @param asked `new` where the provider just answered this request, else the requested variant */
async function takeAnswer<Content>(
  context: SessionContext<Content>,
  next: StoredSession<Content>,
  keys: readonly string[],
  asked: 'new' | RefreshVariant<Content> | undefined,
): Promise<Hop<Content>> {
  const { source, emit } = context;
  const isNew = asked === 'new';
  const verdict = await verifyStored(source, next, 'provider');
  if (verdict.kind === 'live') {
    const { session } = verdict;
    const answer: Renewed<Content> = { kind: 'renewed', session, stored: next, keys };
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
  // the memo, because the old ones are spent: once they have expired, the next attempt renews them.
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
