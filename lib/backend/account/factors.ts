import { randomBytes } from 'node:crypto';
import type { Session as SdkSession, User as SdkUser } from '@supabase/supabase-js';
import { isRecord } from '../../core/json.ts';
import { AuthError } from '../../errors.ts';
import type { Session } from '../../types.ts';
import type { StoredContent } from '../session-cookie.ts';
import type { Supabase, SupabaseCall, Visitor } from '../supabase.ts';

/** A second factor that this package knows how to ask for. */
export interface Factor {
  readonly id: string;
  readonly type: 'totp' | 'phone';
  /** As its owner or another page named it. */
  readonly name: string;
  readonly isVerified: boolean;
  /** The last digits of a phone's number. */
  readonly digits: string;
  /** ISO 8601. */
  readonly createdAt: string;
}

/** A user as the backend knows them now; no token says who has factors. */
export interface UserFactors {
  readonly user: SdkUser;
  /** Authenticator apps first. */
  readonly factors: readonly Factor[];
}

/** An authenticator app that was added and has not shown a code yet. */
export interface Enrollment {
  readonly factorId: string;
  /** Base32, for typing. */
  readonly secret: string;
  /** `otpauth://totp/…`, for a QR code. */
  readonly uri: string;
}

export interface FactorAnswer {
  readonly factorId: string;
  readonly code: string;
  /** Of the text message; left out for an app, which is challenged in the same request. */
  readonly challengeId?: string | undefined;
}

/**
 * What is asked of the backend about second factors, as the user of `content`.
 *
 * @throws {AuthError} in every call, what the backend's refusal is to the visitor; see `isSessionOver`
 * @see https://supabase.com/docs/guides/auth/auth-mfa
 */
export interface Factors {
  list(visitor: Visitor, content: Pick<StoredContent, 'access_token'>): Promise<UserFactors>;
  /** For guards: whether a verified factor exists. @throws {AuthError} `unauthenticated` where the session has ended there, or an outage */
  hasVerified(session: Pick<Session, 'accessToken'>): Promise<boolean>;
  /** Sends a text message. @returns the challenge that its code answers */
  sendCode(visitor: Visitor, content: StoredContent, factorId: string): Promise<string>;
  /** @returns the same session at `aal2`, with new tokens; the user's other `aal1` sessions have ended at the backend */
  verify(visitor: Visitor, content: StoredContent, answer: FactorAnswer): Promise<SdkSession>;
  /** @param issuer the application's name, as the app shows it; default: the host of the project's Site URL */
  start(visitor: Visitor, content: StoredContent, issuer: string | undefined): Promise<Enrollment>;
  remove(visitor: Visitor, content: StoredContent, factorId: string): Promise<void>;
}

export function createFactors(supabase: Pick<Supabase, 'call'>): Factors {
  const list: Factors['list'] = (visitor, content) =>
    supabase.call(visitor, async ({ auth, unwrap }) => {
      const { user } = unwrap(await auth.getUser(content.access_token));
      return { user, factors: factorsOf(user) };
    });

  async function remove(visitor: Visitor, session: StoredContent, factorId: string): Promise<void> {
    await supabase.call(visitor, async ({ auth, unwrap }) => unwrap(await auth.mfa.unenroll({ factorId })), {
      session,
    });
  }

  /** Enrollments that were given up count for the backend's limit. */
  async function removeUnfinished(visitor: Visitor, content: StoredContent): Promise<boolean> {
    const { factors } = await list(visitor, content);
    const unfinished = factors.filter(({ isVerified, type }) => !isVerified && type === 'totp');
    for (const { id } of unfinished) await remove(visitor, content, id);
    return unfinished.length > 0;
  }

  return {
    list,
    remove,
    async hasVerified({ accessToken }) {
      try {
        const { factors } = await list({ cookies: new Map(), peer: undefined }, { access_token: accessToken });
        return factors.some(({ isVerified }) => isVerified);
      } catch (error) {
        if (isSessionOver(error)) throw new AuthError('unauthenticated', { cause: error });
        throw error;
      }
    },
    sendCode: (visitor, session, factorId) =>
      supabase.call(
        visitor,
        async ({ auth, unwrap }) => present(unwrap(await auth.mfa.challenge({ factorId, channel: 'sms' }))).id,
        { session },
      ),
    verify: (visitor, session, { factorId, code, challengeId }) =>
      supabase.call(
        visitor,
        async ({ auth, unwrap }) => {
          const challenge = challengeId ?? present(unwrap(await auth.mfa.challenge({ factorId }))).id;
          return present(unwrap(await auth.mfa.verify({ factorId, challengeId: challenge, code })));
        },
        { session },
      ),
    async start(visitor, session, issuer) {
      const enroll = () => supabase.call(visitor, (call) => enrollApp(call, issuer), { session });
      try {
        return await enroll();
      } catch (error) {
        const isFull = error instanceof AuthError && error.reason === 'too_many_enrolled_mfa_factors';
        if (!isFull || !(await removeUnfinished(visitor, session))) throw error;
        return await enroll();
      }
    },
  };
}

async function enrollApp({ auth, unwrap }: SupabaseCall, issuer: string | undefined): Promise<Enrollment> {
  // Two factors of one name are a conflict, those without a name included.
  const friendlyName = namePrefix + randomBytes(6).toString('hex');
  const named = issuer === undefined ? {} : { issuer };
  const { id, totp } = present(unwrap(await auth.mfa.enroll({ factorType: 'totp', friendlyName, ...named })));
  return { factorId: id, secret: totp.secret, uri: totp.uri };
}

const namePrefix = 'app-';

/** The SDK's types leave room for neither data nor error. */
function present<Data>(data: Data | null): Data {
  if (data === null) throw new AuthError('provider_refused');
  return data;
}

/** Authenticator apps and phones, with what pages show of them. */
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

/** Whether the backend refused because the session that asked is gone there. */
export function isSessionOver(error: unknown): boolean {
  return error instanceof AuthError && endings.has(error.reason);
}
