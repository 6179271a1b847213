import type { BackendSession, BackendSessionBody } from 'express-auth-adapters/backend';
import { html } from './html.ts';
import type { Markup } from './html.ts';
import { facts, jsonBlock, page, signOutForm } from './layout.ts';
import { personCard } from './person.ts';

export type NotesAnswer =
  | { readonly kind: 'rows'; readonly rows: readonly { readonly id: string; readonly body: string }[] }
  | { readonly kind: 'failed'; readonly reason: string };

export function accountPage({
  session,
  notes,
}: {
  readonly session: BackendSession;
  readonly notes: NotesAnswer;
}): string {
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
${personCard({ name: nameIn(user.userMetadata), email: user.email })}
${facts([
  ['User', html`<code>${user.id}</code>`],
  ['Role', user.role],
  ...(provider === undefined ? [] : ([['Signed in through', provider]] as const)),
])}
<div class="actions">${signOutForm('/auth/logout')}</div>
</section>
<section class="card" aria-labelledby="notes">
<h2 id="notes">Your notes</h2>
<p>Read from the database as you, with <code>getSupabaseClient(req)</code>. The query asks for all rows; row-level security leaves yours.</p>
${notesList(notes)}
</section>
<section class="card wide" aria-labelledby="session">
<h2 id="session">Your session as JSON</h2>
<p>What <a href="/auth/me"><code>GET /auth/me</code></a> answers to this browser, from the verified claims of your access token.</p>
${jsonBlock(body)}
</section>
</div>`,
  });
}

function notesList(notes: NotesAnswer): Markup {
  if (notes.kind === 'failed') {
    return html`<p class="hint">The table could not be read: ${notes.reason}. A real project needs the table of <code>example-app/providers/supabase/notes.ts</code> first.</p>`;
  }
  if (notes.rows.length === 0) return html`<p class="empty">No rows are yours.</p>`;
  return html`<ul class="notes">${notes.rows.map(({ body }) => html`<li>${body}</li>`)}</ul>`;
}

/** User metadata are the user's own to write: text, if anything, and escaped like all text. */
function nameIn({ full_name: fullName, name }: Readonly<Record<string, unknown>>): string | undefined {
  return text(fullName) ?? text(name);
}

function text(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}
