import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { JWTPayload } from 'jose';
import { walkConsent } from './browser.ts';
import { GoTrueError, OAuthServerError, errorReply } from './errors.ts';
import { breakConnection, createFaults, faultReply } from './faults.ts';
import { createFactors } from './factors.ts';
import { createFlows } from './flows.ts';
import { json, readRequest } from './http.ts';
import type { Reply, StandInRequest } from './http.ts';
import { createSigningKeys } from './keys.ts';
import type { TokenForgery } from './keys.ts';
import { createMails } from './mails.ts';
import { createOAuthServer } from './oauth-server.ts';
import type { NewClient, NewAuthorization, OAuthClient } from './oauth-server.ts';
import type { Note, Project } from './project.ts';
import { createPasskeys } from './passkeys.ts';
import type { RelyingParty } from './webauthn.ts';
import { allowedRedirect } from './redirects.ts';
import { createRoutes } from './routes/index.ts';
import type { Route } from './routes/index.ts';
import { createSessions } from './sessions.ts';
import type { SessionOptions } from './sessions.ts';
import { readSwitches } from './switches.ts';
import type {
  Endpoint,
  Factor,
  Fault,
  FaultTarget,
  Mail,
  NewFactor,
  NewUser,
  Person,
  Switches,
  User,
} from './types.ts';
import { createUsers } from './users.ts';

export type { Gate } from './faults.ts';
export type { TokenForgery } from './keys.ts';
export type { SessionOptions } from './sessions.ts';
export type {
  Endpoint,
  Factor,
  Fault,
  FaultTarget,
  Mail,
  NewUser,
  SessionJson,
  Switches,
  User,
  UserJson,
} from './types.ts';

export interface SupabaseStandInOptions extends Partial<Switches> {
  /** Default: random. */
  readonly publishableKey?: string | undefined;
  /** Default: random. */
  readonly secretKey?: string | undefined;
  /** The redirect target where the requested one is not allowed; default `http://127.0.0.1:3000`. */
  readonly siteUrl?: string;
  /** Further redirect targets; the site's own origin and loopback addresses need no entry. */
  readonly redirectAllowList?: readonly string[];
  /** Called with each redirect target without its query, at its first use. */
  readonly onRedirect?: (target: string, isAllowed: boolean) => void;
  /** Whom a provider's page offers, beside the switch `oauthEmail`. */
  readonly people?: readonly Person[];
  /** Called with each mail. */
  readonly onMail?: (mail: Mail) => void;
  /** `HS256` is a project that still signs with a shared secret: an empty JWKS, only /user can verify. */
  readonly algorithm?: 'ES256' | 'HS256';
  /** Milliseconds since the epoch. */
  readonly now?: () => number;
  /** Default: 0, a free one. */
  readonly port?: number;
  /** For passkeys and security keys; default: the host and the origin of `siteUrl`. */
  readonly relyingParty?: RelyingParty;
  /** The rows of `notes` that every new user starts with. */
  readonly welcomeNotes?: readonly string[];
}

export interface LoggedRequest extends StandInRequest {
  readonly endpoint: Endpoint;
}

export type SupabaseStandIn = Awaited<ReturnType<typeof startSupabaseStandIn>>;

const versionOf = ({ headers }: StandInRequest) => headers['x-supabase-api-version']?.toString();

/**
 * A Supabase project (GoTrue, and a `notes` table behind PostgREST's path) that can simulate the
 * real one's failures, on 127.0.0.1 and a free port. Change `switches` at any time.
 */
export async function startSupabaseStandIn(options: SupabaseStandInOptions = {}) {
  const { algorithm = 'ES256', now = Date.now, siteUrl = 'http://127.0.0.1:3000' } = options;
  const { people = [], onRedirect, onMail } = options;
  const { publishableKey = `sb_publishable_${randomBytes(16).toString('hex')}`, port = 0, welcomeNotes = [] } = options;
  const { secretKey = `sb_secret_${randomBytes(16).toString('hex')}` } = options;
  const { relyingParty: party = { id: new URL(siteUrl).hostname, origins: [new URL(siteUrl).origin] } } = options;
  const switches = readSwitches(options);
  const server = createServer();
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (typeof address !== 'object' || address === null) throw new Error('The stand-in has no port.');
  const url = `http://127.0.0.1:${address.port}`;

  const keys = await createSigningKeys(algorithm, now);
  const notes: Note[] = [];
  const addNote = (userId: string, body: string): void =>
    void notes.push({ id: notes.length + 1, user_id: userId, body, created_at: new Date(now()).toISOString() });
  const users = createUsers(switches, now, ({ id }) => welcomeNotes.forEach((body) => addNote(id, body)));
  const sessions = createSessions({ keys, users, switches, issuer: `${url}/auth/v1`, now });
  const mails = createMails(url, switches, now, onMail);
  const factors = createFactors(switches, party, now);
  const passkeys = createPasskeys(switches, party, now);
  const flows = createFlows(now);
  const oauthServer = createOAuthServer(now);
  const told = new Set<string>();
  const redirectTo = (asked: string): string => {
    const target = allowedRedirect(asked, siteUrl, options.redirectAllowList ?? []);
    const address = asked.replace(/[?#].*/, '');
    if (address !== '' && !told.has(address)) onRedirect?.(address, target === asked);
    told.add(address);
    return target;
  };
  const base = { url, siteUrl, redirectTo, people, publishableKey, secretKey, switches, now };
  const phoneCodes = new Map<string, string>();
  const accounts = { users, sessions, flows, mails, factors, passkeys, phoneCodes, oauthServer };
  const project: Project = { ...base, ...accounts, keys, notes };
  const routeOf = createRoutes(project);
  const faults = createFaults();
  const requests: LoggedRequest[] = [];

  async function answer(route: Route, request: StandInRequest): Promise<Reply> {
    if (!route.open && ![publishableKey, secretKey].includes(request.headers['apikey']?.toString() ?? '')) {
      return json(401, {
        message: 'Invalid API key',
        hint: 'Double check your Supabase `anon` or `service_role` API key.',
      });
    }
    try {
      return await route.handle(request);
    } catch (error) {
      const isKnown = error instanceof GoTrueError || error instanceof OAuthServerError;
      const known = isKnown ? error : new GoTrueError(500, 'unexpected_failure', String(error));
      return errorReply(known, versionOf(request));
    }
  }

  async function serve(req: IncomingMessage, res: ServerResponse): Promise<void> {
    const request = await readRequest(req, url);
    const route = routeOf(request);
    requests.push({ ...request, endpoint: route.endpoint });
    const fault = faults.next(route.endpoint);
    await faults.passGates(route.endpoint);
    const worksFirst = fault === undefined || fault === 'lost' || fault === 'reset';
    const reply = worksFirst ? await answer(route, request) : faultReply(fault, versionOf(request));
    if (fault === 'hang') faults.hang(res);
    if (breakConnection(fault, reply, res) || !reply) return;
    res.writeHead(reply.status, reply.headers).end(reply.body);
  }
  // Clients often disconnect during a request here.
  server.on('request', (req, res) => void serve(req, res).catch(() => res.destroy()));

  const userOf = (who: string | User): User => {
    const user = typeof who === 'string' ? users.find(who) : who;
    if (!user) throw new Error(`No such user: ${JSON.stringify(who)}`);
    return user;
  };

  return {
    url,
    publishableKey,
    /** For the admin API. */
    secretKey,
    switches,
    mails: mails.sent,
    /** The text messages of phone factors and of phone sign-ins. */
    texts: factors.texts,
    /** Every request, in order. */
    requests,
    /** How many requests an endpoint has seen. */
    calls: (endpoint: Endpoint) => requests.filter((request) => request.endpoint === endpoint).length,
    addUser: (user: NewUser) => users.add(user),
    users: () => users.list(),
    setMetadata(who: string | User, metadata: Record<string, unknown>) {
      userOf(who).metadata = metadata;
    },
    /** Deletes a user with all of their sessions. */
    removeUser(who: string | User) {
      const { id } = userOf(who);
      sessions.signOut('', id, 'global');
      users.remove(id);
    },
    addNote(owner: string | User, body: string) {
      addNote(userOf(owner).id, body);
    },
    /** A session in the format of a grant's response. */
    issueSession: (who: string | User, session?: SessionOptions) => sessions.issue(userOf(who), session),
    /** The two emails of an address change. */
    sendEmailChange: (who: string | User, redirectTo = siteUrl, newEmail = `new-${userOf(who).email}`) =>
      mails.sendEmailChange(userOf(who), newEmail, redirectTo),
    /** An invitation, as the project's owner sends it: a mail to a user without a password. */
    invite: (email: string, redirectTo = siteUrl) =>
      mails.send(
        Object.assign(users.add({ email, confirmed: false }), { invitedAt: users.isoNow() }),
        'invite',
        redirectTo,
      ),
    /** A second factor of a user, verified by default. */
    addFactor: (who: string | User, factor?: NewFactor) => factors.add(userOf(who), factor),
    factorsOf: (who: string | User): readonly Factor[] => userOf(who).factors,
    passkeysOf: (who: string | User) => passkeys.of(userOf(who).id),
    /** Open challenges of passkeys are over. */
    forgetChallenges: () => passkeys.forgetChallenges(),
    /** Removes a passkey as its owner does elsewhere. */
    removePasskey: (who: string | User, passkeyId: string) => passkeys.remove(userOf(who), passkeyId),
    /** Removes a factor as the project's owner does: the sessions that it raised are aal1 after their next refresh. */
    removeFactor(who: string | User, { id }: Factor) {
      const user = userOf(who);
      user.factors = user.factors.filter((factor) => factor.id !== id);
      sessions.lower(id);
    },
    /** The code that an authenticator app shows now. */
    codeOf: (factor: Pick<Factor, 'secret'>) => factors.codeOf(factor),
    /** The open sessions of a user. */
    sessionsOf: (who: string | User) => sessions.of(userOf(who).id),
    /** Another application that asks users of this project. */
    addClient: (client?: NewClient): OAuthClient => oauthServer.register(client),
    /** The id with which the consent page is opened. */
    askConsent: (client: OAuthClient, asked?: NewAuthorization): string => oauthServer.start(client, asked).id,
    /** A token with exactly these claims; signed with the project's own key by default. */
    signToken: (claims: JWTPayload, forgery?: TokenForgery) => keys.sign(claims, forgery),
    /** Signs with a new key from now on; `keepOld: false` forgets the old ones at once. */
    rotateKeys: (rotation?: { readonly keepOld: boolean }) => keys.rotate(rotation),
    /** Ends a session by the `session_id` of its tokens, as sign-out elsewhere does. */
    revokeSession: (sessionId: string) => sessions.end(sessionId),
    /** Breaks an endpoint for the next `times` calls, or until `heal()`. */
    fail: (target: FaultTarget, fault: Fault, times?: number) => faults.fail(target, fault, times),
    heal: () => faults.heal(),
    /** Holds an endpoint's requests back until the test opens the gate. */
    gate: (target: FaultTarget) => faults.gate(target),
    /** A browser's walk from an authorize URL through the consent page; resolves to the callback URL. */
    authorize: (authorizeUrl: string, decision: { readonly approve: boolean; readonly user?: string }) =>
      walkConsent(authorizeUrl, decision),
    async close() {
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    },
  };
}
