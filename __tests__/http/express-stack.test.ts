// How the layers of an application are read, and what a mount is judged by.
import { IncomingMessage } from 'node:http';
import type { RequestListener, ServerResponse } from 'node:http';
import { createRequire } from 'node:module';
import { Socket } from 'node:net';
import { jest } from '@jest/globals';
import express from 'express';
import express4 from 'express4';
import { backendAuth } from '../../lib/backend/index.ts';
import { b2bAuth } from '../../lib/b2b/index.ts';
import type { B2bAuthOptions } from '../../lib/b2b/index.ts';
import type { HostRequest } from '../../lib/http/message.ts';
import {
  adaptersBeside,
  protectedBefore,
  stackedAdapters,
  stackedHandlers,
} from '../../lib/http/mount/express-stack.ts';
import {
  findMisuse,
  isAnsweredLater,
  isAuthRoute,
  isRival,
  mountedElsewhere,
  seesEachPattern,
  warnOfMount,
} from '../../lib/http/mount/mounts.ts';
import { createPathMatcher } from '../../lib/tools/paths/path-matcher.ts';
import { sendText } from '../support/hosts.ts';
import { applicationOf, createAdapter, passed, routerOf } from '../support/mounted-adapter.ts';
import type { Passed } from '../support/mounted-adapter.ts';
import { serve } from '../support/servers.ts';
import { traceLayers } from '../support/traced-layers.ts';
import { variant } from '../support/variant.ts';
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
const guardOfAll = (): unknown => b2b({ protectedRoutes: '/(.*)', sessionPath: '/b2b/session' });
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

  it('routers that contain each other are opened a few times each, and what stands behind them is found', async () => {
    let reads = 0;
    const mount = (app: Application): void => {
      app.use(guardOfAll());
      const rooms = Array.from({ length: 7 }, () => Router());
      for (const [at, room] of rooms.entries()) {
        room.get('/leaf', secret);
        for (const [other, next] of rooms.entries()) if (other !== at) room.use(`/${other}`, next);
        app.use(`/${at}`, room);
      }
      const { stack } = rooms[0];
      Object.defineProperty(rooms[0], 'stack', {
        get() {
          reads += 1;
          return stack;
        },
      });
      app.use('/behind', backend());
      reads = 0;
    };
    const paths = ['/0/1/2/leaf', '/behind/auth/login', '/0/auth/login'];
    const found = await answers(mount, paths);
    expect(found).toEqual({ '/0/1/2/leaf': 'guard', '/behind/auth/login': 'adapter', '/0/auth/login': 'guard' });
    // Each of the 13,000 ways through them would read it twice.
    expect(reads).toBeLessThan(1_000);
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

const handler = (_req: unknown, res: any): void => res.end();
/** An application that is not Express, with the layers that a test makes. */
const applicationWith = (layers: readonly unknown[], rest: object = {}) =>
  Object.assign(() => undefined, { router: withStack(layers), ...rest });
const withStack = (stack: unknown) => Object.assign(() => undefined, { stack });
/** Layers of every path, unless told otherwise. */
const layer = (handle: unknown, match: (path: string) => unknown = () => ({ path: '' })) => ({ handle, match });
const definitionsIn = (app: unknown): unknown[] => stackedAdapters(app).map(({ definition }) => definition);
/** The rest of each path that the first adapter of an application would see. */
const restsIn = (app: unknown, ...paths: readonly string[]): unknown[] =>
  paths.map((path) => stackedAdapters(app)[0]?.restOf(path));

describe('the search for adapters in an application', () => {
  const layerWith = (change: object) => ({ handle: () => undefined, match: () => true, ...change });
  const strange = [null, undefined, 7, 'layer', {}, { match: () => true }, { handle: () => undefined }];
  const broken = [
    layerWith({ handle: 'no function' }),
    layerWith({ match: 'no function' }),
    layerWith({ handle: withStack(7) }),
  ];
  const router = withStack([...strange, ...broken, layerWith({ handle: withStack([null]) })]);

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
    const app = Object.assign(() => undefined, { router: withStack([layerWith({ handle: backend(), ...change })]) });
    const [found] = stackedAdapters(app);
    expect(found?.restOf('/auth/login')).toBeUndefined();
  });
});

describe('the search for adapters', () => {
  it('reads the application of an adapter once, and once more when something is mounted', () => {
    const adapter = createAdapter();
    const app = applicationOf(['/', adapter]);
    const found = adaptersBeside(adapter, app);
    expect(found).toHaveLength(1);
    expect(adaptersBeside(adapter, app)).toBe(found);
    app.use(routerOf(createAdapter()));
    expect(adaptersBeside(adapter, app)).toHaveLength(2);
    expect(adaptersBeside(adapter, applicationOf(['/', adapter], ['/', createAdapter()]))).toHaveLength(2);
  });

  it('finds an adapter that is mounted later in a router that was there', () => {
    const [adapter, router] = [createAdapter(), express.Router()];
    const app = applicationOf(['/', adapter]);
    app.use(router);
    expect(adaptersBeside(adapter, app)).toHaveLength(1);
    router.use(routerOf(createAdapter()));
    expect(adaptersBeside(adapter, app)).toHaveLength(2);
  });

  it.each([
    ['Express 4', () => express4() as express.Express],
    ['Express 5', () => express()],
  ])('finds none in an application that has nothing yet: %s', (_version, create) => {
    expect([stackedAdapters(create()), stackedHandlers(create())]).toEqual([[], []]);
  });

  it.each<[string, unknown]>([
    ['null', null],
    ['undefined', undefined],
    ['a text', 'layer'],
    ['nothing in it', {}],
    ['no handler', { match: () => true }],
    ['no way to match', { handle: handler }],
    ['a handler that is no function', { handle: 'handler', match: () => true }],
    ['a handler that is null', { handle: null, match: () => true }],
    ['a match that is no function', { handle: handler, match: 'match' }],
    ['a function as a layer', Object.assign(() => undefined, layer(handler))],
  ])('goes on behind %s', (_what, strange) => {
    const adapter = createAdapter();
    const app = applicationWith([strange, layer(routerOf(adapter))]);
    expect(definitionsIn(app)).toEqual([adapter]);
    expect(stackedHandlers(app)).toHaveLength(1);
  });

  it('finds an adapter once in a router that contains itself', () => {
    const [adapter, router] = [createAdapter(), express.Router()];
    router.use('/again', router);
    router.use('/here', routerOf(adapter));
    const app = express();
    app.use('/tree', router);
    expect(definitionsIn(app)).toEqual([adapter]);
    expect(restsIn(app, '/tree/here/x', '/here/x')).toEqual(['/x', undefined]);
  });

  it('reaches an adapter by no path that its router does not take', () => {
    const inner = withStack([layer(routerOf(createAdapter()))]);
    const app = applicationWith([layer(inner, (path) => path.startsWith('/in') && { path: '/in' })]);
    expect(restsIn(app, '/in/x', '/in', '/inner', '/x')).toEqual(['/x', '/', undefined, undefined]);
  });

  it.each<[string, unknown, readonly unknown[]]>([
    ['whose layer answers null', null, [undefined]],
    ['whose layer answers nothing', undefined, [undefined]],
    ['whose layer answers no', false, [undefined]],
    ['whose layer answers something else than a text', { path: /auth/ }, [undefined]],
    ['whose layer answers a path', { path: '/auth' }, ['/login']],
  ])('reaches an adapter only where its layer says a path: one %s', (_what, answer, rests) => {
    const app = applicationWith([layer(routerOf(createAdapter()), () => answer)]);
    expect(restsIn(app, '/auth/login')).toEqual(rests);
  });

  it.each<[string, object, readonly unknown[]]>([
    ['a path', { path: () => '/app' }, ['/x', undefined]],
    ['a pattern', { path: () => /app/ }, [undefined, undefined]],
    ['a property of that name', { path: '/app' }, ['/app/x', '/x']],
    ['none', {}, ['/app/x', '/x']],
  ])('reaches an adapter below the path of the application, if that is one: %s', (_what, rest, rests) => {
    expect(restsIn(applicationWith([layer(routerOf(createAdapter()))], rest), '/app/x', '/x')).toEqual(rests);
  });
});

describe('the handlers of an application', () => {
  it('are those of its stack and of its routers, each router once within itself', () => {
    const [first, second, third] = [1, 2, 3].map(() => () => undefined);
    const [outer, inner] = [express.Router(), express.Router()];
    inner.use(second!);
    inner.use('/again', outer);
    outer.use('/inner', inner);
    outer.use('/again', outer);
    const app = express();
    app.use(first!, outer);
    app.use(third!);
    const found = stackedHandlers(app);
    expect(found).toHaveLength(5);
    for (const [at, identity] of [first, outer.stack, inner.stack, second, third].entries()) {
      // Nothing shows which function a tracer has wrapped.
      if (!variant.isTraced || Array.isArray(identity)) expect(found[at]).toBe(identity);
    }
  });

  it.each([undefined, null, {}, 'app', { router: withStack([layer(handler)]) }])('are unknown in %j', (app) => {
    expect(stackedHandlers(app)).toEqual([]);
  });
});

describe('a protected path that is answered before the adapter', () => {
  const adapter = createAdapter();
  /** What is found in an application with these layers before the adapter and those behind it. */
  function found(
    patterns: readonly string[],
    before: (app: express.Express) => unknown,
    { behind = () => undefined, isProtected = createPathMatcher(patterns), isTraced = false }: Partial<Setup> = {},
  ): string | undefined {
    const app = express();
    before(app);
    app.use(routerOf(adapter));
    behind(app);
    if (isTraced) traceLayers(app.router);
    return protectedBefore({ app, definition: adapter }, patterns, isProtected);
  }
  interface Setup {
    readonly behind: (app: express.Express) => unknown;
    readonly isProtected: (path: string) => boolean;
    readonly isTraced: boolean;
  }
  const router = (): express.Router => express.Router().get('/', handler);

  it.each<[string, string, (app: express.Express) => unknown, string | undefined]>([
    ['by a route', '/account', (app) => app.get('/account', handler), '/account'],
    ['by another route', '/account', (app) => app.get('/public', handler), undefined],
    ['by a route of several paths', '/account', (app) => app.get(['/public', '/account'], handler), '/account'],
    ['by a router', '/account', (app) => app.use('/account', router()), '/account'],
    ['by a router of another path', '/account', (app) => app.use('/public', router()), undefined],
    ['by a router at the start of it', '/account(.*)', (app) => app.use('/account', router()), '/account'],
    ['by a router above it', '/account/(.*)', (app) => app.use('/account', router()), '/account/x'],
    ['by a router of every path', '/account', (app) => app.use(router()), undefined],
    ['by middleware', '/account', (app) => app.use('/account', handler), undefined],
    ['by nothing', '/account', () => undefined, undefined],
  ])('is named: %s', (_what, pattern, before, path) => {
    expect(found([pattern], before)).toBe(path);
    expect(found([pattern], before, { isTraced: true })).toBe(path);
    expect(found([pattern], () => undefined, { behind: before })).toBeUndefined();
  });

  it('is looked for up to the adapter itself, also behind another adapter', () => {
    const other = routerOf(createAdapter({ adapter: 'backend' }));
    const path = found(['/account'], (app) => app.use(other).get('/account', handler));
    const inRouter = express.Router().use(other, routerOf(adapter));
    const app = express().get('/account', handler).use(inRouter);
    expect([path, protectedBefore({ app, definition: adapter }, ['/account'], () => true)]).toEqual([
      '/account',
      '/account',
    ]);
  });

  it('is none of a route whose path is an expression', () => {
    expect(found(['/account'], (app) => app.get(/account/, handler), { isProtected: () => true })).toBeUndefined();
    const both = found(['/account'], (app) => app.get([/x/, '/account'], handler), { isProtected: () => true });
    expect(both).toBe('/account');
  });

  it('has the path of the application before it', () => {
    const [root, inner] = [express(), express()];
    inner.get('/account', handler);
    inner.use(routerOf(adapter));
    root.use('/inner', inner);
    const asked: string[] = [];
    protectedBefore({ app: inner, definition: adapter }, ['/inner/account'], (path) => asked.push(path) === 0);
    expect(asked).toEqual(['/inner/account']);
  });

  it('is unknown where there is no stack, or the adapter is not in it', () => {
    const app = express().get('/account', handler);
    const notIn = [undefined, {}, { router: app.router }, app];
    const paths = notIn.map((each) => protectedBefore({ app: each, definition: adapter }, ['/account'], () => true));
    expect(paths).toEqual([undefined, undefined, undefined, undefined]);
  });
});

/** The problems of a request, without the name of the adapter. */
const problemsOf = (request: Passed): string | undefined =>
  findMisuse(request, true)?.message.replace(/^b2bAuth: /, '');

const swallowed = expect.stringMatching(/^it is mounted by a pattern that takes the whole path/);

describe('an adapter below a pattern', () => {
  it.each<[string, string, string | RegExp, unknown]>([
    ['takes the whole path', '/a/b', '/{*path}', swallowed],
    ['takes the whole path from the second segment on', '/v1/a', '/v1/*path', swallowed],
    ['takes one segment', '/a', '/:tenant', undefined],
    ['takes a second segment where there is one', '/a', '/:tenant{/:part}', undefined],
    ['takes a second and a third segment where both are there', '/a', '/:tenant{/:part/:detail}', undefined],
    ['is a path', '/a', '/a', undefined],
  ])('that %s', (_what, prefix, pattern, problems) => {
    const adapter = createAdapter();
    const other = createAdapter({ adapter: 'backend' });
    for (const mounts of [
      [[pattern, adapter]],
      [
        ['/', other],
        [pattern, adapter],
      ],
    ] as const) {
      const app = applicationOf(...mounts);
      expect(problemsOf(passed(adapter, { app, prefix }))).toEqual(problems);
      expect(problemsOf({ ...passed(adapter, { app, prefix }), req: { app } })).toEqual(problems);
    }
  });

  it('that takes the whole path is no problem of a request for the start page, of which it takes nothing', () => {
    const adapter = createAdapter();
    expect(problemsOf(passed(adapter, { app: applicationOf(['/{*path}', adapter]) }))).toBeUndefined();
  });

  it.each<[string, string, object, boolean]>([
    ['a wildcard of the whole path', '/a/b', { path: ['a', 'b'] }, true],
    ['a wildcard of the rest of the path', '/v1/a/b', { path: ['a', 'b'] }, true],
    ['a wildcard of decoded text', '/a%20b/c', { path: ['a b', 'c'] }, true],
    ['a wildcard in the middle of the path', '/a/b/edit', { path: ['a', 'b'] }, false],
    ['a wildcard of nothing', '/a/b', { path: [] }, false],
    ['a wildcard in a path that cannot be decoded', '/a/%ff', { path: ['b'] }, false],
    ['a group of the whole path', '/a/b', { 0: '/a/b' }, true],
    ['a group of the whole path without its slash', '/a/b', { 0: 'a/b' }, true],
    ['the last of many groups', '/a/b', { 10: 'a/b' }, true],
    ['a group of one segment', '/a', { 0: 'a' }, false],
    ['a group of the end of the path', '/en/a/b', { 0: 'a/b' }, false],
    ['a group that did not take part', '/a/b', { 0: undefined }, false],
    ['a group in a path that cannot be decoded', '/a/%ff', { 0: 'a/b' }, false],
    ['a parameter with an encoded slash', '/a%2Fb', { tenant: 'a/b' }, false],
    ['a parameter with an encoded slash, whose name ends with a digit', '/a%2Fb', { part1: 'a/b' }, false],
    ['a parameter with an encoded slash, whose name starts with a digit', '/a%2Fb', { '1st': 'a/b' }, false],
  ])('that no search finds, with %s', (_what, prefix, params, isSwallowed) => {
    const problems = problemsOf(passed(createAdapter(), { prefix, params }));
    expect(problems).toEqual(isSwallowed ? swallowed : undefined);
  });
});

describe('the place of an adapter', () => {
  it('is judged while it is new, as is what else stands in the application', () => {
    const adapter = createAdapter({ protectedRoutes: ['/one/account'] });
    const app = applicationOf(['/', adapter], ['/other', createAdapter()]);
    const never = `b2bAuth: protectedRoutes: '/one/account' can never match, because the adapter is mounted under '/two'; patterns are root-relative, so write '/two/one/account' or mount the adapter at the root`;
    const [below, beside] = [passed(adapter, { prefix: '/two' }), passed(adapter, { app })];
    expect([below, beside].map((request) => findMisuse(request, true)?.message)).toEqual([
      never,
      expect.stringContaining('b2bAuth() is mounted twice in one application'),
    ]);
    expect([below, beside].map((request) => findMisuse(request, false))).toEqual([undefined, undefined]);
  });
});

describe('a pattern', () => {
  it.each<[string, string | RegExp, readonly string[], boolean]>([
    ['at a path', '/app', ['/app/(.*)', '/app'], true],
    ['at another path', '/app', ['/app/(.*)', '/dashboard(.*)'], false],
    ['below a parameter', '/:tenant', ['/acme/x', '/:tenant/y', '/(.*)'], true],
    ['below an expression', /^\/(?:en|de)(?=\/|$)/, ['/en/x', '/de/y'], true],
    ['below another expression', /^\/(?:en|de)(?=\/|$)/, ['/en/x', '/fr/y'], false],
  ])('reaches an adapter by what the application shows: %s', (_what, mount, protectedRoutes, expected) => {
    const adapter = createAdapter({ protectedRoutes });
    const other = createAdapter({ adapter: 'backend' });
    const app = applicationOf(['/', other], [mount, adapter]);
    expect(seesEachPattern(passed(adapter, { app, prefix: '/en' }))).toBe(expected);
    // No search finds it.
    expect(seesEachPattern(passed(adapter, { prefix: '/en' }))).toBe(false);
  });
});

describe('an adapter beside another one', () => {
  const twice = 'b2bAuth() is mounted twice in one application; mount it once';
  const rivals = `b2bAuth() is mounted twice, and this request has passed both, so adapter: 'b2b' could mean either; mount each where no request passes the other`;

  it('is no rival of itself, nor of one with another name', () => {
    const adapter = createAdapter();
    const others = [adapter, createAdapter(), createAdapter({ adapter: 'backend' })];
    expect(others.map((other) => isRival(adapter, other))).toEqual([false, true, false]);
  });

  it('is refused where one of its name stands elsewhere in the application', () => {
    const adapter = createAdapter();
    const appWith = (other: Passed['definition']): express.Express => applicationOf(['/', adapter], ['/other', other]);
    expect(problemsOf(passed(adapter, { app: appWith(createAdapter()) }))).toBe(twice);
    expect(problemsOf(passed(adapter, { app: appWith(createAdapter({ adapter: 'backend' })) }))).toBeUndefined();
  });

  it('is refused where the request has passed it below another path, or one of its name', () => {
    const paths = { loginPath: '/login' };
    const [adapter, rival] = [createAdapter({ paths }), createAdapter({ paths })];
    const behind = (preceding: Passed): Passed => passed(adapter, { preceding });
    expect(problemsOf(behind(passed(adapter, { prefix: '/x' })))).toBe(twice);
    expect(problemsOf(behind(passed(rival)))).toBe(rivals);
    expect(problemsOf(behind(passed(rival, { isMounted: false })))).toBeUndefined();
  });

  it.each([
    ['the same page', { loginPath: '/in' }, { loginPath: '/in' }, 'loginPath'],
    ['a page and a stylesheet', { loginPath: '/in' }, { file: '/in' }, 'loginPath'],
    ['a stylesheet and a page', { file: '/in' }, { loginPath: '/in' }, 'loginPath'],
    ['the same stylesheet', { file: '/in' }, { file: '/in' }, undefined],
    ['different pages', { loginPath: '/in' }, { loginPath: '/out' }, undefined],
  ])('may not answer its paths, but for the stylesheet: %s', (_what, paths, theirs, option) => {
    const other = createAdapter({ adapter: 'backend', paths: theirs });
    const problem = `${option}: b2bAuth() and backendAuth() both answer '/in'; give ${option} of one of them another path`;
    const request = passed(createAdapter({ paths }), { preceding: passed(other) });
    expect(problemsOf(request)).toBe(option === undefined ? undefined : problem);
  });
});

describe('the warnings about a mount', () => {
  const messages: string[] = [];
  const codes: unknown[] = [];
  beforeEach(() => {
    messages.length = codes.length = 0;
    jest.spyOn(process, 'emitWarning').mockImplementation((_message, options) => {
      codes.push((options as { code?: string }).code);
    });
  });
  afterEach(() => void jest.restoreAllMocks());

  /** The codes of the warnings after requests to an application with a route before the adapter. */
  function warningsOf(route: string, prefix: string, ...protectedRoutes: readonly string[]): unknown[] {
    const adapter = createAdapter({
      protectedRoutes,
      emit(event) {
        if (event.type === 'configuration_warning') messages.push(event.message);
      },
    });
    const app = express();
    app.get(route, (_req, res) => void res.end());
    app.use(prefix === '' ? '/' : '/:tenant', routerOf(adapter));
    warnOfMount(passed(adapter, { app, prefix }));
    return codes;
  }
  const unguarded = 'EXPRESS_AUTH_ADAPTERS_UNGUARDED';
  const below = 'EXPRESS_AUTH_ADAPTERS_PREFIX';

  it.each<[string, string, string, readonly string[], readonly string[]]>([
    ['a protected route before it', '/account', '', ['/account'], [unguarded]],
    ['a public route before it', '/public', '', ['/account'], []],
    ['a public route where everything is protected', '/public', '', ['/(.*)'], []],
    ['a route that is protected besides everything', '/account', '', ['/(.*)', '/account'], [unguarded]],
    ['a mount path and protected routes', '/public', '/app', ['/app/account'], [below]],
    ['a mount path and no protected route', '/public', '/app', [], []],
    ['both', '/app/account', '/app', ['/app/account'], [unguarded, below]],
  ])('are given as events and by the process: %s', (_what, route, prefix, protectedRoutes, expected) => {
    expect(warningsOf(route, prefix, ...protectedRoutes)).toEqual(expected);
    const starts: Readonly<Record<string, string>> = {
      [unguarded]: `b2bAuth: '${route}' is in protectedRoutes, but a route before the adapter answers it, so it is public.`,
      [below]:
        'b2bAuth has protectedRoutes and is mounted under a path, so requests that spell that path in another way',
    };
    expect(messages).toEqual(expected.map((code) => expect.stringContaining(starts[code] ?? '')));
  });
});

describe('a path', () => {
  const [first, second] = ['backend', 'b2b'].map((adapter, index) =>
    createAdapter({
      adapter: adapter as 'b2b' | 'backend',
      paths: { loginPath: `/in${index}` },
      pages: [`/page${index}`],
    }),
  ) as [Passed['definition'], Passed['definition']];

  it('is a route of every adapter that the request has passed, but for pages to return to', () => {
    const routesOf = (request: Passed): string[] =>
      ['/in1', '/IN0/', '/page0', '/x/in0', '/x/page0'].filter((path) => isAuthRoute(request, path));
    expect(routesOf(passed(second))).toEqual(['/in1']);
    expect(routesOf(passed(second, { preceding: passed(first) }))).toEqual(['/in1', '/IN0/']);
    expect(routesOf(passed(second, { following: passed(first) }))).toEqual(['/in1', '/IN0/']);
    expect(routesOf(passed(second, { following: passed(first, { prefix: '/X' }) }))).toEqual(['/in1', '/x/in0']);
    expect(routesOf(passed(second, { app: applicationOf(['/x', first]) }))).toEqual(['/in1', '/x/in0']);
  });

  it('is none of an adapter whose own router has not seen the request', () => {
    for (const place of ['preceding', 'following']) {
      const request = passed(second, { [place]: passed(first, { isMounted: false }) });
      expect([isAuthRoute(request, '/in0'), isAuthRoute(request, '/in1')]).toEqual([false, true]);
    }
  });

  it('is answered later only by adapters behind this one', () => {
    const third = createAdapter({ paths: { loginPath: '/in2' } });
    const app = applicationOf(['/', first], ['/', second], ['/', third]);
    const answered = (definition: Passed['definition']): string[] =>
      ['/in0', '/in1', '/in2', '/page1', '/else'].filter((path) => isAnsweredLater(passed(definition, { app }), path));
    expect([first, second, third].map(answered)).toEqual([['/in1', '/in2', '/page1'], ['/in2'], []]);
    // An adapter that the stack does not show may stand anywhere.
    expect(answered(createAdapter())).toEqual([]);
  });
});

describe('a request that has passed no adapter', () => {
  const request = (app: unknown, url: string): HostRequest =>
    Object.assign(new IncomingMessage(new Socket()), { app, url });

  it('is told of the adapter that was asked for, if that is mounted below another path', () => {
    const [b2b, backend] = [createAdapter(), createAdapter({ adapter: 'backend' })];
    const app = applicationOf(['/org', b2b], ['/shop', backend]);
    findMisuse(passed(backend, { app, prefix: '/shop' }), true);
    const told = (name: 'b2b' | 'backend' | undefined, url: string): unknown =>
      /^.* do not pass it/.exec(mountedElsewhere(request(app, url), name) ?? '')?.[0];
    const [notOrg, notShop] = ['b2bAuth() is mounted below a path', 'backendAuth() is mounted under /shop'];
    expect([told('b2b', '/x?y'), told('backend', '/x'), told(undefined, '/x')]).toEqual([
      `${notOrg}: requests to /x do not pass it`,
      `${notShop}: requests to /x do not pass it`,
      `${notOrg}: requests to /x do not pass it`,
    ]);
  });

  it('is told of an adapter that takes such requests, but later, rather than of one below another path', () => {
    const app = applicationOf(['/shop', createAdapter({ adapter: 'backend' })], ['/org', createAdapter()]);
    const after = 'b2bAuth() is mounted after this handler; mount it above, with app.use()';
    for (const name of ['b2b', undefined] as const) expect(mountedElsewhere(request(app, '/org/x'), name)).toBe(after);
  });

  it('is told nothing where it has passed that adapter, and another one was asked for', () => {
    const adapter = createAdapter();
    const app = applicationOf(['/', adapter]);
    const about = (first: Passed): string | undefined => mountedElsewhere(request(app, '/x'), 'b2b', first);
    expect(about(passed(adapter, { app }))).toBeUndefined();
    expect(about(passed(createAdapter(), { app, following: passed(adapter, { app }) }))).toBeUndefined();
    expect(about(passed(adapter, { app, isMounted: false }))).toMatch(/is mounted after this handler/);
    expect(mountedElsewhere(request(undefined, '/x'), undefined)).toBeUndefined();
  });
});
