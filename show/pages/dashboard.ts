import type { B2bSession, B2bSessionBody } from 'express-auth-adapters/b2b';
import type { LogEntry } from '../event-log.ts';
import { whatHappened } from './events.ts';
import { html } from './html.ts';
import type { Markup } from './html.ts';
import { facts, jsonBlock, page, signOutForm } from './layout.ts';
import { fullName, personCard } from './person.ts';

/** An organization that the user belongs to. */
export interface Organization {
  readonly id: string;
  readonly name: string;
}

export interface DashboardParts {
  readonly session: B2bSession;
  readonly organizations: readonly Organization[];
  /** Newest first. */
  readonly entries: readonly LogEntry[];
  /** The address that the visitor requested. */
  readonly requested: string;
}

export function dashboardPage({ session, organizations, entries, requested }: DashboardParts): string {
  const { user, sessionId, organizationId, impersonator, expiresAt } = session;
  return page({
    title: 'Dashboard',
    at: '/dashboard',
    script: 'live.js',
    lead: html`You came through WorkOS AuthKit. Only signed-in people see this page: it matches <code>protectedRoutes: '/dashboard(.*)'</code>.`,
    content: html`<div class="columns">
<section class="card" aria-labelledby="who">
<h2 id="who">Who you are</h2>
${personCard({ name: fullName(user), email: user.email, pictureUrl: user.profilePictureUrl })}
${facts([
  ['You asked for', html`<code>${requested}</code>`],
  ['User', html`<code>${user.id}</code>`],
  ['Session', sessionId === undefined ? undefined : html`<code>${sessionId}</code>`],
  ['Organization', organizationId === undefined ? 'none: a personal session' : html`<code>${organizationId}</code>`],
  ...(impersonator === undefined ? [] : ([['Impersonated by', impersonator.email]] as const)),
  [
    'Access token good until',
    html`<time datetime="${new Date(expiresAt).toISOString()}">${clockTime(expiresAt)}</time>, then renewed without you`,
  ],
])}
<div class="actions"><a class="button" href="/team">Organization area</a>${signOutForm('/logout')}${signOutForm('/dashboard/sign-out-everywhere', 'Sign out everywhere')}</div>
</section>
<section class="card" aria-labelledby="organizations">
<h2 id="organizations">Switch organization</h2>
<p>One POST to <code>/organization</code>: no new sign-in, one call for all requests that are under way.</p>
${switcher(organizations, organizationId)}
<h2>Live</h2>
<p>A WebSocket that ends with your session: <strong id="live" role="status">needs JavaScript</strong></p>
</section>
<section class="card wide" aria-labelledby="session">
<h2 id="session">Your session as JSON</h2>
<p>What <a href="/auth/session"><code>GET /auth/session</code></a> answers to this browser. The tokens stay in the sealed cookie.</p>
${jsonBlock(sessionBody(session))}
</section>
</div>
${whatHappened(entries)}`,
  });
}

function switcher(organizations: readonly Organization[], current: string | undefined): Markup {
  const others = organizations.filter(({ id }) => id !== current);
  if (others.length === 0)
    return html`<p class="empty">There is no other organization to switch to. Katherine has two.</p>`;
  return html`${others.map(
    ({
      id,
      name,
    }) => html`<form method="post" action="/organization"><input type="hidden" name="returnTo" value="/dashboard">
<button class="quiet" name="organizationId" value="${id}">Switch to ${name}</button></form>`,
  )}`;
}

export function teamPage({ user, organizationId }: B2bSession): string {
  return page({
    title: 'Organization area',
    lead: html`This page asks for more than a session: <code>requireSession({ adapter: 'b2b', organization: true })</code>. With a personal session it answers 403.`,
    content: html`<section class="card narrow">
${personCard({ name: fullName(user), email: user.email, pictureUrl: user.profilePictureUrl })}
${facts([['Works in', html`<code>${organizationId}</code>`]])}
<p>The organization’s id is the tenant: what an application keeps for it goes under this key.</p>
<div class="actions"><a class="button" href="/dashboard">Back to the dashboard</a></div>
</section>`,
  });
}

function sessionBody({ sessionId, organizationId, user }: B2bSession): B2bSessionBody {
  return {
    authenticated: true,
    ...(sessionId === undefined ? {} : { sessionId }),
    ...(organizationId === undefined ? {} : { organizationId }),
    user,
  };
}

function clockTime(milliseconds: number): string {
  return new Date(milliseconds).toLocaleTimeString('en-GB', { hour: '2-digit', minute: '2-digit', second: '2-digit' });
}
