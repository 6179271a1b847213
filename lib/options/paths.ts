import { faviconPath } from '../pages/favicon.ts';
import { isRecord } from '../tools/json.ts';
import { valueAt } from './former.ts';
import { isPathPrefix } from './shared.ts';

type Given = Readonly<Record<string, unknown>>;
type Paths = Readonly<Record<string, string>>;

/** Files of the built-in pages: only `pathPrefix` moves them. */
const files: Paths = {
  stylesheetPath: 'the stylesheet of the built-in pages',
  scriptPath: 'the script of the built-in pages',
};

/** @param writtenAs what the application wrote for an option */
export function pathClashes(given: Given, paths: Paths, writtenAs: Paths): string[] {
  const taken = new Map<string, string>();
  const problems: string[] = [];
  const routes = Object.entries(paths).flatMap(([option, fallback]): (readonly [string, string])[] => {
    const value = valueAt(given, option) ?? fallback;
    if (typeof value !== 'string') return [];
    const route = [writtenAs[option] ?? files[option] ?? option, value] as const;
    return option === 'stylesheetPath' ? [route, ['the icon of the built-in pages', faviconPath(value)]] : [route];
  });
  for (const [name, value] of routes) {
    const other = taken.get(value.toLowerCase());
    if (other !== undefined)
      problems.push(`${name} and ${other} are both '${value}'; give each route a path of its own`);
    taken.set(value.toLowerCase(), name);
  }
  return problems;
}

/** The given options, with the default paths below their `pathPrefix`. */
export function withPrefix(given: Given, defaults: Paths): Given {
  const { pathPrefix, paths = {} } = given;
  if (!isPathPrefix(pathPrefix)) return given;
  const prefixed = Object.entries(defaults).map(([name, path]) => [name, prefixPath(pathPrefix, path)] as const);
  const inGroup = prefixed.flatMap(([name, path]) => {
    const [group, member = ''] = name.split('.');
    return group === 'paths' ? [[member, path] as const] : [];
  });
  return {
    ...Object.fromEntries(prefixed.filter(([name]) => !name.includes('.'))),
    ...given,
    ...(isRecord(paths) && inGroup.length > 0 ? { paths: { ...Object.fromEntries(inGroup), ...paths } } : {}),
  };
}

/** `/auth/login` and `/login` become `/v1/auth/login`. The typed client does the same (`lib/client/send.ts`), without the server's code. */
export function prefixPath(prefix: string | undefined, path: string): string {
  return prefix === undefined ? path : prefix + path.replace(/^\/auth(?=\/)/, '');
}
