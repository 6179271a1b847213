import { parseCookies } from '../core/cookies.ts';
import type { CookieWrite, RequestCookies } from '../core/cookies.ts';
import type { Allowance } from './allowance.ts';
import { refreshKey } from './refresh-coordinator.ts';
import type { Revocation } from './revocations.ts';
import type { SessionContext } from './session-context.ts';
import type { Candidate, SessionSource, Verdict } from './source.ts';

/** One of the sessions that a request carried when it signed out, and what is known of it. */
export interface LeftSession<Content> {
  readonly candidate: Candidate<Content>;
  /** `undefined` where nothing could judge it, and of a sealed session, which needs no proof. */
  readonly verdict: Verdict | undefined;
  /** Whether it is known as the provider's own, so that its session id ended. */
  readonly isAuthentic: boolean;
}

interface ReplacedSessions<Content> {
  readonly sessions: readonly LeftSession<Content>[];
  /** What is left of the request's allowance for tokens that were not verified. */
  readonly allowance: Allowance;
}

interface SignedOut<Content> extends ReplacedSessions<Content> {
  readonly cookies: readonly CookieWrite[];
}

export interface SignOut<Content> {
  /**
   * Ends every session that the cookies hold and that is authentic, here and in every process that shares the coordinator.
   *
   * @param peer the address that calls for tokens that were not verified count under
   */
  signOut(cookieHeader: string | undefined, peer?: string): Promise<SignedOut<Content>>;
  /**
   * Makes way for a new session: what the cookies held ends, and a refresh of it that is under way no longer counts.
   *
   * @returns what ended just now, for the provider to be told
   */
  replace(
    cookieHeader: string | undefined,
    newSessionId: string | undefined,
    peer?: string,
  ): Promise<ReplacedSessions<Content>>;
}

/** Sign-out: what a session leaves behind, so that nothing under way brings it back. */
export function createSignOut<Content>(context: SessionContext<Content>): SignOut<Content> {
  const { source, allowanceOf, revocations } = context;
  return {
    async signOut(cookieHeader, peer) {
      const cookies = parseCookies(cookieHeader);
      const allowance = allowanceOf(peer);
      const sessions: LeftSession<Content>[] = [];
      for (const candidate of await candidatesIn(source, cookies)) {
        sessions.push(await end(context, candidate, 'signed_out', allowance));
      }
      return { sessions, cookies: source.clear(cookies), allowance };
    },
    async replace(cookieHeader, newSessionId, peer) {
      const allowance = allowanceOf(peer);
      const sessions: LeftSession<Content>[] = [];
      for (const candidate of await candidatesIn(source, parseCookies(cookieHeader))) {
        if (candidate.sessionId === newSessionId) continue;
        const hadEnded = revocations.known(revocations.keysOf(candidate, undefined)) !== undefined;
        const left = await end(context, candidate, 'replaced', allowance);
        if (!hadEnded) sessions.push(left);
      }
      return { sessions, allowance };
    },
  };
}

async function end<Content>(
  { source, coordinator, revocations, cache }: SessionContext<Content>,
  candidate: Candidate<Content>,
  revocation: Revocation,
  allowance: Allowance,
): Promise<LeftSession<Content>> {
  cache.delete(candidate.cookie);
  // A seal proves itself, without waiting for the signing keys.
  const verdict = source.isSealed ? undefined : await tryVerify(source, candidate, allowance);
  // An unsealed cookie can name anyone's session: only a token that the provider signed may leave a revocation.
  const isAuthentic = source.isSealed || verdict?.kind === 'live' || verdict?.kind === 'expired';
  const { sessionId, tokenLifetimeMs } = candidate;
  if (isAuthentic && sessionId !== undefined) await revocations.revoke(sessionId, revocation, tokenLifetimeMs);
  // Last: an answer that comes before the revocation is kept, one that comes after it meets it.
  coordinator.forget(refreshKey(source.adapter, candidate));
  return { candidate, verdict, isAuthentic };
}

async function candidatesIn<Content>(
  source: SessionSource<Content>,
  cookies: RequestCookies,
): Promise<readonly Candidate<Content>[]> {
  const read = await source.read(cookies);
  return read.kind === 'stored' ? read.candidates : [];
}

/** @returns `undefined` where nothing could judge it */
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
