import type { Router } from 'express';
import { authInfo, b2bAuth, backendAuth, currentSession, getSession, protectResource } from '../../lib/index.ts';
import type { AdapterName, AuthEvent, B2bAuthOptions, BackendAuthOptions } from '../../lib/index.ts';
import type { ProtectResourceOptions } from '../../lib/every-entry.ts';
import { createB2bTestKit, createBackendTestKit } from '../../lib/testing/index.ts';
import type { B2bTestKit, BackendTestKit } from '../../lib/testing/index.ts';
import { createClock } from './clock.ts';
import type { Clock } from './clock.ts';
import { hosts, sendJson } from './hosts.ts';
import type { Host } from './hosts.ts';
import { serve } from './servers.ts';
import type { RunningServer } from './servers.ts';
import type { HostName } from './variant.ts';
import { createVisitor } from './visitor.ts';
import type { Answer, Ask, Visitor } from './visitor.ts';

export const adapters = ['b2b', 'backend'] as const;

export type Kits = Readonly<{ b2b: B2bTestKit; backend: BackendTestKit }>;

export interface ResourceApp extends RunningServer {
  readonly kits: Kits;
  readonly auths: Readonly<Record<AdapterName, Router>>;
  readonly clock: Clock;
  readonly events: AuthEvent[];
  /** What each adapter's resource is called. */
  readonly identifiers: Readonly<Record<AdapterName, string>>;
  visitor(): Visitor;
  /** Asks one adapter's resource with a token. */
  call(adapter: AdapterName, authorization?: string, ask?: Ask): Promise<Answer>;
}

export interface ResourceAppSetup {
  readonly host?: HostName;
  readonly b2b?: B2bAuthOptions;
  readonly backend?: BackendAuthOptions;
  /** What differs from the defaults; the backend's takes all clients and no special audience. */
  readonly resources?: Partial<Readonly<Record<AdapterName, Partial<ProtectResourceOptions>>>>;
  /** Where the adapters are mounted; default: behind the resources. */
  readonly adapters?: 'before' | 'after' | 'never';
  /** Below which path the adapters are. */
  readonly prefix?: string;
  readonly front?: (host: Host) => unknown;
}

export const paths = { b2b: '/mcp', backend: '/tools/mcp' } as const;

/**
 * Both adapters in one application, each with a protected resource that says who calls. It is alone at its origin, whatever the run's
 * variant is, because metadata is at the origin's root.
 */
export async function startResourceApp(setup: ResourceAppSetup = {}): Promise<ResourceApp> {
  const { host: name = 'Express 5', prefix = '/', resources = {}, adapters: order = 'after' } = setup;
  const clock = createClock();
  const kits = { b2b: createB2bTestKit({ now: clock.now }), backend: createBackendTestKit({ now: clock.now }) };
  const events: AuthEvent[] = [];
  const onEvent = (event: AuthEvent): void => void events.push(event);
  const auths = {
    b2b: b2bAuth({ ...kits.b2b.options, sessionPath: '/b2b/session', onEvent, ...setup.b2b }),
    backend: backendAuth({ ...kits.backend.options, onEvent, ...setup.backend }),
  };
  const host = hosts[name]();
  setup.front?.(host);
  const mount = (): void => {
    for (const adapter of adapters) host.use(prefix, auths[adapter]);
  };
  if (order === 'before') mount();
  for (const adapter of adapters) {
    const needed = adapter === 'backend' ? { clients: 'any' as const, audience: 'authenticated' } : {};
    host.use(protectResource(auths[adapter], { path: paths[adapter], ...needed, ...resources[adapter] }) as never);
  }
  if (order === 'after') mount();
  for (const adapter of adapters) {
    host.use(paths[adapter], (req, res, next) => {
      const session = currentSession(req, adapter);
      const { user, credential } = session;
      const { auth } = req as { auth?: unknown };
      const said = { adapter, user, credential, info: authInfo(req), ...(auth === undefined ? {} : { auth }) };
      getSession(req, adapter).then((found) => sendJson(res, { ...said, isSame: found === session }), next);
    });
  }
  host.use((_req, res) => sendJson(res, { public: true }));
  host.onError((error, _req, res) => sendJson(res, { thrown: String(error) }, 500));
  const server = await serve(host.listener);
  const { origin } = server;
  const visitor = (): Visitor => createVisitor(origin);
  return {
    ...server,
    kits,
    auths,
    clock,
    events,
    identifiers: { b2b: origin + paths.b2b, backend: origin + paths.backend },
    visitor,
    call(adapter, authorization, ask = {}) {
      const headers = { ...(authorization === undefined ? {} : { authorization }), ...ask.headers };
      return visitor().ask(paths[adapter], { ...ask, headers });
    },
  };
}
