import type { Background } from '../../tools/background.ts';
import type { ChangeCount } from '../../tools/bounded-map.ts';
import {
  awaitedName,
  continuing,
  endedUntil,
  forever,
  freshName,
  isClosed,
  isRevocation,
  lastsName,
  never,
  othersName,
  freshAfter,
  reopenedName,
  sparedName,
  isSpent,
  skewMs,
  spentName,
  standingOf,
} from './record.ts';
import type { RefreshStart, Revocation, SessionFacts, SessionRecord, Standing } from './record.ts';
import { cookieMs, createKeysOf, createRecords, createSubjectOf, endOf, tokenMs } from './records.ts';
import { AuthError } from '../../errors.ts';
import type { Session } from '../../types.ts';
import { createClientGrants } from './client-grants.ts';
import type { FoundRecord, KeysOf, Records, SessionKeys, SessionTarget } from './records.ts';
import type { OutageReport } from '../outages.ts';
import { coordinatorUnavailable } from '../coordinator.ts';
import type { SharedCoordinator } from '../coordinator.ts';

export type Revocations = ReturnType<typeof createRevocations>;

export interface RevocationCheck extends Pick<FoundRecord, 'isConfirmed'> {
  readonly standing: Standing;
  /** When the check began, in milliseconds since the epoch. */
  readonly checkedAt: number;
}

/** A sign-in that is complete. In milliseconds since the epoch. */
export interface Beginning {
  /** The provider's own time of the sign-in, where the session's start is later read from it. */
  readonly beganAt?: number | undefined;
  /** When the request came that the sign-in began with; omitted where that was an earlier one. */
  readonly arrivedAt?: number | undefined;
}

/** Long enough for every request that was already sent at the sign-out. */
const minRevocationMs = 25_000;
/** How long a verified session counts as live before the other processes are asked again. */
const sharedRecheckMs = 5_000;

/**
 * How long a signed-out session must be remembered: a running refresh may return a token with its
 * whole lifetime left. Afterward only the provider's end keeps a copy of the cookie from being renewed.
 */
export function revocationMs(tokenLifetimeMs: number): number {
  return Math.min(Math.max(tokenLifetimeMs, 0) + minRevocationMs, tokenMs);
}

/**
 * What earlier sign-outs, sign-ins and calls of `endSession` and `renewSession` mean for a session, here and in every process
 * that shares the coordinator.
 *
 * @param adapter the adapter of these sessions: two adapters may share a coordinator
 * @param now milliseconds since the epoch
 * @param changes counts changes that this process learns of
 */
export function createRevocations(
  adapter: string,
  shared: SharedCoordinator | undefined,
  outages: OutageReport,
  now: () => number,
  changes: ChangeCount,
  background?: Background,
) {
  const records = createRecords(shared, outages, now, changes, background);
  const keysOf = createKeysOf(adapter);
  const subjectOf = createSubjectOf(adapter);
  const { notify, subscribe } = createListeners();
  const standings = createStandings({ records, keysOf, now });
  const parts: Parts = { records, keysOf, subjectOf, notify, now, ...standings };
  return {
    ...createSignIns(parts),
    ...createEnding(parts),
    ...createRenewing(parts),
    ...createRenewOthers(parts),
    ...createClientGrants(parts),
    ...standings,
    keysOf,
    subscribe,
    /** Whether there are other processes to ask. */
    isShared: records.isShared,
    /** How long a check's result is valid before the other processes are asked again, in milliseconds. */
    recheckMs: shared === undefined ? Infinity : sharedRecheckMs,
  };
}

/** What a token is worth, by what this process knows and by what the coordinator says. */
function createStandings({ records, keysOf, now }: Pick<Parts, 'records' | 'keysOf' | 'now'>) {
  const known = (keys: SessionKeys): Standing => standingOf(records.known(keys.subjects), keys);
  const knownRevocation = (keys: SessionKeys): Revocation | undefined => asRevocation(known(keys));

  /** @throws {AuthError} `provider_unavailable` where only the coordinator can tell whether the session was spared */
  async function look(keys: SessionKeys, group: string | undefined): Promise<RevocationCheck> {
    const checkedAt = now();
    const { record, isWhole, isConfirmed } = await records.find(keys.subjects, group);
    const standing = standingOf(record, keys);
    // It must neither pass nor be cleared.
    if (standing === 'ended' && !isWhole) throw coordinatorUnavailable();
    return { standing, checkedAt, isConfirmed };
  }

  return {
    look,
    /** What this process knows. */
    known,
    /** Whether this process knows that the token was exchanged for tokens of another organization. */
    isSpent: (keys: SessionKeys): boolean => isSpent(records.known(keys.subjects), keys),
    /** The revocation that this process knows. */
    knownRevocation,
    /**
     * The revocation that this process knows and no other can lift. With a
     * coordinator, a sign-in in another process may have lifted an `endSession`; only `check` asks for that.
     */
    knownFinally(keys: SessionKeys): Revocation | undefined {
      const revocation = knownRevocation(keys);
      return revocation === 'ended' && records.isShared ? undefined : revocation;
    },
    /**
     * How the session was signed out or replaced, here or elsewhere, while its tokens may still be valid.
     *
     * @param beganAt when the sign-in began, in milliseconds since the epoch: an earlier sign-out does not concern it. Default: unknown
     */
    async signOutOf(sessionId: string | undefined, beganAt = 0): Promise<Revocation | undefined> {
      const keys = keysOf({ sessionId, userId: undefined, beganAt, issuedAt: Infinity }, undefined);
      const { record } = await records.find(keys.subjects);
      return asRevocation(standingOf({ ...record, ended: never, closed: never }, keys));
    },
    /** Asks the coordinator, too. @throws {AuthError} `provider_unavailable` where only the coordinator can tell */
    check: (keys: SessionKeys) => look(keys, 'requests'),
    /** The same for a refresh's answer: a check that began before it arrived may have missed a sign-out. */
    checkAfterRefresh: (keys: SessionKeys) => look(keys, keys.pair),
  };
}

interface Parts {
  readonly records: Records;
  readonly keysOf: KeysOf;
  readonly subjectOf: ReturnType<typeof createSubjectOf>;
  readonly notify: (subject: string) => void;
  readonly look: (keys: SessionKeys, group: string | undefined) => Promise<RevocationCheck>;
  readonly known: (keys: SessionKeys) => Standing;
  readonly now: () => number;
}

function createSignIns({ records, now }: Pick<Parts, 'records' | 'now'>) {
  return {
    /**
     * Records a completed sign-in: earlier `endSession` calls do not apply to it. A call that ended all of the user's sign-ins but
     * another one, as for a new password, applies to a sign-in that was under way then.
     *
     * @returns the session's start in milliseconds since the epoch: later than every call for the user, and than every end of the
     * session after which a sign-in may continue it, even where this clock was set back since
     * @throws {AuthError} `invalid_state` where such a call has ended it
     */
    async begin(keys: SessionKeys, { beganAt, arrivedAt }: Beginning = {}): Promise<number> {
      const { session, subjects } = keys;
      const { record } = await records.find(subjects);
      const { signedOut = never, replaced = never } = record;
      const passed = [endedUntil(record), signedOut, replaced].filter((time) => time < forever);
      const start = Math.max(now(), ...passed.map((time) => time + 1));
      const own = { ...keys, beganAt: beganAt ?? start };
      const others = endedUntil({ ...record, ended: never }, othersName(own));
      const isConcerned = own.beganAt <= others && (record[sparedName(own.beganAt)] ?? never) < others;
      if (isConcerned && (arrivedAt === undefined || arrivedAt < others))
        throw new AuthError('invalid_state', { reason: 'ended' });
      // A sealed cookie names this start, and a token the provider's.
      const change = { ...sparing(record, own.beganAt), ...sparing(record, start) };
      if (session !== undefined && Object.keys(change).length > 0) {
        await records.tell(session, { ...change, ...continuing(record, keys) }, cookieMs);
      }
      return start;
    },
  };
}

/** Sign-outs, `endSession`, and the end of a user's other sign-ins. */
function createEnding({ records, keysOf, subjectOf, notify, now }: Parts) {
  return {
    /** Ends what began or was issued before now. @throws {AuthError} `provider_unavailable` where it applies in this process only */
    async end(target: SessionTarget): Promise<void> {
      const subject = subjectOf(target);
      await records.callNext({ subject, ...endOf(target), at: now() }, () => notify(subject));
    },
    /** Ends a user's sign-ins except one, or all without a session id. An earlier end of that one stands. @throws {AuthError} likewise */
    async endOthers(facts: SessionFacts): Promise<void> {
      if (facts.userId === undefined) return;
      const keys = keysOf(facts, undefined);
      const subject = subjectOf({ userId: facts.userId });
      const name = keys.session === undefined ? 'ended' : othersName(keys);
      await records.callNext({ subject, name, ttlMs: cookieMs, at: now() }, () => notify(subject));
    },
    /**
     * Records that a session was signed out or replaced. Never rejects.
     *
     * @param tokenLifetimeMs the lifetime of the session's access tokens
     * @param beganAt when the session began: it is over even where the clock that said so is ahead of ours
     */
    async revoke(
      sessionId: string,
      revocation: Exclude<Revocation, 'ended'>,
      tokenLifetimeMs: number,
      beganAt = 0,
    ): Promise<void> {
      const subject = subjectOf({ sessionId });
      const until = Math.min(Math.ceil(Math.max(now(), beganAt)), forever);
      const change: SessionRecord = revocation === 'signed_out' ? { signedOut: until } : { replaced: until };
      const told = records.tell(subject, change, revocationMs(tokenLifetimeMs));
      notify(subject);
      await told;
    },
  };
}

/** What spares a sign-in that began then the earlier calls of `endSession`. @param beganAt in milliseconds since the epoch */
function sparing(record: SessionRecord, beganAt: number): SessionRecord {
  const { closed = never } = record;
  const ended = endedUntil(record);
  return {
    ...(beganAt <= ended && { [sparedName(beganAt)]: ended }),
    ...(isClosed(closed, beganAt) && { [reopenedName(beganAt)]: closed }),
  };
}

/** `renewSession`, and the tokens that it does not concern. */
function createRenewing({ records, keysOf, subjectOf, now }: Pick<Parts, 'records' | 'keysOf' | 'subjectOf' | 'now'>) {
  return {
    /** @throws {AuthError} `provider_unavailable` where the coordinator failed: it applies in this process only */
    renew: (target: SessionTarget): Promise<void> =>
      records.callNext({ subject: subjectOf(target), name: 'stale', at: now(), ttlMs: tokenMs }),
    /** Asks the process that renews the session to say until when it lasts then. Never rejects. @param until when the known token expires, in milliseconds since the epoch */
    noteStream(facts: SessionFacts, watched: Session, until: number): void {
      const { session } = keysOf(facts, undefined);
      const name = awaitedName(watched);
      if (session === undefined || (records.known([session])[name] ?? never) >= until) return;
      void records.tell(session, { [name]: until }, tokenMs);
    },
    /** Says until when the session lasts by a newer token of it, where a stream of it in that organization is open. Never rejects. */
    async extend({ session }: Pick<SessionKeys, 'session'>, newer: Session): Promise<void> {
      if (session === undefined) return;
      const { [awaitedName(newer)]: awaited = never, [lastsName(newer)]: lasts = never } = records.known([session]);
      const until = newer.expiresAt;
      // This clock may be ahead of that of the stream's process.
      if (awaited + skewMs > now() && Math.max(awaited, lasts) < until)
        await records.tell(session, { [lastsName(newer)]: until }, tokenMs);
    },
    /** What `extend` said, or a later stream of the session, as far as this process knows. In milliseconds since the epoch. */
    lastsUntil(facts: SessionFacts, watched: Session): number {
      const { session } = keysOf(facts, undefined);
      const known = session === undefined ? {} : records.known([session]);
      return Math.max(known[awaitedName(watched)] ?? never, known[lastsName(watched)] ?? never);
    },
    /** The state at the start of a refresh. */
    refreshStart: ({ subjects }: Pick<SessionKeys, 'subjects'>): RefreshStart => ({
      at: now(),
      known: records.known(subjects),
    }),
    /** Records that a refresh issued a token. @param start of the refresh */
    async acceptRenewed(keys: SessionKeys, start: RefreshStart, ttlMs: number): Promise<void> {
      const { session } = keys;
      // A call that this process does not know yet requires another refresh.
      const change = freshAfter(records.known(keys.subjects), keys, start);
      if (session === undefined || Object.keys(change).length === 0) return;
      await records.tell(session, change, ttlMs);
    },
    /**
     * Records that tokens were exchanged for those of another organization. Never rejects.
     *
     * @param times of the exchange, by spent refresh token, or by the pair whose refresh token was given again
     */
    async spend(sessionIds: readonly (string | undefined)[], times: SessionRecord, ttlMs: number): Promise<void> {
      const ids = new Set(sessionIds.filter((sessionId) => sessionId !== undefined));
      const told = [...ids].map(async (sessionId) => {
        const subject = subjectOf({ sessionId });
        const known = records.known([subject]);
        const unknown = Object.entries(times).filter(([name]) => known[spentName(name)] === undefined);
        const change = Object.fromEntries(unknown.map(([name, time]) => [spentName(name), Math.ceil(time)]));
        if (unknown.length > 0) await records.tell(subject, change, ttlMs);
      });
      await Promise.all(told);
    },
  };
}

/** A call that spares tokens. They are told first, so that it never applies to them. */
function createRenewOthers({ records, subjectOf, look, known, now }: Parts) {
  return {
    /** `renew` for a user's tokens except these of one session; these stay due if they already were. @throws {AuthError} likewise */
    async renewOthers(userId: string, kept: readonly SessionKeys[]): Promise<void> {
      const looks = await Promise.all(kept.map((keys) => look(keys, undefined).catch(() => undefined)));
      // Where only the coordinator knows whether they were due, they cost one refresh more.
      const fresh = kept.filter((keys, index) => looks[index]?.isConfirmed === true && known(keys) !== 'stale');
      const subject = subjectOf({ userId });
      const stale = records.nextTime({ subject, name: 'stale', at: now() });
      const told = Promise.all(
        fresh.map(async (keys) => {
          const until = Math.max(stale, records.known(keys.subjects)['stale'] ?? never);
          // Also by its access token, which may be sent as a bearer token.
          const names = [freshName(keys), freshName({ ...keys, pair: undefined })];
          const change = Object.fromEntries(names.map((name) => [name, until]));
          if (keys.session !== undefined) await records.tell(keys.session, change, tokenMs);
        }),
      );
      records.note(subject, { stale }, tokenMs);
      await told;
      await records.call(subject, { stale }, tokenMs);
      if (!looks.every((each) => each?.isConfirmed)) throw coordinatorUnavailable();
    },
  };
}

function createListeners() {
  const listeners: ((subject: string) => void)[] = [];
  return {
    notify: (subject: string): void => listeners.forEach((listener) => listener(subject)),
    /** Calls `listener` after each revocation and each `endSession` of this process, with the subject of the session or user. */
    subscribe: (listener: (subject: string) => void): void => void listeners.push(listener),
  };
}

function asRevocation(standing: Standing): Revocation | undefined {
  return isRevocation(standing) ? standing : undefined;
}
