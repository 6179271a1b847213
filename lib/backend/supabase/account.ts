/** What the backend says about the user of a session, for the kernel and for every room. */
import type { Session as SdkSession, User as SdkUser } from '@supabase/supabase-js';
import { defined, isRecord } from '../../tools/json.ts';
import { AuthError } from '../../errors.ts';
import { readToken } from '../../session/jwt.ts';
import type { BackendIdentity, BackendSession } from '../../types.ts';
import type { BackendContext } from '../context.ts';
import { rethrowStaleKeys } from './provider-errors.ts';
import { issuedContent } from './session-cookie.ts';
import type { StoredContent } from './session-cookie.ts';
import type { SupabaseCall, Visitor } from './supabase-call.ts';

/** A call with the session's token, which was verified here before. @param lifeMs milliseconds; default: `timeoutMs` */
export async function callAs<Result>(
  backend: BackendContext,
  visitor: Visitor,
  work: (call: SupabaseCall) => Promise<Result>,
  session: StoredContent,
  lifeMs?: number,
): Promise<Result> {
  const options = { session, ...defined({ lifeMs }) };
  return backend.supabase.call(visitor, work, options).catch(rethrowStaleKeys(backend, session.access_token));
}

/**
 * The backend's current user; no token tells which second factors a user has.
 *
 * @throws {AuthError} for the visitor; see also `isSessionOver`
 */
export async function presentUser(
  backend: BackendContext,
  visitor: Visitor,
  { access_token: accessToken }: Pick<StoredContent, 'access_token'>,
): Promise<SdkUser> {
  const ask = async ({ auth, unwrap }: SupabaseCall): Promise<SdkUser> => {
    const { user } = unwrap(await auth.getUser(accessToken));
    requireUser(user, accessToken);
    return user;
  };
  return backend.supabase.call(visitor, ask, { signsIn: false }).catch(rethrowStaleKeys(backend, accessToken));
}

/**
 * The second factors in the backend's answer, which leaves the field out where there are none. What cannot be read counts as one:
 * only a list without factors means that there is none.
 */
export function listedFactors(user: { readonly factors?: unknown } | undefined): readonly unknown[] {
  // A coordinator's data beside the tokens is not validated, and may have no user.
  const listed = user?.factors;
  if (listed === undefined || listed === null) return [];
  return Array.isArray(listed) ? listed : [listed];
}

/** Whether the user has proven a listed factor. A status of tomorrow does not switch a factor off. */
export function isVerified(factor: unknown): boolean {
  return !isRecord(factor) || factor['status'] !== 'unverified';
}

/** Whether the user has enrolled: every verified factor counts, whatever its type. */
export function hasFactor(user: { readonly factors?: unknown } | undefined): boolean {
  return listedFactors(user).some(isVerified);
}

/**
 * Whether the user has a verified factor that these tokens lack; a token itself does not list factors.
 *
 * @throws {AuthError} `provider_refused` where the answer does not tell it of this user, `token_rejected` where it is no session
 */
export function needsFactor(issued: SdkSession): boolean {
  const { access_token: accessToken } = issuedContent(issued);
  requireUser(issued.user, accessToken);
  return hasFactor(issued.user) && readToken(accessToken).claims['aal'] !== 'aal2';
}

/** The `reason` where an answer is not about the token's user. */
export const otherUser = 'subject';

/**
 * The user's ways to sign in. The answer to a sign-in lists them, except one that came by a renewal.
 *
 * @throws {AuthError} as `presentUser`, which is asked where the answer has no list
 */
export async function identitiesOf(
  backend: BackendContext,
  visitor: Visitor,
  content: StoredContent,
  issuedUser: unknown,
): Promise<readonly BackendIdentity[]> {
  return listedIdentities(issuedUser) ?? listedIdentities(await presentUser(backend, visitor, content)) ?? [];
}

function listedIdentities(user: unknown): readonly BackendIdentity[] | undefined {
  const listed = isRecord(user) ? user['identities'] : undefined;
  if (!Array.isArray(listed)) return undefined;
  return listed.flatMap((entry: unknown) => {
    // Its own key is `identity_id`; `id` is the provider's.
    const { provider, id, email } = isRecord(entry) ? entry : {};
    if (!isName(provider) || !isName(id)) return [];
    return [{ provider, id, ...(isName(email) ? { email } : {}) }];
  });
}

function isName(value: unknown): value is string {
  return typeof value === 'string' && value !== '';
}

/** A list without factors means none only in an answer about the token's user: another service that answers with 200 knows of none. */
function requireUser(user: unknown, accessToken: string): void {
  const id = isRecord(user) ? user['id'] : undefined;
  const { sub } = readToken(accessToken).claims;
  // What is no token is refused as such.
  if (sub !== undefined && id !== sub) throw new AuthError('provider_refused', { reason: otherUser });
}

/** The names of the ways that the account signs in by, from its claims: `email`, `phone` or OAuth providers. */
export function providersOf({ user }: BackendSession): readonly string[] | undefined {
  const { providers } = user.appMetadata;
  return Array.isArray(providers) ? providers.filter((name) => typeof name === 'string') : undefined;
}

/** Tokens and user in the form of a sign-in response. */
export function asIssued(content: StoredContent, user: unknown): SdkSession {
  const issued = { ...content, token_type: 'bearer', user };
  if (!isSdkSession(issued)) throw new AuthError('token_rejected');
  return issued;
}

function isSdkSession(value: { readonly user: unknown }): value is SdkSession {
  return isRecord(value.user);
}

const endings: ReadonlySet<string | undefined> = new Set([
  'no_authorization',
  'session_not_found',
  'session_expired',
  'user_not_found',
  'user_banned',
]);

/** Whether the backend refused because the session no longer exists there. */
export function isSessionOver(error: unknown): error is AuthError {
  return error instanceof AuthError && endings.has(error.reason);
}
