import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { createAuthenticate } from './authenticate.ts';
import { createHeadless } from './headless.ts';
import type { AuthorizationCode, PendingAuthentication, RequestBody } from './authenticate.ts';
import { createAuthorize } from './authorize.ts';
import { defaultSwitches } from './faults.ts';
import type { Endpoint, Switches } from './faults.ts';
import type { OnLoopback } from '../loopback.ts';
import { createApi } from './api.ts';
import { createDirectory } from './directory.ts';
import { logout, revoke } from './logout.ts';
import { createBrowserSessions } from './browser-sessions.ts';
import { createOneTimeStore } from './one-time.ts';
import { demoUsers, toSdkUser } from './people.ts';
import type { StandInUser } from './people.ts';
import { json } from './replies.ts';
import { createRequestLog } from './request-log.ts';
import type { LoggedRequest } from './request-log.ts';
import { createWorkosServer } from './server.ts';
import { createSessions } from './sessions.ts';
import { createKeyRing } from './tokens.ts';
import type { Claims, GenerateKeyPair, SignTokenOptions } from './tokens.ts';
import { visitor } from './visitor.ts';

export { demoUsers } from './people.ts';
export type { Membership, StandInUser } from './people.ts';
export type { AuthenticateError, Endpoint, Fault, Outage, Switches } from './faults.ts';
export type { LoggedRequest } from './request-log.ts';

export interface WorkosStandInOptions {
  readonly clientId: string;
  /** Any secret of the caller's choice. */
  readonly apiKey: string;
  /** 0, the default, picks a free port. */
  readonly port?: number;
  /** A loopback address; anything else is refused. Default `127.0.0.1`. */
  readonly host?: string;
  /** Compared character by character; more can be pushed to the running stand-in's list. */
  readonly redirectUris?: readonly string[];
  /** Allowed sign-out targets; the first is the default. More can be pushed here, too. */
  readonly logoutReturnTos?: readonly string[];
  /** With it, each redirect URI of this machine is accepted at its first use, and told here. */
  readonly onRedirectUri?: OnLoopback;
  /** The same for sign-out redirects. */
  readonly onLogoutReturnTo?: OnLoopback;
  /** The application's sign-in page, to which an invitation leads; default: `login` beside the first redirect URI. */
  readonly signInUrl?: string;
  /** Default: {@link demoUsers}. */
  readonly users?: readonly StandInUser[];
  /** By email address, for forms of an application's own; the hosted page asks for none. */
  readonly passwords?: Readonly<Record<string, string>>;
  /** The `iss` of access tokens; default `https://api.workos.com/user_management/<clientId>`, as new environments have it. */
  readonly issuer?: string;
  /** Default: RSA keys of 2,048 bits. */
  readonly generateKeyPair?: GenerateKeyPair | undefined;
  /** Milliseconds since the epoch. */
  readonly now?: () => number;
}

export interface IssueSession {
  readonly user: StandInUser;
  readonly organizationId?: string;
  readonly accessTokenTtlSeconds?: number;
  /** Added to the access token's claims, or instead of them; `undefined` removes one. */
  readonly claims?: Claims;
}

export type WorkosStandIn = Awaited<ReturnType<typeof startWorkosStandIn>>;

const loopback: readonly string[] = ['127.0.0.1', '::1', 'localhost'];

/**
 * WorkOS AuthKit inside this process: hosted pages without passwords, the token endpoint, JWKS and sign-out,
 * in WorkOS' wire format and with its strictness, and switches for all failures. For demos and tests.
 *
 * @throws Error in production, and for a host that other machines could reach.
 */
export async function startWorkosStandIn(options: WorkosStandInOptions) {
  const { clientId, apiKey, port = 0, host = '127.0.0.1', now = Date.now } = options;
  const { users: people = Object.values(demoUsers), issuer = `https://api.workos.com/user_management/${clientId}` } =
    options;
  if (process.env['NODE_ENV'] === 'production') {
    throw new Error('The WorkOS stand-in checks no passwords: it does not run in production.');
  }
  if (!loopback.includes(host)) throw new Error(`The WorkOS stand-in listens on loopback only, not on ${host}.`);

  const redirectUris = [...(options.redirectUris ?? [])];
  const logoutReturnTos = [...(options.logoutReturnTos ?? [])];
  const users = new Map<string, StandInUser>(people.map((user) => [user.id, user]));
  const switches: Switches = defaultSwitches();
  const log = createRequestLog();
  const hanging = new Set<ServerResponse>();
  const keys = await createKeyRing(options.generateKeyPair);
  const sign = (claims: Claims) => keys.sign(claims);
  const codes = createOneTimeStore<AuthorizationCode>(now);
  const pending = createOneTimeStore<PendingAuthentication>(now);
  const sessions = createSessions({ now, switches, users, clientId, issuer, sign });
  const headless = createHeadless(users, new Map(Object.entries(options.passwords ?? {})));
  const directory = createDirectory(users, now);
  const signInUrl = () => options.signInUrl ?? new URL('login', redirectUris[0] ?? 'http://localhost:3000').href;
  const routes = {
    authorize: createAuthorize({
      clientId,
      redirectUris,
      onRedirectUri: options.onRedirectUri,
      switches,
      users,
      directory,
      codes,
      browsers: createBrowserSessions(sessions),
      now,
    }),
    authenticate: createAuthenticate({ clientId, apiKey, switches, codes, pending, sessions, users, headless, now }),
    magicAuth: (body: RequestBody) => headless.sendCode(body),
    jwks: (id: string) => (id === clientId ? json(200, keys.jwks()) : json(404, { message: 'Client not found.' })),
    logout: (query: URLSearchParams) =>
      logout(query, { sessions, logoutReturnTos, onLogoutReturnTo: options.onLogoutReturnTo }),
    revoke: (sessionId: unknown, authorization: string | undefined) =>
      revoke(sessionId, authorization, { sessions, apiKey }),
    api: createApi({ users, directory, sessions, apiKey, signInUrl, now }),
  };

  const server = createWorkosServer({ routes, switches, log, hanging, now });
  server.listen(port, host);
  await once(server, 'listening');
  const address = server.address();
  if (typeof address !== 'object' || address === null) throw new Error('The WorkOS stand-in has no port.');

  return {
    url: `http://${host === '::1' ? '[::1]' : host}:${address.port}`,
    hostname: host,
    port: address.port,
    clientId,
    apiKey,
    issuer,
    users,
    switches,
    redirectUris,
    logoutReturnTos,

    /** The received requests, oldest first, at most the last 1,000. */
    get requests(): readonly LoggedRequest[] {
      return log.requests;
    },
    get tokenCalls(): number {
      return log.callsTo('token');
    },
    get jwksCalls(): number {
      return log.callsTo('jwks');
    },
    clearRequests: (): void => log.clear(),
    /** Ends every fault and the hanging connections: a gateway that recovers has lost them. */
    heal(): void {
      switches.outage = {};
      for (const res of hanging) res.socket?.destroy();
    },
    /** Resolves once `count` calls to the endpoint have arrived. */
    arrived: (endpoint: Endpoint, count = 1): Promise<void> => log.arrived(endpoint, count),

    /** The codes of forms of an application's own, by email address. */
    emailedCodes: headless.codes,
    /** The current signing key's id. */
    get kid(): string {
      return keys.kid;
    },
    /** Signs with a new key from now on. The old one stays published, unless `dropOld`. */
    rotateKeys: (rotation?: { dropOld?: boolean }): Promise<void> => keys.rotate(rotation),
    /** Signs exactly these claims with the real key, or forges as `alg` asks. */
    signToken: (claims: Claims, how?: SignTokenOptions): Promise<string> => keys.sign(claims, how),

    /** A session as after a sign-in, with real tokens that can be refreshed and ended, in the SDK's spelling. */
    async issueSession({ user, organizationId, accessTokenTtlSeconds, claims }: IssueSession) {
      users.set(user.id, user);
      const authenticationMethod = 'Password' as const;
      const start = { user, organizationId, authenticationMethod, accessTokenTtlSeconds, claims };
      const { sessionId, accessToken, refreshToken } = await sessions.start(start);
      const impersonator = user.impersonator && { impersonator: user.impersonator };
      const organization = organizationId !== undefined && { organizationId };
      return {
        sessionId,
        accessToken,
        refreshToken,
        authenticationMethod,
        user: toSdkUser(user),
        ...impersonator,
        ...organization,
      };
    },
    /** Ends a session at the provider, as an administrator would. */
    revokeSession: (sessionId: string): void => sessions.end(sessionId),
    isSessionActive: (sessionId: string): boolean => sessions.isActive(sessionId),

    /** Signs in at the hosted page without a browser: sign-in URL in, callback URL out. */
    ...visitor,

    /** Closes every connection, including hanging ones. */
    close: (): Promise<void> =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
