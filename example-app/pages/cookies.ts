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

/** In this order: the first pattern that fits explains a cookie. */
const kinds: readonly CookieKind[] = [
  {
    pattern: /^b2b-session-flow-[0-9a-f]+$/,
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
    pattern: /-auth-token-flow-.+-(?:code-verifier|state)$|-auth-token-code-verifier$/,
    name: 'sb-…-auth-token-flow-…',
    adapter: 'Backend',
    what: 'One sign-in through a provider or a mail that is under way: the PKCE verifier, or the page to come back to.',
    life: '10 minutes, or until the callback',
  },
  {
    pattern: /^sb-.+-auth-token(?:\.\d+)?$/,
    name: 'sb-…-auth-token',
    adapter: 'Backend',
    what: 'The session as @supabase/ssr writes it, so that a Next.js app beside this one can read it. Its tokens are signed, not sealed.',
    life: 'up to 400 days; the session inside may end sooner',
  },
];

export function cookiesPage(present: readonly PresentCookie[]): string {
  const known = present.flatMap((cookie) => {
    const kind = kinds.find(({ pattern }) => pattern.test(cookie.name));
    return kind === undefined ? [] : [{ cookie, kind }];
  });
  const others = present.length - known.length;
  const absent = kinds.filter((kind) => !known.some((each) => each.kind === kind));
  return page({
    title: 'Cookies',
    at: '/cookies',
    lead: 'What your browser sends to this app. Names and sizes only: the values are nobody’s business, and as HttpOnly cookies they are hidden from scripts, too.',
    content: html`<section aria-labelledby="present">
<h2 id="present">In your browser now</h2>
${known.length === 0 ? html`<p class="empty">None. Signed out, this app needs no cookie.</p>` : html`<ul class="cards">${known.map(({ cookie, kind }) => card(kind, cookie))}</ul>`}
${others > 0 && html`<p class="soft">And ${others} of somebody else’s: cookies do not tell ports apart, so other apps on this host share them.</p>`}
</section>
${absent.length > 0 && html`<section aria-labelledby="absent"><h2 id="absent">Others you may meet</h2><ul class="cards">${absent.map((kind) => card(kind))}</ul></section>`}
<section aria-labelledby="flags"><h2 id="flags">What they have in common</h2>
<p>All are <code>HttpOnly</code> (no script reads them), <code>SameSite=Lax</code> (no other site’s form or image carries them along), <code>Path=/</code>, and <code>Secure</code> as soon as the app is served over https.</p></section>`,
  });
}

function card({ name, adapter, what, life }: CookieKind, cookie?: PresentCookie): Markup {
  return html`<li class="card${cookie === undefined && ' absent'}"><p class="kind">${adapter}</p><h3><code>${cookie?.name ?? name}</code></h3>
<p>${what}</p><p class="soft">Lives ${life}.${cookie !== undefined && ` ${cookie.bytes} bytes.`}</p></li>`;
}
