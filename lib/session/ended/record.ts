// A name that an old Node does not export would be a syntax error there, in place of the one about its version.
import crypto from 'node:crypto';
import type { AdapterName, Session } from '../../types.ts';

/**
 * What is known of one session, of all sessions of a user, or of those of a user at one OAuth client: times in milliseconds since the epoch, by name. Every time
 * only grows, so two records merge by taking the later of each, in any order and any number of times.
 *
 * - `ended`: a user's sessions that began until then are over, by `endSession`.
 * - `others:` with a sign-in: all of the user's sign-ins but this one that began until then are over. Only the last two of these times
 *   matter: the last one ends all sign-ins but its own, and the one before ends that.
 * - `spared:` with a start: these calls for the user until then do not concern the sign-in that began then, by the provider's own
 *   clock: it was completed after them. An earlier sign-in that the provider continued under the same id stays ended.
 * - `closed`: when `endSession` was called for this session. It is over if it began until a minute later, as its start may have
 *   been read from a clock that is ahead.
 * - `reopened:` with a start: calls of `endSession` for this session until then do not concern the sign-in that began then.
 * - `signedOut`: sign-ins that began until then are over; `forever` where no sign-in continues the session.
 * - `replaced`: the same, because a newer session has its place in the browser.
 * - `stale`: access tokens that were issued until then are renewed before use, by `renewSession`.
 * - `withdrawn`, of a user at an OAuth client: access tokens that were issued to it until then are over, because the user took back its
 *   grant. So are those that were issued until a minute later, as the provider's clock may be ahead, unless `allowed` is later.
 * - `allowed`: when the user allowed that client again.
 * - `fresh:` with a pair: calls of `renewSession` until then do not concern these tokens.
 * - `continued`: a provider may continue a session's id at a new sign-in, and then gives that one's start to tokens of earlier sign-ins,
 *   too. So access tokens that were issued until a sign-in was spared, or until the calls that it was spared, are renewed before use.
 * - `own:` with a pair: `continued` until then does not concern these tokens, which are that sign-in's or were issued to it later.
 * - `awaited:` with an organization, or with none: when the last token expires that an open stream of the session there knows. A renewal
 *   before then says until when it lasts.
 * - `lasts:` with an organization, or with none: until when the session lasts there, by its last renewal that a stream awaited.
 * - `spent:` with a refresh token: when it was exchanged for tokens of another organization. With the pair that such an exchange issued
 *   with the same refresh token again: when that was. Others that came with the token until then were exchanged, too, also those that
 *   come later, to a process that lost its turn.
 */
export type SessionRecord = Readonly<Record<string, number>>;

/** The claims of a session that its standing depends on. The token is not verified, so they never grant access. */
export interface SessionFacts {
  /** The provider's session id. */
  readonly sessionId: string | undefined;
  readonly userId: string | undefined;
  /** The OAuth client that the token was issued to; absent for the application's own tokens. */
  readonly clientId?: string;
  /** When the sign-in was completed, in milliseconds since the epoch; 0 where unknown. */
  readonly beganAt: number;
  /** When the access token was issued, in milliseconds since the epoch; 0 where unknown. */
  readonly issuedAt: number;
}

/** What a session presents: its times, and its tokens. */
export interface Presented extends Pick<SessionFacts, 'beganAt' | 'issuedAt'> {
  /** The name of the session's own record; `undefined` without an id. */
  readonly session: string | undefined;
  /** Identifies the refresh token with its access token; `undefined` for a bearer token. */
  readonly pair: string | undefined;
}

/**
 * How a session ended: by a sign-out, by a new sign-in in its browser, or by `endSession`. The successor's
 * cookie has already replaced that of a `replaced` session: clearing it now would delete the new session.
 */
export type Revocation = 'signed_out' | 'replaced' | 'ended';

/**
 * What a presented token is worth. `stale`: its claims may be outdated, so it is renewed before use. `spent`: it was exchanged for
 * tokens of another organization, which its holder gets.
 */
export type Standing = Revocation | 'stale' | 'spent' | 'live';

/** Before every time. */
export const never = -1;
/** The latest time that a `Date` can hold. */
export const forever = 8_640_000_000_000_000;
export const emptyRecord: SessionRecord = {};

/** How far the clock may be ahead that a session's start or a token's time was read from. */
export const skewMs = 60_000;
/** The names of each kind with a colon that a record holds at most; the latest are kept. */
const maxNames = 8;

export function standingOf(record: SessionRecord, presented: Presented): Standing {
  const { beganAt, issuedAt } = presented;
  const { signedOut = never, replaced = never, closed = never } = record;
  const ended = endedUntil(record, othersName(presented));
  if (beganAt <= signedOut) return 'signed_out';
  if (beganAt <= replaced) return 'replaced';
  if (beganAt <= ended && (record[sparedName(beganAt)] ?? never) < ended) return 'ended';
  if (isClosed(closed, beganAt) && (record[reopenedName(beganAt)] ?? never) < closed) return 'ended';
  if (isWithdrawn(record, issuedAt)) return 'ended';
  if (isStale(record, presented)) return 'stale';
  if (isSpent(record, presented)) return 'spent';
  return 'live';
}

/** Until when sign-ins of the user are over, by calls that end them. @param kept the name of a call that does not count */
export function endedUntil(record: SessionRecord, kept?: string): number {
  const calls = Object.entries(record).filter(([name]) => endsSignIns(name) && name !== kept);
  return Math.max(never, ...calls.map(([, time]) => time));
}

/** The time that a call must outbid. @param name of the call's time */
export function lastBefore(record: SessionRecord, name: string): number {
  return endsSignIns(name) ? endedUntil(record) : (record[name] ?? never);
}

function endsSignIns(name: string): boolean {
  return name === 'ended' || name.startsWith('others:');
}

/** Whether the tokens were exchanged for those of another organization. */
export function isSpent(record: SessionRecord, { pair, issuedAt }: Pick<Presented, 'pair' | 'issuedAt'>): boolean {
  if (pair === undefined) return false;
  const token = tokenOf(pair);
  const again = spentName(`${token}.`);
  const isMeant = ([name, time]: [string, number]): boolean =>
    name === spentName(token) || (name.startsWith(again) && name !== spentName(pair) && issuedAt <= time);
  return Object.entries(record).some(isMeant);
}

export function isRevocation(standing: Standing): standing is Revocation {
  return standing === 'signed_out' || standing === 'replaced' || standing === 'ended';
}

/** By the token's own time: the provider has ended its session, so no refresh issues a later one. In milliseconds since the epoch. */
function isWithdrawn({ withdrawn = never, allowed = never }: SessionRecord, issuedAt: number): boolean {
  return issuedAt <= withdrawn || mayBeWithdrawn({ withdrawn, allowed }, issuedAt);
}

/** Whether only the provider's clock could tell if a token was issued before its grant was taken back. In milliseconds since the epoch. */
export function mayBeWithdrawn({ withdrawn = never, allowed = never }: SessionRecord, issuedAt: number): boolean {
  return withdrawn !== never && allowed <= withdrawn && issuedAt <= withdrawn + skewMs;
}

/**
 * Whether a token may be from before a call of `renewSession`, by its time alone. The provider's clock may be ahead; a bearer token counts
 * by its time, because its client would fetch another one for nothing. In milliseconds since the epoch.
 */
export function isOutdated(stale: number, { pair, issuedAt }: Pick<Presented, 'pair' | 'issuedAt'>): boolean {
  return stale !== never && issuedAt <= (pair === undefined ? stale : stale + skewMs);
}

/** Whether a token may be of a sign-in before the last one that was spared, by its time alone. In milliseconds since the epoch. */
function isFormer(continued: number, issuedAt: number): boolean {
  return continued !== never && issuedAt <= continued;
}

/** Whether the token is renewed before use. */
function isStale(record: SessionRecord, presented: Pick<Presented, 'pair' | 'issuedAt'>): boolean {
  const { stale = never, continued = never } = record;
  return (
    (isOutdated(stale, presented) && (record[freshName(presented)] ?? never) < stale) ||
    (isFormer(continued, presented.issuedAt) && (record[ownName(presented)] ?? never) < continued)
  );
}

/** Whether a call of `endSession` for the session concerns a sign-in that began then. In milliseconds since the epoch. */
export function isClosed(closed: number, beganAt: number): boolean {
  return closed !== never && beganAt <= closed + skewMs;
}

/** The name of a sign-in that ended its user's others. */
export function othersName({ session, beganAt }: Pick<Presented, 'session' | 'beganAt'>): `others:${string}` {
  return `others:${beganAt}:${session}`;
}

/** @param beganAt in milliseconds since the epoch */
export function reopenedName(beganAt: number): string {
  return `reopened:${beganAt}`;
}

/** @param beganAt in milliseconds since the epoch */
export function sparedName(beganAt: number): string {
  return `spared:${beganAt}`;
}

/** The name of a token that is fresh. */
export function freshName(presented: Pick<Presented, 'pair' | 'issuedAt'>): string {
  return `fresh:${tokenName(presented)}`;
}

/** @param name identifies a refresh token that was spent, or a pair whose refresh token was given again */
export function spentName(name: string): string {
  return `spent:${name}`;
}

export function organizationOf(session: Session): string | undefined {
  return session.adapter === 'b2b' ? session.organizationId : undefined;
}

export function awaitedName(session: Session): string {
  return `awaited:${hash(organizationOf(session) ?? '')}`;
}

export function lastsName(session: Session): string {
  return `lasts:${hash(organizationOf(session) ?? '')}`;
}

/** The name of a token that the last spared sign-in was given. */
export function ownName(presented: Pick<Presented, 'pair' | 'issuedAt'>): string {
  return `own:${tokenName(presented)}`;
}

/** Of a bearer token only the time is known. It comes first: of the names that one call gives to many tokens, the latest are kept. */
function tokenName({ pair, issuedAt }: Pick<Presented, 'pair' | 'issuedAt'>): string {
  return pair === undefined ? `${issuedAt}` : `${issuedAt}:${pair}`;
}

/** What makes the tokens of earlier sign-ins of the session former ones. @param own the token of the sign-in that is spared */
export function continuing(record: SessionRecord, own: Presented): SessionRecord {
  if (own.issuedAt === 0) return {};
  const { closed = never, continued = never } = record;
  // An earlier sign-in may have been issued a token after this one's, until the call. The token of one that was spared in the same
  // second is outbid.
  const until = Math.max(own.issuedAt, endedUntil(record), closed, continued + 1);
  return { continued: until, [ownName(own)]: until, [ownName({ ...own, pair: undefined })]: until };
}

/** The start of a refresh. */
export interface RefreshStart {
  /** In milliseconds since the epoch. */
  readonly at: number;
  /** What this process knew then. */
  readonly known: SessionRecord;
}

/**
 * What spares a token that a refresh issued from another one. Whole seconds and different clocks may hide that it was issued after a
 * `renewSession`, or after a sign-in.
 *
 * @param start of the refresh
 */
export function freshAfter(record: SessionRecord, presented: Presented, { at, known }: RefreshStart): SessionRecord {
  const { stale = never, continued = never } = record;
  // A refresh that knew of the call started after it, even where the other process' clock is ahead.
  const isAfterCall = at >= stale || (known['stale'] ?? never) >= stale;
  // The provider's clock says nothing of when our refresh started.
  const isAfterSignIn = (known['continued'] ?? never) >= continued;
  return {
    ...(isOutdated(stale, presented) && isAfterCall && { [freshName(presented)]: stale }),
    ...(isFormer(continued, presented.issuedAt) && isAfterSignIn && { [ownName(presented)]: continued }),
  };
}

/** @returns the very same `one` where `other` adds nothing */
export function mergeRecords(one: SessionRecord, other: SessionRecord): SessionRecord {
  const later = Object.entries(other).filter(([name, time]) => time > (one[name] ?? -Infinity));
  if (later.length === 0) return one;
  const merged = limitNames({ ...one, ...Object.fromEntries(later) });
  return later.some(([name]) => merged[name] !== undefined) ? merged : one;
}

function limitNames(record: SessionRecord): SessionRecord {
  const kinds = Map.groupBy(Object.entries(record), ([name]) => name.slice(0, name.indexOf(':') + 1));
  kinds.delete('');
  const dropped = [...kinds.values()].flatMap((names) => names.toSorted(latestFirst).slice(maxNames));
  if (dropped.length === 0) return record;
  const names = new Set(dropped.map(([name]) => name));
  return Object.fromEntries(Object.entries(record).filter(([name]) => !names.has(name)));
}

function latestFirst([oneName, one]: [string, number], [otherName, other]: [string, number]): number {
  return other - one || (oneName < otherName ? 1 : -1);
}

/** Names a refresh token without revealing it. */
export function refreshTokenName(adapter: AdapterName, refreshToken: string): string {
  return `${adapter}:${hash(refreshToken)}`;
}

/** Names a pair of a refresh token with the access token that came with it. @param token its name @param access the access token */
export function pairOf(token: string, access: string): string {
  // An access token differs from others by the end of its signature.
  return `${token}.${hash(access.slice(-43)).slice(0, 22)}`;
}

/** The refresh token of a pair. */
function tokenOf(pair: string): string {
  return pair.split('.', 1)[0] ?? pair;
}

/** Hashes the id of a session, user or token, so that each has the same size. */
export function hash(id: string): string {
  return crypto.hash('sha256', id, 'base64url');
}
