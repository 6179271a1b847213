import type { CookieMethodsServer } from '@supabase/ssr';
import type { SupabaseClient } from '@supabase/supabase-js';
import type { CookieAttributes, CookieWrite, RequestCookies } from '../../tools/cookies.ts';
import { withDeadline } from '../../tools/deadline.ts';
import { AuthError } from '../../errors.ts';
import { createRecordingFetch, forwarding, outOfTime, reportRefusal } from './connection.ts';
import type { BackendConnection } from './connection.ts';
import { providerError } from './provider-errors.ts';
import type { StoredContent } from './session-cookie.ts';
import { flowAttributes } from '../../http/cookie-jar.ts';
import { verifierFlowId, verifierIds, verifierIn } from './flow-cookies.ts';
import type { StartedFlow } from './flow-cookies.ts';

/** The caller: a request's cookies, and its address where known. `AuthRequest` implements it. */
export interface Visitor {
  readonly cookies: RequestCookies;
  readonly peer: string | undefined;
}

/**
 * The SDK on an auth route. It does not see the browser's current session: it would refresh it and,
 * on failure, delete the PKCE verifiers with it. Its writes are collected, not sent, because the
 * new session must be verified first.
 */
export interface SupabaseCall {
  readonly auth: Omit<SupabaseClient['auth'], 'getSession' | 'setSession' | 'signOut'>;
  /** Returns the SDK's data. @throws {AuthError} the error for the visitor */
  readonly unwrap: <Data>(result: SdkResult<Data>) => Data;
  /** The writes up to the first backend request; a start that the backend refused looks like an accepted one. */
  started(): StartedFlow;
  /** The cookie writes for the verifiers after an exchange: used ones are deleted. */
  finishedWrites(): readonly CookieWrite[];
}

export type SdkResult<Data> =
  { readonly data: Data; readonly error: null } | { readonly data: unknown; readonly error: Error };

/**
 * Runs a piece of work with the SDK within the time budget.
 *
 * @throws {AuthError} `provider_unavailable` when the time is up, `provider_refused` for an answer of another shape, or what `work` throws
 */
export type CallSupabase = <Result>(
  visitor: Visitor,
  work: (call: SupabaseCall) => Promise<Result>,
  options?: {
    /** Milliseconds; default: `timeoutMs`. */
    readonly lifeMs?: number;
    /** Acts as this session's user, as `updateUser` and `mfa` require. The session must be verified and is never refreshed. */
    readonly session?: StoredContent | undefined;
    /** Whether the call is a part of a sign-in; default: where it acts as no user. */
    readonly signsIn?: boolean;
  },
) => Promise<Result>;

export function createCallSupabase(
  connection: BackendConnection,
  storageKey: string,
  sameSite: CookieAttributes['sameSite'],
): CallSupabase {
  return async (visitor, work, { lifeMs = connection.timeoutMs, session, signsIn = session === undefined } = {}) => {
    // Before the clock starts: loading the SDK does not count against the deadline.
    const ssr = await import('@supabase/ssr');
    const open = (signal: AbortSignal): SupabaseCall => {
      const { fetch, answer } = createRecordingFetch(forwarding(connection, visitor.peer), signal);
      const { cookies, watch, ...writes } = createCallStorage(storageKey, sameSite, visitor.cookies, session);
      const { auth } = ssr.createServerClient(connection.url, connection.anonKey, {
        cookieOptions: { name: storageKey },
        // Before 2.117, auth-js has passkeys only with it.
        auth: { experimental: { passkey: true } },
        global: { fetch: watch(fetch) },
        cookies,
      });
      return {
        ...writes,
        auth,
        unwrap(result) {
          if (result.error === null) return result.data;
          throw reportRefusal(providerError(answer(), result.error, signsIn), connection.emit);
        },
      };
    };
    return withDeadline((signal) => work(open(signal)), lifeMs, outOfTime).catch(rethrowUnread);
  };
}

/** For `catch`: the SDK reads answers without checks, and fails on one of another shape as on a mistake of its own. */
function rethrowUnread(error: unknown): never {
  throw error instanceof AuthError ? error : new AuthError('provider_refused', { cause: error, reason: 'malformed' });
}

/** The SDK's storage during one call: PKCE verifiers, and the session of the acting user where one is given. */
interface CallStorage extends Omit<SupabaseCall, 'auth' | 'unwrap'> {
  readonly cookies: Required<Pick<CookieMethodsServer, 'getAll' | 'setAll'>>;
  /** Takes a snapshot of the storage when the first request is sent. */
  readonly watch: (fetch: typeof globalThis.fetch) => typeof globalThis.fetch;
}

/** Seconds since the epoch, so far in the future that the SDK never refreshes by itself. */
export const farFuture = 32_503_680_000;

function createCallStorage(
  storageKey: string,
  sameSite: CookieAttributes['sameSite'],
  cookies: RequestCookies,
  session: StoredContent | undefined,
): CallStorage {
  const isVerifier = (name: string): boolean => name.startsWith(`${storageKey}-`) && name.endsWith('-code-verifier');
  const stored = new Map<string, string>();
  for (const [name, values] of cookies) {
    const verifier = verifierIn(storageKey, name, values);
    if (verifier !== undefined) stored.set(name, verifier);
  }
  const acting = session && JSON.stringify({ ...session, user: session['user'] ?? {}, expires_at: farFuture });
  /** The last write to each cookie. */
  const last = new Map<string, string | undefined>();
  /** A snapshot at the first request: after a refusal the SDK removes the verifier and its entry in the list of verifiers. */
  let atStart: { readonly stored: ReadonlyMap<string, string>; readonly writes: typeof last } | undefined;
  const attributes = flowAttributes(sameSite);
  const toWrites = (values: ReadonlyMap<string, string | undefined>): CookieWrite[] =>
    [...values].map(([name, value]) => ({ name, value, attributes }));

  return {
    cookies: {
      getAll: () => [
        ...[...stored].map(([name, value]) => ({ name, value })),
        ...(acting === undefined ? [] : [{ name: storageKey, value: acting }]),
      ],
      // It must never throw: the SDK also calls it from promises that are never awaited.
      setAll: (writes) => {
        for (const { name, value } of writes.filter((write) => isVerifier(write.name))) {
          if (value === '') stored.delete(name);
          else stored.set(name, value);
          last.set(name, value === '' ? undefined : value);
        }
      },
    },
    watch: (fetch) => (input, init) => {
      atStart ??= { stored: new Map(stored), writes: new Map(last) };
      return fetch(input, init);
    },
    started() {
      const { stored: verifiers, writes } = atStart ?? { stored, writes: last };
      const [id] = [...writes].flatMap(([name, value]) =>
        value === undefined ? [] : (verifierFlowId(storageKey, name) ?? []),
      );
      const alive = verifierIds(storageKey, new Map([...verifiers].map(([name, value]) => [name, [value]])));
      return { id, alive: new Set(alive), writes: toWrites(writes) };
    },
    finishedWrites: () => toWrites(last),
  };
}
