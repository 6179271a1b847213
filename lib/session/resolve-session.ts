import { createBoundedMap } from '../core/bounded-map.ts';
import { parseCookies } from '../core/cookie-codec.ts';
import type { CookieWrite, RequestCookies } from '../core/cookie-codec.ts';
import { raceDeadline } from '../core/deadline.ts';
import type { Deadline } from '../core/deadline.ts';
import { deepFreeze } from '../core/deep-freeze.ts';
import { AuthError } from '../errors.ts';
import type { Session } from '../types.ts';
import { createSessionEnds } from './end-session.ts';
import type { SessionEnds } from './end-session.ts';
import type { EndedSessions, Ending } from './ended-sessions.ts';
import type { Emit } from './events.ts';
import { refreshKey } from './refresh-coordinator.ts';
import type { RefreshCoordinator, SharedCoordinator } from './refresh-coordinator.ts';
import { createRenew } from './renew-session.ts';
import type { Renewed } from './renew-session.ts';
import type { Candidate, ReadOutcome, SessionSource, StoredSession, Verdict } from './session-source.ts';
import { createSessionWriter } from './session-writer.ts';
import type { VerifiedSessions } from './verified-sessions.ts';

/** What a request's cookies came to, and which cookies the response should carry. */
export interface Resolution {
  readonly session: Session | null;
  readonly cookies: readonly CookieWrite[];
  /** To be called when the response that carries the cookies went out; until then the next request gets them, too. */
  readonly onDelivered?: () => void;
  /** Whether the cookies are still to be sent; asked when the head goes out, as a sign-out may have come in between. */
  readonly isCurrent?: () => boolean;
  /** A refresh ahead of time that the request does not wait for. Never rejects. */
  readonly later?: Promise<Resolution | undefined>;
}

export interface SessionResolver<Content> extends SessionEnds<Content> {
  /** The session of a cookie that was verified before; `undefined` when it takes more than a look-up to tell. */
  peek(cookieHeader: string | undefined): Session | undefined;
  /**
   * Verify, else refresh, else end.
   *
   * @param isHeadSent whether it is too late to send cookies; then no token is spent
   * @throws {AuthError} `provider_unavailable`, `provider_refused` or `token_rejected`; the session is kept
   */
  resolve(cookieHeader: string | undefined, isHeadSent: () => boolean): Promise<Resolution>;
}

export interface SessionResolverParts<Content> {
  readonly source: SessionSource<Content>;
  readonly coordinator: RefreshCoordinator;
  readonly shared: SharedCoordinator | undefined;
  readonly ended: EndedSessions;
  readonly verified: VerifiedSessions;
  readonly emit: Emit;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  /** How long before its expiry a token is renewed ahead of time; 0 turns that off. */
  readonly refreshWindowMs: number;
  /** The budget of one `resolve`, for everything that it asks of the provider. */
  readonly timeoutMs: number;
}

/** How long a verified session is taken for alive before the shared tombstones are asked again. */
const sharedRecheckMs = 5_000;
const maxRenewedAhead = 10_000;
/** The widest window that there is, in which the old token may still come by. */
const renewedAheadMs = 60 * 60_000;

const nobody: Resolution = { session: null, cookies: [] };

export function createSessionResolver<Content>(parts: SessionResolverParts<Content>): SessionResolver<Content> {
  const { source, coordinator, shared, ended, verified, emit, now, refreshWindowMs, timeoutMs } = parts;
  const ends = createSessionEnds(parts);
  const endingOf = (sessionId: string | undefined): Promise<Ending | undefined> => ends.endingOf(sessionId);
  const writer = createSessionWriter(source, emit);
  const renew = createRenew({ source, coordinator, writer, endingOf, verify, emit });
  /** What was renewed ahead of time and came too late for the response that asked for it. */
  const renewedAhead = createBoundedMap<Renewed<Content>>({
    max: maxRenewedAhead,
    ttlMs: renewedAheadMs,
    now,
  });

  function isDueSoon(session: Session): boolean {
    return refreshWindowMs > 0 && session.expiresAt - now() < refreshWindowMs;
  }

  async function verify({ content, token }: StoredSession<Content>): Promise<Verdict> {
    const verdict = await source.verify(content, token);
    // One session object serves many requests: what one handler writes to it must not show up in another's.
    if (verdict.kind === 'live') deepFreeze(verdict.session);
    return verdict;
  }

  function remember(
    cookieHeader: string,
    { cookie, sessionId }: Candidate<Content>,
    { session, validUntil = session.expiresAt }: Extract<Verdict, { kind: 'live' }>,
  ): void {
    // Only what the cheap look will find again; a duplicate further back would take a place for nothing.
    if (source.peek(cookieHeader) !== cookie) return;
    const until = Math.min(validUntil, session.expiresAt);
    verified.add(cookie, { session, sessionId, validUntil: until, checkedAt: now() });
  }

  async function renewedResolution(renewed: Renewed<Content>, cookies: RequestCookies): Promise<Resolution> {
    const { session, content, sessionId, keys } = renewed;
    return {
      session,
      cookies: await writer.write(content, cookies),
      onDelivered: () => keys.forEach((key) => coordinator.confirmDelivery(key)),
      isCurrent: () => ended.endingOf(sessionId) === undefined,
    };
  }

  /** The token at hand is valid: its renewal may cost the request neither time nor success. */
  async function aheadOfTime(
    candidate: Candidate<Content>,
    session: Session,
    cookies: RequestCookies,
    isHeadSent: () => boolean,
  ): Promise<Resolution> {
    const alive: Resolution = { session, cookies: [] };
    if (!isDueSoon(session) || isHeadSent()) return alive;
    const key = refreshKey(source.adapter, candidate);
    const renewed = coordinator.knows(key) ? renewedAhead.get(key) : undefined;
    if (renewed !== undefined && renewed.session.expiresAt > now()) return renewedResolution(renewed, cookies);
    return coordinator.isResting(key) ? alive : { ...alive, later: renewAhead(candidate, key, cookies, isHeadSent) };
  }

  async function renewAhead(
    candidate: Candidate<Content>,
    key: string,
    cookies: RequestCookies,
    isHeadSent: () => boolean,
  ): Promise<Resolution | undefined> {
    try {
      const renewal = await renew(candidate, isHeadSent);
      // Whatever else the provider said, the token at hand is still valid; its own expiry will ask again.
      if (renewal.kind !== 'renewed') return undefined;
      renewedAhead.set(key, renewal);
      return await renewedResolution(renewal, cookies);
    } catch {
      return undefined;
    }
  }

  async function judge(
    cookieHeader: string,
    cookies: RequestCookies,
    read: Exclude<ReadOutcome<Content>, { kind: 'none' }>,
    isHeadSent: () => boolean,
    deadline: Deadline,
  ): Promise<Resolution> {
    let reason = read.kind === 'unreadable' ? read.reason : 'unknown';
    const outages: unknown[] = [];
    const renewable: Candidate<Content>[] = [];
    for (const candidate of read.kind === 'stored' ? read.candidates : []) {
      const ending = await endingOf(candidate.sessionId);
      if (ending !== undefined) {
        reason = ending;
        continue;
      }
      try {
        const verdict = await verify(candidate);
        if (verdict.kind === 'live') {
          remember(cookieHeader, candidate, verdict);
          return await aheadOfTime(candidate, verdict.session, cookies, isHeadSent);
        }
        // What only we can have sealed is ours, even if its key is no longer published: the provider will tell.
        if (verdict.kind === 'expired' || (verdict.kind === 'unverifiable' && source.isSealed))
          renewable.push(candidate);
        else reason = verdict.kind === 'invalid' ? verdict.reason : 'unknown_key';
      } catch (error) {
        outages.push(error);
      }
    }
    for (const candidate of renewable) {
      // Out of time: nobody waits for what further candidates would cost.
      deadline.signal.throwIfAborted();
      try {
        const renewal = await renew(candidate, isHeadSent);
        if (renewal.kind === 'renewed') return await renewedResolution(renewal, cookies);
        if (renewal.kind === 'skipped') return nobody;
        reason = renewal.reason;
      } catch (error) {
        outages.push(error);
      }
    }
    // While one candidate could not be judged, nothing is cleared.
    if (outages.length > 0) throw outages[0];
    if (reason === 'replaced') return nobody;
    emit({ type: 'session_rejected', reason });
    const isKept = read.kind === 'unreadable' && read.isKept === true;
    return isKept ? nobody : { session: null, cookies: source.clear(cookies) };
  }

  async function resolve(cookieHeader: string | undefined, isHeadSent: () => boolean): Promise<Resolution> {
    if (cookieHeader === undefined) return nobody;
    const cookies = parseCookies(cookieHeader);
    const read = await source.read(cookies);
    if (read.kind === 'none') return nobody;
    return raceDeadline((deadline) => judge(cookieHeader, cookies, read, isHeadSent, deadline), timeoutMs, outOfTime);
  }

  return {
    ...ends,
    resolve,
    peek(cookieHeader) {
      if (cookieHeader === undefined) return undefined;
      const cookie = source.peek(cookieHeader);
      const known = cookie === undefined ? undefined : verified.get(cookie);
      if (known === undefined || ended.endingOf(known.sessionId) !== undefined || isDueSoon(known.session))
        return undefined;
      if (shared !== undefined && now() - known.checkedAt > sharedRecheckMs) return undefined;
      return known.session;
    },
  };
}

function outOfTime(): AuthError {
  return new AuthError('provider_unavailable', { retryAfter: 5 });
}
