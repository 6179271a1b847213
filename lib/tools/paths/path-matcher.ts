import { parsePattern, patternProblem, withoutRemainder } from './path-pattern.ts';
import type { Parameterised } from './path-pattern.ts';
import { isPlainPath, pathReadings, requestPath } from './request-path.ts';

export { patternProblem } from './path-pattern.ts';

/**
 * A trie of the patterns' literal beginnings. A request follows it as far as its path matches, so
 * the cost depends on the path's length, not on the number of patterns.
 */
interface PatternNode {
  readonly next: Map<number, PatternNode>;
  /** A pattern ends here. */
  isPath: boolean;
  /** A pattern followed by `(.*)` ends here. */
  isPrefix: boolean;
  /** Patterns whose first parameter begins here. */
  readonly parameterised: Parameterised[];
}

/**
 * Compiles path patterns into one test. It matches every spelling that Express, `express.static` or
 * a decoding proxy could read as one of those paths. In doubt it matches.
 *
 * @param patterns as `patternProblem` describes them
 * @returns a function of the raw request target (`req.originalUrl`, or `req.url` without Express); it never throws
 * @throws {TypeError} for a bad pattern, with the sentence of `patternProblem`
 */
export function createPathMatcher(patterns: readonly string[]): (requestTarget: string) => boolean {
  if (patterns.length === 0) return () => false;
  const root = newNode();
  for (const pattern of patterns) addPattern(root, pattern);
  return (requestTarget) => {
    const path = requestPath(requestTarget);
    if (path === undefined) return true;
    return isPlainPath(path) ? matches(root, path.toLowerCase(), 'exact') : matchesAnyReading(root, path);
  };
}

/**
 * The patterns as Connect's `use` reads a path: `use('/admin')` also takes `/admin.x`, and passes `/.x` on. A host that is unknown may
 * be Connect.
 *
 * @param patterns valid patterns, by `patternProblem`
 */
export function widenForConnect(patterns: readonly string[]): readonly string[] {
  return patterns.flatMap((pattern) => {
    const folder = withoutRemainder(pattern);
    const isFolder = folder !== pattern && folder !== '/' && folder.endsWith('/');
    return isFolder ? [pattern, `${folder.slice(0, -1)}.(.*)`] : [pattern];
  });
}

/**
 * Whether a request below a mount path can match a root-relative pattern at all.
 *
 * @param pattern a valid pattern, by `patternProblem`
 * @param mountPath the router's mount path, such as `/app`; empty or `/` for the root
 */
export function isReachableUnder(pattern: string, mountPath: string): boolean {
  const depth = segmentsOf(mountPath).length;
  const own = segmentsOf(withoutRemainder(pattern));
  if (own.length > depth)
    return createPathMatcher([`/${own.slice(0, depth).join('/')}`])(`/${segmentsOf(mountPath).join('/')}`);
  return createPathMatcher([pattern])(mountPath);
}

function matchesAnyReading(root: PatternNode, path: string): boolean {
  const readings = pathReadings(path);
  if (readings === undefined) return true;
  // A router may read one segment where a file server behind it reads several.
  const depths = new Set(Array.from(readings, (reading) => segmentsOf(reading).length));
  const parameters = depths.size === 1 ? 'exact' : 'loose';
  for (const reading of readings) if (matches(root, reading, parameters)) return true;
  return false;
}

/** @param path folded by `foldCase` */
function matches(root: PatternNode, path: string, parameters: keyof Parameterised): boolean {
  let node = root;
  for (let at = 0; at < path.length; at++) {
    const next = node.next.get(path.charCodeAt(at));
    if (next === undefined) return false;
    if (next.isPrefix) return true;
    for (const pattern of next.parameterised) if (pattern[parameters].test(path)) return true;
    node = next;
  }
  return node.isPath;
}

function addPattern(root: PatternNode, text: string): void {
  const problem = patternProblem(text);
  if (problem !== undefined) throw new TypeError(problem);
  const pattern = parsePattern(text);
  if (pattern.parameterised === undefined) addLiteral(root, pattern.start, pattern.hasRemainder);
  else nodeAt(root, pattern.start).parameterised.push(pattern.parameterised);
}

function addLiteral(root: PatternNode, path: string, isPrefix: boolean): void {
  const bare = path.replace(/\/$/, '');
  if (isPrefix) nodeAt(root, path).isPrefix = true;
  // Express treats `/dashboard` and `/dashboard/` as one path, so a pattern matches both.
  nodeAt(root, bare).isPath = true;
  nodeAt(root, `${bare}/`).isPath = true;
}

function nodeAt(root: PatternNode, start: string): PatternNode {
  let node = root;
  for (let at = 0; at < start.length; at++) {
    const code = start.charCodeAt(at);
    const next = node.next.get(code) ?? newNode();
    node.next.set(code, next);
    node = next;
  }
  return node;
}

function newNode(): PatternNode {
  return { next: new Map(), isPath: false, isPrefix: false, parameterised: [] };
}

function segmentsOf(path: string): string[] {
  return path.split('/').filter((segment) => segment !== '');
}
