import { parseCookies } from '../tools/cookies.ts';
import type { CookieWrite, RequestCookies } from '../tools/cookies.ts';
import type { Allowance } from './allowance.ts';
import { isRevocation } from './ended/record.ts';
import type { Revocation } from './ended/record.ts';
import { holderOf } from './session-context.ts';
import type { SessionContext } from './session-context.ts';
import type { Candidate, SessionSource, Verdict } from './source.ts';
import { tokenLifetimeMs } from './jwt.ts';
import type { Session } from '../types.ts';

/** One of the sessions of a request at sign-out, with its verification. */
export interface EndedSession<Content> {
  readonly candidate: Candidate<Content>;
  /** `undefined` where verification failed to run, and for a sealed session, which needs no proof. */
  readonly verdict: Verdict | undefined;
  /** Whether it is verified as the provider's own, so that its session id was revoked. */
  readonly isAuthentic: boolean;
}

interface ReplacedSessions<Content> {
  readonly sessions: readonly EndedSession<Content>[];
  /** The rest of the request's allowance for unverified tokens. */
  readonly allowance: Allowance;
}

interface SignedOut<Content> extends ReplacedSessions<Content> {
  readonly cookies: readonly CookieWrite[];
}

export interface SignOut<Content> {
  /**
   * Ends every authentic session of the cookies, here and in every process that shares the coordinator.
   *
   * @param peer the address that provider calls for unverified tokens are counted by
   */
  signOut(cookieHeader: string | undefined, peer?: string): Promise<SignedOut<Content>>;
  /**
   * Ends the sessions of the cookies before a new one is stored; a running refresh of them is discarded.
   *
   * @returns the sessions that ended just now, to revoke at the provider
   */
  replace(
    cookieHeader: string | undefined,
    newSessionId: string | undefined,
    peer?: string,
  ): Promise<ReplacedSessions<Content>>;
  /**
   * Ends a verified session that the provider says is over, and no other session of the cookies.
   *
   * @returns the deletion of the cookies; none where another session lies in them, or may have replaced this one meanwhile
   */
  endOver(cookieHeader: string | undefined, session: Session): Promise<readonly CookieWrite[]>;
  /** Whether a verified session has ended or was replaced here, or may have elsewhere: the response that did so wrote its cookies. */
  hasEnded(session: Session): Promise<boolean>;
}

/**
 * Sign-out: records the end of a session, so that no running request restores it. Every session that was read is verified, however
 * many forged ones are among them: a sibling domain can set those, and would keep the genuine one alive. A source reads at most 16.
 */
export function createSignOut<Content>(context: SessionContext<Content>): SignOut<Content> {
  const { source, allowanceOf, revocations } = context;
  const hasEnded = ({ claims }: Session): Promise<boolean> =>
    revocations.checkAfterRefresh(revocations.keysOf(source.factsOf(claims), undefined)).then(
      ({ standing }) => isRevocation(standing),
      () => true,
    );

  return {
    hasEnded,
    async endOver(cookieHeader, session) {
      const facts = source.factsOf(session.claims);
      const { sessionId } = facts;
      const isKept = await hasEnded(session);
      if (sessionId !== undefined) {
        const lifetimeMs = tokenLifetimeMs(session.claims);
        await revocations.revoke(sessionId, 'signed_out', lifetimeMs, lastStart(source, facts));
      }
      const cookies = parseCookies(cookieHeader);
      const candidates = await candidatesIn(source, cookies);
      const hasOthers = candidates.some((candidate) => candidate.sessionId !== sessionId);
      return isKept || hasOthers ? [] : source.clear(source.holding(cookies, candidates));
    },
    async signOut(cookieHeader, peer) {
      const cookies = parseCookies(cookieHeader);
      const allowance = allowanceOf(peer);
      const sessions: EndedSession<Content>[] = [];
      for (const candidate of await candidatesIn(source, cookies)) {
        sessions.push(await end(context, candidate, 'signed_out', allowance));
      }
      return { sessions, cookies: source.clear(cookies), allowance };
    },
    async replace(cookieHeader, newSessionId, peer) {
      const allowance = allowanceOf(peer);
      const sessions: EndedSession<Content>[] = [];
      for (const candidate of await candidatesIn(source, parseCookies(cookieHeader))) {
        if (candidate.sessionId === newSessionId) continue;
        const hadEnded = revocations.knownFinally(revocations.keysOf(candidate, undefined)) !== undefined;
        const left = await end(context, candidate, 'replaced', allowance);
        if (!hadEnded) sessions.push(left);
      }
      return { sessions, allowance };
    },
  };
}

async function end<Content>(
  { source, refresh, revocations, cache }: SessionContext<Content>,
  candidate: Candidate<Content>,
  revocation: Exclude<Revocation, 'ended'>,
  allowance: Allowance,
): Promise<EndedSession<Content>> {
  cache.delete(candidate.cookie);
  // A seal is proof by itself and needs no signing keys.
  const verdict = source.isSealed ? undefined : await tryVerify(source, candidate, allowance);
  // An unsealed cookie can name another user's session: only a token that the provider signed causes a revocation.
  const isAuthentic = source.isSealed || verdict?.kind === 'live' || verdict?.kind === 'expired';
  const { sessionId, tokenLifetimeMs } = candidate;
  if (isAuthentic && sessionId !== undefined)
    await revocations.revoke(sessionId, revocation, tokenLifetimeMs, lastStart(source, candidate));
  // Last: an answer stored before the revocation is deleted here, a later one is checked against it.
  // A made-up cookie has no answer to delete, and must not cost the coordinator a command.
  if (isAuthentic) refresh.forget(holderOf(source, candidate).token);
  return { candidate, verdict, isAuthentic };
}

/**
 * The latest start that a copy of a session can name. Only a seal keeps it: an unsealed session's start is a claim,
 * and a newer token of the session may have a later one.
 */
export function lastStart<Content>(
  { isSealed }: Pick<SessionSource<Content>, 'isSealed'>,
  { beganAt = 0 }: { readonly beganAt?: number },
): number {
  return isSealed ? beganAt : Infinity;
}

async function candidatesIn<Content>(
  source: SessionSource<Content>,
  cookies: RequestCookies,
): Promise<readonly Candidate<Content>[]> {
  const read = await source.read(cookies);
  return read.kind === 'stored' ? read.candidates : [];
}

/** @returns `undefined` where verification failed to run */
async function tryVerify<Content>(
  source: SessionSource<Content>,
  { content, token }: Candidate<Content>,
  allowance: Allowance,
): Promise<Verdict | undefined> {
  try {
    return await source.verify(content, allowance, token);
  } catch {
    return undefined;
  }
}
