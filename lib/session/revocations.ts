import { createBoundedMap } from '../core/bounded-map.ts';
import type { ChangeCount } from '../core/bounded-map.ts';
import { createCutoffs, hash } from './cutoffs.ts';
import { createExceptions, createSessionRecords, keepsRecords } from './session-records.ts';
import type { SessionFacts, SessionKeys, SessionTarget } from './cutoffs.ts';
import { createAskShared } from './shared-coordinator.ts';
import type { OutageReport, SharedCoordinator } from './shared-coordinator.ts';

/**
 * How a session ended: by a sign-out, by a new sign-in in its browser, or by `endSession`. The successor's
 * cookie has already replaced that of a `replaced` session: clearing it now would delete the new session.
 */
export type Revocation = 'signed_out' | 'replaced' | 'ended';

export interface RevocationCheck {
  readonly revocation: Revocation | undefined;
  /** Whether `renewSession` was called after the token was issued, so that its claims may be outdated. */
  readonly isStale: boolean;
  /** When the check began, in milliseconds since the epoch. */
  readonly checkedAt: number;
  /** Whether another process may have switched the session to another organization, or replaced it. */
  readonly mayHaveMarks: boolean;
}

/** What this process knows of a session's end. */
interface KnownRevocation {
  readonly revocation: Revocation;
  /** What began until then is over, in milliseconds since the epoch. A later sign-in may continue the session's id. */
  readonly until: number;
}

export type Revocations = ReturnType<typeof createRevocations>;

/** Hashes a session id, so that each has the same size. */
export function sessionKey(sessionId: string): string;
export function sessionKey(sessionId: string | undefined): string | undefined;
export function sessionKey(sessionId: string | undefined): string | undefined {
  return sessionId === undefined ? undefined : hash(sessionId);
}

/** Long enough for every request that was already sent at the sign-out. */
const minRevocationMs = 25_000;
/** Supabase allows access tokens to live for at most a week. */
const maxRevocationMs = 8 * 24 * 60 * 60_000;
const maxRevocations = 100_000;
/** Longer than any refresh that was running when the new session was stored. Requests with the old cookie are not checked against it. */
const replacedMarkMs = 60_000;
/** How long a verified session counts as live before the other processes are asked again. */
const sharedRecheckMs = 5_000;

/**
 * How long a signed-out session must be remembered: a running refresh may return a token with its
 * whole lifetime left.
 */
export function revocationMs(tokenLifetimeMs: number): number {
  return Math.min(Math.max(tokenLifetimeMs, 0) + minRevocationMs, maxRevocationMs);
}

/**
 * The sessions that ended here, or in a process that shares the coordinator, kept while any of their tokens may still be accepted.
 *
 * @param adapter the adapter of these sessions: two adapters may share a coordinator
 * @param now milliseconds since the epoch
 * @param changes counts revocations and `renewSession` calls that this process learns of
 */
export function createRevocations(
  adapter: string,
  shared: SharedCoordinator | undefined,
  outages: OutageReport,
  now: () => number,
  changes: ChangeCount,
) {
  const local = createBoundedMap<KnownRevocation>({ max: maxRevocations, ttlMs: minRevocationMs, now, changes });
  const askShared = createAskShared(outages, 'tombstone');
  const listeners: ((subject: string) => void)[] = [];
  const records = createSessionRecords(shared, askShared, now, changes);
  // Separate: a second factor adds four marks, which must not evict those that protect a session for 400 days.
  const [began, renewed] = [createExceptions(shared, askShared, now), createExceptions(shared, askShared, now)];
  const { subjectsOf, ...cutoffs } = createCutoffs(adapter, records, { began, renewed }, now);
  const subjectOf = (sessionId: string): string => subjectsOf({ sessionId, userId: undefined })[0] ?? '';
  const notify = (subject: string): void => listeners.forEach((listener) => listener(subject));

  function knownByKey(session: string | undefined, beganAt: number): Revocation | undefined {
    const here = local.size === 0 || session === undefined ? undefined : local.get(session);
    return here !== undefined && beganAt <= here.until ? here.revocation : undefined;
  }

  /**
   * How the session was signed out or replaced, while its tokens may still be valid.
   *
   * @param beganAt when the sign-in began, in milliseconds since the epoch: an earlier sign-out does not concern it. Default: unknown
   */
  async function find(sessionId: string | undefined, beganAt = 0): Promise<Revocation | undefined> {
    const here = knownByKey(sessionKey(sessionId), beganAt);
    // A sign-out in another process takes precedence over a replacement here.
    if (here === 'signed_out' || sessionId === undefined || shared === undefined) return here;
    const isOver = keepsRecords(shared)
      ? beganAt <= (await records.find([subjectOf(sessionId)])).signedOutUntil
      : await askShared(shared.isEnded(sessionId), false);
    return isOver ? 'signed_out' : here;
  }

  /** @param token identifies the refresh token; `undefined` for a bearer token */
  function keysOf(facts: SessionFacts, token: string | undefined): SessionKeys {
    const { sessionId, beganAt, issuedAt } = facts;
    return { session: sessionKey(sessionId), subjects: subjectsOf(facts), token, beganAt, issuedAt };
  }

  /** When this process last saw the session end; 0 for never. */
  function earlierEnd(sessionId: string | undefined): number {
    const until = sessionId === undefined ? undefined : local.get(sessionKey(sessionId))?.until;
    return Number.isFinite(until) ? Number(until) : 0;
  }

  async function look(
    facts: SessionFacts,
    token: string | undefined,
    group: string | undefined,
  ): Promise<RevocationCheck> {
    const keys = keysOf(facts, token);
    const checkedAt = now();
    const [revocation, concern] = await Promise.all([
      keepsRecords(shared) ? knownByKey(keys.session, keys.beganAt) : find(facts.sessionId, keys.beganAt),
      cutoffs.check(keys, group),
    ]);
    const { isEnded, isStale, signedOutUntil, hasRecord } = concern;
    const isSignedOut = keys.beganAt <= signedOutUntil;
    return {
      revocation: revocation ?? (isSignedOut ? 'signed_out' : isEnded ? 'ended' : undefined),
      isStale,
      checkedAt,
      mayHaveMarks: hasRecord || keys.session === undefined,
    };
  }

  /** Ends sessions that began before now. @throws {AuthError} `provider_unavailable` where it applies in this process only */
  async function end(target: SessionTarget): Promise<void> {
    const called = cutoffs.end(target);
    subjectsOf({ sessionId: undefined, userId: undefined, ...target }).forEach(notify);
    await called;
  }

  /** The same for all the user's sessions except one. That one stays ended if it already was. @throws {AuthError} likewise */
  async function endOthers(kept: SessionFacts): Promise<void> {
    const { userId } = kept;
    if (userId === undefined) return;
    const [subject = ''] = subjectsOf({ sessionId: undefined, userId });
    await cutoffs.endOthers(userId, keysOf(kept, undefined), () => notify(subject));
  }

  /** The revocation that this process knows, without asking another one. */
  const known = (keys: SessionKeys): Revocation | undefined =>
    knownByKey(keys.session, keys.beganAt) ?? (cutoffs.known(keys).isEnded ? 'ended' : undefined);

  return {
    ...cutoffs,
    /** A sign-in that was allowed after a session's end begins later than it, even where this clock was set back since. */
    begin: async (facts: Parameters<typeof cutoffs.begin>[0], beganAt?: number): Promise<number> => {
      return Math.max(await cutoffs.begin(facts, beganAt), earlierEnd(facts.sessionId) + 1);
    },
    end,
    endOthers,
    /** Whether there are other processes to ask. */
    isShared: shared !== undefined,
    /** Calls `listener` after each revocation and each `endSession` of this process, with the hashed name of the session or user. */
    subscribe: (listener: (subject: string) => void): void => void listeners.push(listener),
    keysOf,
    known,
    /**
     * The revocation of an unverified token that this process knows and no other can lift. With a
     * coordinator, a sign-in in another process may have lifted an `endSession`; only `check` asks for that.
     */
    knownFinally: (keys: SessionKeys): Revocation | undefined =>
      shared === undefined ? known(keys) : knownByKey(keys.session, keys.beganAt),
    /** Whether this process knows of a revocation, or of a `renewSession` after the token was issued. */
    isConcerned(keys: SessionKeys): boolean {
      if (knownByKey(keys.session, keys.beganAt) !== undefined) return true;
      const { isEnded, isStale } = cutoffs.known(keys);
      return isEnded || isStale;
    },
    find,
    /** Checks this process and the coordinator. */
    check: (facts: SessionFacts, token: string | undefined) => look(facts, token, 'requests'),
    /** The same for a refresh's answer, which must not overwrite the cookie of a sign-in that another process stored meanwhile. */
    async checkAfterRefresh(facts: SessionFacts, token: string | undefined): Promise<RevocationCheck> {
      const { sessionId } = facts;
      // A check that began before the answer arrived may have missed a sign-out.
      const checked = await look(facts, token, token);
      if (checked.revocation !== undefined || sessionId === undefined || !checked.mayHaveMarks) return checked;
      if (!(await askShared(shared?.isEnded(replacedMark(sessionId)), false))) return checked;
      local.set(sessionKey(sessionId), { revocation: 'replaced', until: Infinity }, { ttl: replacedMarkMs });
      return { ...checked, revocation: 'replaced' };
    },
    /**
     * @param tokenLifetimeMs the lifetime of the session's access tokens
     * @param beganAt when the session began: it is over even where the clock that said so is ahead of ours
     */
    async revoke(sessionId: string, revocation: Revocation, tokenLifetimeMs: number, beganAt = 0): Promise<void> {
      const ttlMs = revocationMs(tokenLifetimeMs);
      const until = Math.ceil(Math.max(now(), beganAt, earlierEnd(sessionId)));
      // A sign-out is never downgraded to a replacement.
      if (revocation === 'replaced' && knownByKey(sessionKey(sessionId), beganAt) === 'signed_out') return;
      local.set(sessionKey(sessionId), { revocation, until }, { ttl: ttlMs });
      notify(subjectOf(sessionId));
      if (revocation === 'replaced') {
        await Promise.all([
          askShared(shared?.endSession(replacedMark(sessionId), replacedMarkMs), undefined),
          records.announce(subjectOf(sessionId), replacedMarkMs),
        ]);
      } else await records.signOut(subjectOf(sessionId), sessionId, until, ttlMs);
    },
    /** Makes `check` report marks of these sessions in every process. Never rejects. */
    async announceMarks(sessionIds: readonly (string | undefined)[], ttlMs: number): Promise<void> {
      const subjects = new Set(sessionIds.flatMap((sessionId) => subjectsOf({ sessionId, userId: undefined })));
      await Promise.all([...subjects].map((subject) => records.announce(subject, ttlMs)));
    },
    /** How long a check's result is valid before the other processes are asked again, in milliseconds. */
    recheckMs: shared === undefined ? Infinity : sharedRecheckMs,
  };
}

function replacedMark(sessionId: string): string {
  return `replaced:${sessionId}`;
}
