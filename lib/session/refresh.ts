import { AuthError } from '../errors.ts';
import { measureRefresh } from './events.ts';
import { refreshKey } from './refresh-coordinator.ts';
import { revocationMs } from './revocations.ts';
import type { RefreshStart } from './revocations.ts';
import type { SessionContext } from './session-context.ts';
import type { SettledRefresh } from './shared-coordinator.ts';
import type { RefreshOutcome, StoredSession } from './source.ts';

/** Asks the provider, and once more where its answer may have been lost. */
export function createRefresh<Content>({
  source,
  revocations,
}: SessionContext<Content>): (
  stored: StoredSession<Content>,
  call: (signal: AbortSignal) => Promise<RefreshOutcome<Content>>,
  signal: AbortSignal,
) => Promise<SettledRefresh> {
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
      case 'unanswered':
        throw new AuthError('provider_unavailable', { cause: outcome.cause, reason: 'unanswered', retryAfter: 5 });
    }
  }

  return (...asked) => measureRefresh(source.adapter, () => ask(...asked));
}
