/**
 * The calls to the backend about second factors, as the user of a session. Each throws an
 * `AuthError` for the visitor; see also `isSessionOver`.
 *
 * @see https://supabase.com/docs/guides/auth/auth-mfa
 */
import { randomBytes } from 'node:crypto';
import type { Session as SdkSession, User as SdkUser } from '@supabase/supabase-js';
import { defined, isRecord } from '../../core/json.ts';
import { AuthError } from '../../errors.ts';
import type { Session } from '../../types.ts';
import { outOfTime } from '../connection.ts';
import type { BackendContext } from '../context.ts';
import { isTimeout } from '../provider-errors.ts';
import type { StoredContent } from '../session-cookie.ts';
import type { SupabaseCall, Visitor } from '../supabase-call.ts';

/** A second factor of a type that this package supports. */
export interface Factor {
  readonly id: string;
  readonly type: 'totp' | 'phone';
  /** The name that the user or another page gave it. */
  readonly name: string;
  readonly isVerified: boolean;
  /** The last digits of the phone number. */
  readonly digits: string;
  /** ISO 8601. */
  readonly createdAt: string;
}

/** The backend's current user; no token tells which factors a user has. */
export interface UserFactors {
  readonly user: SdkUser;
  /** Authenticator apps first. */
  readonly factors: readonly Factor[];
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

export function listFactors(
  { supabase }: BackendContext,
  visitor: Visitor,
  { access_token: accessToken }: Pick<StoredContent, 'access_token'>,
): Promise<UserFactors> {
  return supabase.call(visitor, async ({ auth, unwrap }) => {
    const { user } = unwrap(await auth.getUser(accessToken));
    return { user, factors: factorsOf(user) };
  });
}

/** For guards: whether a verified factor exists. @throws {AuthError} `unauthenticated` where the session has ended there, or an outage */
export async function hasVerifiedFactor(
  backend: BackendContext,
  { accessToken }: Pick<Session, 'accessToken'>,
): Promise<boolean> {
  try {
    const content = { access_token: accessToken };
    const { factors } = await listFactors(backend, { cookies: new Map(), peer: undefined }, content);
    return factors.some(({ isVerified }) => isVerified);
  } catch (error) {
    if (isSessionOver(error)) throw new AuthError('unauthenticated', { cause: error });
    throw error;
  }
}

/** Sends a text message. @returns the id of the challenge that its code answers */
export function sendFactorCode(
  { supabase }: BackendContext,
  visitor: Visitor,
  session: StoredContent,
  factorId: string,
): Promise<string> {
  const challenge = async ({ auth, unwrap }: SupabaseCall): Promise<string> =>
    present(unwrap(await auth.mfa.challenge({ factorId, channel: 'sms' }))).id;
  return supabase.call(visitor, challenge, { session });
}

/** @returns the same session at `aal2`, with new tokens; the user's other `aal1` sessions have ended at the backend */
export function verifyFactor(
  { supabase }: BackendContext,
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
  return supabase.call(visitor, verify, { session }).catch((error: unknown) => {
    if (state === 'sends the code' || !(error instanceof AuthError) || !isTimeout(error)) throw error;
    state = 'is over';
    // Without the reason, the throttle does not take it for a code that was judged.
    throw new AuthError(error.code, { cause: error, ...defined({ retryAfter: error.retryAfter }) });
  });
}

/** Adds an authenticator app. Unfinished enrollments are removed if needed, because they count toward the backend's limit. */
export async function enrollApp(
  backend: BackendContext,
  visitor: Visitor,
  session: StoredContent,
): Promise<Enrollment> {
  const { supabase, settings } = backend;
  // The application's name, as the app shows it; default: the host of the project's Site URL.
  const { title: issuer } = settings.pages;
  const enroll = async ({ auth, unwrap }: SupabaseCall): Promise<Enrollment> => {
    // GoTrue rejects two factors with the same name, including two without a name.
    const friendlyName = namePrefix + randomBytes(6).toString('hex');
    const { id, totp } = present(
      unwrap(await auth.mfa.enroll({ factorType: 'totp', friendlyName, ...defined({ issuer }) })),
    );
    return { factorId: id, secret: totp.secret, uri: totp.uri };
  };
  try {
    return await supabase.call(visitor, enroll, { session });
  } catch (error) {
    const isFull = error instanceof AuthError && error.reason === 'too_many_enrolled_mfa_factors';
    if (!isFull || !(await removeUnfinished(backend, visitor, session))) throw error;
    return await supabase.call(visitor, enroll, { session });
  }
}

async function removeUnfinished(backend: BackendContext, visitor: Visitor, session: StoredContent): Promise<boolean> {
  const { factors } = await listFactors(backend, visitor, session);
  const unfinished = factors.filter(({ isVerified, type }) => !isVerified && type === 'totp');
  for (const { id } of unfinished) await removeFactor(backend, visitor, session, id);
  return unfinished.length > 0;
}

export async function removeFactor(
  { supabase }: BackendContext,
  visitor: Visitor,
  session: StoredContent,
  factorId: string,
): Promise<void> {
  await supabase.call(visitor, async ({ auth, unwrap }) => unwrap(await auth.mfa.unenroll({ factorId })), { session });
}

const namePrefix = 'app-';

/** The SDK's types allow a result with neither data nor error. */
function present<Data>(data: Data | null): Data {
  if (data === null) throw new AuthError('provider_refused');
  return data;
}

/** Authenticator apps and phones, with the data that pages show. */
function factorsOf(user: SdkUser): readonly Factor[] {
  const listed: unknown = user.factors;
  const factors = Array.isArray(listed) ? listed.filter(isRecord) : [];
  return (['totp', 'phone'] as const).flatMap((type) =>
    factors.filter((factor) => factor['factor_type'] === type).flatMap((factor) => readFactor(factor, type)),
  );
}

function readFactor(value: Readonly<Record<string, unknown>>, type: Factor['type']): readonly Factor[] {
  const { id, status, friendly_name: name, phone, created_at: createdAt } = value;
  if (typeof id !== 'string') return [];
  const isOurs = typeof name !== 'string' || /^app-[\da-f]{12}$/.test(name);
  return [
    {
      id,
      type,
      name: isOurs ? '' : name,
      isVerified: status === 'verified',
      digits: typeof phone === 'string' ? phone.slice(-3) : '',
      createdAt: typeof createdAt === 'string' ? createdAt : '',
    },
  ];
}

const endings: ReadonlySet<string | undefined> = new Set([
  'session_not_found',
  'session_expired',
  'user_not_found',
  'user_banned',
]);

/** Whether the backend refused because the session no longer exists there. */
export function isSessionOver(error: unknown): boolean {
  return error instanceof AuthError && endings.has(error.reason);
}
