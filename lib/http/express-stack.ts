import { isReachableUnder } from '../core/path-matcher.ts';
import type { Adapter, OwnPath } from './adapter.ts';
import { comparablePath } from './message.ts';
import type { HostRequest } from './message.ts';

/** The part of a request that is read here. */
type InApplication = Pick<HostRequest, 'app'>;

/** An adapter that the request has passed. */
interface Passed {
  readonly definition: Adapter;
  readonly req: InApplication;
  /** Its mount path, `''` at the root. */
  readonly prefix: string;
}

/** Each application's adapters, read at the first request of one of them. */
const surveys = new WeakMap<object, readonly StackedAdapter[]>();

/**
 * Whether the path is an own route of any adapter that the request has passed or that its application contains, other than
 * a page that `returnTo` may name.
 *
 * @param path without any mount path
 */
export function isAuthRoute(req: InApplication, passed: readonly Passed[], path: string): boolean {
  return ownersOf(req, passed, path).some(({ own }) => own.isReturnTarget !== true);
}

/**
 * Whether an adapter further down the application's stack answers this path, so that a guard may
 * pass the request on. False where the stack is unknown, as under Connect.
 *
 * @param path without any mount path, as routers currently see it
 */
export function isAnsweredLater({ req, definition }: Passed, path: string): boolean {
  const stacked = surveyOf(req);
  const own = stacked.findIndex((other) => other.definition === definition);
  return own !== -1 && stacked.slice(own + 1).some((other) => ownerOf(other.definition, other.restOf(path)));
}

/**
 * Mounting problems that this request reveals.
 *
 * @param passed every adapter that the request has passed, including the given one
 */
export function mountProblems(mounted: Passed, passed: readonly Passed[]): string[] {
  const { definition, prefix } = mounted;
  const unreachable = definition.protectedRoutes.filter((pattern) => !isReachableUnder(pattern, prefix));
  return [
    ...unreachable.map(
      (pattern) =>
        `protectedRoutes: '${pattern}' can never match, because the adapter is mounted under '${prefix}'; patterns are root-relative, so write '${prefix}${pattern}' or mount the adapter at the root`,
    ),
    ...passingProblems(mounted, passed),
    ...new Set(clashes(mounted, passed)),
  ];
}

/**
 * Mounting problems of an application before its first request. Adapters below a mount path are
 * checked at the first request, because Express does not expose that path.
 *
 * @returns `undefined` where the application does not contain the adapter
 */
export function problemsBeforeRequests(app: object, definition: Adapter): readonly string[] | undefined {
  const req = { app };
  const own = survey(req).find((stacked) => stacked.definition === definition);
  if (own === undefined) return undefined;
  const isAtRoot = [...definition.ownPaths.values()].every(({ path }) => own.restOf(path) === path);
  if (isAtRoot) return mountProblems({ definition, req, prefix: '' }, []);
  return isMountedTwice({ definition, req, prefix: '' }) ? [mountedTwice(definition)] : [];
}

function mountedTwice({ name }: Adapter): string {
  return `${name}() is mounted twice in one application; mount it once`;
}

/** For a request that has passed two adapters of one name. */
export function passedTwice({ name, adapter }: Adapter): string {
  return `${name}() is mounted twice, and this request has passed both, so adapter: '${adapter}' could mean either; mount each where no request passes the other`;
}

/** Whether these are two adapters of one name, whose sessions must not pass for each other's. */
export function isRival(one: Adapter, other: Adapter): boolean {
  return one !== other && one.adapter === other.adapter;
}

function isMountedTwice({ definition, req }: Passed): boolean {
  const stacked = surveyOf(req);
  return (
    stacked.some((other) => isRival(other.definition, definition)) ||
    stacked.filter((other) => other.definition === definition).length > 1
  );
}

function passingProblems(mounted: Passed, passed: readonly Passed[]): string[] {
  const { definition } = mounted;
  if (passed.some((other) => isRival(other.definition, definition))) return [passedTwice(definition)];
  const isAgain = passed.some((other) => other !== mounted && other.definition === definition);
  return isAgain || isMountedTwice(mounted) ? [mountedTwice(definition)] : [];
}

function clashes({ definition, prefix, req }: Passed, passed: readonly Passed[]): string[] {
  return [...definition.ownPaths.values()].flatMap((own) => {
    const path = prefix + own.path;
    return (
      ownersOf(req, passed, path)
        .filter((owner) => owner.definition.adapter !== definition.adapter)
        // Both serve the same stylesheet.
        .filter((owner) => own.option !== 'stylesheetPath' || owner.own.option !== 'stylesheetPath')
        .map(
          (owner) =>
            `${own.option}: ${definition.name}() and ${owner.definition.name}() both answer '${path}'; give ${own.option} of one of them another path`,
        )
    );
  });
}

interface Owner {
  readonly definition: Adapter;
  readonly own: OwnPath;
}

function ownersOf(req: InApplication, passed: readonly Passed[], path: string): Owner[] {
  return [
    ...passed.map((mounted) => ownerOf(mounted.definition, restBelowMount(mounted, path))),
    ...surveyOf(req).map(({ definition, restOf }) => ownerOf(definition, restOf(path))),
  ].filter((owner) => owner !== undefined);
}

function ownerOf(definition: Adapter, rest: string | undefined): Owner | undefined {
  const own = rest === undefined ? undefined : definition.ownPaths.get(comparablePath(rest));
  return own === undefined ? undefined : { definition, own };
}

function restBelowMount({ prefix }: Passed, path: string): string | undefined {
  return path.toLowerCase().startsWith(prefix.toLowerCase()) ? path.slice(prefix.length) : undefined;
}

function surveyOf(req: InApplication): readonly StackedAdapter[] {
  return (typeof req.app === 'function' ? surveys.get(req.app) : undefined) ?? survey(req);
}

/** Reads the application's stack; called at an adapter's first request, when everything is mounted. */
export function survey(req: InApplication): readonly StackedAdapter[] {
  const found = adaptersInStack(req);
  if (typeof req.app === 'function') surveys.set(req.app, found);
  return found;
}

/**
 * Express' layer structure is undocumented, and only this file depends on it: Express 4, and 5 with
 * router 2.0 to 2.3. Unknown structures are skipped, and skipped paths stay guarded.
 */

/** An adapter somewhere in the stack of an application. */
interface StackedAdapter {
  readonly definition: Adapter;
  /** The rest of a path that the adapter would see; `undefined` where Express would not reach it. */
  readonly restOf: (path: string) => string | undefined;
}

interface Layer {
  readonly handle: object;
  /** Of `app.get(path)` and its kin; middleware has none. */
  readonly route?: { readonly path?: unknown } | undefined;
  /** Before router 2.3, `match` stores the matched path here. */
  readonly path?: unknown;
  match(path: string): unknown;
}

const definitions = new WeakMap<object, Adapter>();

export function registerRouter(router: object, definition: Adapter): void {
  definitions.set(router, definition);
}

/** The adapter of a router; `undefined` for any other router. */
export function adapterOf(router: object): Adapter | undefined {
  return definitions.get(router);
}

/** Reads the stack of the application that handles the request, including nested routers. */
export function adaptersInStack(req: InApplication): readonly StackedAdapter[] {
  const { app } = req;
  if (typeof app !== 'function') return [];
  const router = routerIn(app);
  return typeof router === 'function' ? adaptersBelow(router, restBelowApplication(app)) : [];
}

/**
 * A protected path that a route or a router before the adapter answers, in the application's own stack. Other middleware passes
 * requests on, and what matches every path is not meant for this one.
 */
export function protectedBefore(
  { req, definition }: Passed,
  patterns: readonly string[],
  isProtected: (path: string) => boolean,
): string | undefined {
  const { app } = req;
  const router = typeof app === 'function' ? routerIn(app) : undefined;
  if (typeof app !== 'function' || typeof router !== 'function') return undefined;
  const base = 'path' in app && typeof app.path === 'function' ? String((app.path as () => unknown).call(app)) : '';
  const layers = layersOf(router);
  const own = layers.findIndex(({ handle }) => holds(handle, definition));
  const samples = patterns.map((pattern) => pattern.replace(/\(\.\*\)$/, pattern.endsWith('/(.*)') ? 'x' : ''));
  return layers
    .slice(0, Math.max(0, own))
    .flatMap((layer) => {
      if (layer.route !== undefined) return [layer.route.path].flat().filter((path) => typeof path === 'string');
      const isRouter = layersOf(layer.handle).length > 0 && restBelow(layer, '/') === undefined;
      return isRouter ? samples.filter((path) => restBelow(layer, path) !== undefined) : [];
    })
    .map((path) => base + path)
    .find(isProtected);
}

/** @param above the routers that contain it: one may contain itself, as for the paths of a tree */
function holds(router: object, definition: Adapter, above: readonly object[] = []): boolean {
  if (above.includes(router)) return false;
  const below = [...above, router];
  const isBelow = layersOf(router).some(({ handle }) => holds(handle, definition, below));
  return definitions.get(router) === definition || isBelow;
}

function routerIn(app: object): unknown {
  // Express 4 has `_router` once it is created; its `router` getter throws.
  if ('_router' in app) return app._router;
  return 'router' in app && !('lazyrouter' in app) ? app.router : undefined;
}

/** @param above as for `holds` */
function adaptersBelow(
  router: object,
  restOfRouter: StackedAdapter['restOf'],
  above: readonly object[] = [],
): StackedAdapter[] {
  if (above.includes(router)) return [];
  return layersOf(router).flatMap((layer) => {
    const restOf = (path: string): string | undefined => {
      const rest = restOfRouter(path);
      return rest === undefined ? undefined : restBelow(layer, rest);
    };
    const definition = definitions.get(layer.handle);
    return definition === undefined
      ? adaptersBelow(layer.handle, restOf, [...above, router])
      : [{ definition, restOf }];
  });
}

function layersOf(router: object): Layer[] {
  const stack: unknown = 'stack' in router ? router.stack : undefined;
  return Array.isArray(stack) ? stack.filter(isLayer) : [];
}

function isLayer(value: unknown): value is Layer {
  return (
    typeof value === 'object' &&
    value !== null &&
    'handle' in value &&
    typeof value.handle === 'function' &&
    'match' in value &&
    typeof value.match === 'function'
  );
}

function restBelow(layer: Layer, path: string): string | undefined {
  // Before router 2.3 `match` writes to the layer, which a running request may still read; the copy receives the write.
  const probe = Object.create(layer) as Layer;
  let found: unknown;
  try {
    found = probe.match(path);
  } catch {
    return undefined;
  }
  const prefix = found === true ? probe.path : pathIn(found);
  return typeof prefix === 'string' ? without(prefix, path) : undefined;
}

function pathIn(match: unknown): unknown {
  return typeof match === 'object' && match !== null && 'path' in match ? match.path : undefined;
}

/** Express continues below a prefix only where the path ends or a slash follows. */
function without(prefix: string, path: string): string | undefined {
  if (!path.startsWith(prefix)) return undefined;
  const rest = path.slice(prefix.length);
  if (rest !== '' && !rest.startsWith('/')) return undefined;
  return rest === '' ? '/' : rest;
}

/** A mounted application knows its path; below a pattern it does not. */
function restBelowApplication(app: object): StackedAdapter['restOf'] {
  const path: unknown = 'path' in app && typeof app.path === 'function' ? (app.path as () => unknown).call(app) : '';
  return (full) => (typeof path === 'string' ? without(path, full) : undefined);
}
