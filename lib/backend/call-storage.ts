import type { CookieMethodsServer } from '@supabase/ssr';
import type { CookieAttributes, CookieWrite, RequestCookies } from '../core/cookies.ts';
import type { StoredContent } from './session-cookie.ts';
import { flowAttributes, verifierFlowId, verifierIds, verifierIn } from './sign-in/flow-cookies.ts';

/** What the SDK reads and stores during one call: PKCE verifiers, and the session that it acts for where one is given. */
export interface CallStorage {
  readonly cookies: Required<Pick<CookieMethodsServer, 'getAll' | 'setAll'>>;
  /** Notes what is stored when the first request leaves. */
  watch(fetch: typeof globalThis.fetch): typeof globalThis.fetch;
  startedId(): string | undefined;
  aliveIds(): ReadonlySet<string>;
  startedWrites(): readonly CookieWrite[];
  finishedWrites(): readonly CookieWrite[];
}

/** Seconds since the epoch, and so far away that the SDK never thinks of refreshing by itself. */
export const neverExpires = 32_503_680_000;

export function createCallStorage(
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
  const acting = session && JSON.stringify({ ...session, user: session['user'] ?? {}, expires_at: neverExpires });
  /** The last word on each cookie. */
  const last = new Map<string, string | undefined>();
  /** Both as they were when the backend was asked: after a refusal the SDK takes the verifier back, and its place in the list of them. */
  let started: { readonly stored: ReadonlyMap<string, string>; readonly writes: typeof last } | undefined;
  const atStart = () => started ?? { stored, writes: last };
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
      started ??= { stored: new Map(stored), writes: new Map(last) };
      return fetch(input, init);
    },
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
