import { Router } from 'express';
import { currentSession, endSession, requireSession } from 'express-auth-adapters/b2b';
import type { EventLog } from '../event-log.ts';
import { dashboardPage, teamPage } from '../pages/dashboard.ts';
import type { Organization } from '../pages/dashboard.ts';

/**
 * The pages for users who sign in through WorkOS.
 *
 * @param b2b the return value of `b2bAuth()`
 * @param organizationsOf the organizations that a user may switch to
 * @param log the event log
 */
export function companyRoutes(
  b2b: Router,
  organizationsOf: (userId: string) => readonly Organization[],
  log: EventLog,
): Router {
  const routes = Router();
  const guard = requireSession({ adapter: 'b2b' });

  // Behind `protectedRoutes`, so there is always a session.
  routes.get(['/dashboard', '/dashboard/*rest'], (req, res) => {
    const session = currentSession(req, 'b2b');
    const organizations = organizationsOf(session.user.id);
    res.send(dashboardPage({ session, organizations, entries: log.list(), requested: req.originalUrl }));
  });

  routes.get('/team', requireSession({ adapter: 'b2b', organization: true }), (req, res) => {
    res.send(teamPage(currentSession(req, 'b2b')));
  });

  routes.get('/api/me', guard, (req, res) => {
    res.json({ user: currentSession(req, 'b2b').user });
  });

  // Ends every session of the user, in all browsers, and with them their WebSockets.
  routes.post('/dashboard/sign-out-everywhere', guard, async (req, res) => {
    await endSession(b2b, { userId: currentSession(req, 'b2b').user.id });
    res.redirect(303, '/');
  });

  return routes;
}
