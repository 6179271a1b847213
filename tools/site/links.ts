import { posix } from 'node:path';

export const repository = 'https://github.com/express-auth-adapters/express-auth-adapters';
/** What is not packed is linked by its address here. */
export const blob = `${repository}/blob/main/`;

/** Pages for the people who work on the package. They stay in the repository: no page of the site, no line of llms.txt. */
export function isForContributors(path: string): boolean {
  return /^docs\/contributing(?:\/|\.md$)/.test(path);
}

/** Where the Markdown of a page is on the site: `docs/recipes/README.md` becomes `recipes/index.md`. */
export function sitePath(path: string): string {
  return path.replace(/^docs\//, '').replace(/(^|\/)README\.md$/, '$1index.md');
}

/** The file that a link of a page leads to, relative to the repository; `undefined` outside of it. */
export function repositoryPath(target: string, page: string): string | undefined {
  if (target.startsWith(blob)) return target.slice(blob.length);
  return /^(?:[a-z]+:|\/)/i.test(target) ? undefined : posix.join(posix.dirname(page), target);
}

/**
 * A link as the page of the site needs it: to another page of the site, else to the repository.
 *
 * @param page the page's path in the repository
 */
export function siteLink(target: string, page: string): string {
  if (target.startsWith('#')) return target;
  const [file = '', anchor = ''] = target.split(/(?=#)/);
  const path = repositoryPath(file, page);
  if (path === undefined) return target;
  if (!/^docs\/.*\.md$/.test(path) || isForContributors(path)) return `${blob}${path}${anchor}`;
  const relative = posix.relative(posix.dirname(sitePath(page)), sitePath(path));
  return `${relative.startsWith('.') ? '' : './'}${relative}${anchor}`;
}
