import { withQuery } from '../tools/url.ts';
import type { Brand } from './page.ts';
import { initials } from './texts.ts';
import { lookIn, lookRules } from './theme.ts';

/** Beside the stylesheet, whose path is an option: `/auth/pages.svg` for `/auth/pages.css`. */
export function faviconPath(stylesheetPath: string): string {
  return stylesheetPath.replace(/(?:\.\w+)?$/, '.svg');
}

/** The logo, else the letter that stands in its place above the heading; `undefined` without a name. */
export function faviconUrl(stylesheetUrl: string, { logo, title = '', accent }: Brand): string | undefined {
  const letter = initials(title, 1);
  if (logo !== undefined || letter === '') return logo;
  const [path = ''] = stylesheetUrl.split('?');
  return withQuery(faviconPath(path), {
    letter,
    ...(accent !== undefined && { accent: accent.slice(1).toLowerCase() }),
  });
}

/** The picture for a URL; two adapters with different names may share one path. `undefined` for anything but a letter or a digit. */
export function faviconFor(query: URLSearchParams): string | undefined {
  const letter = query.get('letter') ?? '';
  // The capital letter of one, such as of "ß", may be several.
  if (!/^[\p{L}\p{N}][\p{L}\p{M}]{0,2}$/u.test(letter)) return undefined;
  const { accent = '#1d1f26' } = lookIn(query);
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><style>
${lookRules({ accent, theme: undefined })}rect { fill: var(--accent); }
text { fill: var(--accent-ink); font: 600 20px system-ui, sans-serif; }
</style><rect width="32" height="32" rx="8"/><text x="16" y="16" text-anchor="middle" dominant-baseline="central">${letter}</text></svg>
`;
}
