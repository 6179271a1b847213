import type { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { html } from '../../lib/core/html.ts';
import { pageView } from '../../lib/http/page-view.ts';
import { json, page, redirect, sendReply } from '../../lib/http/reply.ts';
import type { Reply } from '../../lib/http/reply.ts';
import { rawRequest, sendRaw } from '../support/raw-socket.ts';
import { serve } from '../support/servers.ts';

/** The raw answer to a request: header lines in lower case, and a body. */
async function send(reply: Reply, request: string, prepare: (req: unknown) => unknown = () => undefined) {
  const server = await serve((req, res) => {
    void Promise.resolve(prepare(req)).then(() => sendReply({ req, res }, reply));
  });
  const { status, head, body } = await sendRaw(server.port, request);
  await server.close();
  const lines = head.split('\r\n').slice(1);
  const headers = new Map(lines.map((line) => [line.split(':', 1)[0]?.toLowerCase(), line.replace(/^[^:]*: */, '')]));
  return { status, headers, body };
}

const get = rawRequest('GET', '/');

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
    const { headers, body } = await send(
      page(200, html`<p>Hello</p>`, "default-src 'none'", pageView('Hello', 'en', { kind: 'error' })),
      get,
    );
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

describe('the connection', () => {
  const isKept = async (request: string, prepare?: (req: unknown) => unknown): Promise<boolean> =>
    (await send({ status: 204 }, request, prepare)).headers.get('connection') !== 'close';

  it('is closed after a reply to a body that was not read', async () => {
    expect(await isKept(rawRequest('POST', '/', ['Content-Length: 9'], 'half'))).toBe(false);
    expect(await isKept(rawRequest('POST', '/', ['Transfer-Encoding: chunked'], '4\r\nhalf\r\n'))).toBe(false);
  });

  it('is kept if there was no body', async () => {
    expect(await isKept(get)).toBe(true);
    expect(await isKept(rawRequest('POST', '/', ['Content-Length: 0']))).toBe(true);
  });

  it('is kept if the body was read', async () => {
    const read = (req: unknown): Promise<string> => text(req as Readable);
    expect(await isKept(rawRequest('POST', '/', ['Content-Length: 4'], 'body'), read)).toBe(true);
  });
});
