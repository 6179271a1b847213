import { Router } from 'express';
import { currentSession, endSession, requireSession } from 'express-auth-adapters/backend';
import type { SqlPool } from 'express-auth-adapters/backend';
import type { EventLog } from '../event-log.ts';
import { readNotes } from '../notes.ts';
import { accountPage, billingPage, vaultPage } from '../pages/account.ts';
import { authenticatorPage } from '../pages/authenticator.ts';
import { outboxPage } from '../pages/outbox.ts';
import type { SupabaseLocal } from '../../stand-ins/supabase/index.ts';

/**
 * The pages for users who sign in through Supabase Auth.
 *
 * @param backend the return value of `backendAuth()`
 * @param project the local project; undefined where a real one is used
 * @param log the event log
 * @param pool the database of the notes; undefined where they are read by Supabase's API
 */
export function personalRoutes(
  backend: Router,
  project: SupabaseLocal | undefined,
  log: EventLog,
  pool: SqlPool | undefined,
): Router {
  const routes = Router();
  const guard = requireSession({ adapter: 'backend' });
  const demoApp = project && `${project.url}/demo-app`;

  // Requires a second factor: without one the guard redirects to the page that adds or asks for it.
  routes.get('/account/vault', requireSession({ adapter: 'backend', aal: 'aal2' }), (_req, res) => {
    res.send(vaultPage());
  });

  // Requires a sign-in of the last five minutes: an older one must be repeated.
  routes.get('/account/billing', requireSession({ adapter: 'backend', maxAge: 300 }), (_req, res) => {
    res.send(billingPage());
  });

  // For scripts and other servers: a cookie, or `Authorization: Bearer` with an access token.
  const credentials = ['cookie', 'bearer'] as const;
  routes.get('/api/notes', requireSession({ adapter: 'backend', credentials, respond: 'json' }), (req, res) => {
    const { user, credential } = currentSession(req, 'backend');
    res.json({ user: { id: user.id, email: user.email }, credential });
  });

  // Calls the API like another server that has the user's token.
  routes.post('/account/call-api', guard, async (req, res) => {
    const { accessToken } = currentSession(req, 'backend');
    const api = new URL('/api/notes', `${req.protocol}://${req.get('host') ?? ''}`);
    const answer = await fetch(api, { headers: { authorization: `Bearer ${accessToken}` } });
    res.send(
      accountPage({
        session: currentSession(req, 'backend'),
        notes: await readNotes(req, pool),
        entries: log.list(),
        demoApp,
        api: await answer.text(),
      }),
    );
  });

  routes.post('/account/sign-out-everywhere', guard, async (req, res) => {
    await endSession(backend, { userId: currentSession(req, 'backend').user.id });
    res.redirect(303, '/');
  });

  routes.get(['/account', '/account/*rest'], async (req, res) => {
    const session = currentSession(req, 'backend');
    res.send(accountPage({ session, notes: await readNotes(req, pool), entries: log.list(), demoApp }));
  });

  routes.get('/outbox', (_req, res) => {
    res.set('Cache-Control', 'no-store').send(outboxPage(project?.outbox.list()));
  });

  routes.get('/authenticator', (_req, res) => {
    res.set('Cache-Control', 'no-store').send(authenticatorPage(project?.authenticator()));
  });

  return routes;
}
