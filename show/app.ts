import express from 'express';
import type { ErrorRequestHandler, Express, Router } from 'express';
import { AuthError, b2bAuth, forwardAuth, getSession } from 'express-auth-adapters/b2b';
import type { AdapterName, OnEvent, SessionOf } from 'express-auth-adapters/b2b';
import { backendAuth, protectResource } from 'express-auth-adapters/backend';
import type { SqlPool } from 'express-auth-adapters/backend';
import type { IncomingMessage } from 'node:http';
import { createEventLog } from './event-log.ts';
import { createLab } from './lab.ts';
import { mcpServer } from './mcp.ts';
import { clientPage } from './pages/client.ts';
import { homePage } from './pages/home.ts';
import type { Side } from './pages/home.ts';
import { problemPage } from './pages/problem.ts';
import type { Providers } from '../stand-ins/providers.ts';
import { requestTrail } from './request-trail.ts';
import { companyRoutes } from './routes/company.ts';
import { cookieRoutes } from './routes/cookies.ts';
import { eventRoutes } from './routes/events.ts';
import { labRoutes } from './routes/lab.ts';
import { personalRoutes } from './routes/personal.ts';
import { securityHeaders } from './security-headers.ts';

export interface AppParts {
  readonly providers: Providers;
  /** The folder with the typed client's modules, for the browser. */
  readonly clientModules: string;
  /** The database of the notes; undefined where they are read by Supabase's API. */
  readonly notes?: SqlPool | undefined;
}

/** The whole application, ready to serve, and its WorkOS adapter for the WebSockets. */
export function createApp({ providers, clientModules, notes }: AppParts): {
  readonly app: Express;
  readonly b2b: Router;
} {
  const log = createEventLog();
  const app = express();
  app.disable('x-powered-by');
  const pictures = [providers.workos?.url ?? [], providers.supabase?.url ?? []].flat();
  app.use(securityHeaders({ formTargets: [providers.b2bOrigin], pictures }));
  app.use('/assets/client', express.static(clientModules));
  app.use('/assets', express.static(`${import.meta.dirname}/public`));
  app.get('/favicon.ico', (_req, res) => res.redirect(301, '/assets/favicon.svg'));
  app.use(requestTrail(log));

  // These lines contain all of the sign-in setup.
  const onEvent: OnEvent = (event) => log.addEvent(event);
  const pages = { title: 'the tour', logo: '/assets/favicon.svg' };
  const b2b = b2bAuth({ ...providers.b2bOptions, protectedRoutes: '/dashboard(.*)', pages, onEvent });
  const backend = backendAuth({
    ...providers.backendOptions,
    protectedRoutes: '/account(.*)',
    providers: ['github'],
    signInMethods: ['password', 'code', 'passkey'],
    sso: true,
    oauthConsent: true,
    // Both adapters default to /auth/session, which the other one uses.
    sessionPath: '/auth/me',
    pages,
    onEvent,
  });
  app.use(b2b);
  app.use(backend);
  // The gateway asks here who is signed in.
  app.use('/auth/forward', forwardAuth(b2b));

  // Agents reach two tools as the person who allowed them: an MCP server behind the same sign-in.
  app.use(protectResource(backend, { path: '/mcp', clients: 'any', audience: 'authenticated' }));
  app.use(mcpServer('/mcp', notes));

  // Buttons that make the local stand-ins fail; absent with a real provider.
  const lab = createLab(providers, log);
  if (lab !== undefined) app.use(labRoutes(lab));

  app.get('/', async (req, res) => {
    const [b2b, backend] = await Promise.all([sideOf(req, 'b2b'), sideOf(req, 'backend')]);
    const { workos, supabase } = providers;
    const sides = { b2b, isB2bStandIn: workos !== undefined, backend, demo: supabase?.demo };
    res.send(homePage({ ...sides, entries: log.list(), lab }));
  });
  app.use(companyRoutes(b2b, (userId) => providers.workos?.users.get(userId)?.organizations ?? [], log));
  app.use(personalRoutes(backend, providers.supabase, log, notes));

  app.use(cookieRoutes());
  app.get('/client', (_req, res) => res.send(clientPage(providers.supabase?.demo)));
  app.use(eventRoutes(log));

  app.use((_req, res) => {
    res.status(404).send(problemPage('There is nothing here', 'No page has this address.'));
  });
  app.use(reportFailure);
  return { app, b2b };
}

/** A provider's outage must not break a public page. */
async function sideOf<A extends AdapterName>(req: IncomingMessage, adapter: A): Promise<Side<SessionOf<A>>> {
  try {
    return await getSession<A>(req, adapter);
  } catch (error) {
    if (error instanceof AuthError) return 'unknown';
    throw error;
  }
}

// Express recognizes an error handler by its four parameters.
const reportFailure: ErrorRequestHandler = (error: unknown, _req, res, next) => {
  if (res.headersSent) {
    next(error);
    return;
  }
  const isKnown = error instanceof AuthError;
  if (!isKnown) console.error(error);
  res
    .status(isKnown ? error.status : 500)
    .send(problemPage('That did not work', isKnown ? error.message : 'The server’s log says more.'));
};
