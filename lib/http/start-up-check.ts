import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { Server } from 'node:http';
import type { Adapter } from './adapter.ts';
import { problemsBeforeRequests } from './express-stack.ts';

/** Node publishes to it when a server starts listening; in Node versions without it, the first request reports the problems. */
const listening = 'tracing:net.server.listen:asyncEnd';

/** The warnings of each application: two adapters on one path find the same problem. */
const warned = new WeakMap<object, Set<string>>();

/**
 * Warns of mounting problems when a server starts listening with the Express application as its
 * request listener. Requests are still refused.
 *
 * @returns a function that ends the watch
 */
export function watchStartUp(definition: Adapter): () => void {
  // The channel outlives every adapter; it must not keep one that is discarded before any server listens.
  const reference = new WeakRef(definition);
  const onListening = (message: unknown): void => {
    const watched = reference.deref();
    if (watched === undefined) {
      stop();
      return;
    }
    for (const app of applicationsOf(message)) {
      const problems = problemsBeforeRequests(app, watched);
      if (problems === undefined) continue;
      stop();
      for (const problem of problems) warn(app, watched, problem);
    }
  };
  const stop = (): void => void unsubscribe(listening, onListening);
  subscribe(listening, onListening);
  return stop;
}

function applicationsOf(message: unknown): object[] {
  const { server }: { server?: Partial<Server> } = typeof message === 'object' && message !== null ? message : {};
  return server?.listeners?.('request') ?? [];
}

function warn(app: object, { emit }: Adapter, problem: string): void {
  const known = warned.get(app) ?? new Set();
  warned.set(app, known);
  // The other adapter reports the same problem with both names in the other order.
  const key = problem.split(/\W+/).sort().join(' ');
  if (known.has(key)) return;
  known.add(key);
  const message = `${problem}. Every request is refused until then.`;
  process.emitWarning(message, { code: 'EXPRESS_AUTH_ADAPTERS_MOUNT' });
  emit({ type: 'configuration_warning', message });
}
