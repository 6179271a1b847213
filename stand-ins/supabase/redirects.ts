/**
 * GoTrue's redirect target: the requested URL if it has the site's origin (any port of `localhost`), is a loopback address
 * or is on the allow list, and silently the site URL otherwise. In the list `*` does not match dots and slashes; `**` matches everything.
 */
export function allowedRedirect(asked: string, siteUrl: string, allowList: readonly string[]): string {
  const url = URL.parse(asked);
  if (!url || !/^https?:$/.test(url.protocol)) return siteUrl;
  const site = new URL(siteUrl);
  const isSite = url.origin === site.origin || (url.hostname === 'localhost' && site.hostname === 'localhost');
  if (isSite || /^(127(\.\d+){3}|\[::1\])$/.test(url.hostname)) return asked;
  const [withoutFragment = ''] = asked.split('#');
  return allowList.some((pattern) => globToRegExp(pattern).test(withoutFragment)) ? asked : siteUrl;
}

/** Adds `parameters` to the query, and also to the fragment if requested, as GoTrue does with errors. */
export function withParameters(
  target: string,
  parameters: Record<string, string>,
  where: 'query' | 'fragment' | 'both',
) {
  const url = new URL(target);
  if (where !== 'fragment') for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value);
  const fragment = new URLSearchParams(parameters).toString();
  if (where === 'fragment') url.hash = fragment;
  if (where === 'both') url.hash = `${fragment}&sb=`;
  return url.href;
}

function globToRegExp(pattern: string): RegExp {
  const source = pattern
    .split(/(\*\*|\*)/)
    .map((part) => (part === '**' ? '.*' : part === '*' ? '[^./]*' : part.replace(/[.+?^${}()|[\]\\]/g, '\\$&')))
    .join('');
  return new RegExp(`^${source}$`);
}
