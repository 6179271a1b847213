import { createBoundedMap } from '../core/bounded-map.ts';
import type { ChangeCount } from '../core/bounded-map.ts';
import { AuthError } from '../errors.ts';
import type { AskShared, SessionCutoffs, SharedCoordinator } from './shared-coordinator.ts';

/** The records of a session and its user, combined: the latest of each time. */
export interface FoundRecords extends SessionCutoffs {
  /** When the session was signed out, in milliseconds since the epoch: Infinity where its time is unknown, -1 for never. */
  readonly signedOutUntil: number;
  /** Whether the coordinator has a record, or did not answer. */
  readonly hasRecord: boolean;
}

export type SessionRecords = ReturnType<typeof createSessionRecords>;
/** `undefined` with a single process. */
type Shared = SharedCoordinator | undefined;
type Answer = SessionCutoffs | 'none' | 'unknown';

export const never: SessionCutoffs = { endedUntil: -1, staleUntil: -1 };
/**
 * The latest time that a `Date` can hold, which no `endSession` call uses. Of a sign-out, `endedUntil` is this plus its own
 * time: a sign-in into the same session that began later is not over.
 */
const signedOutBase = 8_640_000_000_000_000;
/** As long as browsers keep a session cookie. */
export const localMs = 400 * 24 * 60 * 60_000;
/** About 200 bytes each. */
const maxRecords = 100_000;

/** Whether sign-outs are stored in the records of sessions; otherwise in separate marks. */
export function keepsRecords(shared: Shared): boolean {
  return shared?.setCutoffs !== undefined && shared.cutoffsOf !== undefined;
}

/**
 * One record for each session and each user, with all data that a request must check, so that a
 * check costs one command for each of the two.
 *
 * @param now milliseconds since the epoch
 * @param changes counts changes that this process learns of
 */
export function createSessionRecords(shared: Shared, askShared: AskShared, now: () => number, changes: ChangeCount) {
  const local = createBoundedMap<SessionCutoffs>({ max: maxRecords, ttlMs: localMs, now, changes });
  const ask = createAsk(shared, askShared);

  function raise(subject: string, cutoffs: SessionCutoffs): void {
    const here = local.get(subject);
    const raised = later(here, cutoffs);
    // Equal times are no change: otherwise each read from the coordinator would count as one.
    if (here?.endedUntil !== raised.endedUntil || here.staleUntil !== raised.staleUntil) local.set(subject, raised);
  }

  function known(subjects: readonly string[]): SessionCutoffs {
    return subjects.reduce((found, subject) => later(local.get(subject), found), never);
  }

  /** Informs the other processes. Never rejects. */
  async function record(subject: string, cutoffs: SessionCutoffs, ttlMs: number): Promise<void> {
    if (keepsRecords(shared)) await askShared(shared?.setCutoffs?.(subject, cutoffs, ttlMs), undefined);
  }

  return {
    raise,
    /** @throws {AuthError} `provider_unavailable` where the coordinator failed: it applies in this process only */
    async call(subject: string, cutoffs: SessionCutoffs, ttlMs: number): Promise<void> {
      // Here first, so that it applies in this process even if the coordinator fails.
      raise(subject, cutoffs);
      await told(async () => shared?.setCutoffs?.(subject, cutoffs, ttlMs));
    },
    raiseSignOut: createRaiseSignOut(shared),
    /** The times that this process knows. */
    known,
    isEmpty: () => local.size === 0,
    /**
     * Also asks the coordinator.
     *
     * @param group calls of one group may share a pending answer; without one the answer is newer than the call
     */
    async find(subjects: readonly string[], group?: string): Promise<FoundRecords> {
      const answers = await Promise.all(subjects.map((subject) => ask(subject, group)));
      let signedOutUntil = -1;
      answers.forEach((answer, index) => {
        if (typeof answer !== 'object') return;
        const until = signOutTime(answer.endedUntil);
        if (until === undefined) raise(subjects[index] ?? '', answer);
        else signedOutUntil = Math.max(signedOutUntil, until);
      });
      // The session's subject comes first.
      return { ...known(subjects), signedOutUntil, hasRecord: answers[0] !== 'none' };
    },
    signOut: (subject: string, id: string, at: number, ttlMs: number) =>
      keepsRecords(shared)
        ? record(subject, signedOutAt(at), ttlMs)
        : askShared(shared?.endSession(id, ttlMs), undefined),
    /** Makes `find` report a record in every process. */
    announce: (subject: string, ttlMs: number) => record(subject, never, ttlMs),
  };
}

/**
 * Moves the time of a recorded sign-out to that of a later `call`. The record keeps only the later of the two numbers, and that
 * of a sign-out is always the greater one, so the call would not end a session that a sign-in has continued since.
 */
function createRaiseSignOut(shared: Shared) {
  /** @throws {AuthError} `provider_unavailable` where the coordinator failed */
  return (subject: string, endedUntil: number, ttlMs: number): Promise<void> =>
    told(async () => {
      const standing = signOutTime(Number((await shared?.cutoffsOf?.(subject))?.endedUntil));
      if (standing !== undefined && standing < endedUntil) {
        await shared?.setCutoffs?.(subject, signedOutAt(endedUntil), ttlMs);
      }
    });
}

/** @throws {AuthError} `provider_unavailable` where the coordinator failed */
async function told(work: () => Promise<unknown>): Promise<void> {
  try {
    await work();
  } catch (cause) {
    throw new AuthError('provider_unavailable', { cause, reason: 'coordinator', retryAfter: 5 });
  }
}

/** @param at when, in milliseconds since the epoch; Infinity where no sign-in may continue the session */
function signedOutAt(at: number): SessionCutoffs {
  return { ...never, endedUntil: signedOutBase + (Number.isFinite(at) ? at : 0) };
}

/** Without a time, as an earlier version recorded it, no sign-in lifts the sign-out. */
function signOutTime(endedUntil: number): number | undefined {
  if (endedUntil < signedOutBase) return undefined;
  return endedUntil === signedOutBase ? Infinity : endedUntil - signedOutBase;
}

/** Asks for each record separately: in a cluster only one of the two masters may be away. */
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

/** An application's own coordinator may return anything; an invalid time would end or lift the wrong sessions. */
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

/** Sessions and tokens that a cutoff does not apply to, although their times match it. */
export type Exceptions = ReturnType<typeof createExceptions>;

export function createExceptions(shared: Shared, askShared: AskShared, now: () => number) {
  const local = createBoundedMap<true>({ max: maxRecords, ttlMs: localMs, now });
  return {
    isKnown: (name: string) => local.has(name),
    /** @returns whether the other processes were informed */
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

/** An application's own coordinator may return anything. */
const isTrue = (value: unknown): boolean => value === true;

/** @throws {AuthError} where only another process can tell: the session must neither pass nor be cleared */
export function isTold(isException: boolean | undefined): boolean {
  if (isException !== undefined) return isException;
  throw new AuthError('provider_unavailable', { reason: 'coordinator', retryAfter: 5 });
}

interface StartName {
  readonly session: string | undefined;
  readonly beganAt: number;
}

interface TokenName {
  readonly session: string | undefined;
  readonly token: string | undefined;
  readonly issuedAt: number;
}

/**
 * The time is part of the name, so an exception does not apply to a later call. The session's start is, too: a provider may
 * continue a session under its id, and an old cookie of it stays ended.
 */
export const beganAfter = ({ session, beganAt }: StartName, time: number): string =>
  `began:${session}:${beganAt}:${time}`;
export const renewedAfter = ({ session, token, issuedAt }: TokenName, time: number): string =>
  `renewed:${token ?? `${session}:${issuedAt}`}:${time}`;
