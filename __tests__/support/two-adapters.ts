import { randomBytes } from 'node:crypto';
import http from 'node:http';
import type { Duplex } from 'node:stream';
import express from 'express';
import type { Router } from 'express';
import { WebSocket, WebSocketServer } from 'ws';
import { demoUsers } from '../../stand-ins/workos/index.ts';
import { startSupabaseStandIn } from '../../stand-ins/supabase/stand-in.ts';
import {
  authenticateUpgrade,
  b2bAuth,
  backendAuth,
  currentSession,
  forwardAuth,
  getSupabaseClient,
  refuseUpgrade,
  requireSession,
  sessionEnded,
} from '../../lib/index.ts';
import { ada } from './backend-app.ts';
import { createClock } from './clock.ts';
import { callback } from './consent.ts';
import { serve } from './servers.ts';
import type { RunningServer } from './servers.ts';
import { createShared } from './shared-memory.ts';
import { until } from './until.ts';
import { createVisitor } from './visitor.ts';
import type { Visitor } from './visitor.ts';
import { startWorkos } from './workos.ts';
import { connectionTo } from './workos-connection.ts';

export type AdapterName = 'b2b' | 'backend';
type Person = 'ada' | 'grace';
type Headers = Readonly<Record<string, string>>;

/** An open connection, as its server sees it. */
export interface Connection {
  readonly hasEnded: () => boolean;
  /** Resolves once its client sees the end, too. */
  readonly closed: () => Promise<void>;
}

/** A server with an adapter of its own, as another process has it. */
export interface Process extends RunningServer {
  readonly auth: Router;
  status(path: string, headers: Headers): Promise<number>;
  openSocket(headers: Headers): Promise<Connection>;
  openStream(headers: Headers): Promise<Connection>;
}

const grace = { email: 'grace@example.com', password: 'nanoseconds of wire' };
/** Too large for one cookie, small enough for several. */
const large = 'x'.repeat(2_600);

/**
 * Two servers of one application, with an adapter, a cache and a record of ended sessions each, and one coordinator in memory. All of them and
 * the provider share one clock.
 */
export async function startTwoAdapters(name: AdapterName, options: object = {}) {
  const clock = createClock();
  const coordinator = createShared(clock.now);
  const provider = name === 'b2b' ? await startB2b(clock.now) : await startBackend(clock.now);
  const createAuth = provider.prepare({ coordinator, now: clock.now, ...options });
  const here = await startProcess(createAuth(), provider.clients);
  const there = await startProcess(createAuth(), provider.clients);
  provider.admit(here.origin);

  return {
    ...provider,
    clock,
    here,
    there,
    visitor: () => createVisitor(here.origin),
    signedIn: (person: Person = 'ada') => provider.signIn(createVisitor(here.origin), person),
    async close() {
      await here.close();
      await there.close();
      await provider.close();
    },
  };
}

export type TwoAdapters = Awaited<ReturnType<typeof startTwoAdapters>>;

async function startB2b(now: () => number) {
  const workos = await startWorkos({
    clientId: 'client_test',
    apiKey: `sk_test_${randomBytes(12).toString('hex')}`,
    now,
  });
  const cookiePassword = randomBytes(32).toString('base64');
  return {
    supabase: undefined,
    people: undefined,
    clients: undefined,
    logoutPath: '/logout',
    lifetimeMs: workos.switches.accessTokenTtlSeconds * 1_000,
    /** How often the provider was asked to renew tokens, or for the user. */
    asked: () => workos.requests.filter(({ grantType }) => grantType === 'refresh_token').length,
    growTokens: () => void (workos.switches.extraClaims = { permissions: [large] }),
    prepare: (options: object) => () => b2bAuth({ ...connectionTo(workos), cookiePassword, ...options }),
    admit: (origin: string) => void workos.redirectUris.push(`${origin}/callback`),
    async signIn(visitor: Visitor, person: Person) {
      const user = person === 'ada' ? demoUsers.personal : demoUsers.oneOrganization;
      const { location } = await visitor.get('/login');
      const answer = await visitor.get((await workos.authorize(location, { user })).href);
      return signedIn(visitor, answer.status, 303);
    },
    close: () => workos.close(),
  };
}

async function startBackend(now: () => number) {
  const supabase = await startSupabaseStandIn({ now, autoconfirm: true, oauthServer: true });
  const people: Record<Person, { readonly email: string; password: string }> = { ada: { ...ada }, grace };
  Object.values(people).forEach((person) => supabase.addUser(person));
  const client = supabase.addClient({ name: 'Cursor', redirectUris: [callback] });
  return {
    supabase,
    /** With their present passwords. */
    people,
    clients: [client.id],
    logoutPath: '/auth/logout',
    lifetimeMs: supabase.switches.accessTokenTtl * 1_000,
    asked: () => supabase.calls('refresh') + supabase.calls('user'),
    growTokens: () => supabase.setMetadata(ada.email, { bio: large }),
    prepare: (options: object) => () =>
      backendAuth({ url: supabase.url, anonKey: supabase.publishableKey, oauthConsent: true, ...options }),
    admit: () => undefined,
    async signIn(visitor: Visitor, person: Person) {
      return signedIn(visitor, (await visitor.postJson('/auth/login', people[person])).status, 200);
    },
    client,
    close: () => supabase.close(),
  };
}

function signedIn(visitor: Visitor, status: number, expected: number): Visitor {
  if (status !== expected) throw new Error(`The sign-in ended with ${status}`);
  return visitor;
}

async function startProcess(auth: Router, clients: readonly string[] | undefined): Promise<Process> {
  const both = { credentials: ['cookie', 'bearer'], ...(clients === undefined ? {} : { clients }) } as const;
  const signals: AbortSignal[] = [];
  const app = express();
  app.use(auth).use('/forward', forwardAuth(auth));
  app.get('/api', requireSession({ ...both, respond: 'json' }), (req, res) => {
    const { accessToken, claims } = currentSession(req);
    res.json({ accessToken, claims });
  });
  app.get('/stream', requireSession(both), (req, res) => {
    const ended = sessionEnded(req);
    signals.push(ended);
    res.write('open');
    ended.addEventListener('abort', () => res.end());
  });
  app.get('/sign-out/:scope', requireSession(), async (req, res) => {
    const { auth: client } = await getSupabaseClient(req);
    res.json(await client.signOut({ scope: req.params['scope'] as 'global' | 'others' }));
  });
  const sockets = new WebSocketServer({ noServer: true });
  const upgrade = (req: http.IncomingMessage, socket: Duplex, head: Buffer): void => {
    authenticateUpgrade(auth, req, both).then(
      ({ ended }) =>
        sockets.handleUpgrade(req, socket, head, (ws) => {
          signals.push(ended);
          ended.addEventListener('abort', () => ws.close(4401));
        }),
      (error: unknown) => refuseUpgrade(socket, error),
    );
  };
  const server = await serve(app, 0, (created) => created.on('upgrade', upgrade));
  return {
    ...server,
    auth,
    async close() {
      sockets.clients.forEach((ws) => ws.terminate());
      await server.close();
    },
    status: async (path, headers) =>
      (await createVisitor(server.origin).get(path, { headers: { accept: 'application/json', ...headers } })).status,
    async openSocket(headers) {
      const known = signals.length;
      const ws = new WebSocket(server.origin.replace('http', 'ws'), { headers: { origin: server.origin, ...headers } });
      return connection(ws, () => signals[known]);
    },
    async openStream(headers) {
      const known = signals.length;
      const stream = http.get(`${server.origin}/stream`, { headers, agent: false });
      stream.on('response', (response) => response.resume().on('close', () => stream.emit('left')));
      return connection(stream, () => signals[known], 'left');
    },
  };
}

/** @param event that its client emits at the end */
async function connection(
  client: { on(event: string, listener: (...values: unknown[]) => void): unknown },
  signal: () => AbortSignal | undefined,
  event = 'close',
): Promise<Connection> {
  let [isClosed, failure] = [false, ''];
  client.on(event, () => (isClosed = true));
  client.on('error', (error) => (failure = String(error)));
  await until(() => signal() !== undefined || failure !== '');
  if (failure !== '') throw new Error(failure);
  return { hasEnded: () => signal()?.aborted === true, closed: () => until(() => isClosed) };
}
