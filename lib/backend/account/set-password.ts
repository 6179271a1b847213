import type { Session as SdkSession } from '@supabase/supabase-js';
import { defined, isRecord } from '../../core/json.ts';
import { AuthError } from '../../errors.ts';
import type { AuthRequest } from '../../http/auth-request.ts';
import type { BackendSession } from '../../types.ts';
import { tokenLifetimeMs } from '../../tokens/access-token.ts';
import type { BackendContext } from '../context.ts';
import { rethrowAs } from '../forms.ts';
import type { StoredContent } from '../session-cookie.ts';
import type { BackendSource } from '../session-source.ts';

/** Tokens that may set a password: of a link, or of someone who has just given the current one. */
interface PasswordGrant {
  readonly content: StoredContent;
  /** Where a project asks for it (`GOTRUE_SECURITY_UPDATE_PASSWORD_REQUIRE_CURRENT_PASSWORD`). */
  readonly currentPassword?: string;
  /** The session of the same user in this browser, whose place is taken. */
  readonly replaced?: BackendSession | undefined;
}

/**
 * Sets the password, and ends the account's other sessions at the backend and here.
 *
 * @returns the session that goes on, as the backend would issue it
 * @throws {AuthError} `weak_password`, `same_password`, `second_factor_required`, `link_expired`, `provider_unavailable`
 */
export async function setPassword(
  backend: BackendContext,
  request: AuthRequest,
  { content, currentPassword, replaced }: PasswordGrant,
  password: string,
): Promise<SdkSession> {
  const attributes = { password, ...defined({ current_password: currentPassword }) };
  const user = await backend.supabase.call(
    request,
    async ({ auth, unwrap }) => unwrap(await auth.updateUser(attributes)).user,
    { session: content },
  );
  await endOtherSessions(backend, { content, replaced });
  return asIssued(content, user);
}

/** Ends every session of the account but this one, here and at the backend, which has done so with the new password. */
export async function endOtherSessions(
  { supabase, source, resolver, settings, explain }: BackendContext,
  { content, replaced }: Pick<PasswordGrant, 'content' | 'replaced'>,
): Promise<void> {
  if (replaced !== undefined) await resolver.awaitSuccessor(lifeOf(source, replaced));
  try {
    await resolver.endOthers(source.toStored(content));
  } catch (error) {
    explain('the other sessions were ended in this process only: %s', String(error));
  }
  try {
    await supabase.revoke(content.access_token, 'others', AbortSignal.timeout(settings.timeoutMs));
  } catch (error) {
    explain('the other sessions were not ended at the backend: %s', String(error));
  }
}

/** @throws {AuthError} `current_password_wrong`, counted like a wrong password of a sign-in */
export async function checkPassword(
  { supabase, attempts }: BackendContext,
  request: AuthRequest,
  {
    email,
    password,
    ...options
  }: { readonly email: string; readonly password: string; readonly captchaToken?: string },
): Promise<SdkSession> {
  if (password === '') throw new AuthError('current_password_wrong');
  const ask = () =>
    supabase.call(request, async ({ auth, unwrap }) => {
      return unwrap(await auth.signInWithPassword({ email, password, options })).session;
    });
  const isWrong = ({ code }: AuthError): boolean => code === 'invalid_credentials';
  return attempts.run(request.req, email, ask, 'forgives').catch(rethrowAs('current_password_wrong', isWrong));
}

/** Supabase gives an account of SAML no password and sends it no link for one (GoTrue: `user_sso_managed`). */
export function isOfOrganization({ user }: BackendSession): boolean {
  const { providers } = user.appMetadata;
  return Array.isArray(providers) && providers.some((name) => typeof name === 'string' && name.startsWith('sso:'));
}

/** `null` for accounts of OAuth providers, which have no password; a link sent to their address gives them one. */
export function emailWithPassword({ user }: BackendSession): string | null {
  const { providers } = user.appMetadata;
  return !Array.isArray(providers) || providers.includes('email') ? user.email : null;
}

/** What a mark of the session needs. */
function lifeOf(source: BackendSource, { claims }: BackendSession) {
  return { sessionId: source.factsOf(claims).sessionId, tokenLifetimeMs: tokenLifetimeMs(claims) };
}

/** The user of the claims, where the backend has not said more. */
export function claimedUser({ claims }: Pick<BackendSession, 'claims'>): Record<string, unknown> {
  const { sub: id, aud, role, email, phone, app_metadata, user_metadata, is_anonymous } = claims;
  return { id, aud, role, email, phone, app_metadata, user_metadata, is_anonymous };
}

/** Tokens and user in the form of an answer to a sign-in. */
export function asIssued(content: StoredContent, user: unknown): SdkSession {
  const issued = { ...content, token_type: 'bearer', user };
  if (!isSdkSession(issued)) throw new AuthError('token_rejected');
  return issued;
}

function isSdkSession(value: { readonly user: unknown }): value is SdkSession {
  return isRecord(value.user);
}
