import { createHash } from 'node:crypto';
import { createBoundedMap } from '../core/bounded-map.ts';
import { defined } from '../core/json.ts';
import type { Session } from '../types.ts';
import { isRenewalUrgent, renewalDueAt, urgentWindowMs } from '../tokens/access-token.ts';
import { createCandidateRenewal, signedOut } from './renew-candidates.ts';
import type { Attempt, Renewable, Resolution } from './renew-candidates.ts';
import type { Renew } from './renewal.ts';
import { isRevocation } from './record.ts';
import type { RevocationCheck } from './revocations.ts';
import { unseen } from './session-cache.ts';
import type { SessionContext } from './session-context.ts';
import { verifyStored } from './source.ts';
import type { Candidate, ReadOutcome, Verdict } from './source.ts';
import { placeOf } from './token-lines.ts';

/** How many tokens with a bad signature one request may have checked: each costs as much as a genuine one. */
const maxForged = 4;

type FoundCookies<Content> = Exclude<ReadOutcome<Content>, { kind: 'none' }>;

/** Verifies, else refreshes, else ends the session. */
type ResolveCandidates<Content> = (read: FoundCookies<Content>, attempt: Attempt) => Promise<Resolution>;

export function createResolveCandidates<Content>(
  context: SessionContext<Content>,
  renew: Renew<Content>,
): ResolveCandidates<Content> {
  const { source, cache } = context;
  const renewal = createCandidateRenewal(context, renew);
  const reportOnce = createRejectionReport(context);

  /** The first live session, else the candidates that a renewal may restore, verified tokens first. */
  async function verifyEach(
    candidates: readonly Candidate<Content>[],
    attempt: Attempt,
  ): Promise<Resolution | readonly Renewable<Content>[]> {
    const renewable: Renewable<Content>[] = [];
    let forged = 0;
    for (const candidate of candidates) {
      // A session that was verified before is looked at even so.
      if (forged === maxForged && cache.get(candidate.cookie) === undefined) {
        attempt.isIncomplete = true;
        continue;
      }
      try {
        const checked = await checkUnverified(context, candidate);
        if (isRevocation(checked.standing)) {
          attempt.reason = checked.standing;
          continue;
        }
        const found = await verifyOne(context, candidate, attempt, checked);
        if (found === 'forged') forged += 1;
        if (found === undefined || found === 'forged') continue;
        if ('claims' in found) return await renewal.ahead(candidate, found, attempt);
        renewable.push(found);
      } catch (error) {
        attempt.outages.push(error);
      }
    }
    return [...renewable.filter(({ isVerified }) => isVerified), ...renewable.filter(({ isVerified }) => !isVerified)];
  }

  return async (read, attempt) => {
    const found = await verifyEach(read.kind === 'stored' ? read.candidates : [], attempt);
    if ('session' in found) return found;
    const renewed = await renewal.first(found, attempt);
    if (renewed !== undefined) return renewed;
    const { outages, reason, cookies, isIncomplete = false } = attempt;
    if (outages.length > 0) throw outages[0];
    if (reason === 'replaced' || reason === 'superseded') return signedOut;
    reportOnce(read, attempt);
    // Another site's cookies must not cost a session that was not looked at.
    const isKept = read.isKept === true || isIncomplete;
    const ended = isKept ? signedOut : { session: null, cookies: source.clear(cookies) };
    return { ...ended, ...defined({ signIn: attempt.signIn }) };
  };
}

/** Anyone can forge an unsealed cookie: until it is verified, only this process is asked about it. */
function checkUnverified<Content>(
  { source, revocations }: SessionContext<Content>,
  candidate: Candidate<Content>,
): Promise<RevocationCheck> | RevocationCheck {
  const { token } = placeOf(source.adapter, candidate);
  if (source.isSealed) return revocations.check(candidate, token);
  const standing = revocations.knownFinally(revocations.keysOf(candidate, token)) ?? 'live';
  return { standing, checkedAt: 0 };
}

/** @param checked the revocation check so far */
async function verifyOne<Content>(
  context: SessionContext<Content>,
  candidate: Candidate<Content>,
  attempt: Attempt,
  checked: RevocationCheck,
): Promise<Session | Renewable<Content> | 'forged' | undefined> {
  const { source, revocations, now } = context;
  const { token } = placeOf(source.adapter, candidate);
  const verdict = await verifyStored(source, candidate, attempt.allowance);
  const isProven = verdict.kind === 'live' || verdict.kind === 'expired';
  const isCheckDue = isProven && !source.isSealed;
  const look = isCheckDue ? await revocations.check(candidate, token) : checked;
  const { standing, checkedAt } = look;
  if (isRevocation(standing)) {
    attempt.reason = standing;
    return undefined;
  }
  if (verdict.kind === 'live') {
    const { session } = verdict;
    // Without a fallback: outdated claims are not trusted during an outage either.
    if (standing === 'stale') return { candidate, alive: undefined, isVerified: true };
    if (standing === 'spent' || isRenewalUrgent(session.claims, now()))
      return { candidate, alive: session, isVerified: true };
    cacheSession(context, attempt.cookieHeader, candidate, { ...verdict, checkedAt });
    return session;
  }
  if (verdict.kind === 'invalid') {
    attempt.reason = verdict.reason;
    // A key of the provider was tried, and the token is not signed with it.
    return verdict.reason === 'signature' ? 'forged' : undefined;
  }
  // Only we can have sealed it, so it is ours even if its key is no longer published: the provider decides.
  return { candidate, alive: undefined, isVerified: isProven || source.isSealed };
}

function cacheSession<Content>(
  { source, cache, revocations, refreshWindowMs }: SessionContext<Content>,
  cookieHeader: string,
  candidate: Candidate<Content>,
  {
    session,
    checkedAt,
    validUntil = session.expiresAt,
  }: Extract<Verdict, { kind: 'live' }> & Pick<RevocationCheck, 'checkedAt'>,
): void {
  const { cookie } = candidate;
  // Only the cookie that `findCookie` returns; a duplicate would only occupy an entry.
  if (source.findCookie(cookieHeader) !== cookie) return;
  const dueAt = renewalDueAt(session.claims, Math.max(refreshWindowMs, urgentWindowMs));
  const until = Math.min(validUntil, session.expiresAt, dueAt);
  const keys = revocations.keysOf(candidate, placeOf(source.adapter, candidate).token);
  cache.add(cookie, { session, keys, validUntil: until, checkedAt, changes: unseen });
}

/** How long a rejected cookie is not reported again, in milliseconds. */
const rejectedMs = 10 * 60_000;
const maxRejected = 10_000;

/** A client that keeps a rejected cookie is reported once, not with every request. */
function createRejectionReport<Content>({ source, emit, now }: SessionContext<Content>) {
  const rejected = createBoundedMap<true>({ max: maxRejected, ttlMs: rejectedMs, now });
  return (read: FoundCookies<Content>, { cookieHeader, reason }: Attempt): void => {
    const cookies = read.kind === 'stored' ? read.candidates.map(({ cookie }) => cookie) : [];
    const rest = cookies.length === 0 ? [source.findCookie(cookieHeader) ?? cookieHeader] : cookies;
    const key = createHash('sha256')
      .update([reason, ...rest].join('\n'))
      .digest('base64url');
    if (!rejected.has(key)) emit({ type: 'session_rejected', reason });
    rejected.set(key, true);
  };
}
