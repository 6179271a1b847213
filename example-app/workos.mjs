// README's WorkOS example with a start page and pages for members and admins. README.md in this folder says how to run it.
import express from 'express';
import { b2bAuth, currentSession, getSession, requireSession } from 'express-auth-adapters/b2b';
import { html, page } from './page.mjs';

const links = [
  ['/', 'Start'],
  ['/dashboard', 'Dashboard'],
  ['/team', 'Team'],
  ['/admin', 'Admin'],
];
const app = express();
app.use(b2bAuth({ protectedRoutes: '/dashboard(.*)' }));

app.get('/', async (req, res) => {
  const session = await getSession(req);
  const content =
    session === null
      ? html`<p><a href="/login?returnTo=/dashboard">Sign in</a> or <a href="/signup">create an account</a>.</p>`
      : html`<p>You are signed in as ${session.user.email}.</p>`;
  res.send(page('Welcome', links, content));
});

app.get('/dashboard', (req, res) => {
  const { user, organizationId, claims } = currentSession(req);
  const content = html`<p>Hello ${user.firstName ?? user.email} of ${organizationId ?? 'no organization'}</p>
    <p>Your role here: ${claims.role ?? 'none'}</p>
    <form method="post" action="/logout"><button>Sign out</button></form>`;
  res.send(page('Dashboard', links, content));
});

app.get('/team', requireSession({ adapter: 'b2b', organization: true }), (req, res) => {
  res.send(page('Team', links, html`<p>Only members of ${currentSession(req).organizationId} see this page.</p>`));
});

const isAdmin = ({ claims }) => claims.role === 'admin';
app.get('/admin', requireSession({ adapter: 'b2b', organization: true, check: isAdmin }), (_req, res) => {
  res.send(page('Admin', links, html`<p>Only admins of your organization see this page.</p>`));
});

app.use('/api', requireSession({ respond: 'json' }));
app.get('/api/me', (req, res) => {
  const { id, email } = currentSession(req).user;
  res.json({ id, email });
});

const port = process.env.PORT ?? 3000;
app.listen(port, () => console.log(`http://localhost:${port}`));
