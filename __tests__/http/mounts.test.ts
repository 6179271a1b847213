// Where an adapter may be mounted, over HTTP.
import { jest } from '@jest/globals';
import { randomBytes } from 'node:crypto';
import http, { IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import express from 'express';
import express4 from 'express4';
import { backendAuth, getSupabaseClient, sqlSession, withUser } from '../../lib/backend/index.ts';
import type { BackendAuthOptions } from '../../lib/backend/index.ts';
import { b2bAuth, getSession, requireSession } from '../../lib/b2b/index.ts';
import type { B2bAuthOptions, RequireSessionOptions } from '../../lib/b2b/index.ts';
import { createB2bTestKit } from '../../lib/testing/index.ts';
import type { AuthEvent } from '../../lib/types.ts';
import { createApplication } from '../support/application.ts';
import { demoUsers, startB2bApp, startProvider } from '../support/b2b-app.ts';
import type { B2bApp, SharedProvider } from '../support/b2b-app.ts';
import { ada, startBackendApp } from '../support/backend-app.ts';
import type { BackendApp } from '../support/backend-app.ts';
import type { Handler } from '../support/handler-list.ts';
import { hosts, sendText } from '../support/hosts.ts';
import type { Host } from '../support/hosts.ts';
import { describeOnExpress, itOnExpress } from '../support/only.ts';
import { serve } from '../support/servers.ts';
import { createVisitor } from '../support/visitor.ts';
import type { Answer, Visitor } from '../support/visitor.ts';

let provider: SharedProvider;
beforeAll(async () => {
  provider = await startProvider();
});
afterEach(() => {
  provider.workos.switches.outage = {};
});
afterAll(() => provider.close());

const b2b = (options: B2bAuthOptions = {}): express.Router =>
  b2bAuth({ clientId: 'client_1', apiKey: 'sk_test_1', cookiePassword: randomBytes(32).toString('hex'), ...options });
const backend = (options: object = {}): express.Router =>
  backendAuth({ url: 'http://127.0.0.1:9', anonKey: 'sb_publishable_test', ...options });

/**
 * As a framework wraps a middleware, so that it is not in the stack itself.
 *
 * @param header passes on only the requests with it, unless it is empty
 */
const hidden =
  (adapter: Handler, header = ''): express.RequestHandler =>
  (req, res, next) => {
    if (header === '' || header in req.headers) adapter(req, res, next);
    else next();
  };

/** Not with `fetch` or `URL`, which would normalize the request target. */
function statusOf(port: number, path: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const req = http.get({ host: '127.0.0.1', port, path, agent: false }, (res) => {
      res.resume();
      resolve(res.statusCode ?? 0);
    });
    req.on('error', reject);
  });
}

/** What the first request gets, with the application's own way of showing an error. */
async function firstAnswer(mount: (host: Host) => void, path = '/'): Promise<Answer> {
  const { host, listener } = createApplication();
  mount(host);
  host.onError((error, _req, res) => sendText(res, `${error.name}: ${error.message}`, 500));
  const server = await serve(listener);
  try {
    return await createVisitor(server.origin).get(path);
  } finally {
    await server.close();
  }
}

describe('under a prefix', () => {
  let app: B2bApp;
  beforeAll(async () => {
    app = await startB2bApp({ provider, prefix: '/app' });
  });
  afterAll(() => app.close());

  it('own routes, redirect URI and the guard’s redirect include it; protectedRoutes are root-relative', async () => {
    const visitor = app.visitor();
    const guarded = await visitor.get('/app/dashboard?x=1');
    expect(guarded.headers.location).toBe('/app/login?returnTo=%2Fapp%2Fdashboard%3Fx%3D1');
    expect((await visitor.get('/login')).status).toBe(404);
    expect((await visitor.get('/dashboard')).text).toBe('dashboard');
    const start = await visitor.get(guarded.location);
    expect(new URL(start.location).searchParams.get('redirect_uri')).toBe(`${app.origin}/app/callback`);
    const callback = await app.workos.authorize(start.location, { user: demoUsers.personal });
    const done = await visitor.get(callback.href);
    expect([done.status, done.headers.location]).toEqual([303, '/app/dashboard?x=1']);
    // The cookie is the origin's, so that pages beside the prefix have the session as well.
    expect(done.setCookies.every((line) => line.includes('Path=/;'))).toBe(true);
    expect((await visitor.get('/app/auth/session')).status).toBe(200);
  });

  it('pages link to routes below it', async () => {
    const { text } = await app.visitor().get('/app/callback');
    expect(text).toContain('href="/app/login"');
    expect(text).toContain('href="/app/auth/pages.css?v=');
  });

  it.each(['/app/login', '/APP/Login/', '/app//login'])('%s is never accepted as returnTo', async (returnTo) => {
    const visitor = app.visitor();
    const start = await visitor.get(`/app/login?${new URLSearchParams({ returnTo }).toString()}`);
    const callback = await app.workos.authorize(start.location, { user: demoUsers.personal });
    expect((await visitor.get(callback.href)).headers.location).toBe('/');
  });

  it('a page that only looks like an own route without the prefix is accepted as returnTo', async () => {
    const visitor = app.visitor();
    const start = await visitor.get('/app/login?returnTo=/login');
    const callback = await app.workos.authorize(start.location, { user: demoUsers.personal });
    expect((await visitor.get(callback.href)).headers.location).toBe('/login');
  });
});

describe('the built-in pages of backendAuth under a prefix', () => {
  let app: BackendApp;
  let member: Visitor;
  beforeAll(async () => {
    const options: BackendAuthOptions = { signInMethods: ['password', 'code'], sso: true };
    app = await startBackendApp({ prefix: '/app', options });
    member = app.visitor();
    expect((await member.postJson('/app/auth/login', ada)).status).toBe(200);
  });
  afterAll(() => app.close());

  /** As they stand in the page; `/` is the start page of the whole origin. */
  const localLinks = (text: string): string[] =>
    [...text.matchAll(/(?:href|action|src)="(\/[^"]*)"/g)].map(([, url = '']) => url).filter((url) => url !== '/');

  it.each([
    ['/auth/login', 200],
    ['/auth/login?returnTo=/app/x', 200],
    ['/auth/signup', 200],
    ['/auth/forgot', 200],
    ['/auth/code', 200],
    ['/auth/sso', 200],
    ['/auth/confirm?token_hash=abcdef&type=recovery', 200],
    ['/auth/callback?error=access_denied', 403],
  ])('%s links to nothing outside it', async (path, status) => {
    const page = await app.visitor().get(`/app${path}`);
    expect(page.status).toBe(status);
    const links = localLinks(page.text);
    expect(links.length).toBeGreaterThan(1);
    expect(links.filter((url) => !url.startsWith('/app/auth/'))).toEqual([]);
  });

  it.each(['/auth/login', '/auth/password', '/auth/enroll', '/auth/logout'])(
    '%s links to nothing outside it for a signed-in user',
    async (path) => {
      const page = await member.get(`/app${path}`);
      expect(page.status).toBe(200);
      const links = localLinks(page.text);
      expect(links.length).toBeGreaterThan(1);
      expect(links.filter((url) => !url.startsWith('/app/auth/'))).toEqual([]);
    },
  );
});

describe('protectedRoutes under a prefix', () => {
  it('cause one warning, as an event and by the process: other spellings of the prefix bypass them', async () => {
    const warn = jest.spyOn(process, 'emitWarning').mockImplementation(() => undefined);
    const events: AuthEvent[] = [];
    const { host, listener } = createApplication();
    host.use('/app', b2b({ protectedRoutes: '/app(.*)', onEvent: (event) => events.push(event) }));
    host.use('/org', backend({ onEvent: (event: AuthEvent) => events.push(event) }));
    const server = await serve(listener);
    for (const path of ['/app/a', '/app/b', '/APP/c', '/org/d']) await createVisitor(server.origin).get(path);
    await server.close();
    const message: unknown = expect.stringMatching(/^b2bAuth has protectedRoutes and is mounted under a path/);
    expect(events).toEqual([{ type: 'configuration_warning', adapter: 'b2b', message }]);
    expect(warn.mock.calls).toEqual([[message, { code: 'EXPRESS_AUTH_ADAPTERS_PREFIX' }]]);
    warn.mockRestore();
  });
});

describe('a matcher that the mount path can never see', () => {
  it.each(['/dashboard(.*)', '/application', '/ap', '/'])(
    '%s under /app is an error that names it',
    async (pattern) => {
      const { status, text } = await firstAnswer(
        (host) => host.use('/app', b2b({ protectedRoutes: ['/app/ok', pattern] })),
        '/app/anything',
      );
      expect(status).toBe(500);
      expect(text).toContain(`ConfigurationError: b2bAuth: protectedRoutes: '${pattern}' can never match`);
    },
  );

  it.each(['/app', '/app(.*)', '/(.*)', '/:section/x', '/app/:id'])('%s under /app is fine', async (pattern) => {
    const { status } = await firstAnswer((host) => host.use('/app', b2b({ protectedRoutes: pattern })), '/app/login');
    expect(status).toBe(302);
  });
});

/** What each request gets, one after the other, as a status or as the text of a 500. */
async function inTurn(listener: http.RequestListener, ...paths: readonly string[]): Promise<unknown[]> {
  const server = await serve(listener);
  const visitor = createVisitor(server.origin);
  const found: unknown[] = [];
  for (const path of paths) {
    const { status, text } = await visitor.get(path);
    found.push(status === 500 ? text : status);
  }
  await server.close();
  return found;
}

describe('no request makes a wrong mount pass for right', () => {
  const never: unknown = expect.stringContaining("'/dashboard(.*)' can never match");
  const wrong = (auth: Handler): Host => {
    const { host } = createApplication();
    host.use('/app', auth);
    host.use((_req, res) => sendText(res, 'SECRET'));
    host.onError((error, _req, res) => sendText(res, error.message, 500));
    return host;
  };

  it('not one that comes to the adapter without the application, as through the engine of Socket.IO', async () => {
    const auth = b2b({ protectedRoutes: '/dashboard(.*)' }) as unknown as Handler;
    const { listener } = wrong(auth);
    const found = await inTurn(
      (req, res) => {
        if (req.url?.startsWith('/socket.io/') === true) auth(req, res, () => res.end());
        else listener(req, res, () => res.end());
      },
      ...['/socket.io/', '/app/dashboard', '/socket.io/', '/app/dashboard'],
    );
    expect(found).toEqual([200, never, 200, never]);
  });

  it.each([
    ['that Connect reads as one below the mount path', '/app.x'],
    ['that can be read in many ways', `/app${'/a%2f..'.repeat(9)}`],
    ['whose letters differ', '/APP/x'],
  ])('not one to a path %s', async (_which, path) => {
    const { listener } = wrong(b2b({ protectedRoutes: '/dashboard(.*)' }));
    const [first, , last] = await inTurn(
      (req, res) => listener(req, res, () => res.end()),
      '/app/dashboard',
      path,
      '/app/dashboard',
    );
    expect([first, last]).toEqual([never, never]);
  });
});

describeOnExpress('a mount of several paths', () => {
  it.each<[string, string | readonly string[] | RegExp, readonly string[], Readonly<Record<string, number>>]>([
    [
      'two paths',
      ['/app', '/admin'],
      ['/app/private', '/admin/(.*)'],
      { '/app/': 200, '/app/private': 307, '/admin/x': 307, '/app/login': 302 },
    ],
    [
      'a parameter',
      '/:tenant',
      ['/acme/admin(.*)', '/globex/admin(.*)'],
      { '/other/admin': 200, '/acme/': 200, '/acme/admin': 307, '/globex/admin': 307, '/globex/login': 302 },
    ],
    [
      'an expression',
      /^\/(?:en|de)(?=\/|$)/,
      ['/en/account', '/de/konto'],
      { '/en/': 200, '/de/': 200, '/en/account': 307, '/de/konto': 307, '/en/konto': 200 },
    ],
  ])('sees a pattern below one of them: %s', async (_what, paths, protectedRoutes, expected) => {
    const { host } = createApplication();
    host.use(paths as string, b2b({ protectedRoutes: [...protectedRoutes] }));
    host.use((_req, res) => sendText(res, 'page'));
    host.onError((error, _req, res) => sendText(res, error.message, 500));
    const asked = Object.keys(expected);
    const found = await inTurn((req, res) => host.listener(req, res, () => res.end()), ...asked, ...asked);
    expect(found).toEqual([...Object.values(expected), ...Object.values(expected)]);
  });

  it('says once which patterns match nothing below the path of its first request', async () => {
    const warn = jest.spyOn(process, 'emitWarning').mockImplementation(() => undefined);
    const { host } = createApplication();
    host.use('/:tenant', b2b({ protectedRoutes: ['/dashboard(.*)', '/:tenant/account', '/home'] }));
    host.use((_req, res) => sendText(res, 'page'));
    const found = await inTurn(
      (req, res) => host.listener(req, res, () => res.end()),
      ...['/acme/dashboard', '/dashboard/x', '/acme/dashboard', '/acme/account'],
    );
    expect(found).toEqual([200, 307, 200, 307]);
    const partly: unknown = expect.stringContaining(
      "below some of its mount paths these match nothing: '/dashboard(.*)', '/home'. For one below a parameter such as /:tenant, write '/:tenant/…'.",
    );
    expect(warn.mock.calls).toEqual([[partly, { code: 'EXPRESS_AUTH_ADAPTERS_PREFIX' }]]);
    warn.mockRestore();
  });
});

describe('a matcher of everything', () => {
  it('locks no one out of signing in: own routes and the pages’ stylesheet are exempt', async () => {
    const app = await startB2bApp({ provider, options: { protectedRoutes: '/(.*)' } });
    const visitor = app.visitor();
    expect((await visitor.get('/')).headers.location).toBe('/login');
    expect((await visitor.get('/auth/pages.css')).status).toBe(200);
    expect((await visitor.get('/LOGIN/')).status).toBe(302);
    expect((await visitor.get('/auth/session')).status).toBe(401);
    expect((await visitor.post('/logout')).status).toBe(303);
    expect((await (await app.signedIn()).get('/')).text).toBe('home');
    await app.close();
  });

  // On other hosts an adapter finds another one only after a request has passed it.
  itOnExpress.each(['b2b first', 'backend first'])(
    'exempts the routes of the other adapter as well (%s)',
    async (order) => {
      const routers = [
        b2b({ protectedRoutes: '/(.*)', sessionPath: '/b2b/session' }),
        backend({ protectedRoutes: '/(.*)' }),
      ];
      if (order === 'backend first') routers.reverse();
      for (const [path, status] of [
        ['/login', 302],
        ['/auth/login', 200],
        ['/b2b/session', 401],
        ['/auth/session', 401],
        ['/auth/pages.css', 200],
      ] as const) {
        const answer = await firstAnswer((host) => host.use(...(routers as [express.Router])), path);
        expect([path, answer.status]).toEqual([path, status]);
      }
      const other = await firstAnswer((host) => host.use(...(routers as [express.Router])), '/x');
      expect([303, 307]).toContain(other.status);
    },
  );

  itOnExpress('exempts the routes of an adapter that is mounted after the first request', async () => {
    let root: Host | undefined;
    const app = await startB2bApp({
      provider,
      options: { protectedRoutes: '/(.*)', sessionPath: '/b2b/session' },
      after: (host) => void (root = host),
    });
    expect((await app.visitor().get('/auth/login')).status).toBe(307);
    root!.use(backend());
    // The application's own pages come before it.
    expect((await app.visitor().get('/auth/signup')).status).toBe(200);
    await app.close();
  });

  itOnExpress('exempts the other adapter’s routes even during an outage of the provider', async () => {
    const app = await startB2bApp({
      provider,
      options: { protectedRoutes: '/(.*)', sessionPath: '/b2b/session' },
      after: (root) => root.use(backend()),
    });
    const visitor = await app.signedIn();
    provider.clock.advance(400_000);
    app.workos.switches.outage = { token: 'refuse' };
    expect((await visitor.get('/')).status).toBe(503);
    expect((await visitor.get('/auth/login')).status).toBe(200);
    await app.close();
  });
});

// Other hosts have no stack to search.
describeOnExpress('mounting', () => {
  it.each<[string, (host: Host) => void]>([
    ['two instances', (host) => host.use(b2b(), b2b({ cookieName: 'other' }))],
    [
      'two instances under two prefixes',
      (host) => {
        host.use('/a', b2b());
        host.use('/b', b2b({ cookieName: 'other' }));
      },
    ],
    [
      'one instance twice',
      (host) => {
        const router = b2b();
        host.use(router, router);
      },
    ],
    [
      'inside another router',
      (host) => {
        host.use(b2b());
        host.below('/').use('/x', b2b());
      },
    ],
  ])('the same adapter twice is an error: %s', async (_name, mount) => {
    const { status, text } = await firstAnswer(mount, '/a/x');
    expect([status, text]).toEqual([500, expect.stringContaining('b2bAuth() is mounted twice')]);
  });

  it('two adapters that answer the same path are an error that names the option', async () => {
    for (const routers of [
      [b2b(), backend()],
      [backend(), b2b()],
    ] as const) {
      const { status, text } = await firstAnswer((host) => host.use(...routers));
      expect(status).toBe(500);
      expect(text).toMatch(/ConfigurationError: .*sessionPath: .* both answer '\/auth\/session'/);
    }
  });

  it('a factory that was not called is an error that says so', async () => {
    for (const [factory, name] of [
      [b2bAuth, 'b2bAuth'],
      [backendAuth, 'backendAuth'],
    ] as const) {
      const { status, text } = await firstAnswer((host) => host.use(factory as unknown as express.Router));
      expect([status, text]).toEqual([
        500,
        expect.stringContaining(
          `ConfigurationError: ${name}: it is mounted without having been called; write app.use(${name}())`,
        ),
      ]);
    }
  });

  it('two adapters with different paths or different prefixes are fine', async () => {
    const named = await firstAnswer(
      (host) => host.use(b2b({ sessionPath: '/b2b/session' }), backend()),
      '/b2b/session',
    );
    expect(named.status).toBe(401);
    const apart = await firstAnswer((host) => {
      host.use('/org', b2b());
      host.use(backend());
    }, '/org/auth/session');
    expect(apart.status).toBe(401);
  });

  it('both without naming the one that guards are an error, and with a name they are fine', async () => {
    const both = (guard: express.RequestHandler) => (host: Host) => {
      host.use(b2b({ sessionPath: '/b2b/session' }), backend());
      host.get('/x', guard, (_req, res) => sendText(res, 'x'));
    };
    const { status, text } = await firstAnswer(both(requireSession()), '/x');
    expect([status, text]).toEqual([
      500,
      expect.stringContaining('requireSession: both adapters are mounted, so say which one guards'),
    ]);
    expect((await firstAnswer(both(requireSession), '/x')).status).toBe(500);
    expect((await firstAnswer(both(requireSession({ adapter: 'b2b' })), '/x')).headers.location).toMatch(/^\/login/);
    expect((await firstAnswer(both(requireSession({ adapter: 'backend' })), '/x')).headers.location).toMatch(
      /^\/auth\/login/,
    );
  });
});

describe('a protected path', () => {
  let app: B2bApp;
  beforeAll(async () => {
    app = await startB2bApp({ provider });
  });
  afterAll(() => app.close());

  it.each([
    '/DASHBOARD',
    '//dashboard',
    '/./dashboard',
    '/x/../dashboard',
    '/%64ashboard',
    '/%2564ashboard',
    '/x/%2e%2e/dashboard',
    '/dashboard%2Fa',
    '/\\dashboard',
    'http://elsewhere.example/dashboard',
    'http://127.0.0.1/x/../dashboard',
  ])('is matched in every spelling, such as %s', async (path) => {
    expect(await statusOf(app.port, path)).toBe(307);
  });
});

// The other hosts here pass the original URL to every handler.
describeOnExpress('a rewritten URL', () => {
  const localized: Handler = (req, _res, next) => {
    req.url = req.url.replace(/^\/(?:en|de)(?=\/)/, '').replace('/old-dash', '/home');
    next();
  };
  const answer = (path: string, options: B2bAuthOptions, prefix = '/') =>
    firstAnswer((host) => {
      host.use(localized);
      host.use(prefix, b2b(options));
      host.use((_req, res) => sendText(res, 'SECRET'));
    }, path);

  it.each(['/dash/a', '/en/dash/a', '/de/DASH', '/old-dash'])(
    'is protected by its original and by its rewritten URL: %s',
    async (path) => {
      const { status, headers } = await answer(path, { protectedRoutes: ['/dash(.*)', '/old-dash'] });
      expect([status, headers.location]).toEqual([307, `/login?returnTo=${encodeURIComponent(path)}`]);
    },
  );

  it('is protected below a prefix, too', async () => {
    const { status } = await answer('/en/app/dash', { protectedRoutes: '/app/dash(.*)' }, '/app');
    expect(status).toBe(307);
  });

  it('that matches no pattern is public, as is an own route', async () => {
    expect((await answer('/en/other', { protectedRoutes: '/dash(.*)' })).text).toBe('SECRET');
    expect((await answer('/en/login', { protectedRoutes: '/(.*)' })).status).toBe(302);
  });

  it('the prefix itself can be an open page, without a trailing slash', async () => {
    const open = await firstAnswer((host) => {
      host.use('/app', backend({ protectedRoutes: '/app(.*)', pages: { signIn: '/app' } }));
      host.use((_req, res) => sendText(res, 'sign in here'));
    }, '/app');
    expect(open.text).toBe('sign in here');
  });
});

describe('a public request', () => {
  it('causes no decryption, no provider call and no event, whatever cookies it has', async () => {
    const app = await startB2bApp({ provider });
    const visitor = await app.signedIn();
    provider.clock.advance(400_000);
    app.workos.clearRequests();
    app.events.length = 0;
    // Any code that read these cookies would refresh or clear them.
    for (const cookie of [visitor.cookieHeader(), 'b2b-session=rubbish', 'b2b-session.0=a; b2b-session.1=b']) {
      for (const path of ['/', '/nothing', '/dash', '/api/public']) {
        const answer = await app.visitor().get(path, { headers: { cookie } });
        expect([answer.setCookies, answer.headers.vary, answer.headers['cache-control']]).toEqual([
          [],
          undefined,
          undefined,
        ]);
      }
    }
    expect([app.workos.requests, app.events]).toEqual([[], []]);
    // A handler that asks for the session does get it.
    await app.visitor().get('/whoami', { headers: { cookie: 'b2b-session=rubbish' } });
    expect(app.events).toEqual([{ adapter: 'b2b', type: 'session_rejected', reason: 'unreadable' }]);
    await app.close();
  });

  it('calls no provider before the first sign-in', async () => {
    provider.workos.clearRequests();
    const app = await startB2bApp({ provider });
    await app.visitor().get('/');
    await app.visitor().get('/dashboard');
    await app.visitor().get('/auth/session');
    expect(app.workos.requests).toEqual([]);
    await app.close();
  });
});

it('resolves the session once per request, for everything in that request', async () => {
  const app = await startB2bApp({
    provider,
    after: (root) =>
      root.get('/dashboard/busy', requireSession, requireSession({ organization: true }), (_req, res) =>
        sendText(res, 'ok'),
      ),
  });
  const visitor = await app.signedIn(demoUsers.oneOrganization);
  provider.clock.advance(400_000);
  app.workos.clearRequests();
  app.events.length = 0;
  const answer = await visitor.get('/dashboard/busy');
  expect([answer.text, answer.setCookies.length]).toEqual(['ok', 1]);
  expect(app.workos.tokenCalls).toBe(1);
  expect(app.events.map(({ type }) => type)).toEqual(['session_refreshed']);
  await app.close();
});

/** What requests to the application get. */
async function outcomes(app: express.Express, ...paths: string[]): Promise<string[]> {
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
    app.use(pattern, b2b());
    expect(await outcomes(app, '/v1/login', '/v1/users/7')).toEqual([swallowed, swallowed]);
  });

  it('is one also after a request for the start page, of which it takes nothing', async () => {
    const app = five();
    app.use('{*path}', b2b());
    expect(await outcomes(app, '/', '/login', '/')).toEqual(['200', swallowed, '200']);
  });

  it.each<[string, () => express.Express, string]>([
    ['Express 5', five, '{*path}'],
    ['Express 5', five, '/v1/*path'],
    ['Express 4', four, '*'],
  ])('is one where a framework wraps the adapter, on %s: %p %p', async (_, create, pattern) => {
    const app = create();
    app.use(pattern, hidden(b2b()));
    expect(await outcomes(app, '/v1/login')).toEqual([swallowed]);
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
    for (const mounted of [b2b(), hidden(b2b())]) {
      const app = create();
      app.use(pattern, mounted);
      expect(await outcomes(app, '/app', '/app/x', '/en', '/en/', '/a/b', '/a/b/c')).toEqual(Array(6).fill('200'));
    }
  });
});

it.each([
  ['at the root', '/'],
  ['below a path', '/api'],
])('a handler above the adapter, which is mounted %s, is told to come after it', async (_where, prefix) => {
  const app = express();
  app.use('/api/users', requireSession());
  app.get('/api/me', (req, res, next) => void getSession(req, 'b2b').then((session) => res.json(session), next));
  app.use(prefix, b2b());
  const problem =
    'no adapter has seen this request; b2bAuth() is mounted after this handler; mount it above, with app.use()';
  expect(await outcomes(app, '/api/users', '/api/me')).toEqual([
    `requireSession: ${problem}`,
    `getSession: ${problem}`,
  ]);
});

describe('a request that does not pass the adapter, which is mounted below a path', () => {
  const mounted = (): express.Express => {
    const app = express();
    app.use('/v1/auth', b2b());
    app.use('/v1/users', requireSession());
    app.get('/v1/me', (req, res, next) => void getSession(req).then((session) => res.json(session), next));
    return app;
  };

  it('is told where it is mounted, and of pathPrefix', async () => {
    expect(await outcomes(mounted(), '/v1/auth/login', '/v1/users', '/v1/me')).toEqual([
      '302',
      'requireSession: no adapter has seen this request; b2bAuth() is mounted under /v1/auth: requests to /v1/users do not pass it; mount it at the root, and use pathPrefix to move its routes',
      expect.stringMatching(/^getSession: .*under \/v1\/auth: requests to \/v1\/me do not pass it/),
    ]);
  });

  it('is told so before any request has passed it, without its path', async () => {
    expect(await outcomes(mounted(), '/v1/users')).toEqual([
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
    expect(await outcomes(app, '/v1/me')).toEqual([
      expect.stringMatching(`^${name}: .*backendAuth\\(\\) is mounted below a path: requests to /v1/me do not pass it`),
    ]);
  });

  it('has the general message where none is mounted', async () => {
    const app = express();
    app.use(requireSession());
    expect(await outcomes(app, '/')).toEqual([
      expect.stringMatching(/mount b2bAuth\(\) or backendAuth\(\) with app\.use\(\)/),
    ]);
  });
});

const secret = (_req: unknown, res: any): void => res.end('SECRET');

describe.each([
  ['Express 4', express4],
  ['Express 5', express],
])('a protected path before the adapter, on %s', (_name, createApp) => {
  const warnings: string[] = [];
  beforeEach(() => {
    warnings.length = 0;
    jest.spyOn(process, 'emitWarning').mockImplementation((warning, options) => {
      const { code } = options as { code?: string };
      if (code === 'EXPRESS_AUTH_ADAPTERS_UNGUARDED') warnings.push(String(warning));
    });
  });
  afterEach(() => void jest.restoreAllMocks());

  /** The events after two requests that reach the adapter. */
  async function events(
    before: (app: express.Express) => unknown,
    protectedRoutes: string | string[],
  ): Promise<AuthEvent[]> {
    const heard: AuthEvent[] = [];
    const app = createApp();
    before(app);
    app.use(b2bAuth({ ...createB2bTestKit().options, protectedRoutes, onEvent: (event) => heard.push(event) }));
    const server = await serve(app);
    for (const path of ['/elsewhere', '/other']) await fetch(server.origin + path);
    await server.close();
    return heard;
  }

  const router = (): express.Router => createApp.Router().get('/', secret);

  it.each<[string, (app: express.Express) => unknown, string]>([
    ['a route', (app) => app.get('/account', secret), '/account'],
    ['a route with a parameter', (app) => app.get('/account/:id', secret), '/account/:id'],
    ['one of several paths', (app) => app.get(['/x', '/account'], secret), '/account'],
    ['a router', (app) => app.use('/account', router()), '/account'],
  ])('one warning names a protected path that %s before the adapter answers', async (_what, before, path) => {
    const heard = await events(before, '/account(.*)');
    expect(warnings).toEqual([expect.stringContaining(`b2bAuth: '${path}' is in protectedRoutes, but a route before`)]);
    expect(heard).toEqual([{ type: 'configuration_warning', adapter: 'b2b', message: warnings[0] }]);
  });

  it.each<[string, (app: express.Express) => unknown, string]>([
    ['a public route', (app) => app.get('/public', secret), '/account(.*)'],
    ['middleware of every path', (app) => app.use((_req, _res, next) => next()), '/account(.*)'],
    ['middleware of a protected path', (app) => app.use('/account', (_req, _res, next) => next()), '/account(.*)'],
    ['a router at the root', (app) => app.use(router()), '/account(.*)'],
    ['a route where everything is protected', (app) => app.get('/health', secret), '/(.*)'],
  ])('%s before the adapter causes none', async (_what, before, pattern) => {
    expect([await events(before, pattern), warnings]).toEqual([[], []]);
  });
});

it('a protected path before the adapter is named also where a request comes without the application first', async () => {
  const heard: string[] = [];
  const auth = b2b({
    protectedRoutes: '/account',
    onEvent(event) {
      if (event.type === 'configuration_warning') heard.push(event.message);
    },
  });
  const app = express();
  app.get('/account', secret);
  app.use(auth, secret);
  const handle = auth as unknown as Handler;
  await inTurn(
    (req, res) => (req.url === '/socket.io/' ? handle(req, res, () => res.end()) : app(req, res)),
    ...['/socket.io/', '/x', '/socket.io/', '/x'],
  );
  expect(heard).toEqual([expect.stringContaining("'/account' is in protectedRoutes, but a route before")]);
});

/** A request that an application of this shape handles. */
const requestIn = (app: unknown): IncomingMessage => Object.assign(new IncomingMessage(new Socket()), { app });

describe('a guard or a function without an adapter', () => {
  it.each<[string, RequireSessionOptions | undefined, string]>([
    ['any session', undefined, 'b2bAuth() or backendAuth()'],
    ['a session of one adapter', { adapter: 'backend' }, 'backendAuth()'],
    ['an organization', { organization: true }, 'b2bAuth()'],
  ])('is an error that names who asked for %s', async (_what, options, names) => {
    const told: unknown[] = [];
    const server = await serve((req, res) => {
      (options === undefined ? requireSession() : requireSession(options))(
        req as never,
        res as never,
        (error?: unknown) => {
          told.push(String(error));
          res.end();
        },
      );
    });
    await fetch(server.origin);
    await server.close();
    expect(told).toEqual([expect.stringMatching(/^ConfigurationError: requireSession\b/)]);
    expect(told).toEqual([expect.stringContaining(`mount ${names} with`)]);
  });

  it('is an error of getSession if it was called', async () => {
    await expect(getSession(requestIn(undefined))).rejects.toThrow(/^getSession\b/);
  });

  it.each([7, [], null, { aal: 'aal3' }])('is an immediate error of requireSession with the options %j', (options) => {
    expect(() => requireSession(options as RequireSessionOptions)).toThrow(/^requireSession\b/);
  });
});

describe.each(['Express 4', 'Express 5'] as const)('an adapter that no search finds, on %s', (version) => {
  const kit = createB2bTestKit();
  const b2bOfKit = (options: B2bAuthOptions = {}): express.Router => b2b({ ...kit.options, ...options });
  const passed = expect.stringMatching(/^SECRET$/) as string;

  /** What each request gets, one after the other: its path, and the header that it names behind a space. */
  async function answers(mount: (app: Host) => void, requests: readonly string[]): Promise<string[]> {
    const app = hosts[version]();
    mount(app);
    app.use((_req, res) => sendText(res, 'SECRET'));
    app.onError((error, _req, res) => sendText(res, error.message, 500));
    const server = await serve(app.listener);
    const texts: string[] = [];
    for (const request of requests) {
      const [path = '/', ...names] = request.split(' ');
      const headers = { cookie: await kit.cookie(), ...Object.fromEntries(names.map((name) => [name, '1'])) };
      texts.push((await createVisitor(server.origin).get(path, { headers })).text);
    }
    await server.close();
    return texts;
  }

  it('is mounted twice where one request passes it below two paths', async () => {
    const twice = b2bOfKit();
    const found = await answers(
      (app) => {
        app.use('/x', hidden(twice));
        app.use(hidden(twice, 'again'));
      },
      ['/x/y', '/y again', '/x/y again', '/x/y'],
    );
    expect(found).toEqual([passed, passed, expect.stringContaining('b2bAuth() is mounted twice'), passed]);
  });

  it.each<[string, (app: Host) => void]>([
    [
      'the first one has',
      (app) => {
        app.use('/:tenant', hidden(b2bOfKit({ sessionPath: '/session' })));
        app.use(hidden(backend()));
      },
    ],
    [
      'the second one has',
      (app) => {
        app.use(hidden(backend()));
        app.use('/:tenant', hidden(b2bOfKit({ sessionPath: '/session' })));
      },
    ],
  ])('answers a path of another adapter below the one mount path that %s', async (_which, mount) => {
    const clash = expect.stringMatching(/sessionPath: .* both answer '\/auth\/session'/) as string;
    expect(await answers(mount, ['/one/x', '/auth/x', '/one/x', '/auth/x'])).toEqual([passed, clash, passed, clash]);
  });

  it.each([
    ['/auth/resend', '/auth/confirm', '/auth/forgot', '/auth/password', '/auth/verify'],
    ['/auth/enroll', '/auth/code', '/auth/sso', '/auth/signup', '/auth/callback'],
  ])('answers the paths of another adapter, each with its option: %s, %s, %s, %s, %s', async (...taken) => {
    const [loginPath, signUpPath, callbackPath, logoutPath, organization] = taken;
    const other = { loginPath, signUpPath, callbackPath, logoutPath, sessionPath: '/session' };
    const [text = ''] = await answers(
      (app) =>
        app.use(
          hidden(backend({ signInMethods: ['password', 'code'], sso: true })),
          hidden(b2bOfKit({ ...other, paths: { organization } })),
        ),
      ['/x'],
    );
    for (const [option, path] of Object.entries({ ...other, 'paths.organization': organization })) {
      const clash = `${option}: b2bAuth() and backendAuth() both answer '${path}'`;
      expect([option, text.includes(clash)]).toEqual([option, option !== 'sessionPath']);
    }
  });

  it('never sees a pattern below one of its mount paths, whatever came below another one', async () => {
    const found = await answers(
      (app) => app.use('/:tenant', hidden(b2bOfKit({ protectedRoutes: '/one/account' }))),
      ['/two/x', '/one/x', '/two/x', '/one/x'],
    );
    const never = expect.stringContaining("'/one/account' can never match") as string;
    expect(found).toEqual([never, passed, never, passed]);
  });

  it('is checked beside each adapter that a request has passed before', async () => {
    const found = await answers(
      (app) => {
        app.use(hidden(backend(), 'clashing'));
        app.use(hidden(backend({ sessionPath: '/auth/me' }), 'apart'));
        app.use(hidden(b2bOfKit()));
      },
      ['/x apart', '/x clashing', '/x apart', '/x clashing apart', '/x'],
    );
    const clash = expect.stringContaining("both answer '/auth/session'") as string;
    const rival = expect.stringContaining('backendAuth() is mounted twice') as string;
    expect(found).toEqual([passed, clash, passed, rival, passed]);
  });

  it('is refused beside its rival, also where the request passes a good adapter in between', async () => {
    const found = await answers(
      (app) => {
        app.use(hidden(b2bOfKit({ cookieName: 'other' }), 'rival'));
        app.use(hidden(backend({ sessionPath: '/auth/me' })));
        app.use(hidden(b2bOfKit()));
      },
      ['/x', '/x rival', '/x'],
    );
    expect(found).toEqual([passed, expect.stringContaining('b2bAuth() is mounted twice, and'), passed]);
  });

  it('does not guard a request that comes back to it after its rival', async () => {
    const first = b2bOfKit({ protectedRoutes: '/account' });
    const found = await answers(
      (app) => {
        app.use(hidden(first));
        app.use(hidden(b2bOfKit({ cookieName: 'other' }), 'rival'));
        app.onError((_error, req, res, next) => first(req, res, next));
      },
      ['/account', '/account rival'],
    );
    expect(found).toEqual([passed, expect.stringContaining('b2bAuth() is mounted twice, and')]);
  });

  it.each<[string, (app: Host, one: Handler, other: Handler) => void]>([
    ['has passed', (app, one, other) => app.use(hidden(other), hidden(one))],
    ['would pass next', (app, one, other) => app.use(one, other)],
  ])('does not return to a route of an adapter that the request %s', async (_which, mount) => {
    const [route = '', page = ''] = await answers(
      (app) => mount(app, backend({ sessionPath: '/auth/me' }), b2bOfKit()),
      ['/auth/login?returnTo=/callback', '/auth/login?returnTo=/welcome'],
    );
    expect([route.includes('/callback'), page.includes('/welcome')]).toEqual([false, true]);
  });
});
