import { AuthError } from '../errors.ts';
import { measureRefresh } from './events.ts';
import { revocationMs } from './revocations.ts';
import type { RefreshStart } from './revocations.ts';
import type { SessionContext } from './session-context.ts';
import type { RefreshOutcome, StoredSession } from './source.ts';
import { placeOf } from './token-lines.ts';
import type { Exchanged } from './token-lines.ts';

/** Asks the provider, and once more where its answer may have been lost. */
export function createRefresh<Content>({
  source,
  revocations,
}: SessionContext<Content>): (
  stored: StoredSession<Content>,
  call: (signal: AbortSignal) => Promise<RefreshOutcome<Content>>,
  signal: AbortSignal,
) => Promise<Exchanged> {
  /** Called before any caller gets the answer, so that a `renewSession` costs one refresh and not one per caller. */
  async function acceptRenewed(content: Content, start: RefreshStart): Promise<Exchanged> {
    const next = source.toStored(content);
    const { line, token } = placeOf(source.adapter, next);
    await revocations.acceptRenewed(revocations.keysOf(next, token), start, revocationMs(next.tokenLifetimeMs));
    return { kind: 'renewed', text: source.serialize(content), newest: { token, issuedAt: next.issuedAt }, line };
  }

  async function ask(
    stored: StoredSession<Content>,
    call: (signal: AbortSignal) => Promise<RefreshOutcome<Content>>,
    signal: AbortSignal,
  ): Promise<Exchanged> {
    const { token } = placeOf(source.adapter, stored);
    const start = revocations.refreshStart(revocations.keysOf(stored, token));
    let outcome = await call(signal);
    // The provider may have rotated the token and its answer was lost: resend the same token within its replay window.
    if (outcome.kind === 'unanswered' && !signal.aborted) outcome = await call(signal);
    switch (outcome.kind) {
      case 'renewed':
        return acceptRenewed(outcome.content, start);
      case 'ended':
        return outcome;
      case 'unanswered':
        throw new AuthError('provider_unavailable', { cause: outcome.cause, reason: 'unanswered', retryAfter: 5 });
    }
  }

  return (...asked) => measureRefresh(source.adapter, () => ask(...asked));
}
