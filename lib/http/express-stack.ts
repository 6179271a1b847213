import { isReachableUnder } from '../core/path-matcher.ts';
import type { Adapter, OwnPath } from './adapter.ts';
import { comparablePath } from './message.ts';
import type { HostRequest } from './message.ts';

/** What is read of a request here. */
type InApplication = Pick<HostRequest, 'app'>;

/** An adapter that the request has passed. */
interface Passed {
  readonly definition: Adapter;
  readonly req: InApplication;
  /** Its mount path, `''` at the root. */
  readonly prefix: string;
}

/** What each application's stack held when an adapter in it met its first request. */
const surveys = new WeakMap<object, readonly StackedAdapter[]>();

/**
 * Whether the path is an own route of any adapter that the request has passed or that its application holds.
 *
 * @param path below no mount path
 */
export function isAuthRoute(req: InApplication, passed: readonly Passed[], path: string): boolean {
  return ownersOf(req, passed, path).length > 0;
}

/**
 * Whether an adapter further down the application's stack will answer this path, so that a guard may leave the request to it.
 * Where that is not known, as under Connect, it is not so.
 *
 * @param path below no mount path, as routers see it now
 */
export function isAnsweredLater({ req, definition }: Passed, path: string): boolean {
  const stacked = surveyOf(req);
  const own = stacked.findIndex((other) => other.definition === definition);
  return own !== -1 && stacked.slice(own + 1).some((other) => ownerOf(other.definition, other.restOf(path)));
}

/**
 * What is wrong with how the adapters are mounted, as far as this request can tell.
 *
 * @param passed every adapter that the request has passed, the given one among them
 */
export function mountProblems(mounted: Passed, passed: readonly Passed[]): string[] {
  const { definition, prefix } = mounted;
  const unreachable = definition.protectedRoutes.filter((pattern) => !isReachableUnder(pattern, prefix));
  return [
    ...unreachable.map(
      (pattern) =>
        `protectedRoutes: '${pattern}' can never match, because the adapter is mounted under '${prefix}'; patterns are root-relative, so write '${prefix}${pattern}' or mount the adapter at the root`,
    ),
    ...(isMountedTwice(mounted, passed) ? [mountedTwice(definition)] : []),
    ...new Set(clashes(mounted, passed)),
  ];
}

/**
 * What is wrong in an application that no request has reached yet. What lies below a mount path is left to the first request, as Express
 * does not say which path it is.
 *
 * @returns `undefined` where the application does not hold the adapter
 */
export function problemsBeforeRequests(app: object, definition: Adapter): readonly string[] | undefined {
  const req = { app };
  const own = survey(req).find((stacked) => stacked.definition === definition);
  if (own === undefined) return undefined;
  const isAtRoot = [...definition.ownPaths.values()].every(({ path }) => own.restOf(path) === path);
  if (isAtRoot) return mountProblems({ definition, req, prefix: '' }, []);
  return isMountedTwice({ definition, req, prefix: '' }, []) ? [mountedTwice(definition)] : [];
}

function mountedTwice({ name }: Adapter): string {
  return `${name}() is mounted twice in one application; mount it once`;
}

function isMountedTwice(mounted: Passed, passed: readonly Passed[]): boolean {
  const { definition, req } = mounted;
  const stacked = surveyOf(req);
  const others = [
    ...passed.filter((other) => other !== mounted),
    ...stacked.filter((other) => other.definition !== definition),
  ];
  return (
    others.some((other) => other.definition.adapter === definition.adapter) ||
    stacked.filter((other) => other.definition === definition).length > 1
  );
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

/** Reads the application's stack; to be called at an adapter's first request, when everything is mounted. */
export function survey(req: InApplication): readonly StackedAdapter[] {
  const found = adaptersInStack(req);
  if (typeof req.app === 'function') surveys.set(req.app, found);
  return found;
}

/**
 * How Express keeps its layers, which is not documented and known to this file only: Express 4, and 5 with router 2.0 to 2.3. What
 * it does not recognize it leaves out, and what is left out stays guarded.
 */

/** An adapter somewhere in the stack of an application. */
interface StackedAdapter {
  readonly definition: Adapter;
  /** What Express would leave of a path for the adapter to see; `undefined` where it would not get there. */
  readonly restOf: (path: string) => string | undefined;
}

interface Layer {
  readonly handle: object;
  /** Where `match` leaves what it matched, before router 2.3. */
  readonly path?: unknown;
  match(path: string): unknown;
}

const definitions = new WeakMap<object, Adapter>();

export function registerRouter(router: object, definition: Adapter): void {
  definitions.set(router, definition);
}

/** The adapter that a router belongs to; `undefined` for a router of anything else. */
export function adapterOf(router: object): Adapter | undefined {
  return definitions.get(router);
}

/** Reads the stack of the application that handles the request, routers inside of routers included. */
export function adaptersInStack(req: InApplication): readonly StackedAdapter[] {
  const { app } = req;
  if (typeof app !== 'function') return [];
  const router = routerIn(app);
  return typeof router === 'function' ? adaptersBelow(router, restBelowApplication(app)) : [];
}

function routerIn(app: object): unknown {
  // Express 4 calls it `_router`, once there is one; its `router` throws when asked.
  if ('_router' in app) return app._router;
  return 'router' in app && !('lazyrouter' in app) ? app.router : undefined;
}

function adaptersBelow(router: object, restOfRouter: StackedAdapter['restOf']): StackedAdapter[] {
  return layersOf(router).flatMap((layer) => {
    const restOf = (path: string): string | undefined => {
      const rest = restOfRouter(path);
      return rest === undefined ? undefined : restBelow(layer, rest);
    };
    const definition = definitions.get(layer.handle);
    return definition === undefined ? adaptersBelow(layer.handle, restOf) : [{ definition, restOf }];
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
  // Before router 2.3 `match` writes to the layer, where a request that is under way may still read: it writes to ours.
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

/** Express goes on below a prefix where the path ends or a slash follows, and nowhere else. */
function without(prefix: string, path: string): string | undefined {
  if (!path.startsWith(prefix)) return undefined;
  const rest = path.slice(prefix.length);
  if (rest !== '' && !rest.startsWith('/')) return undefined;
  return rest === '' ? '/' : rest;
}

/** An application that is mounted in another one says where; below a pattern it cannot. */
function restBelowApplication(app: object): StackedAdapter['restOf'] {
  const path: unknown = 'path' in app && typeof app.path === 'function' ? (app.path as () => unknown).call(app) : '';
  return (full) => (typeof path === 'string' ? without(path, full) : undefined);
}
