import type { BackendSession, BackendSessionBody } from 'express-auth-adapters/backend';
import type { LogEntry } from '../event-log.ts';
import type { NotesAnswer } from '../notes.ts';
import { whatHappened } from './events.ts';
import { html } from './html.ts';
import type { Markup } from './html.ts';
import { facts, jsonBlock, page, signOutForm } from './layout.ts';
import { personCard } from './person.ts';

export interface AccountParts {
  readonly session: BackendSession;
  readonly notes: NotesAnswer;
  /** Newest first. */
  readonly entries: readonly LogEntry[];
  /** Where a demo app starts that asks for this account; undefined where a real project is used. */
  readonly demoApp: string | undefined;
  /** The API's response to the bearer token. */
  readonly api?: string;
}

export function accountPage({ session, notes, entries, demoApp, api }: AccountParts): string {
  const { user } = session;
  const provider = text(user.appMetadata['provider']);
  const body: BackendSessionBody = { authenticated: true, user };
  return page({
    title: 'Account',
    at: '/account',
    lead: html`You came through Supabase Auth. Only signed-in people see this page: it matches <code>protectedRoutes: '/account(.*)'</code>.`,
    content: html`<div class="columns">
<section class="card" aria-labelledby="who">
<h2 id="who">Who you are</h2>
${personCard({ name: nameIn(user.userMetadata), email: user.email, pictureUrl: text(user.userMetadata['avatar_url']) })}
${facts([
  ['User', html`<code>${user.id}</code>`],
  ['Role', user.role],
  ...(provider === undefined ? [] : ([['Signed in through', provider]] as const)),
])}
<div class="actions">${signOutForm('/auth/logout')}${signOutForm('/account/sign-out-everywhere', 'Sign out everywhere')}</div>
</section>
<section class="card" aria-labelledby="security">
<h2 id="security">Your account</h2>
<ul class="links">
<li><a href="/auth/password?returnTo=/account">Change the password</a></li>
<li><a href="/auth/enroll?returnTo=/account">Authenticator apps</a> (the <a href="/authenticator">authenticator</a> of the tour shows their codes)</li>
<li><a href="/oauth/apps?returnTo=/account">Connected apps</a>${demoApp !== undefined && html` (<a href="${demoApp}">let a demo app ask for your account</a>)`}: agents that you allow use the tools of the MCP server at <code>/mcp</code></li>
<li><a href="/account/vault">A page that needs a second factor</a></li>
<li><a href="/account/billing">A page that needs a sign-in of the last five minutes</a></li>
</ul>
<form method="post" action="/account/call-api"><button class="quiet">Call the API with a bearer token</button></form>
${api !== undefined && html`<pre><code>${api}</code></pre>`}
</section>
<section class="card wide" aria-labelledby="notes">
<h2 id="notes">Your notes</h2>
<p>Read from the database as you, with <code>${notes.through}</code>. The query asks for all rows; row-level security leaves yours.</p>
${notesList(notes)}
</section>
<section class="card wide" aria-labelledby="session">
<h2 id="session">Your session as JSON</h2>
<p>What <a href="/auth/me"><code>GET /auth/me</code></a> answers to this browser, from the verified claims of your access token.</p>
${jsonBlock(body)}
</section>
</div>
${whatHappened(entries)}`,
  });
}

/** Behind `requireSession({ aal: 'aal2' })`. */
export function vaultPage(): string {
  return page({
    title: 'Vault',
    lead: html`You signed in with a second factor: <code>requireSession({ adapter: 'backend', aal: 'aal2' })</code>.`,
    content: html`<div class="actions"><a class="button" href="/account">Back to the account</a></div>`,
  });
}

/** Behind `requireSession({ maxAge: 300 })`. */
export function billingPage(): string {
  return page({
    title: 'Billing',
    lead: html`You signed in within the last five minutes: <code>requireSession({ adapter: 'backend', maxAge: 300 })</code>.`,
    content: html`<div class="actions"><a class="button" href="/account">Back to the account</a></div>`,
  });
}

function notesList(notes: NotesAnswer): Markup {
  if (notes.kind === 'failed') {
    return notes.reason === 'no table'
      ? html`<p class="hint">The project has no table <code>notes</code>. <code>show/README.md</code> has the SQL that creates it.</p>`
      : html`<p class="hint">The notes could not be read, and the terminal says why. You are still signed in.</p>`;
  }
  if (notes.rows.length === 0) return html`<p class="empty">No rows are yours.</p>`;
  return html`<ul class="notes">${notes.rows.map(({ body }) => html`<li>${body}</li>`)}</ul>`;
}

/** Users can write their own user metadata: it may not be text, and it is escaped like all text. */
function nameIn({ full_name: fullName, name }: Readonly<Record<string, unknown>>): string | undefined {
  return text(fullName) ?? text(name);
}

function text(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}
