import { createHash } from 'node:crypto';
import type { BackendIdentity, BackendUser, Json } from '../types.ts';
import { signInTime } from './times.ts';

/** The signed-in user and the session's properties. */
export interface BackendTestSession {
  /** Missing fields are generated; the `id` is derived from the email address, so that one address is one user. */
  readonly user?: Partial<BackendUser>;
  /** The user's ways to sign in, which `onSignIn` gets. Default: the email address; none for a guest. */
  readonly identities?: readonly BackendIdentity[];
  readonly sessionId?: string;
  /** `aal2` for a session with a second factor. Default `aal1`. */
  readonly aal?: 'aal1' | 'aal2';
  /** Seconds since the person signed in, for guards with `maxAge`. Default 0. */
  readonly signedInAgo?: number;
  /** A pending sign-in: it still needs the second factor (the kit's `code`), or the new password after an email's link. */
  readonly pending?: 'factor' | 'recovery';
  /** Further claims of the access token. */
  readonly claims?: Readonly<Record<string, Json>>;
  /** The access token has expired: the first request renews it. */
  readonly expired?: boolean;
}

/** The complete user, with generated defaults. */
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

/** UUID version 8, with a custom layout (RFC 9562 §5.8). */
function uuidOf(text: string): string {
  const hex = createHash('sha256').update(text).digest('hex');
  return [hex.slice(0, 8), hex.slice(8, 12), `8${hex.slice(13, 16)}`, `8${hex.slice(17, 20)}`, hex.slice(20, 32)].join(
    '-',
  );
}

/** The assurance level and its authentication times. */
export function assurance(
  { aal = 'aal1', signedInAgo = 0, pending }: BackendTestSession,
  now: number,
  method: string = pending === 'recovery' ? 'otp' : 'password',
) {
  const timestamp = signInTime(now, signedInAgo);
  const first = { method, timestamp };
  return { aal, amr: aal === 'aal2' ? [{ method: 'totp', timestamp }, first] : [first] };
}

/** The user in Supabase's response format. */
export function toWire(session: BackendTestSession) {
  const user = userOf(session);
  return {
    id: user.id,
    aud: 'authenticated',
    role: user.role,
    email: user.email ?? '',
    phone: user.phone ?? '',
    app_metadata: user.appMetadata,
    user_metadata: user.userMetadata,
    identities: identitiesOf(session, user).map((identity) => ({ ...identity, user_id: user.id })),
    is_anonymous: user.isAnonymous,
  };
}

function identitiesOf({ identities }: BackendTestSession, { id, email, isAnonymous }: BackendUser) {
  const byEmail = isAnonymous || email === null ? [] : [{ provider: 'email', id, email }];
  return identities ?? byEmail;
}
