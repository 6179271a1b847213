import http from 'node:http';
import { buffer } from 'node:stream/consumers';
import { serve } from '../../support/servers.ts';

/** What the network does to a request on its way to the provider, or to the answer on its way back. */
export type RelayFault =
  /** Something in between answers. */
  | { readonly status: number; readonly body?: string; readonly headers?: Readonly<Record<string, string>> }
  /** The provider does its work at once; its answer is delayed by this many milliseconds. */
  | { readonly delay: number }
  /** The provider does its work; its answer never arrives. */
  | 'lost'
  /** The connection closes before a byte is sent. */
  | 'refused';

export interface Relayed {
  readonly method: string;
  readonly path: string;
  readonly body: Readonly<Record<string, unknown>>;
  /** What the provider answered. */
  readonly answer: Readonly<Record<string, unknown>>;
}

export type Relay = Awaited<ReturnType<typeof startRelay>>;

/** Passes everything on to a provider, but for what a test breaks. */
export async function startRelay(upstream: string) {
  const relayed: Relayed[] = [];
  let broken: { readonly path: RegExp; readonly fault: RelayFault } | undefined;
  let brokenCalls = 0;

  async function pass(req: http.IncomingMessage, res: http.ServerResponse): Promise<void> {
    const { method = 'GET', url = '/', headers } = req;
    const sent = await buffer(req);
    const fault = broken?.path.test(url) === true ? broken.fault : undefined;
    if (fault !== undefined) brokenCalls += 1;
    if (fault === 'refused') {
      res.destroy();
      return;
    }
    if (typeof fault === 'object' && 'status' in fault) {
      res.writeHead(fault.status, { 'content-type': 'application/json', ...fault.headers }).end(fault.body ?? '{}');
      return;
    }
    const { answer, bytes } = await ask(upstream + url, method, headers, sent);
    relayed.push({ method, path: url.split('?', 1)[0] ?? '', body: parse(sent), answer: parse(bytes) });
    if (fault === 'lost') {
      res.destroy();
      return;
    }
    if (fault !== undefined) await new Promise((resolve) => setTimeout(resolve, fault.delay));
    if (!res.destroyed) res.writeHead(answer.statusCode ?? 502, answer.headers).end(bytes);
  }

  const server = await serve((req, res) => void pass(req, res).catch(() => res.destroy()));
  return {
    ...server,
    relayed,
    /** The refreshes that reached the provider. */
    refreshes: (): readonly Relayed[] => relayed.filter(({ body }) => body['grant_type'] === 'refresh_token'),
    /** How many calls met the present fault. */
    brokenCalls: (): number => brokenCalls,
    break(path: RegExp, fault: RelayFault): void {
      broken = { path, fault };
      brokenCalls = 0;
    },
    heal(): void {
      broken = undefined;
    },
  };
}

function parse(bytes: Buffer): Readonly<Record<string, unknown>> {
  try {
    return JSON.parse(bytes.toString()) as Readonly<Record<string, unknown>>;
  } catch {
    return {};
  }
}

function ask(
  url: string,
  method: string,
  headers: http.IncomingHttpHeaders,
  body: Buffer,
): Promise<{ readonly answer: http.IncomingMessage; readonly bytes: Buffer }> {
  return new Promise((resolve, reject) => {
    const ownHeaders = ['host', 'connection', 'accept-encoding'];
    const passed = Object.fromEntries(Object.entries(headers).filter(([name]) => !ownHeaders.includes(name)));
    const request = http.request(url, { method, headers: passed, agent: false }, (answer) => {
      buffer(answer).then((bytes) => resolve({ answer, bytes }), reject);
    });
    request.on('error', reject);
    request.end(body);
  });
}
