import cookieParser from 'cookie-parser';
import express from 'express';
import type { ErrorRequestHandler, Express } from 'express';
import { AuthError, b2bAuth, currentSession, getSession, requireSession } from 'express-auth-adapters/b2b';
import type { AdapterName, OnEvent, SessionOf } from 'express-auth-adapters/b2b';
import { backendAuth, getSupabaseClient } from 'express-auth-adapters/backend';
import type { IncomingMessage } from 'node:http';
import { createEventLog } from './event-log.ts';
import type { NotesDatabase } from './notes-database.ts';
import { accountPage } from './pages/account.ts';
import type { NotesAnswer } from './pages/account.ts';
import { clientPage } from './pages/client.ts';
import { cookiesPage } from './pages/cookies.ts';
import { dashboardPage, teamPage } from './pages/dashboard.ts';
import { eventsPage } from './pages/events.ts';
import { homePage } from './pages/home.ts';
import type { Side } from './pages/home.ts';
import { outboxPage } from './pages/outbox.ts';
import { problemPage } from './pages/problem.ts';
import type { Providers } from './providers.ts';
import { requestTrail } from './request-trail.ts';
import { securityHeaders } from './security-headers.ts';

export interface AppParts {
  readonly providers: Providers;
  /** The folder with the typed client's modules, for the browser. */
  readonly clientModules: string;
}

/** The whole application, ready to be served. */
export function createApp({ providers, clientModules }: AppParts): Express {
  const log = createEventLog();
  const app = express();
  app.disable('x-powered-by');
  app.use(securityHeaders({ formTargets: [providers.b2bOrigin] }));
  app.use('/assets/client', express.static(clientModules));
  app.use('/assets', express.static(`${import.meta.dirname}/public`));
  app.get('/favicon.ico', (_req, res) => res.redirect(301, '/assets/favicon.svg'));
  app.use(requestTrail(log));

  // Everything that signs in is in these lines.
  const onEvent: OnEvent = (event) => log.addEvent(event);
  app.use(b2bAuth({ ...providers.b2bOptions, protectedRoutes: '/dashboard(.*)', onEvent }));
  app.use(
    backendAuth({
      ...providers.backendOptions,
      protectedRoutes: '/account(.*)',
      providers: ['github'],
      // Both adapters' default is /auth/session, which is taken.
      sessionPath: '/auth/me',
      pages: { title: 'Example app', logo: '/assets/favicon.svg' },
      onEvent,
    }),
  );

  app.get('/', async (req, res) => {
    const [b2b, backend] = await Promise.all([sideOf(req, 'b2b'), sideOf(req, 'backend')]);
    res.send(homePage({ b2b, isB2bStandIn: providers.workos !== undefined, backend, demo: providers.supabase?.demo }));
  });
  app.get(['/dashboard', '/dashboard/*rest'], (req, res) => {
    res.send(dashboardPage({ session: currentSession(req, 'b2b'), requested: req.originalUrl }));
  });
  app.get('/team', requireSession({ adapter: 'b2b', organization: true }), (req, res) => {
    res.send(teamPage(currentSession(req, 'b2b')));
  });
  app.get('/api/me', requireSession({ adapter: 'b2b' }), (req, res) => {
    res.json({ user: currentSession(req, 'b2b').user });
  });

  app.get(['/account', '/account/*rest'], async (req, res) => {
    res.send(accountPage({ session: currentSession(req, 'backend'), notes: await readNotes(req) }));
  });
  app.get('/outbox', (_req, res) => {
    res.set('Cache-Control', 'no-store').send(outboxPage(providers.supabase?.outbox.list()));
  });

  app.get('/cookies', cookieParser(), (req, res) => {
    const cookies = Object.entries(req.cookies as Readonly<Record<string, unknown>>);
    const present = cookies.map(([name, value]) => ({ name, bytes: Buffer.byteLength(`${name}=${String(value)}`) }));
    res.set('Cache-Control', 'private, no-store').send(cookiesPage(present));
  });
  app.get('/client', (_req, res) => res.send(clientPage(providers.supabase?.demo)));
  app.get('/events', (_req, res) => res.set('Cache-Control', 'no-store').send(eventsPage(log.list())));
  app.get('/events/stream', (_req, res) => {
    res.set({ 'Content-Type': 'text/event-stream', 'Cache-Control': 'no-store' }).flushHeaders();
    res.on(
      'close',
      log.subscribe(({ id }) => void res.write(`data: ${id}\n\n`)),
    );
  });

  app.use((_req, res) => {
    res.status(404).send(problemPage('There is nothing here', 'No page has this address.'));
  });
  app.use(reportFailure);
  return app;
}

/** No `where user_id = …`: row-level security leaves nothing but the visitor's own rows. */
async function readNotes(req: IncomingMessage): Promise<NotesAnswer> {
  const supabase = await getSupabaseClient<NotesDatabase>(req);
  const { data, error } = await supabase.from('notes').select('id, body').order('created_at');
  return error === null ? { kind: 'rows', rows: data } : { kind: 'failed', reason: error.message };
}

/** An outage of the provider is no reason for a public page to fail. */
async function sideOf<A extends AdapterName>(req: IncomingMessage, adapter: A): Promise<Side<SessionOf<A>>> {
  try {
    return await getSession<A>(req, adapter);
  } catch (error) {
    if (error instanceof AuthError) return 'unknown';
    throw error;
  }
}

// Express knows an error handler by its four parameters.
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
