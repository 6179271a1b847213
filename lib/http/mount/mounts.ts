import { createPathMatcher, isReachableUnder } from '../../tools/paths/path-matcher.ts';
import { ConfigurationError } from '../../errors.ts';
import { partKey } from '../adapter.ts';
import type { Adapter, OwnPath } from '../adapter.ts';
import { adaptersBeside, protectedBefore, sampleOf, stackedAdapters } from './express-stack.ts';
import { pathOf, tryDecode } from '../../tools/paths/request-path.ts';
import { comparablePath, requestTarget } from '../message.ts';
import type { HostRequest } from '../message.ts';

/** An adapter that a request has passed, with those that it passed before and after it. */
export interface Passed {
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

/** A mount path that requests came by, for messages. */
const prefixPart = partKey<string>('mount path');

/**
 * Why the adapter is mounted wrongly, as far as the request shows. It is then refused.
 *
 * @param isNew whether no request has shown yet that the adapter is mounted rightly below this path
 */
export function findMisuse(request: Passed, isNew: boolean): ConfigurationError | undefined {
  const { definition, prefix } = request;
  const problems = isSwallowed(request)
    ? [swallowed(request)]
    : othersOf(request).flatMap((other) => problemsBeside(request, other));
  if (isNew) {
    definition.parts.set(prefixPart, prefix);
    if (problems.length === 0) problems.push(...placeProblems(request));
  }
  return problems.length === 0 ? undefined : new ConfigurationError(definition.name, [...new Set(problems)]);
}

/**
 * Why no adapter has seen a request, where the application contains one: it is mounted below a path that the request's is not below, or
 * after the handler that asks for it.
 *
 * @param first the first of those that it has passed
 * @returns `undefined` where there is none, or where the stack is unknown, as under Connect
 */
export function mountedElsewhere(
  req: HostRequest,
  adapter: Adapter['adapter'] | undefined,
  first?: Passed,
): string | undefined {
  const path = pathOf(requestTarget(req));
  const all = stackedAdapters(req.app).filter(
    ({ definition }) => (adapter === undefined || definition.adapter === adapter) && !hasPassed(first, definition),
  );
  const found = all.find(({ restOf }) => restOf(path) !== undefined) ?? all[0];
  if (found === undefined) return undefined;
  const { definition, restOf } = found;
  const { name, parts } = definition;
  if (restOf(path) !== undefined) return `${name}() is mounted after this handler; mount it above, with app.use()`;
  const prefix = parts.find(prefixPart);
  const where = prefix === undefined ? 'below a path' : `under ${prefix}`;
  return `${name}() is mounted ${where}: requests to ${path} do not pass it; mount it at the root, and use pathPrefix to move its routes`;
}

function hasPassed(first: Passed | undefined, definition: Adapter): boolean {
  for (let passed = first; passed !== undefined; passed = passed.following)
    if (passed.definition === definition && passed.isMounted) return true;
  return false;
}

/**
 * Whether the adapter is mounted by a pattern that takes the whole path, such as `{*path}`, so that none of its routes is ever reached.
 * A framework may have wrapped it, so its layer in the stack is only one of two signs.
 */
function isSwallowed({ definition, prefix, req }: Passed): boolean {
  if (prefix === '' || pathOf(req.url ?? '/') !== '/') return false;
  const own = adaptersBeside(definition, req.app).find((stacked) => stacked.definition === definition);
  if (own !== undefined) return ['/x', '/x/y'].every((rest) => own.restOf(prefix + rest) === '/');
  const path = tryDecode(prefix);
  // Express 5 has the segments of a wildcard as a list, Express 4 its whole text under a number.
  return Object.entries<unknown>({ ...(req.params as object | undefined) }).some(([name, value]) => {
    if (Array.isArray(value)) return value.length > 0 && path?.endsWith(value.join('/')) === true;
    // A text without a slash may be a part of the path that a pattern names, such as a language.
    return (
      /^\d+$/.test(name) && typeof value === 'string' && value.includes('/') && path === value.replace(/^\/?/, '/')
    );
  });
}

function swallowed({ definition: { name }, prefix }: Passed): string {
  return `it is mounted by a pattern that takes the whole path ('${prefix}' of this request), so none of its routes is reached; mount it without a path: app.use(${name}())`;
}

/**
 * Whether the application's stack shows that each pattern reaches the adapter. No request changes that: the mount path of one may be what
 * its sender made up, as below `/:tenant`.
 */
export function seesEachPattern({ definition, req }: Passed): boolean {
  return definition.protectedRoutes.every((pattern) => isReached(definition, req.app, pattern));
}

function isReached(definition: Adapter, app: unknown, pattern: string): boolean {
  const path = sampleOf(pattern);
  return adaptersBeside(definition, app).some(
    (stacked) => stacked.definition === definition && stacked.restOf(path) !== undefined,
  );
}

/** The patterns that match nothing below the request's mount path. */
function patternsElsewhere({ definition, prefix }: Passed): string[] {
  return definition.protectedRoutes.filter((pattern) => !isReachableUnder(pattern, prefix));
}

/** What is wrong with the place of the adapter in its application. */
function placeProblems(request: Passed): string[] {
  const { definition, prefix, req } = request;
  const { adapter } = definition;
  const unreachable = patternsElsewhere(request).filter((pattern) => !isReached(definition, req.app, pattern));
  const ofThisName = adaptersBeside(definition, req.app).filter((stacked) => stacked.definition.adapter === adapter);
  return [
    ...unreachable.map(
      (pattern) =>
        `protectedRoutes: '${pattern}' can never match, because the adapter is mounted under '${prefix}'; patterns are root-relative, so write '${prefix}${pattern}' or mount the adapter at the root`,
    ),
    ...(ofThisName.length > 1 ? [mountedTwice(definition)] : []),
  ];
}

function mountedTwice({ name }: Adapter): string {
  return `${name}() is mounted twice in one application; mount it once`;
}

/** Why the request must not pass the adapter after another one, or after the same one below another path. */
function problemsBeside(request: Passed, other: Passed): readonly string[] {
  const { definition } = request;
  if (other.definition === definition) return [mountedTwice(definition)];
  return isRival(other.definition, definition) ? [passedTwice(definition)] : clashes(request, other);
}

const none: readonly never[] = [];

/** The mount paths of the last request that has passed both this adapter and another one, where they answer no path in common. */
const apartPart = partKey<WeakMap<Adapter, string>>('mount paths beside other adapters');

/** The paths that both adapters answer. */
function clashes({ definition, prefix }: Passed, other: Passed): readonly string[] {
  const apart = definition.parts.find(apartPart) ?? definition.parts.set(apartPart, new WeakMap());
  // A mount path holds no space.
  const place = `${other.prefix} ${prefix}`;
  if (apart.get(other.definition) === place) return none;
  const found = [...definition.ownPaths.values()].flatMap((own) => {
    const path = prefix + own.path;
    const theirs = ownPathOf(other.definition, restBelowMount(other, path));
    const option = own.option ?? theirs?.option;
    // Both serve the same stylesheet.
    if (theirs === undefined || option === undefined) return [];
    return `${option}: ${definition.name}() and ${other.definition.name}() both answer '${path}'; give ${option} of one of them another path`;
  });
  if (found.length === 0) apart.set(other.definition, place);
  return found;
}

/** For the first request that shows an adapter mounted rightly in its application. */
export function warnOfMount(request: Passed): void {
  const { definition, prefix, req } = request;
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
    const elsewhere = patternsElsewhere(request).map((pattern) => `'${pattern}'`);
    const partly =
      elsewhere.length === 0
        ? ''
        : ` Patterns are root-relative, so below some of its mount paths these match nothing: ${elsewhere.join(', ')}. For one below a parameter such as /:tenant, write '/:tenant/…'.`;
    warn(
      `${name} has protectedRoutes and is mounted under a path, so requests that spell that path in another way, such as //app or /%61pp, never reach it. Mount it at the root, or put requireSession() in front of what serves these pages.${partly}`,
      'EXPRESS_AUTH_ADAPTERS_PREFIX',
    );
  }
}
