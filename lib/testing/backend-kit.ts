import { randomBytes, randomUUID } from 'node:crypto';
import { writeChunks } from '../core/cookie-chunks.ts';
import { encodePending } from '../backend/sign-in/pending.ts';
import { createSessionCookie } from '../backend/session-cookie.ts';
import type { BackendAuthOptions } from '../backend/index.ts';
import type { CookieWrite } from '../core/cookies.ts';
import { assurance, factorId, toWire, userOf } from './backend-user.ts';
import type { BackendTestSession } from './backend-user.ts';
import { cookieHeader, putCookies, storageState } from './agent.ts';
import type { CookieAgent, StorageState } from './agent.ts';
import { createInMemoryProvider } from './provider.ts';
import type { ProviderCall, ProviderState } from './provider.ts';
import { refuseInProduction } from './refuse-in-production.ts';
import { createSigningKey } from './signing-key.ts';

/** What the application fixes itself; everything else is made up. */
export interface BackendTestKitOptions {
  /** The project's URL; nothing is ever asked there. */
  readonly url?: string;
  /** Default: `sb-<first label of the project's host>-auth-token`, as the adapter's. */
  readonly cookieName?: string;
  /** The clock of kit and adapter, in milliseconds since the epoch. */
  readonly now?: () => number;
  /** Answers what is no question of sign-in, such as `/rest/v1/…` of `getSupabaseClient`. Default: a 501, and a warning. */
  readonly fetch?: typeof globalThis.fetch;
}

export type { BackendTestSession };

export interface BackendTestKit {
  /** For `backendAuth`: `backendAuth({ ...yourOptions, ...kit.options })`. */
  readonly options: Pick<BackendAuthOptions, 'url' | 'anonKey' | 'cookieName' | 'fetch' | 'now'>;
  /**
   * Signs an agent in, in place of any session that it had.
   *
   * @example const agent = await kit.signIn(request.agent(app), { user: { email: 'ada@example.com' } });
   */
  signIn<Agent extends CookieAgent>(agent: Agent, session?: BackendTestSession): Promise<Agent>;
  /** The `Cookie` header of a signed-in person, for any HTTP client. */
  cookie(session?: BackendTestSession): Promise<string>;
  /**
   * The cookies of a signed-in person for Playwright.
   *
   * @param origin where the browser finds the application, such as `http://localhost:3000`
   * @throws {TypeError} for an origin that is not an http or https URL
   * @example const context = await browser.newContext({ storageState: await kit.storageState(origin, { user }) });
   */
  storageState(origin: string, session?: BackendTestSession): Promise<StorageState>;
  /** The code that a second factor shows; any other is wrong. */
  readonly code: string;
  simulate(state: ProviderState): void;
}

const code = '123456';

/** Seconds; Supabase's own default. */
const tokenLifetime = 3600;

/**
 * Sessions of a Supabase project without Supabase: the cookies of @supabase/ssr, real ES256 tokens, no network.
 *
 * @throws {ConfigurationError} with `NODE_ENV=production`, here and at every later call
 */
export function createBackendTestKit(given: BackendTestKitOptions = {}): BackendTestKit {
  refuseInProduction();
  const { url = 'https://project.supabase.test', now = () => Date.now() } = given;
  const { cookieName = `sb-${new URL(url).hostname.split('.')[0] ?? ''}-auth-token` } = given;
  const key = createSigningKey('ES256');
  const cookie = createSessionCookie(cookieName, {}, []);
  const byRefreshToken = new Map<string, Started>();
  const byAccessToken = new Map<string, Started>();
  const provider = createInMemoryProvider(answer, given.fetch);

  /** @param age seconds since the token was issued */
  async function issue({ id, session }: Started, age = 0): Promise<Issued> {
    const user = userOf(session);
    const iat = Math.floor(now() / 1000) - age;
    const exp = iat + tokenLifetime;
    const refreshToken = randomBytes(9).toString('base64url');
    const accessToken = await key.sign({
      iss: `${url}/auth/v1`,
      sub: user.id,
      aud: 'authenticated',
      exp,
      iat,
      email: user.email ?? '',
      phone: user.phone ?? '',
      app_metadata: { ...user.appMetadata },
      user_metadata: { ...user.userMetadata },
      role: user.role,
      // To the millisecond, so that `endSession` tells sessions of one second apart.
      ...assurance(session, now() / 1000),
      session_id: id,
      is_anonymous: user.isAnonymous,
      ...session.claims,
    });
    byRefreshToken.set(refreshToken, { id, session });
    byAccessToken.set(accessToken, { id, session });
    return {
      access_token: accessToken,
      token_type: 'bearer',
      expires_in: tokenLifetime,
      expires_at: exp,
      refresh_token: refreshToken,
      user: toWire(user, session),
    };
  }

  async function cookies(session: BackendTestSession): Promise<readonly CookieWrite[]> {
    refuseInProduction();
    const issued = await issue(start(session), session.expired === true ? 2 * tokenLifetime : 0);
    const { pending: kind } = session;
    if (kind === undefined) return cookie.write({ ...issued }, new Map());
    const { access_token, refresh_token, expires_at } = issued;
    const content = { access_token, refresh_token, expires_at, token_type: 'bearer' };
    const waiting = { kind, content, returnTo: '/', needsFactor: kind === 'factor', isUnanswered: false };
    return writeChunks(`${cookieName}-pending`, encodePending(waiting), new Map());
  }

  async function answer(call: ProviderCall, state: ProviderState): Promise<Response | undefined> {
    const path = call.url.href.startsWith(`${url}/auth/v1/`) ? call.url.pathname.split('/auth/v1/')[1] : undefined;
    switch (`${call.method} ${path ?? ''}`) {
      case 'GET .well-known/jwks.json':
        return Response.json(await key.jwks());
      case 'POST token':
        return call.url.searchParams.get('grant_type') === 'refresh_token' ? refresh(call, state) : undefined;
      case 'GET user':
        return describeUser(call, state);
      case 'PUT user':
        return describeUser(call, state);
      case `POST factors/${factorId}/challenge`:
        return Response.json({ id: randomUUID(), type: 'totp', expires_at: Math.floor(now() / 1000) + 300 });
      case `POST factors/${factorId}/verify`:
        return verifyCode(call, state);
      case 'POST logout':
        return new Response(null, { status: 204 });
      default:
        return undefined;
    }
  }

  async function refresh({ body }: ProviderCall, state: ProviderState): Promise<Response> {
    const token = String(body['refresh_token']);
    const started = state === 'revoking' ? undefined : byRefreshToken.get(token);
    byRefreshToken.delete(token);
    if (started === undefined) return refusal(400, 'refresh_token_not_found', 'Invalid Refresh Token');
    return Response.json(await issue(started));
  }

  function startedBy({ headers }: ProviderCall, state: ProviderState): Started | undefined {
    const token = (headers.get('authorization') ?? '').replace(/^Bearer /i, '');
    return state === 'revoking' ? undefined : byAccessToken.get(token);
  }

  function describeUser(call: ProviderCall, state: ProviderState): Response {
    const started = startedBy(call, state);
    if (started === undefined) return refusal(403, 'session_not_found', 'The session does not exist');
    return Response.json(toWire(userOf(started.session), started.session));
  }

  async function verifyCode(call: ProviderCall, state: ProviderState): Promise<Response> {
    const started = startedBy(call, state);
    if (started === undefined) return refusal(403, 'session_not_found', 'The session does not exist');
    if (call.body['code'] !== code) return refusal(422, 'mfa_verification_failed', 'Invalid TOTP code entered');
    return Response.json(await issue({ ...started, session: { ...started.session, aal: 'aal2' } }));
  }

  return {
    options: {
      url,
      anonKey: `sb_publishable_testing_${randomBytes(12).toString('hex')}`,
      cookieName,
      fetch: provider.fetch,
      ...(given.now === undefined ? {} : { now }),
    },
    async signIn(agent, session = {}) {
      putCookies(agent, session.pending === undefined ? cookieName : `${cookieName}-pending`, await cookies(session));
      return agent;
    },
    code,
    cookie: async (session = {}) => cookieHeader(await cookies(session)),
    storageState: async (origin, session = {}) => storageState(origin, await cookies(session)),
    simulate: (state) => provider.simulate(state),
  };
}

interface Started {
  /** The session's id, through all renewals. */
  readonly id: string;
  readonly session: BackendTestSession;
}

const start = (session: BackendTestSession): Started => ({ id: session.sessionId ?? randomUUID(), session });

interface Issued {
  readonly access_token: string;
  readonly token_type: 'bearer';
  readonly expires_in: number;
  /** Seconds since the epoch. */
  readonly expires_at: number;
  readonly refresh_token: string;
  readonly user: ReturnType<typeof toWire>;
}

const refusal = (status: number, code: string, message: string): Response =>
  Response.json({ code, message }, { status, headers: { 'x-supabase-api-version': '2024-01-01' } });
