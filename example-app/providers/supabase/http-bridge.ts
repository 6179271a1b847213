import type { IncomingMessage, ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';

export type FetchHandler = (request: Request) => Response | Promise<Response>;

/** Serves a WHATWG fetch handler from a node:http server whose origin is `origin`. */
export async function serveRequest(
  handler: FetchHandler,
  origin: string,
  req: IncomingMessage,
  res: ServerResponse,
): Promise<void> {
  try {
    const answer = await handler(await toRequest(req, origin));
    for (const [name, value] of answer.headers) {
      // Several cookies arrive as several entries and must leave as several headers.
      if (name === 'set-cookie') res.appendHeader(name, value);
      else res.setHeader(name, value);
    }
    res.writeHead(answer.status);
    if (answer.body) await pipeline(Readable.fromWeb(answer.body), res);
    else res.end();
  } catch (error) {
    if (res.headersSent) res.destroy();
    else res.writeHead(500, { 'content-type': 'text/plain' }).end('The local Supabase backend failed. See its log.');
    console.error('supabase-local:', error);
  }
}

async function toRequest(req: IncomingMessage, origin: string): Promise<Request> {
  const headers = new Headers();
  for (const [name, value] of Object.entries(req.headers)) {
    for (const one of [value ?? []].flat()) headers.append(name, one);
  }
  const method = req.method ?? 'GET';
  const init = { method, headers };
  const url = new URL(req.url ?? '/', origin);
  if (method === 'GET' || method === 'HEAD') return new Request(url, init);
  return new Request(url, { ...init, body: await buffer(req) });
}
