import http from 'node:http';
import { serve } from '../../support/servers.ts';

/** What a gateway does to a request that it should have passed on. */
export type Fault =
  /** The gateway answers by itself. */
  | { readonly status: number; readonly body?: string }
  /** The answer comes so much later, in milliseconds. */
  | { readonly delay: number }
  /** GoTrue does its work; its answer never arrives. */
  | 'lost'
  /** The socket is closed before a byte is sent. */
  | 'refused';

export interface Passed {
  readonly method: string;
  /** Below `/auth/v1`, with the query. */
  readonly path: string;
  readonly headers: http.IncomingHttpHeaders;
  readonly body: string;
  /** GoTrue's own answer, or the gateway's. */
  readonly status: number;
  readonly answer: string;
}

export type Proxy = Awaited<ReturnType<typeof startProxy>>;

const prefix = '/auth/v1';
/** What browsers and other servers open without a key. */
const open = /^\/(verify|authorize|callback|\.well-known\/|oauth\/|sso\/)/;

/** Supabase's gateway: below `/auth/v1` it passes on to GoTrue what carries an API key. */
export async function startProxy(port: number, upstream: string, keys: readonly string[]) {
  let target = upstream;
  let peer = '127.0.0.1';
  const passed: Passed[] = [];
  const faults: { readonly path: RegExp; readonly fault: Fault; times: number }[] = [];

  const nextFault = (path: string): Fault | undefined => {
    const found = faults.find((each) => each.path.test(path) && each.times > 0);
    if (found) found.times -= 1;
    return found?.fault;
  };

  async function pass(req: http.IncomingMessage, res: http.ServerResponse): Promise<void> {
    const path = (req.url ?? '/').slice(prefix.length);
    const body = await readText(req);
    const fault = nextFault(path);
    const isRefused = !open.test(path) && !keys.includes(String(req.headers['apikey']));
    const own = isRefused ? { status: 401, body: '{"message":"Invalid API key"}' } : fault;
    if (own === 'refused') {
      res.destroy();
      return;
    }
    if (typeof own === 'object' && 'status' in own) {
      const { status, body: answer = '' } = own;
      passed.push({ method: req.method ?? '', path, headers: req.headers, body, status, answer });
      res.writeHead(status, { 'content-type': 'application/json' }).end(answer);
      return;
    }
    const { answer, text } = await ask(target + path, req, body, peer);
    passed.push({
      method: req.method ?? '',
      path,
      headers: req.headers,
      body,
      status: answer.statusCode ?? 0,
      answer: text,
    });
    if (typeof own === 'object') await new Promise((resolve) => setTimeout(resolve, own.delay).unref());
    if (own === 'lost') res.destroy();
    else if (!res.destroyed) res.writeHead(answer.statusCode ?? 502, answer.headers).end(text);
  }

  const server = await serve((req, res) => void pass(req, res).catch(() => res.destroy()), port);
  return {
    url: server.origin,
    /** Every request that came with an answer, in order. */
    passed,
    /** Those whose path starts like this. */
    to: (path: string): readonly Passed[] => passed.filter((each) => each.path.startsWith(path)),
    /** Breaks what matches for the next `times` requests, or until `heal()`. */
    break: (path: RegExp, fault: Fault, times = Infinity) => void faults.push({ path, fault, times }),
    heal: () => void faults.splice(0),
    /** Passes on to another GoTrue from now on. */
    redirect(url: string) {
      target = url;
    },
    /** The address that counts where a request names none in `X-Forwarded-For`. */
    forwardedFor(address: string) {
      peer = address;
    },
    close: () => server.close(),
  };
}

async function readText(stream: AsyncIterable<Uint8Array>): Promise<string> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of stream) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
}

function ask(
  url: string,
  { method, headers }: http.IncomingMessage,
  body: string,
  peer: string,
): Promise<{ answer: http.IncomingMessage; text: string }> {
  return new Promise((resolve, reject) => {
    // As it came, but for what speaks of this connection only, or would have the answer compressed.
    const own = new Set(['host', 'connection', 'accept-encoding']);
    const sent = Object.entries(headers).filter(([name]) => !own.has(name));
    const forwarded = { 'x-forwarded-for': peer, ...Object.fromEntries(sent) };
    const request = http.request(url, { method, headers: forwarded, agent: false }, (answer) => {
      readText(answer).then((text) => resolve({ answer, text }), reject);
    });
    request.on('error', reject);
    request.end(body);
  });
}
