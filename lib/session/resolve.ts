import { createHash } from 'node:crypto';
import { createBoundedMap } from '../tools/bounded-map.ts';
import { parseCookies } from '../tools/cookies.ts';
import type { RequestCookies } from '../tools/cookies.ts';
import { untilAborted } from '../tools/deadline.ts';
import { defined } from '../tools/json.ts';
import { isRenewalUrgent, renewalDueAt, urgentWindowMs } from './jwt.ts';
import type { Session } from '../types.ts';
import type { Allowance } from './allowance.ts';
import { isRevocation } from './ended/record.ts';
import type { SessionKeys } from './ended/records.ts';
import type { Holder } from './refresh/answers.ts';
import { deletionOf, resolutionOf } from './refresh/delivery.ts';
import { renewWithin } from './refresh/renewal.ts';
import type { Renew } from './refresh/renewal.ts';
import type { RevocationCheck } from './ended/revocations.ts';
import { unseen } from './cache.ts';
import type { VerifiedSession } from './cache.ts';
import { goesOn, holderOf } from './session-context.ts';
import type { SessionContext } from './session-context.ts';
import { outOfTime, signedOut, verifyStored } from './source.ts';
import type { Candidate, ClientFacts, ReadOutcome, Resolution, Verdict } from './source.ts';

/** How many tokens with a bad signature one request may have checked: each costs as much as a genuine one. */
const maxForged = 4;

type FoundCookies<Content> = Exclude<ReadOutcome<Content>, { kind: 'none' }>;

/**
 * Verifies, else refreshes, else ends the session.
 *
 * @param isHeadSent whether it is too late to send cookies; then no token is spent
 * @param client the request's client; provider calls for unverified tokens are counted by its address
 * @param arrivedAt when the request came, in milliseconds since the epoch; default: now
 * @throws {AuthError} `provider_unavailable`, `provider_refused` or `token_rejected`; the session is kept
 */
export type Resolve = (
  cookieHeader: string | undefined,
  isHeadSent: () => boolean,
  client?: ClientFacts,
  arrivedAt?: number,
) => Promise<Resolution>;

interface CookieRequest {
  readonly cookieHeader: string;
  /** Those that hold sessions of this application; a guard writes and deletes no others. */
  readonly cookies: RequestCookies;
  readonly isHeadSent: () => boolean;
  readonly client: ClientFacts;
  readonly arrivedAt: number | undefined;
  readonly allowance: Allowance;
  /** Aborts at the request's deadline. */
  readonly signal: AbortSignal;
}

/** A session that needs a new token before it is used. */
interface Renewable<Content> {
  readonly kind: 'renewable';
  readonly candidate: Candidate<Content>;
  /** Its session, used while the provider is unavailable: the token expires soon, expired seconds ago, or was exchanged for another organization's. */
  readonly alive?: Session;
  /** Whether the token is verified as the provider's own. */
  readonly isVerified: boolean;
}

/** A session that is over, or never was one. */
interface Over<Content> {
  readonly kind: 'over';
  readonly reason: string;
  /** The session, where it was ours and has ended for certain: its cookies are deleted. */
  readonly ended?: Candidate<Content> | undefined;
  /** Whether it has reached its lifetime. */
  readonly isAged?: boolean | undefined;
  readonly signIn?: Readonly<Record<string, string>> | undefined;
}

/** What was found of one of a request's sessions. */
type Finding<Content> =
  | { readonly kind: 'resolved'; readonly resolution: Resolution }
  | Renewable<Content>
  | Over<Content>
  /** It could not be judged, so nothing is cleared. */
  | { readonly kind: 'unknown'; readonly cause: unknown }
  /** It was left out, because too many before it were forged. */
  | { readonly kind: 'skipped' };

/** Looks at every session of the cookies, then renews the first that can be renewed, verified ones first. */
export function createResolve<Content>(context: SessionContext<Content>, renew: Renew<Content>): Resolve {
  const { source, revocations, allowanceOf, timeoutMs } = context;
  const lookAtAll = createLook(context, renew);
  const reportOnce = createRejectionReport(context);

  /** @throws the first reason why a session could not be judged */
  function conclude(read: FoundCookies<Content>, findings: readonly Finding<Content>[], request: CookieRequest) {
    const unknown = findings.find((finding) => finding.kind === 'unknown');
    if (unknown !== undefined) throw unknown.cause;
    const over = findings.filter((finding) => finding.kind === 'over');
    const last = over.at(-1);
    const reason = last?.reason ?? (read.kind === 'unreadable' ? read.reason : 'unknown');
    if (reason === 'replaced' || reason === 'superseded') return signedOut;
    reportOnce(read, request.cookieHeader, reason, last);
    const ended = over.flatMap((finding) => finding.ended ?? []);
    // Another site's cookies must not cost a session that was not looked at.
    const isKept = (read.kind === 'stored' && read.isKept === true) || findings.some(({ kind }) => kind === 'skipped');
    const cookies = isKept ? [] : source.clear(source.holding(request.cookies, ended));
    // A sign-in may come meanwhile.
    const isReplaced = (): boolean =>
      ended.some((each) => revocations.knownRevocation(revocations.keysOf(each, undefined)) === 'replaced');
    return {
      session: null,
      cookies,
      ...deletionOf(context, isReplaced, request.arrivedAt),
      ...defined({ signIn: last?.signIn }),
    };
  }

  return async (cookieHeader, isHeadSent, client = {}, arrivedAt) => {
    if (cookieHeader === undefined) return signedOut;
    const all = parseCookies(cookieHeader);
    const read = await source.read(all);
    if (read.kind === 'none') return signedOut;
    const signal = AbortSignal.timeout(timeoutMs);
    const candidates = read.kind === 'stored' ? read.candidates : [];
    const cookies = source.holding(all, candidates);
    const allowance = allowanceOf(client.ipAddress);
    const request = { cookieHeader, cookies, isHeadSent, client, arrivedAt, signal, allowance };
    const findings = await untilAborted(lookAtAll(candidates, request), signal, outOfTime);
    const renewable = withoutFormer(findings.filter((finding) => finding.kind === 'renewable'));
    for (const next of inOrder(renewable)) {
      if (findings.some(({ kind }) => kind === 'resolved')) break;
      // At the deadline, no further candidates are tried.
      if (signal.aborted) throw outOfTime();
      findings.push(await renewOne(context, renew, next, request));
    }
    const resolved = findings.find((finding) => finding.kind === 'resolved');
    return resolved?.resolution ?? conclude(read, findings, request);
  };
}

/** Of one session's tokens only the newest: a provider that is sent one of the spent ones takes it for stolen, and ends the session. */
function withoutFormer<Content>(renewable: readonly Renewable<Content>[]): Renewable<Content>[] {
  const isFormer = ({ sessionId, issuedAt }: Candidate<Content>): boolean =>
    sessionId !== undefined &&
    renewable.some(
      ({ candidate: other, isVerified }) => isVerified && other.sessionId === sessionId && other.issuedAt > issuedAt,
    );
  return renewable.filter(({ candidate }) => !isFormer(candidate));
}

/**
 * Sessions with a verified token first, else as the cookies have them, and of one session the newest token first: a project that publishes
 * no key can prove few expired tokens. Anyone can make up a newer one, so that one only comes first, and hides no other.
 */
function inOrder<Content>(renewable: readonly Renewable<Content>[]): readonly Renewable<Content>[] {
  const ranked = renewable.map((each) => {
    const { sessionId, issuedAt } = each.candidate;
    const isSame = (other: Renewable<Content>): boolean =>
      other === each || (sessionId !== undefined && other.candidate.sessionId === sessionId);
    const isProven = renewable.some((other) => other.isVerified && isSame(other));
    return { each, issuedAt, proof: Number(isProven), turn: renewable.findIndex(isSame) };
  });
  const sorted = ranked.toSorted(
    (one, other) => other.proof - one.proof || one.turn - other.turn || other.issuedAt - one.issuedAt,
  );
  return sorted.map(({ each }) => each);
}

/** @returns what was found of each session, up to the first live one */
function createLook<Content>(context: SessionContext<Content>, renew: Renew<Content>) {
  const { cache } = context;

  return async (candidates: readonly Candidate<Content>[], request: CookieRequest): Promise<Finding<Content>[]> => {
    const findings: Finding<Content>[] = [];
    let forged = 0;
    for (const candidate of candidates) {
      // A session that was verified before is looked at even so.
      if (forged === maxForged && cache.get(candidate.cookie) === undefined) {
        findings.push({ kind: 'skipped' });
        continue;
      }
      const finding = await look(context, renew, candidate, request).catch((cause: unknown): Finding<Content> => ({
        kind: 'unknown',
        cause,
      }));
      if (finding.kind === 'resolved') return [finding];
      // A key of the provider was tried, and the token is not signed with it.
      if (finding.kind === 'over' && finding.reason === 'signature') forged += 1;
      findings.push(finding);
    }
    return findings;
  };
}

async function look<Content>(
  context: SessionContext<Content>,
  renew: Renew<Content>,
  candidate: Candidate<Content>,
  request: CookieRequest,
): Promise<Finding<Content>> {
  const { source, refresh, revocations, unconfirmed, now } = context;
  const holder = holderOf(source, candidate);
  const keys = revocations.keysOf(candidate, holder.pair);
  // The other processes are asked once: about a sealed cookie before its token is verified, about any other one afterward.
  const before = await checkUnverified(context, keys);
  if (isRevocation(before.standing)) return { kind: 'over', reason: before.standing, ended: candidate };
  const verdict = await verifyStored(source, candidate, request.allowance);
  const isProven = verdict.kind === 'live' || verdict.kind === 'expired';
  const check = isProven && !source.isSealed ? await revocations.check(keys) : before;
  const { standing, checkedAt, isConfirmed } = check;
  if (isRevocation(standing)) return { kind: 'over', reason: standing, ended: candidate };
  if (verdict.kind === 'invalid') return lookFurther(context, holder, candidate, verdict);
  // Only we can have sealed it, so it is ours even if its key is no longer published: the provider decides.
  const renewable = { kind: 'renewable' as const, candidate, isVerified: isProven || source.isSealed };
  // Without its session: outdated claims are not trusted during an outage either.
  if (verdict.kind !== 'live' || standing === 'stale') return renewable;
  const { session } = verdict;
  refresh.received(holder.token);
  // A second factor or another library may have renewed it, not a request to this package.
  await revocations.extend(keys, session);
  if (!isConfirmed) unconfirmed.add(session);
  if (standing === 'spent' || isDue(verdict, now())) return { ...renewable, alive: session };
  cacheSession(context, request.cookieHeader, candidate.cookie, { ...verdict, keys, checkedAt });
  return { kind: 'resolved', resolution: await renewAhead(context, renew, { candidate, session }, request) };
}

/** What becomes of a token that is not valid: a newer one of its session may be. */
async function lookFurther<Content>(
  context: SessionContext<Content>,
  holder: Holder,
  candidate: Candidate<Content>,
  verdict: Extract<Verdict, { kind: 'invalid' }>,
): Promise<Finding<Content>> {
  const isInUse = await goesOn(context, holder, verdict);
  if (isInUse === true) return { kind: 'renewable', candidate, isVerified: true };
  const { reason, isAged, isOver = false } = verdict;
  return { kind: 'over', reason, isAged, ended: isOver && isInUse === false ? candidate : undefined };
}

/** Whether a token is renewed before it is used. */
function isDue({ session, renewalDueAt: dueAt = Infinity }: LiveVerdict, now: number): boolean {
  return dueAt <= now || isRenewalUrgent(session.claims, now);
}

type LiveVerdict = Extract<Verdict, { kind: 'live' }>;

/** Anyone can forge an unsealed cookie, so only what this process knows counts until it is verified. */
function checkUnverified<Content>(
  { source, revocations }: SessionContext<Content>,
  keys: SessionKeys,
): Promise<RevocationCheck> | RevocationCheck {
  if (source.isSealed) return revocations.check(keys);
  const standing = revocations.knownFinally(keys) ?? 'live';
  return { standing, checkedAt: 0, isConfirmed: false };
}

/** Renews in the background: the current token is valid, so the request must neither wait nor fail. */
async function renewAhead<Content>(
  context: SessionContext<Content>,
  renew: Renew<Content>,
  { candidate, session }: { readonly candidate: Candidate<Content>; readonly session: Session },
  request: CookieRequest,
): Promise<Resolution> {
  const { source, refresh, now, refreshWindowMs } = context;
  const alive: Resolution = { session, cookies: [] };
  // With a window of 0 it never is: a token that expires within seconds is renewed before use.
  if (renewalDueAt(session.claims, refreshWindowMs) > now()) return alive;
  const holder = holderOf(source, candidate);
  const renewed = async (): Promise<Resolution | undefined> => {
    const renewal = await renewWithin(context, renew, candidate, { ...request, isVerified: true });
    return renewal.kind === 'renewed' ? resolutionOf(context, renewal, request.cookies) : undefined;
  };
  // Whatever the provider answers, the current token is still valid; its expiry causes the next attempt.
  const tried = (): Promise<Resolution | undefined> => renewed().catch(() => undefined);
  if (refresh.settled(holder) !== undefined) return (await tried()) ?? alive;
  return request.isHeadSent() || refresh.isResting(holder.token) ? alive : { ...alive, later: tried() };
}

async function renewOne<Content>(
  context: SessionContext<Content>,
  renew: Renew<Content>,
  next: Renewable<Content>,
  request: CookieRequest,
): Promise<Finding<Content>> {
  const { source, refresh, revocations, now } = context;
  const { candidate, alive, isVerified } = next;
  /** Its session, where it is still valid. */
  const aliveNow = (): Finding<Content> | undefined =>
    alive === undefined || revocations.knownRevocation(revocations.keysOf(candidate, undefined)) !== undefined
      ? undefined
      : { kind: 'resolved', resolution: { session: alive, cookies: [] } };
  const rested = refresh.isResting(holderOf(source, candidate).token) ? aliveNow() : undefined;
  if (rested !== undefined) return rested;
  try {
    const renewing = renewWithin(context, renew, candidate, { ...request, isVerified });
    const renewal = await untilAborted(renewing, request.signal, outOfTime);
    if (renewal.kind === 'renewed') {
      return { kind: 'resolved', resolution: await resolutionOf(context, renewal, request.cookies) };
    }
    // Too late for a new token. That is no outage, so an expired token is not valid any more.
    if (renewal.kind === 'skipped') {
      const isExpired = alive === undefined || alive.expiresAt <= now();
      return (isExpired ? undefined : aliveNow()) ?? { kind: 'resolved', resolution: signedOut };
    }
    const { reason, isAged } = renewal;
    const signIn = source.signInAfter?.(candidate.content, reason);
    const over: Over<Content> = { kind: 'over', reason, isAged, ended: candidate, signIn };
    // Its token was exchanged in a switch, whose answer is no longer kept: its own token is still valid.
    return (reason === 'superseded' ? aliveNow() : undefined) ?? over;
  } catch (cause) {
    return aliveNow() ?? { kind: 'unknown', cause };
  }
}

function cacheSession<Content>(
  { source, cache, refreshWindowMs }: SessionContext<Content>,
  cookieHeader: string,
  cookie: string,
  {
    session,
    keys,
    checkedAt,
    validUntil = session.expiresAt,
    renewalDueAt: isDueAt = Infinity,
  }: LiveVerdict & Pick<VerifiedSession, 'keys' | 'checkedAt'>,
): void {
  // Only the cookie that `findCookie` returns; a duplicate would only occupy an entry.
  if (source.findCookie(cookieHeader) !== cookie) return;
  const dueAt = renewalDueAt(session.claims, Math.max(refreshWindowMs, urgentWindowMs));
  const until = Math.min(validUntil, session.expiresAt, dueAt, isDueAt);
  cache.add(cookie, { session, keys, validUntil: until, checkedAt, changes: unseen });
}

/** A session that is ours and has reached its lifetime was no mistake of anyone's. */
function eventOf<Content>({ isAged, ended }: Partial<Over<Content>> = {}) {
  if (isAged !== true || ended === undefined) return { type: 'session_rejected' as const };
  return { type: 'session_ended' as const, ...defined({ userId: ended.userId, sessionId: ended.sessionId }) };
}

/** How long a rejected cookie is not reported again, in milliseconds. */
const rejectedMs = 10 * 60_000;
const maxRejected = 10_000;

/** A client that keeps a rejected cookie is reported once, not with every request. */
function createRejectionReport<Content>({ source, emit, now }: SessionContext<Content>) {
  const rejected = createBoundedMap<true>({ max: maxRejected, ttlMs: rejectedMs, now });
  return (read: FoundCookies<Content>, cookieHeader: string, reason: string, over?: Over<Content>): void => {
    const cookies = read.kind === 'stored' ? read.candidates.map(({ cookie }) => cookie) : [];
    const rest = cookies.length === 0 ? [source.findCookie(cookieHeader) ?? cookieHeader] : cookies;
    const key = createHash('sha256')
      .update([reason, ...rest].join('\n'))
      .digest('base64url');
    if (!rejected.has(key)) emit({ ...eventOf(over), reason });
    rejected.set(key, true);
  };
}
