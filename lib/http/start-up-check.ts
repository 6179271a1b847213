import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { Server } from 'node:http';
import type { Adapter } from './adapter.ts';
import { problemsBeforeRequests } from './express-stack.ts';

/** Node tells it when a server has begun to listen; where a version of Node does not, the first request shows the problems. */
const listening = 'tracing:net.server.listen:asyncEnd';

/** What each application was warned of: two adapters on one path see the same problem. */
const warned = new WeakMap<object, Set<string>>();

/**
 * Warns of wrong mounting when a server begins to listen whose only listener is the Express application. The requests that come are
 * refused all the same.
 *
 * @returns ends the watch
 */
export function watchStartUp(definition: Adapter): () => void {
  // The channel outlives every adapter; one that is given up before any server listens must not be kept by it.
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
  // The same problem by the other adapter's side names both of them in the other order.
  const key = problem.split(/\W+/).sort().join(' ');
  if (known.has(key)) return;
  known.add(key);
  const message = `${problem}. Every request is refused until then.`;
  process.emitWarning(message, { code: 'EXPRESS_AUTH_ADAPTERS_MOUNT' });
  emit({ type: 'configuration_warning', message });
}
