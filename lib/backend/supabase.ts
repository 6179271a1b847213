import type { AuthError as SdkError, SupabaseClient } from '@supabase/supabase-js';
import { withDeadline } from '../core/deadline.ts';
import type { CookieAttributes, CookieWrite, RequestCookies } from '../core/cookies.ts';
import { readToken } from '../tokens/token.ts';
import { AuthError } from '../errors.ts';
import type { ClientFacts, RefreshOutcome } from '../session/source.ts';
import { createRecordingFetch, forwarding, outOfTime, reportRefusal } from './connection.ts';
import type { BackendConnection, ProviderResponse, RecordingFetch } from './connection.ts';
import { endingOf, providerError } from './provider-errors.ts';
import { parseContent } from './session-cookie.ts';
import type { StoredContent } from './session-cookie.ts';
import { createCallStorage } from './call-storage.ts';

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
  /**
   * Runs a piece of work with the SDK within the time budget.
   *
   * @throws {AuthError} `provider_unavailable` when the time is up, or what `work` throws
   */
  call<Result>(
    visitor: Visitor,
    work: (call: SupabaseCall) => Promise<Result>,
    options?: {
      /** Milliseconds; default: `timeoutMs`. */
      readonly lifeMs?: number;
      /** Acts as this session's user: `updateUser` and `mfa` need one. It must be verified, and is never refreshed. */
      readonly session?: StoredContent | undefined;
    },
  ): Promise<Result>;
}

/** Who asks: a request's cookies, and its address as far as the adapter knows it. `AuthRequest` is one. */
export interface Visitor {
  readonly cookies: RequestCookies;
  readonly peer: string | undefined;
}

/**
 * The SDK on an auth route. It never sees the session that the browser may still have: it would refresh it, and if that fails delete the
 * PKCE verifiers along with it. What it stores is collected, not sent, because nothing may reach the browser before the new
 * session is verified.
 */
export interface SupabaseCall {
  readonly auth: Omit<SupabaseClient['auth'], 'getSession' | 'setSession' | 'signOut'>;
  /** The SDK's result. @throws {AuthError} the failure that it is to the visitor */
  readonly unwrap: <Data>(result: SdkResult<Data>) => Data;
  /** The flow whose verifier was stored, where one was. */
  startedId(): string | undefined;
  /** The flows whose verifiers are stored after a start. */
  aliveIds(): ReadonlySet<string>;
  /** The verifiers' cookies after a start; also after one that the backend refused, so that the two look alike. */
  startedWrites(): readonly CookieWrite[];
  /** The verifiers' cookies after an exchange: what is spent is deleted. */
  finishedWrites(): readonly CookieWrite[];
}

type SdkResult<Data> =
  { readonly data: Data; readonly error: null } | { readonly data: unknown; readonly error: SdkError };

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
  const { timeoutMs, emit } = connection;

  /** A client without cookies. */
  async function open(
    signal: AbortSignal,
    address?: string,
  ): Promise<{ readonly auth: SupabaseClient['auth']; readonly gateway: RecordingFetch }> {
    const { createClient } = await import('@supabase/supabase-js');
    const gateway = createRecordingFetch(forwarding(connection, address), signal);
    const { auth } = createClient(connection.url, connection.anonKey, {
      auth: { persistSession: false, autoRefreshToken: false, detectSessionInUrl: false },
      global: { fetch: gateway.fetch },
    });
    return { auth, gateway };
  }

  /** Nothing but a definitive answer may cost a session, so every other failure is an outage. */
  function outage(answer: ProviderResponse, error: unknown): AuthError {
    const { code, cause, reason, retryAfter = 5 } = reportRefusal(providerError(answer, error), emit);
    const verdict = code === 'provider_unavailable' ? 'server_error' : code;
    return new AuthError('provider_unavailable', {
      cause,
      // A rate limit has many codes, and one cure.
      reason: code === 'rate_limited' ? code : (reason ?? verdict),
      retryAfter,
    });
  }

  return {
    async refresh(refreshToken, signal, client) {
      const { auth, gateway } = await open(signal, client?.ipAddress);
      const { data, error } = await auth.refreshSession({ refresh_token: refreshToken });
      const answer = gateway.answer();
      if (answer.kind === 'unanswered') return { kind: 'unanswered', cause: answer.cause };
      const reason = endingOf(answer);
      if (reason !== undefined) return { kind: 'ended', reason };
      const content = error === null ? parseContent(data.session) : undefined;
      if (content !== undefined) return { kind: 'renewed', content };
      const failure = outage(answer, error);
      if (answer.kind !== 'answered' || answer.code === undefined || answer.status >= 500) throw failure;
      return { kind: 'refused', status: answer.status, error: failure };
    },

    introspect: (accessToken) =>
      withDeadline(
        async (signal) => {
          const { auth, gateway } = await open(signal);
          const { data, error } = await auth.getUser(accessToken);
          // Whatever else answers with 200 has not read the token.
          if (error === null && data.user.id === readToken(accessToken).claims['sub']) return 'accepted';
          const refusal = refusalOf(gateway.answer());
          if (refusal === undefined) throw outage(gateway.answer(), error);
          return refusal;
        },
        timeoutMs,
        outOfTime,
      ),

    async revoke(accessToken, scope, signal) {
      const { auth, gateway } = await open(signal);
      const { error } = await auth.admin.signOut(accessToken, scope);
      if (error === null) return 'revoked';
      const refusal = refusalOf(gateway.answer());
      if (refusal === undefined) throw reportRefusal(providerError(gateway.answer(), error), emit);
      // A session that is gone already is what was asked for.
      return refusal === 'stale' ? 'stale' : 'revoked';
    },

    async call(visitor, work, { lifeMs = timeoutMs, session } = {}) {
      // Before the clock starts: the budget is for the backend, not for loading the SDK.
      const ssr = await import('@supabase/ssr');
      const open = (signal: AbortSignal): SupabaseCall => {
        const gateway = createRecordingFetch(forwarding(connection, visitor.peer), signal);
        const storage = createCallStorage(storageKey, sameSite, visitor.cookies, session);
        const { auth } = ssr.createServerClient(connection.url, connection.anonKey, {
          cookieOptions: { name: storageKey },
          global: { fetch: storage.watch(gateway.fetch) },
          cookies: storage.cookies,
        });
        return {
          ...storage,
          auth,
          unwrap(result) {
            if (result.error === null) return result.data;
            throw reportRefusal(providerError(gateway.answer(), result.error), emit);
          },
        };
      };
      return withDeadline((signal) => work(open(signal)), lifeMs, outOfTime);
    },
  };
}

function refusalOf(answer: ProviderResponse): Exclude<TokenWord, 'accepted'> | undefined {
  const code = answer.kind === 'answered' ? (answer.code ?? '') : '';
  // It has expired by GoTrue's clock, or it names a key that was withdrawn.
  if (code === 'bad_jwt') return 'stale';
  return sessionRefusals.has(code) ? 'refused' : undefined;
}
