import type { B2bSession, BackendSession, Session } from 'express-auth-adapters/b2b';
import type { Credentials } from '../providers/supabase/index.ts';
import { html } from './html.ts';
import type { Markup } from './html.ts';
import { page, signOutForm } from './layout.ts';
import { fullName } from './person.ts';

/** One side of the app as the landing page shows it; `unknown`: the provider would have to be asked and is out of reach. */
export type Side<S extends Session> = S | null | 'unknown';

export interface HomeParts {
  readonly b2b: Side<B2bSession>;
  readonly isB2bStandIn: boolean;
  readonly backend: Side<BackendSession>;
  /** The local project's account to try; undefined where a real project is used. */
  readonly demo: Credentials | undefined;
}

export function homePage({ b2b, isB2bStandIn, backend, demo }: HomeParts): string {
  return page({
    title: 'Two ways in, one Express app',
    at: '/',
    lead: html`This app mounts both adapters of <code>express-auth-adapters</code>. Sign in through either, or through both at once: each keeps a session of its own.`,
    content: html`<div class="columns">
${b2bCard(b2b, isB2bStandIn)}
${backendCard(backend, demo)}
</div>
${protection}
${inside}`,
  });
}

function b2bCard(session: Side<B2bSession>, isStandIn: boolean): Markup {
  const isSignedIn = session !== null && session !== 'unknown';
  return html`<section class="card" aria-labelledby="b2b">
<p class="kind">${isStandIn ? 'Local stand-in' : 'Live'}</p>
<h2 id="b2b">B2B · WorkOS AuthKit</h2>
<p>You sign in on the provider’s own pages and come back with a sealed session cookie, personal or for one of your organizations.</p>
${status(session, isSignedIn ? (fullName(session.user) ?? session.user.email) : '')}
${isStandIn && !isSignedIn && html`<p class="hint">The stand-in asks for no password: pick <strong>Ada</strong> (no organization), <strong>Grace</strong> (one) or <strong>Katherine</strong> (two).</p>`}
<div class="actions">${
    isSignedIn
      ? html`<a class="button" href="/dashboard">Open the dashboard</a>${signOutForm('/logout')}`
      : html`<a class="button" href="/login?returnTo=/dashboard">Sign in</a><a class="button quiet" href="/signup?returnTo=/dashboard">Create an account</a>`
  }</div>
</section>`;
}

function backendCard(session: Side<BackendSession>, demo: Credentials | undefined): Markup {
  const isSignedIn = session !== null && session !== 'unknown';
  return html`<section class="card" aria-labelledby="backend">
<p class="kind">${demo === undefined ? 'Live' : 'Local project'}</p>
<h2 id="backend">Backend · Supabase Auth</h2>
<p>You sign in right here, with email and password or through GitHub, and the database answers to you as yourself.</p>
${status(session, isSignedIn ? (session.user.email ?? session.user.id) : '')}
${demo !== undefined && !isSignedIn && html`<p class="hint">Try <strong>${demo.email}</strong> with the password <strong>${demo.password}</strong>, or a new account: its email goes to the <a href="/outbox">outbox</a>.</p>`}
<div class="actions">${
    isSignedIn
      ? html`<a class="button" href="/account">Open the account</a>${signOutForm('/auth/logout')}`
      : html`<a class="button" href="/auth/login?returnTo=/account">Sign in</a><a class="button quiet" href="/auth/signup?returnTo=/account">Create an account</a><a class="button quiet" href="/auth/login?provider=github&amp;returnTo=/account">Continue with GitHub</a>`
  }</div>
</section>`;
}

function status(session: Side<Session>, name: string): Markup {
  if (session === 'unknown')
    return html`<p class="status">The provider is out of reach; signed-in users stay signed in.</p>`;
  return session === null
    ? html`<p class="status">Signed out</p>`
    : html`<p class="status good">Signed in as <strong>${name}</strong></p>`;
}

const protection = html`<section aria-labelledby="protected">
<h2 id="protected">What is protected</h2>
<p>Follow any of these signed out: you are asked to sign in, and then you are where you wanted to be, query included.</p>
<ul class="tiles">
<li><a href="/dashboard/reports?range=week">/dashboard/reports?range=week</a><span>B2B · <code>protectedRoutes: '/dashboard(.*)'</code></span></li>
<li><a href="/account?from=home">/account?from=home</a><span>Backend · <code>protectedRoutes: '/account(.*)'</code></span></li>
<li><a href="/team">/team</a><span>B2B, in an organization · <code>requireSession({ organization: true })</code></span></li>
<li><a href="/api/me">/api/me</a><span>B2B, for scripts too: <code>requireSession()</code> answers them 401 as JSON</span></li>
</ul>
</section>`;

const inside = html`<section aria-labelledby="inside">
<h2 id="inside">Look inside</h2>
<ul class="tiles">
<li><a href="/events">Events</a><span>Each step of a sign-in, as it happens</span></li>
<li><a href="/cookies">Cookies</a><span>Which ones you carry, and what each is for</span></li>
<li><a href="/client">Client</a><span>The typed client, at work in your browser</span></li>
<li><a href="/outbox">Outbox</a><span>The emails that a project would have sent</span></li>
</ul>
</section>`;
