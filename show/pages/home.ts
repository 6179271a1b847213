import type { B2bSession, BackendSession, Session } from 'express-auth-adapters/b2b';
import type { LogEntry } from '../event-log.ts';
import type { Lab } from '../lab.ts';
import type { Credentials } from '../../stand-ins/supabase/index.ts';
import { codeBlock, sourceOf } from './code.ts';
import { whatHappened } from './events.ts';
import { html } from './html.ts';
import type { Markup } from './html.ts';
import { labSection } from './lab.ts';
import { page, signOutForm } from './layout.ts';
import { fullName } from './person.ts';

/** One side of the app on the landing page; `unknown`: the provider must be asked, and is unavailable. */
export type Side<S extends Session> = S | null | 'unknown';

export interface HomeParts {
  readonly b2b: Side<B2bSession>;
  readonly isB2bStandIn: boolean;
  readonly backend: Side<BackendSession>;
  /** The local project's account to try; undefined where a real project is used. */
  readonly demo: Credentials | undefined;
  /** Newest first. */
  readonly entries: readonly LogEntry[];
  /** Undefined where a real provider is used. */
  readonly lab: Lab | undefined;
}

export function homePage({ b2b, isB2bStandIn, backend, demo, entries, lab }: HomeParts): string {
  return page({
    title: 'Two ways in, one Express app',
    at: '/',
    lead: html`Eight lines sign people in through <strong>WorkOS</strong>, eight more through <strong>Supabase</strong>. Sessions outlive expired tokens, outages and new keys: try it below.`,
    script: 'home.js',
    content: html`<div class="columns">
${b2bCard(b2b, isB2bStandIn)}
${backendCard(backend, demo)}
</div>
${lab !== undefined && labSection(lab, entries, b2b !== null || backend !== null)}
${whatHappened(entries)}
${protection}
${inside}`,
  });
}

const b2bSource = sourceOf('minimal-b2b.mjs');
const backendSource = sourceOf('minimal-backend.mjs');

const retry = html`<a class="button quiet" href="/">Try again</a>`;

function b2bCard(session: Side<B2bSession>, isStandIn: boolean): Markup {
  const isSignedIn = session !== null && session !== 'unknown';
  return html`<section class="card" aria-labelledby="b2b">
<h2 id="b2b">B2B <span class="by">WorkOS AuthKit</span></h2>
${codeBlock(b2bSource, 'The WorkOS adapter in eight lines')}
${status(session, isSignedIn ? (fullName(session.user) ?? session.user.email) : '')}
<div class="actions">${
    session === 'unknown'
      ? retry
      : isSignedIn
        ? html`<a class="button" href="/dashboard">Open the dashboard</a>${signOutForm('/logout')}`
        : html`<a class="button" href="/login?returnTo=/dashboard">Sign in with WorkOS</a><a class="aside" href="/signup?returnTo=/dashboard">Create an account</a>`
  }</div>
${isStandIn && session === null && html`<p class="note">A local stand-in for WorkOS, without passwords: pick Ada (no organization), Grace (one), Katherine (two) or Margaret (an admin).</p>`}
</section>`;
}

function backendCard(session: Side<BackendSession>, demo: Credentials | undefined): Markup {
  const isSignedIn = session !== null && session !== 'unknown';
  return html`<section class="card" aria-labelledby="backend">
<h2 id="backend">Backend <span class="by">Supabase Auth</span></h2>
${codeBlock(backendSource, 'The Supabase adapter in eight lines')}
${status(session, isSignedIn ? (session.user.email ?? session.user.id) : '')}
<div class="actions">${
    session === 'unknown'
      ? retry
      : isSignedIn
        ? html`<a class="button" href="/account">Open the account</a>${signOutForm('/auth/logout')}`
        : html`<a class="button" href="/auth/login?returnTo=/account">Sign in with Supabase</a><a class="aside" href="/auth/signup?returnTo=/account">Create an account</a>`
  }</div>
${demo !== undefined && session === null && html`<p class="note">A local project: <strong>${demo.email}</strong>, password <strong>${demo.password}</strong>. Emails for a new account are in the <a href="/outbox">outbox</a>.</p>`}
</section>`;
}

function status(session: Side<Session>, name: string): Markup {
  if (session === 'unknown')
    return html`<p class="status warn">The provider is out of reach. Your session is kept.</p>`;
  return session === null
    ? html`<p class="status">Signed out</p>`
    : html`<p class="status good">Signed in as <strong>${name}</strong></p>`;
}

const protection = html`<section aria-labelledby="protected">
<h2 id="protected">What is protected</h2>
<p>Open one of these signed out: you are asked to sign in, and then you are where you wanted to be, query included.</p>
<ul class="tiles">
<li><a href="/dashboard/reports?range=week">/dashboard/reports?range=week</a><span>B2B · <code>protectedRoutes: '/dashboard(.*)'</code></span></li>
<li><a href="/account?from=home">/account?from=home</a><span>Backend · <code>protectedRoutes: '/account(.*)'</code></span></li>
<li><a href="/team">/team</a><span>B2B, in an organization · <code>requireSession({ organization: true })</code></span></li>
<li><a href="/api/me">/api/me</a><span>B2B, for scripts too: <code>requireSession()</code> answers them 401 as JSON</span></li>
<li><a href="/account/vault">/account/vault</a><span>Backend, with a second factor · <code>requireSession({ aal: 'aal2' })</code></span></li>
<li><a href="/neighbor/page?from=home">/neighbor/page?from=home</a><span>Another server, B2B · <code>forwardAuth(b2b)</code> answers its gateway</span></li>
</ul>
</section>`;

const inside = html`<section aria-labelledby="inside">
<h2 id="inside">Look inside</h2>
<ul class="tiles">
<li><a href="/events">Events</a><span>Each step of a sign-in, as it happens</span></li>
<li><a href="/cookies">Cookies</a><span>Which ones you carry, and what each is for</span></li>
<li><a href="/client">Client</a><span>The typed client, at work in your browser</span></li>
<li><a href="/outbox">Outbox</a><span>The emails that a project would have sent</span></li>
<li><a href="/authenticator">Authenticator</a><span>The codes of authenticator apps, without a phone</span></li>
<li><a href="/oauth/apps?returnTo=/">Connected apps</a><span>Agents that you allowed, to disconnect them</span></li>
</ul>
</section>`;
