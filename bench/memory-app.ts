/** The application that `memory.ts` measures: one adapter with its defaults. Its provider calls are forwarded to the parent. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import express from 'express';
import { b2bAuth } from '../lib/b2b/index.ts';
import type { B2bAuthOptions } from '../lib/b2b/index.ts';
import { backendAuth } from '../lib/backend/index.ts';
import type { BackendAuthOptions } from '../lib/backend/index.ts';
import { requireSession } from '../lib/index.ts';

export type Weighed = { readonly provider: string } & (
  | { readonly adapter: 'b2b'; readonly options: B2bAuthOptions }
  | { readonly adapter: 'backend'; readonly options: BackendAuthOptions }
);

const weighed = JSON.parse(process.argv[2] ?? '') as Weighed;

async function askParent(input: string | URL | Request, init?: RequestInit): Promise<Response> {
  const request = new Request(input, init);
  const headers = {
    'x-url': request.url,
    'x-method': request.method,
    'x-type': request.headers.get('content-type') ?? '',
  };
  return fetch(weighed.provider, { method: 'POST', headers, body: await request.text() });
}

const auth =
  weighed.adapter === 'b2b'
    ? b2bAuth({ ...weighed.options, fetch: askParent })
    : backendAuth({ ...weighed.options, fetch: askParent });
const app = express();
app.use(auth);
app.get('/me', requireSession(), (_req, res) => void res.send('Hello'));
const server = createServer(app);
// Between requests the parent makes cookies, which takes longer than Node keeps an idle connection open.
server.keepAliveTimeout = 60_000;
await once(server.listen(0, '127.0.0.1'), 'listening');

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;
process.on('message', () => {
  collect();
  process.send?.(process.memoryUsage().heapUsed);
});
process.on('disconnect', () => process.exit());
process.send?.(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
