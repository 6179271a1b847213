import { jest } from '@jest/globals';
import { randomBytes } from 'node:crypto';
import http from 'node:http';
import type express from 'express';
import { backendAuth, requireSession } from '../../lib/backend/index.ts';
import type { BackendAuthOptions } from '../../lib/backend/index.ts';
import { b2bAuth } from '../../lib/b2b/index.ts';
import type { B2bAuthOptions } from '../../lib/b2b/index.ts';
import { demoUsers, startB2bApp, startProvider } from '../support/b2b-app.ts';
import type { B2bApp, SharedProvider } from '../support/b2b-app.ts';
import { ada, startBackendApp } from '../support/backend-app.ts';
import type { BackendApp } from '../support/backend-app.ts';
import type { AuthEvent } from '../../lib/types.ts';
import type { Handler } from '../support/handler-list.ts';
import { sendText } from '../support/hosts.ts';
import type { Host } from '../support/hosts.ts';
import { serve } from '../support/servers.ts';
import { describeOnExpress, itOnExpress } from '../support/only.ts';
import { createApplication } from '../support/application.ts';
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
