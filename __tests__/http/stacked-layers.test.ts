import express from 'express';
import express4 from 'express4';
import {
  adaptersBeside,
  protectedBefore,
  stackedAdapters,
  stackedHandlers,
} from '../../lib/http/mount/express-stack.ts';
import { createPathMatcher } from '../../lib/tools/paths/path-matcher.ts';
import { traceLayers } from '../support/traced-layers.ts';
import { variant } from '../support/variant.ts';
import { applicationOf, createAdapter, routerOf } from '../support/mounted-adapter.ts';

const handler = (_req: unknown, res: any): void => res.end();
/** An application that is not Express, with the layers that a test makes. */
const applicationWith = (layers: readonly unknown[], rest: object = {}) =>
  Object.assign(() => undefined, { router: withStack(layers), ...rest });
const withStack = (stack: readonly unknown[]) => Object.assign(() => undefined, { stack });
/** Layers of every path, unless told otherwise. */
const layer = (handle: unknown, match: (path: string) => unknown = () => ({ path: '' })) => ({ handle, match });
const definitionsIn = (app: unknown): unknown[] => stackedAdapters(app).map(({ definition }) => definition);
/** The rest of each path that the first adapter of an application would see. */
const restsIn = (app: unknown, ...paths: readonly string[]): unknown[] =>
  paths.map((path) => stackedAdapters(app)[0]?.restOf(path));

describe('the search for adapters', () => {
  it('reads the application of an adapter once', () => {
    const adapter = createAdapter();
    const app = applicationOf(['/', adapter]);
    const found = adaptersBeside(adapter, app);
    expect(found).toHaveLength(1);
    app.use(routerOf(createAdapter()));
    expect(adaptersBeside(adapter, app)).toBe(found);
    expect(adaptersBeside(adapter, applicationOf(['/', adapter], ['/', createAdapter()]))).toHaveLength(2);
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
