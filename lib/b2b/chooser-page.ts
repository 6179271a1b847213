import { html, safeHref } from '../core/html.ts';
import type { Brand } from '../http/pages/layout.ts';
import { builtInPage } from '../http/pages/layout.ts';
import type { Reply } from '../http/reply.ts';

export interface Organization {
  readonly id: string;
  readonly name: string;
}

/** Which of several organizations to sign in to; links, because they lead on to where a code is exchanged. */
export function chooserPage(parts: {
  readonly organizations: readonly Organization[];
  readonly hrefFor: (organizationId: string) => string;
  readonly stylesheet: string;
  readonly brand: Brand;
}): Reply {
  return builtInPage({
    status: 200,
    heading: 'Choose an organization',
    stylesheet: parts.stylesheet,
    brand: parts.brand,
    content: html`<p>You belong to several organizations. Which one do you want to work in?</p>
<ul class="choices">${parts.organizations.map(
      ({ id, name }) => html`<li><a class="button" href="${safeHref(parts.hrefFor(id))}">${name}</a></li>`,
    )}</ul>`,
  });
}
