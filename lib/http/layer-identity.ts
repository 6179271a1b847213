/**
 * What identifies a handler in an application's stack: a router's own list of layers. Tracing, such as OpenTelemetry's, replaces the
 * handler of each layer by a wrapper that passes on its properties, so the list shows through.
 */
export function identityOf(handle: object): object {
  const stack: unknown = 'stack' in handle ? handle.stack : undefined;
  return Array.isArray(stack) ? stack : handle;
}
