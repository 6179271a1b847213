import type { Router } from 'express';
import { request } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { forwardAuth } from '../../lib/index.ts';
import type { Handler } from '../support/handler-list.ts';
import { closeAfterEach } from '../support/close-after-each.ts';
import type { Host } from '../support/hosts.ts';
import { describeAtRoot } from '../support/only.ts';
import { lacks, ways } from '../support/way-back.ts';
import type { Way } from '../support/way-back.ts';

/**
 * The pages belong to a service of its own, and a gateway asks `forwardAuth` before each request to it: a 401 leads where
 * `X-Auth-Redirect` says, and a 403 shows the answer's own page, as Traefik, Caddy and Envoy do.
 */
const closing = closeAfterEach();

/** The gateway and the service behind it, on the application's own port. */
const behindGateway =
  (prefix: string) =>
  (host: Host, auth: Router): void => {
    const root = prefix === '/' ? '' : prefix;
    host.use(`${root}/forward`, forwardAuth(auth) as Handler);
    host.all([`${root}/wiki/page`, `${root}/wiki/save`, `${root}/wiki/data`], (req, res) =>
      ask(req, res, `${root}/forward`),
    );
  };

function ask(req: IncomingMessage & { originalUrl?: string }, res: ServerResponse, path: string): void {
  const { method = '', headers, originalUrl = req.url ?? '' } = req;
  const passed = Object.entries(headers).filter(([name]) => !name.startsWith('content-'));
  const asked = { ...Object.fromEntries(passed), 'x-original-uri': originalUrl, 'x-original-method': method };
  const subrequest = request({ port: req.socket.localPort, host: '127.0.0.1', path, headers: asked }, (answer) => {
    const chunks: Buffer[] = [];
    answer.on('data', (chunk: Buffer) => chunks.push(chunk));
    answer.on('end', () => {
      const { 'x-auth-redirect': to, 'set-cookie': cookies } = answer.headers;
      if (cookies !== undefined) res.setHeader('set-cookie', cookies);
      if (answer.statusCode === 401) res.writeHead(302, { location: String(to) }).end();
      else if (answer.statusCode === 200) res.end(originalUrl.includes('/page') ? 'page' : 'done');
      else res.writeHead(answer.statusCode ?? 500, { 'content-type': 'text/html' }).end(Buffer.concat(chunks));
    });
  });
  subrequest.end();
}

type Act = (way: Way) => Promise<unknown>;
const page = ({ origin, root }: Way): string => `${origin}${root}/wiki/page?tab=2`;

const acts: Readonly<Record<string, Act>> = {
  'opens the page': (way) => way.browser.open(page(way)),
  'sends a form of the page': (way) => way.browser.post(`${way.root}/wiki/save`, { a: '1' }, { referer: page(way) }),
  'runs a script of the page': async (way) => {
    const headers = { accept: 'application/json', referer: page(way) };
    return way.browser.open((await way.browser.jar.get(`${way.root}/wiki/data`, { headers })).location);
  },
};

const states = ['never had a session', 'lost the session by endSession', 'is refused by accept'];

const cases = Object.keys(ways).flatMap((adapter) =>
  ['/', '/below'].flatMap((prefix) =>
    states.flatMap((state) =>
      Object.keys(acts)
        .filter((act) => lacks[state]!.leadsScripts || !act.includes('script'))
        .map((act) => [adapter as keyof typeof ways, prefix, state, act] as const),
    ),
  ),
);

describeAtRoot('a person behind a gateway that asks forwardAuth', () => {
  it.each(cases)('of %s mounted at %s, who %s and %s, ends on that page', async (adapter, prefix, state, act) => {
    const way = await closing(ways[adapter]({ prefix, after: behindGateway(prefix) }));
    const lack = lacks[state]!;
    await lack.become(way);
    await acts[act]!(way);
    expect(way.browser.at.answer.text).not.toMatch(/^(?:page|done)$/);
    await lack.goOn(way);
    expect([way.browser.at.url, way.browser.at.answer.text]).toEqual([page(way), 'page']);
  });
});
