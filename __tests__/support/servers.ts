import http from 'node:http';
import type { AddressInfo } from 'node:net';

export interface RunningServer {
  /** `http://127.0.0.1:<port>` */
  readonly origin: string;
  readonly port: number;
  close(): Promise<void>;
}

/** Serves a handler on the loopback address, on a free port unless told otherwise. */
export async function serve(handler: http.RequestListener, wantedPort = 0): Promise<RunningServer> {
  const server = http.createServer(handler);
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
