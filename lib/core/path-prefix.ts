/** A default path below the prefix that stands in for its `/auth`: `/auth/login` and `/login` become `/v1/auth/login`. */
export function withPathPrefix(prefix: string, path: string): string {
  return prefix + path.replace(/^\/auth(?=\/)/, '');
}

/** The same for several defaults; without a prefix they stay. */
export function prefixPaths<Paths extends Readonly<Record<string, string>>>(
  prefix: string | undefined,
  paths: Paths,
): Paths {
  if (prefix === undefined) return paths;
  const prefixed = Object.entries(paths).map(([name, path]) => [name, withPathPrefix(prefix, path)] as const);
  return Object.fromEntries(prefixed) as Paths;
}
