import { once } from 'node:events';
import { createServer, request } from 'node:http';
import type { IncomingHttpHeaders, IncomingMessage, OutgoingHttpHeaders, RequestListener, Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { pipeline } from 'node:stream/promises';

export interface Gateway {
  /** Serves the app, and the neighbor below `/neighbor`. */
  readonly handler: RequestListener;
  close(): Promise<void>;
}

/** What `forwardAuth` has to know of a request. */
const asked = ['host', 'cookie', 'accept', 'origin', 'sec-fetch-site', 'sec-fetch-mode', 'sec-websocket-key'];
/** What it says of the person. The neighbor gets these from its answer alone, and neither a cookie nor any other header of the client. */
const identity = ['x-auth-request-user', 'x-auth-request-email', 'x-auth-request-organization'];

/**
 * What nginx does with `auth_request`, in this process: it asks the app's `/auth/forward` before a request reaches the neighbor. It shows
 * the steps and is no proxy for production: it passes on GET and HEAD only. docs/other-services.md has configurations of real ones.
 */
export async function startGateway(app: RequestListener, neighbor: RequestListener): Promise<Gateway> {
  const [behind, beside] = [await listen(app), await listen(neighbor)];

  async function pass(req: IncomingMessage, res: Response): Promise<void> {
    const original = { 'x-original-uri': req.url, 'x-original-method': req.method };
    const decision = await ask(behind, 'GET', '/auth/forward', { ...pick(req.headers, asked), ...original });
    // The page of a refusal stays unread otherwise, and its connection open.
    const { statusCode, headers } = decision.resume();
    const { 'x-auth-redirect': signIn, 'set-cookie': cookies } = headers;
    // A renewed session passes as a cookie, which no cache may keep.
    if (cookies !== undefined) res.setHeader('Set-Cookie', cookies);
    res.setHeader('Cache-Control', 'private, no-store');
    const isPage = req.headers.accept?.includes('text/html') === true;
    if (statusCode === 401 && isPage && signIn !== undefined) res.writeHead(303, { Location: signIn }).end();
    else if (statusCode === 401 || statusCode === 403) res.writeHead(statusCode).end();
    else if (statusCode !== 200) res.writeHead(503, pick(headers, ['retry-after'])).end();
    else {
      const answer = await ask(beside, req.method, req.url, pick(headers, identity));
      res.writeHead(answer.statusCode ?? 502, pick(answer.headers, ['content-type', 'content-security-policy']));
      await pipeline(answer, res);
    }
  }

  return {
    handler: (req, res) => {
      const path = URL.parse(req.url ?? '/', 'http://gateway')?.pathname.toLowerCase() ?? '';
      // Clients must not ask it themselves: with `token: true`, a script could read the access token in its answer.
      if (/^\/auth\/forward(\/|$)/.test(path)) res.writeHead(404).end();
      else if (!/^\/neighbor(\/|$)/.test(path)) app(req, res);
      else if (req.method !== 'GET' && req.method !== 'HEAD') res.writeHead(405, { Allow: 'GET, HEAD' }).end();
      else pass(req, res).catch(() => (res.headersSent ? res.destroy() : res.writeHead(502).end()));
    },
    close: async () => {
      await Promise.all([behind, beside].map(close));
    },
  };
}

type Response = Parameters<RequestListener>[1];

async function ask(
  to: Server,
  method = 'GET',
  path = '/',
  headers: OutgoingHttpHeaders = {},
): Promise<IncomingMessage> {
  const { port } = to.address() as AddressInfo;
  const [answer] = (await once(
    request({ host: '127.0.0.1', port, method, path, headers, agent: false }).end(),
    'response',
  )) as [IncomingMessage];
  return answer;
}

function pick(headers: IncomingHttpHeaders, names: readonly string[]): OutgoingHttpHeaders {
  return Object.fromEntries(names.flatMap((name) => (headers[name] === undefined ? [] : [[name, headers[name]]])));
}

async function listen(handler: RequestListener): Promise<Server> {
  const server = createServer(handler).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return server;
}

async function close(server: Server): Promise<void> {
  server.close();
  server.closeAllConnections();
  await once(server, 'close');
}
