import { createHash } from 'node:crypto';
import { AuthError } from '../errors.ts';
import { beganAfter, isTold, localMs, never, renewedAfter } from './session-records.ts';
import type { Exceptions, FoundRecords, SessionRecords } from './session-records.ts';

/** The claims of a session that its revocation depends on. The token is not verified, so they never grant access. */
export interface SessionFacts {
  /** The provider's session id. */
  readonly sessionId: string | undefined;
  readonly userId: string | undefined;
  /** When the sign-in was completed, in milliseconds since the epoch; 0 where unknown. */
  readonly beganAt: number;
  /** When the access token was issued, in milliseconds since the epoch; 0 where unknown. */
  readonly issuedAt: number;
}

/** The target of `endSession` and `renewSession`. */
export type SessionTarget = { readonly sessionId: string } | { readonly userId: string };

/** A session's look-up keys: ids are hashed, so that each has the same size. */
export interface SessionKeys extends Pick<SessionFacts, 'beganAt' | 'issuedAt'> {
  readonly session: string | undefined;
  /** The session and its user. */
  readonly subjects: readonly string[];
  /** Identifies the refresh token; `undefined` for a bearer token. */
  readonly token: string | undefined;
}

/** The effect of earlier calls of `endSession` and `renewSession` on a session. */
interface Concern {
  /** Whether `endSession` was called since the session began. */
  readonly isEnded: boolean;
  /** Whether `renewSession` was called after the token was issued, so that its claims may be outdated. */
  readonly isStale: boolean;
}

/** In milliseconds since the epoch. */
export interface RefreshStart {
  readonly at: number;
  /** The latest `renewSession` that this process knew at the time; -1 for none. */
  readonly staleUntil: number;
}

interface Cutoffs {
  /** @throws {AuthError} `provider_unavailable` where the coordinator failed: it applies in this process only */
  end(target: SessionTarget): Promise<void>;
  /** @throws {AuthError} likewise */
  readonly renew: (target: SessionTarget) => Promise<void>;
  /**
   * `end` for all sessions of a user except one; that one stays ended if it already was.
   *
   * @param onRaised called when it applies in this process
   * @throws {AuthError} likewise
   */
  endOthers(userId: string, kept: SessionKeys, onRaised: () => void): Promise<void>;
  /** `renew` for a user's tokens except these; these stay due if they already were. @throws {AuthError} likewise */
  renewOthers(userId: string, kept: readonly SessionKeys[]): Promise<void>;
  /**
   * Records a completed sign-in: earlier `endSession` calls do not apply to it.
   *
   * @param beganAt the provider's own time of the sign-in, where the session's start is later read from it
   * @returns the session's start in milliseconds since the epoch, later than every such call
   */
  readonly begin: (facts: Pick<SessionFacts, 'sessionId' | 'userId'>, beganAt?: number) => Promise<number>;
  /**
   * Records that a refresh issued a token. Whole seconds and different clocks may hide that it was
   * issued after a `renewSession`.
   *
   * @param start of the refresh
   */
  acceptRenewed(keys: SessionKeys, start: RefreshStart, ttlMs: number): Promise<void>;
  /** The state at the start of a refresh. */
  refreshStart(keys: Pick<SessionKeys, 'subjects'>): RefreshStart;
  /** The effect that this process knows of. */
  known(keys: SessionKeys): Concern;
  /**
   * Also asks the coordinator.
   *
   * @throws {AuthError} `provider_unavailable` where only the coordinator can tell whether the session has ended, and it does not answer
   * @param group checks of one group may share a pending answer
   */
  check(keys: SessionKeys, group?: string): Promise<Concern & Pick<FoundRecords, 'signedOutUntil' | 'hasRecord'>>;
  readonly subjectsOf: (facts: Pick<SessionFacts, 'sessionId' | 'userId'>) => readonly string[];
}

const dayMs = 24 * 60 * 60_000;
/** Longer than the lifetime of any access token. */
const tokenMs = 8 * dayMs;
/** The lifetime of a session cookie in browsers: its refresh token may work that long, as the provider was not asked to end it. */
const cookieMs = localMs;
/** Tolerance for a named session, whose start may have been read from a clock that is ahead. */
const skewMs = 60_000;

const noTarget: Pick<SessionFacts, 'sessionId' | 'userId'> = { sessionId: undefined, userId: undefined };
const unconcerned: Concern = { isEnded: false, isStale: false };

/** The times of `endSession` and `renewSession`, by session and by user. */
export function createCutoffs(
  adapter: string,
  times: SessionRecords,
  { began, renewed }: Readonly<Record<'began' | 'renewed', Exceptions>>,
  now: () => number,
): Cutoffs {
  const subjectsOf = createSubjectsOf(adapter);
  const subjectOf = (target: SessionTarget): string => subjectsOf({ ...noTarget, ...target })[0] ?? '';

  async function check(keys: SessionKeys, group?: string): ReturnType<Cutoffs['check']> {
    const { subjects, beganAt, issuedAt } = keys;
    const { endedUntil, staleUntil, signedOutUntil, hasRecord } = await times.find(subjects, group);
    return {
      signedOutUntil,
      hasRecord,
      isEnded: beganAt <= endedUntil && !isTold(await began.has(beganAfter(keys, endedUntil))),
      isStale: issuedAt <= staleUntil && (await renewed.has(renewedAfter(keys, staleUntil))) !== true,
    };
  }

  function known(keys: SessionKeys): Concern {
    if (times.isEmpty()) return unconcerned;
    const { subjects, beganAt, issuedAt } = keys;
    const { endedUntil, staleUntil } = times.known(subjects);
    return {
      isEnded: beganAt <= endedUntil && !began.isKnown(beganAfter(keys, endedUntil)),
      isStale: issuedAt <= staleUntil && !renewed.isKnown(renewedAfter(keys, staleUntil)),
    };
  }

  return {
    subjectsOf,
    async end(target) {
      const isSession = 'sessionId' in target;
      const endedUntil = Math.ceil(now()) + (isSession ? skewMs : 0);
      await times.call(subjectOf(target), { ...never, endedUntil }, cookieMs);
      if (isSession) await times.raiseSignOut(subjectOf(target), endedUntil, cookieMs);
    },
    renew: (target) => times.call(subjectOf(target), { ...never, staleUntil: Math.ceil(now()) }, tokenMs),
    ...createKeeping({ check, known }, { times, began, renewed, subjectsOf, now }),
    async begin({ sessionId, userId }, beganAt) {
      const { endedUntil, signedOutUntil } = await times.find(subjectsOf({ sessionId, userId }));
      if (beganAt !== undefined && beganAt <= endedUntil && sessionId !== undefined) {
        await began.add(beganAfter({ session: hash(sessionId), beganAt }, endedUntil), cookieMs);
      }
      return Math.max(now(), endedUntil + 1, afterSignOut(signedOutUntil));
    },
    refreshStart: ({ subjects }) => ({ at: now(), staleUntil: times.known(subjects).staleUntil }),
    async acceptRenewed(keys, start, ttlMs) {
      // A call that this process does not know yet requires another refresh.
      const { staleUntil } = times.known(keys.subjects);
      // A refresh that knew of the call started after it, even where the other process' clock is ahead.
      const isAfter = start.at >= staleUntil || start.staleUntil >= staleUntil;
      if (keys.token === undefined || keys.issuedAt > staleUntil || !isAfter) return;
      await renewed.add(renewedAfter(keys, staleUntil), ttlMs);
    },
    known,
    check,
  };
}

/** Later than a sign-out of another process whose clock is ahead. */
function afterSignOut(until: number): number {
  return Number.isFinite(until) ? until + 1 : 0;
}

function createSubjectsOf(adapter: string): Cutoffs['subjectsOf'] {
  return ({ sessionId, userId }) => [
    ...(sessionId === undefined ? [] : [`${adapter}:session:${hash(sessionId)}`]),
    ...(userId === undefined ? [] : [`${adapter}:user:${hash(userId)}`]),
  ];
}

interface KeepingParts {
  readonly times: SessionRecords;
  readonly began: Exceptions;
  readonly renewed: Exceptions;
  readonly subjectsOf: Cutoffs['subjectsOf'];
  readonly now: () => number;
}

/** Calls with exceptions. An exception is recorded when the call takes effect, so that the call never applies to it. */
function createKeeping(
  { check, known }: Pick<Cutoffs, 'check' | 'known'>,
  { times, began, renewed, subjectsOf, now }: KeepingParts,
): Pick<Cutoffs, 'endOthers' | 'renewOthers'> {
  const subjectOf = (userId: string): string => subjectsOf({ sessionId: undefined, userId })[0] ?? '';

  /** An unknown state counts as ended. A call that arrived while the coordinator was asked also counts. */
  async function look(kept: SessionKeys): Promise<Concern> {
    const asked = await check(kept).catch(() => ({ isEnded: true, isStale: known(kept).isStale }));
    const here = known(kept);
    return { isEnded: asked.isEnded || here.isEnded, isStale: asked.isStale || here.isStale };
  }

  return {
    async endOthers(userId, kept, onRaised) {
      const { isEnded } = await look(kept);
      const at = Math.ceil(now());
      const until = Math.max(at, times.known(kept.subjects).endedUntil);
      const note = async (): Promise<boolean> =>
        isEnded || kept.session === undefined || began.add(beganAfter(kept, until), cookieMs);
      const isNoted = note();
      const cutoffs = { ...never, endedUntil: at };
      times.raise(subjectOf(userId), cutoffs);
      onRaised();
      // A process that received only the call would also end this session.
      if (!(await isNoted) && !(await note()))
        throw new AuthError('provider_unavailable', { reason: 'coordinator', retryAfter: 5 });
      await times.call(subjectOf(userId), cutoffs, cookieMs);
    },
    async renewOthers(userId, kept) {
      const looks = await Promise.all(kept.map(look));
      const staleUntil = Math.ceil(now());
      const fresh = kept.filter((keys, index) => looks[index]?.isStale === false && !known(keys).isStale);
      // Also by its access token, which may be sent as a bearer token.
      const names = fresh
        .flatMap((keys) => [keys, { ...keys, token: undefined }])
        .map((keys) => renewedAfter(keys, Math.max(staleUntil, times.known(keys.subjects).staleUntil)));
      const noted = Promise.all(names.map((name) => renewed.add(name, tokenMs)));
      const cutoffs = { ...never, staleUntil };
      times.raise(subjectOf(userId), cutoffs);
      await noted;
      await times.call(subjectOf(userId), cutoffs, tokenMs);
    },
  };
}

/** Hashes the id of a session or user, so that each has the same size. */
export function hash(id: string): string {
  return createHash('sha256').update(id).digest('base64url');
}
