import http from 'node:http';

/** One answer as it came over the wire: redirects are not followed, cookies not hidden. */
export interface Answer {
  readonly status: number;
  readonly headers: http.IncomingHttpHeaders;
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

/** One request over a connection of its own. */
export function send(target: URL, { method = 'GET', headers = {}, body }: Ask): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const req = http.request(
      target,
      { method, headers: { ...headers } as http.OutgoingHttpHeaders, agent: false },
      (res) => {
        const chunks: Buffer[] = [];
        res.on('data', (chunk: Buffer) => chunks.push(chunk));
        res.on('error', reject);
        res.on('end', () => {
          const text = Buffer.concat(chunks).toString();
          resolve({
            status: res.statusCode ?? 0,
            headers: res.headers,
            setCookies: res.headers['set-cookie'] ?? [],
            text,
            get json() {
              return JSON.parse(text);
            },
            location: res.headers.location === undefined ? '' : new URL(res.headers.location, target).href,
          });
        });
      },
    );
    req.on('error', reject);
    req.end(body);
  });
}
