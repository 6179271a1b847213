import { html, safeHref } from '../../core/html.ts';
import type { Html, HtmlValue, Text } from '../../core/html.ts';
import { initials } from '../../http/page.ts';
import { fillIn } from '../../http/page-text.ts';
import { providerIcon } from './icons.ts';
import { returnToOf } from './parts.ts';
import type { FormState, PageRequest, Site } from './parts.ts';

/** Names as their owners write them, where capitals alone would not do. */
const labels: ReadonlyMap<string, string> = new Map(
  Object.entries({
    azure: 'Microsoft',
    bitbucket: 'Bitbucket',
    github: 'GitHub',
    gitlab: 'GitLab',
    linkedin: 'LinkedIn',
    linkedin_oidc: 'LinkedIn',
    slack_oidc: 'Slack',
    twitter: 'X',
    x: 'X',
    workos: 'WorkOS',
  }),
);

/** A provider's name for people; `custom:acme-sso` becomes `Acme Sso`, which the `label` option can better. */
export function providerLabel(name: string): string {
  return (
    labels.get(name) ??
    name
      .replace(/^custom:/, '')
      .split(/[_-]+/)
      .filter((word) => word !== '')
      .map((word) => word.charAt(0).toUpperCase() + word.slice(1))
      .join(' ')
  );
}

/** From this many on, icons stand in a row. */
const rowFrom = 4;

/** "Continue with GitHub" for each provider: links, so that a page's `form-action` never stands in the way. */
export function providerButtons({ settings, text }: Site, request: PageRequest, state: FormState): HtmlValue {
  const { providers, loginPath } = settings;
  if (providers.length === 0) return undefined;
  const isRow = providers.length >= rowFrom;
  const buttons = providers.map((provider) => {
    const query = new URLSearchParams({ provider: provider.name, ...returnToOf(state) });
    const href = safeHref(`${request.localPath(loginPath)}?${query.toString()}`);
    const name = ('label' in provider ? provider.label : undefined) ?? providerLabel(provider.name);
    const icon = providerIcon(provider.name);
    const label = fillIn(text.continueWith, { provider: name });
    return html`<li>${isRow ? iconButton(href, label, icon ?? initialsIcon(name)) : html`<a class="button quiet" href="${href}">${icon}${label}</a>`}</li>
`;
  });
  return html`<ul class="providers${isRow && ' row'}">
${buttons}</ul>
<p class="or">${text.or}</p>`;
}

function iconButton(href: string, label: Text, icon: Html): Html {
  const lang = label.lang !== undefined && html` lang="${label.lang}"`;
  return html`<a class="button quiet" href="${href}" aria-label="${label.plain}" title="${label.plain}"${lang}>${icon}</a>`;
}

/** The stylesheet draws the letters: as text they would have to be part of the button's label (WCAG 2.2 §2.5.3). */
function initialsIcon(name: string): Html {
  return html`<span class="initials" data-initials="${initials(name, 2)}"></span>`;
}
