import { createHash } from 'node:crypto';
import { createBoundedMap } from '../core/bounded-map.ts';
import type { Emit } from './events.ts';
import type { SharedCoordinator } from './shared-coordinator.ts';

/**
 * How a session ended. The cookie of a `replaced` one is already overwritten by its successor's: clearing it now would take
 * the new session along.
 */
export type Revocation = 'signed_out' | 'replaced';

/** Which sessions ended here, or in a process that shares the coordinator, kept until nothing of them can still be accepted. */
export interface Revocations {
  /** @param tokenLifetimeMs how long the provider makes the session's access tokens live */
  revoke(sessionId: string, revocation: Revocation, tokenLifetimeMs: number): Promise<void>;
  /**
   * What this process knows, without asking another one.
   *
   * @param key the session's `sessionKey`
   */
  known(key: string | undefined): Revocation | undefined;
  /** How the session ended, if it did while its tokens may still be valid. */
  find(sessionId: string | undefined): Promise<Revocation | undefined>;
  /** The same for an answer to a refresh, which must not overwrite the cookie of a sign-in that another process has stored meanwhile. */
  findAfterRefresh(sessionId: string | undefined): Promise<Revocation | undefined>;
  /** Whether other processes are to be asked about a session that was looked at then, in milliseconds since the epoch. */
  isRecheckDue(checkedAt: number): boolean;
}

/** Names a session in as many bytes for every session id. */
export function sessionKey(sessionId: string): string;
export function sessionKey(sessionId: string | undefined): string | undefined;
export function sessionKey(sessionId: string | undefined): string | undefined {
  return sessionId === undefined ? undefined : createHash('sha256').update(sessionId).digest('base64url');
}

/** Long enough for every request that was on its way when the visitor signed out. */
const minRevocationMs = 25_000;
/** Supabase lets an access token live for a week; no project lets one live longer. */
const maxRevocationMs = 8 * 24 * 60 * 60_000;
const maxRevocations = 100_000;
/** Longer than any refresh that was under way when the new session was stored. Requests that come with the old cookie are not asked about. */
const replacedMarkMs = 60_000;
/** How long a verified session is taken for alive before the other processes are asked again. */
const sharedRecheckMs = 5_000;

/**
 * How long a signed-out session must be remembered: a refresh that was under way may bring back a token with its whole
 * lifetime before it.
 */
export function revocationMs(tokenLifetimeMs: number): number {
  return Math.min(Math.max(tokenLifetimeMs, 0) + minRevocationMs, maxRevocationMs);
}

/** @param now milliseconds since the epoch */
export function createRevocations(shared: SharedCoordinator | undefined, emit: Emit, now: () => number): Revocations {
  const local = createBoundedMap<Revocation>({ max: maxRevocations, ttlMs: minRevocationMs, now });

  /** What the processes tell each other; out of reach, each decides for itself. */
  async function orElse<Result>(call: Promise<Result> | undefined, fallback: Result): Promise<Result> {
    try {
      return (await call) ?? fallback;
    } catch {
      emit({ type: 'coordinator_unavailable', operation: 'tombstone' });
      return fallback;
    }
  }

  function known(key: string | undefined): Revocation | undefined {
    return local.size === 0 || key === undefined ? undefined : local.get(key);
  }

  async function find(sessionId: string | undefined): Promise<Revocation | undefined> {
    const here = known(sessionKey(sessionId));
    if (here !== undefined || sessionId === undefined) return here;
    return (await orElse(shared?.isEnded(sessionId), false)) ? 'signed_out' : undefined;
  }

  return {
    known,
    find,
    async revoke(sessionId, revocation, tokenLifetimeMs) {
      const ttlMs = revocationMs(tokenLifetimeMs);
      local.set(sessionKey(sessionId), revocation, { ttl: ttlMs });
      await (revocation === 'replaced'
        ? orElse(shared?.endSession(replacedMark(sessionId), replacedMarkMs), undefined)
        : orElse(shared?.endSession(sessionId, ttlMs), undefined));
    },
    async findAfterRefresh(sessionId) {
      if (sessionId === undefined) return undefined;
      const [revocation, isReplaced] = await Promise.all([
        find(sessionId),
        orElse(shared?.isEnded(replacedMark(sessionId)), false),
      ]);
      if (revocation !== undefined || !isReplaced) return revocation;
      local.set(sessionKey(sessionId), 'replaced', { ttl: replacedMarkMs });
      return 'replaced';
    },
    isRecheckDue: (checkedAt) => shared !== undefined && now() - checkedAt > sharedRecheckMs,
  };
}

function replacedMark(sessionId: string): string {
  return `replaced:${sessionId}`;
}
