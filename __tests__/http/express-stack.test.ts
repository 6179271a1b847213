import express from 'express';
import express4 from 'express4';
import type { RequestListener, ServerResponse } from 'node:http';
import { createRequire } from 'node:module';
import { backendAuth } from '../../lib/backend/index.ts';
import { b2bAuth } from '../../lib/b2b/index.ts';
import type { B2bAuthOptions } from '../../lib/b2b/index.ts';
import { stackedAdapters } from '../../lib/http/mount/express-stack.ts';
import { sendText } from '../support/hosts.ts';
import { serve } from '../support/servers.ts';
import { traceLayers } from '../support/traced-layers.ts';
import { createVisitor } from '../support/visitor.ts';

const load = createRequire(import.meta.url);

interface Application {
  readonly use: (...layers: any[]) => unknown;
  readonly get: (path: any, handler: unknown) => unknown;
  readonly listener: RequestListener;
  /** Wraps every handler. */
  readonly trace: () => void;
}

interface Version {
  readonly name: string;
  readonly app: () => Application;
  readonly Router: () => any;
  /** The path pattern for everything in this version. */
  readonly wildcard: string;
}

const ofExpress = (create: () => any) => (): Application => {
  const app = create();
  const trace = (): void => traceLayers('_router' in app ? app._router : app.router);
  return { use: app.use.bind(app), get: app.get.bind(app), listener: app, trace };
};

/** What of Express 5 an adapter meets, on a router of another version than Express' own. */
const ofRouter = (Router: () => any) => (): Application => {
  const router = Router();
  const app = Object.assign(() => undefined, { router });
  return {
    use: router.use.bind(router),
    get: router.get.bind(router),
    trace: () => traceLayers(router),
    listener(req, res) {
      Object.assign(req, { app });
      router(req, res, (error: unknown) => sendText(res, String(error), error === undefined ? 404 : 500));
    },
  };
};

const routers = [load('router-2.0'), load('router-2.2')] as [() => any, () => any];
const versions: readonly Version[] = [
  { name: 'Express 4', app: ofExpress(express4), Router: () => express4.Router(), wildcard: '/*' },
  { name: 'Express 5', app: ofExpress(express), Router: () => express.Router(), wildcard: '/*any' },
  { name: 'router 2.0', app: ofRouter(routers[0]), Router: routers[0], wildcard: '/*any' },
  { name: 'router 2.2', app: ofRouter(routers[1]), Router: routers[1], wildcard: '/*any' },
];

const b2b = (options: B2bAuthOptions = {}): unknown =>
  b2bAuth({ clientId: 'client_1', apiKey: 'sk_test_1', cookiePassword: 'x'.repeat(32), ...options });
const backend = (): unknown => backendAuth({ url: 'http://127.0.0.1:9', anonKey: 'sb_publishable_test' });
/** A guard of every path, whose own routes are no other adapter's. */
const guardOfAll = (): unknown =>
  b2b({ protectedRoutes: '/(.*)', sessionPath: '/b2b/session', stylesheetPath: '/b2b/pages.css' });
const secret = (_req: unknown, res: any): void => sendText(res, 'SECRET');

describe.each(
  versions.flatMap((version) => [
    { ...version, isTraced: false },
    { ...version, name: `${version.name}, behind tracing that wraps each layer`, isTraced: true },
  ]),
)('on $name', ({ app: createApp, Router, wildcard, isTraced }) => {
  /** The handler that answers a signed-out request, for each path. */
  async function answers(mount: (app: Application) => void, paths: readonly string[]): Promise<Record<string, string>> {
    const app = createApp();
    mount(app);
    app.use(secret);
    if (isTraced) app.trace();
    const server = await serve(app.listener);
    try {
      const given = paths.map(async (path) => {
        const { status, text, headers } = await createVisitor(server.origin).get(path);
        const isGuarded = status === 307 && headers.location?.startsWith('/login') === true;
        return [path, isGuarded ? 'guard' : text === 'SECRET' ? 'SECRET' : status === 500 ? text : 'adapter'];
      });
      return Object.fromEntries(await Promise.all(given)) as Record<string, string>;
    } finally {
      await server.close();
    }
  }

  const mounts: readonly (readonly [string, (app: Application) => unknown, string, string])[] = [
    ['at the root', (app) => app.use(backend()), '/auth/login', '/x/auth/login'],
    ['below a path', (app) => app.use('/admin', backend()), '/admin/auth/login', '/auth/login'],
    ['below one of several', (app) => app.use(['/a', '/b'], backend()), '/b/auth/login', '/c/auth/login'],
    ['below a parameter', (app) => app.use('/:tenant', backend()), '/acme/auth/login', '/auth/login'],
    ['below an expression', (app) => app.use(/^\/t\d/, backend()), '/t1/auth/login', '/t/auth/login'],
    ['below a slash', (app) => app.use('/admin/', backend()), '/ADMIN/Auth/Login/', '/administrator/auth/login'],
    [
      'in a router',
      (app) => {
        const router = Router();
        app.use('/outer', router);
        router.use('/inner', backend());
      },
      '/outer/inner/auth/login',
      '/outer/auth/login',
    ],
  ];

  it.each(mounts)('a guard exempts the routes of an adapter %s, and nothing else', async (_how, mount, own, other) => {
    const found = await answers(
      (app) => {
        app.use(guardOfAll());
        mount(app);
      },
      [own, other, '/elsewhere'],
    );
    expect(found).toEqual({ [own]: 'adapter', [other]: 'guard', '/elsewhere': 'guard' });
  });

  it('a page that only looks like a route of an adapter below a path is guarded', async () => {
    const paths = ['/auth/login', '/auth/confirm', '/auth/session'];
    const found = await answers((app) => {
      app.use(guardOfAll());
      app.use('/auth', backend());
      app.get('/auth/:page', secret);
    }, paths);
    expect(found).toEqual(Object.fromEntries(paths.map((path) => [path, 'guard'])));
  });

  it('an adapter that is hidden, or mounted before the guard, exempts nothing', async () => {
    const hidden = backend() as (...parameters: unknown[]) => void;
    const behindFunction = await answers(
      (app) => {
        app.use(guardOfAll());
        app.use((...parameters: unknown[]) => hidden(...parameters));
      },
      ['/auth/login'],
    );
    expect(behindFunction).toEqual({ '/auth/login': 'guard' });
    const rewritten = await answers(
      (app) => {
        app.use(backend());
        app.use((req: { url: string }, _res: unknown, next: () => void) => {
          req.url = req.url.replace('/rewritten', '/auth');
          next();
        });
        app.use(guardOfAll());
      },
      ['/rewritten/login', '/auth/login'],
    );
    expect(rewritten).toEqual({ '/rewritten/login': 'guard', '/auth/login': 'adapter' });
  });

  it('two adapters below different paths do not conflict, and below the same path they do', async () => {
    const apart = await answers(
      (app) => {
        app.use(b2b());
        app.use('/auth', backend());
      },
      ['/auth/auth/login', '/page'],
    );
    expect(apart).toEqual({ '/auth/auth/login': 'adapter', '/page': 'SECRET' });
    const together = await answers((app) => app.use('/x', b2b(), backend()), ['/x/page']);
    expect(together['/x/page']).toMatch(/both answer .*\/x\/auth\/session/);
    const twice = await answers((app) => app.use('/x', Router().use(b2b(), b2b())), ['/x']);
    expect(twice['/x']).toMatch(/b2bAuth.* is mounted twice/);
    const swallowed = await answers((app) => app.use(wildcard, Router().use(b2b())), ['/x']);
    expect(swallowed['/x']).toMatch(/takes the whole path/);
  });

  it('a router that contains itself is searched once', async () => {
    const mount = (app: Application): void => {
      const tree = Router();
      tree.get('/leaf', secret);
      tree.use('/branch', tree);
      app.use('/tree', tree);
      app.use(b2b({ protectedRoutes: '/account' }));
    };
    const expected = { '/tree/branch/leaf': 'SECRET', '/account': 'guard', '/elsewhere': 'SECRET' };
    expect(await answers(mount, Object.keys(expected))).toEqual(expected);
  });

  it('the search does not change the match of a request in progress', () => {
    const router = Router();
    router.use('/:tenant', backend());
    const [layer] = router.stack;
    layer.match('/one/page');
    const { path, params } = layer;
    const app = Object.assign(() => undefined, { router });
    const [found] = stackedAdapters(app);
    expect(found?.restOf('/two/auth/login')).toBe('/auth/login');
    expect([layer.path, layer.params]).toEqual([path, params]);
  });
});

it.each([
  ['Express 4', express4],
  ['Express 5', express],
])('a mount path with a parameter is matched once per request: %s', async (_version, create) => {
  const app: any = create();
  app.use('/:tenant', b2b());
  app.use((_req: unknown, res: ServerResponse) => void res.end());
  const router = ('_router' in app ? app._router : app.router) as { stack: { match: (path: string) => unknown }[] };
  const layer = router.stack.at(-2)!;
  let looks = 0;
  layer.match = function (path) {
    looks += 1;
    return Object.getPrototypeOf(layer).match.call(this, path) as unknown;
  };
  const server = await serve(app);
  const looksOf = async (path: string): Promise<number> => {
    looks = 0;
    expect((await createVisitor(server.origin).get(path)).status).toBe(200);
    return looks;
  };
  // The one match is Express' own.
  expect([await looksOf('/one/x'), await looksOf('/two/x'), await looksOf('/one/y')]).toEqual([1, 1, 1]);
  await server.close();
});

describe('an application that is mounted in another one', () => {
  it.each([
    ['Express 4', express4],
    ['Express 5', express],
  ])('exempts its own adapters’ routes: %s', async (_version, create) => {
    const [root, inner] = [create(), create()];
    inner.use(guardOfAll() as express.Router, backend() as express.Router);
    inner.use(secret);
    root.use('/inner', inner);
    const server = await serve(root);
    const visitor = createVisitor(server.origin);
    expect((await visitor.get('/inner/auth/login')).status).toBe(200);
    expect((await visitor.get('/inner/page')).headers.location).toMatch(/^\/inner\/login/);
    await server.close();
  });
});

describe('the search for adapters in an application', () => {
  const withStack = (stack: unknown) => Object.assign(() => undefined, { stack });
  const layer = (change: object) => ({ handle: () => undefined, match: () => true, ...change });
  const strange = [null, undefined, 7, 'layer', {}, { match: () => true }, { handle: () => undefined }];
  const broken = [layer({ handle: 'no function' }), layer({ match: 'no function' }), layer({ handle: withStack(7) })];
  const router = withStack([...strange, ...broken, layer({ handle: withStack([null]) })]);

  it.each<[string, unknown]>([
    ['Express 5', Object.assign(() => undefined, { router })],
    ['Express 4', Object.assign(() => undefined, { _router: router })],
    ['one that has no router yet', Object.assign(() => undefined, { _router: undefined })],
    ['a function of another kind', () => undefined],
    ['one whose router is something else', Object.assign(() => undefined, { router: { stack: strange } })],
    ['one whose router has no layers', Object.assign(() => undefined, { router: () => undefined })],
    ['no function', { router }],
    ['nothing', undefined],
    ['null', null],
  ])('skips what is not a layer: %s', (_what, app) => {
    expect(stackedAdapters(app)).toEqual([]);
  });

  it.each<[string, object]>([
    ['says nothing about the path', { match: () => true }],
    ['answers something else', { match: () => ({ params: {} }) }],
    ['matches something else', { match: () => ({ path: '/else' }) }],
    ['matches a part of a segment', { match: () => ({ path: '/auth/log' }) }],
    [
      'throws',
      {
        match: () => {
          throw new URIError('cannot be decoded');
        },
      },
    ],
  ])('finds no path below a layer that %s', (_what, change) => {
    const app = Object.assign(() => undefined, { router: withStack([layer({ handle: backend(), ...change })]) });
    const [found] = stackedAdapters(app);
    expect(found?.restOf('/auth/login')).toBeUndefined();
  });
});
