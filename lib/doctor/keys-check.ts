import { ask, parseObject } from './ask.ts';
import type { Reply } from './ask.ts';
import { findingsOf } from './finding.ts';
import type { DoctorContext, Step } from './finding.ts';
import type { AdapterName } from '../types.ts';

export interface PublishedKeys {
  readonly reply: Reply;
  /** `undefined` where the answer is no key set. */
  readonly algorithms: readonly string[] | undefined;
}

/** Fetches a JWKS document (RFC 7517 §5) and tells which algorithms its keys are for. */
export async function askForKeys(url: string, context: DoctorContext): Promise<PublishedKeys> {
  const reply = await ask(url, context);
  if (reply.kind !== 'answered' || reply.status !== 200) return { reply, algorithms: undefined };
  const keys = parseObject(reply.text)?.['keys'];
  if (!Array.isArray(keys)) return { reply, algorithms: undefined };
  return { reply, algorithms: [...new Set(keys.map(algorithmOf))] };
}

function algorithmOf(key: unknown): string {
  const { alg, kty } = typeof key === 'object' && key !== null ? (key as Record<string, unknown>) : {};
  if (typeof alg === 'string') return alg;
  return typeof kty === 'string' ? kty : 'unknown';
}

/** Seconds by which clocks may differ before tokens are refused; the adapters allow 5. */
const allowedSkew = 5;

/** Tokens are good from one moment to another, by the provider's clock. A `Date` header has whole seconds, and takes its way. */
export function* checkClock(
  adapter: AdapterName,
  reply: Reply,
  { now }: DoctorContext,
): Generator<Step, void, undefined> {
  if (reply.kind !== 'answered' || reply.serverTime === undefined) return;
  const skew = Math.round((now() - reply.serverTime) / 1000);
  if (Math.abs(skew) <= allowedSkew) return;
  const found = findingsOf(adapter);
  yield found(
    'problem',
    'clock',
    `This machine's clock is ${Math.abs(skew)} seconds ${skew > 0 ? 'ahead of' : 'behind'} the provider's`,
    {
      fix: 'Synchronise it (NTP): tokens would be refused as expired or not yet valid.',
      values: { skewSeconds: skew },
    },
  );
}
