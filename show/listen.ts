import { createServer } from 'node:http';
import type { RequestListener, Server } from 'node:http';
import type { UpgradeListener } from './live.ts';

export interface Listener {
  readonly port: number;
  /** Also serves requests that arrived earlier. */
  serve(handler: RequestListener, onUpgrade?: UpgradeListener): void;
  close(): Promise<void>;
}

/** Another process uses the port. */
export class PortTakenError extends Error {
  override readonly name = 'PortTakenError';
}

/**
 * Listens only on the addresses of `localhost`: 127.0.0.1 and, where available, ::1. Requests that
 * arrive before there is a handler wait for it.
 *
 * @param port 0 picks a free one
 * @throws {PortTakenError}
 */
export async function listenOnLocalhost(port: number): Promise<Listener> {
  const ready = Promise.withResolvers<RequestListener>();
  const onRequest: RequestListener = (req, res) => void ready.promise.then((handler) => handler(req, res));
  const first = createServer(onRequest);
  const servers = [first];
  await listen(first, port, '127.0.0.1');
  const address = first.address();
  if (typeof address !== 'object' || address === null) throw new Error('The server has no port.');

  const second = createServer(onRequest);
  try {
    await listen(second, address.port, '::1');
    servers.push(second);
  } catch (error) {
    if (error instanceof PortTakenError) {
      first.close();
      throw error;
    }
    // A machine without IPv6 has only one address.
  }
  return {
    port: address.port,
    serve: (handler, onUpgrade) => {
      if (onUpgrade !== undefined) for (const server of servers) server.on('upgrade', onUpgrade);
      ready.resolve(handler);
    },
    close: async () => {
      await Promise.all(servers.map(close));
    },
  };
}

function listen(server: Server, port: number, host: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => {
      const isTaken = error.code === 'EADDRINUSE';
      reject(isTaken ? new PortTakenError(`Port ${port} is taken.`) : error);
    });
    server.listen(port, host, resolve);
  });
}

function close(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
    server.closeAllConnections();
  });
}
