import { createHash } from 'node:crypto';
import { createBoundedMap } from '../core/bounded-map.ts';
import type { AskShared } from './outage-report.ts';
import { maxRecords, never } from './session-records.ts';
import type { FoundRecords, SessionRecords } from './session-records.ts';
import type { SessionCutoffs, SharedCoordinator } from './shared-coordinator.ts';

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
export interface Concern {
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

export interface Cutoffs {
  /**
   * @param at when it was called, in milliseconds since the epoch
   * @throws {AuthError} `provider_unavailable` where the coordinator did not take it: it holds in this process only
   */
  end(target: SessionTarget, at?: number): Promise<void>;
  /** @throws {AuthError} likewise */
  renew(target: SessionTarget, at?: number): Promise<void>;
  /** Before `end` is called for their user at this time: it will not concern these, unless they have ended already. */
  keepAlive(kept: SessionKeys, at: number): Promise<void>;
  /** Before `renew` is called for their user at this time: it will not concern these, unless they were to be renewed already. */
  keepFresh(kept: SessionKeys, at: number): Promise<void>;
  /**
   * A sign-in was completed: no `endSession` that was called until now concerns it.
   *
   * @param beganAt the provider's own time of it, where that is what tells later when the session began
   * @returns when the session began, in milliseconds since the epoch: after every such call
   */
  begin(facts: Pick<SessionFacts, 'sessionId' | 'userId'>, beganAt?: number): Promise<number>;
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
   * @param group whose checks may share an answer that is on its way
   */
  check(keys: SessionKeys, group?: string): Promise<Concern & Pick<FoundRecords, 'isSignedOut' | 'hasRecord'>>;
  readonly subjectsOf: (facts: Pick<SessionFacts, 'sessionId' | 'userId'>) => readonly string[];
}

const dayMs = 24 * 60 * 60_000;
/** Longer than any access token lives. */
const tokenMs = 8 * dayMs;
/** As long as browsers keep a session cookie: its refresh token may work that long where the provider was not told. */
const cookieMs = 400 * dayMs;
/** A session that is named has begun, whatever the clock says that was read then. */
const skewMs = 60_000;

const unconcerned: Concern = { isEnded: false, isStale: false };

/** The times of `endSession` and `renewSession`, by session and by user. */
export function createCutoffs(
  adapter: string,
  times: SessionRecords,
  exceptions: Exceptions,
  now: () => number,
): Cutoffs {
  const subjectsOf = createSubjectsOf(adapter);

  const call = (target: SessionTarget, cutoffs: SessionCutoffs, ttlMs: number): Promise<void> => {
    const [subject = ''] = subjectsOf({ sessionId: undefined, userId: undefined, ...target });
    return times.call(subject, cutoffs, ttlMs);
  };

  async function check(keys: SessionKeys, group?: string): ReturnType<Cutoffs['check']> {
    const { session = '', subjects, beganAt, issuedAt } = keys;
    const { endedUntil, staleUntil, isSignedOut, hasRecord } = await times.find(subjects, group);
    return {
      isSignedOut,
      hasRecord,
      isEnded: beganAt <= endedUntil && !(await exceptions.has(beganAfter(session, endedUntil))),
      isStale: issuedAt <= staleUntil && !(await exceptions.has(renewedAfter(keys, staleUntil))),
    };
  }

  return {
    subjectsOf,
    end: (target, at = now()) => {
      const endedUntil = Math.ceil(at) + ('sessionId' in target ? skewMs : 0);
      return call(target, { ...never, endedUntil }, cookieMs);
    },
    renew: (target, at = now()) => call(target, { ...never, staleUntil: Math.ceil(at) }, tokenMs),
    ...createKeeping(check, times, exceptions),
    async begin({ sessionId, userId }, beganAt) {
      const { endedUntil } = await times.find(subjectsOf({ sessionId, userId }));
      if (beganAt !== undefined && beganAt <= endedUntil && sessionId !== undefined) {
        await exceptions.add(beganAfter(hash(sessionId), endedUntil), cookieMs);
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
      await exceptions.add(renewedAfter(keys, staleUntil), ttlMs);
    },
    known(keys) {
      if (times.isEmpty()) return unconcerned;
      const { session = '', subjects, beganAt, issuedAt } = keys;
      const { endedUntil, staleUntil } = times.known(subjects);
      return {
        isEnded: beganAt <= endedUntil && !exceptions.isKnown(beganAfter(session, endedUntil)),
        isStale: issuedAt <= staleUntil && !exceptions.isKnown(renewedAfter(keys, staleUntil)),
      };
    },
    check,
  };
}

function createSubjectsOf(adapter: string): Cutoffs['subjectsOf'] {
  return ({ sessionId, userId }) => [
    ...(sessionId === undefined ? [] : [`${adapter}:session:${hash(sessionId)}`]),
    ...(userId === undefined ? [] : [`${adapter}:user:${hash(userId)}`]),
  ];
}

/** What a call leaves out, noted before the call is: at no time does it concern what goes on. */
function createKeeping(
  check: Cutoffs['check'],
  times: SessionRecords,
  exceptions: Exceptions,
): Pick<Cutoffs, 'keepAlive' | 'keepFresh'> {
  return {
    async keepAlive(kept, at) {
      const { isEnded } = await check(kept);
      if (kept.session === undefined || isEnded) return;
      const endedUntil = Math.max(Math.ceil(at), times.known(kept.subjects).endedUntil);
      await exceptions.add(beganAfter(kept.session, endedUntil), cookieMs);
    },
    async keepFresh(kept, at) {
      const { isStale } = await check(kept);
      if (isStale) return;
      const staleUntil = Math.max(Math.ceil(at), times.known(kept.subjects).staleUntil);
      // By its access token, too, which may come alone.
      const names = [kept, { ...kept, token: undefined }].map((keys) => renewedAfter(keys, staleUntil));
      await Promise.all(names.map((name) => exceptions.add(name, tokenMs)));
    },
  };
}

/** Sessions and tokens that a cutoff does not concern although their times say so. */
type Exceptions = ReturnType<typeof createExceptions>;

export function createExceptions(shared: SharedCoordinator | undefined, askShared: AskShared, now: () => number) {
  const local = createBoundedMap<true>({ max: maxRecords, ttlMs: cookieMs, now });
  return {
    isKnown: (name: string) => local.has(name),
    async add(name: string, ttlMs: number): Promise<void> {
      local.set(name, true, { ttl: ttlMs });
      await askShared(shared?.endSession(name, ttlMs), undefined);
    },
    async has(name: string): Promise<boolean> {
      if (local.has(name)) return true;
      const isKnownElsewhere = await askShared(shared?.isEnded(name), false);
      if (isKnownElsewhere) local.set(name, true);
      return isKnownElsewhere;
    },
  };
}

/** With the time in its name, an exception says nothing about a later call. */
const beganAfter = (session: string, time: number): string => `began:${session}:${time}`;
const renewedAfter = ({ session, token, issuedAt }: SessionKeys, time: number): string =>
  `renewed:${token ?? `${session}:${issuedAt}`}:${time}`;

/** Names a session or a user in as many bytes for every id. */
export function hash(id: string): string {
  return createHash('sha256').update(id).digest('base64url');
}
