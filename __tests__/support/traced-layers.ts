interface Layer {
  handle: (...parameters: unknown[]) => unknown;
}

/**
 * Wraps the handler of each layer, as tracing does. A wrapper passes on the properties of what it wraps, and nothing else of it. The real
 * package wraps the stacks of all suites in the variant OpenTelemetry.
 *
 * @param router a router, or an application that has one
 */
export function traceLayers(router: object, seen = new Set<unknown>()): void {
  const { stack = [] } = router as { readonly stack?: Layer[] };
  if (seen.has(stack)) return;
  seen.add(stack);
  for (const layer of stack) {
    const { handle } = layer;
    // Express counts the parameters of what handles errors.
    if (handle.length === 4) continue;
    traceLayers(handle, seen);
    layer.handle = wrap(handle);
  }
}

const ofFunctions: ReadonlySet<string> = new Set(['name', 'length', 'prototype', 'arguments', 'caller']);

function wrap(handle: Layer['handle']): Layer['handle'] {
  const wrapper = function (this: unknown, req: unknown, res: unknown, next: unknown): unknown {
    return handle.call(this, req, res, next);
  };
  // Also those that another tracer has passed on.
  for (const key of Object.getOwnPropertyNames(handle).filter((name) => !ofFunctions.has(name))) {
    Object.defineProperty(wrapper, key, { get: () => Reflect.get(handle, key) as unknown });
  }
  return wrapper;
}
