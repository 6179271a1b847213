import type { Session } from '../../types.ts';
import { isRevocation, organizationOf } from './record.ts';
import type { Revocation, SessionFacts } from './record.ts';
import type { Revocations } from './revocations.ts';

/** Why a watched session ended. `switched`: it continues in another organization. */
export type SessionEnd = Revocation | 'expired' | 'switched';

/** A session to watch. */
export interface WatchTarget {
  readonly facts: SessionFacts;
  /** As it was when the watch began. */
  readonly session: Session;
  /** Identifies its tokens; `undefined` for a bearer token. */
  readonly pair: string | undefined;
  /** Whether the watch goes on where a request renews the session. Otherwise it ends when the access token expires. */
  readonly outlivesToken?: boolean;
}

interface Watch {
  /** Ends the watch. */
  readonly stop: () => void;
  /** Resolves once the coordinator was asked what became of the session since it was resolved. It never rejects. */
  readonly checked: Promise<void>;
}

export interface SessionWatch {
  /**
   * Calls `onEnd` once, when the session is signed out or replaced, ended by `endSession`, or when its token
   * has expired: at once for events of this process, within 5 seconds for events of others.
   */
  readonly watch: (target: WatchTarget, onEnd: (end: SessionEnd) => void) => Watch;
  /** Ends the watches of the same session in another organization. */
  switched(facts: Pick<SessionFacts, 'sessionId'>, session: Session): void;
}

interface Watched {
  readonly facts: SessionFacts;
  readonly organizationId: string | undefined;
  readonly pair: string | undefined;
  /** The hashed names of the session, its user, and the user at its OAuth client. */
  readonly subjects: readonly string[];
  readonly end: (end: SessionEnd) => void;
}

/** The maximum delay of a timer. */
const maxDelayMs = 2 ** 31 - 1;
/** Short enough to meet 5 seconds, including the time for the answers. */
const pollMs = 3_000;
/** Maximum number of concurrent coordinator checks. */
const batchSize = 100;

/** @param now milliseconds since the epoch */
export function createSessionWatch(revocations: Revocations, now: () => number): SessionWatch {
  const watching = createWatching();
  const { check, startPoll } = createPoll(revocations, watching);

  revocations.subscribe((subject) => {
    for (const watched of watching.of(subject)) {
      const revocation = revocations.knownRevocation(revocations.keysOf(watched.facts, undefined));
      if (revocation !== undefined) watched.end(revocation);
    }
  });

  return {
    switched({ sessionId }, session) {
      const { subjects } = revocations.keysOf({ ...noFacts, sessionId }, undefined);
      for (const watched of subjects.flatMap((subject) => watching.of(subject))) {
        if (watched.organizationId !== organizationOf(session)) watched.end('switched');
      }
    },
    watch(target, onEnd) {
      const { facts, session, pair } = target;
      let timer: NodeJS.Timeout | undefined;
      const stop = (): void => {
        clearTimeout(timer);
        watching.delete(watched);
      };
      const end = (reason: SessionEnd): void => {
        if (!watching.has(watched)) return;
        stop();
        onEnd(reason);
      };
      const { subjects } = revocations.keysOf(facts, undefined);
      const watched: Watched = { facts, organizationId: organizationOf(session), pair, subjects, end };
      /** @param isAsked whether the coordinator was just asked for renewals by other processes */
      const awaitExpiry = (isAsked: boolean): void => {
        if (!watching.has(watched)) return;
        const until = lastOf(target);
        const restMs = until - now();
        if (restMs > 0) {
          timer = setTimeout(awaitExpiry, Math.min(restMs, maxDelayMs), false).unref();
          if (target.outlivesToken === true) revocations.noteStream(facts, session, until);
        } else if (isAsked || target.outlivesToken !== true || !revocations.isShared) end('expired');
        else void check(watched).then(() => awaitExpiry(true));
      };
      watching.add(watched);
      startPoll();
      awaitExpiry(false);
      // Checks for an end since the session was resolved.
      return { stop, checked: check(watched) };
    },
  };

  /** Until when the session lasts, as far as this process knows. In milliseconds since the epoch. */
  function lastOf({ facts, session, outlivesToken = false }: WatchTarget): number {
    const until = outlivesToken ? revocations.lastsUntil(facts, session) : 0;
    return Math.max(session.expiresAt, until);
  }
}

/** Asks the coordinator about the watched sessions, as other processes end or switch them. */
function createPoll(revocations: Revocations, watching: ReturnType<typeof createWatching>) {
  let poll: NodeJS.Timeout | undefined;

  async function check(watched: Watched): Promise<void> {
    const { facts, pair } = watched;
    // Outdated claims end no watch. Where the check fails, the next poll repeats it.
    const keys = revocations.keysOf({ ...facts, issuedAt: Infinity }, pair);
    const checked = await revocations.check(keys).catch(() => undefined);
    if (checked === undefined) return;
    const { standing } = checked;
    const revocation = isRevocation(standing)
      ? standing
      : revocations.knownRevocation(revocations.keysOf(facts, undefined));
    if (revocation !== undefined) watched.end(revocation);
    else if (revocations.isSpent(revocations.keysOf(facts, pair))) watched.end('switched');
  }

  /** Runs the batches one after another, then schedules the next poll: a slow coordinator is not asked more often. */
  async function checkAll(): Promise<void> {
    const queue = watching.all();
    while (queue.length > 0) await Promise.all(queue.splice(0, batchSize).map(check));
    poll = undefined;
    startPoll();
  }

  function startPoll(): void {
    if (!revocations.isShared || watching.isEmpty()) return;
    poll ??= setTimeout(() => void checkAll(), pollMs).unref();
  }

  return { check, startPoll };
}

const noFacts: SessionFacts = { sessionId: undefined, userId: undefined, beganAt: 0, issuedAt: 0 };

/** Watched sessions, also by session and by user. */
function createWatching() {
  const all = new Set<Watched>();
  const bySubject = new Map<string, Set<Watched>>();
  return {
    all: () => [...all],
    of: (subject: string) => [...(bySubject.get(subject) ?? [])],
    has: (watched: Watched) => all.has(watched),
    isEmpty: () => all.size === 0,
    add(watched: Watched): void {
      all.add(watched);
      for (const subject of watched.subjects) {
        bySubject.set(subject, (bySubject.get(subject) ?? new Set()).add(watched));
      }
    },
    delete(watched: Watched): void {
      all.delete(watched);
      for (const subject of watched.subjects) {
        const others = bySubject.get(subject);
        others?.delete(watched);
        if (others?.size === 0) bySubject.delete(subject);
      }
    },
  };
}
