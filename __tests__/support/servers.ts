import { once } from 'node:events';
import http from 'node:http';
import type { AddressInfo } from 'node:net';

export interface RunningServer {
  /** `http://127.0.0.1:<port>` */
  readonly origin: string;
  readonly port: number;
  close(): Promise<void>;
}

/** Serves a handler on the loopback address, on a free port unless told otherwise. `prepare` gets the server before it listens. */
export async function serve(
  handler: http.RequestListener,
  wantedPort = 0,
  prepare?: (server: http.Server) => unknown,
): Promise<RunningServer> {
  const server = http.createServer(handler);
  prepare?.(server);
  await new Promise<void>((resolve, reject) => server.once('error', reject).listen(wantedPort, '127.0.0.1', resolve));
  // A test that fails before it closes its server must not keep the run from ending.
  server.unref();
  const { port } = server.address() as AddressInfo;
  return {
    origin: `http://127.0.0.1:${port}`,
    port,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

/** The first of free ports in a row, below those that the system gives out by itself (Linux: from 32768 on). */
export async function freePortsInARow(count: number): Promise<number> {
  for (;;) {
    const first = 12_000 + Math.floor(Math.random() * 20_000);
    const probes = Array.from({ length: count }, (_, index) => http.createServer().listen(first + index, '127.0.0.1'));
    const bound = await Promise.allSettled(probes.map((probe) => once(probe, 'listening')));
    for (const probe of probes) probe.close();
    if (bound.every(({ status }) => status === 'fulfilled')) return first;
  }
}
