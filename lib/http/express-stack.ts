import type { Adapter } from './adapter.ts';
import type { HostRequest } from './request.ts';

/**
 * The only file that knows how Express keeps its layers, which is not documented: Express 4, and 5 with router 2.0 to 2.3. What
 * it does not recognize it leaves out, and what is left out stays guarded.
 */

/** An adapter somewhere in the stack of an application. */
export interface StackedAdapter {
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

/** Reads the stack of the application that handles the request, routers inside of routers included. */
export function adaptersInStack(req: HostRequest): readonly StackedAdapter[] {
  const { app } = req;
  if (typeof app !== 'function') return [];
  // Express 4 calls it `_router`, and its `router` throws when asked.
  const router: unknown = '_router' in app ? app._router : 'router' in app ? app.router : undefined;
  return typeof router === 'function' ? adaptersBelow(router, restBelowApplication(app)) : [];
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
