import { randomBytes } from 'node:crypto';
import express from 'express';
import express4 from 'express4';
import { b2bAuth } from '../../lib/b2b/index.ts';
import {
  backendAuth,
  getSession,
  getSupabaseClient,
  requireSession,
  sqlSession,
  withUser,
} from '../../lib/backend/index.ts';
import { serve } from '../support/servers.ts';
import { createVisitor } from '../support/visitor.ts';

const auth = (): express.Router =>
  b2bAuth({ clientId: 'client_1', apiKey: 'sk_test_1', cookiePassword: randomBytes(32).toString('hex') });

/** What requests to the application get. */
async function answers(app: express.Express, ...paths: string[]): Promise<string[]> {
  app.get(/.*/, (_req, res) => void res.send('page'));
  // Express knows an error handler by its four parameters.
  const onError: express.ErrorRequestHandler = (error: Error, _req, res, next) => {
    if (res.headersSent) next(error);
    else res.status(500).send(error.message);
  };
  app.use(onError);
  const server = await serve(app);
  const found: string[] = [];
  for (const path of paths) {
    const { status, text } = await createVisitor(server.origin).get(path);
    found.push(status === 500 ? text : String(status));
  }
  await server.close();
  return found;
}

/** As a framework wraps a middleware, so that it is not in the stack itself. */
const wrapped =
  (inner: express.RequestHandler): express.RequestHandler =>
  (req, res, next) =>
    void inner(req, res, next);

const swallowed = expect.stringMatching(
  /^b2bAuth: it is mounted by a pattern that takes the whole path.*app\.use\(b2bAuth\(\)\)$/,
);
const five = (): express.Express => express();
const four = (): express.Express => express4() as express.Express;

describe('a mount by a pattern that takes the whole path', () => {
  it.each<[string, () => express.Express, string | RegExp]>([
    ['Express 5', five, '{*path}'],
    ['Express 5', five, '/*path'],
    ['Express 5', five, /.*/],
    ['Express 4', four, '*'],
    ['Express 4', four, /.*/],
    ['Express 5, below a path', five, '/v1/*path'],
  ])('is a ConfigurationError on %s: %p %p', async (_, create, pattern) => {
    const app = create();
    app.use(pattern, auth());
    expect(await answers(app, '/v1/login', '/v1/users/7')).toEqual([swallowed, swallowed]);
  });

  it.each<[string, () => express.Express, string]>([
    ['Express 5', five, '{*path}'],
    ['Express 5', five, '/v1/*path'],
    ['Express 4', four, '*'],
  ])('is one where a framework wraps the adapter, on %s: %p %p', async (_, create, pattern) => {
    const app = create();
    app.use(pattern, wrapped(auth()));
    expect(await answers(app, '/v1/login')).toEqual([swallowed]);
  });

  it.each<[string, () => express.Express, string | RegExp]>([
    ['Express 5', five, '/app'],
    ['Express 5', five, '/:tenant'],
    ['Express 5', five, '/:tenant/:part'],
    ['Express 5', five, /^\/(en|de)/],
    ['Express 4', four, '/app'],
    ['Express 4', four, '/:tenant'],
    ['Express 4', four, /^\/(en|de)/],
  ])('is no other mount, whole or wrapped, on %s: %p %p', async (_, create, pattern) => {
    for (const mounted of [auth(), wrapped(auth())]) {
      const app = create();
      app.use(pattern, mounted);
      expect(await answers(app, '/app', '/app/x', '/en', '/en/', '/a/b', '/a/b/c')).toEqual(Array(6).fill('200'));
    }
  });
});

describe('a request that does not pass the adapter, which is mounted below a path', () => {
  const mounted = (): express.Express => {
    const app = express();
    app.use('/v1/auth', auth());
    app.use('/v1/users', requireSession());
    app.get('/v1/me', (req, res, next) => void getSession(req).then((session) => res.json(session), next));
    return app;
  };

  it('is told where it is mounted, and of pathPrefix', async () => {
    expect(await answers(mounted(), '/v1/auth/login', '/v1/users', '/v1/me')).toEqual([
      '302',
      'requireSession: no adapter has seen this request; b2bAuth() is mounted under /v1/auth: requests to /v1/users do not pass it; mount it at the root, and use pathPrefix to move its routes',
      expect.stringMatching(/^getSession: .*under \/v1\/auth: requests to \/v1\/me do not pass it/),
    ]);
  });

  it('is told so before any request has passed it, without its path', async () => {
    expect(await answers(mounted(), '/v1/users')).toEqual([
      expect.stringMatching(/b2bAuth\(\) is mounted below a path: requests to \/v1\/users do not pass it/),
    ]);
  });

  it.each([
    ['getSupabaseClient', getSupabaseClient],
    ['sqlSession', sqlSession],
    [
      'withUser',
      (req: express.Request) => withUser({ connect: () => Promise.reject(new Error('no pool')) }, req, () => 1),
    ],
  ])('is told so by %s', async (name, ask) => {
    const app = express();
    app.use('/v1/auth', backendAuth({ url: 'http://127.0.0.1:9', anonKey: 'sb_publishable_test' }));
    app.get('/v1/me', (req, res, next) => void ask(req).then(() => res.end(), next));
    expect(await answers(app, '/v1/me')).toEqual([
      expect.stringMatching(`^${name}: .*backendAuth\\(\\) is mounted below a path: requests to /v1/me do not pass it`),
    ]);
  });

  it('has the general message where none is mounted', async () => {
    const app = express();
    app.use(requireSession());
    expect(await answers(app, '/')).toEqual([
      expect.stringMatching(/mount b2bAuth\(\) or backendAuth\(\) with app\.use\(\)/),
    ]);
  });
});
