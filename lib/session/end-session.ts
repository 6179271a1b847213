import { parseCookies } from '../core/cookie-codec.ts';
import type { CookieWrite, RequestCookies } from '../core/cookie-codec.ts';
import { tombstoneMs } from './ended-sessions.ts';
import type { EndedSessions, Ending } from './ended-sessions.ts';
import type { Emit } from './events.ts';
import { refreshKey } from './refresh-coordinator.ts';
import type { RefreshCoordinator, SharedCoordinator } from './refresh-coordinator.ts';
import type { Candidate, SessionSource } from './session-source.ts';
import type { VerifiedSessions } from './verified-sessions.ts';

export interface SignedOut<Content> {
  readonly candidates: readonly Candidate<Content>[];
  readonly cookies: readonly CookieWrite[];
}

export interface SessionEnds<Content> {
  /** Ends whatever session the cookies hold, here and in every process that shares the coordinator. */
  signOut(cookieHeader: string | undefined): Promise<SignedOut<Content>>;
  /** Makes way for a new session: what the cookies held ends, and a refresh of it that is under way no longer counts. */
  replace(cookieHeader: string | undefined, newSessionId: string | undefined): Promise<void>;
  /** How the session ended, if it did while its tokens may still be valid. */
  endingOf(sessionId: string | undefined): Promise<Ending | undefined>;
}

export interface SessionEndsParts<Content> {
  readonly source: SessionSource<Content>;
  readonly coordinator: Pick<RefreshCoordinator, 'forget'>;
  readonly shared: SharedCoordinator | undefined;
  readonly ended: EndedSessions;
  readonly verified: Pick<VerifiedSessions, 'delete'>;
  readonly emit: Emit;
}

/** Sign-out: what a session leaves behind, so that nothing under way brings it back. */
export function createSessionEnds<Content>(parts: SessionEndsParts<Content>): SessionEnds<Content> {
  const { source, coordinator, shared, ended, verified, emit } = parts;

  async function endingOf(sessionId: string | undefined): Promise<Ending | undefined> {
    const here = ended.endingOf(sessionId);
    if (here !== undefined || sessionId === undefined || shared === undefined) return here;
    try {
      return (await shared.isEnded(sessionId)) ? 'signed_out' : undefined;
    } catch {
      emit({ type: 'coordinator_unavailable', operation: 'tombstone' });
      return undefined;
    }
  }

  /** An unsealed cookie can name anybody's session: only a token that the provider signed may leave a tombstone. */
  async function isAuthentic({ content, token }: Candidate<Content>): Promise<boolean> {
    if (source.isSealed) return true;
    try {
      const { kind } = await source.verify(content, token);
      return kind === 'live' || kind === 'expired';
    } catch {
      return false;
    }
  }

  async function end(candidate: Candidate<Content>, ending: Ending): Promise<void> {
    const { sessionId, cookie, tokenLifetimeMs: lifetimeMs } = candidate;
    verified.delete(cookie);
    coordinator.forget(refreshKey(source.adapter, candidate));
    if (sessionId === undefined || !(await isAuthentic(candidate))) return;
    const ttlMs = tombstoneMs(lifetimeMs);
    ended.end(sessionId, ending, ttlMs);
    if (ending === 'replaced') return;
    try {
      await shared?.endSession(sessionId, ttlMs);
    } catch {
      emit({ type: 'coordinator_unavailable', operation: 'tombstone' });
    }
  }

  async function candidatesIn(cookies: RequestCookies): Promise<readonly Candidate<Content>[]> {
    const read = await source.read(cookies);
    return read.kind === 'stored' ? read.candidates : [];
  }

  return {
    endingOf,
    async signOut(cookieHeader) {
      const cookies = parseCookies(cookieHeader);
      const candidates = await candidatesIn(cookies);
      for (const candidate of candidates) await end(candidate, 'signed_out');
      return { candidates, cookies: source.clear(cookies) };
    },
    async replace(cookieHeader, newSessionId) {
      for (const candidate of await candidatesIn(parseCookies(cookieHeader))) {
        if (candidate.sessionId !== newSessionId) await end(candidate, 'replaced');
      }
    },
  };
}
