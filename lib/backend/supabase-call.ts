import type { CookieOptions } from '@supabase/ssr';
import type { SupabaseClient } from '@supabase/supabase-js';
import { withDeadline } from '../core/deadline.ts';
import type { CookieAttributes, CookieWrite, RequestCookies } from '../core/cookies.ts';
import { forwarding, outOfTime } from './supabase.ts';
import type { BackendConnection } from './supabase.ts';
import { flowAttributes, verifierFlowId, verifierIds, verifierIn } from './sign-in/flow-cookies.ts';
import { createRecordingFetch } from './recording-fetch.ts';
import type { RecordingFetch } from './recording-fetch.ts';

/**
 * The SDK on an auth route. It never sees the session that the browser may still have: it would refresh it, and if that fails delete the
 * PKCE verifiers along with it. What it stores is collected, not sent, because nothing may reach the browser before the new
 * session is verified.
 */
export interface SupabaseCall {
  readonly auth: Pick<
    SupabaseClient['auth'],
    'exchangeCodeForSession' | 'resend' | 'signInWithOAuth' | 'signInWithPassword' | 'signUp' | 'verifyOtp'
  >;
  readonly gateway: RecordingFetch;
  /** The flow whose verifier was stored, where one was. */
  startedId(): string | undefined;
  /** The flows whose verifiers are stored after a start. */
  aliveIds(): ReadonlySet<string>;
  /** The verifiers' cookies after a start; also after one that the backend refused, so that the two look alike. */
  startedWrites(): readonly CookieWrite[];
  /** The verifiers' cookies after an exchange: what is spent is deleted. */
  finishedWrites(): readonly CookieWrite[];
}

/** Whose flow it is: a request's cookies, and its address as far as the adapter knows it. */
export interface FlowClient {
  readonly cookies: RequestCookies;
  readonly peer: string | undefined;
}

export type CallSupabase = <Result>(
  client: FlowClient,
  work: (flow: SupabaseCall) => Promise<Result>,
  /** Milliseconds; default: `timeoutMs`. */
  lifeMs?: number,
) => Promise<Result>;

/** Runs a piece of work with the SDK within the time budget. */
export function createSupabaseCalls(
  connection: BackendConnection,
  storageKey: string,
  sameSite: CookieAttributes['sameSite'],
): CallSupabase {
  return async (client, work, lifeMs = connection.timeoutMs) => {
    // Before the clock starts: the budget is for the backend, not for loading the SDK.
    await import('@supabase/ssr');
    return withDeadline(
      async (signal) => work(await openFlow(connection, storageKey, sameSite, client, signal)),
      lifeMs,
      outOfTime,
    );
  };
}

async function openFlow(
  connection: BackendConnection,
  storageKey: string,
  sameSite: CookieAttributes['sameSite'],
  visitor: FlowClient,
  signal: AbortSignal,
): Promise<SupabaseCall> {
  const ssr = await import('@supabase/ssr');
  const gateway = createRecordingFetch(forwarding(connection, visitor.peer), signal);
  const isVerifier = (name: string): boolean => name.startsWith(`${storageKey}-`) && name.endsWith('-code-verifier');
  const stored = new Map<string, string>();
  for (const [name, values] of visitor.cookies) {
    const verifier = verifierIn(storageKey, name, values);
    if (verifier !== undefined) stored.set(name, verifier);
  }
  /** The last word on each cookie. */
  const last = new Map<string, string | undefined>();
  /** Both as they were when the backend was asked: after a refusal the SDK takes the verifier back, and its place in the list of them. */
  let started: { readonly stored: ReadonlyMap<string, string>; readonly writes: typeof last } | undefined;
  const atStart = () => started ?? { stored, writes: last };
  const fetch: typeof globalThis.fetch = (input, init) => {
    started ??= { stored: new Map(stored), writes: new Map(last) };
    return gateway.fetch(input, init);
  };

  const client = ssr.createServerClient(connection.url, connection.anonKey, {
    cookieOptions: { name: storageKey },
    global: { fetch },
    cookies: {
      getAll: () => [...stored].map(([name, value]) => ({ name, value })),
      // It must never throw: the SDK also calls it from promises that are never awaited.
      setAll: (writes: readonly { name: string; value: string; options: CookieOptions }[]) => {
        for (const { name, value } of writes.filter((write) => isVerifier(write.name))) {
          if (value === '') stored.delete(name);
          else stored.set(name, value);
          last.set(name, value === '' ? undefined : value);
        }
      },
    },
  });

  const attributes = flowAttributes(sameSite);
  const toWrites = (values: ReadonlyMap<string, string | undefined>): CookieWrite[] =>
    [...values].map(([name, value]) => ({ name, value, attributes }));
  return {
    auth: client.auth,
    gateway,
    startedId: () =>
      [...atStart().writes].flatMap(([name, value]) =>
        value === undefined ? [] : (verifierFlowId(storageKey, name) ?? []),
      )[0],
    aliveIds: () =>
      new Set(verifierIds(storageKey, new Map([...atStart().stored].map(([name, value]) => [name, [value]])))),
    startedWrites: () => toWrites(atStart().writes),
    finishedWrites: () => toWrites(last),
  };
}
