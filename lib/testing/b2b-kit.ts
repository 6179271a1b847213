import { createHash, randomBytes, randomUUID } from 'node:crypto';
import { createSeal } from '../b2b/seal.ts';
import { writeChunks } from '../core/cookie-chunks.ts';
import type { CookieWrite } from '../core/cookies.ts';
import type { B2bAuthOptions } from '../b2b/index.ts';
import type { B2bUser, Impersonator, Json } from '../types.ts';
import { cookieHeader, putCookies, storageState } from './agent.ts';
import type { CookieAgent, StorageState } from './agent.ts';
import { createInMemoryProvider } from './provider.ts';
import type { ProviderCall, ProviderState } from './provider.ts';
import { refuseInProduction } from './refuse-in-production.ts';
import { createSigningKey } from './signing-key.ts';

/** What the application fixes itself; everything else is made up. */
export interface B2bTestKitOptions {
  readonly clientId?: string;
  /** 32 characters or more. */
  readonly cookiePassword?: string;
  /** Default `b2b-session`, as the adapter's. */
  readonly cookieName?: string;
  /** The clock of kit and adapter, in milliseconds since the epoch. */
  readonly now?: () => number;
}

/** Who is signed in, and how. */
export interface B2bTestSession {
  /** Whatever is left out is made up; the `id` from the email address, so that one address is one person. */
  readonly user?: Partial<B2bUser>;
  readonly organizationId?: string;
  readonly sessionId?: string;
  readonly impersonator?: Impersonator;
  /** Further claims of the access token, such as `{ role: 'admin', permissions: ['reports:read'] }`. */
  readonly claims?: Readonly<Record<string, Json>>;
  /** The access token has expired: the first request renews it. */
  readonly expired?: boolean;
  /** Seconds since the person signed in, which a guard's `maxAge` compares. Default 0. */
  readonly signedInAgo?: number;
  /** The organizations that `POST /organization` may switch to. Default: any. */
  readonly organizations?: readonly string[];
}

export interface B2bTestKit {
  /** For `b2bAuth`: `b2bAuth({ ...yourOptions, ...kit.options })`. */
  readonly options: Pick<B2bAuthOptions, 'clientId' | 'apiKey' | 'cookiePassword' | 'cookieName' | 'fetch' | 'now'>;
  /**
   * Signs an agent in, in place of any session that it had.
   *
   * @example const agent = await kit.signIn(request.agent(app), { user: { email: 'ada@example.com' } });
   */
  signIn<Agent extends CookieAgent>(agent: Agent, session?: B2bTestSession): Promise<Agent>;
  /** The `Cookie` header of a signed-in person, for any HTTP client. */
  cookie(session?: B2bTestSession): Promise<string>;
  /**
   * The cookies of a signed-in person for Playwright.
   *
   * @param origin where the browser finds the application, such as `http://localhost:3000`
   * @throws {TypeError} for an origin that is not an http or https URL
   * @example const context = await browser.newContext({ storageState: await kit.storageState(origin, { user }) });
   */
  storageState(origin: string, session?: B2bTestSession): Promise<StorageState>;
  /**
   * Plays the hosted page.
   *
   * @param authorizationUrl where `/login` or `/signup` led
   * @returns the callback to follow, as a root-relative path with its query
   */
  authorize(authorizationUrl: string, session?: B2bTestSession): string;
  simulate(state: ProviderState): void;
}

/** Seconds; WorkOS' own default. */
const tokenLifetime = 300;

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
  const key = createSigningKey('RS256');
  const byRefreshToken = new Map<string, Started>();
  const byCode = new Map<string, Started>();
  const provider = createInMemoryProvider(answer);

  /** @param age seconds since the token was issued */
  async function issue({ id, authTime, session }: Started, age = 0): Promise<Issued> {
    const iat = Math.floor(now() / 1000) - age;
    const user = userOf(session);
    const refreshToken = randomBytes(18).toString('base64url');
    byRefreshToken.set(refreshToken, { id, authTime, session });
    const accessToken = await key.sign({
      iss: `https://api.workos.com/user_management/${clientId}`,
      sub: user.id,
      sid: id,
      jti: randomUUID(),
      client_id: clientId,
      ...(session.organizationId === undefined ? {} : { org_id: session.organizationId }),
      auth_time: authTime,
      iat,
      exp: iat + tokenLifetime,
      ...session.claims,
    });
    return { accessToken, refreshToken, user };
  }

  /** @param age seconds since its first token was issued */
  function start(session: B2bTestSession, age = 0): Started {
    const authTime = Math.floor(now() / 1000) - Math.max(session.signedInAgo ?? 0, age);
    return { id: session.sessionId ?? `session_${randomUUID()}`, authTime, session };
  }

  async function cookies(session: B2bTestSession): Promise<readonly CookieWrite[]> {
    refuseInProduction();
    const age = session.expired === true ? 2 * tokenLifetime : 0;
    const issued = await issue(start(session, age), age);
    const { organizationId, impersonator } = session;
    const content = {
      ...issued,
      signedInAt: now() / 1000,
      ...(impersonator === undefined ? {} : { impersonator }),
      ...(organizationId === undefined ? {} : { organizationId }),
    };
    return writeChunks(cookieName, await seal.seal(content), new Map());
  }

  async function answer({ method, url, body }: ProviderCall, state: ProviderState): Promise<Response | undefined> {
    if (method === 'GET' && url.pathname === `/sso/jwks/${clientId}`) return Response.json(await key.jwks());
    if (method !== 'POST' || url.pathname !== '/user_management/authenticate') return undefined;
    const started = state === 'revoking' ? undefined : take(body);
    if (started === undefined) {
      return Response.json(
        { error: 'invalid_grant', error_description: 'The grant is spent or revoked.' },
        { status: 400 },
      );
    }
    const { organization_id: organizationId } = body;
    if (typeof organizationId !== 'string' || organizationId === started.session.organizationId) {
      return Response.json(toWire(await issue(started), started.session));
    }
    if (started.session.organizations?.includes(organizationId) === false) {
      // WorkOS does not spend the token of a refused switch.
      if (typeof body['refresh_token'] === 'string') byRefreshToken.set(body['refresh_token'], started);
      return Response.json({ code: 'organization_membership_not_found', message: 'Not a member.' }, { status: 400 });
    }
    const session = { ...started.session, organizationId };
    return Response.json(toWire(await issue({ ...started, session }), session));
  }

  function take(body: ProviderCall['body']): Started | undefined {
    const [grants, grant] =
      body['grant_type'] === 'refresh_token' ? [byRefreshToken, body['refresh_token']] : [byCode, body['code']];
    if (typeof grant !== 'string') return undefined;
    const started = grants.get(grant);
    grants.delete(grant);
    return started;
  }

  return {
    options: {
      clientId,
      apiKey: `sk_testing_${randomBytes(12).toString('hex')}`,
      cookiePassword,
      cookieName,
      fetch: provider.fetch,
      ...(given.now === undefined ? {} : { now }),
    },
    async signIn(agent, session = {}) {
      putCookies(agent, cookieName, await cookies(session));
      return agent;
    },
    cookie: async (session = {}) => cookieHeader(await cookies(session)),
    storageState: async (origin, session = {}) => storageState(origin, await cookies(session)),
    authorize(authorizationUrl, session = {}) {
      refuseInProduction();
      const { searchParams } = new URL(authorizationUrl);
      const { pathname } = new URL(searchParams.get('redirect_uri') ?? '');
      const code = randomBytes(18).toString('base64url');
      byCode.set(code, start(session));
      return `${pathname}?${new URLSearchParams({ code, state: searchParams.get('state') ?? '' }).toString()}`;
    },
    simulate: (state) => provider.simulate(state),
  };
}

interface Started {
  /** The session's id, through all renewals. */
  readonly id: string;
  /** Seconds since the epoch, through all renewals as well. */
  readonly authTime: number;
  readonly session: B2bTestSession;
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
    ...(impersonator === undefined ? {} : { impersonator }),
  };
}
