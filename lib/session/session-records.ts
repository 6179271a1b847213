import { createBoundedMap } from '../core/bounded-map.ts';
import type { ChangeCount } from '../core/bounded-map.ts';
import { AuthError } from '../errors.ts';
import type { AskShared, SessionCutoffs, SharedCoordinator } from './shared-coordinator.ts';

/** What is known of a session and its user, the latest of each time. */
export interface FoundRecords extends SessionCutoffs {
  readonly isSignedOut: boolean;
  /** Whether the coordinator has a record, or did not tell. */
  readonly hasRecord: boolean;
}

export type SessionRecords = ReturnType<typeof createSessionRecords>;
/** `undefined` where there is one process. */
type Shared = SharedCoordinator | undefined;
type Answer = SessionCutoffs | 'none' | 'unknown';

export const never: SessionCutoffs = { endedUntil: -1, staleUntil: -1 };
/** The latest time that a `Date` can hold: no call of `endSession`, and no later sign-in lifts it. */
const signedOut: SessionCutoffs = { endedUntil: 8_640_000_000_000_000, staleUntil: -1 };
/** As long as browsers keep a session cookie. */
export const localMs = 400 * 24 * 60 * 60_000;
/** About 200 bytes each. */
const maxRecords = 100_000;

/** Whether sign-outs go to the records of sessions; marks of their own otherwise. */
export function keepsRecords(shared: Shared): boolean {
  return shared?.setCutoffs !== undefined && shared.cutoffsOf !== undefined;
}

/**
 * One record for each session and each user, with all that a request must know of it, so that a look costs one command for each of the
 * two.
 *
 * @param now milliseconds since the epoch
 * @param changes counts what this process comes to know
 */
export function createSessionRecords(shared: Shared, askShared: AskShared, now: () => number, changes: ChangeCount) {
  const local = createBoundedMap<SessionCutoffs>({ max: maxRecords, ttlMs: localMs, now, changes });
  const ask = createAsk(shared, askShared);

  function raise(subject: string, cutoffs: SessionCutoffs): void {
    const here = local.get(subject);
    const raised = later(here, cutoffs);
    // What is known already is no change: each look at the coordinator would count as one.
    if (here?.endedUntil !== raised.endedUntil || here.staleUntil !== raised.staleUntil) local.set(subject, raised);
  }

  function known(subjects: readonly string[]): SessionCutoffs {
    return subjects.reduce((found, subject) => later(local.get(subject), found), never);
  }

  /** Tells the other processes. Never rejects. */
  async function record(subject: string, cutoffs: SessionCutoffs, ttlMs: number): Promise<void> {
    if (keepsRecords(shared)) await askShared(shared?.setCutoffs?.(subject, cutoffs, ttlMs), undefined);
  }

  return {
    raise,
    /** @throws {AuthError} `provider_unavailable` where the coordinator did not take it: it holds in this process only */
    async call(subject: string, cutoffs: SessionCutoffs, ttlMs: number): Promise<void> {
      // Here first: whatever becomes of the coordinator, this process knows.
      raise(subject, cutoffs);
      try {
        await shared?.setCutoffs?.(subject, cutoffs, ttlMs);
      } catch (cause) {
        throw new AuthError('provider_unavailable', { cause, reason: 'coordinator', retryAfter: 5 });
      }
    },
    /** What this process knows. */
    known,
    isEmpty: () => local.size === 0,
    /**
     * Asks the coordinator, too.
     *
     * @param group whose looks may share an answer that is on its way; without one the answer is newer than the call
     */
    async find(subjects: readonly string[], group?: string): Promise<FoundRecords> {
      const answers = await Promise.all(subjects.map((subject) => ask(subject, group)));
      let isSignedOut = false;
      subjects.forEach((subject, index) => {
        const answer = answers[index];
        if (typeof answer !== 'object') return;
        if (answer.endedUntil >= signedOut.endedUntil) isSignedOut = true;
        else raise(subject, answer);
      });
      // The session comes first.
      return { ...known(subjects), isSignedOut, hasRecord: answers[0] !== 'none' };
    },
    signOut: (subject: string, sessionId: string, ttlMs: number) =>
      keepsRecords(shared)
        ? record(subject, signedOut, ttlMs)
        : askShared(shared?.endSession(sessionId, ttlMs), undefined),
    /** Has `find` report a record in every process. */
    announce: (subject: string, ttlMs: number) => record(subject, never, ttlMs),
  };
}

/** Asks for each record by itself: in a cluster the master of one may be away and the other's not. */
function createAsk(shared: Shared, askShared: AskShared) {
  const underWay = new Map<string, Promise<Answer>>();

  function ask(subject: string): Promise<Answer> {
    const asked = shared?.cutoffsOf?.(subject).then(readAnswer);
    return askShared<Answer>(asked, 'unknown');
  }

  return (subject: string, group: string | undefined): Promise<Answer> => {
    if (group === undefined) return ask(subject);
    const name = `${subject} ${group}`;
    const joined = underWay.get(name) ?? ask(subject).finally(() => underWay.delete(name));
    underWay.set(name, joined);
    return joined;
  };
}

/** An application's own coordinator may answer with anything; a time that is none would end or lift what it should not. */
function readAnswer(cutoffs: SessionCutoffs | null | undefined): Answer {
  if (cutoffs === undefined || cutoffs === null) return 'none';
  const { endedUntil, staleUntil }: { endedUntil?: unknown; staleUntil?: unknown } = cutoffs;
  const answer = { endedUntil: Number(endedUntil), staleUntil: Number(staleUntil ?? never.staleUntil) };
  return Number.isFinite(answer.endedUntil) && Number.isFinite(answer.staleUntil) ? answer : 'unknown';
}

function later(one: SessionCutoffs | undefined, other: SessionCutoffs): SessionCutoffs {
  if (one === undefined) return other;
  return {
    endedUntil: Math.max(one.endedUntil, other.endedUntil),
    staleUntil: Math.max(one.staleUntil, other.staleUntil),
  };
}

/** Sessions and tokens that a cutoff does not concern although their times say so. */
export type Exceptions = ReturnType<typeof createExceptions>;

export function createExceptions(shared: Shared, askShared: AskShared, now: () => number) {
  const local = createBoundedMap<true>({ max: maxRecords, ttlMs: localMs, now });
  return {
    isKnown: (name: string) => local.has(name),
    /** @returns whether the other processes can know */
    async add(name: string, ttlMs: number): Promise<boolean> {
      local.set(name, true, { ttl: ttlMs });
      const told = shared?.endSession(name, ttlMs).then(() => true);
      return askShared(told, shared === undefined);
    },
    /** @returns `undefined` where the coordinator did not answer */
    async has(name: string): Promise<boolean | undefined> {
      if (local.has(name)) return true;
      if (shared === undefined) return false;
      const isKnownElsewhere = await askShared<boolean | undefined>(shared.isEnded(name).then(isTrue), undefined);
      if (isKnownElsewhere === true) local.set(name, true);
      return isKnownElsewhere;
    },
  };
}

/** An application's own coordinator may answer with anything. */
const isTrue = (value: unknown): boolean => value === true;

/** @throws {AuthError} where only another process could tell: neither may the session pass, nor must its cookie go */
export function isTold(isException: boolean | undefined): boolean {
  if (isException !== undefined) return isException;
  throw new AuthError('provider_unavailable', { reason: 'coordinator', retryAfter: 5 });
}

interface TokenName {
  readonly session: string | undefined;
  readonly token: string | undefined;
  readonly issuedAt: number;
}

/** With the time in its name, an exception says nothing about a later call. */
export const beganAfter = (session: string, time: number): string => `began:${session}:${time}`;
export const renewedAfter = ({ session, token, issuedAt }: TokenName, time: number): string =>
  `renewed:${token ?? `${session}:${issuedAt}`}:${time}`;
