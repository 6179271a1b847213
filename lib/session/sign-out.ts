import { parseCookies } from '../core/cookies.ts';
import type { CookieWrite, RequestCookies } from '../core/cookies.ts';
import type { Allowance } from './allowance.ts';
import { sessionKey, revocationMs } from './revocations.ts';
import type { Revocations, Revocation } from './revocations.ts';
import type { Emit } from './events.ts';
import { refreshKey } from './refresh-coordinator.ts';
import type { RefreshCoordinator, SharedCoordinator } from './refresh-coordinator.ts';
import type { Candidate, SessionSource, Verdict } from './source.ts';
import type { SessionCache } from './session-cache.ts';

/** One of the sessions that a request carried when it signed out, and what is known of it. */
export interface LeftSession<Content> {
  readonly candidate: Candidate<Content>;
  /** `undefined` where nothing could judge it, and of a sealed session, which needs no proof. */
  readonly verdict: Verdict | undefined;
  /** Whether it is known as the provider's own, so that its session id ended. */
  readonly isAuthentic: boolean;
}

export interface ReplacedSessions<Content> {
  readonly sessions: readonly LeftSession<Content>[];
  /** What is left of the request's allowance for tokens that were not verified. */
  readonly allowance: Allowance;
}

export interface SignedOut<Content> extends ReplacedSessions<Content> {
  readonly cookies: readonly CookieWrite[];
}

export interface SessionEnds<Content> {
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
  /** How the session ended, if it did while its tokens may still be valid. */
  revocationOf(sessionId: string | undefined): Promise<Revocation | undefined>;
  /** The same for an answer to a refresh, which must not overwrite the cookie of a sign-in that another process has stored meanwhile. */
  revocationAfterRefresh(sessionId: string | undefined): Promise<Revocation | undefined>;
}

export interface SessionEndsParts<Content> {
  readonly source: SessionSource<Content>;
  readonly coordinator: Pick<RefreshCoordinator, 'forget'>;
  readonly shared: SharedCoordinator | undefined;
  readonly ended: Revocations;
  readonly verified: Pick<SessionCache, 'delete'>;
  readonly allowanceOf: (peer: string | undefined) => Allowance;
  readonly emit: Emit;
}

/** Sign-out: what a session leaves behind, so that nothing under way brings it back. */
export function createSessionEnds<Content>(parts: SessionEndsParts<Content>): SessionEnds<Content> {
  const { source, coordinator, ended, verified, allowanceOf } = parts;
  const elsewhere = createSharedRevocations(parts.shared, parts.emit);

  async function revocationOf(sessionId: string | undefined): Promise<Revocation | undefined> {
    const here = ended.revocationOf(sessionKey(sessionId));
    if (here !== undefined || sessionId === undefined) return here;
    return (await elsewhere.has(sessionId)) ? 'signed_out' : undefined;
  }

  async function revocationAfterRefresh(sessionId: string | undefined): Promise<Revocation | undefined> {
    const [ending, isReplaced] = await Promise.all([
      revocationOf(sessionId),
      sessionId !== undefined && elsewhere.has(replacedMark(sessionId)),
    ]);
    if (ending !== undefined || sessionId === undefined || !isReplaced) return ending;
    ended.end(sessionId, 'replaced', replacedMarkMs);
    return 'replaced';
  }

  async function end(
    candidate: Candidate<Content>,
    ending: Revocation,
    allowance: Allowance,
  ): Promise<LeftSession<Content>> {
    verified.delete(candidate.cookie);
    // A seal proves itself, without waiting for the signing keys.
    const verdict = source.isSealed ? undefined : await tryVerify(source, candidate, allowance);
    // An unsealed cookie can name anyone's session: only a token that the provider signed may leave a revocation.
    const isAuthentic = source.isSealed || verdict?.kind === 'live' || verdict?.kind === 'expired';
    if (isAuthentic) await revoke(candidate, ending);
    // Last: an answer that comes before the revocation is kept, one that comes after it meets it.
    coordinator.forget(refreshKey(source.adapter, candidate));
    return { candidate, verdict, isAuthentic };
  }

  async function revoke({ sessionId, tokenLifetimeMs }: Candidate<Content>, ending: Revocation): Promise<void> {
    if (sessionId === undefined) return;
    const ttlMs = revocationMs(tokenLifetimeMs);
    ended.end(sessionId, ending, ttlMs);
    await (ending === 'replaced'
      ? elsewhere.end(replacedMark(sessionId), replacedMarkMs)
      : elsewhere.end(sessionId, ttlMs));
  }

  return {
    revocationOf,
    revocationAfterRefresh,
    async signOut(cookieHeader, peer) {
      const cookies = parseCookies(cookieHeader);
      const allowance = allowanceOf(peer);
      const sessions: LeftSession<Content>[] = [];
      for (const candidate of await candidatesIn(source, cookies)) {
        sessions.push(await end(candidate, 'signed_out', allowance));
      }
      return { sessions, cookies: source.clear(cookies), allowance };
    },
    async replace(cookieHeader, newSessionId, peer) {
      const allowance = allowanceOf(peer);
      const sessions: LeftSession<Content>[] = [];
      for (const candidate of await candidatesIn(source, parseCookies(cookieHeader))) {
        if (candidate.sessionId === newSessionId) continue;
        const hadEnded = ended.revocationOf(sessionKey(candidate.sessionId)) !== undefined;
        const left = await end(candidate, 'replaced', allowance);
        if (!hadEnded) sessions.push(left);
      }
      return { sessions, allowance };
    },
  };
}

/** Longer than any refresh that was under way when the new session was stored. Requests that come with the old cookie are not asked about. */
const replacedMarkMs = 60_000;

function replacedMark(sessionId: string): string {
  return `replaced:${sessionId}`;
}

interface SharedRevocations {
  end(name: string, ttlMs: number): Promise<void>;
  has(name: string): Promise<boolean>;
}

/** What the processes tell each other; out of reach, each decides for itself. */
function createSharedRevocations(shared: SharedCoordinator | undefined, emit: Emit): SharedRevocations {
  async function orElse<Result>(call: Promise<Result> | undefined, fallback: Result): Promise<Result> {
    try {
      return (await call) ?? fallback;
    } catch {
      emit({ type: 'coordinator_unavailable', operation: 'tombstone' });
      return fallback;
    }
  }
  return {
    end: (name, ttlMs) => orElse(shared?.endSession(name, ttlMs), undefined),
    has: (name) => orElse(shared?.isEnded(name), false),
  };
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
