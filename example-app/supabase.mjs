// README's Supabase example with a start page, notes and a page for admins. README.md in this folder says how to run it.
import express from 'express';
import {
  backendAuth,
  currentSession,
  getSession,
  getSupabaseClient,
  requireSameOrigin,
  requireSession,
} from 'express-auth-adapters/backend';
import { html, page } from './page.mjs';

const links = [
  ['/', 'Start'],
  ['/account', 'Account'],
  ['/admin', 'Admin'],
];
const app = express();
app.use(
  backendAuth({ protectedRoutes: '/account(.*)', providers: ['github', 'google'], pages: { title: 'Northwind' } }),
);

app.get('/', async (req, res) => {
  const session = await getSession(req);
  const content =
    session === null
      ? html`<p><a href="/auth/login?returnTo=/account">Sign in</a> or <a href="/auth/signup">create an account</a>.</p>`
      : html`<p>You are signed in as ${session.user.email}.</p>`;
  res.send(page('Welcome', links, content));
});

app.get('/account', async (req, res) => {
  const { user } = currentSession(req);
  const supabase = await getSupabaseClient(req);
  // Row-level security leaves the rows of this user.
  const { data: notes, error } = await supabase.from('notes').select('id, body').order('created_at');
  const list =
    error === null
      ? html`<ul>
          ${notes.map(({ body }) => html`<li>${body}</li>`)}
        </ul>`
      : html`<p>The notes cannot be read right now. You are still signed in.</p>`;
  const content = html`<p>Hello ${user.userMetadata.full_name ?? user.email}</p>
    <h2>Your notes</h2>
    ${list}
    <form method="post" action="/account/notes">
      <input name="body" aria-label="A new note" maxlength="200" required /><button>Add</button>
    </form>
    <h2>Your account</h2>
    <p><a href="/auth/password?returnTo=/account">Change the password</a></p>
    <form method="post" action="/auth/logout"><button>Sign out</button></form>`;
  res.send(page('Account', links, content));
});

app.post('/account/notes', requireSameOrigin, express.urlencoded(), async (req, res) => {
  const supabase = await getSupabaseClient(req);
  const body = String(req.body?.body ?? '').slice(0, 200);
  const { error } = await supabase.from('notes').insert({ body });
  if (error === null) res.redirect(303, '/account');
  else res.status(502).send(page('Not added', links, html`<p>The note was not added. Go back and try again.</p>`));
});

// docs/tasks.md, "Make an admin", says how the role comes there.
const isAdmin = ({ user }) => user.appMetadata.role === 'admin';
app.get('/admin', requireSession({ adapter: 'backend', check: isAdmin }), (_req, res) => {
  res.send(page('Admin', links, html`<p>Only admins see this page.</p>`));
});

app.use('/api', requireSession({ respond: 'json' }));
app.get('/api/me', (req, res) => {
  const { id, email } = currentSession(req).user;
  res.json({ id, email });
});

const port = process.env.PORT ?? 3000;
app.listen(port, () => console.log(`http://localhost:${port}`));
