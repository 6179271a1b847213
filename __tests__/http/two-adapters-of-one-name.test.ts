import type { Router } from 'express';
import {
  b2bAuth,
  backendAuth,
  currentSession,
  forwardAuth,
  getSession,
  getSupabaseClient,
  requireSession,
} from '../../lib/index.ts';
import { createB2bTestKit, createBackendTestKit } from '../../lib/testing/index.ts';
import { createApplication } from '../support/application.ts';
import type { Handler } from '../support/handler-list.ts';
import { sendText } from '../support/hosts.ts';
import { itOnExpress } from '../support/only.ts';
import { serve } from '../support/servers.ts';
import type { RunningServer } from '../support/servers.ts';
import { createVisitor } from '../support/visitor.ts';
import type { Answer } from '../support/visitor.ts';

const names = ['b2b', 'backend'] as const;

function twoOf(name: (typeof names)[number]): { first: Handler; second: Handler; cookie: () => Promise<string> } {
  if (name === 'b2b') {
    const kit = createB2bTestKit();
    const other = createB2bTestKit();
    return {
      first: b2bAuth(kit.options) as Handler,
      second: b2bAuth({ ...other.options, cookieName: 'other', protectedRoutes: '/protected' }) as Handler,
      cookie: () => kit.cookie(),
    };
  }
  const kit = createBackendTestKit();
  const other = createBackendTestKit();
  return {
    first: backendAuth(kit.options) as Handler,
    second: backendAuth({ ...other.options, cookieName: 'other', protectedRoutes: '/protected' }) as Handler,
    cookie: () => kit.cookie(),
  };
}

describe.each(names)('two %s adapters', (adapter) => {
  const { first, second, cookie } = twoOf(adapter);
  let server: RunningServer;

  beforeAll(async () => {
    const { host, listener } = createApplication();
    // In functions, where no search of the stack finds them.
    host.use((req, res, next) => {
      if (req.headers['x-first'] === undefined) next();
      else first(req, res, next);
    });
    host.use((req, res, next) => second(req, res, next));
    // An application that goes on after every error.
    host.onError((error, req, res, next) => {
      if (req.headers['x-swallow'] === undefined) sendText(res, `${error.name}: ${error.message}`, 500);
      else next();
    });
    for (const [path, ask] of Object.entries(asks)) {
      host.use(path, (req, res, next) => {
        Promise.resolve()
          .then(() => ask(req, res, next))
          .catch(next);
      });
    }
    host.use((_req, res) => sendText(res, 'SECRET'));
    host.onError((error, _req, res) => sendText(res, `${error.name}: ${error.message}`, 500));
    server = await serve(listener);
  });
  afterAll(() => server.close());

  const asks: Record<string, (...parameters: Parameters<Handler>) => unknown> = {
    '/named': requireSession({ adapter }) as Handler,
    '/unnamed': requireSession() as Handler,
    '/session': async (req, res) => sendText(res, `SECRET ${(await getSession(req))?.user.id}`),
    '/own': async (req, res) => sendText(res, `SECRET ${(await getSession(req, adapter))?.user.id}`),
    '/current': (req, res) => sendText(res, `SECRET ${currentSession(req).user.id}`),
    '/forward': forwardAuth(first as unknown as Router) as Handler,
    ...(adapter === 'backend'
      ? { '/client': async (req, res) => sendText(res, `SECRET ${typeof (await getSupabaseClient(req))}`) }
      : {}),
  };
  /** The function that each path calls. */
  const callers: Record<string, string> = {
    '/named': 'requireSession',
    '/unnamed': 'requireSession',
    '/session': 'getSession',
    '/own': 'getSession',
    '/current': 'currentSession',
    '/forward': 'forwardAuth',
    '/client': 'getSupabaseClient',
  };

  const get = async (path: string, headers: Record<string, string>): Promise<Answer> =>
    createVisitor(server.origin).get(path, { headers });
  const name = `${adapter === 'b2b' ? 'b2b' : 'backend'}Auth`;

  it('never guard a request that has passed both, also after good requests', async () => {
    for (let round = 0; round < 3; round += 1) {
      expect((await get('/named', {})).status).not.toBe(500);
      for (const path of ['/named', '/protected', '/public']) {
        const { status, text } = await get(path, { 'x-first': '1', cookie: await cookie() });
        expect([status, text]).toEqual([500, expect.stringContaining(`ConfigurationError: ${name}: ${name}() is`)]);
        expect(text).toContain(`adapter: '${adapter}' could mean either`);
      }
    }
  });

  itOnExpress.each(Object.keys(asks))(
    'give no session where the application goes on after the error: %s',
    async (path) => {
      expect((await get('/named', {})).status).not.toBe(500);
      const { status, text } = await get(path, { 'x-first': '1', 'x-swallow': '1', cookie: await cookie() });
      expect([status, text]).toEqual([
        500,
        expect.stringMatching(
          new RegExp(`^ConfigurationError: ${callers[path]}: .*is mounted twice, and this request has passed both`),
        ),
      ]);
    },
  );

  it('are two adapters where no request passes both', async () => {
    expect((await get('/public', {})).text).toBe('SECRET');
    expect((await get('/protected', {})).headers.location).toContain('login');
  });
});

itOnExpress.each(names)(
  'an application that goes on after the error of two %s adapters guards by neither',
  async (adapter) => {
    const { first, second, cookie } = twoOf(adapter);
    const { host, listener } = createApplication();
    host.use(first);
    // The error of the first one skips the second.
    host.use('/admin', second);
    host.onError((_error, _req, _res, next) => next());
    host.use('/admin', requireSession({ adapter }) as Handler, (_req, res) => sendText(res, 'SECRET'));
    host.onError((error, _req, res) => sendText(res, error.name, 500));
    const server = await serve(listener);
    const answer = await createVisitor(server.origin).get('/admin', { headers: { cookie: await cookie() } });
    await server.close();
    expect([answer.status, answer.text]).toEqual([500, 'ConfigurationError']);
  },
);

it('two adapters that answer one path are refused on each request that has passed both', async () => {
  const b2b = b2bAuth(createB2bTestKit().options) as Handler;
  const backend = backendAuth(createBackendTestKit().options) as Handler;
  const { host, listener } = createApplication();
  host.use((req, res, next) => {
    if (req.headers['x-first'] === undefined) next();
    else b2b(req, res, next);
  });
  host.use((req, res, next) => backend(req, res, next));
  host.use((_req, res) => sendText(res, 'SECRET'));
  host.onError((error, _req, res) => sendText(res, error.message, 500));
  const server = await serve(listener);
  for (let round = 0; round < 3; round += 1) {
    expect((await createVisitor(server.origin).get('/x')).text).toBe('SECRET');
    const { status, text } = await createVisitor(server.origin).get('/x', { headers: { 'x-first': '1' } });
    expect([status, text]).toEqual([500, expect.stringMatching(/sessionPath: .* both answer '\/auth\/session'/)]);
  }
  await server.close();
});
