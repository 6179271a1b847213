import { createPathMatcher, isReachableUnder } from '../../tools/paths/path-matcher.ts';
import { ConfigurationError } from '../../errors.ts';
import { partKey } from '../adapter.ts';
import type { Adapter, OwnPath } from '../adapter.ts';
import { adaptersBeside, protectedBefore, stackedAdapters } from './express-stack.ts';
import { pathOf } from '../../tools/paths/request-path.ts';
import { comparablePath, requestTarget } from '../message.ts';
import type { HostRequest } from '../message.ts';

/** An adapter that a request has passed, with those that it passed before and after it. */
interface Passed {
  readonly definition: Adapter;
  readonly req: Pick<HostRequest, 'app' | 'url' | 'params'>;
  /** Its mount path, `''` at the root. */
  readonly prefix: string;
  /** Whether its own router has seen the request. */
  readonly isMounted: boolean;
  readonly preceding: Passed | undefined;
  readonly following: Passed | undefined;
}

/** Whether these are two adapters of one name, whose sessions must not pass for each other's. */
export function isRival(one: Adapter, other: Adapter): boolean {
  return one !== other && one.adapter === other.adapter;
}

/** For a request that has passed two adapters of one name. */
export function passedTwice({ name, adapter }: Adapter): string {
  return `${name}() is mounted twice, and this request has passed both, so adapter: '${adapter}' could mean either; mount each where no request passes the other`;
}

/**
 * Whether the path is an own route of any adapter that the request has passed or that its application contains, other than
 * a page that `returnTo` may name.
 *
 * @param path without the path of `appBaseUrl`
 */
export function isAuthRoute(request: Passed, path: string): boolean {
  return ownPathsAt(request, path).some((own) => own.isReturnTarget !== true);
}

/** Whether the path is an own route of any of these adapters. */
export function isOwnPage(request: Passed, path: string): boolean {
  return ownPathsAt(request, path).length > 0;
}

function ownPathsAt(request: Passed, path: string): OwnPath[] {
  return [
    ...[request, ...othersOf(request)].map((passed) => ownPathOf(passed.definition, restBelowMount(passed, path))),
    ...adaptersBeside(request.definition, request.req.app).map(({ definition, restOf }) =>
      ownPathOf(definition, restOf(path)),
    ),
  ].filter((own) => own !== undefined);
}

/**
 * Whether an adapter further down the application's stack answers this path, so that a guard may
 * pass the request on. False where the stack is unknown, as under Connect.
 *
 * @param path with the mount path
 */
export function isAnsweredLater({ req, definition }: Passed, path: string): boolean {
  const stacked = adaptersBeside(definition, req.app);
  const own = stacked.findIndex((other) => other.definition === definition);
  return own !== -1 && stacked.slice(own + 1).some((other) => ownPathOf(other.definition, other.restOf(path)));
}

/** The adapters that the same request has passed besides this one. */
function othersOf(request: Passed): Passed[] {
  const others: Passed[] = [];
  for (let other = request.preceding; other !== undefined; other = other.preceding)
    if (other.isMounted) others.push(other);
  for (let other = request.following; other !== undefined; other = other.following)
    if (other.isMounted) others.push(other);
  return others;
}

function ownPathOf(definition: Adapter, rest: string | undefined): OwnPath | undefined {
  return rest === undefined ? undefined : definition.ownPaths.get(comparablePath(rest));
}

function restBelowMount({ prefix }: Passed, path: string): string | undefined {
  return path.toLowerCase().startsWith(prefix.toLowerCase()) ? path.slice(prefix.length) : undefined;
}

/** Maximum number of known mount paths, and their maximum length in characters: below `/:tenant` requests choose them. */
const maxKnown = 1_000;
const maxKnownLength = 100;

/**
 * The check whether an adapter is mounted rightly. It runs on the first request below each mount path, and again beside
 * each other adapter that a request has passed; a problem refuses every such request.
 */
export function createMountCheck(definition: Adapter): (request: Passed) => ConfigurationError | undefined {
  /** The mount paths without a problem, by the other adapter that the request has passed; by this one where there is none. */
  const known = new WeakMap<Adapter, Set<string>>();
  let hasWarned = false;
  return (request) => {
    const others = othersOf(request);
    const other = others[0];
    const beside = (other ?? request).definition;
    const paths = known.get(beside) ?? new Set();
    // A mount path holds no space.
    const path = other === undefined ? request.prefix : `${other.prefix} ${request.prefix}`;
    // The two names make a pair at most: a third adapter has the name of another one.
    if (others.length < 2 && paths.has(path)) return undefined;
    const problems = mountProblems(request, others);
    definition.parts.set(lastPrefixPart, request.prefix);
    if (problems.length > 0) return new ConfigurationError(definition.name, problems);
    if (!hasWarned) warnOfMount(request);
    hasWarned = true;
    if (paths.size === maxKnown) paths.clear();
    if (path.length <= maxKnownLength) known.set(beside, paths.add(path));
    return undefined;
  };
}

/** The last mount path, for messages. */
const lastPrefixPart = partKey<string>('last mount path');

/**
 * Why no adapter has seen a request, where the application contains one: it is mounted below a path that the request's is not below.
 *
 * @returns `undefined` where there is none, or where the stack is unknown, as under Connect
 */
export function mountedElsewhere(req: HostRequest, adapter: Adapter['adapter'] | undefined): string | undefined {
  const path = pathOf(requestTarget(req));
  const found = stackedAdapters(req.app).find(
    ({ definition, restOf }) => (adapter === undefined || definition.adapter === adapter) && restOf(path) === undefined,
  );
  if (found === undefined) return undefined;
  const { definition } = found;
  const prefix = definition.parts.find(lastPrefixPart);
  const where = prefix === undefined ? 'below a path' : `under ${prefix}`;
  return `${definition.name}() is mounted ${where}: requests to ${path} do not pass it; mount it at the root, and use pathPrefix to move its routes`;
}

/**
 * Whether the adapter is mounted by a pattern that takes the whole path, such as `{*path}`, so that none of its routes is ever reached.
 * A framework may have wrapped it, so its layer in the stack is only one of two signs.
 */
function isSwallowed({ definition, prefix, req }: Passed): boolean {
  if (prefix === '' || pathOf(req.url ?? '/') !== '/') return false;
  const own = adaptersBeside(definition, req.app).find((stacked) => stacked.definition === definition);
  if (own !== undefined) return ['/x', '/x/y'].every((rest) => own.restOf(prefix + rest) === '/');
  // Express 5 has the segments of a wildcard as a list, Express 4 its whole text under a number.
  return Object.entries<unknown>({ ...(req.params as object | undefined) }).some(([name, value]) => {
    if (Array.isArray(value)) return isEndOf(prefix, value.join('/'));
    return /^\d+$/.test(name) && typeof value === 'string' && isWhole(prefix, value);
  });
}

function isEndOf(prefix: string, wildcard: string): boolean {
  try {
    return wildcard !== '' && decodeURIComponent(prefix).endsWith(wildcard);
  } catch {
    return false;
  }
}

/** A text without a slash may be a part of the path that a pattern names, such as a language. */
function isWhole(prefix: string, wildcard: string): boolean {
  return (
    wildcard.includes('/') && isEndOf(prefix, wildcard) && decodeURIComponent(prefix).length <= wildcard.length + 1
  );
}

function mountProblems(request: Passed, others: readonly Passed[]): string[] {
  const { definition, prefix, req } = request;
  if (isSwallowed(request)) {
    return [
      `it is mounted by a pattern that takes the whole path ('${prefix}' of this request), so none of its routes is reached; mount it without a path: app.use(${definition.name}())`,
    ];
  }
  const { name, adapter, protectedRoutes } = definition;
  const unreachable = protectedRoutes.filter((pattern) => !isReachableUnder(pattern, prefix));
  const isTwice =
    others.some((other) => other.definition === definition) ||
    adaptersBeside(definition, req.app).filter((stacked) => stacked.definition.adapter === adapter).length > 1;
  const twice = isTwice ? [`${name}() is mounted twice in one application; mount it once`] : [];
  return [
    ...unreachable.map(
      (pattern) =>
        `protectedRoutes: '${pattern}' can never match, because the adapter is mounted under '${prefix}'; patterns are root-relative, so write '${prefix}${pattern}' or mount the adapter at the root`,
    ),
    ...(others.some((other) => isRival(other.definition, definition)) ? [passedTwice(definition)] : twice),
    ...others.filter((other) => other.definition.adapter !== adapter).flatMap((other) => clashes(request, other)),
  ];
}

/** The paths that both adapters answer. */
function clashes({ definition, prefix }: Passed, other: Passed): string[] {
  return [...definition.ownPaths.values()].flatMap((own) => {
    const path = prefix + own.path;
    const theirs = ownPathOf(other.definition, restBelowMount(other, path));
    // Both serve the same stylesheet.
    if (theirs === undefined || (own.option === 'stylesheetPath' && theirs.option === 'stylesheetPath')) return [];
    return `${own.option}: ${definition.name}() and ${other.definition.name}() both answer '${path}'; give ${own.option} of one of them another path`;
  });
}

function warnOfMount({ definition, prefix, req }: Passed): void {
  const { name, protectedRoutes, emit } = definition;
  const warn = (message: string, code: string): void => {
    process.emitWarning(message, { code });
    emit({ type: 'configuration_warning', message });
  };
  // Where everything is protected, a place before the adapter is how a page is left open.
  const patterns = protectedRoutes.filter((pattern) => pattern !== '/(.*)');
  const open = protectedBefore({ app: req.app, definition }, patterns, createPathMatcher(patterns));
  if (open !== undefined) {
    warn(
      `${name}: '${open}' is in protectedRoutes, but a route before the adapter answers it, so it is public. Mount the adapter before that route. To find out more: npx express-auth-adapters doctor`,
      'EXPRESS_AUTH_ADAPTERS_UNGUARDED',
    );
  }
  // Below a path the host passes on only that exact spelling; the matcher would know other spellings.
  if (prefix !== '' && protectedRoutes.length > 0) {
    warn(
      `${name} has protectedRoutes and is mounted under a path, so requests that spell that path in another way, such as //app or /%61pp, never reach it. Mount it at the root, or put requireSession() in front of what serves these pages.`,
      'EXPRESS_AUTH_ADAPTERS_PREFIX',
    );
  }
}
