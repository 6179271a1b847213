import type { AuthenticatorCode } from '../../stand-ins/supabase/index.ts';
import { html } from './html.ts';
import { page } from './layout.ts';

/** @param codes undefined where a real project is used */
export function authenticatorPage(codes: readonly AuthenticatorCode[] | undefined): string {
  return page({
    title: 'Authenticator',
    at: '/authenticator',
    lead: 'What an authenticator app on a phone would show, so that you can try a second factor without one.',
    content:
      codes === undefined
        ? html`<p class="empty">This app runs against a real Supabase project. Use an authenticator app on your phone.</p>`
        : codes.length === 0
          ? html`<p class="empty">No authenticator app is set up yet. <a href="/auth/enroll?returnTo=/account">Set one up</a>, then come back for its code.</p>`
          : html`<ul class="cards">${codes.map(
              ({ email, name, code, secondsLeft }) => html`<li class="card"><p class="soft">${email} · ${name}</p>
<h2><code>${code}</code></h2>
<p>Good for ${secondsLeft} seconds. <a href="/authenticator">Show the next one</a></p></li>`,
            )}</ul>`,
  });
}
