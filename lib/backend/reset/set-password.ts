import type { Session as SdkSession } from '@supabase/supabase-js';
import { defined } from '../../tools/json.ts';
import { AuthError } from '../../errors.ts';
import type { AuthRequest } from '../../http/request.ts';
import type { BackendSession } from '../../types.ts';
import { tokenLifetimeMs } from '../../session/jwt.ts';
import { asIssued, isSessionOver, providersOf } from '../supabase/account.ts';
import type { BackendContext } from '../context.ts';
import { FormProblem, rethrowAs, foldAccount } from '../forms/fields.ts';
import type { StoredContent } from '../supabase/session-cookie.ts';
import type { BackendSource } from '../supabase/session-source.ts';
import { rethrowStaleKeys } from '../supabase/provider-errors.ts';
import type { SupabaseCall } from '../supabase/supabase-call.ts';
import { endOthersHere } from '../sign-in/sign-out.ts';

/** Tokens that may set a password: from a link, or from a sign-in with the current password. */
interface PasswordGrant {
  readonly content: StoredContent;
  /** For projects that require it (`GOTRUE_SECURITY_UPDATE_PASSWORD_REQUIRE_CURRENT_PASSWORD`). */
  readonly currentPassword?: string;
  /** The session of the same user in this browser, which is replaced. */
  readonly replaced?: BackendSession | undefined;
}

/**
 * Sets the password, and ends the account's other sessions at the backend and here.
 *
 * @returns the remaining session, as the backend would issue it
 * @throws {AuthError} `weak_password`, `same_password`, `second_factor_required`, `link_expired`, `provider_unavailable`
 */
export async function setPassword(
  backend: BackendContext,
  request: AuthRequest,
  { content, currentPassword, replaced }: PasswordGrant,
  password: string,
): Promise<SdkSession> {
  const attributes = { password, ...defined({ current_password: currentPassword }) };
  const user = await backend.supabase
    .call(request, async ({ auth, unwrap }) => unwrap(await auth.updateUser(attributes)).user, { session: content })
    .catch(rethrowStaleKeys(backend, content.access_token));
  await endOtherSessions(backend, { content, replaced });
  return asIssued(content, user);
}

/** Ends every session of the account but this one, here and at the backend, which also does so with a new password. */
export async function endOtherSessions(
  backend: BackendContext,
  { content, replaced }: Pick<PasswordGrant, 'content' | 'replaced'>,
): Promise<void> {
  const { supabase, source, resolver, settings, explain } = backend;
  if (replaced !== undefined) await resolver.markReplaced(lifeOf(source, replaced));
  await endOthersHere(backend, 'others', source.toStored(content));
  try {
    await supabase.revoke(content.access_token, 'others', AbortSignal.timeout(settings.timeoutMs));
  } catch (error) {
    explain('the other sessions were not ended at the backend: %s', String(error));
  }
}

interface Credentials {
  readonly email: string;
  readonly password: string;
  readonly captchaToken?: string;
}

/** @throws {AuthError} `current_password_wrong`, counted like a wrong password of a sign-in */
async function checkPassword(
  { supabase, attempts }: BackendContext,
  request: AuthRequest,
  { email, password, ...options }: Credentials,
): Promise<SdkSession> {
  if (password === '') {
    const code = 'current_password_wrong';
    throw new FormProblem('currentPassword', 'passwordMissing', 'The current password is missing.', { code });
  }
  const signIn = async ({ auth, unwrap }: SupabaseCall) =>
    unwrap(await auth.signInWithPassword({ email, password, options })).session;
  const ask = () => supabase.call(request, signIn, { signsIn: false });
  const isWrong = ({ code }: AuthError): boolean => code === 'invalid_credentials';
  return attempts.run(request.req, email, ask).catch(rethrowAs('current_password_wrong', isWrong));
}

const isWrongPassword = (error: unknown): boolean =>
  error instanceof AuthError && error.code === 'current_password_wrong';

/**
 * As `checkOwn`, and with the backend's present address where the one in the token was changed elsewhere since.
 *
 * @throws {AuthError} as `checkOwn`; see also `isSessionOver`
 */
export async function checkPresent(
  backend: BackendContext,
  request: AuthRequest,
  session: BackendSession,
  credentials: Credentials,
): Promise<SdkSession> {
  try {
    return await checkOwn(backend, request, session, credentials);
  } catch (error) {
    if (!isWrongPassword(error) || credentials.password === '') throw error;
    const email = await presentEmail(backend, request, session);
    if (email === undefined || foldAccount(email) === foldAccount(credentials.email)) throw error;
    return checkOwn(backend, request, session, { ...credentials, email }).catch((again: unknown) => {
      throw isWrongPassword(again) ? error : again;
    });
  }
}

async function presentEmail(
  { supabase }: BackendContext,
  request: AuthRequest,
  { accessToken, user }: BackendSession,
): Promise<string | undefined> {
  const ask = supabase.call(request, async ({ auth, unwrap }) => unwrap(await auth.getUser(accessToken)).user);
  const present = await ask.catch((error: unknown) => {
    if (isSessionOver(error)) throw error;
    return undefined;
  });
  return present?.id === user.id && present.email !== '' ? present.email : undefined;
}

/** @throws {AuthError} `current_password_wrong`, also where the address in the token now belongs to another user */
async function checkOwn(
  backend: BackendContext,
  request: AuthRequest,
  session: BackendSession,
  credentials: Credentials,
): Promise<SdkSession> {
  const issued = await checkPassword(backend, request, credentials);
  if (issued.user.id === session.user.id) return issued;
  await backend.supabase.discard(issued);
  throw new AuthError('current_password_wrong', { reason: 'other_user' });
}

/** Supabase gives a SAML account no password and sends it no link for one (GoTrue: `user_sso_managed`). */
export function isOfOrganization(session: BackendSession): boolean {
  return providersOf(session)?.some((name) => name.startsWith('sso:')) === true;
}

/** `null` for accounts of OAuth providers only, which have no password; a link sent to their address lets them set one. */
export function emailWithPassword(session: BackendSession): string | null {
  return providersOf(session)?.includes('email') === false ? null : session.user.email;
}

/** The facts that `markReplaced` needs. */
function lifeOf(source: BackendSource, { claims }: BackendSession) {
  return { sessionId: source.factsOf(claims).sessionId, tokenLifetimeMs: tokenLifetimeMs(claims) };
}
