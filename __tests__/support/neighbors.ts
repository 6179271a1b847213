import http from 'node:http';
import { WebSocketServer } from 'ws';
import { startProxy } from './proxy-process.ts';
import { freePortsInARow, serve } from './servers.ts';

/** What a service behind a gateway says that it got. */
export interface Seen {
  readonly method: string;
  readonly uri: string;
  /** Bytes of the body. */
  readonly length: number;
  /** The headers as CGI, PHP, WSGI and Rack name them: `HTTP_X_AUTH_REQUEST_USER`. */
  readonly variables: Readonly<Record<string, string>>;
}

/** A service without a sign-in. Each answer has `X-Service`, and what it got as JSON. */
export interface Service {
  readonly port: number;
  close(): Promise<void>;
}

export interface ServiceUnderTest {
  readonly name: string;
  readonly takesSockets: boolean;
  readonly start: () => Promise<Service>;
}

const php = `<?php
$variables = array_filter($_SERVER, fn ($name) => str_starts_with($name, 'HTTP_'), ARRAY_FILTER_USE_KEY);
$length = strlen(file_get_contents('php://input'));
header('X-Service: php');
header('Content-Type: application/json');
echo json_encode(['method' => $_SERVER['REQUEST_METHOD'], 'uri' => $_SERVER['REQUEST_URI'], 'length' => $length, 'variables' => $variables]);
`;

const inPhp: ServiceUnderTest = {
  name: 'PHP',
  takesSockets: false,
  async start() {
    const port = await freePortsInARow(1);
    return startProxy({
      name: 'php',
      binary: process.env['PHP'] ?? 'php',
      parameters: ['-d', 'post_max_size=20M', '-S', `127.0.0.1:${port}`, 'router.php'],
      port,
      files: { 'router.php': php },
      isReady: () =>
        new Promise((resolve) => {
          const req = http.get({ host: '127.0.0.1', port, path: '/', agent: false }, (res) => {
            res.resume();
            resolve(res.statusCode === 200);
          });
          req.once('error', () => resolve(false));
        }),
    });
  },
};

/** As the least careful server would, dots included. */
function variablesOf(rawHeaders: readonly string[]): Record<string, string> {
  const variables: Record<string, string> = {};
  rawHeaders.forEach((name, index) => {
    if (index % 2 === 0) variables[`HTTP_${name.toUpperCase().replaceAll(/[-.]/g, '_')}`] = rawHeaders[index + 1] ?? '';
  });
  return variables;
}

const inNode: ServiceUnderTest = {
  name: 'Node',
  takesSockets: true,
  async start() {
    const sockets = new WebSocketServer({ noServer: true });
    const answer: http.RequestListener = (req, res) => {
      let length = 0;
      req.on('data', (chunk: Buffer) => (length += chunk.length));
      req.on('end', () => {
        const seen: Seen = {
          method: req.method ?? '',
          uri: req.url ?? '',
          length,
          variables: variablesOf(req.rawHeaders),
        };
        res.writeHead(200, { 'Content-Type': 'application/json', 'X-Service': 'node' }).end(JSON.stringify(seen));
      });
    };
    const server = await serve(answer, 0, (listening) =>
      listening.on('upgrade', (req: http.IncomingMessage, socket, head) => {
        // It takes whatever it is offered, as h2c smuggling needs it.
        if (req.headers.upgrade !== 'websocket') {
          socket.end('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n');
          return;
        }
        const { HTTP_X_AUTH_REQUEST_EMAIL: email } = variablesOf(req.rawHeaders);
        const cookie = req.headers.cookie ?? 'no cookie';
        sockets.handleUpgrade(req, socket, head, (ws) =>
          ws.on('message', (text: Buffer) => ws.send([email, cookie, text.toString()].join())),
        );
      }),
    );
    return {
      port: server.port,
      close: () => {
        for (const client of sockets.clients) client.terminate();
        return server.close();
      },
    };
  },
};

/** For `describe.each`. */
export const services: readonly ServiceUnderTest[] = [inPhp, inNode];
