import { createBoundedMap } from '../core/bounded-map.ts';
import type { ChangeCount } from '../core/bounded-map.ts';
import { createCutoffs, hash } from './cutoffs.ts';
import { createExceptions, createSessionRecords, keepsRecords } from './session-records.ts';
import type { SessionFacts, SessionKeys, SessionTarget } from './cutoffs.ts';
import { createAskShared } from './shared-coordinator.ts';
import type { OutageReport, SharedCoordinator } from './shared-coordinator.ts';

/**
 * How a session ended: by a sign-out, by a new sign-in in its browser, or by `endSession`. The cookie of a `replaced` one is already
 * overwritten by its successor's: clearing it now would take the new session along.
 */
export type Revocation = 'signed_out' | 'replaced' | 'ended';

export interface RevocationCheck {
  readonly revocation: Revocation | undefined;
  /** Whether `renewSession` was called since the token was issued, so that its claims are not to be trusted. */
  readonly isStale: boolean;
  /** When the look began, in milliseconds since the epoch. */
  readonly checkedAt: number;
  /** Whether another process may have switched the session to another organization, or replaced it. */
  readonly mayHaveMarks: boolean;
}

export type Revocations = ReturnType<typeof createRevocations>;

/** Names a session in as many bytes for every session id. */
export function sessionKey(sessionId: string): string;
export function sessionKey(sessionId: string | undefined): string | undefined;
export function sessionKey(sessionId: string | undefined): string | undefined {
  return sessionId === undefined ? undefined : hash(sessionId);
}

/** Long enough for every request that was on its way when the visitor signed out. */
const minRevocationMs = 25_000;
/** Supabase lets an access token live for a week; no project lets one live longer. */
const maxRevocationMs = 8 * 24 * 60 * 60_000;
const maxRevocations = 100_000;
/** Longer than any refresh that was under way when the new session was stored. Requests that come with the old cookie are not asked about. */
const replacedMarkMs = 60_000;
/** How long a verified session is taken for alive before the other processes are asked again. */
const sharedRecheckMs = 5_000;

/**
 * How long a signed-out session must be remembered: a refresh that was under way may bring back a token with its whole
 * lifetime before it.
 */
export function revocationMs(tokenLifetimeMs: number): number {
  return Math.min(Math.max(tokenLifetimeMs, 0) + minRevocationMs, maxRevocationMs);
}

/**
 * Which sessions ended here, or in a process that shares the coordinator, kept until nothing of them can still be accepted.
 *
 * @param adapter whose sessions these are: two adapters may share a coordinator
 * @param now milliseconds since the epoch
 * @param changes counts what this process comes to know of revocations and of `renewSession`
 */
export function createRevocations(
  adapter: string,
  shared: SharedCoordinator | undefined,
  outages: OutageReport,
  now: () => number,
  changes: ChangeCount,
) {
  const local = createBoundedMap<Revocation>({ max: maxRevocations, ttlMs: minRevocationMs, now, changes });
  const askShared = createAskShared(outages, 'tombstone');
  const listeners: ((subject: string) => void)[] = [];
  const records = createSessionRecords(shared, askShared, now, changes);
  // Apart: second factors note four marks each, which must not push out what keeps a session for 400 days.
  const [began, renewed] = [createExceptions(shared, askShared, now), createExceptions(shared, askShared, now)];
  const { subjectsOf, ...cutoffs } = createCutoffs(adapter, records, { began, renewed }, now);
  const subjectOf = (sessionId: string): string => subjectsOf({ sessionId, userId: undefined })[0] ?? '';
  const notify = (subject: string): void => listeners.forEach((listener) => listener(subject));

  function knownByKey(session: string | undefined): Revocation | undefined {
    return local.size === 0 || session === undefined ? undefined : local.get(session);
  }

  /** How the session was signed out or replaced, if it was while its tokens may still be valid. */
  async function find(sessionId: string | undefined): Promise<Revocation | undefined> {
    const here = knownByKey(sessionKey(sessionId));
    // A sign-out in another process counts, whatever became of the session here.
    if (here === 'signed_out' || sessionId === undefined || shared === undefined) return here;
    const isOver = keepsRecords(shared)
      ? (await records.find([subjectOf(sessionId)])).isSignedOut
      : await askShared(shared.isEnded(sessionId), false);
    return isOver ? 'signed_out' : here;
  }

  /** @param token names the refresh token; `undefined` for a bearer token */
  function keysOf(facts: SessionFacts, token: string | undefined): SessionKeys {
    const { sessionId, beganAt, issuedAt } = facts;
    return { session: sessionKey(sessionId), subjects: subjectsOf(facts), token, beganAt, issuedAt };
  }

  async function look(
    facts: SessionFacts,
    token: string | undefined,
    group: string | undefined,
  ): Promise<RevocationCheck> {
    const keys = keysOf(facts, token);
    const checkedAt = now();
    const [revocation, concern] = await Promise.all([
      keepsRecords(shared) ? knownByKey(keys.session) : find(facts.sessionId),
      cutoffs.check(keys, group),
    ]);
    const { isEnded, isStale, isSignedOut, hasRecord } = concern;
    return {
      revocation: revocation ?? (isSignedOut ? 'signed_out' : isEnded ? 'ended' : undefined),
      isStale,
      checkedAt,
      mayHaveMarks: hasRecord || keys.session === undefined,
    };
  }

  /** Ends sessions that began until now. @throws {AuthError} `provider_unavailable` where only this process knows of it */
  async function end(target: SessionTarget): Promise<void> {
    const called = cutoffs.end(target);
    subjectsOf({ sessionId: undefined, userId: undefined, ...target }).forEach(notify);
    await called;
  }

  /** The same for the user's sessions but one. One that has ended already stays ended. @throws {AuthError} likewise */
  async function endOthers(kept: SessionFacts): Promise<void> {
    const { userId } = kept;
    if (userId === undefined) return;
    const [subject = ''] = subjectsOf({ sessionId: undefined, userId });
    await cutoffs.endOthers(userId, keysOf(kept, undefined), () => notify(subject));
  }

  /** What this process knows, without asking another one. */
  const known = (keys: SessionKeys): Revocation | undefined =>
    knownByKey(keys.session) ?? (cutoffs.known(keys).isEnded ? 'ended' : undefined);

  return {
    ...cutoffs,
    end,
    endOthers,
    /** Whether there are other processes to ask. */
    isShared: shared !== undefined,
    /** Has `listener` called after each revocation and each `endSession` of this process, with the name of the session or user. */
    subscribe: (listener: (subject: string) => void): void => void listeners.push(listener),
    keysOf,
    known,
    /**
     * What this process knows and no other one can lift, about a token that is not verified. With a coordinator a sign-in in another
     * process may have lifted an `endSession`; only `check` asks for that.
     */
    knownFinally: (keys: SessionKeys): Revocation | undefined =>
      shared === undefined ? known(keys) : knownByKey(keys.session),
    /** Whether this process knows of a revocation, or of a `renewSession` since the token was issued. */
    isConcerned(keys: SessionKeys): boolean {
      if (knownByKey(keys.session) !== undefined) return true;
      const { isEnded, isStale } = cutoffs.known(keys);
      return isEnded || isStale;
    },
    find,
    /** Everything that is known here and in the other processes. */
    check: (facts: SessionFacts, token: string | undefined) => look(facts, token, 'requests'),
    /** The same for an answer to a refresh, which must not overwrite the cookie of a sign-in that another process has stored meanwhile. */
    async checkAfterRefresh(facts: SessionFacts, token: string | undefined): Promise<RevocationCheck> {
      const { sessionId } = facts;
      // A look that began before the answer came may have missed a sign-out.
      const checked = await look(facts, token, token);
      if (checked.revocation !== undefined || sessionId === undefined || !checked.mayHaveMarks) return checked;
      if (!(await askShared(shared?.isEnded(replacedMark(sessionId)), false))) return checked;
      local.set(sessionKey(sessionId), 'replaced', { ttl: replacedMarkMs });
      return { ...checked, revocation: 'replaced' };
    },
    /** @param tokenLifetimeMs how long the provider makes the session's access tokens live */
    async revoke(sessionId: string, revocation: Revocation, tokenLifetimeMs: number): Promise<void> {
      const ttlMs = revocationMs(tokenLifetimeMs);
      // A sign-out stays one.
      if (revocation === 'replaced' && knownByKey(sessionKey(sessionId)) === 'signed_out') return;
      local.set(sessionKey(sessionId), revocation, { ttl: ttlMs });
      notify(subjectOf(sessionId));
      if (revocation === 'replaced') {
        await Promise.all([
          askShared(shared?.endSession(replacedMark(sessionId), replacedMarkMs), undefined),
          records.announce(subjectOf(sessionId), replacedMarkMs),
        ]);
      } else await records.signOut(subjectOf(sessionId), sessionId, ttlMs);
    },
    /** Has `check` say in every process that there are marks of these sessions. Never rejects. */
    async announceMarks(sessionIds: readonly (string | undefined)[], ttlMs: number): Promise<void> {
      const subjects = new Set(sessionIds.flatMap((sessionId) => subjectsOf({ sessionId, userId: undefined })));
      await Promise.all([...subjects].map((subject) => records.announce(subject, ttlMs)));
    },
    /** How long what `check` found holds before the other processes are asked again, in milliseconds. */
    recheckMs: shared === undefined ? Infinity : sharedRecheckMs,
  };
}

function replacedMark(sessionId: string): string {
  return `replaced:${sessionId}`;
}
