import { randomBytes, randomUUID } from 'node:crypto';
import type { BackendAuthOptions } from '../backend/index.ts';
import { createSessionCookie } from '../backend/session-cookie.ts';
import { encodePending } from '../backend/pending.ts';
import { writeChunks } from '../tools/cookie-chunks.ts';
import { defined } from '../tools/json.ts';
import type { BackendTokens } from '../types.ts';
import { createSignIns } from './agent.ts';
import type { Enter, SessionCookie, SignIns, TestBearerOptions } from './agent.ts';
import { createInMemoryProvider, createSigningKey, refuseInProduction } from './provider.ts';
import type { ProviderCall, ProviderState } from './provider.ts';
import { assurance, factorId, toWire, userOf } from './backend-users.ts';
import type { BackendTestSession } from './backend-users.ts';
import { TestApps } from './test-apps.ts';
import { TestPasskeys } from './test-passkeys.ts';
import { secondsBefore } from './times.ts';
import type { TestApp } from './test-apps.ts';

export type { BackendTestSession } from './backend-users.ts';
export type { TestApp } from './test-apps.ts';

/** Values that the application sets; others are generated. */
export interface BackendTestKitOptions {
  /** The project's URL; it is never called. */
  readonly url?: string;
  /** Default: `sb-<first label of the project's host>-auth-token`, as the adapter's. */
  readonly cookieName?: string;
  /** The clock of kit and adapter, in milliseconds since the epoch. */
  readonly now?: () => number;
  /** Answers calls that are not part of sign-in, such as `/rest/v1/…` of `getSupabaseClient`. Default: a 501, and a warning. */
  readonly fetch?: typeof globalThis.fetch;
}

export interface BackendTestKit extends SignIns<BackendTestSession> {
  /** For `backendAuth`: `backendAuth({ ...yourOptions, ...kit.options })`. */
  readonly options: Pick<BackendAuthOptions, 'url' | 'anonKey' | 'cookieName' | 'fetch' | 'now'>;
  /** The code that the second factor accepts; any other is wrong. */
  readonly code: string;
  /**
   * The tokens of a person, for a route of yours that calls `storeSession`. With `pending: 'factor'` it leads to the second factor.
   *
   * @example await agent.post('/mobile/session').send(await kit.tokens({ user }));
   */
  tokens(session?: BackendTestSession): Promise<BackendTokens>;
  /** A passkey of this person: `credential` for `POST /auth/passkey`, whatever the challenge. Any other is refused. */
  passkey(session?: Omit<BackendTestSession, 'expired' | 'aal'>): Readonly<Record<string, unknown>>;
  /**
   * An app asks a user for consent, with `oauthConsent: true`.
   *
   * @returns the id for `/oauth/consent?authorization_id=…`
   */
  askConsent(app?: TestApp): string;
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
    return {
      cookieName: pendingName,
      writes: writeChunks(pendingName, encodePending({ needs, content, returnTo: '/' }), new Map()),
    };
  }

  async function tokenOf(session: BackendTestSession = {}, client: TestBearerOptions = {}): Promise<string> {
    const { audience, scopes } = client;
    const ofClient = defined({ client_id: client.client, aud: audience, scope: scopes?.join(' ') });
    const started = {
      id: session.sessionId ?? randomUUID(),
      session: { ...session, claims: { ...ofClient, ...session.claims } },
    };
    return (await supabase.issue(started, session.expired === true ? 2 * tokenLifetime : 0)).access_token;
  }

  return {
    ...createSignIns({ cookieName, cookieOf, tokenOf, enter: createEnter(supabase) }),
    options: {
      url,
      anonKey: `sb_publishable_testing_${randomBytes(12).toString('hex')}`,
      cookieName,
      fetch,
      ...defined({ now: given.now }),
    },
    code,
    async tokens(session = {}) {
      refuseInProduction();
      const { access_token, refresh_token } = await issue(session);
      return { access_token, refresh_token };
    },
    passkey: (session = {}) => supabase.passkeys.add(session),
    askConsent: (app) => supabase.apps.ask(app),
    simulate,
  };
}

/** Signs in by the link of an email at `/auth/confirm`. */
function createEnter(supabase: InMemorySupabase): Enter<BackendTestSession> {
  return async (agent, session = {}, path = '/auth/confirm') => {
    const type = session.pending === 'recovery' ? 'recovery' : 'magiclink';
    const link = { token_hash: supabase.mail(session), type };
    const send = (body: object) => agent.post(path).set('Accept', 'application/json').send(body);
    const answer = await send(link);
    if (answer.status === 404)
      throw new TypeError(`POST ${path} answered 404; pass the adapter's confirmPath as \`path\``);
    // The agent had another user's session, and the page asks whether to replace it.
    const isAsked = answer.body?.redirectTo?.split('?')[0]?.endsWith(path) === true;
    return isAsked ? send({ account: userOf(session).id }) : answer;
  };
}

interface Started {
  /** The session's id, constant through all renewals. */
  readonly id: string;
  readonly session: BackendTestSession;
  /** The first factor in `amr`. Default: `password`, or that of an email's link. */
  readonly method?: 'passkey';
}

interface Issued {
  readonly access_token: string;
  readonly token_type: 'bearer';
  readonly expires_in: number;
  /** Seconds since the epoch. */
  readonly expires_at: number;
  readonly refresh_token: string;
  readonly user: ReturnType<typeof toWire>;
}

/** The SDK calls that `backendAuth` makes, answered for the sessions that tests start. */
class InMemorySupabase {
  readonly #url: string;
  readonly #now: () => number;
  readonly #key = createSigningKey('ES256');
  readonly apps = new TestApps();
  readonly #byRefreshToken = new Map<string, Started>();
  readonly #byAccessToken = new Map<string, Started>();
  readonly #byLink = new Map<string, Started>();
  readonly passkeys: TestPasskeys<BackendTestSession>;

  constructor(url: string, now: () => number) {
    this.#url = url;
    this.#now = now;
    this.passkeys = new TestPasskeys(now);
  }

  /** @returns the hash of an email's link that signs this person in, once */
  mail(session: BackendTestSession): string {
    const hash = randomBytes(18).toString('base64url');
    this.#byLink.set(hash, { id: session.sessionId ?? randomUUID(), session });
    return hash;
  }

  /** @param age seconds since the token was issued */
  async issue(started: Started, age = 0): Promise<Issued> {
    const { id, session, method } = started;
    const user = userOf(session);
    const iat = secondsBefore(this.#now() / 1000, age);
    const exp = secondsBefore(this.#now() / 1000, age - tokenLifetime);
    const refreshToken = randomBytes(9).toString('base64url');
    const accessToken = await this.#key.sign({
      iss: `${this.#url}/auth/v1`,
      sub: user.id,
      aud: 'authenticated',
      exp,
      iat,
      email: user.email ?? '',
      phone: user.phone ?? '',
      app_metadata: { ...user.appMetadata },
      user_metadata: { ...user.userMetadata },
      role: user.role,
      // With milliseconds, so that `endSession` can distinguish sessions of the same second.
      ...assurance(session, this.#now() / 1000, method),
      session_id: id,
      is_anonymous: user.isAnonymous,
      ...session.claims,
    });
    this.#byRefreshToken.set(refreshToken, started);
    this.#byAccessToken.set(accessToken, started);
    return {
      access_token: accessToken,
      token_type: 'bearer',
      expires_in: tokenLifetime,
      expires_at: exp,
      refresh_token: refreshToken,
      user: toWire(user, session),
    };
  }

  async answer({ method, url, body, headers }: ProviderCall, state: ProviderState): Promise<Response | undefined> {
    const path = url.href.startsWith(`${this.#url}/auth/v1/`) ? url.pathname.split('/auth/v1/')[1] : undefined;
    const token = (headers.get('authorization') ?? '').replace(/^Bearer /i, '');
    const started = state === 'revoking' ? undefined : this.#byAccessToken.get(token);
    switch (`${method} ${path ?? ''}`) {
      case 'GET .well-known/jwks.json':
        return Response.json(await this.#key.jwks());
      case 'POST token':
        if (url.searchParams.get('grant_type') !== 'refresh_token') return undefined;
        return this.#refresh(String(body['refresh_token']), state);
      case 'GET user':
      case 'PUT user':
        return this.#user(started);
      case `POST factors/${factorId}/challenge`:
        return Response.json({ id: randomUUID(), type: 'totp', expires_at: Math.floor(this.#now() / 1000) + 300 });
      case `POST factors/${factorId}/verify`:
        return this.#verifyCode(started, body['code']);
      case 'POST verify':
        return this.#openLink(String(body['token_hash']));
      case 'POST logout':
        return new Response(null, { status: 204 });
      default:
        return this.#answerOthers(started, `${method} ${path ?? ''}`, url, body);
    }
  }

  #answerOthers(started: Started | undefined, call: string, url: URL, body: ProviderCall['body']) {
    if (call === 'POST passkeys/authentication/options') return Response.json(this.passkeys.challenge());
    if (call === 'POST passkeys/authentication/verify') return this.#verifyPasskey(body['credential']);
    return started && this.apps.answer(call, url, body, userOf(started.session));
  }

  #user(started: Started | undefined): Response {
    if (started === undefined) return refusal(403, 'session_not_found', 'The session does not exist');
    return Response.json(toWire(userOf(started.session), started.session));
  }

  async #verifyCode(started: Started | undefined, given: unknown): Promise<Response> {
    if (started === undefined) return refusal(403, 'session_not_found', 'The session does not exist');
    if (given !== code) return refusal(422, 'mfa_verification_failed', 'Invalid TOTP code entered');
    return Response.json(await this.issue({ ...started, session: { ...started.session, aal: 'aal2' } }));
  }

  async #openLink(hash: string): Promise<Response> {
    const started = this.#byLink.get(hash);
    this.#byLink.delete(hash);
    if (started === undefined) return refusal(403, 'otp_expired', 'Email link is invalid or has expired');
    return Response.json(await this.issue(started));
  }

  async #verifyPasskey(credential: unknown): Promise<Response> {
    const session = this.passkeys.personOf(credential);
    if (session === undefined) return refusal(400, 'webauthn_verification_failed', 'Credential verification failed');
    return Response.json(await this.issue({ id: session.sessionId ?? randomUUID(), session, method: 'passkey' }));
  }

  async #refresh(token: string, state: ProviderState): Promise<Response> {
    const started = state === 'revoking' ? undefined : this.#byRefreshToken.get(token);
    this.#byRefreshToken.delete(token);
    if (started === undefined) return refusal(400, 'refresh_token_not_found', 'Invalid Refresh Token');
    return Response.json(await this.issue(started));
  }
}

const refusal = (status: number, code: string, message: string): Response =>
  Response.json({ code, message }, { status, headers: { 'x-supabase-api-version': '2024-01-01' } });
