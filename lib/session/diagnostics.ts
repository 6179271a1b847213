import { channel } from 'node:diagnostics_channel';
import type { Channel } from 'node:diagnostics_channel';
import { causeOf } from '../errors.ts';
import type { AdapterName, RefreshMessage, SignInMessage, VerifyMessage } from '../types.ts';

interface Kind<Name extends string> {
  readonly kind: Name;
}

interface Refusal<Name extends string> extends Kind<Name> {
  readonly reason: string;
}

/** What a message says beside the adapter and the duration. */
type Said<Message> = Message extends unknown ? Omit<Message, 'adapter' | 'durationMs'> : never;

// A channel belongs to its name in the whole process: Node's documentation says to look it up once.
const refreshChannel = channel('express-auth-adapters:refresh');
const verifyChannel = channel('express-auth-adapters:verify');
const signInChannel = channel('express-auth-adapters:sign-in');

/** Tells subscribers of a refresh how long the provider took; without a subscriber it only looks for one. */
export function measureRefresh<Settled extends Kind<'renewed'> | Refusal<'ended'>>(
  adapter: AdapterName,
  refresh: () => Promise<Settled>,
): Promise<Settled> {
  const say = (settled: Settled): Said<RefreshMessage> =>
    settled.kind === 'ended' ? { outcome: 'ended', reason: settled.reason } : { outcome: settled.kind };
  return measure<Settled, RefreshMessage>(refreshChannel, adapter, refresh, say);
}

/** Tells subscribers how long a verification took; without a subscriber it only looks for one. */
export function measureVerify<Verdict extends Kind<'live' | 'expired' | 'unverifiable'> | Refusal<'invalid'>>(
  adapter: AdapterName,
  verify: () => Promise<Verdict>,
): Promise<Verdict> {
  const say = (verdict: Verdict): Said<VerifyMessage> =>
    verdict.kind === 'invalid' ? { outcome: 'invalid', reason: verdict.reason } : { outcome: verdict.kind };
  return measure<Verdict, VerifyMessage>(verifyChannel, adapter, verify, say);
}

/**
 * Tells subscribers of a sign-in.
 *
 * @param startedAt when its request arrived, as `performance.now()` says it
 */
export function tellSignIn(adapter: AdapterName, said: Said<SignInMessage>, startedAt: number): void {
  if (signInChannel.hasSubscribers) tell<SignInMessage>(signInChannel, adapter, said, startedAt);
}

function measure<Result, Message extends RefreshMessage | VerifyMessage>(
  to: Channel,
  adapter: AdapterName,
  call: () => Promise<Result>,
  say: (result: Result) => Said<Message>,
): Promise<Result> {
  if (!to.hasSubscribers) return call();
  // Monotonic: a change of the system's clock is no duration.
  const startedAt = performance.now();
  return call().then(
    (result) => {
      tell(to, adapter, say(result), startedAt);
      return result;
    },
    (error: unknown) => {
      tell(to, adapter, { outcome: 'failed', ...causeOf(error) }, startedAt);
      throw error;
    },
  );
}

function tell<Message>(to: Channel, adapter: AdapterName, said: Said<Message>, startedAt: number): void {
  to.publish({ adapter, ...said, durationMs: performance.now() - startedAt });
}
