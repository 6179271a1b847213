import { createAllowances } from './allowance.ts';
import { createEndedSessions } from './ended-sessions.ts';
import type { Emit } from './events.ts';
import { createRefreshCoordinator } from './refresh-coordinator.ts';
import type { SharedCoordinator } from './refresh-coordinator.ts';
import { createSessionResolver } from './resolve-session.ts';
import type { SessionResolver } from './resolve-session.ts';
import type { SessionSource } from './session-source.ts';
import { createVerifiedSessions } from './verified-sessions.ts';

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
    ended: createEndedSessions(now),
    verified: createVerifiedSessions(maxCachedSessions, now),
    allowanceOf: createAllowances(now, emit),
    emit,
    now,
    refreshWindowMs: refreshWindow * 1000,
    timeoutMs,
  });
}
