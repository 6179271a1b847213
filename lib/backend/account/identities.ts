import { isRecord } from '../../tools/json.ts';
import { AuthError } from '../../errors.ts';
import type { BackendContext } from '../context.ts';
import { callAs } from '../supabase/account.ts';
import type { StoredContent } from '../supabase/session-cookie.ts';
import type { Visitor } from '../supabase/supabase-call.ts';

/** A way to sign in that the backend knows. */
export interface Identity {
  /** The backend's own id for it. */
  readonly id: string;
  /** `email`, `phone`, `sso:…`, or an OAuth provider. */
  readonly provider: string;
  readonly email?: string;
}

export function readIdentities({ identities }: { readonly identities?: unknown }): readonly Identity[] {
  if (!Array.isArray(identities)) return [];
  return identities.flatMap((entry: unknown) => {
    const { identity_id: id, provider, identity_data: data } = isRecord(entry) ? entry : {};
    if (typeof id !== 'string' || typeof provider !== 'string') return [];
    const email = isRecord(data) ? data['email'] : undefined;
    return [{ id, provider, ...(typeof email === 'string' && email !== '' ? { email } : {}) }];
  });
}

/** Of these, the account has more than a way to sign in: its address, its number, its organization. */
export function isLinked(identity: Identity): boolean {
  return !['email', 'phone'].includes(identity.provider) && !isOfOrganization(identity);
}

/** Of a SAML identity provider, which alone changes the address. */
export function isOfOrganization({ provider }: Identity): boolean {
  return provider.startsWith('sso:');
}

/** Whether another identity than this one signs in here. */
export function isReplaceable({ account }: BackendContext, all: readonly Identity[], { id }: Identity): boolean {
  return all.some((other) => other.id !== id && account.some(({ signsIn }) => signsIn?.(other.provider) === true));
}

/**
 * Whether the project lets users link accounts. No setting tells: this asks for a link to a provider without a name, which GoTrue
 * refuses for its name where linking is on.
 */
export async function isLinkingOn(backend: BackendContext, visitor: Visitor, session: StoredContent): Promise<boolean> {
  // The SDK's type lists the providers of today.
  const ask = callAs(
    backend,
    visitor,
    async ({ auth, unwrap }) => unwrap(await auth.linkIdentity({ provider: '' as 'github' })),
    session,
  );
  return ask.then(
    () => false,
    (error: unknown) => error instanceof AuthError && error.reason === 'validation_failed',
  );
}

export async function unlinkIdentity(
  backend: BackendContext,
  visitor: Visitor,
  session: StoredContent,
  { id, provider }: Identity,
): Promise<void> {
  const identity = { identity_id: id, id, user_id: '', provider };
  await callAs(backend, visitor, async ({ auth, unwrap }) => unwrap(await auth.unlinkIdentity(identity)), session);
}

/** Ends sessions at the backend. @throws {AuthError} where it did not; see also `isSessionOver` */
export async function endSessions(
  backend: BackendContext,
  visitor: Visitor,
  session: StoredContent,
  scope: 'others' | 'global',
): Promise<void> {
  const { access_token: token } = session;
  await callAs(backend, visitor, async ({ auth, unwrap }) => unwrap(await auth.admin.signOut(token, scope)), session);
}
