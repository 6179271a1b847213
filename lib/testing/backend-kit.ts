import { randomBytes, randomUUID } from 'node:crypto';
import { createConsentKit } from '../backend/consent/testing.ts';
import type { ConsentTestKit } from '../backend/consent/testing.ts';
import { createFactorsKit } from '../backend/factors/testing.ts';
import type { FactorsTestKit } from '../backend/factors/testing.ts';
import { createPasskeysKit } from '../backend/passkeys/testing.ts';
import type { PasskeysTestKit } from '../backend/passkeys/testing.ts';
import type { BackendAuthOptions } from '../backend/index.ts';
import { createSessionCookie } from '../backend/supabase/session-cookie.ts';
import { encodePending } from '../backend/sign-in/pending.ts';
import { prefixPath } from '../options/paths.ts';
import { writeChunks } from '../tools/cookie-chunks.ts';
import { defined } from '../tools/json.ts';
import type { BackendTokens } from '../types.ts';
import { createSignIns } from './agent.ts';
import type { Enter, SessionCookie, SignIns, TestBearerOptions } from './agent.ts';
import { InMemorySupabase, tokenLifetime } from './in-memory-supabase.ts';
import type { Issued } from './in-memory-supabase.ts';
import { createInMemoryProvider, refuseInProduction } from './provider.ts';
import type { ProviderState } from './provider.ts';
import { userOf } from './backend-users.ts';
import type { BackendTestSession } from './backend-users.ts';

export type { BackendTestSession } from './backend-users.ts';
export type { TestApp } from '../backend/consent/testing.ts';

/** Values that the application sets; others are generated. */
export interface BackendTestKitOptions {
  /** The project's URL; it is never called. */
  readonly url?: string;
  /** Default: `sb-<first label of the project's host>-auth-token`, as the adapter's. */
  readonly cookieName?: string;
  /** The adapter's option of this name; `kit.options` passes it on. */
  readonly pathPrefix?: string;
  /** The clock of kit and adapter, in milliseconds since the epoch. */
  readonly now?: () => number;
  /** Answers calls that are not part of sign-in, such as `/rest/v1/…` of `getSupabaseClient`. Default: a 501, and a warning. */
  readonly fetch?: typeof globalThis.fetch;
}

export interface BackendTestKit extends SignIns<BackendTestSession>, ConsentTestKit, FactorsTestKit, PasskeysTestKit {
  /** For `backendAuth`: `backendAuth({ ...yourOptions, ...kit.options })`. */
  readonly options: Pick<BackendAuthOptions, 'url' | 'anonKey' | 'cookieName' | 'pathPrefix' | 'fetch' | 'now'>;
  /**
   * The tokens of a person, for a route of yours that calls `storeSession`. With `pending: 'factor'` it leads to the second factor.
   *
   * @example await agent.post('/mobile/session').send(await kit.tokens({ user }));
   */
  tokens(session?: BackendTestSession): Promise<BackendTokens>;
  simulate(state: ProviderState): void;
}

/**
 * Sessions of a Supabase project without Supabase: the cookies of @supabase/ssr, real ES256 tokens, no network.
 *
 * @throws {ConfigurationError} with `NODE_ENV=production`, here and at every later call
 */
export function createBackendTestKit(given: BackendTestKitOptions = {}): BackendTestKit {
  refuseInProduction();
  const { url = 'https://project.supabase.test', now = () => Date.now() } = given;
  const { cookieName = `sb-${new URL(url).hostname.split('.')[0] ?? ''}-auth-token` } = given;
  const cookie = createSessionCookie(cookieName, {}, []);
  const supabase = new InMemorySupabase(url, now);
  const { fetch, simulate } = createInMemoryProvider((call, state) => supabase.answer(call, state), given.fetch);

  function issue(session: BackendTestSession): Promise<Issued> {
    const started = { id: session.sessionId ?? randomUUID(), session };
    return supabase.issue(started, session.expired === true ? 2 * tokenLifetime : 0);
  }

  async function cookieOf(session: BackendTestSession = {}): Promise<SessionCookie> {
    const issued = await issue(session);
    const { pending } = session;
    if (pending === undefined) return { cookieName, writes: await cookie.write({ ...issued }, new Map()) };
    const { access_token, refresh_token, expires_at } = issued;
    const content = { access_token, refresh_token, expires_at, token_type: 'bearer' };
    const needs = [pending === 'recovery' ? ('password' as const) : pending];
    const pendingName = `${cookieName}-pending`;
    const value = encodePending({ needs, content, returnTo: '/' });
    return { cookieName: pendingName, writes: writeChunks(pendingName, value, new Map()) };
  }

  async function tokenOf(session: BackendTestSession = {}, client: TestBearerOptions = {}): Promise<string> {
    const { audience, scopes } = client;
    const ofClient = defined({ client_id: client.client, aud: audience, scope: scopes?.join(' ') });
    const claims = { ...ofClient, ...session.claims };
    const started = { id: session.sessionId ?? randomUUID(), session: { ...session, claims } };
    return (await supabase.issue(started, session.expired === true ? 2 * tokenLifetime : 0)).access_token;
  }

  return {
    ...createSignIns({
      cookieName,
      cookieOf,
      tokenOf,
      enter: createEnter(supabase, prefixPath(given.pathPrefix, '/auth/confirm')),
    }),
    options: {
      url,
      anonKey: `sb_publishable_testing_${randomBytes(12).toString('hex')}`,
      cookieName,
      fetch,
      ...defined({ now: given.now, pathPrefix: given.pathPrefix }),
    },
    ...createFactorsKit(supabase),
    ...createPasskeysKit(supabase),
    ...createConsentKit(supabase),
    async tokens(session = {}) {
      refuseInProduction();
      const { access_token, refresh_token } = await issue(session);
      return { access_token, refresh_token };
    },
    simulate,
  };
}

/** Signs in by the link of an email at `/auth/confirm`. */
function createEnter(supabase: InMemorySupabase, confirmPath: string): Enter<BackendTestSession> {
  return async (agent, session = {}, path = confirmPath) => {
    const type = session.pending === 'recovery' ? 'recovery' : 'magiclink';
    const link = { token_hash: supabase.mail(session), type };
    const send = (body: object) => agent.post(path).set('Accept', 'application/json').send(body);
    const answer = await send(link);
    if (answer.status === 404)
      throw new TypeError(`POST ${path} answered 404; pass the adapter's paths.confirm as \`path\``);
    // The agent had another user's session, and the page asks whether to replace it.
    const isAsked = answer.body?.redirectTo?.split('?')[0]?.endsWith(path) === true;
    return isAsked ? send({ account: userOf(session).id }) : answer;
  };
}
