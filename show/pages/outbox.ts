import type { Mail } from '../../stand-ins/supabase/index.ts';
import { html } from './html.ts';
import type { Markup } from './html.ts';
import { page } from './layout.ts';

/** @param mails newest first; undefined where a real project sends them itself */
export function outboxPage(mails: readonly Mail[] | undefined): string {
  return page({
    title: 'Outbox',
    at: '/outbox',
    lead: 'The emails that a real project would have sent. Here they stay on this machine, for you to open.',
    content:
      mails === undefined
        ? html`<p class="empty">This app runs against a real Supabase project, which sends its emails itself.</p>`
        : mails.length === 0
          ? html`<p class="empty">No emails yet. <a href="/auth/signup?returnTo=/account">Create an account</a> on the Supabase side to get one.</p>`
          : html`<ul class="cards">${mails.map(mailCard)}</ul>`,
  });
}

function mailCard({ to, subject, text, link, sentAt }: Mail): Markup {
  return html`<li class="card mail"><p class="soft">To ${to} · <time datetime="${sentAt.toISOString()}">${sentAt.toLocaleTimeString('en-GB')}</time></p>
<h2>${subject}</h2>
${text
  .split('\n')
  .filter((paragraph) => paragraph !== subject)
  .map((paragraph) => html`<p>${paragraph}</p>`)}
<div class="actions"><a class="button" href="${link}">Open the email’s link</a></div></li>`;
}
