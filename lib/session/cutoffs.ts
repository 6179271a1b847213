import { createHash } from 'node:crypto';
import { AuthError } from '../errors.ts';
import { beganAfter, isTold, localMs, never, renewedAfter } from './session-records.ts';
import type { Exceptions, FoundRecords, SessionRecords } from './session-records.ts';

/** What of a session tells whether it was revoked; read from the token without trust: good for revocations, never for access. */
export interface SessionFacts {
  /** The provider's session id. */
  readonly sessionId: string | undefined;
  readonly userId: string | undefined;
  /** When the sign-in was completed, in milliseconds since the epoch; 0 where nothing says so. */
  readonly beganAt: number;
  /** When the access token was issued, in milliseconds since the epoch; 0 where nothing says so. */
  readonly issuedAt: number;
}

/** What `endSession` and `renewSession` are called for. */
export type SessionTarget = { readonly sessionId: string } | { readonly userId: string };

/** A session as it is looked up: names hashed, so that each takes as many bytes. */
export interface SessionKeys extends Pick<SessionFacts, 'beganAt' | 'issuedAt'> {
  readonly session: string | undefined;
  /** The session and its user. */
  readonly subjects: readonly string[];
  /** Names the refresh token; `undefined` for a bearer token. */
  readonly token: string | undefined;
}

/** What the calls of `endSession` and `renewSession` so far mean for a session. */
interface Concern {
  /** Whether `endSession` was called since the session began. */
  readonly isEnded: boolean;
  /** Whether `renewSession` was called since the token was issued, so that its claims are not to be trusted. */
  readonly isStale: boolean;
}

/** In milliseconds since the epoch. */
export interface RefreshStart {
  readonly at: number;
  /** The latest `renewSession` that this process knew of then; -1 for none. */
  readonly staleUntil: number;
}

interface Cutoffs {
  /** @throws {AuthError} `provider_unavailable` where the coordinator did not take it: it holds in this process only */
  end(target: SessionTarget): Promise<void>;
  /** @throws {AuthError} likewise */
  readonly renew: (target: SessionTarget) => Promise<void>;
  /**
   * `end` for the sessions of a user but one; one that has ended already stays ended.
   *
   * @param onRaised called when it holds in this process
   * @throws {AuthError} likewise
   */
  endOthers(userId: string, kept: SessionKeys, onRaised: () => void): Promise<void>;
  /** `renew` for the tokens of a user but these; those that were to be renewed already still are. @throws {AuthError} likewise */
  renewOthers(userId: string, kept: readonly SessionKeys[]): Promise<void>;
  /**
   * A sign-in was completed: no `endSession` that was called until now concerns it.
   *
   * @param beganAt the provider's own time of it, where that is what tells later when the session began
   * @returns when the session began, in milliseconds since the epoch: after every such call
   */
  readonly begin: (facts: Pick<SessionFacts, 'sessionId' | 'userId'>, beganAt?: number) => Promise<number>;
  /**
   * A token came from a refresh. Whole seconds, and the clocks of the provider and of other processes, may not tell that it was issued
   * after a `renewSession`.
   *
   * @param start of the refresh
   */
  acceptRenewed(keys: SessionKeys, start: RefreshStart, ttlMs: number): Promise<void>;
  /** What a refresh that starts now knows. */
  refreshStart(keys: Pick<SessionKeys, 'subjects'>): RefreshStart;
  /** What this process knows. */
  known(keys: SessionKeys): Concern;
  /**
   * Asks the other processes, too.
   *
   * @throws {AuthError} `provider_unavailable` where only they can tell whether an `endSession` concerns this session, and none answers
   * @param group whose checks may share an answer that is on its way
   */
  check(keys: SessionKeys, group?: string): Promise<Concern & Pick<FoundRecords, 'isSignedOut' | 'hasRecord'>>;
  readonly subjectsOf: (facts: Pick<SessionFacts, 'sessionId' | 'userId'>) => readonly string[];
}

const dayMs = 24 * 60 * 60_000;
/** Longer than any access token lives. */
const tokenMs = 8 * dayMs;
/** As long as browsers keep a session cookie: its refresh token may work that long where the provider was not told. */
const cookieMs = localMs;
/** A session that is named has begun, whatever the clock says that was read then. */
const skewMs = 60_000;

const unconcerned: Concern = { isEnded: false, isStale: false };

/** The times of `endSession` and `renewSession`, by session and by user. */
export function createCutoffs(
  adapter: string,
  times: SessionRecords,
  { began, renewed }: Readonly<Record<'began' | 'renewed', Exceptions>>,
  now: () => number,
): Cutoffs {
  const subjectsOf = createSubjectsOf(adapter);

  const subjectOf = (target: SessionTarget): string =>
    subjectsOf({ sessionId: undefined, userId: undefined, ...target })[0] ?? '';

  async function check(keys: SessionKeys, group?: string): ReturnType<Cutoffs['check']> {
    const { session = '', subjects, beganAt, issuedAt } = keys;
    const { endedUntil, staleUntil, isSignedOut, hasRecord } = await times.find(subjects, group);
    return {
      isSignedOut,
      hasRecord,
      isEnded: beganAt <= endedUntil && !isTold(await began.has(beganAfter(session, endedUntil))),
      isStale: issuedAt <= staleUntil && (await renewed.has(renewedAfter(keys, staleUntil))) !== true,
    };
  }

  function known(keys: SessionKeys): Concern {
    if (times.isEmpty()) return unconcerned;
    const { session = '', subjects, beganAt, issuedAt } = keys;
    const { endedUntil, staleUntil } = times.known(subjects);
    return {
      isEnded: beganAt <= endedUntil && !began.isKnown(beganAfter(session, endedUntil)),
      isStale: issuedAt <= staleUntil && !renewed.isKnown(renewedAfter(keys, staleUntil)),
    };
  }

  return {
    subjectsOf,
    end: (target) => {
      const endedUntil = Math.ceil(now()) + ('sessionId' in target ? skewMs : 0);
      return times.call(subjectOf(target), { ...never, endedUntil }, cookieMs);
    },
    renew: (target) => times.call(subjectOf(target), { ...never, staleUntil: Math.ceil(now()) }, tokenMs),
    ...createKeeping({ check, known }, { times, began, renewed, subjectsOf, now }),
    async begin({ sessionId, userId }, beganAt) {
      const { endedUntil } = await times.find(subjectsOf({ sessionId, userId }));
      if (beganAt !== undefined && beganAt <= endedUntil && sessionId !== undefined) {
        await began.add(beganAfter(hash(sessionId), endedUntil), cookieMs);
      }
      return Math.max(now(), endedUntil + 1);
    },
    refreshStart: ({ subjects }) => ({ at: now(), staleUntil: times.known(subjects).staleUntil }),
    async acceptRenewed(keys, start, ttlMs) {
      // A call that this process does not know yet asks for another refresh.
      const { staleUntil } = times.known(keys.subjects);
      // What knew of the call came after it, even where the clock of the process that was called is ahead.
      const isAfter = start.at >= staleUntil || start.staleUntil >= staleUntil;
      if (keys.token === undefined || keys.issuedAt > staleUntil || !isAfter) return;
      await renewed.add(renewedAfter(keys, staleUntil), ttlMs);
    },
    known,
    check,
  };
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

/** Calls that leave something out, which is noted in the moment in which they begin to hold: at no time do they concern it. */
function createKeeping(
  { check, known }: Pick<Cutoffs, 'check' | 'known'>,
  { times, began, renewed, subjectsOf, now }: KeepingParts,
): Pick<Cutoffs, 'endOthers' | 'renewOthers'> {
  const subjectOf = (userId: string): string => subjectsOf({ sessionId: undefined, userId })[0] ?? '';

  /** What is not known counts as nothing to keep. A call that came while the others were asked counts, too. */
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
        isEnded || kept.session === undefined || began.add(beganAfter(kept.session, until), cookieMs);
      const isNoted = note();
      const cutoffs = { ...never, endedUntil: at };
      times.raise(subjectOf(userId), cutoffs);
      onRaised();
      // A process that heard of the call alone would end this session, too.
      if (!(await isNoted) && !(await note()))
        throw new AuthError('provider_unavailable', { reason: 'coordinator', retryAfter: 5 });
      await times.call(subjectOf(userId), cutoffs, cookieMs);
    },
    async renewOthers(userId, kept) {
      const looks = await Promise.all(kept.map(look));
      const staleUntil = Math.ceil(now());
      const fresh = kept.filter((keys, index) => looks[index]?.isStale === false && !known(keys).isStale);
      // By its access token, too, which may come alone.
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

/** Names a session or a user in as many bytes for every id. */
export function hash(id: string): string {
  return createHash('sha256').update(id).digest('base64url');
}
