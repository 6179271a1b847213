import { createServer } from 'node:http';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { buffer } from 'node:stream/consumers';
import type { ApiCall } from './api.ts';
import type { RequestBody } from './authenticate.ts';
import { authorizePath } from './authorize.ts';
import { failWith, holdBack, takeFault } from './faults.ts';
import type { Endpoint, Switches } from './faults.ts';
import { picture } from '../page.ts';
import { newId } from './ids.ts';
import { json } from './replies.ts';
import type { Reply } from './replies.ts';
import type { RequestLog } from './request-log.ts';

/** The routes' handlers; `form` is null for GET. */
export interface Routes {
  readonly authorize: (query: URLSearchParams, form: URLSearchParams | null, cookieHeader?: string) => Reply;
  readonly authenticate: (body: RequestBody) => Promise<Reply>;
  readonly magicAuth: (body: RequestBody) => Reply;
  readonly jwks: (clientId: string) => Reply;
  readonly logout: (query: URLSearchParams) => Reply;
  readonly revoke: (sessionId: unknown, authorization: string | undefined) => Reply;
  /** The work of any other call; undefined where no path is known. */
  readonly api: (call: ApiCall) => (() => Reply) | undefined;
}

interface Route {
  readonly endpoint: Endpoint;
  readonly work: () => Promise<Reply>;
}

export interface ServerContext {
  readonly routes: Routes;
  readonly switches: Switches;
  readonly log: RequestLog;
  /** Requests without a response. */
  readonly hanging: Set<ServerResponse>;
  readonly now: () => number;
}

/** Only used to parse a request's target as a URL. */
const base = 'http://stand-in';

/** WorkOS' endpoints, behind the log, the gate and the faults. */
export function createWorkosServer({ routes, switches, log, hanging, now }: ServerContext): Server {
  async function answer(req: IncomingMessage, res: ServerResponse): Promise<void> {
    const { method = 'GET', url = '/' } = req;
    if (!URL.canParse(url, base)) {
      write(res, json(400, { message: 'Bad Request' }), now());
      return;
    }
    const { pathname: path, searchParams: query } = new URL(url, base);
    const text = (await buffer(req)).toString('utf8');
    const body = parseJson(text);
    const { authorization, cookie } = req.headers;
    const shown = method === 'GET' ? picture(path) : undefined;
    if (shown !== undefined) {
      write(res, shown, now());
      return;
    }
    const route = findRoute(routes, { method, path, query, text, body, authorization, cookie });
    if (!route) {
      write(res, json(404, { message: 'Not Found' }), now());
      return;
    }

    const { endpoint, work } = route;
    const grantType = typeof body?.['grant_type'] === 'string' ? body['grant_type'] : undefined;
    const { headers } = req;
    const fault = takeFault(switches, endpoint);
    log.add({ endpoint, method, path, query: Object.fromEntries(query), body: body ?? {}, grantType, headers });
    await holdBack(switches, endpoint);
    const reply = fault === null ? await work() : await failWith(fault, work, req, res);
    if (reply) write(res, reply, now());
    else if (fault === 'hang') hanging.add(res.once('close', () => hanging.delete(res)));
  }

  return createServer((req, res) => {
    answer(req, res).catch((error: unknown) => {
      // A client that disconnected during its request is no error of ours.
      if (!req.destroyed || req.complete) console.error('workos stand-in:', error);
      res.destroy();
    });
  });
}

interface ParsedRequest {
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly text: string;
  readonly body: RequestBody | null;
  readonly authorization: string | undefined;
  readonly cookie: string | undefined;
}

function findRoute(routes: Routes, parsed: ParsedRequest): Route | null {
  const { method, path, query, text, body, authorization, cookie } = parsed;
  // Wrapped, so that a route's work starts only in its turn, and a throw becomes a rejection.
  const route = (endpoint: Endpoint, work: () => Reply | Promise<Reply>): Route => {
    return { endpoint, work: async () => work() };
  };
  const clientId = /^\/sso\/jwks\/([^/]+)$/.exec(path)?.[1];
  if (method === 'GET' && clientId !== undefined) return route('jwks', () => routes.jwks(clientId));
  switch (`${method} ${path}`) {
    case `GET ${authorizePath}`:
      return route('authorize', () => routes.authorize(query, null, cookie));
    case `POST ${authorizePath}`:
      return route('authorize', () => routes.authorize(query, new URLSearchParams(text)));
    case 'POST /user_management/authenticate':
      return route('token', () => {
        return body ? routes.authenticate(body) : json(400, { message: 'The body must be a JSON object.' });
      });
    // https://workos.com/docs/reference/authkit/magic-auth/create
    case 'POST /user_management/magic_auth':
      return route('token', () => routes.magicAuth(body ?? {}));
    // https://workos.com/docs/reference/authkit/session/revoke
    case 'POST /user_management/sessions/revoke':
      return route('revoke', () => routes.revoke(body?.['session_id'], authorization));
    case 'GET /user_management/sessions/logout':
      return route('logout', () => routes.logout(query));
    default: {
      const work = routes.api({ method, path, query, body: body ?? {}, authorization });
      return work === undefined ? null : route(lists[path.replace(/^.*_|.*\//, '')] ?? 'api', work);
    }
  }
}

/** What the adapter itself may ask of the API, by the end of the path. */
const lists: Readonly<Record<string, Endpoint>> = {
  sessions: 'sessions',
  identities: 'identities',
  memberships: 'memberships',
};

function parseJson(text: string): RequestBody | null {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : null;
  } catch {
    return null;
  }
}

function isObject(value: unknown): value is RequestBody {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function write(res: ServerResponse, { status, headers, body }: Reply, nowMs: number): void {
  res.writeHead(status, { ...headers, 'x-request-id': newId('req', nowMs) }).end(body);
}
