import { html } from './html.ts';
import type { Markup } from './html.ts';
import { page } from './layout.ts';

export interface PresentCookie {
  readonly name: string;
  /** Name and value, in bytes. */
  readonly bytes: number;
}

interface CookieKind {
  readonly pattern: RegExp;
  readonly name: string;
  readonly adapter: string;
  readonly what: string;
  readonly life: string;
}

/** In order: the first matching pattern explains a cookie. */
const kinds: readonly CookieKind[] = [
  {
    pattern: /^(?:__Host-)?b2b-session-flow-[0-9a-f]+$/,
    name: 'b2b-session-flow-…',
    adapter: 'B2B',
    what: 'One sign-in that is under way: state, PKCE verifier and the page to come back to, sealed. Each tab has its own.',
    life: '10 minutes, or until the callback',
  },
  {
    pattern: /^b2b-session(?:\.\d+)?$/,
    name: 'b2b-session',
    adapter: 'B2B',
    what: 'The session: access token, refresh token and user, sealed (encrypted and signed) so that only this server can open it. In pieces (.0, .1) when it is over 4 KB.',
    life: 'up to 400 days; the session inside may end sooner',
  },
  {
    pattern: /^(?:__Host-)?sb-.+-auth-token(?:-flows?(?:-.+)?)?-(?:code-verifier|state)$/,
    name: 'sb-…-auth-token-flow-…',
    adapter: 'Backend',
    what: 'One sign-in through a provider or an email that is in progress: PKCE verifiers, which ones are open, and the page to come back to.',
    life: '10 minutes, or until the callback',
  },
  {
    pattern: /^sb-.+-auth-token(?:\.\d+)?$/,
    name: 'sb-…-auth-token',
    adapter: 'Backend',
    what: 'The session as @supabase/ssr writes it, so that a Next.js app beside this one can read it. Its tokens are signed, not sealed.',
    life: 'up to 400 days; the session inside may end sooner',
  },
  {
    pattern: /^(?:__Host-)?sb-.+-auth-token-(?:last|offer)$/,
    name: 'sb-…-auth-token-last, -offer',
    adapter: 'Backend',
    what: 'What this browser did last: the way in that the sign-in page marks, such as github, and that a passkey was offered once.',
    life: 'a year',
  },
  {
    pattern: /^(?:__Host-)?sb-.+-auth-token-ceremony$/,
    name: 'sb-…-auth-token-ceremony',
    adapter: 'Backend',
    what: 'Binds the challenge of a passkey or a security key to this browser.',
    life: '10 minutes from the last challenge',
  },
  {
    pattern: /^(?:__Host-)?b2b-session-organization$/,
    name: 'b2b-session-organization',
    adapter: 'B2B',
    what: 'The organization that this browser chose last, which the chooser lists first.',
    life: 'a year',
  },
];

export function cookiesPage(present: readonly PresentCookie[]): string {
  const known = kinds.map((kind) => ({ kind, cookies: [] as PresentCookie[] }));
  const others: PresentCookie[] = [];
  for (const cookie of present) {
    const group = known.find(({ kind }) => kind.pattern.test(cookie.name));
    (group?.cookies ?? others).push(cookie);
  }
  const found = known.filter(({ cookies }) => cookies.length > 0);
  const absent = known.filter(({ cookies }) => cookies.length === 0);
  return page({
    title: 'Cookies',
    at: '/cookies',
    lead: 'What your browser sends to this app. Names and sizes only: the values are private, and as HttpOnly cookies they are hidden from scripts, too.',
    content: html`<section aria-labelledby="present">
<h2 id="present">In your browser now</h2>
${found.length === 0 ? html`<p class="empty">None. Signed out, this app needs no cookie.</p>` : html`<ul class="cards">${found.map(({ kind, cookies }) => presentCard(kind, cookies))}</ul>`}
${others.length > 0 && html`<p class="soft">And ${others.length} from elsewhere: cookies do not tell ports apart, so other apps on this host share them.</p>`}
</section>
${absent.length > 0 && html`<section aria-labelledby="absent"><h2 id="absent">Others you may meet</h2><ul class="cards">${absent.map(({ kind }) => absentCard(kind))}</ul></section>`}
<section aria-labelledby="flags"><h2 id="flags">What they have in common</h2>
<p>All are <code>HttpOnly</code> (no script reads them), <code>SameSite=Lax</code> (no other site’s form or image carries them along), <code>Path=/</code>, and <code>Secure</code> as soon as the app is served over https.</p></section>`,
  });
}

function presentCard({ adapter, what, life }: CookieKind, cookies: readonly PresentCookie[]): Markup {
  return html`<li class="card"><p class="kind">${adapter}</p>
${cookies.map(({ name, bytes }) => html`<h3><code>${name}</code> <small>${bytes} bytes</small></h3>`)}
<p>${what}</p><p class="soft">Lives ${life}.</p></li>`;
}

function absentCard({ name, adapter, what, life }: CookieKind): Markup {
  return html`<li class="card absent"><p class="kind">${adapter}</p><h3><code>${name}</code></h3>
<p>${what}</p><p class="soft">Lives ${life}.</p></li>`;
}
