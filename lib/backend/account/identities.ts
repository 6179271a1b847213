import { isRecord } from '../../tools/json.ts';
import { AuthError } from '../../errors.ts';
import { withDeadline } from '../../tools/deadline.ts';
import type { BackendContext } from '../context.ts';
import { callAs } from '../supabase/account.ts';
import type { StoredContent } from '../supabase/session-cookie.ts';
import { codeOf } from '../supabase/provider-errors.ts';
import type { SupabaseCall, Visitor } from '../supabase/supabase-call.ts';

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
  const ask = async ({ auth }: SupabaseCall) => (await auth.linkIdentity({ provider: '' as 'github' })).error;
  const refusal = await backend.supabase.call(visitor, ask, { session }).catch(() => null);
  return codeOf(refusal) === 'validation_failed';
}

/** @returns whether it was there. @throws {AuthError} for the visitor */
export async function unlinkIdentity(
  backend: BackendContext,
  visitor: Visitor,
  session: StoredContent,
  { id, provider }: Identity,
): Promise<boolean> {
  const identity = { identity_id: id, id, user_id: '', provider };
  const remove = callAs(
    backend,
    visitor,
    async ({ auth, unwrap }) => unwrap(await auth.unlinkIdentity(identity)),
    session,
  );
  return remove.then(
    () => true,
    (error: unknown) => {
      const reason = error instanceof AuthError ? error.reason : undefined;
      if (reason === 'identity_not_found') return false;
      if (reason !== 'email_conflict_identity_not_deletable') throw error;
      const message = 'This one has to stay: another account uses the email of your other sign-in.';
      throw new AuthError('last_sign_in_method', { cause: error, reason, message });
    },
  );
}

/**
 * Two unlinks at once would each leave the other's identity as the last.
 *
 * @param timeoutMs for which work waits for its turn
 * @returns a function that runs work one by one for each key; it throws `provider_unavailable` where its turn does not come
 */
export function createTurns(timeoutMs: number) {
  const turns = new Map<string, Promise<unknown>>();
  const tooLong = (): AuthError => new AuthError('provider_unavailable', { reason: 'timeout' });
  return async <Result>(key: string, work: () => Promise<Result>): Promise<Result> => {
    const former = turns.get(key) ?? Promise.resolve();
    const result = withDeadline(() => former, timeoutMs, tooLong).then(work);
    const turn = Promise.allSettled([former, result]);
    turns.set(key, turn);
    void turn.then(() => turns.get(key) === turn && turns.delete(key));
    return result;
  };
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
