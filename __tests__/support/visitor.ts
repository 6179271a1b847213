import http from 'node:http';
import { prefixMapping as mapping } from './variant.ts';

/** What an express-session in front calls its cookie; it comes with every answer. */
export const frontCookie = 'front.sid';
/** What a compression in front adds to `Vary`. */
const frontVary = /(?:^|, *)accept-encoding(?=,|$)/i;

/** One answer as it came over the wire: redirects are not followed, cookies not hidden. */
export interface Answer {
  readonly status: number;
  /** Without what a compression in front adds to `Vary`. */
  readonly headers: http.IncomingHttpHeaders;
  /** Without the cookie of an express-session in front. */
  readonly setCookies: readonly string[];
  readonly text: string;
  /** The parsed body; throws when it is no JSON. */
  readonly json: any;
  /** The `Location` header, resolved against the request's URL; `''` where there is none. */
  readonly location: string;
}

export interface Ask {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string | readonly string[]>>;
  readonly body?: string;
}

/** A browser reduced to what matters here: a cookie jar per host and a real socket. */
export interface Visitor {
  get(url: string, ask?: Ask): Promise<Answer>;
  post(url: string, ask?: Ask): Promise<Answer>;
  ask(url: string, ask?: Ask): Promise<Answer>;
  /** GETs as a page of the application's own script would. */
  getJson(url: string): Promise<Answer>;
  postJson(url: string, body?: unknown): Promise<Answer>;
  readonly cookies: Map<string, string>;
  /** The `Cookie` header as it would be sent now. */
  cookieHeader(): string;
}

/** @param origin prefixed to URLs that are paths */
export function createVisitor(origin: string): Visitor {
  const cookies = new Map<string, string>();

  const cookieHeader = (): string => [...cookies].map(([name, value]) => `${name}=${value}`).join('; ');

  async function ask(url: string, { method = 'GET', headers = {}, body }: Ask = {}): Promise<Answer> {
    const target = new URL(url, origin);
    const isHome = target.origin === origin;
    const cookie = isHome ? cookieHeader() : '';
    const answer = await send(target, {
      method,
      headers: { ...(cookie === '' ? {} : { cookie }), ...headers },
      ...(body === undefined ? {} : { body }),
    });
    if (isHome) answer.setCookies.forEach((line) => keep(line));
    return answer;
  }

  function keep(line: string): void {
    const [pair = '', ...attributes] = line.split(/; */);
    const name = pair.slice(0, pair.indexOf('='));
    const isDeleted = attributes.some((attribute) => /^max-age=0$/i.test(attribute));
    if (isDeleted) cookies.delete(name);
    else cookies.set(name, pair.slice(pair.indexOf('=') + 1));
  }

  return {
    cookies,
    cookieHeader,
    ask,
    get: (url, options) => ask(url, { ...options, method: 'GET' }),
    post: (url, options) => ask(url, { ...options, method: 'POST' }),
    getJson: (url) => ask(url, { headers: { accept: 'application/json' } }),
    postJson: (url, body = {}) =>
      ask(url, {
        method: 'POST',
        headers: { accept: 'application/json', 'content-type': 'application/json' },
        body: JSON.stringify(body),
      }),
  };
}

/** One request over a connection of its own. For https it plays the proxy that ends TLS and says so. */
export function send(target: URL, { method = 'GET', headers = {}, body }: Ask): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const isProxied = target.protocol === 'https:';
    const forwarded = {
      'x-forwarded-proto': 'https',
      'x-forwarded-host': headers['host'] ?? target.host,
      'x-forwarded-for': '127.0.0.1',
    };
    const req = http.request(
      toSent(target.href.replace('https:', 'http:')),
      {
        method,
        headers: { ...(isProxied ? forwarded : {}), ...headers } as http.OutgoingHttpHeaders,
        agent: false,
      },
      (res) => {
        const chunks: Buffer[] = [];
        res.on('data', (chunk: Buffer) => chunks.push(chunk));
        res.on('error', reject);
        res.on('end', () => {
          const text = toAnswered(Buffer.concat(chunks).toString());
          const headers = withoutFront(res.headers);
          resolve({
            status: res.statusCode ?? 0,
            headers,
            setCookies: (res.headers['set-cookie'] ?? []).filter((line) => !line.startsWith(`${frontCookie}=`)),
            text,
            get json() {
              return JSON.parse(text);
            },
            location: headers.location === undefined ? '' : new URL(headers.location, target).href,
          });
        });
      },
    );
    req.on('error', reject);
    req.end(body === undefined ? undefined : toSent(body));
  });
}

const toSent = mapping?.sent ?? String;
const toAnswered = mapping?.answered ?? String;

function withoutFront({ vary = '', location, ...headers }: http.IncomingHttpHeaders): http.IncomingHttpHeaders {
  const own = vary.replace(frontVary, '').replace(/^, */, '');
  return {
    ...headers,
    ...(own === '' ? {} : { vary: own }),
    ...(location === undefined ? {} : { location: mapping?.location(location) ?? location }),
  };
}
