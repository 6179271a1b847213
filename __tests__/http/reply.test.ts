import { IncomingMessage } from 'node:http';
import type { ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { html } from '../../lib/tools/html.ts';
import type { BuiltInPage } from '../../lib/pages/view.ts';
import { createAssetHash, json, openHead, page, redirect, sendReply } from '../../lib/http/reply.ts';
import type { Reply, ReplyRules } from '../../lib/http/reply.ts';
import { rawRequest, sendRaw } from '../support/raw-socket.ts';
import { serve } from '../support/servers.ts';
import type { RunningServer } from '../support/servers.ts';

type Prepare = (req: IncomingMessage) => unknown;

/** The raw answer to a request: header lines in lower case, and a body. */
async function send(reply: Reply, request: string, prepare?: Prepare, definition: ReplyRules = {}) {
  const server = await serve((req, res) => {
    if (prepare === undefined) sendReply({ req, res, definition }, reply);
    else void Promise.resolve(prepare(req)).then(() => sendReply({ req, res, definition }, reply));
  });
  return answerOf(server, request);
}

async function answerOf(server: RunningServer, request: string) {
  const { status, head, body } = await sendRaw(server.port, request);
  await server.close();
  const lines = head.split('\r\n').slice(1);
  const headers = new Map(lines.map((line) => [line.split(':', 1)[0]?.toLowerCase(), line.replace(/^[^:]*: */, '')]));
  return { status, headers, body };
}

const get = rawRequest('GET', '/');
const view: BuiltInPage = {
  kind: 'error',
  title: 'Hello',
  lang: 'en',
  values: {},
  fields: [],
  buttons: [],
  links: {},
  labels: {},
  choices: [],
};
const hello = page(200, html`<p>Hello</p>`, "default-src 'none'", view);

describe('a reply', () => {
  it('in JSON has its type and its length in bytes, and is never cached', async () => {
    const { status, headers, body } = await send(json(201, { name: 'Zoë' }), get);
    expect([status, body.length, headers.get('content-length')]).toEqual([201, 15, '15']);
    expect(headers.get('content-type')).toBe('application/json; charset=utf-8');
    expect(headers.get('cache-control')).toBe('private, no-store');
    expect(headers.get('vary')).toBe('Cookie, Accept');
    expect(headers.get('x-content-type-options')).toBe('nosniff');
    expect(headers.get('referrer-policy')).toBe('same-origin');
    expect(headers.get('content-security-policy')).toBeUndefined();
  });

  it('with a page has its policy and the other headers of a page', async () => {
    const { headers, body } = await send(hello, get);
    expect(body).toBe('<p>Hello</p>');
    expect(headers.get('content-type')).toBe('text/html; charset=utf-8');
    expect(headers.get('content-security-policy')).toBe("default-src 'none'");
    expect(headers.get('x-frame-options')).toBe('DENY');
    expect(headers.get('cross-origin-opener-policy')).toBe('same-origin');
    expect(headers.get('cross-origin-resource-policy')).toBe('same-origin');
    expect(headers.get('permissions-policy')).toContain('camera=()');
  });

  it('with an asset has its type, and the headers of the asset replace ours', async () => {
    const asset: Reply = {
      status: 200,
      headers: { 'Cache-Control': 'public, max-age=60' },
      body: { kind: 'asset', text: 'a{}', type: 'text/css; charset=utf-8' },
    };
    const { headers, body } = await send(asset, get);
    expect([body, headers.get('content-type')]).toEqual(['a{}', 'text/css; charset=utf-8']);
    expect([headers.get('cache-control'), headers.get('vary')]).toEqual(['public, max-age=60', 'Cookie']);
  });

  it('without a body has the length 0, except for a 204, which has none', async () => {
    const moved = await send(redirect(303, '/login'), get);
    expect([moved.status, moved.headers.get('location'), moved.headers.get('content-length')]).toEqual([
      303,
      '/login',
      '0',
    ]);
    expect(moved.headers.has('content-type')).toBe(false);
    expect((await send({ status: 204 }, get)).headers.has('content-length')).toBe(false);
  });

  it('to HEAD has the head of the GET', async () => {
    const { headers, body } = await send(json(200, 'a body'), rawRequest('HEAD', '/', ['Connection: close']));
    expect([headers.get('content-length'), body]).toEqual(['8', '']);
  });
});

describe('a popup', () => {
  const openerPolicy = async (reply: Reply, rules: ReplyRules) =>
    (await send(reply, get, undefined, rules)).headers.get('cross-origin-opener-policy');

  it('keeps its opener on pages and redirects where OAuth clients open them in one', async () => {
    const rules = { keepsOpener: true };
    expect(await openerPolicy(hello, rules)).toBe('unsafe-none');
    expect(await openerPolicy(redirect(303, '/login'), rules)).toBe('unsafe-none');
    expect(await openerPolicy(json(200, {}), rules)).toBeUndefined();
    expect(await openerPolicy({ status: 204, headers: { Allow: 'GET' } }, rules)).toBeUndefined();
  });

  it('loses it on pages elsewhere, and redirects leave it to the application', async () => {
    expect(await openerPolicy(hello, {})).toBe('same-origin');
    expect(await openerPolicy(redirect(303, '/login'), {})).toBeUndefined();
  });
});

describe('the head of a page that the application writes', () => {
  const open = async (reply: Reply, own: Readonly<Record<string, string>>) => {
    const server = await serve((req, res) => {
      for (const [name, value] of Object.entries(own)) res.setHeader(name, value);
      openHead({ req, res }, reply);
      res.end();
    });
    return (await answerOf(server, get)).headers;
  };

  it('has the page’s other headers, and no Content-Security-Policy', async () => {
    const headers = await open(hello, {});
    expect(headers.has('content-security-policy')).toBe(false);
    expect(headers.get('x-frame-options')).toBe('DENY');
  });

  it('keeps the application’s own Content-Security-Policy', async () => {
    const headers = await open(hello, { 'Content-Security-Policy': "img-src 'self'" });
    expect(headers.get('content-security-policy')).toBe("img-src 'self'");
  });

  it('names the origin to this one, so that a browser sends it with the page’s form', async () => {
    const headers = await open({ ...hello, headers: { 'Referrer-Policy': 'no-referrer' } }, {});
    expect(headers.get('referrer-policy')).toBe('same-origin');
  });
});

it('refuses a websocket’s handshake by ending it, because it has no response with headers', () => {
  const calls: string[] = [];
  // What Engine.IO passes to middleware; its setters throw.
  const res = new Proxy(
    {},
    { get: (_target, name) => (name === 'headersSent' ? undefined : () => calls.push(String(name))) },
  );
  sendReply({ req: new IncomingMessage(new Socket()), res: res as unknown as ServerResponse }, json(401, {}));
  expect(calls).toEqual(['end']);
});

it('names an asset by the first 16 characters of its SHA-256 in base64url', () => {
  const hash = createAssetHash('a{}');
  expect([hash(), hash(), createAssetHash('b{}')()]).toEqual([
    'X1RutGBrXCt9KkSa',
    'X1RutGBrXCt9KkSa',
    '7yqHVAesot11p6Hc',
  ]);
});

describe('the connection', () => {
  const isKept = async (request: string, prepare?: Prepare): Promise<boolean> =>
    (await send({ status: 204 }, request, prepare)).headers.get('connection') !== 'close';

  it('is closed after a reply to a body that was not read', async () => {
    expect(await isKept(rawRequest('POST', '/', ['Content-Length: 9'], 'half'))).toBe(false);
    expect(await isKept(rawRequest('POST', '/', ['Transfer-Encoding: chunked'], '4\r\nhalf\r\n'))).toBe(false);
  });

  it('is kept if there was no body', async () => {
    expect(await isKept(get)).toBe(true);
    expect(await isKept(rawRequest('POST', '/', ['Content-Length: 0']))).toBe(true);
    // Long after the request has ended, too.
    expect(await isKept(get, (req) => text(req))).toBe(true);
  });

  it('of HTTP/2 is kept, because it carries other requests as well', async () => {
    const toHttp2 = (req: IncomingMessage): unknown => Object.assign(req, { httpVersionMajor: 2 });
    expect(await isKept(rawRequest('POST', '/', ['Content-Length: 9'], 'half'), toHttp2)).toBe(true);
  });

  it('is kept if the body was read', async () => {
    expect(await isKept(rawRequest('POST', '/', ['Content-Length: 4'], 'body'), (req) => text(req))).toBe(true);
  });
});
