import { createBoundedMap } from '../../tools/bounded-map.ts';
import { noBackground } from '../../tools/background.ts';
import type { Background } from '../../tools/background.ts';
import type { ChangeCount } from '../../tools/bounded-map.ts';
import { emptyRecord, hash, lastBefore, mergeRecords } from './record.ts';
import type { Presented, SessionFacts, SessionRecord } from './record.ts';
import { createAskShared, createTelling } from '../outages.ts';
import type { AskShared, OutageReport } from '../outages.ts';
import { coordinatorUnavailable } from '../coordinator.ts';
import type { SharedCoordinator } from '../coordinator.ts';

export type Records = ReturnType<typeof createRecords>;

/** The target of `endSession` and `renewSession`. */
export type SessionTarget = { readonly sessionId: string } | { readonly userId: string };

/** A session's look-up keys: ids are hashed, so that each has the same size. */
export interface SessionKeys extends Presented {
  /** The session, its user, and the user at the token's OAuth client. */
  readonly subjects: readonly string[];
}

/** @param pair identifies the refresh token with its access token; `undefined` for a bearer token */
export type KeysOf = (facts: SessionFacts, pair: string | undefined) => SessionKeys;

/** The records of the subjects, merged. */
export interface FoundRecord {
  readonly record: SessionRecord;
  /** Whether the coordinator gave the first subject's record, which alone can spare a session. */
  readonly isWhole: boolean;
  /** Whether no other process can know more: the coordinator gave the records of all subjects, or there is none. */
  readonly isConfirmed: boolean;
}

/** A call of `endSession` or `renewSession`, the end of a user's other sign-ins, or a grant that was taken back. */
interface Call {
  readonly subject: string;
  readonly name: 'ended' | `others:${string}` | 'closed' | 'stale' | 'withdrawn';
  /** In milliseconds since the epoch. */
  readonly at: number;
  readonly ttlMs: number;
}

/** What the coordinator keeps; `undefined` where it cannot tell. */
type Answer = SessionRecord | undefined;

/** As long as browsers keep a session cookie. */
export const cookieMs = 400 * 24 * 60 * 60_000;
/** Longer than the lifetime of any access token. */
export const tokenMs = 8 * 24 * 60 * 60_000;
/** About 300 bytes each; a few thousand with eight names of each kind. */
const maxRecords = 100_000;

/**
 * One record for each session, each user and each grant to an OAuth client, here and at the coordinator: a request reads each with one command.
 *
 * @param now milliseconds since the epoch
 * @param changes counts changes that this process learns of
 */
export function createRecords(
  shared: SharedCoordinator | undefined,
  outages: OutageReport,
  now: () => number,
  changes: ChangeCount,
  background: Background = noBackground,
) {
  const telling = createTelling('record', outages, background);
  const askShared = createAskShared(outages);
  const ask = shared && createAsk(shared, askShared);
  const create = (ttlMs: number) => createBoundedMap<SessionRecord>({ max: maxRecords, ttlMs, now, changes });
  // Apart, so that the sign-outs of a day evict nothing that protects a session for 400 days.
  const [lasting, passing] = [create(cookieMs), create(tokenMs)];

  function here(subject: string): SessionRecord {
    const [one, other] = [lasting.get(subject), passing.get(subject)];
    return one !== undefined && other !== undefined ? mergeRecords(one, other) : (one ?? other ?? emptyRecord);
  }

  function noteIn(records: typeof lasting, subject: string, change: SessionRecord, ttlMs: number): void {
    const found = records.get(subject) ?? emptyRecord;
    const merged = mergeRecords(found, change);
    // What is known is no change: otherwise each read from the coordinator would count as one.
    if (merged !== found) records.set(subject, merged, { ttl: Math.max(ttlMs, records.getRemainingTTL(subject)) });
  }

  function note(subject: string, change: SessionRecord, ttlMs: number): void {
    const parts = Map.groupBy(Object.entries(change), ([name]) => isLasting(name));
    noteIn(lasting, subject, Object.fromEntries(parts.get(true) ?? []), cookieMs);
    noteIn(passing, subject, Object.fromEntries(parts.get(false) ?? []), ttlMs);
  }

  const known = (subjects: readonly string[]): SessionRecord => subjects.map(here).reduce(mergeRecords, emptyRecord);

  async function call(subject: string, change: SessionRecord, ttlMs: number): Promise<void> {
    note(subject, change, ttlMs);
    try {
      await shared?.merge(subject, change, ttlMs);
    } catch (cause) {
      throw coordinatorUnavailable(cause);
    }
  }

  async function find(subjects: readonly string[], group?: string): Promise<FoundRecord> {
    if (ask === undefined) return { record: known(subjects), isWhole: true, isConfirmed: true };
    const answers = await Promise.all(subjects.map((subject) => ask(subject, group)));
    subjects.forEach((subject, index) => note(subject, answers[index] ?? emptyRecord, tokenMs));
    return { record: known(subjects), isWhole: answers[0] !== undefined, isConfirmed: !answers.includes(undefined) };
  }

  /** Later than each call that this process knows of: their process' clock may be ahead, and what they spared is not spared again. */
  function nextTime({ subject, name, at }: Omit<Call, 'ttlMs'>): number {
    return Math.max(Math.ceil(at), lastBefore(here(subject), name) + 1);
  }

  return {
    /** Whether there are other processes to ask. */
    isShared: shared !== undefined,
    /** What this process knows. */
    known,
    note,
    /** Never rejects. */
    async tell(subject: string, change: SessionRecord, ttlMs: number): Promise<void> {
      note(subject, change, ttlMs);
      await telling(() => shared?.merge(subject, change, ttlMs));
    },
    /** @throws {AuthError} `provider_unavailable` where the coordinator failed: it applies in this process only */
    call,
    nextTime,
    /**
     * Records a call that is later than each call before it, in any process.
     *
     * @param onNoted called when it applies in this process, and again when it is told
     * @throws {AuthError} likewise
     */
    async callNext(next: Call, onNoted: () => void = () => undefined): Promise<void> {
      const { subject, name, ttlMs } = next;
      const own = nextTime(next);
      note(subject, { [name]: own }, ttlMs);
      onNoted();
      const answer = await ask?.(subject, undefined);
      const called = call(subject, { [name]: Math.max(own, lastBefore(answer ?? emptyRecord, name) + 1) }, ttlMs);
      onNoted();
      await called;
      // A call of a process whose clock is ahead may still be later, and with it what it spared.
      if (ask !== undefined && answer === undefined) throw coordinatorUnavailable();
    },
    /**
     * Also asks the coordinator.
     *
     * @param group calls of one group may share a pending answer; without one the answer is newer than the call
     */
    find,
  };
}

/** Asks for each record separately: in a cluster only one of the two masters may be away. */
function createAsk(shared: SharedCoordinator, askShared: AskShared) {
  const underWay = new Map<string, Promise<Answer>>();

  const ask = async (subject: string): Promise<Answer> => askShared(shared.read(subject).then(readAnswer));

  return (subject: string, group: string | undefined): Promise<Answer> => {
    if (group === undefined) return ask(subject);
    const name = `${subject} ${group}`;
    const joined = underWay.get(name) ?? ask(subject).finally(() => underWay.delete(name));
    underWay.set(name, joined);
    return joined;
  };
}

/** The time that ends the target's sessions. */
export function endOf(target: SessionTarget): Pick<Call, 'name' | 'ttlMs'> {
  return { name: 'sessionId' in target ? 'closed' : 'ended', ttlMs: cookieMs };
}

/** A session that `endSession` ended stays ended while a browser may keep its cookie. */
function isLasting(name: string): boolean {
  return /^(?:ended$|closed$|others:|spared:|reopened:)/.test(name);
}

/** An application's own coordinator may return anything; an invalid time would end or lift the wrong sessions. */
function readAnswer(answer: unknown): Answer {
  if (answer === undefined || answer === null) return emptyRecord;
  // A list or a Map, as clients of Redis give for a hash, has its times elsewhere: as a record it would be empty, and end nothing.
  if (typeof answer !== 'object' || Symbol.iterator in answer) return undefined;
  const times = Object.entries(answer).map(([name, time]: [string, unknown]) => [name, Number(time)] as const);
  return times.every(([, time]) => Number.isFinite(time)) ? Object.fromEntries(times) : undefined;
}

/** Where the times of a session, or of a user, are kept. @param adapter the adapter of these sessions: two adapters may share a coordinator */
export function createSubjectOf(adapter: string) {
  return (target: SessionTarget): string =>
    'sessionId' in target ? `${adapter}:session:${hash(target.sessionId)}` : `${adapter}:user:${hash(target.userId)}`;
}

/** @param adapter likewise */
export function createKeysOf(adapter: string): KeysOf {
  const subjectOf = createSubjectOf(adapter);
  return ({ sessionId, userId, clientId, beganAt, issuedAt }, pair) => {
    const session = sessionId === undefined ? undefined : subjectOf({ sessionId });
    const user = userId === undefined ? undefined : subjectOf({ userId });
    const grant =
      userId === undefined || clientId === undefined
        ? undefined
        : `${adapter}:grant:${hash(JSON.stringify([userId, clientId]))}`;
    const subjects = [session, user, grant].filter((subject) => subject !== undefined);
    return { session, subjects, pair, beganAt, issuedAt };
  };
}
