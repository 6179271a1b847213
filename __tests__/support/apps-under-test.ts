import type { Router } from 'express';
import type { SharedAuthOptions } from '../../lib/options/shared.ts';
import type { AuthEvent } from '../../lib/types.ts';
import { ada, startBackendApp } from './backend-app.ts';
import { startB2bApp, startProvider } from './b2b-app.ts';
import type { SharedProvider } from './b2b-app.ts';
import type { Clock } from './clock.ts';
import type { Host } from './hosts.ts';
import type { Answer, Visitor } from './visitor.ts';

/** What both stand-ins know to break, and `html502`: a proxy's page. */
export const outages = ['refuse', 'hang', 'reset', 'html502', 401, 429, 500, 503] as const;
export type Fault = (typeof outages)[number] | 'lost';

/** An app with one of the adapters and a provider of its own, as far as both are alike. */
export interface AppUnderTest {
  readonly origin: string;
  readonly clock: Clock;
  readonly events: AuthEvent[];
  readonly eventTypes: () => string[];
  /** Forgets the events and the provider's log. */
  forget(): void;
  signedIn(): Promise<Visitor>;
  /** Another person than `signedIn` signs in. */
  otherSignedIn(): Promise<Visitor>;
  /** Moves the clock so far past the expiry of a token that was issued now; negative: before it. Default 6 seconds. */
  expireTokens(afterMs?: number): void;
  /** The refresh tokens that the provider was sent, in order. */
  readonly refreshes: () => readonly string[];
  readonly keyFetches: () => number;
  /** Breaks the provider until it is healed, or for so many calls. */
  fail(endpoint: 'refresh' | 'keys', fault: Fault, times?: number): void;
  heal(): void;
  /** Whether a token that was just spent is answered with its successor once more. */
  setReplayGrace(isOn: boolean): void;
  /** Holds refreshes back from now on. */
  gate(): { readonly arrived: (count?: number) => Promise<unknown>; readonly open: () => void };
  /** Makes the tokens that `signedIn`'s person gets from now on this much larger, as roles or metadata do. */
  growTokens(bytes: number): void;
  /** Ends a session at the provider, as an administrator would. */
  revoke(visitor: Visitor): Promise<void>;
  rotateKeys(rotation: { readonly keepOld: boolean }): Promise<unknown>;
  signOut(visitor: Visitor): Promise<Answer>;
  /** Goes through the sign-in once more, with whatever it comes to. */
  signInAgain(visitor: Visitor): Promise<Answer>;
  /** Every call to the provider from now on meets a closed port. */
  stopProvider(): Promise<void>;
  close(): Promise<void>;
}

export interface AppUnderTestSetup {
  readonly options?: SharedAuthOptions;
  /** Before the adapter. */
  readonly before?: (host: Host) => unknown;
  readonly after?: (host: Host, auth: Router) => unknown;
}

export interface AdapterUnderTest {
  readonly name: string;
  readonly start: (setup?: AppUnderTestSetup) => Promise<AppUnderTest>;
}

const b2b: AdapterUnderTest = {
  name: 'b2bAuth',
  async start(setup = {}) {
    const provider: SharedProvider = await startProvider();
    const app = await startB2bApp({ ...setup, provider });
    const { workos, clock, events } = app;
    const { demoUsers } = await import('./b2b-app.ts');
    const refreshes = () => workos.requests.filter(({ grantType }) => grantType === 'refresh_token');
    return {
      origin: app.origin,
      clock,
      events,
      eventTypes: () => events.map(({ type }) => type),
      forget() {
        events.length = 0;
        workos.clearRequests();
      },
      signedIn: () => app.signedIn(),
      otherSignedIn: () => app.signedIn(demoUsers.oneOrganization),
      expireTokens: (afterMs = 6_000) => clock.advance(workos.switches.accessTokenTtlSeconds * 1000 + afterMs),
      refreshes: () => refreshes().map(({ body }) => String(body['refresh_token'])),
      keyFetches: () => workos.jwksCalls,
      fail(endpoint, fault, times) {
        const given = typeof fault === 'number' ? { status: fault } : fault;
        const outage = times === undefined ? given : { fault: given, calls: times };
        workos.switches.outage[endpoint === 'refresh' ? 'token' : 'jwks'] = outage;
      },
      heal: () => workos.heal(),
      setReplayGrace(isOn) {
        workos.switches.replayGrace = isOn;
      },
      gate() {
        const { promise, resolve } = Promise.withResolvers<undefined>();
        const before = refreshes().length;
        workos.switches.gate.token = () => promise;
        return {
          arrived: (count = 1) => workos.arrived('token', before + count),
          open() {
            workos.switches.gate = {};
            resolve(undefined);
          },
        };
      },
      growTokens(bytes) {
        workos.switches.extraClaims = bytes === 0 ? {} : { permissions: ['x'.repeat(bytes)] };
      },
      async revoke(visitor) {
        workos.revokeSession((await visitor.getJson('/auth/session')).json.sessionId);
      },
      rotateKeys: ({ keepOld }) => workos.rotateKeys({ dropOld: !keepOld }),
      signOut: (visitor) => visitor.post('/logout'),
      async signInAgain(visitor) {
        const start = await visitor.get('/login');
        const { pathname, search } = await workos.authorize(start.location, { user: demoUsers.personal });
        return visitor.get(pathname + search);
      },
      stopProvider: () => provider.close(),
      async close() {
        await app.close();
        await provider.close();
      },
    };
  },
};

const backend: AdapterUnderTest = {
  name: 'backendAuth',
  async start(setup = {}) {
    const app = await startBackendApp(setup);
    const { supabase, clock, events } = app;
    const grace = { email: 'grace@example.com', password: 'correct horse battery' };
    supabase.addUser(grace);
    let isStopped = false;
    const sessionIds = new Map<Visitor, string>();
    return {
      origin: app.origin,
      clock,
      events,
      eventTypes: () => events.map(({ type }) => type),
      forget() {
        events.length = 0;
        supabase.requests.length = 0;
      },
      async signedIn() {
        const visitor = await app.signedIn();
        const names = [...visitor.cookies.keys()].filter((name) => name.startsWith(app.cookieName));
        const raw = names.map((name) => visitor.cookies.get(name)).join('');
        sessionIds.set(visitor, sessionIdOf(raw));
        return visitor;
      },
      async otherSignedIn() {
        const visitor = app.visitor();
        await visitor.postJson('/auth/login', grace);
        return visitor;
      },
      expireTokens: (afterMs = 6_000) => clock.advance(supabase.switches.accessTokenTtl * 1000 + afterMs),
      refreshes: () =>
        supabase.requests
          .filter(({ endpoint }) => endpoint === 'refresh')
          .map((request) => String(request.body['refresh_token'])),
      keyFetches: () => supabase.calls('jwks'),
      fail: (endpoint, fault, times) => supabase.fail(endpoint === 'refresh' ? 'refresh' : 'jwks', fault, times),
      heal: () => supabase.heal(),
      setReplayGrace(isOn) {
        supabase.switches.reuse = isOn ? 'parent' : 'strict';
      },
      gate() {
        const held = supabase.gate('refresh');
        return { arrived: (count = 1) => held.waitFor(count), open: () => held.open() };
      },
      growTokens: (bytes) => supabase.setMetadata(ada.email, bytes === 0 ? {} : { bio: 'x'.repeat(bytes) }),
      revoke(visitor) {
        supabase.revokeSession(sessionIds.get(visitor) ?? '');
        return Promise.resolve();
      },
      rotateKeys: (rotation) => supabase.rotateKeys(rotation),
      signOut: (visitor) => visitor.postJson('/auth/logout'),
      signInAgain: (visitor) => visitor.postJson('/auth/login', ada),
      stopProvider() {
        isStopped = true;
        return supabase.close();
      },
      async close() {
        const closed = app.close();
        // It would wait for a stand-in that is closed already.
        if (!isStopped) await closed;
      },
    };
  },
};

function sessionIdOf(cookie: string): string {
  const session = JSON.parse(Buffer.from(cookie.slice('base64-'.length), 'base64url').toString()) as {
    access_token: string;
  };
  const [, payload = ''] = session.access_token.split('.');
  return (JSON.parse(Buffer.from(payload, 'base64url').toString()) as { session_id: string }).session_id;
}

/** The adapters, for `describe.each`. */
export const adapters: readonly AdapterUnderTest[] = [b2b, backend];
