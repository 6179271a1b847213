import type { SupabaseClient } from '@supabase/supabase-js';
import { withDeadline } from '../core/deadline.ts';
import { readToken } from '../tokens/token.ts';
import { AuthError } from '../errors.ts';
import type { Emit } from '../session/events.ts';
import type { ClientFacts, RefreshOutcome } from '../session/source.ts';
import { parseContent } from './session-cookie.ts';
import type { StoredContent } from './session-cookie.ts';
import { createRecordingFetch } from './recording-fetch.ts';
import type { ProviderResponse, RecordingFetch } from './recording-fetch.ts';
import { endingOf, providerError } from './provider-errors.ts';

export interface BackendConnection {
  readonly url: string;
  readonly anonKey: string;
  readonly fetch: typeof globalThis.fetch;
  /** For all tries of one call, in milliseconds. */
  readonly timeoutMs: number;
  /** Whether the backend is told the visitor's address, in `X-Forwarded-For`. */
  readonly forwardClientAddress: boolean;
  readonly emit: Emit;
}

/** The calls to the backend that need no cookies. */
export interface BackendCalls {
  /** Spends a refresh token. @throws {AuthError} `provider_unavailable` for whatever is not a definitive answer */
  refresh(refreshToken: string, signal: AbortSignal, client?: ClientFacts): Promise<RefreshOutcome<StoredContent>>;
  /** What the backend says about a token. @throws {AuthError} `provider_unavailable` */
  introspect(accessToken: string): Promise<TokenWord>;
  /**
   * Ends a token's session at the backend.
   *
   * @returns `stale` where nothing was ended, because the token needs renewal first
   * @throws {AuthError} when it could not be reached or refused
   */
  revoke(accessToken: string, scope: 'local' | 'global', signal: AbortSignal): Promise<'revoked' | 'stale'>;
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

export function createBackendCalls(connection: BackendConnection): BackendCalls {
  const { timeoutMs, emit } = connection;

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
  };
}

function refusalOf(answer: ProviderResponse): Exclude<TokenWord, 'accepted'> | undefined {
  const code = answer.kind === 'answered' ? (answer.code ?? '') : '';
  // It has expired by GoTrue's clock, or it names a key that was withdrawn.
  if (code === 'bad_jwt') return 'stale';
  return sessionRefusals.has(code) ? 'refused' : undefined;
}

/**
 * The connection's `fetch`, with the visitor's address where the project counts by it: every call comes from this server, so
 * that all visitors would share one rate limit.
 */
export function forwarding(
  { fetch, forwardClientAddress }: Pick<BackendConnection, 'fetch' | 'forwardClientAddress'>,
  address: string | undefined,
): typeof globalThis.fetch {
  if (!forwardClientAddress || address === undefined) return fetch;
  return (input, init) => {
    const headers = new Headers(init?.headers ?? (input instanceof Request ? input.headers : undefined));
    headers.set('x-forwarded-for', address);
    return fetch(input, { ...init, headers });
  };
}

/** Tells the operators of what no visitor can mend: the project refuses this application's key, or is not there. */
export function reportRefusal(error: AuthError, emit: Emit): AuthError {
  if (error.code === 'provider_refused') {
    emit({
      type: 'configuration_warning',
      message: 'backendAuth: the Supabase project refuses the API key or does not know the path; check url and anonKey',
    });
  }
  return error;
}

export function outOfTime(): AuthError {
  return new AuthError('provider_unavailable', { retryAfter: 5 });
}
