import { IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import { backendAuth } from '../../lib/backend/index.ts';
import type { BackendAuthOptions } from '../../lib/backend/index.ts';
import { b2bAuth, getSession, requireSession } from '../../lib/b2b/index.ts';
import type { B2bAuthOptions, RequireSessionOptions } from '../../lib/b2b/index.ts';
import { comparablePath } from '../../lib/http/message.ts';
import { createB2bTestKit } from '../../lib/testing/index.ts';
import type { Handler } from '../support/handler-list.ts';
import { hosts, sendText } from '../support/hosts.ts';
import type { Host } from '../support/hosts.ts';
import { serve } from '../support/servers.ts';
import { createVisitor } from '../support/visitor.ts';

/** A request that an application of this shape handles. */
const requestIn = (app: unknown): IncomingMessage => Object.assign(new IncomingMessage(new Socket()), { app });

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
  const b2b = (options: B2bAuthOptions = {}): Handler => b2bAuth({ ...kit.options, ...options }) as Handler;
  const backend = (options: BackendAuthOptions = {}): Handler =>
    backendAuth({ url: 'http://127.0.0.1:9', anonKey: 'sb_publishable_test', ...options }) as Handler;
  /** A function that passes on the requests with this header. */
  const hidden =
    (adapter: Handler, header = ''): Handler =>
    (req, res, next) =>
      header === '' || header in req.headers ? adapter(req, res, next) : next();
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
    const twice = b2b();
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
        app.use('/:tenant', hidden(b2b({ sessionPath: '/session' })));
        app.use(hidden(backend()));
      },
    ],
    [
      'the second one has',
      (app) => {
        app.use(hidden(backend()));
        app.use('/:tenant', hidden(b2b({ sessionPath: '/session' })));
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
    const [loginPath, signUpPath, callbackPath, logoutPath, organizationPath] = taken;
    const other = { loginPath, signUpPath, callbackPath, logoutPath, organizationPath, sessionPath: '/session' };
    const [text = ''] = await answers(
      (app) => app.use(hidden(backend({ signInMethods: ['password', 'code'], sso: true })), hidden(b2b(other))),
      ['/x'],
    );
    for (const [option, path] of Object.entries(other)) {
      const clash = `${option}: b2bAuth() and backendAuth() both answer '${path}'`;
      expect([option, text.includes(clash)]).toEqual([option, option !== 'sessionPath']);
    }
  });

  it('never sees a pattern below one of its mount paths', async () => {
    const found = await answers(
      (app) => app.use('/:tenant', hidden(b2b({ protectedRoutes: '/one/account' }))),
      ['/one/x', '/two/x', '/one/x'],
    );
    expect(found).toEqual([passed, expect.stringContaining("'/one/account' can never match"), passed]);
  });

  it('is checked beside each adapter that a request has passed before', async () => {
    const found = await answers(
      (app) => {
        app.use(hidden(backend(), 'clashing'));
        app.use(hidden(backend({ sessionPath: '/auth/me' }), 'apart'));
        app.use(hidden(b2b()));
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
        app.use(hidden(b2b({ cookieName: 'other' }), 'rival'));
        app.use(hidden(backend({ sessionPath: '/auth/me' })));
        app.use(hidden(b2b()));
      },
      ['/x', '/x rival', '/x'],
    );
    expect(found).toEqual([passed, expect.stringContaining('b2bAuth() is mounted twice, and'), passed]);
  });

  it('does not guard a request that comes back to it after its rival', async () => {
    const first = b2b({ protectedRoutes: '/account' });
    const found = await answers(
      (app) => {
        app.use(hidden(first));
        app.use(hidden(b2b({ cookieName: 'other' }), 'rival'));
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
      (app) => mount(app, backend({ sessionPath: '/auth/me' }), b2b()),
      ['/auth/login?returnTo=/callback', '/auth/login?returnTo=/welcome'],
    );
    expect([route.includes('/callback'), page.includes('/welcome')]).toEqual([false, true]);
  });
});
