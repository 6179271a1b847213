import express from 'express';
import { once } from 'node:events';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { WebSocket, WebSocketServer } from 'ws';
import { b2bAuth, forwardAuth } from '../../lib/index.ts';
import { createB2bTestKit } from '../../lib/testing/index.ts';
import { adapters } from '../support/apps-under-test.ts';
import type { AppUnderTest } from '../support/apps-under-test.ts';
import { demoUsers, startB2bApp } from '../support/b2b-app.ts';
import { closeAfterEach } from '../support/close-after-each.ts';
import type { Handler } from '../support/handler-list.ts';
import { sendJson } from '../support/hosts.ts';
import { codeBlocks, markdownFiles } from '../support/markdown.ts';
import { startNginx } from '../support/nginx-server.ts';
import type { NginxServer } from '../support/nginx-server.ts';
import { sendRaw } from '../support/raw-socket.ts';
import { serve } from '../support/servers.ts';
import { createVisitor } from '../support/visitor.ts';
import type { Answer, Visitor } from '../support/visitor.ts';

/** The configuration that docs/other-services.md shows, word for word but for the ports. */
const [documented = ''] = markdownFiles()
  .filter(({ path }) => path === 'docs/other-services.md')
  .flatMap(codeBlocks)
  .filter(({ language }) => language === 'nginx')
  .map(({ code }) => code);

interface Neighbor {
  readonly port: number;
  /** The headers of the latest request. */
  readonly seen: () => http.IncomingHttpHeaders;
  readonly requests: () => number;
  close(): Promise<void>;
}

/** A service without a sign-in: it repeats who it is told the user is, and greets WebSockets. */
async function startNeighbor(): Promise<Neighbor> {
  let seen: http.IncomingHttpHeaders = {};
  let requests = 0;
  const server = http.createServer((req, res) => {
    seen = req.headers;
    requests += 1;
    req.resume().on('end', () => {
      if (req.url === '/wiki/broken') res.writeHead(500).end('its own');
      else res.writeHead(200, { 'content-type': 'text/plain' }).end(`${req.method} ${req.url}`);
    });
  });
  const sockets = new WebSocketServer({ noServer: true });
  server.on('upgrade', (req, socket, head) => {
    seen = req.headers;
    sockets.handleUpgrade(req, socket, head, (ws) =>
      ws.on('message', (text: Buffer) => ws.send(`${String(req.headers['x-auth-request-email'])}: ${text.toString()}`)),
    );
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    port: (server.address() as AddressInfo).port,
    seen: () => seen,
    requests: () => requests,
    close: () =>
      new Promise((resolve) => {
        for (const client of sockets.clients) client.terminate();
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

describe.each(adapters)('nginx as docs/other-services.md configures it, in front of $name', ({ name, start }) => {
  let app: AppUnderTest;
  let neighbor: Neighbor;
  let nginx: NginxServer;
  let isAllowed = true;

  beforeEach(async () => {
    isAllowed = true;
    app = await start({
      after: (host, auth) => {
        host.use('/auth/forward', forwardAuth(auth, { token: true, check: () => isAllowed }) as Handler);
        host.use('/headers', (req, res) => sendJson(res, req.headers));
      },
    });
    neighbor = await startNeighbor();
    nginx = await startNginx((port) =>
      documented
        .replace('listen 80;', `listen 127.0.0.1:${port};`)
        .replace('server 127.0.0.1:3000;', `server ${new URL(app.origin).host};`)
        .replace('server 127.0.0.1:4000;', `server 127.0.0.1:${neighbor.port};`),
    );
  });
  afterEach(async () => {
    await nginx.close();
    await neighbor.close();
    await app.close();
  });

  /** A browser that knows nginx alone, with the session of a user. */
  async function behindNginx(tokenBytes = 0): Promise<Visitor> {
    app.growTokens(tokenBytes);
    const signedIn = await app.signedIn();
    const visitor = createVisitor(nginx.origin);
    for (const [cookie, value] of signedIn.cookies) visitor.cookies.set(cookie, value);
    return visitor;
  }
  const page = { headers: { accept: 'text/html' } };
  const signInUrl = (path: string): string =>
    `${nginx.origin}${name === 'b2bAuth' ? '' : '/auth'}/login?returnTo=${encodeURIComponent(path)}`;

  it.each(['GET', 'HEAD', 'POST', 'PUT', 'DELETE'])('passes %s of a user on, with who it is', async (method) => {
    const visitor = await behindNginx();
    const body = method === 'POST' ? 'x'.repeat(100_000) : undefined;
    const answer = await visitor.ask('/wiki/page?a=1', { method, ...(body !== undefined && { body }) });
    expect([answer.status, answer.text]).toEqual([200, method === 'HEAD' ? '' : `${method} /wiki/page?a=1`]);
    const { cookie, authorization, ...headers } = neighbor.seen();
    expect(headers['x-auth-request-user']).toMatch(/./);
    expect(headers['x-auth-request-email']).toContain('@');
    expect(authorization).toMatch(/^Bearer ey/);
    expect([cookie, headers['x-auth-request-organization']]).toEqual([undefined, undefined]);
  });

  it('sends pages to the sign-in and back, and answers scripts with 401', async () => {
    const stranger = createVisitor(nginx.origin);
    const answer = await stranger.get('/wiki/page?a=1&b=%2F', page);
    expect([answer.status, answer.location]).toEqual([303, signInUrl('/wiki/page?a=1&b=%2F')]);
    expect(answer.headers['cache-control']).toBe('private, no-store');
    for (const accept of ['application/json', '*/*', '']) {
      const refused = await stranger.get('/wiki/page', { headers: { accept } });
      expect([refused.status, refused.location]).toEqual([401, '']);
    }
    const posted = await stranger.post('/wiki/page', { ...page, body: 'a=1' });
    expect([posted.status, posted.location]).toEqual([303, signInUrl('/wiki/page')]);
    expect(neighbor.requests()).toBe(0);
  });

  it.each([
    '//evil.example/wiki/../wiki/x',
    '/wiki/..//evil.example',
    '/wiki/\\evil.example',
    '/wiki/%0d%0aSet-Cookie:x',
  ])('leads from %s nowhere else', async (path) => {
    const { head: answer } = await sendRaw(
      nginx.port,
      `GET ${path} HTTP/1.1\r\nHost: 127.0.0.1:${nginx.port}\r\nAccept: text/html\r\nConnection: close\r\n\r\n`,
    );
    const [, location] = /^location: (.*)$/im.exec(answer) ?? [];
    expect(new URL(location ?? nginx.origin).origin).toBe(nginx.origin);
    const returnTo = new URL(location ?? nginx.origin).searchParams.get('returnTo') ?? '/';
    expect(new URL(returnTo, nginx.origin).origin).toBe(nginx.origin);
    expect(answer).not.toMatch(/^set-cookie:x/im);
    expect(neighbor.requests()).toBe(0);
  });

  it('removes what clients send as the identity', async () => {
    const forged = {
      'x-auth-request-user': 'admin',
      'x-auth-request-email': 'admin@example.com',
      'x-auth-request-organization': 'org_1',
      'x-auth-redirect': 'https://evil.example/',
      'x-original-uri': '//evil.example',
      'x-original-method': 'GET',
      authorization: 'Bearer forged',
    };
    const visitor = await behindNginx();
    expect((await visitor.get('/wiki/', { headers: forged })).status).toBe(200);
    const identity = ({ authorization, ...headers }: http.IncomingHttpHeaders): unknown[] => [
      authorization,
      ...Object.entries(headers).filter(([header]) => header.startsWith('x-auth-')),
    ];
    expect(JSON.stringify(identity(neighbor.seen()))).not.toMatch(/admin|org_1|evil|forged/);
    expect(identity((await visitor.get('/headers', { headers: forged })).json)).toEqual(['Bearer forged']);
    const stranger = createVisitor(nginx.origin);
    const answer = await stranger.get('/wiki/', { headers: { ...forged, accept: 'text/html' } });
    expect([answer.status, answer.location]).toEqual([303, signInUrl('/wiki/')]);
  });

  it('removes every spelling that a service may take for the identity', async () => {
    const { port } = nginx;
    const names = ['X_Auth_Request_User', 'X-Auth_Request-User', 'X_AUTH_REQUEST_ORGANIZATION', 'x-AUTH-request-EMAIL'];
    const lines = [...names, 'X-Auth-Request-Organization', 'x-auth-request-organization', 'X-Auth-Redirect'];
    const cookie = (await behindNginx()).cookieHeader();
    const { head } = await sendRaw(
      port,
      `GET /wiki/ HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nCookie: ${cookie}\r\n${lines
        .map((name) => `${name}: admin\r\n`)
        .join('')}Connection: close\r\n\r\n`,
    );
    expect(head.slice(9, 12)).toBe('200');
    const { authorization, ...headers } = neighbor.seen();
    expect(authorization).toMatch(/^Bearer ey/);
    const identity = Object.keys(headers).filter((name) => /^x[-_]auth/i.test(name));
    expect(identity.sort()).toEqual(['x-auth-request-email', 'x-auth-request-user']);
    expect(Object.values(headers).join()).not.toContain('admin');
  });

  it('hides the handler from clients, in every spelling that Express answers', async () => {
    const { port } = nginx;
    const cookie = (await behindNginx()).cookieHeader();
    const paths = ['', '/', '/x', '/x/y', '?x', '/?x', '%2f', '.x', ';x'].map((end) => `/auth/forward${end}`);
    const spellings = [
      ...paths,
      ...paths.map((path) => path.replace('auth/forward', 'Auth/FORWARD')),
      '//auth/forward/',
      '/auth//forward/',
      '/./auth/forward/',
      '/wiki/../auth/forward/x',
      '/auth/%66orward/x',
      '/%41uth/forward/x',
      `http://127.0.0.1:${port}/auth/forward/x`,
    ];
    for (const path of spellings) {
      const { head } = await sendRaw(
        port,
        `GET ${path} HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nCookie: ${cookie}\r\nConnection: close\r\n\r\n`,
      );
      expect([path, head.slice(9, 12), /bearer|x-auth-/i.exec(head)]).toEqual([path, '404', null]);
    }
  });

  it('answers 403 where the check refuses, and to another site’s change', async () => {
    const visitor = await behindNginx();
    const cross = await visitor.post('/wiki/', { headers: { 'sec-fetch-site': 'cross-site' } });
    expect(cross.status).toBe(403);
    isAllowed = false;
    expect((await visitor.get('/wiki/', page)).status).toBe(403);
    expect(neighbor.requests()).toBe(0);
  });

  it('answers 503 with Retry-After while the provider is down, and loses no one', async () => {
    const visitor = await behindNginx();
    app.expireTokens(60_000);
    app.fail('refresh', 503);
    const answer = await visitor.get('/wiki/', page);
    expect([answer.status, Number(answer.headers['retry-after']) > 0]).toEqual([503, true]);
    app.heal();
    app.clock.advance(61_000);
    expect((await visitor.get('/wiki/', page)).status).toBe(200);
  });

  it('passes the service’s own 500 on', async () => {
    const visitor = await behindNginx();
    const answer = await visitor.get('/wiki/broken');
    expect([answer.status, answer.text]).toEqual([500, 'its own']);
  });

  it('keeps a response with a renewed cookie out of caches', async () => {
    const visitor = await behindNginx();
    expect((await visitor.get('/wiki/')).headers['cache-control']).toBeUndefined();
    app.expireTokens();
    const answer = await visitor.get('/wiki/');
    expect([answer.setCookies.length, answer.headers['cache-control']]).toEqual([1, 'private, no-store']);
  });

  it('upgrades WebSockets of users from the own site, and of no one else', async () => {
    const visitor = await behindNginx();
    const connect = async (cookie: string, origin: string): Promise<unknown> => {
      const ws = new WebSocket(`${nginx.origin.replace('http', 'ws')}/wiki/live`, { headers: { cookie, origin } });
      const refused = once(ws, 'unexpected-response').then(([, res]) => (res as http.IncomingMessage).statusCode);
      const greeted = once(ws, 'open').then(async () => {
        ws.send('hello');
        const [text] = (await once(ws, 'message')) as [Buffer];
        return text.toString();
      });
      const answer = await Promise.race([refused, greeted]);
      ws.on('error', () => undefined).terminate();
      refused.catch(() => undefined);
      greeted.catch(() => undefined);
      return answer;
    };
    expect(await connect(visitor.cookieHeader(), nginx.origin)).toMatch(/@.*: hello$/);
    expect(await connect('', nginx.origin)).toBe(401);
    expect(await connect(visitor.cookieHeader(), 'https://evil.example')).toBe(403);
  });

  describe.each([
    ['one cookie', 0],
    ['several cookies', 2_600],
  ])('with a session of %s', (_what, tokenBytes) => {
    it('loses no one in fifty renewals before the app meets the browser itself', async () => {
      const visitor = await behindNginx(tokenBytes);
      const former = visitor.cookieHeader();
      expect(visitor.cookies.size > 1).toBe(tokenBytes > 0);
      app.forget();
      for (let renewal = 0; renewal < 50; renewal += 1) {
        app.expireTokens();
        const answers: Answer[] = await Promise.all([1, 2, 3].map(() => visitor.get('/wiki/', page)));
        expect(answers.map(({ status }) => status)).toEqual([200, 200, 200]);
        for (const { setCookies } of answers) expect(setCookies.length).toBeLessThan(2);
      }
      expect(app.refreshes()).toHaveLength(50);
      expect(visitor.cookieHeader() === former).toBe(tokenBytes > 0);
      app.expireTokens();
      // The app itself delivers what is left, in all its parts.
      expect((await visitor.getJson('/api/me')).status).toBe(200);
      expect(visitor.cookieHeader()).not.toBe(former);
      app.clock.advance(60_000);
      expect((await visitor.get('/wiki/', page)).status).toBe(200);
      expect((await visitor.getJson('/api/me')).status).toBe(200);
      expect(app.refreshes()).toHaveLength(51);
      app.expireTokens();
      expect((await visitor.get('/wiki/', page)).status).toBe(200);
    });
  });
});

describe('nginx as docs/other-services.md configures it, in front of an app that trusts it', () => {
  const closing = closeAfterEach();

  it('lets no client choose the host of the sign-in', async () => {
    const auth = b2bAuth(createB2bTestKit().options);
    const host = express().set('trust proxy', 'loopback').use(auth).use('/auth/forward', forwardAuth(auth));
    host.use((req, res) => void res.json([req.protocol, req.host, req.ip]));
    const app = await closing(serve(host));
    const nginx = await closing(
      startNginx((port) =>
        documented
          .replace('listen 80;', `listen 127.0.0.1:${port};`)
          .replace('127.0.0.1:3000;', `${new URL(app.origin).host};`),
      ),
    );
    const headers = {
      accept: 'text/html',
      'x-forwarded-host': 'evil.example',
      'x-forwarded-proto': 'https',
      'x-forwarded-for': '192.0.2.1',
      forwarded: 'host=evil.example;proto=https',
    };
    const stranger = createVisitor(nginx.origin);
    expect((await stranger.get('/wiki/', { headers })).location).toBe(`${nginx.origin}/login?returnTo=%2Fwiki%2F`);
    const seen = (await stranger.get('/seen', { headers })).json;
    expect(seen).toEqual(['http', new URL(nginx.origin).host, '127.0.0.1']);
  });
});

describe('nginx as docs/deployment.md configures it', () => {
  const closing = closeAfterEach();
  const [block = ''] = markdownFiles()
    .filter(({ path }) => path === 'docs/deployment.md')
    .flatMap(codeBlocks)
    .filter(({ language }) => language === 'nginx')
    .map(({ code }) => code);

  it('takes a session of several cookies, and lets no client choose the host', async () => {
    const app = await closing(startB2bApp({ before: (host) => host.express.set('trust proxy', 1) }));
    const nginx = await closing(
      startNginx((port) =>
        block.replace('listen 80;', `listen 127.0.0.1:${port};`).replace('http://127.0.0.1:3000;', `${app.origin};`),
      ),
    );
    app.workos.redirectUris.push(`${nginx.origin}/callback`);
    app.workos.switches.extraClaims = { permissions: ['x'.repeat(5_200)] };
    const visitor = createVisitor(nginx.origin);
    const forged = { 'x-forwarded-host': 'evil.example', 'x-forwarded-proto': 'https' };
    const start = await visitor.get('/login', { headers: forged });
    expect(new URL(start.location).searchParams.get('redirect_uri')).toBe(`${nginx.origin}/callback`);
    const callback = await app.workos.authorize(start.location, { user: demoUsers.personal });
    expect((await visitor.get(callback.href)).status).toBe(303);
    expect(visitor.cookies.size).toBe(3);
    expect((await visitor.getJson('/api/me')).status).toBe(200);
    expect((await visitor.post('/logout', { headers: { origin: nginx.origin } })).status).toBe(303);
  });
});
