/**
 * The calls to the backend about passkeys. Each throws an `AuthError` for the visitor.
 *
 * @see https://supabase.com/docs/guides/auth/passkeys
 */
import type { Session as SdkSession } from '@supabase/supabase-js';
import { defined, isRecord } from '../../tools/json.ts';
import { AuthError } from '../../errors.ts';
import { refusedAnswer } from '../webauthn/challenges.ts';
import type { Ceremony, CeremonyAnswer } from '../webauthn/challenges.ts';
import type { BackendContext } from '../context.ts';
import { callAs } from '../supabase/account.ts';
import { FormProblem } from '../forms/fields.ts';
import { organizationSignIn } from '../supabase/provider-errors.ts';
import type { StoredContent } from '../supabase/session-cookie.ts';
import type { SdkResult, SupabaseCall, Visitor } from '../supabase/supabase-call.ts';

/** A passkey of an account. */
export interface Passkey {
  readonly id: string;
  /** Of its provider, such as "iCloud Keychain", until its owner renames it; empty where there is none. */
  readonly name: string;
  /** ISO 8601; empty where unknown. */
  readonly createdAt: string;
  /** ISO 8601; empty where it was never used, or not since it was added. */
  readonly lastUsedAt: string;
}

type PasskeyApi = SupabaseCall['auth']['passkey'];
/** The SDK's parameter for the browser's answer. */
type ServerCredential = Parameters<PasskeyApi['verifyAuthentication']>[0]['credential'];

/** The challenge of a sign-in, which no account is known for yet. */
export function startSignIn(
  backend: BackendContext,
  visitor: Visitor,
  captcha: { readonly captchaToken?: string },
): Promise<Ceremony> {
  return backend.supabase
    .call(visitor, async ({ auth, unwrap }) =>
      ceremonyOf(unwrap(await auth.passkey.startAuthentication({ options: captcha }))),
    )
    .catch(reportSwitchedOff(backend));
}

/** @returns the session of the account whose passkey answered, at `aal1` */
export function verifySignIn(backend: BackendContext, visitor: Visitor, answer: CeremonyAnswer): Promise<SdkSession> {
  return backend.supabase
    .call(visitor, async ({ auth, unwrap }) => {
      const session = unwrap(await auth.passkey.verifyAuthentication(toSdk(answer)))?.session ?? null;
      if (session === null) throw new AuthError('provider_refused');
      return session;
    })
    .catch(rethrowRefused)
    .catch(reportSwitchedOff(backend));
}

/** The newest first. */
export async function listPasskeys(
  backend: BackendContext,
  visitor: Visitor,
  session: StoredContent,
): Promise<readonly Passkey[]> {
  const listed: unknown = await callPasskeys(backend, visitor, session, (passkey) => passkey.list());
  if (!Array.isArray(listed)) throw new AuthError('provider_refused');
  const passkeys = listed.flatMap((entry: unknown) => readPasskey(entry) ?? []);
  return passkeys.toSorted((one, other) => (one.createdAt < other.createdAt ? 1 : -1));
}

function readPasskey(value: unknown): Passkey | undefined {
  if (!isRecord(value)) return undefined;
  const { id, friendly_name: name, created_at: createdAt, last_used_at: lastUsedAt } = value;
  if (typeof id !== 'string') return undefined;
  return { id, name: textOf(name), createdAt: textOf(createdAt), lastUsedAt: textOf(lastUsedAt) };
}

const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');

/** The challenge of a new passkey for the user of a session. */
export async function startAdding(
  backend: BackendContext,
  visitor: Visitor,
  session: StoredContent,
): Promise<Ceremony> {
  const started = callPasskeys(backend, visitor, session, (passkey) => passkey.startRegistration());
  // GoTrue refuses nothing else in this request: the accounts of a SAML identity provider can have no passkeys.
  const asOrganization = (error: unknown): never => {
    throw isReason(error, 'validation_failed') ? organizationSignIn() : error;
  };
  return ceremonyOf(await started.catch(asOrganization));
}

export async function addPasskey(
  backend: BackendContext,
  visitor: Visitor,
  session: StoredContent,
  answer: CeremonyAnswer,
): Promise<void> {
  await callPasskeys(backend, visitor, session, (passkey) => passkey.verifyRegistration(toSdk(answer))).catch(
    rethrowRefused,
  );
}

export async function renamePasskey(
  backend: BackendContext,
  visitor: Visitor,
  session: StoredContent,
  { id, name }: Pick<Passkey, 'id' | 'name'>,
): Promise<void> {
  await callPasskeys(backend, visitor, session, (passkey) => passkey.update({ passkeyId: id, friendlyName: name }));
}

export async function removePasskey(
  backend: BackendContext,
  visitor: Visitor,
  session: StoredContent,
  id: string,
): Promise<void> {
  await callPasskeys(backend, visitor, session, (passkey) => passkey.delete({ passkeyId: id }));
}

function callPasskeys(
  backend: BackendContext,
  visitor: Visitor,
  session: StoredContent,
  ask: (passkey: PasskeyApi) => Promise<SdkResult<unknown>>,
): Promise<unknown> {
  return callAs(backend, visitor, async ({ auth, unwrap }) => unwrap(await ask(auth.passkey)), session)
    .catch(tooMany)
    .catch(reportSwitchedOff(backend))
    .catch(notHere);
}

function toSdk({ challengeId, credential }: CeremonyAnswer) {
  // The backend reads it; what is none is refused there.
  return { challengeId, credential: credential as unknown as ServerCredential };
}

function ceremonyOf(answer: unknown): Ceremony {
  const { challenge_id: challengeId, options } = isRecord(answer) ? answer : {};
  if (typeof challengeId !== 'string' || !isRecord(options)) throw new AuthError('provider_refused');
  return { challengeId, options };
}

const isReason = (error: unknown, ...reasons: readonly (string | undefined)[]): error is AuthError =>
  error instanceof AuthError && reasons.includes(error.reason);

/**
 * For `catch`: GoTrue's refusals of the browser's answer. It has several codes for them, and none that tells a visitor more.
 * Refusals of the account, such as a banned one, keep their own.
 */
function rethrowRefused(error: unknown): never {
  const isUnread = isReason(error, 'validation_failed', 'bad_json');
  if (!isUnread && !(error instanceof AuthError && error.code === 'code_wrong')) throw error;
  throw refusedAnswer({ cause: error.cause, reason: error.reason });
}

function tooMany(error: unknown): never {
  if (!isReason(error, 'too_many_passkeys')) throw error;
  const message = 'You’ve reached the limit. Remove a passkey first.';
  throw new FormProblem('form', 'passkeysFull', message, {
    code: 'factor_unavailable',
    cause: error.cause,
    reason: error.reason,
  });
}

/** For `catch`: someone who is signed in has no other way to choose. */
function notHere(error: unknown): never {
  if (!isReason(error, 'passkey_disabled')) throw error;
  const { code, cause, reason } = error;
  throw new FormProblem('form', 'passkeysOff', 'Passkeys aren’t available here.', {
    code,
    cause,
    ...defined({ reason }),
  });
}

/** For `catch`: only the project's owner can switch passkeys on. */
function reportSwitchedOff({ emit }: BackendContext): (error: unknown) => never {
  return (error) => {
    if (isReason(error, 'passkey_disabled')) {
      const message =
        'backendAuth: passkeys are switched off in the Supabase project; enable them, or take passkey out of signInMethods';
      emit({ type: 'configuration_warning', message });
    }
    throw error;
  };
}
