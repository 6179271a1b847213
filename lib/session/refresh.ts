import { createBoundedMap } from '../core/bounded-map.ts';
import { AuthError } from '../errors.ts';
import type { RefreshStart } from './cutoffs.ts';
import { measureRefresh } from './events.ts';
import { refreshKey } from './refresh-coordinator.ts';
import { revocationMs } from './revocations.ts';
import type { SessionContext } from './session-context.ts';
import type { SettledRefresh } from './shared-coordinator.ts';
import type { RefreshOutcome, StoredSession } from './source.ts';

/** A refusal with an unknown code counts as an outage at first, and as final after this time. */
const finalAfterMs = 10 * 60_000;
const finalStatuses: readonly number[] = [400, 403, 404];
const refusalMemoryMs = 24 * 60 * 60_000;
const maxRefusals = 10_000;

/** Asks the provider, and once more where its answer may have been lost. */
export function createRefresh<Content>({
  source,
  revocations,
  now,
}: SessionContext<Content>): (
  stored: StoredSession<Content>,
  call: (signal: AbortSignal) => Promise<RefreshOutcome<Content>>,
  signal: AbortSignal,
) => Promise<SettledRefresh> {
  /** The first time that a token got a code that is not known to end sessions. */
  const refusals = createBoundedMap<Refusal>({ max: maxRefusals, ttlMs: refusalMemoryMs, now });

  function isFinal(key: string, status: number, code: string): boolean {
    if (!finalStatuses.includes(status)) return false;
    const known = refusals.get(key);
    if (known?.code === code) return now() - known.since >= finalAfterMs;
    refusals.set(key, { code, since: now() });
    return false;
  }

  /** Called before any caller gets the answer, so that a `renewSession` costs one refresh and not one per caller. */
  async function acceptRenewed(content: Content, start: RefreshStart): Promise<void> {
    const next = source.toStored(content);
    const keys = revocations.keysOf(next, refreshKey(source.adapter, next));
    await revocations.acceptRenewed(keys, start, revocationMs(next.tokenLifetimeMs));
  }

  async function ask(
    stored: StoredSession<Content>,
    call: (signal: AbortSignal) => Promise<RefreshOutcome<Content>>,
    signal: AbortSignal,
  ): Promise<SettledRefresh> {
    const key = refreshKey(source.adapter, stored);
    const start = revocations.refreshStart(revocations.keysOf(stored, key));
    let outcome = await call(signal);
    // The provider may have rotated the token and its answer was lost: resend the same token within its replay window.
    if (outcome.kind === 'unanswered' && !signal.aborted) outcome = await call(signal);
    switch (outcome.kind) {
      case 'renewed':
        await acceptRenewed(outcome.content, start);
        return { kind: 'renewed', text: source.serialize(outcome.content) };
      case 'ended':
        return outcome;
      case 'refused': {
        const { status, error } = outcome;
        if (error.reason !== undefined && isFinal(key, status, error.reason))
          return { kind: 'ended', reason: error.reason };
        throw error;
      }
      case 'unanswered':
        throw new AuthError('provider_unavailable', { cause: outcome.cause, reason: 'unanswered', retryAfter: 5 });
    }
  }

  return (...asked) => measureRefresh(source.adapter, () => ask(...asked));
}

interface Refusal {
  readonly code: string;
  /** Milliseconds since the epoch. */
  readonly since: number;
}
