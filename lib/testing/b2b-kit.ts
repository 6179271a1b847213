import { createHash, randomBytes, randomUUID } from 'node:crypto';
import type { B2bAuthOptions } from '../b2b/index.ts';
import { switchOrganization } from '../b2b/organizations/testing.ts';
import type { OrganizationsTestSession } from '../b2b/organizations/testing.ts';
import { createSeal } from '../b2b/seal.ts';
import { prefixPath } from '../options/paths.ts';
import { writeChunks } from '../tools/cookie-chunks.ts';
import { defined } from '../tools/json.ts';
import type { B2bUser, Impersonator, Json } from '../types.ts';
import { createSignIns, keepCookies } from './agent.ts';
import type { Enter, SessionCookie, SignIns, TestBearerOptions } from './agent.ts';
import { createInMemoryProvider, createSigningKey, refuseInProduction } from './provider.ts';
import type { ProviderCall, ProviderState } from './provider.ts';
import { secondsBefore, signInTime } from './times.ts';

/** Values that the application sets; others are generated. */
export interface B2bTestKitOptions {
  readonly clientId?: string;
  /** 32 characters or more. */
  readonly cookiePassword?: string;
  /** Default `b2b-session`, as the adapter's. */
  readonly cookieName?: string;
  /** The adapter's option of this name; `kit.options` passes it on. */
  readonly pathPrefix?: string;
  /** The clock of kit and adapter, in milliseconds since the epoch. */
  readonly now?: () => number;
}

/** The signed-in user and the session's properties. */
export interface B2bTestSession extends OrganizationsTestSession {
  /** Missing fields are generated; the `id` is derived from the email address, so that one address is one user. */
  readonly user?: Partial<B2bUser>;
  readonly organizationId?: string;
  /** Begins with `session_`, as WorkOS' do; other tokens are no sessions. */
  readonly sessionId?: string;
  readonly impersonator?: Impersonator;
  /** Further claims of the access token, such as `{ role: 'admin', permissions: ['reports:read'] }`. */
  readonly claims?: Readonly<Record<string, Json>>;
  /** The access token has expired: the first request renews it. */
  readonly expired?: boolean;
  /** Seconds since the person signed in, which a guard's `maxAge` compares. Default 0. */
  readonly signedInAgo?: number;
}

export interface B2bTestKit extends SignIns<B2bTestSession> {
  /** For `b2bAuth`: `b2bAuth({ ...yourOptions, ...kit.options })`. */
  readonly options: Pick<
    B2bAuthOptions,
    'clientId' | 'apiKey' | 'authkitDomain' | 'cookiePassword' | 'cookieName' | 'pathPrefix' | 'fetch' | 'now'
  >;
  /**
   * Simulates the hosted page.
   *
   * @param authorizationUrl the redirect target of `/login` or `/signup`
   * @returns the callback to follow, as a root-relative path with its query
   */
  authorize(authorizationUrl: string, session?: B2bTestSession): string;
  /**
   * What WorkOS' SDK answers to a person's sign-in, for a route of yours that calls `storeSession`.
   *
   * @example jest.spyOn(workos.userManagement, 'authenticateWithPassword').mockResolvedValue(await kit.tokens({ user }));
   */
  tokens(session?: B2bTestSession): Promise<B2bTestTokens>;
  simulate(state: ProviderState): void;
}

/** The form of WorkOS' answer to a sign-in. */
export interface B2bTestTokens {
  readonly accessToken: string;
  readonly refreshToken: string;
  readonly user: B2bUser;
  readonly authenticationMethod: string;
  readonly organizationId?: string;
  readonly impersonator?: Impersonator;
}

/** Seconds; WorkOS' own default. */
const tokenLifetime = 300;
/** The issuer of tokens for OAuth clients; it is never called. */
const authkit = 'https://testing.authkit.app';

/**
 * Sessions of WorkOS AuthKit without WorkOS: real seals, real RS256 tokens, no network.
 *
 * @throws {ConfigurationError} with `NODE_ENV=production`, here and at every later call
 */
export function createB2bTestKit(given: B2bTestKitOptions = {}): B2bTestKit {
  refuseInProduction();
  const { clientId = 'client_testing', cookieName = 'b2b-session', now = () => Date.now() } = given;
  const { cookiePassword = randomBytes(32).toString('base64url') } = given;
  const seal = createSeal([cookiePassword]);
  const workos = new InMemoryWorkos(clientId, now);
  const { fetch, simulate } = createInMemoryProvider((call, state) => workos.answer(call, state));

  function issue(session: B2bTestSession): Promise<Issued> {
    const age = session.expired === true ? 2 * tokenLifetime : 0;
    return workos.issue(workos.start(session, age), age);
  }

  async function cookieOf(session: B2bTestSession = {}): Promise<SessionCookie> {
    const issued = await issue(session);
    const { organizationId, impersonator, signedInAgo } = session;
    const content = { ...issued, signedInAt: signInTime(now() / 1000, signedInAgo), impersonator, organizationId };
    return { cookieName, writes: writeChunks(cookieName, await seal.seal(content), new Map()) };
  }

  async function tokenOf(session: B2bTestSession = {}, client?: TestBearerOptions): Promise<string> {
    const age = session.expired === true ? 2 * tokenLifetime : 0;
    const started = workos.start(session, age);
    return client === undefined
      ? (await workos.issue(started, age)).accessToken
      : workos.issueToClient(started, age, client);
  }

  return {
    ...createSignIns({
      cookieName,
      cookieOf,
      tokenOf,
      enter: createEnter(workos, prefixPath(given.pathPrefix, '/login')),
    }),
    options: {
      clientId,
      apiKey: `sk_testing_${randomBytes(12).toString('hex')}`,
      authkitDomain: authkit,
      cookiePassword,
      cookieName,
      fetch,
      ...defined({ now: given.now, pathPrefix: given.pathPrefix }),
    },
    authorize(authorizationUrl, session) {
      refuseInProduction();
      return callbackOf(workos, authorizationUrl, session);
    },
    async tokens(session = {}) {
      refuseInProduction();
      const { organizationId, impersonator } = session;
      const issued = await issue(session);
      return { ...issued, authenticationMethod: 'Password', ...defined({ organizationId, impersonator }) };
    },
    simulate,
  };
}

function callbackOf(workos: InMemoryWorkos, authorizationUrl: string, session: B2bTestSession = {}): string {
  const { searchParams } = new URL(authorizationUrl);
  const { pathname } = new URL(searchParams.get('redirect_uri') ?? '');
  const query = { code: workos.authorize(session), state: searchParams.get('state') ?? '' };
  return `${pathname}?${new URLSearchParams(query).toString()}`;
}

/** Signs in at `/login` and the callback. */
function createEnter(workos: InMemoryWorkos, loginPath: string): Enter<B2bTestSession> {
  return async (agent, session, path = loginPath) => {
    const start = await agent.get(path);
    const { status, headers } = start;
    const { location = '' } = headers;
    if (URL.parse(location) === null || !new URL(location).searchParams.has('redirect_uri')) {
      throw new TypeError(
        `GET ${path} answered ${status} and starts no sign-in; pass the adapter's loginPath as \`path\``,
      );
    }
    keepCookies(agent, start);
    return agent.get(callbackOf(workos, location, session)).set('Accept', 'application/json');
  };
}

/** What a session becomes with its next token, by what the call asks; a refusal leaves it as it is. */
type Change = (session: B2bTestSession, body: ProviderCall['body']) => B2bTestSession | Response;

const changes: readonly Change[] = [switchOrganization];

interface Started {
  /** The session's id, constant through all renewals. */
  readonly id: string;
  /** Seconds since the epoch, constant through all renewals. */
  readonly authTime: number;
  readonly session: B2bTestSession;
}

/** The SDK calls that `b2bAuth` makes, answered for the sessions that tests start. */
class InMemoryWorkos {
  readonly #clientId: string;
  readonly #now: () => number;
  readonly #key = createSigningKey('RS256');
  /** AuthKit publishes other keys than those of sessions. */
  readonly #authkitKey = createSigningKey('RS256');
  readonly #byRefreshToken = new Map<string, Started>();
  readonly #byCode = new Map<string, Started>();

  constructor(clientId: string, now: () => number) {
    this.#clientId = clientId;
    this.#now = now;
  }

  /** @param age seconds since its first token was issued */
  start(session: B2bTestSession, age = 0): Started {
    const at = this.#now() / 1000;
    const authTime = Math.min(secondsBefore(at, age), Math.floor(signInTime(at, session.signedInAgo)));
    return { id: session.sessionId ?? `session_${randomUUID()}`, authTime, session };
  }

  /** @returns the code of a new session */
  authorize(session: B2bTestSession): string {
    const code = randomBytes(18).toString('base64url');
    this.#byCode.set(code, this.start(session));
    return code;
  }

  /** @param age seconds since the token was issued */
  async issue(started: Started, age = 0): Promise<Issued> {
    const { id, authTime, session } = started;
    const iat = secondsBefore(this.#now() / 1000, age);
    const exp = secondsBefore(this.#now() / 1000, age - tokenLifetime);
    const user = userOf(session);
    const refreshToken = randomBytes(18).toString('base64url');
    this.#byRefreshToken.set(refreshToken, started);
    const accessToken = await this.#key.sign({
      iss: `https://api.workos.com/user_management/${this.#clientId}`,
      sub: user.id,
      sid: id,
      jti: randomUUID(),
      client_id: this.#clientId,
      ...defined({ org_id: session.organizationId }),
      auth_time: authTime,
      iat,
      exp,
      ...session.claims,
    });
    return { accessToken, refreshToken, user };
  }

  /** A token of WorkOS Connect: https://workos.com/docs/reference/workos-connect/token */
  async issueToClient(
    { session }: Started,
    age: number,
    { client, audience, scopes }: TestBearerOptions,
  ): Promise<string> {
    const iat = secondsBefore(this.#now() / 1000, age);
    const exp = secondsBefore(this.#now() / 1000, age - tokenLifetime);
    return this.#authkitKey.sign({
      iss: authkit,
      sub: userOf(session).id,
      sid: session.sessionId ?? `app_consent_${randomUUID()}`,
      jti: randomUUID(),
      ...defined({ aud: audience, client_id: client, org_id: session.organizationId, scope: scopes?.join(' ') }),
      iat,
      exp,
      ...session.claims,
    });
  }

  async answer({ method, url, body }: ProviderCall, state: ProviderState): Promise<Response | undefined> {
    if (method === 'GET' && url.pathname === `/sso/jwks/${this.#clientId}`) {
      return Response.json(await this.#key.jwks());
    }
    if (method === 'GET' && url.href === `${authkit}/oauth2/jwks`) return Response.json(await this.#authkitKey.jwks());
    // The adapter ends the session of a refused sign-in, and one that another replaces.
    if (method === 'POST' && url.pathname === '/user_management/sessions/revoke') return Response.json({});
    if (method !== 'POST' || url.pathname !== '/user_management/authenticate') return undefined;
    const started = state === 'revoking' ? undefined : this.#take(body);
    if (started === undefined) {
      const refusal = { error: 'invalid_grant', error_description: 'The grant was used or revoked.' };
      return Response.json(refusal, { status: 400 });
    }
    let { session } = started;
    for (const change of changes) {
      const changed = change(session, body);
      if (changed instanceof Response) {
        // WorkOS does not spend the token of a refused change.
        if (typeof body['refresh_token'] === 'string') this.#byRefreshToken.set(body['refresh_token'], started);
        return changed;
      }
      session = changed;
    }
    return Response.json(toWire(await this.issue({ ...started, session }), session));
  }

  #take(body: ProviderCall['body']): Started | undefined {
    const isRefresh = body['grant_type'] === 'refresh_token';
    const grants = isRefresh ? this.#byRefreshToken : this.#byCode;
    const grant = body[isRefresh ? 'refresh_token' : 'code'];
    if (typeof grant !== 'string') return undefined;
    const started = grants.get(grant);
    grants.delete(grant);
    return started;
  }
}

function userOf({ user = {} }: B2bTestSession): B2bUser {
  const { email = 'user@example.com' } = user;
  const id = `user_${createHash('sha256').update(email).digest('hex').slice(0, 24)}`;
  const names = { firstName: null, lastName: null, profilePictureUrl: null };
  return { id, email, ...names, emailVerified: true, externalId: null, metadata: {}, locale: null, ...user };
}

interface Issued {
  readonly accessToken: string;
  readonly refreshToken: string;
  readonly user: B2bUser;
}

/** https://workos.com/docs/reference/authkit/authentication */
function toWire({ accessToken, refreshToken, user }: Issued, { organizationId, impersonator }: B2bTestSession): object {
  return {
    access_token: accessToken,
    refresh_token: refreshToken,
    authentication_method: 'Password',
    user: {
      object: 'user',
      id: user.id,
      email: user.email,
      email_verified: user.emailVerified,
      first_name: user.firstName,
      last_name: user.lastName,
      profile_picture_url: user.profilePictureUrl,
      external_id: user.externalId,
      metadata: user.metadata,
      locale: user.locale,
    },
    organization_id: organizationId ?? null,
    ...defined({ impersonator }),
  };
}
