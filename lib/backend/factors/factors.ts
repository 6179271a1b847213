/**
 * The calls to the backend about second factors, as the user of a session. Each throws an
 * `AuthError` for the visitor; see also `isSessionOver`.
 *
 * @see https://supabase.com/docs/guides/auth/auth-mfa
 */
import { randomBytes } from 'node:crypto';
import type { Session as SdkSession, User as SdkUser } from '@supabase/supabase-js';
import { defined, isRecord } from '../../tools/json.ts';
import { AuthError } from '../../errors.ts';
import type { Session } from '../../types.ts';
import { outOfTime } from '../supabase/connection.ts';
import { callAs, isSessionOver, isVerified, listedFactors, presentUser } from '../supabase/account.ts';
import type { BackendContext } from '../context.ts';
import { FormProblem } from '../forms/fields.ts';
import { offers } from '../options.ts';
import { factorKinds, kindOf } from './kinds.ts';
import { isTimeout } from '../supabase/provider-errors.ts';
import type { StoredContent } from '../supabase/session-cookie.ts';
import type { SupabaseCall, Visitor } from '../supabase/supabase-call.ts';

/** A second factor of the backend's list, of whatever type. */
export interface Factor {
  /** Empty where the list has none that is usable. */
  readonly id: string;
  /** As the backend calls it: `totp`, `phone`, `webauthn` (a security key), or a type of tomorrow. */
  readonly type: string;
  /** The name that the user or another page gave it. */
  readonly name: string;
  readonly isVerified: boolean;
  /** The last digits of the phone number. */
  readonly digits: string;
  /** ISO 8601. */
  readonly createdAt: string;
}

/** A user's second factors, as every decision about them reads them. */
export interface FactorList {
  /** The best first: security keys, authenticator apps, phones; then those that cannot be asked for here. */
  readonly all: readonly Factor[];
  /** Whether the user has enrolled: every verified factor counts, whatever its type. */
  readonly verified: readonly Factor[];
  /** The verified factors that can be asked for here. */
  readonly askable: readonly Factor[];
}

/**
 * The factors of a user in the backend's answer, which leaves the field out where there are none. What cannot be read
 * counts as a verified factor that cannot be asked for: only a list without factors means that there is none.
 *
 * @param hasKeys whether security keys can be asked for, which need the script of the pages
 */
export function readFactors(user: { readonly factors?: unknown } | undefined, hasKeys = false): FactorList {
  const types = factorKinds.filter(({ proof }) => hasKeys || proof === 'code').map(({ type }) => type);
  const rankOf = ({ type }: Factor): number => (types.includes(type) ? types.indexOf(type) : types.length);
  const all = listedFactors(user)
    .map(readFactor)
    .toSorted((one, other) => rankOf(one) - rankOf(other));
  const verified = all.filter(({ isVerified }) => isVerified);
  return { all, verified, askable: verified.filter(({ id, type }) => id !== '' && types.includes(type)) };
}

/** Whether the options let security keys be second factors. */
export function hasKeys({ settings }: Pick<BackendContext, 'settings'>): boolean {
  return offers(settings, 'passkey');
}

function readFactor(value: unknown): Factor {
  const entry = isRecord(value) ? value : {};
  const { id, factor_type: type, friendly_name: name, phone, created_at: createdAt } = entry;
  const isOurs = typeof name !== 'string' || /^(?:app|key)-[\da-f]{12}$/.test(name);
  return {
    id: typeof id === 'string' ? id : '',
    // It is shown to the user and sent to clients.
    type: typeof type === 'string' && /^[\w-]{1,40}$/.test(type) ? type : 'unknown',
    name: isOurs ? '' : name,
    isVerified: isVerified(value),
    digits: typeof phone === 'string' ? phone.slice(-3) : '',
    createdAt: typeof createdAt === 'string' ? createdAt : '',
  };
}

/** The backend's current user; no token tells which factors a user has. */
export interface UserFactors {
  readonly user: SdkUser;
  readonly factors: FactorList;
}

/** An authenticator app that was added but not yet verified by a code. */
export interface Enrollment {
  readonly factorId: string;
  /** Base32, to type into the app. */
  readonly secret: string;
  /** `otpauth://totp/…`, for a QR code. */
  readonly uri: string;
}

interface FactorAnswer {
  readonly factorId: string;
  readonly code: string;
  /** Of the text message; omitted for an app, whose challenge is created in the same call. */
  readonly challengeId?: string | undefined;
}

export async function listFactors(
  backend: BackendContext,
  visitor: Visitor,
  session: Pick<StoredContent, 'access_token'>,
): Promise<UserFactors> {
  const user = await presentUser(backend, visitor, session);
  return { user, factors: readFactors(user, hasKeys(backend)) };
}

/** For guards: whether a verified factor exists. @throws {AuthError} `unauthenticated` where the session has ended there, or an outage */
export async function hasVerifiedFactor(
  backend: BackendContext,
  { accessToken }: Pick<Session, 'accessToken'>,
): Promise<boolean> {
  try {
    const content = { access_token: accessToken };
    const { factors } = await listFactors(backend, { cookies: new Map(), peer: undefined }, content);
    return factors.verified.length > 0;
  } catch (error) {
    if (isSessionOver(error)) throw new AuthError('unauthenticated', { cause: error, reason: error.reason });
    throw error;
  }
}

/** Sends a text message. @returns the id of the challenge that its code answers */
export function sendFactorCode(
  backend: BackendContext,
  visitor: Visitor,
  session: StoredContent,
  factorId: string,
): Promise<string> {
  const challenge = async ({ auth, unwrap }: SupabaseCall): Promise<string> =>
    present(unwrap(await auth.mfa.challenge({ factorId, channel: 'sms' }))).id;
  return callAs(backend, visitor, challenge, session);
}

/** @returns the same session at `aal2`, with new tokens; the user's other `aal1` sessions have ended at the backend */
export function verifyFactor(
  backend: BackendContext,
  visitor: Visitor,
  session: StoredContent,
  { factorId, code, challengeId }: FactorAnswer,
): Promise<SdkSession> {
  let state: 'asks for a challenge' | 'sends the code' | 'is over' = 'asks for a challenge';
  const verify = async ({ auth, unwrap }: SupabaseCall): Promise<SdkSession> => {
    const challenge = challengeId ?? present(unwrap(await auth.mfa.challenge({ factorId }))).id;
    // An application's `fetch` may ignore the deadline. The throttle does not count a code that is sent after it.
    if (state === 'is over') throw outOfTime();
    state = 'sends the code';
    return present(unwrap(await auth.mfa.verify({ factorId, challengeId: challenge, code })));
  };
  return callAs(backend, visitor, verify, session).catch((error: unknown) => {
    if (state === 'sends the code' || !(error instanceof AuthError) || !isTimeout(error)) throw error;
    state = 'is over';
    // Without the reason, the throttle does not take it for a code that was judged.
    throw new AuthError(error.code, { cause: error, ...defined({ retryAfter: error.retryAfter }) });
  });
}

/** Adds an authenticator app. */
export async function enrollApp(
  backend: BackendContext,
  visitor: Visitor,
  session: StoredContent,
): Promise<Enrollment> {
  const { settings } = backend;
  // The application's name, as the app shows it; default: the host of the project's Site URL.
  const { title: issuer } = settings.pages;
  const enroll = async ({ auth, unwrap }: SupabaseCall): Promise<Enrollment> => {
    // GoTrue rejects two factors with the same name, including two without a name.
    const friendlyName = generatedName('app');
    const { id, totp } = present(
      unwrap(await auth.mfa.enroll({ factorType: 'totp', friendlyName, ...defined({ issuer }) })),
    );
    return { factorId: textIn(id), secret: textIn(totp.secret), uri: textIn(totp.uri) };
  };
  return enrollWithRoom(backend, visitor, session, enroll);
}

/** Unfinished enrollments are removed if needed, because they count toward the backend's limit. */
export async function enrollWithRoom<Result>(
  backend: BackendContext,
  visitor: Visitor,
  session: StoredContent,
  enroll: (call: SupabaseCall) => Promise<Result>,
): Promise<Result> {
  try {
    return await callAs(backend, visitor, enroll, session);
  } catch (error) {
    if (!isFull(error)) throw error;
    if (!(await removeUnfinished(backend, visitor, session))) throw factorsFull(error);
    return await callAs(backend, visitor, enroll, session);
  }
}

function isFull(error: unknown): error is AuthError {
  return error instanceof AuthError && error.reason === 'too_many_enrolled_mfa_factors';
}

function factorsFull({ cause, reason }: AuthError): AuthError {
  const message = 'Your account has as many second factors as it can have. Remove one first.';
  return new FormProblem('form', 'factorsFull', message, { code: 'factor_unavailable', cause, reason });
}

async function removeUnfinished(backend: BackendContext, visitor: Visitor, session: StoredContent): Promise<boolean> {
  const { factors } = await listFactors(backend, visitor, session);
  const unfinished = factors.all.filter((factor) => !factor.isVerified && kindOf(factor)?.isAdded === true);
  for (const { id } of unfinished) await removeFactor(backend, visitor, session, id);
  return unfinished.length > 0;
}

export async function removeFactor(
  backend: BackendContext,
  visitor: Visitor,
  session: StoredContent,
  factorId: string,
): Promise<void> {
  await callAs(backend, visitor, async ({ auth, unwrap }) => unwrap(await auth.mfa.unenroll({ factorId })), session);
}

/** GoTrue wants different names; the pages show none that this package has made. */
export function generatedName(kind: 'app' | 'key'): string {
  return `${kind}-${randomBytes(6).toString('hex')}`;
}

/** The SDK does not check answers. @throws {AuthError} `provider_refused` where it is no text */
export function textIn(value: unknown): string {
  if (typeof value === 'string' && value !== '') return value;
  throw new AuthError('provider_refused', { reason: 'malformed' });
}

/** The SDK's types allow a result with neither data nor error. */
export function present<Data>(data: Data | null): Data {
  if (data === null) throw new AuthError('provider_refused');
  return data;
}

/**
 * Whether the project's MFA verification hook rejected a code, right or wrong: GoTrue has then deleted every session of the user.
 *
 * @see https://supabase.com/docs/guides/auth/auth-hooks/mfa-verification-hook
 */
export function isRejected(error: unknown): error is AuthError {
  return error instanceof AuthError && error.reason === 'mfa_verification_rejected';
}
