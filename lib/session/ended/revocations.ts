import type { Background } from '../../tools/background.ts';
import type { ChangeCount } from '../../tools/bounded-map.ts';
import {
  callsAgainst,
  forever,
  freshName,
  isEnded,
  isOutdated,
  isRevocation,
  isSpent,
  lastsName,
  never,
  renewed,
  skewMs,
  sparedName,
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
  /** The provider's own time of the sign-in, where the session's start is later read from its tokens. */
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
 * whole lifetime left.
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
    async find(sessionId: string | undefined, beganAt = 0): Promise<Revocation | undefined> {
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
     * Records a completed sign-in: earlier calls of `endSession` and `renewSession` do not apply to it.
     *
     * @returns the session's start in milliseconds since the epoch: later than every call for the user, and than every end of the
     * session after which a sign-in may continue it, even where this clock was set back since
     * @throws {AuthError} `invalid_state` where a call for the user, such as a new password, came while it was under way
     */
    async begin(keys: SessionKeys, { beganAt, arrivedAt = beganAt === 0 ? Infinity : never }: Beginning = {}) {
      const { session, subjects } = keys;
      const { record } = await records.find(subjects);
      const { signedOut = never, replaced = never, ended = never, stale = never } = record;
      const passed = [ended, signedOut, replaced].filter((time) => time < forever);
      const start = Math.max(now(), ...passed.map((time) => time + 1));
      // A clock that is further ahead says nothing of when the call was.
      const isMeanwhile = arrivedAt < ended && ended <= now() + skewMs;
      if (isMeanwhile && isEnded({ ...record, closed: never }, beganAt ?? start))
        throw new AuthError('invalid_state', { reason: 'ended' });
      // A sealed cookie names this start, and a token the provider's.
      const spared = [beganAt ?? keys.beganAt, start].map(
        (each) => [sparedName(each), callsAgainst(record, each)] as const,
      );
      const fresh = [freshName(keys), arrivedAt > stale && isOutdated(stale, keys) ? stale : never] as const;
      const change = [...spared, fresh].filter(([, time]) => time !== never);
      if (session !== undefined && change.length > 0) await records.tell(session, Object.fromEntries(change), cookieMs);
      return start;
    },
  };
}

/** Sign-outs, `endSession`, and the end of a user's other sign-ins. */
function createEnding(parts: Parts) {
  const { records, keysOf, subjectOf, notify, now } = parts;
  return {
    /** Ends what began or was issued before now. @throws {AuthError} `provider_unavailable` where it applies in this process only */
    async end(target: SessionTarget): Promise<void> {
      const subject = subjectOf(target);
      await records.callNext({ subject, ...endOf(target), at: now() }, () => notify(subject));
    },
    /** Ends a user's sign-ins except one, or all without a session id. An earlier end of that one stands. @throws {AuthError} likewise */
    async endOthers(facts: SessionFacts): Promise<void> {
      if (facts.userId === undefined) return;
      await callSparing(parts, { userId: facts.userId, name: 'ended', ttlMs: cookieMs }, [keysOf(facts, undefined)]);
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

/** `renewSession`, and the tokens that it does not concern. */
function createRenewing(parts: Parts) {
  const { records, keysOf, subjectOf, now } = parts;
  return {
    /** @throws {AuthError} `provider_unavailable` where the coordinator failed: it applies in this process only */
    renew: (target: SessionTarget): Promise<void> =>
      records.callNext({ subject: subjectOf(target), name: 'stale', at: now(), ttlMs: tokenMs }),
    /** `renew` for a user's tokens except these of one session; these stay due if they already were. @throws {AuthError} likewise */
    renewOthers: (userId: string, kept: readonly SessionKeys[]): Promise<void> =>
      callSparing(parts, { userId, name: 'stale', ttlMs: tokenMs }, kept),
    /** Has a later renewal say until when the session lasts, in any process. Never rejects. @param until when the known token expires, in milliseconds since the epoch */
    awaitRenewal(facts: SessionFacts, watched: Session, until: number): void {
      const { session } = keysOf(facts, undefined);
      const name = lastsName(watched);
      if (session === undefined || (records.known([session])[name] ?? never) >= until) return;
      void records.tell(session, { [name]: until }, tokenMs);
    },
    /** Says until when the session lasts by a newer token of it, where a stream of it in that organization was open. Never rejects. */
    async extend({ session }: Pick<SessionKeys, 'session'>, newer: Session): Promise<void> {
      if (session === undefined) return;
      const name = lastsName(newer);
      const { [name]: lasts = never } = records.known([session]);
      if (lasts > now() && lasts < newer.expiresAt) await records.tell(session, { [name]: newer.expiresAt }, tokenMs);
    },
    /** What a renewal said, or a later stream of the session, as far as this process knows. In milliseconds since the epoch. */
    lastsUntil(facts: SessionFacts, watched: Session): number {
      const { session } = keysOf(facts, undefined);
      return (session === undefined ? undefined : records.known([session])[lastsName(watched)]) ?? never;
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
      const change = renewed(records.known(keys.subjects), keys, start);
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

/** What spares tokens of one session a call. A token that may be sent as a bearer token has its time alone. */
const sparedNames = {
  ended: ({ beganAt }: SessionKeys) => [sparedName(beganAt)],
  stale: (keys: SessionKeys) => [freshName(keys), freshName({ ...keys, pair: undefined })],
};

/**
 * A call for all of a user's sessions but these. They are told first, so that it never applies to them; what an earlier call
 * concerned, it still does.
 *
 * @throws {AuthError} `provider_unavailable` where only the coordinator can tell what to spare, or where it applies in this process only
 */
async function callSparing(
  { records, subjectOf, notify, look, known, now }: Parts,
  { userId, name, ttlMs }: { readonly userId: string; readonly name: 'ended' | 'stale'; readonly ttlMs: number },
  kept: readonly SessionKeys[],
): Promise<void> {
  const looks = await Promise.all(kept.map((keys) => look(keys, undefined).catch(() => undefined)));
  const isConfirmed = looks.every((each) => each?.isConfirmed);
  // A kept session must not end by an outage. Another refresh costs it nothing.
  if (name === 'ended' && !isConfirmed) throw coordinatorUnavailable();
  const spared = kept.filter((keys) => isConfirmed && known(keys) !== name && !isRevocation(known(keys)));
  const subject = subjectOf({ userId });
  const at = records.nextTime({ subject, name, at: now() });
  const told = spared.map(async (keys) => {
    const until = Math.max(at, records.known(keys.subjects)[name] ?? never);
    const change = Object.fromEntries(sparedNames[name](keys).map((each) => [each, until]));
    if (keys.session !== undefined) await records.tell(keys.session, change, ttlMs);
  });
  records.note(subject, { [name]: at }, ttlMs);
  if (name === 'ended') notify(subject);
  await Promise.all(told);
  await records.call(subject, { [name]: at }, ttlMs);
  if (!isConfirmed) throw coordinatorUnavailable();
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
