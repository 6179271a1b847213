import { html, textOf } from '../../tools/html.ts';
import type { Html } from '../../tools/html.ts';
import type { Choice, List } from '../../pages/page.ts';
import { withQuery } from '../../tools/url.ts';
import { fillIn } from '../../pages/texts.ts';
import type { BackendOptions } from '../options.ts';
import { lastUsedAt, returnToOf } from '../pages/parts.ts';
import type { FormState, PageRequest, Site } from '../slots.ts';

/** Names with the owners' spelling, where capitalizing each word is not enough. */
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

/** A provider's display name; `custom:acme-sso` becomes `Acme Sso`, which the `label` option can replace. */
export function providerLabel(name: string): string {
  return (
    labels.get(name) ??
    name
      .replace(/^custom:/, '')
      .split(/[_-]/)
      .filter((word) => word !== '')
      .map((word) => word.charAt(0).toUpperCase() + word.slice(1))
      .join(' ')
  );
}

/** From this number of providers, icons are shown in a row. */
const rowFrom = 4;

/** The listed ones, and the default one: the page is shown in its place, where it would not ask for the account. */
export function providersOf(
  { providers, defaultProvider }: BackendOptions,
  state: Pick<FormState, 'providers'> = {},
): readonly { readonly name: string; readonly label?: string | undefined }[] {
  const isListed = providers.some(({ name }) => name === defaultProvider);
  const all = [...providers, ...(defaultProvider === undefined || isListed ? [] : [{ name: defaultProvider }])];
  return all.filter(({ name }) => state.providers?.includes(name) !== false);
}

function providerUrl({ loginPath }: BackendOptions, request: PageRequest, name: string, state: FormState): string {
  return withQuery(request.localPath(loginPath), { provider: name, ...returnToOf(state) });
}

/** "Continue with GitHub" for each provider. These are links, so the page's `form-action` does not apply to them. */
export function providerButtons(site: Site, request: PageRequest, state: FormState): List | undefined {
  const { settings, text } = site;
  const providers = providersOf(settings, state);
  if (providers.length === 0) return undefined;
  const isRow = providers.length >= rowFrom;
  const choices = providers.map((provider): Choice => {
    const name = provider.label ?? providerLabel(provider.name);
    return {
      name: textOf(name),
      href: providerUrl(settings, request, provider.name, state),
      label: fillIn(text.continueWith, { provider: name }),
      icon: providerIcon(provider.name),
      ...lastUsedAt(site, provider.name),
    };
  });
  return { part: 'list', look: isRow ? 'icons' : 'buttons', choices };
}

/** Simplified logos, 24 units square; single-color logos use the text color. */
const icons: ReadonlyMap<string, Html> = new Map(
  Object.entries({
    google: html`<path fill="none" stroke="#ea4335" stroke-width="4" d="M18.3 7.1A8 8 0 0 0 4.9 8.2"/><path fill="none" stroke="#fbbc05" stroke-width="4" d="M4.9 8.2A8 8 0 0 0 4.9 15.8"/><path fill="none" stroke="#34a853" stroke-width="4" d="M4.9 15.8A8 8 0 0 0 17.1 18.1"/><path fill="none" stroke="#4285f4" stroke-width="4" d="M17.1 18.1A8 8 0 0 0 20 12H12.2"/>`,
    azure: html`<path fill="#f25022" d="M3 3h8.5v8.5H3z"/><path fill="#7fba00" d="M12.5 3H21v8.5h-8.5z"/><path fill="#00a4ef" d="M3 12.5h8.5V21H3z"/><path fill="#ffb900" d="M12.5 12.5H21V21h-8.5z"/>`,
    github: html`<path fill="currentColor" fill-rule="evenodd" d="M12 2a10 10 0 1 0 0 20 10 10 0 1 0 0-20zM8.9 21.5v-2.3c-1.9.3-2.9-.3-3.5-1.6l-.7-1.1c-.3-.5.4-.8 1-.4 1 .6 1.1 2 3.3 1.5.1-.6.3-1 .6-1.3-2.9-.4-4.3-1.9-4.3-4.6 0-1.2.4-2.2 1.1-3-.2-.9-.1-1.9.2-2.8 1.1 0 2.1.5 3 1.1a9.5 9.5 0 0 1 4.8 0c.9-.6 1.9-1.1 3-1.1.3.9.4 1.9.2 2.8.7.8 1.1 1.8 1.1 3 0 2.7-1.4 4.2-4.3 4.6.4.4.7 1.1.7 2v3.2z"/>`,
    apple: html`<path fill="currentColor" d="M12.2 7.4c1-.5 2-.9 3.1-.9 1.7 0 3 .8 3.8 2-3.3 2-2.8 6.2.4 7.5-.9 2.6-2.5 5.3-4.3 5.3-1.1 0-1.6-.7-3-.7s-2 .7-3 .7c-2.1 0-5-4.7-5-9.1 0-3.6 2.2-5.7 4.6-5.7 1.3 0 2.3.6 3.4.9zM12 5.8c0-2 1.4-3.7 3.4-4 .3 2.2-1.4 4-3.4 4z"/>`,
    facebook: html`<path fill="#0866ff" fill-rule="evenodd" d="M12 2a10 10 0 1 0 0 20 10 10 0 1 0 0-20zM13.5 21.9v-7h2.4l.5-2.9h-2.9v-1.6c0-.9.4-1.5 1.6-1.5h1.4V6.4c-.7-.1-1.4-.2-2.1-.2-2.3 0-3.7 1.3-3.7 3.7V12H8.1v2.9h2.6v7z"/>`,
    linkedin: html`<path fill="#0a66c2" fill-rule="evenodd" d="M4.5 2.5h15a2 2 0 0 1 2 2v15a2 2 0 0 1-2 2h-15a2 2 0 0 1-2-2v-15a2 2 0 0 1 2-2zM5.6 9.7v8.9h2.8V9.7zM7 5.3a1.6 1.6 0 1 0 0 3.3 1.6 1.6 0 1 0 0-3.3zM10.2 9.7v8.9H13v-4.7c0-1.2.6-2 1.6-2s1.5.7 1.5 2v4.7h2.8v-5.2c0-2.6-1.3-3.9-3.3-3.9-1.2 0-2.1.6-2.6 1.4V9.7z"/>`,
    gitlab: html`<path fill="#e24329" d="m12 21.5 4-9.5H8z"/><path fill="#fc6d26" d="m12 21.5 4-9.5h4.5zM12 21.5 8 12H3.5z"/><path fill="#fca326" d="m20.5 12 1 4.2-9.5 5.3zM3.5 12l-1 4.2 9.5 5.3z"/><path fill="#e24329" d="M3.5 12 5.7 3.5 8 12zM20.5 12l-2.2-8.5L16 12z"/>`,
    discord: html`<path fill="#5865f2" fill-rule="evenodd" d="M8.9 4.5c-1.7.3-3.3.8-4.7 1.6C2 9.7 1.4 13.4 1.7 17c1.7 1.3 3.6 2.2 5.7 2.7l1.2-2c2.2.6 4.6.6 6.8 0l1.2 2c2.1-.5 4-1.4 5.7-2.7.4-4.1-.5-7.7-2.5-10.9-1.4-.8-3-1.3-4.7-1.6l-.7 1.4a15 15 0 0 0-4.8 0zM8.6 10.3c-1.1 0-2 1-2 2.2s.9 2.2 2 2.2 2-1 2-2.2-.9-2.2-2-2.2zM15.4 10.3c-1.1 0-2 1-2 2.2s.9 2.2 2 2.2 2-1 2-2.2-.9-2.2-2-2.2z"/>`,
    slack: html`<g fill="none" stroke-width="3.6" stroke-linecap="round"><path stroke="#36c5f0" d="M9.3 9.3H4M9.3 4.2v.1"/><path stroke="#2eb67d" d="M14.7 9.3V4M19.8 9.3h-.1"/><path stroke="#ecb22e" d="M14.7 14.7H20M14.7 19.8v-.1"/><path stroke="#e01e5a" d="M9.3 14.7V20M4.2 14.7h.1"/></g>`,
    twitch: html`<path fill="none" stroke="#9146ff" stroke-width="2.2" stroke-linejoin="round" d="M5 3.5h15.5v10l-4.5 4.5h-4l-3.5 3.5V18H3.5V7zM11 8v4.5M15.5 8v4.5"/>`,
    spotify: html`<circle cx="12" cy="12" r="10" fill="#1db954"/><path fill="none" stroke="#000" stroke-width="1.8" stroke-linecap="round" d="M6.5 9.3c3.8-1.1 7.9-.7 11.2 1.1M7 12.6c3.2-.9 6.5-.5 9.3 1M7.5 15.7c2.6-.7 5.2-.4 7.5.9"/>`,
    twitter: html`<path fill="none" stroke="currentColor" stroke-width="2" d="M4 3.5h4.2L20 20.5h-4.2zM19 3.5l-6.3 7.2M11 12.8 4.6 20.5"/>`,
    figma: html`<path fill="#f24e1e" d="M12 2H9a3.3 3.3 0 0 0 0 6.7h3z"/><path fill="#ff7262" d="M12 2h3a3.3 3.3 0 0 1 0 6.7h-3z"/><path fill="#a259ff" d="M12 8.7H9a3.3 3.3 0 0 0 0 6.6h3z"/><circle cx="15.2" cy="12" r="3.3" fill="#1abcfe"/><path fill="#0acf83" d="M12 15.3H9a3.3 3.3 0 1 0 3 3.4z"/>`,
    notion: html`<path fill="none" stroke="currentColor" stroke-width="1.8" stroke-linejoin="round" d="M4 5.5 15.5 4 20 7v12.5L8 20.5 4 16.5zM8.5 17V9.5l7 7V9"/>`,
    zoom: html`<path fill="#0b5cff" d="M4.5 6.5H13a3 3 0 0 1 3 3v8H7.5a3 3 0 0 1-3-3zM17 10.7l4.5-3.4v9.4L17 13.3z"/>`,
    bitbucket: html`<path fill="#2684ff" fill-rule="evenodd" d="M2.5 3.5h19l-2.7 17H5.2zM9.3 9l1 6h3.4l1-6z"/>`,
    keycloak: html`<path fill="none" stroke="#4d9fd1" stroke-width="2" stroke-linejoin="round" d="M7 3.5h10l5 8.5-5 8.5H7L2 12zM9.5 8v8M14.5 8l-4 4 4 4"/>`,
    kakao: html`<path fill="#fee500" d="M2 3h20v18H2z"/><path fill="#191600" d="M12 6c-4 0-7 2.4-7 5.4 0 2 1.3 3.7 3.3 4.6L7.7 18.5l3-1.9c4.7.5 8.3-2 8.3-5.2C19 8.4 16 6 12 6z"/>`,
    workos: html`<path fill="none" stroke="#6363f1" stroke-width="2.4" stroke-linejoin="round" d="m8 4-4.6 8L8 20M16 4l4.6 8-4.6 8M9.5 12l2.5-4.3 2.5 4.3-2.5 4.3z"/>`,
  }),
);

/** Supabase's other names for the same provider. */
const aliases: ReadonlyMap<string, string> = new Map(
  Object.entries({ linkedin_oidc: 'linkedin', slack_oidc: 'slack', x: 'twitter' }),
);

/** The provider's icon, or `undefined` where there is none. */
function providerIcon(name: string): Html | undefined {
  const drawing = icons.get(aliases.get(name) ?? name);
  return drawing && html`<svg viewBox="0 0 24 24" aria-hidden="true">${drawing}</svg>`;
}
