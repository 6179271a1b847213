import { createServer } from 'node:http';
import type { RequestListener, Server } from 'node:http';

export interface Listener {
  readonly port: number;
  /** Nothing is answered before the application is there. */
  serve(handler: RequestListener): void;
  close(): Promise<void>;
}

/** The port is somebody else's. */
export class PortTakenError extends Error {
  override readonly name = 'PortTakenError';
}

/**
 * Listens where `localhost` may lead, and nowhere else: on 127.0.0.1 and, where the machine has it, on ::1.
 *
 * @param port 0 picks a free one
 * @throws {PortTakenError}
 */
export async function listenOnLocalhost(port: number): Promise<Listener> {
  const first = createServer();
  const servers = [first];
  await listen(first, port, '127.0.0.1');
  const address = first.address();
  if (typeof address !== 'object' || address === null) throw new Error('The server has no port.');

  const second = createServer();
  try {
    await listen(second, address.port, '::1');
    servers.push(second);
  } catch (error) {
    if (error instanceof PortTakenError) {
      first.close();
      throw error;
    }
    // A machine without IPv6 has one address less.
  }
  return {
    port: address.port,
    serve: (handler) => servers.forEach((server) => server.on('request', handler)),
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
