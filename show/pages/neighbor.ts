import { html } from './html.ts';
import { facts, page } from './layout.ts';

export interface NeighborParts {
  readonly path: string;
  readonly user: string | undefined;
  readonly email: string | undefined;
  readonly organization: string | undefined;
  readonly hasCookies: boolean;
}

export function neighborPage({ path, user, email, organization, hasCookies }: NeighborParts): string {
  return page({
    title: 'The neighbor',
    at: '/neighbor',
    lead: html`Another server, which knows nothing of sessions. A gateway asks this app, <code>forwardAuth(b2b)</code>, and tells it who you are.`,
    content: html`<section class="card narrow" aria-labelledby="told">
<h2 id="told">What it was told</h2>
${facts([
  ['Path', html`<code>${path}</code>`],
  ['X-Auth-Request-User', user && html`<code>${user}</code>`],
  ['X-Auth-Request-Email', email],
  ['X-Auth-Request-Organization', organization && html`<code>${organization}</code>`],
  ['Cookies', hasCookies ? 'some' : 'none: the gateway keeps them'],
])}
<div class="actions"><a class="button" href="/">To the start page</a></div>
</section>`,
  });
}
