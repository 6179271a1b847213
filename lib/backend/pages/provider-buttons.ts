import { html, safeHref } from '../../core/html.ts';
import type { HtmlValue } from '../../core/html.ts';
import { fillIn } from './text.ts';
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

/** "Continue with GitHub" for each provider: links, so that a page's `form-action` never stands in the way. */
export function providerButtons({ settings, text }: Site, request: PageRequest, state: FormState): HtmlValue {
  const { providers, loginPath } = settings;
  if (providers.length === 0) return undefined;
  const buttons = providers.map((provider) => {
    const query = new URLSearchParams({ provider: provider.name, ...returnToOf(state) });
    const href = `${request.localPath(loginPath)}?${query.toString()}`;
    const label = ('label' in provider ? provider.label : undefined) ?? providerLabel(provider.name);
    return html`<li><a class="button quiet" href="${safeHref(href)}">${fillIn(text.continueWith, { provider: label })}</a></li>
`;
  });
  return html`<p class="or">${text.or}</p>
<ul class="choices">
${buttons}</ul>`;
}
