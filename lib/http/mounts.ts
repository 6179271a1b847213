import type { IncomingMessage } from 'node:http';
import { isReachableUnder } from '../core/path-matcher.ts';
import { mountedOn } from './context.ts';
import type { MountedAdapter } from './context.ts';
import type { AdapterDefinition, OwnPath } from './definition.ts';
import type { HostRequest } from './request.ts';

/** Which of our routers stand where: learned from what a request passes and from the Express application's own stack. */
const definitions = new WeakMap<object, AdapterDefinition>();

export function registerRouter(router: object, definition: AdapterDefinition): void {
  definitions.set(router, definition);
}

/** A path as Express compares it by default: any case, with or without a trailing slash. */
export function comparablePath(path: string): string {
  const lower = path.toLowerCase();
  return lower.length > 1 && lower.endsWith('/') ? lower.slice(0, -1) : lower;
}

export function findRoute(definition: AdapterDefinition, path: string): OwnPath | undefined {
  const wanted = comparablePath(path);
  return definition.ownPaths.find((route) => comparablePath(route.path) === wanted);
}

/** Whether a path (below no mount path) is an own route of any adapter that this request can meet. */
export function isAuthRoute(req: HostRequest, path: string): boolean {
  const isPassed = mountedOn(req).some(
    ({ prefix, definition }) =>
      path.toLowerCase().startsWith(prefix.toLowerCase()) &&
      findRoute(definition, path.slice(prefix.length)) !== undefined,
  );
  return isPassed || ownersOf(stackOf(req), path).length > 0;
}

/** What is wrong with how the adapters are mounted, as far as this request can tell. */
export function mountProblems(req: HostRequest, mounted: MountedAdapter): string[] {
  const { definition, prefix } = mounted;
  const unreachable = definition.protectedRoutes.filter((pattern) => !isReachableUnder(pattern, prefix));
  const problems = unreachable.map(
    (pattern) =>
      `protectedRoutes: '${pattern}' can never match, because the adapter is mounted under '${prefix}'; patterns are root-relative, so write '${prefix}${pattern}' or mount the adapter at the root`,
  );
  const stack = stackOf(req);
  const others = [
    ...mountedOn(req)
      .filter((other) => other !== mounted)
      .map((other) => other.definition),
    ...routersIn(stack).filter((other) => other !== definition),
  ];
  const isTwice =
    others.some((other) => other.adapter === definition.adapter) ||
    routersIn(stack).filter((other) => other === definition).length > 1;
  if (isTwice) problems.push(`${definition.name}() is mounted twice in one application; mount it once`);
  return [...new Set([...problems, ...clashes(req, mounted, stack)])];
}

function clashes(req: IncomingMessage, mounted: MountedAdapter, stack: unknown): string[] {
  const { definition, prefix } = mounted;
  return definition.ownPaths.flatMap((route) => {
    const path = prefix + route.path;
    const passed = mountedOn(req)
      .filter((other) => path.startsWith(other.prefix))
      .map((other) => ({
        definition: other.definition,
        route: findRoute(other.definition, path.slice(other.prefix.length)),
      }));
    return [...passed, ...ownersOf(stack, path)]
      .filter((owner) => owner.route !== undefined && owner.definition.adapter !== definition.adapter)
      .filter((owner) => route.option !== 'stylesheetPath' || owner.route?.option !== 'stylesheetPath')
      .map(
        (owner) =>
          `${route.option}: ${definition.name}() and ${owner.definition.name}() both answer '${path}'; give ${route.option} of one of them another path`,
      );
  });
}

interface Owner {
  readonly definition: AdapterDefinition;
  readonly route: OwnPath | undefined;
}

/** Express' layers, 4 and 5 alike; anything else is walked past. */
interface Layer {
  readonly handle: object;
  readonly path?: string;
  match(path: string): boolean;
}

function stackOf(req: HostRequest): unknown {
  const { app } = req;
  if (typeof app !== 'function') return undefined;
  // Express 4 calls it `_router`, and its `router` throws when asked.
  const router: unknown = '_router' in app ? app._router : 'router' in app ? app.router : undefined;
  return typeof router === 'function' && 'stack' in router ? router.stack : undefined;
}

function layersOf(stack: unknown): Layer[] {
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

function innerStack(handle: object): unknown {
  return 'stack' in handle ? handle.stack : undefined;
}

function routersIn(stack: unknown): AdapterDefinition[] {
  return layersOf(stack).flatMap(({ handle }) => {
    const definition = definitions.get(handle);
    return definition === undefined ? routersIn(innerStack(handle)) : [definition];
  });
}

function ownersOf(stack: unknown, path: string): Owner[] {
  return layersOf(stack).flatMap((layer) => {
    const rest = restBelow(layer, path);
    if (rest === undefined) return [];
    const definition = definitions.get(layer.handle);
    if (definition === undefined) return ownersOf(innerStack(layer.handle), rest);
    const route = findRoute(definition, rest);
    return route === undefined ? [] : [{ definition, route }];
  });
}

/** What Express would leave of the path inside the layer. */
function restBelow(layer: Layer, path: string): string | undefined {
  try {
    if (!layer.match(path)) return undefined;
  } catch {
    return undefined;
  }
  const rest = path.slice((layer.path ?? '').length);
  return rest.startsWith('/') ? rest : `/${rest}`;
}
