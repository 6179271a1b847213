/** The calls to the backend about security keys as second factors. Each throws an `AuthError` for the visitor, as in `factors.ts`. */
import type { Session as SdkSession } from '@supabase/supabase-js';
import { isRecord, isTooDeep } from '../../tools/json.ts';
import { AuthError } from '../../errors.ts';
import { refusedAnswer } from '../webauthn/challenges.ts';
import type { Ceremony, CeremonyAnswer } from '../webauthn/challenges.ts';
import type { BackendContext } from '../context.ts';
import { enrollWithRoom, generatedName, present, textIn } from './factors.ts';
import { callAs } from '../supabase/account.ts';
import type { StoredContent } from '../supabase/session-cookie.ts';
import type { SupabaseCall, Visitor } from '../supabase/supabase-call.ts';

/** A challenge of one factor. The backend takes the answer of any key of the user to it. */
export interface KeyCeremony extends Ceremony {
  readonly factorId: string;
}

/** Adds a security key, which its answer to this challenge then verifies. */
export async function enrollKey(
  backend: BackendContext,
  visitor: Visitor,
  session: StoredContent,
): Promise<KeyCeremony> {
  const factorId = await enrollWithRoom(backend, visitor, session, async ({ auth, unwrap }) => {
    const friendlyName = generatedName('key');
    return textIn(present(unwrap(await auth.mfa.enroll({ factorType: 'webauthn', friendlyName }))).id);
  });
  return challengeKey(backend, visitor, session, factorId);
}

export async function challengeKey(
  backend: BackendContext,
  visitor: Visitor,
  session: StoredContent,
  factorId: string,
): Promise<KeyCeremony> {
  const challenge = async ({ auth, unwrap }: SupabaseCall): Promise<unknown> =>
    unwrap(await auth.mfa.challenge({ factorId }));
  const answer = await callAs(backend, visitor, challenge, session);
  const { id, webauthn } = isRecord(answer) ? answer : {};
  const { credential_options: options } = isRecord(webauthn) ? webauthn : {};
  const { publicKey } = isRecord(options) ? options : {};
  const isCeremony = typeof id === 'string' && isRecord(publicKey) && !isTooDeep(publicKey);
  if (!isCeremony) throw new AuthError('provider_refused');
  return { factorId, challengeId: id, options: toJson(publicKey) as Ceremony['options'] };
}

/** The SDK decodes the bytes for a browser; here they travel on to one. */
function toJson(value: unknown): unknown {
  if (value instanceof ArrayBuffer) return Buffer.from(value).toString('base64url');
  if (ArrayBuffer.isView(value)) {
    return Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString('base64url');
  }
  if (Array.isArray(value)) return value.map(toJson);
  return isRecord(value) ? Object.fromEntries(Object.entries(value).map(([key, each]) => [key, toJson(each)])) : value;
}

type SdkAnswer = Parameters<SupabaseCall['auth']['mfa']['verify']>[0];

/**
 * @param type `create` for a factor that is not verified yet; GoTrue would also take a new key for a verified one
 * @returns the same session at `aal2`, with new tokens; the user's other `aal1` sessions have ended at the backend
 */
export function verifyKey(
  backend: BackendContext,
  visitor: Visitor,
  session: StoredContent,
  {
    type,
    factorId,
    challengeId,
    credential,
  }: CeremonyAnswer & { readonly type: 'create' | 'request'; readonly factorId: string },
): Promise<SdkSession> {
  const verify = async ({ auth, unwrap }: SupabaseCall): Promise<SdkSession> => {
    // The SDK sends what `toJSON` of a browser's credential gives.
    const webauthn = { type, credential_response: { toJSON: () => credential } };
    const answer = { factorId, challengeId, webauthn } as unknown as SdkAnswer;
    return present(unwrap(await auth.mfa.verify(answer)));
  };
  return callAs(backend, visitor, verify, session).catch(rethrowRefused);
}

/** GoTrue's codes for a challenge that is too old, was answered, or was asked for from another address. */
const goneChallenges: readonly (string | undefined)[] = [
  'mfa_challenge_expired',
  'mfa_factor_not_found',
  'mfa_ip_address_mismatch',
];
/** Its library's refusal of an answer is a failure of its own (500) to GoTrue. */
const refusals: readonly (string | undefined)[] = [
  'unexpected_failure',
  'validation_failed',
  'bad_json',
  'mfa_verification_failed',
];

function rethrowRefused(error: unknown): never {
  const reason = error instanceof AuthError ? error.reason : undefined;
  if (goneChallenges.includes(reason)) throw new AuthError('challenge_expired', { cause: error, reason });
  if (refusals.includes(reason)) throw refusedAnswer({ cause: error, reason });
  throw error;
}
