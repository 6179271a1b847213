import type { AuthEvent } from 'express-auth-adapters/b2b';
import type { LogEntry } from '../event-log.ts';
import { html } from './html.ts';
import type { Markup } from './html.ts';
import { outcome } from './lab.ts';
import { page } from './layout.ts';

export function eventsPage(entries: readonly LogEntry[]): string {
  return page({
    title: 'Events',
    at: '/events',
    lead: 'Each step of every sign-in on this server, newest first: what the adapters report through onEvent, and the requests around it. No token, code or cookie value ever comes here.',
    script: 'events.js',
    content: html`<p class="hint">Leave this page open and sign in in another tab. A real application keeps such a page to its operators.</p>
<div role="log" aria-label="Events"><ol id="log" class="log" reversed>${entries.map((entry) => logRow(entry))}</ol></div>
${entries.length === 0 && html`<p class="empty">Nothing yet. <a href="/login?returnTo=/events">Sign in</a> and come back.</p>`}`,
  });
}

/** The number of steps in the strip: a sign-in has four. */
const steps = 4;

/** The part of the log that other pages show: the last steps, without ids. */
export function whatHappened(entries: readonly LogEntry[]): Markup | false {
  const latest = entries.filter(({ kind }) => kind !== 'experiment').slice(0, steps);
  if (latest.length === 0) return false;
  return html`<section aria-labelledby="happened">
<div class="heading"><h2 id="happened">What just happened</h2><a href="/events">All events</a></div>
<ol class="log" reversed>${latest.map((entry) => logRow(entry, false))}</ol>
</section>`;
}

function logRow(entry: LogEntry, hasDetails = true): Markup {
  const time = html`<time datetime="${entry.at.toISOString()}">${entry.at.toLocaleTimeString('en-GB')}</time>`;
  if (entry.kind === 'event') {
    const { type, adapter, ...details } = entry.event;
    return html`<li id="entry-${entry.id}" class="event">${time}<div><strong>${type}</strong> <span class="kind">${adapter}</span>
<p>${meaningOf[type]}</p>${hasDetails && Object.entries(details).map(([name, value]) => html`<code>${name}: ${valueText(value)}</code> `)}</div></li>`;
  }
  if (entry.kind === 'experiment') {
    return html`<li id="entry-${entry.id}" class="event">${time}${outcome(entry.experiment)}</li>`;
  }
  const { method, path, status, location, cookies } = entry.step;
  return html`<li id="entry-${entry.id}">${time}<div><code>${method} ${path}</code> → ${status}${location !== undefined && html` to <code>${location}</code>`}
${cookies.map(({ name, isCleared }) => html`<p class="soft">${isCleared ? 'clears' : 'sets'} the cookie <code>${name}</code></p>`)}</div></li>`;
}

function valueText(value: unknown): string {
  return Array.isArray(value) ? value.join(', ') : String(value);
}

const meaningOf: Readonly<Record<AuthEvent['type'], string>> = {
  signed_in: 'A user signed in: the code was exchanged, the token verified, the session stored.',
  signed_out: 'A user signed out; no copy of the session is good here any more.',
  session_refreshed: 'The access token had expired; a new one was fetched, once for all requests that waited.',
  session_ended: 'The provider ended the session for good, so its cookie was cleared.',
  refresh_failed: 'The provider could not be asked. The session is kept.',
  refresh_skipped: 'A refresh was due, but the response was already on its way; no token was spent.',
  sign_in_failed: 'A sign-in did not work out.',
  consent_given: 'A user allowed what another app asked for.',
  consent_denied: 'A user denied what another app asked for.',
  grant_revoked: 'A user disconnected an app, and its tokens are over.',
  mail_failed: 'The email of a sign-up was not sent; the visitor was told the same as everyone.',
  cookie_lost: 'A cookie came too late: the response was already on its way.',
  session_rejected: 'A session cookie gave no session. It stays, unless it held a session of this app that has ended.',
  session_large: 'The session takes more than 8 KB of cookies.',
  session_too_large: 'The session takes more than 12 KB of cookies, so it was not stored.',
  revocation_failed: 'A session was ended here, but WorkOS could not be told.',
  keys_unavailable: 'The provider’s signing keys could not be fetched.',
  coordinator_unavailable: 'The shared coordinator is out of reach; this process coordinates for itself.',
  coordinator_recovered: 'The shared coordinator is in reach again.',
  hook_failed: 'A hook of the application failed; the sign-out went on.',
  throttled: 'Too many failed attempts: further ones have to wait.',
  configuration_warning: 'Something in the configuration deserves a look.',
};
