import type { Router } from 'express';
import { randomBytes } from 'node:crypto';
import { getSession, requireSession } from '../../lib/b2b/index.ts';
import type { AuthEvent } from '../../lib/types.ts';
import { demoUsers } from '../../stand-ins/workos/index.ts';
import type { StandInUser, WorkosStandIn } from '../../stand-ins/workos/index.ts';
import { startWorkos } from './workos.ts';
import { buildB2b } from './build-adapter.ts';
import type { B2bSuiteOptions } from './build-adapter.ts';
import { createClock } from './clock.ts';
import type { Clock } from './clock.ts';
import { sendJson, sendText } from './hosts.ts';
import type { Host } from './hosts.ts';
import { serve } from './servers.ts';
import type { RunningServer } from './servers.ts';
import { createApplication, publicOrigin, variantOptions } from './application.ts';
import { createVisitor } from './visitor.ts';
import type { Visitor } from './visitor.ts';
import { connectionTo } from './workos-connection.ts';

export { createClock, demoUsers };
export type { Clock };

export interface B2bApp extends RunningServer {
  readonly auth: Router;
  readonly workos: WorkosStandIn;
  readonly clock: Clock;
  readonly events: AuthEvent[];
  readonly options: B2bSuiteOptions;
  readonly cookiePassword: string;
  visitor(): Visitor;
  /** A visitor who went through the hosted page. */
  signedIn(user?: StandInUser, organizationId?: string): Promise<Visitor>;
}

/** A stand-in that several apps share: making its signing key is what takes time. */
export interface SharedProvider {
  readonly workos: WorkosStandIn;
  readonly clock: Clock;
  close(): Promise<void>;
}

export async function startProvider(): Promise<SharedProvider> {
  const clock = createClock();
  const apiKey = `sk_test_${randomBytes(12).toString('hex')}`;
  const workos = await startWorkos({ clientId: 'client_test', apiKey, now: clock.now });
  return { workos, clock, close: () => workos.close() };
}

export interface B2bAppSetup {
  readonly options?: B2bSuiteOptions;
  /** Default: one of the app's own, which ends with it. */
  readonly provider?: SharedProvider;
  /** Where the adapter is mounted. */
  readonly prefix?: string;
  /** Before the adapter. */
  readonly before?: (host: Host) => unknown;
  /** After the adapter and before the standard pages. */
  readonly after?: (host: Host, auth: Router) => unknown;
}

/**
 * An application with the B2B adapter and a stand-in of its own. Pages: `/` is public, `/dashboard` is in `protectedRoutes`,
 * `/api/me` stands behind `requireSession`, `/whoami` asks `getSession`.
 */
export async function startB2bApp(setup: B2bAppSetup = {}): Promise<B2bApp> {
  const { options, prefix = '/', before, after, provider = await startProvider() } = setup;
  const { workos, clock } = provider;
  const cookiePassword = randomBytes(32).toString('base64');
  const events: AuthEvent[] = [];
  const all = variantOptions<B2bSuiteOptions>({
    ...connectionTo(workos),
    cookiePassword,
    protectedRoutes: [`${prefix === '/' ? '' : prefix}/dashboard(.*)`],
    now: clock.now,
    onEvent: (event) => events.push(event),
    ...options,
  });
  const { host, listener } = createApplication();
  before?.(host);
  const auth = buildB2b(all);
  host.use(prefix, auth);
  after?.(host, auth);
  host.get('/', (_req, res) => sendText(res, 'home'));
  host.get(/\/dashboard/, (_req, res) => sendText(res, 'dashboard'));
  host.all('/api/me', requireSession(), (req, res, next) => {
    getSession(req).then((session) => sendJson(res, { user: session?.user }), next);
  });
  host.get('/whoami', (req, res, next) => {
    getSession(req).then((session) => sendJson(res, { user: session?.user ?? null }), next);
  });
  const server = await serve(listener);
  const origin = publicOrigin(server.origin);
  const callbackPath = `${prefix === '/' ? '' : prefix}${all.callbackPath ?? '/callback'}`;
  workos.redirectUris.push(origin + callbackPath, origin.replace('127.0.0.1', 'localhost') + callbackPath);
  workos.logoutReturnTos.push(`${origin}/`);

  const visitor = (): Visitor => createVisitor(origin);
  return {
    ...server,
    auth,
    origin,
    workos,
    clock,
    events,
    options: all,
    cookiePassword,
    visitor,
    async signedIn(user = demoUsers.personal, organizationId) {
      const browser = visitor();
      const start = await browser.get(`${prefix === '/' ? '' : prefix}${all.loginPath ?? '/login'}`);
      const choice = organizationId === undefined ? { user } : { user, organizationId };
      const callback = await workos.authorize(start.location, choice);
      const done = await browser.get(callback.href);
      if (done.status !== 303) throw new Error(`Sign-in ended with ${done.status}: ${done.text}`);
      return browser;
    },
    async close() {
      await server.close();
      if (setup.provider === undefined) await provider.close();
    },
  };
}
