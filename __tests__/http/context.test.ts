import http from 'node:http';
import { getSession } from '../../lib/b2b/index.ts';
import { demoUsers, startB2bApp, startProvider } from '../support/b2b-app.ts';
import type { B2bApp, SharedProvider } from '../support/b2b-app.ts';
import { sendJson, sendText } from '../support/hosts.ts';
import { serve } from '../support/servers.ts';
import { itOnExpress } from '../support/only.ts';

let provider: SharedProvider;
let app: B2bApp | undefined;
beforeAll(async () => {
  provider = await startProvider();
});
afterEach(async () => {
  await app?.close();
  app = undefined;
});
afterAll(() => provider.close());

itOnExpress('a request that the application dispatches again keeps the same adapter and the same session', async () => {
  app = await startB2bApp({
    provider,
    after: (host) =>
      host.get('/alias', (req, res, next) => {
        getSession(req).then((before) => {
          req.url = '/again';
          host.get('/again', (again, _res, done) => {
            getSession(again).then((after) => sendJson(res, before !== null && before === after), done);
          });
          host.listener(req, res, next);
        }, next);
      }),
  });
  const visitor = await app.signedIn();
  expect((await visitor.get('/alias')).text).toBe('true');
});

itOnExpress('a path that Express cannot decode is guarded like any other, whatever the routes', async () => {
  app = await startB2bApp({
    provider,
    options: { protectedRoutes: '/(.*)' },
    before: ({ express }) => express.param('id', (_req, _res, next) => next()),
    after: (host) => host.get('/:id', (_req, res) => sendText(res, 'not for you')),
  });
  const { port } = app;
  const status = await new Promise((resolve, reject) => {
    http
      .get({ host: '127.0.0.1', port, path: '/%E0%A4%A', agent: false }, (res) => {
        res.resume();
        resolve(res.statusCode);
      })
      .on('error', reject);
  });
  expect(status).toBe(307);
});

it.each([
  [undefined, 'b2bAuth() or backendAuth()'],
  ['b2b', 'b2bAuth()'],
  ['backend', 'backendAuth()'],
] as const)('without a mounted adapter (%s), names the one to mount', async (adapter, names) => {
  const server = await serve((req, res) => {
    const asked = adapter === undefined ? getSession(req) : getSession(req, adapter);
    asked.then(
      () => res.end('a session'),
      (error: unknown) => res.end(String(error)),
    );
  });
  const text = await (await fetch(server.origin)).text();
  await server.close();
  expect(text).toContain(`no adapter has seen this request; mount ${names} with app.use() before it`);
});

it('a response that another handler has started is left alone', async () => {
  app = await startB2bApp({
    provider,
    before: (host) =>
      host.use('/auth/session', (_req, res, next) => {
        res.write('too slow');
        next();
        setImmediate(() => res.end());
      }),
  });
  const answer = await app.visitor().get('/auth/session');
  expect([answer.status, answer.text]).toEqual([200, 'too slow']);
  expect(answer.headers['content-type']).toBeUndefined();
});

it('sessions of two users are separate', async () => {
  app = await startB2bApp({ provider });
  const [one, other] = [await app.signedIn(), await app.signedIn(demoUsers.oneOrganization)];
  const ids = [await one.get('/whoami'), await other.get('/whoami')].map(({ json }) => json.user.id);
  expect(new Set(ids).size).toBe(2);
});

it('a response whose handler asked for the session varies on the cookie and is not public, signed in or not', async () => {
  app = await startB2bApp({
    provider,
    after: (host) =>
      host.get('/front', (req, res, next) => {
        getSession(req).then((session) => {
          res.setHeader('Cache-Control', 'public, max-age=600');
          sendText(res, String(session?.user.id));
        }, next);
      }),
  });
  const signedOut = await app.visitor().get('/front');
  const signedIn = await (await app.signedIn()).get('/front');
  expect(signedOut.text).toBe('undefined');
  expect(signedIn.text).not.toBe('undefined');
  for (const { headers } of [signedOut, signedIn]) {
    expect([headers['cache-control'], headers.vary]).toEqual(['private, max-age=600', 'Cookie']);
  }
});
