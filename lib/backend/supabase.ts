import type { SupabaseClient } from '@supabase/supabase-js';
import type { CookieAttributes } from '../core/cookies.ts';
import { withDeadline } from '../core/deadline.ts';
import { AuthError } from '../errors.ts';
import type { ClientFacts, RefreshOutcome } from '../session/source.ts';
import { readToken } from '../tokens/access-token.ts';
import { createRecordingFetch, forwarding, outOfTime, reportRefusal } from './connection.ts';
import type { BackendConnection, ProviderResponse, RecordingFetch } from './connection.ts';
import { endingOf, providerError } from './provider-errors.ts';
import { parseContent } from './session-cookie.ts';
import type { StoredContent } from './session-cookie.ts';
import { createCallSupabase } from './supabase-call.ts';
import type { CallSupabase } from './supabase-call.ts';

/**
 * Everything that the adapter asks of Supabase Auth, except through `getSupabaseClient`: about a session by its tokens, and for a visitor
 * of an auth route (`call`). Each works on `connection.ts`: one deadline, and what was really answered.
 */
export interface Supabase {
  /** Spends a refresh token. @throws {AuthError} `provider_unavailable` for whatever is not a definitive answer */
  refresh(refreshToken: string, signal: AbortSignal, client?: ClientFacts): Promise<RefreshOutcome<StoredContent>>;
  /** What the backend says about a token. @throws {AuthError} `provider_unavailable` */
  introspect(accessToken: string): Promise<TokenWord>;
  /**
   * Ends sessions at the backend: a token's own, all of its user's, or all but its own.
   *
   * @returns `stale` where nothing was ended, because the token needs renewal first
   * @throws {AuthError} when it could not be reached or refused
   */
  revoke(accessToken: string, scope: 'local' | 'global' | 'others', signal: AbortSignal): Promise<'revoked' | 'stale'>;
  readonly call: CallSupabase;
}

/** `stale`: this token is not good (any more), which says nothing about its session; a refresh will tell. */
export type TokenWord = 'accepted' | 'refused' | 'stale';

/** GoTrue's refusals of a token's session; anything else says nothing about it. */
const sessionRefusals: ReadonlySet<string> = new Set([
  'no_authorization',
  'session_not_found',
  'session_expired',
  'user_not_found',
  'user_banned',
]);

export function createSupabase(
  connection: BackendConnection,
  storageKey: string,
  sameSite: CookieAttributes['sameSite'],
): Supabase {
  const { emit } = connection;

  async function introspect(accessToken: string, signal: AbortSignal): Promise<TokenWord> {
    const { auth, answer } = await openClient(connection, signal);
    const { data, error } = await auth.getUser(accessToken);
    // Whatever else answers with 200 has not read the token.
    if (error === null && data.user.id === readToken(accessToken).claims['sub']) return 'accepted';
    const refusal = refusalOf(answer());
    if (refusal === undefined) throw outage(connection, answer(), error);
    return refusal;
  }

  return {
    async refresh(refreshToken, signal, client) {
      const { auth, answer } = await openClient(connection, signal, client?.ipAddress);
      const { data, error } = await auth.refreshSession({ refresh_token: refreshToken });
      const response = answer();
      if (response.kind === 'unanswered') return { kind: 'unanswered', cause: response.cause };
      const reason = endingOf(response);
      if (reason !== undefined) return { kind: 'ended', reason };
      const content = error === null ? parseContent(data.session) : undefined;
      if (content !== undefined) return { kind: 'renewed', content };
      const failure = outage(connection, response, error);
      if (response.kind !== 'answered' || response.code === undefined || response.status >= 500) throw failure;
      return { kind: 'refused', status: response.status, error: failure };
    },

    introspect: (accessToken) =>
      withDeadline((signal) => introspect(accessToken, signal), connection.timeoutMs, outOfTime),

    async revoke(accessToken, scope, signal) {
      const { auth, answer } = await openClient(connection, signal);
      const { error } = await auth.admin.signOut(accessToken, scope);
      if (error === null) return 'revoked';
      const refusal = refusalOf(answer());
      if (refusal === undefined) throw reportRefusal(providerError(answer(), error), emit);
      // A session that is gone already is what was asked for.
      return refusal === 'stale' ? 'stale' : 'revoked';
    },

    call: createCallSupabase(connection, storageKey, sameSite),
  };
}

/** A client without cookies, and what the backend really answered to it. */
async function openClient(
  connection: BackendConnection,
  signal: AbortSignal,
  address?: string,
): Promise<Pick<RecordingFetch, 'answer'> & { readonly auth: SupabaseClient['auth'] }> {
  const { createClient } = await import('@supabase/supabase-js');
  const { fetch, answer } = createRecordingFetch(forwarding(connection, address), signal);
  const { auth } = createClient(connection.url, connection.anonKey, {
    auth: { persistSession: false, autoRefreshToken: false, detectSessionInUrl: false },
    global: { fetch },
  });
  return { auth, answer };
}

/** Nothing but a definitive answer may cost a session, so every other failure is an outage. */
function outage({ emit }: BackendConnection, response: ProviderResponse, error: unknown): AuthError {
  const { code, cause, reason, retryAfter = 5 } = reportRefusal(providerError(response, error), emit);
  const verdict = code === 'provider_unavailable' ? 'server_error' : code;
  return new AuthError('provider_unavailable', {
    cause,
    // A rate limit has many codes, and one cure.
    reason: code === 'rate_limited' ? code : (reason ?? verdict),
    retryAfter,
  });
}

function refusalOf(response: ProviderResponse): Exclude<TokenWord, 'accepted'> | undefined {
  const code = response.kind === 'answered' ? (response.code ?? '') : '';
  // It has expired by GoTrue's clock, or it names a key that was withdrawn.
  if (code === 'bad_jwt') return 'stale';
  return sessionRefusals.has(code) ? 'refused' : undefined;
}
