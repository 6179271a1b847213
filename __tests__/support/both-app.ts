import { randomBytes } from 'node:crypto';
import { getSession, requireSession } from '../../lib/b2b/index.ts';
import type { WorkosStandIn } from '../../stand-ins/workos/index.ts';
import { buildB2b } from './build-adapter.ts';
import type { B2bSuiteOptions } from './build-adapter.ts';
import { demoUsers, startProvider } from './b2b-app.ts';
import type { SharedProvider } from './b2b-app.ts';
import { startBackendApp } from './backend-app.ts';
import type { BackendApp, BackendAppSetup } from './backend-app.ts';
import { sendJson, sendText } from './hosts.ts';
import type { Host } from './hosts.ts';
import { variantOptions } from './application.ts';
import type { Visitor } from './visitor.ts';
import { connectionTo } from './workos-connection.ts';

export interface BothApp extends BackendApp {
  readonly workos: WorkosStandIn;
  readonly b2bOptions: B2bSuiteOptions;
  /** Signs the visitor in at the hosted page, beside whatever session there is. */
  signInB2b(visitor: Visitor): Promise<void>;
}

export interface BothAppSetup extends BackendAppSetup {
  readonly b2b?: B2bSuiteOptions;
}

/**
 * Both adapters in one application, each with its stand-in. The B2B session is read at `/b2b/session`; `/dashboard` is its
 * protected path, `/account` the backend adapter's. `/guard/b2b` and `/guard/backend` stand behind `requireSession({ adapter })`.
 */
export async function startBothApp({ b2b, before, after, ...setup }: BothAppSetup = {}): Promise<BothApp> {
  const provider: SharedProvider = await startProvider();
  const { workos, clock } = provider;
  const events: BackendApp['events'] = [];
  const b2bOptions = variantOptions<B2bSuiteOptions>({
    ...connectionTo(workos),
    cookiePassword: randomBytes(32).toString('base64'),
    sessionPath: '/b2b/session',
    protectedRoutes: '/dashboard(.*)',
    now: clock.now,
    onEvent: (event) => events.push(event),
    ...b2b,
  });
  const app = await startBackendApp({
    ...setup,
    options: { now: clock.now, onEvent: (event) => events.push(event), ...setup.options },
    standIn: { now: clock.now, ...setup.standIn },
    before(host) {
      before?.(host);
      host.use(buildB2b(b2bOptions));
    },
    after(host, auth) {
      after?.(host, auth);
      addPages(host);
    },
  });
  workos.redirectUris.push(`${app.origin}/callback`);
  workos.logoutReturnTos.push(`${app.origin}/`);
  return {
    ...app,
    workos,
    clock,
    events,
    b2bOptions,
    eventTypes: () => events.map(({ type }) => type),
    async signInB2b(visitor) {
      const start = await visitor.get('/login');
      const callback = await workos.authorize(start.location, { user: demoUsers.personal });
      const done = await visitor.get(callback.href);
      if (done.status !== 303) throw new Error(`Sign-in ended with ${done.status}: ${done.text}`);
    },
    async close() {
      await app.close();
      await provider.close();
    },
  };
}

function addPages(host: Host): void {
  host.get(/\/dashboard/, (_req, res) => sendText(res, 'dashboard'));
  for (const adapter of ['b2b', 'backend'] as const) {
    host.all(`/guard/${adapter}`, requireSession({ adapter }), (req, res, next) => {
      getSession(req, adapter).then((session) => sendJson(res, { user: session?.user }), next);
    });
  }
  // The standard page's guard names no adapter, as it need not with one.
  host.all('/api/me', requireSession({ adapter: 'backend' }), (_req, res) => sendJson(res, {}));
}
