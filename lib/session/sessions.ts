import { createHash } from 'node:crypto';
import { createBoundedMap } from '../core/bounded-map.ts';
import { isRenewalUrgent, renewalDueAt, urgentWindowMs } from '../tokens/access-token.ts';
import { parseCookies } from '../core/cookies.ts';
import { withDeadline } from '../core/deadline.ts';
import { deepFreeze } from '../core/json.ts';
import { AuthError } from '../errors.ts';
import type { Session } from '../types.ts';
import type { Allowance } from './allowance.ts';
import { createSessionEnds } from './sign-out.ts';
import type { SessionEnds } from './sign-out.ts';
import { createRevocations, sessionKey } from './revocations.ts';
import type { Revocations, Revocation } from './revocations.ts';
import type { Emit } from './events.ts';
import type { RefreshCoordinator, SharedCoordinator } from './refresh-coordinator.ts';
import { createRenew } from './renewal.ts';
import { createRenewAhead, createRenewFirst, signedOut } from './renew-candidates.ts';
import type { Attempt, Renewable, Resolution } from './renew-candidates.ts';
import type {
  Candidate,
  ClientFacts,
  ReadOutcome,
  SessionSource,
  StoredSession,
  TokenOrigin,
  Verdict,
} from './source.ts';
import { createSessionWriter } from './session-writer.ts';
import type { SessionCache } from './session-cache.ts';
import { createAllowances } from './allowance.ts';
import { createRefreshCoordinator } from './refresh-coordinator.ts';
import { createSessionCache } from './session-cache.ts';

export type { Resolution } from './renew-candidates.ts';

export interface SessionResolver<Content> extends SessionEnds<Content> {
  /** The session of a cookie that was verified before; `undefined` when it takes more than a look-up to tell. */
  cachedSession(cookieHeader: string | undefined): Session | undefined;
  /**
   * Verify, else refresh, else end.
   *
   * @param isHeadSent whether it is too late to send cookies; then no token is spent
   * @param client who asks; its address is what calls for tokens that were not verified count under
   * @throws {AuthError} `provider_unavailable`, `provider_refused` or `token_rejected`; the session is kept
   */
  resolve(cookieHeader: string | undefined, isHeadSent: () => boolean, client?: ClientFacts): Promise<Resolution>;
}

export interface SessionResolverParts<Content> {
  readonly source: SessionSource<Content>;
  readonly coordinator: RefreshCoordinator;
  readonly shared: SharedCoordinator | undefined;
  readonly ended: Revocations;
  readonly verified: SessionCache;
  readonly allowanceOf: (peer: string | undefined) => Allowance;
  readonly emit: Emit;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  /** How long before its expiry a token is renewed in the background, at most a tenth of its lifetime; 0 turns that off. */
  readonly refreshWindowMs: number;
  /** The budget of one `resolve`, for everything that it asks of the provider. */
  readonly timeoutMs: number;
}

/** How long a verified session is taken for alive before the shared revocations are asked again. */
const sharedRecheckMs = 5_000;
/** How long a rejected cookie is not reported again. */
const rejectedMs = 10 * 60_000;
const maxRejected = 10_000;

export function createSessionResolver<Content>(parts: SessionResolverParts<Content>): SessionResolver<Content> {
  const { source, coordinator, shared, ended, verified, allowanceOf, emit, now, refreshWindowMs, timeoutMs } = parts;
  const ends = createSessionEnds(parts);
  const revocationOf = (sessionId: string | undefined): Promise<Revocation | undefined> => ends.revocationOf(sessionId);
  const writer = createSessionWriter(source, emit);
  const verifyNew = (stored: StoredSession<Content>): Promise<Verdict> => verify(stored, 'provider');
  const revocationAfterRefresh: typeof revocationOf = (sessionId) => ends.revocationAfterRefresh(sessionId);
  const renew = createRenew({
    source,
    coordinator,
    writer,
    revocationOf: revocationAfterRefresh,
    verify: verifyNew,
    emit,
    now,
  });
  const renewalParts = { source, coordinator, writer, ended, renew, now, refreshWindowMs };
  const renewAhead = createRenewAhead(renewalParts);
  const renewFirst = createRenewFirst(renewalParts);
  const rejected = createBoundedMap<true>({ max: maxRejected, ttlMs: rejectedMs, now });
  const windowMs = Math.max(refreshWindowMs, urgentWindowMs);

  async function verify({ content, token }: StoredSession<Content>, origin: TokenOrigin): Promise<Verdict> {
    const verdict = await source.verify(content, origin, token);
    // One session object serves many requests: what one handler writes to it must not show up in another's.
    if (verdict.kind === 'live') deepFreeze(verdict.session);
    return verdict;
  }

  function cacheSession(
    cookieHeader: string,
    { cookie, sessionId }: Candidate<Content>,
    { session, validUntil = session.expiresAt }: Extract<Verdict, { kind: 'live' }>,
  ): void {
    // Only what the cheap look will find again; a duplicate further back would take a place for nothing.
    if (source.findCookie(cookieHeader) !== cookie) return;
    const until = Math.min(validUntil, session.expiresAt, renewalDueAt(session.claims, windowMs));
    verified.add(cookie, { session, sessionKey: sessionKey(sessionId), validUntil: until, checkedAt: now() });
  }

  /** The first live session, or else what a renewal may bring back to life. */
  async function verifyEach(
    candidates: readonly Candidate<Content>[],
    attempt: Attempt,
  ): Promise<Resolution | readonly Renewable<Content>[]> {
    const renewable: Renewable<Content>[] = [];
    const unverified: Renewable<Content>[] = [];
    for (const candidate of candidates) {
      const ending = await revocationOf(candidate.sessionId);
      if (ending !== undefined) {
        attempt.reason = ending;
        continue;
      }
      try {
        const verdict = await verify(candidate, attempt.allowance);
        if (verdict.kind === 'live') {
          const { session } = verdict;
          if (isRenewalUrgent(session.claims, now())) {
            renewable.push({ candidate, alive: session, isVerified: true });
            continue;
          }
          cacheSession(attempt.cookieHeader, candidate, verdict);
          return await renewAhead(candidate, session, attempt);
        }
        if (verdict.kind === 'invalid') attempt.reason = verdict.reason;
        // What only we can have sealed is ours, even if its key is no longer published: the provider will tell.
        else if (verdict.kind === 'expired' || source.isSealed)
          renewable.push({ candidate, alive: undefined, isVerified: true });
        else unverified.push({ candidate, alive: undefined, isVerified: false });
      } catch (error) {
        attempt.outages.push(error);
      }
    }
    return [...renewable, ...unverified];
  }

  /** A client that keeps a dead cookie is news once, not with every request. */
  function reportOnce(read: Exclude<ReadOutcome<Content>, { kind: 'none' }>, { cookieHeader, reason }: Attempt): void {
    const cookies = read.kind === 'stored' ? read.candidates.map(({ cookie }) => cookie) : [];
    const rest = cookies.length === 0 ? [source.findCookie(cookieHeader) ?? cookieHeader] : cookies;
    const key = createHash('sha256')
      .update([reason, ...rest].join('\n'))
      .digest('base64url');
    if (!rejected.has(key)) emit({ type: 'session_rejected', reason });
    rejected.set(key, true);
  }

  async function resolveCandidates(
    read: Exclude<ReadOutcome<Content>, { kind: 'none' }>,
    attempt: Attempt,
  ): Promise<Resolution> {
    const found = await verifyEach(read.kind === 'stored' ? read.candidates : [], attempt);
    if ('session' in found) return found;
    const renewed = await renewFirst(found, attempt);
    if (renewed !== undefined) return renewed;
    const { outages, reason, cookies } = attempt;
    if (outages.length > 0) throw outages[0];
    if (reason === 'replaced' || reason === 'superseded') return signedOut;
    reportOnce(read, attempt);
    return read.isKept === true ? signedOut : { session: null, cookies: source.clear(cookies) };
  }

  const resolve: SessionResolver<Content>['resolve'] = async (cookieHeader, isHeadSent, client = {}) => {
    if (cookieHeader === undefined) return signedOut;
    const cookies = parseCookies(cookieHeader);
    const read = await source.read(cookies);
    if (read.kind === 'none') return signedOut;
    const reason = read.kind === 'unreadable' ? read.reason : 'unknown';
    const allowance = allowanceOf(client.ipAddress);
    let attempt: Attempt | undefined;
    try {
      return await withDeadline(
        (signal) => {
          attempt = { cookieHeader, cookies, isHeadSent, client, allowance, signal, outages: [], reason };
          return resolveCandidates(read, attempt);
        },
        timeoutMs,
        outOfTime,
      );
    } catch (error) {
      if (attempt?.fallback === undefined) throw error;
      return attempt.fallback;
    }
  };

  return {
    ...ends,
    resolve,
    cachedSession(cookieHeader) {
      if (cookieHeader === undefined) return undefined;
      const cookie = source.findCookie(cookieHeader);
      const known = cookie === undefined ? undefined : verified.get(cookie);
      if (known === undefined || ended.revocationOf(known.sessionKey) !== undefined) return undefined;
      if (shared !== undefined && now() - known.checkedAt > sharedRecheckMs) return undefined;
      return known.session;
    },
  };
}

function outOfTime(): AuthError {
  return new AuthError('provider_unavailable', { retryAfter: 5 });
}

export interface SessionSettings {
  readonly timeoutMs: number;
  /** Seconds. */
  readonly refreshWindow: number;
  readonly maxCachedSessions: number;
  readonly coordinator?: SharedCoordinator | undefined;
  readonly emit: Emit;
  readonly now: () => number;
}

/** Everything that one adapter's sessions need, put together. */
export function createSessions<Content>(
  source: SessionSource<Content>,
  settings: SessionSettings,
): SessionResolver<Content> {
  const { timeoutMs, refreshWindow, maxCachedSessions, coordinator: shared, emit, now } = settings;
  return createSessionResolver({
    source,
    coordinator: createRefreshCoordinator({ now, emit, timeoutMs, shared }),
    shared,
    ended: createRevocations(now),
    verified: createSessionCache(maxCachedSessions, now),
    allowanceOf: createAllowances(now, emit),
    emit,
    now,
    refreshWindowMs: refreshWindow * 1000,
    timeoutMs,
  });
}
