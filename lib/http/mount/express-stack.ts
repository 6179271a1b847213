import { adapterOf, identityOf, partKey } from '../adapter.ts';
import type { Adapter } from '../adapter.ts';

/**
 * Express' layer structure is undocumented, and only this file depends on it: Express 4, and 5 with
 * router 2.0 to 2.3. Unknown structures are skipped, and skipped paths stay guarded.
 */

/** A handler in the stack of an application. */
interface Stacked {
  readonly handle: object;
  /** The rest of a path that the handler would see; `undefined` where Express would not reach it. */
  readonly restOf: (path: string) => string | undefined;
}

interface StackedAdapter extends Pick<Stacked, 'restOf'> {
  readonly definition: Adapter;
}

interface Layer {
  readonly handle: object;
  /** Of `app.get(path)` and its kin; middleware has none. */
  readonly route?: { readonly path?: unknown } | undefined;
  /** Before router 2.3, `match` stores the matched path here. */
  readonly path?: unknown;
  match(path: string): unknown;
}

/** How many layers each stack of an application and its routers had. */
type Sizes = Map<readonly unknown[], number>;

/** The application that an adapter is in, with its adapters. */
const stackPart = partKey<{
  readonly app: unknown;
  readonly sizes: Sizes;
  readonly adapters: readonly StackedAdapter[];
}>('stack');

/** `stackedAdapters` of the application that an adapter is in. They are looked for again once something more is mounted. */
export function adaptersBeside({ parts }: Adapter, app: unknown): readonly StackedAdapter[] {
  const known = parts.find(stackPart);
  // A guard in a mounted application sees that one instead.
  if (known !== undefined && known.app === app && isSame(known.sizes)) return known.adapters;
  const sizes: Sizes = new Map();
  return parts.set(stackPart, { app, sizes, adapters: stackedAdapters(app, sizes) }).adapters;
}

const isSame = (sizes: Sizes): boolean => [...sizes].every(([stack, size]) => stack.length === size);

/** The adapters in the application's stack, in mount order; none where the host has no stack, as Connect. */
export function stackedAdapters(app: unknown, sizes?: Sizes): readonly StackedAdapter[] {
  return stacked(app, sizes).flatMap(({ handle, restOf }) => {
    const definition = adapterOf(handle);
    return definition === undefined ? [] : [{ definition, restOf }];
  });
}

/** The identity of every handler in the application's stack and in its routers; none where the host has no stack, as Connect. */
export function stackedHandlers(app: unknown): readonly object[] {
  return stacked(app).map(({ handle }) => identityOf(handle));
}

function stacked(app: unknown, sizes: Sizes = new Map()): Stacked[] {
  const base = pathOfApplication(app);
  const restOf: Stacked['restOf'] = (path) => (typeof base === 'string' ? without(base, path) : undefined);
  const search: Search = { opened: new Map(), sizes };
  const stack = stackOfApplication(app);
  sizes.set(stack, stack.length);
  return stack.filter(isLayer).flatMap((layer) => stackedIn(layer, restOf, search));
}

interface Search {
  /** How often this search has opened each router, by its identity. */
  readonly opened: Map<object, number>;
  readonly sizes: Sizes;
}

/** How often a search opens one router. Each way through routers that contain each other would be one, and eight have 110,000. */
const maxOpened = 10;

/**
 * The layer's handler, and those below it where it is a router.
 *
 * @param above the identities of the routers that contain the layer: a router may contain itself, as for the paths of a tree
 */
function stackedIn(
  layer: Layer,
  restOfRouter: Stacked['restOf'],
  search: Search,
  above: readonly object[] = [],
): Stacked[] {
  const { handle } = layer;
  const identity = identityOf(handle);
  if (above.includes(identity)) return [];
  const restOf = (path: string): string | undefined => {
    const rest = restOfRouter(path);
    return rest === undefined ? undefined : restBelow(layer, rest);
  };
  const times = search.opened.get(identity) ?? 0;
  const stack = times < maxOpened ? stackOf(handle) : none;
  if (stack !== none) {
    search.opened.set(identity, times + 1);
    search.sizes.set(stack, stack.length);
  }
  const inside = stack.filter(isLayer);
  return [{ handle, restOf }, ...inside.flatMap((inner) => stackedIn(inner, restOf, search, [...above, identity]))];
}

/**
 * A protected path that a route or a router before the adapter answers, in the application's own list of layers. Other
 * middleware passes requests on, and what matches every path is not meant for this one.
 */
export function protectedBefore(
  { app, definition }: { readonly app: unknown; readonly definition: Adapter },
  patterns: readonly string[],
  isProtected: (path: string) => boolean,
): string | undefined {
  const base = String(pathOfApplication(app));
  const layers = layersOfApplication(app);
  const own = layers.findIndex((layer) =>
    stackedIn(layer, (path) => path, { opened: new Map(), sizes: new Map() }).some(
      ({ handle }) => adapterOf(handle) === definition,
    ),
  );
  const samples = patterns.map(sampleOf);
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

/** A path that the pattern matches; a parameter stands for itself. */
export function sampleOf(pattern: string): string {
  return pattern.replace(/\(\.\*\)$/, pattern.endsWith('/(.*)') ? 'x' : '');
}

/** A mounted application knows its path; below a pattern it returns something else than a text. */
function pathOfApplication(app: unknown): unknown {
  return typeof app === 'function' && 'path' in app && typeof app.path === 'function'
    ? (app.path as () => unknown).call(app)
    : '';
}

const none: readonly unknown[] = [];

function stackOfApplication(app: unknown): readonly unknown[] {
  if (typeof app !== 'function') return none;
  // Express 4 has `_router` once it is created; its `router` getter throws.
  if ('_router' in app) return stackOf(app._router);
  return 'router' in app && !('lazyrouter' in app) ? stackOf(app.router) : none;
}

function layersOfApplication(app: unknown): Layer[] {
  return stackOfApplication(app).filter(isLayer);
}

function layersOf(router: unknown): Layer[] {
  return stackOf(router).filter(isLayer);
}

function stackOf(router: unknown): readonly unknown[] {
  const stack: unknown = typeof router === 'function' && 'stack' in router ? router.stack : undefined;
  return Array.isArray(stack) ? stack : none;
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
  const copy = Object.create(layer) as Layer;
  let found: unknown;
  try {
    found = copy.match(path);
  } catch {
    return undefined;
  }
  const prefix: unknown = found === true ? copy.path : (found as { readonly path?: unknown } | null | undefined)?.path;
  return typeof prefix === 'string' ? without(prefix, path) : undefined;
}

/** Express continues below a prefix only where the path ends or a slash follows. */
function without(prefix: string, path: string): string | undefined {
  if (!path.startsWith(prefix)) return undefined;
  const rest = path.slice(prefix.length);
  if (rest !== '' && !rest.startsWith('/')) return undefined;
  return rest === '' ? '/' : rest;
}
