import type { SupabaseClient } from '@supabase/supabase-js';
import type { CookieAttributes } from '../../tools/cookies.ts';
import { withDeadline } from '../../tools/deadline.ts';
import { AuthError } from '../../errors.ts';
import { createRest } from '../../tools/rest.ts';
import type { ClientFacts, RefreshOutcome } from '../../session/source.ts';
import { readToken } from '../../session/jwt.ts';
import { createRecordingFetch, forwarding, outOfTime, reportRefusal } from './connection.ts';
import type { BackendConnection, ProviderResponse } from './connection.ts';
import { endingOf, providerError } from './provider-errors.ts';
import { parseContent } from './session-cookie.ts';
import type { StoredContent } from './session-cookie.ts';
import { createCallSupabase } from './supabase-call.ts';
import type { CallSupabase } from './supabase-call.ts';

/**
 * All calls of the adapter to Supabase Auth, except those of `getSupabaseClient`: about a session by its tokens, and
 * for a visitor of an auth route (`call`). All use `connection.ts`: one deadline, and the recorded response.
 */
export interface Supabase {
  /** Spends a refresh token, but not before the `Retry-After` of an earlier answer to any refresh. @throws {AuthError} `provider_unavailable` where the answer is not definitive */
  refresh(
    refreshToken: string,
    signal: AbortSignal,
    client?: ClientFacts,
    /** The access token that came with it. */
    accessToken?: string,
  ): Promise<RefreshOutcome<StoredContent>>;
  /** The backend's verdict on a token. @throws {AuthError} `provider_unavailable` */
  introspect(accessToken: string): Promise<Introspection>;
  /**
   * Ends sessions at the backend: a token's own, all of its user's, or all but its own.
   *
   * @returns `stale` where nothing was ended, because the token needs renewal first
   * @throws {AuthError} when it could not be reached or refused
   */
  revoke(accessToken: string, scope: 'local' | 'global' | 'others', signal: AbortSignal): Promise<'revoked' | 'stale'>;
  /** Ends an issued session that will not be used. It never throws. */
  discard(issued: Pick<StoredContent, 'access_token'>): Promise<void>;
  readonly call: CallSupabase;
}

/** `stale`: this token is no longer valid, but its session may be; a refresh decides. */
export type Introspection = 'accepted' | 'refused' | 'stale';

/** GoTrue's codes that refuse a token's session; any other code is no verdict on it. */
const sessionRefusals: ReadonlySet<string | undefined> = new Set([
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
  now: () => number,
): Supabase {
  const { emit } = connection;
  const rest = createRest(now);

  async function introspect(accessToken: string, signal: AbortSignal): Promise<Introspection> {
    const { result, response } = await ask(connection, signal, (auth) => auth.getUser(accessToken));
    const { data, error } = result;
    // Another service that answers with 200 has not checked the token.
    if (error === null && data.user.id === readToken(accessToken).claims['sub']) return 'accepted';
    const refusal = refusalOf(response);
    if (refusal === undefined) throw outage(connection, response, error);
    return refusal;
  }

  const revoke: Supabase['revoke'] = async (accessToken, scope, signal) => {
    const { result, response } = await ask(connection, signal, (auth) => auth.admin.signOut(accessToken, scope));
    if (result.error === null) return 'revoked';
    const refusal = refusalOf(response);
    if (refusal === undefined) throw reportRefusal(providerError(response, result.error), emit);
    // A session that is already gone counts as revoked.
    return refusal === 'stale' ? 'stale' : 'revoked';
  };

  return {
    async refresh(refreshToken, signal, client, accessToken) {
      rest.refuse();
      const refresh = (auth: SupabaseClient['auth']) => auth.refreshSession({ refresh_token: refreshToken });
      const { result, response } = await ask(connection, signal, refresh, client?.ipAddress);
      const { data, error } = result;
      if (response.kind === 'unanswered') return { kind: 'unanswered', cause: response.cause };
      const reason = endingOf(response, isLongOver(accessToken, now()));
      if (reason !== undefined) return { kind: 'ended', reason };
      const content = error === null ? parseContent(data.session) : undefined;
      if (content !== undefined) return { kind: 'renewed', content };
      const failed = outage(connection, response, error);
      if (isForAll(connection, response, client)) rest.begin(failed);
      throw failed;
    },

    introspect: (accessToken) =>
      withDeadline((signal) => introspect(accessToken, signal), connection.timeoutMs, outOfTime),

    revoke,
    async discard({ access_token: accessToken }) {
      await revoke(accessToken, 'local', AbortSignal.timeout(connection.timeoutMs)).catch(() => undefined);
    },

    call: createCallSupabase(connection, storageKey, sameSite),
  };
}

/** Milliseconds after the end of an access token, in which a project's hook may fail before its refusal ends the session. */
const hookPatienceMs = 600_000;

/** @param now milliseconds since the epoch */
function isLongOver(accessToken: string | undefined, now: number): boolean {
  const exp = accessToken === undefined ? undefined : readToken(accessToken).claims['exp'];
  return typeof exp !== 'number' || exp * 1000 + hookPatienceMs <= now;
}

/** One call by a client of its own, without cookies: what the SDK made of the response, and the response. */
async function ask<Result>(
  connection: BackendConnection,
  signal: AbortSignal,
  call: (auth: SupabaseClient['auth']) => Promise<Result>,
  address?: string,
): Promise<{ readonly result: Result; readonly response: ProviderResponse }> {
  const { createClient } = await import('@supabase/supabase-js');
  const { fetch, answer } = createRecordingFetch(forwarding(connection, address), signal);
  const { auth } = createClient(connection.url, connection.anonKey, {
    auth: { persistSession: false, autoRefreshToken: false, detectSessionInUrl: false },
    global: { fetch },
  });
  const result = await call(auth);
  return { result, response: answer() };
}

/** Only a definitive answer may end a session, so every other failure is an outage. */
function outage({ emit }: BackendConnection, response: ProviderResponse, error: unknown): AuthError {
  const failure = reportRefusal(providerError(response, error), emit);
  const { code, cause, reason } = failure;
  const told = response.kind === 'answered' ? response.retryAfter : undefined;
  const verdict = code === 'provider_unavailable' ? 'server_error' : code;
  return new AuthError('provider_unavailable', {
    cause,
    // A rate limit has many codes, but one remedy.
    reason: code === 'rate_limited' ? code : (reason ?? verdict),
    retryAfter: told ?? failure.retryAfter ?? 5,
  });
}

/**
 * Whether the answer's `Retry-After` concerns every refresh from here: GoTrue limits by address, which is this server's. Where
 * it is told the visitor's address instead, one visitor's limit must not hold up the others.
 */
function isForAll(
  { forwardClientAddress }: BackendConnection,
  response: ProviderResponse,
  client: ClientFacts | undefined,
): boolean {
  if (response.kind !== 'answered' || response.retryAfter === undefined) return false;
  return !(response.status === 429 && forwardClientAddress && client?.ipAddress !== undefined);
}

function refusalOf(response: ProviderResponse): Exclude<Introspection, 'accepted'> | undefined {
  const code = response.kind === 'answered' ? response.code : undefined;
  // It has expired by GoTrue's clock, or its signing key was withdrawn.
  if (code === 'bad_jwt') return 'stale';
  return sessionRefusals.has(code) ? 'refused' : undefined;
}
