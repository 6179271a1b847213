import { createHash } from 'node:crypto';
import type { BackendUser, Json } from '../types.ts';

/** Who is signed in, and how. */
export interface BackendTestSession {
  /** Whatever is left out is made up; the `id` from the email address, so that one address is one person. */
  readonly user?: Partial<BackendUser>;
  readonly sessionId?: string;
  /** `aal2` where a second factor was given. Default `aal1`. */
  readonly aal?: 'aal1' | 'aal2';
  /** Seconds since the person signed in, for guards with `maxAge`. Default 0. */
  readonly signedInAgo?: number;
  /** No session yet: the second factor is still to come, or the new password after an email's link. The kit's `code` is the right one. */
  readonly pending?: 'factor' | 'recovery';
  /** Further claims of the access token. */
  readonly claims?: Readonly<Record<string, Json>>;
  /** The access token has expired: the first request renews it. */
  readonly expired?: boolean;
}

/** Complete, as the tokens tell of them. */
export function userOf({ user = {} }: BackendTestSession): BackendUser {
  const { email = 'user@example.com' } = user;
  return {
    id: uuidOf(email ?? ''),
    email,
    role: 'authenticated',
    isAnonymous: false,
    appMetadata: { provider: 'email', providers: ['email'] },
    userMetadata: {},
    ...user,
  };
}

/** Version 8, made to one's own rule (RFC 9562 §5.8). */
function uuidOf(text: string): string {
  const hex = createHash('sha256').update(text).digest('hex');
  return [hex.slice(0, 8), hex.slice(8, 12), `8${hex.slice(13, 16)}`, `8${hex.slice(17, 20)}`, hex.slice(20, 32)].join(
    '-',
  );
}

/** Of the authenticator app that users of the kit have. */
export const factorId = '00000000-0000-4000-8000-000000000000';

/** The level that was reached, and when. */
export function assurance({ aal = 'aal1', signedInAgo = 0 }: BackendTestSession, now: number) {
  const timestamp = now - signedInAgo;
  const password = { method: 'password', timestamp };
  return { aal, amr: aal === 'aal2' ? [{ method: 'totp', timestamp }, password] : [password] };
}

/** The user as Supabase answers. */
export function toWire(user: BackendUser, { aal, pending }: BackendTestSession) {
  const factor = { id: factorId, factor_type: 'totp', status: 'verified', friendly_name: 'app' };
  return {
    ...(aal === 'aal2' || pending === 'factor' ? { factors: [factor] } : {}),
    id: user.id,
    aud: 'authenticated',
    role: user.role,
    email: user.email ?? '',
    phone: user.phone ?? '',
    app_metadata: user.appMetadata,
    user_metadata: user.userMetadata,
    identities: [],
    is_anonymous: user.isAnonymous,
  };
}
