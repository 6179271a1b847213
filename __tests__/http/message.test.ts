import { IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import { TLSSocket } from 'node:tls';
import express from 'express';
import express4 from 'express4';
import {
  comparablePath,
  header,
  isPrefetch,
  isSafeMountPath,
  isSubresource,
  mountPath,
  prefersJson,
  requestTarget,
} from '../../lib/http/message.ts';
import { protocolOf, requestOrigin } from '../../lib/http/origin.ts';

interface Parts {
  readonly method?: string;
  readonly url?: string | undefined;
  readonly originalUrl?: string;
  readonly baseUrl?: string;
  readonly app?: unknown;
  readonly headers?: Record<string, string | string[]>;
  readonly encrypted?: boolean;
}

/** A request as Node's server makes it, with what Express and Connect add where it is given. */
function request({ headers = {}, encrypted = false, ...rest }: Parts): IncomingMessage {
  const socket = encrypted ? new TLSSocket(new Socket()) : new Socket();
  const req = new IncomingMessage(socket);
  Object.assign(req, { method: 'GET', ...rest });
  Object.assign(req.headers, headers);
  return req;
}

const trusting = (version: typeof express, setting: unknown = true) => version().set('trust proxy', setting);

describe('the target', () => {
  it('is what the client sent, whatever routers have removed', () => {
    expect(requestTarget(request({ url: '/b?c', originalUrl: '/a/b?c' }))).toBe('/a/b?c');
    expect(requestTarget(request({ url: '/b?c' }))).toBe('/b?c');
    expect(requestTarget(request({ url: undefined }))).toBe('/');
  });
});

describe('the mount path', () => {
  it('is the baseUrl of an Express application', () => {
    expect(mountPath(request({ app: express(), baseUrl: '/auth', originalUrl: '/other/b', url: '/b' }))).toBe('/auth');
    expect(mountPath(request({ app: express(), url: '/b' }))).toBe('');
  });

  it.each([
    ['/b', '/b', ''],
    ['/app/b?x=/b', '/b?x=/b', '/app'],
    ['/app', '/', '/app'],
    ['/app?x', '/?x', '/app'],
    ['/app/', '/', '/app'],
    ['/', '/', ''],
    ['/a/b', '/rewritten', ''],
  ])('of %j is derived from what Connect left of it, %j', (originalUrl, url, prefix) => {
    expect(mountPath(request({ originalUrl, url }))).toBe(prefix);
  });

  it('is the root if it is unknown', () => {
    expect(mountPath(request({ url: undefined }))).toBe('');
  });

  it.each([
    ['', true],
    ['/app', true],
    ['/app/tenant-1', true],
    ['//evil.example', false],
    ['/\\evil.example', false],
    ['/app/..//evil.example', false],
    ['/app?tenant=1', false],
    ['/app#tenant', false],
    ['https://evil.example', false],
  ])('%j is safe in URLs: %p', (prefix, expected) => expect(isSafeMountPath(prefix)).toBe(expected));
});

describe('the protocol', () => {
  const forwarded = { 'x-forwarded-proto': 'https' };

  it('is that of the socket', () => {
    expect(protocolOf(request({}))).toBe('http');
    expect(protocolOf(request({ encrypted: true }))).toBe('https');
  });

  it('is never read from a header by an application without a trust proxy setting', () => {
    expect(protocolOf(request({ headers: forwarded }))).toBe('http');
    expect(protocolOf(request({ headers: forwarded, app: express() }))).toBe('http');
    expect(protocolOf(request({ headers: forwarded, app: { get: 'nothing' } }))).toBe('http');
    expect(protocolOf(request({ headers: forwarded, app: () => undefined }))).toBe('http');
    expect(protocolOf(request({ headers: forwarded, app: Object.assign(() => 0, { get: 'text' }) }))).toBe('http');
  });

  describe.each([
    ['Express 5', express],
    ['Express 4', express4],
  ] as const)('behind a proxy that %s trusts', (_name, version) => {
    it.each([
      ['https', 'https'],
      ['HTTPS , http', 'https'],
      ['http,https', 'http'],
      ['gopher', 'http'],
    ])('%j means %s', (value, protocol) => {
      const app = trusting(version);
      expect(protocolOf(request({ app, encrypted: true, headers: { 'x-forwarded-proto': value } }))).toBe(protocol);
      expect(protocolOf(request({ app, headers: { 'x-forwarded-proto': [value, 'ftp'] } }))).toBe(protocol);
    });

    it.each(['', ' ', ',https'])('a header without a value (%j) leaves the protocol of the socket', (value) => {
      const app = trusting(version);
      expect(protocolOf(request({ app, encrypted: true, headers: { 'x-forwarded-proto': value } }))).toBe('https');
      expect(protocolOf(request({ app, headers: { 'x-forwarded-proto': value } }))).toBe('http');
    });

    it('asks about the immediate peer, the first hop', () => {
      const hops: unknown[] = [];
      const app = trusting(version, (...asked: unknown[]) => hops.push(asked));
      protocolOf(request({ app, headers: forwarded }));
      expect(hops).toEqual([[undefined, 0]]);
    });
  });
});

describe('the origin', () => {
  const originOf = (host: string, parts: Parts = {}) => requestOrigin(request({ ...parts, headers: { host } }));

  it.each([
    ['app.example.com', 'http://app.example.com'],
    ['APP.example.com:8080', 'http://app.example.com:8080'],
    ['app.example.com:80', 'http://app.example.com'],
    ['localhost', 'http://localhost'],
    ['a', 'http://a'],
    ['my_app.example.com.', 'http://my_app.example.com.'],
    ['127.0.0.1:3000', 'http://127.0.0.1:3000'],
    ['[::1]:3000', 'http://[::1]:3000'],
  ])('of %j', (host, origin) => expect(originOf(host)).toBe(origin));

  it('omits the default port of its protocol', () => {
    expect(originOf('app.example.com:443', { encrypted: true })).toBe('https://app.example.com');
    expect(originOf('app.example.com:443')).toBe('http://app.example.com:443');
  });

  it.each([
    '',
    'user@app.example.com',
    'app.example.com/path',
    'app.example.com\t',
    'app example.com',
    'app.example.com:99999',
    'app.example.com:port',
    'app.example.com:123456',
    '-app.example.com',
    '.example.com',
    'a-',
    'x[::1]',
    '[::1]x',
    '[]',
    'a.example,b.example',
    'ä.example',
  ])('is none of %j', (host) => {
    expect(() => originOf(host)).toThrow(expect.objectContaining({ code: 'invalid_host', status: 400 }));
  });

  it('is an error without a host', () => {
    expect(() => requestOrigin(request({}))).toThrow(expect.objectContaining({ code: 'invalid_host' }));
  });

  it('is the forwarded host’s if the application trusts the peer, and only then', () => {
    const headers = { host: 'inner:3000', 'x-forwarded-host': 'app.example.com, inner', 'x-forwarded-proto': 'https' };
    expect(requestOrigin(request({ app: trusting(express), headers }))).toBe('https://app.example.com');
    expect(requestOrigin(request({ app: express(), headers }))).toBe('http://inner:3000');
    expect(requestOrigin(request({ app: trusting(express), headers: { host: 'inner:3000' } }))).toBe(
      'http://inner:3000',
    );
  });
});

describe('JSON is preferred', () => {
  const wants = (headers: Record<string, string>, method = 'GET') => prefersJson(request({ method, headers }));

  it.each([
    ['application/json', true],
    ['APPLICATION/JSON', true],
    ['application/json, text/html;q=0.9', true],
    ['text/html, application/json;q=0.9', false],
    ['application/*', true],
    ['text/html;q=0.1, application/*;q=0.2', true],
    ['*/*', false],
    ['text/html', false],
    ['application/jsonp', false],
    ['', false],
  ])('or not according to Accept: %j', (accept, expected) => expect(wants({ accept })).toBe(expected));

  it.each([
    ['application/json', true],
    ['Application/JSON ; charset=utf-8', true],
    ['application/json-patch+json', false],
    ['text/application/json', false],
    ['application/x-www-form-urlencoded', false],
  ])('or not according to the type of a POST: %j', (type, expected) => {
    expect(wants({ 'content-type': type }, 'POST')).toBe(expected);
    expect(wants({ 'content-type': type }, 'GET')).toBe(false);
  });

  it.each([
    ['navigate', false],
    ['cors', true],
    ['same-origin', true],
    ['no-cors', true],
  ])('or not according to the browser’s Sec-Fetch-Mode: %j', (mode, expected) => {
    expect(wants({ 'sec-fetch-mode': mode })).toBe(expected);
  });

  it('not at all without any of these headers', () => {
    expect(wants({})).toBe(false);
    expect(wants({}, 'POST')).toBe(false);
  });
});

it('uses the first of a repeated header', () => {
  expect(header(request({ headers: { purpose: ['a', 'b'] } }), 'purpose')).toBe('a');
  expect(header(request({ headers: { purpose: 'a' } }), 'purpose')).toBe('a');
  expect(header(request({}), 'purpose')).toBeUndefined();
});

it.each([
  [{ 'sec-purpose': 'prefetch' }, true],
  [{ 'sec-purpose': 'prefetch;prerender' }, true],
  [{ 'sec-purpose': 'PRERENDER' }, true],
  [{ purpose: 'prefetch' }, true],
  [{ 'sec-purpose': 'other', purpose: 'prefetch' }, false],
  [{ purpose: 'prefetched' }, false],
  [{}, false],
])('recognizes a prefetch, or none: %j', (headers, expected) => {
  expect(isPrefetch(request({ headers: { ...headers } }))).toBe(expected);
});

it.each([
  ['no-cors', true],
  ['cors', false],
  ['navigate', false],
])('recognizes a subresource, or none: %j', (mode, expected) => {
  expect(isSubresource(request({ headers: { 'sec-fetch-mode': mode } }))).toBe(expected);
  expect(isSubresource(request({}))).toBe(false);
});

describe('a path as Express compares it', () => {
  it.each([
    ['/', '/'],
    ['', ''],
    ['/login', '/login'],
    ['/Login/', '/login'],
    ['/a/B//', '/a/b/'],
  ])('%j is %j', (path, expected) => {
    expect(comparablePath(path)).toBe(expected);
  });
});
