import express from 'express';
import express4 from 'express4';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { RequestListener } from 'node:http';
import { jest } from '@jest/globals';
import { backendAuth } from '../../lib/backend/index.ts';
import type { BackendAuthOptions } from '../../lib/backend/index.ts';
import { b2bAuth } from '../../lib/b2b/index.ts';
import type { B2bAuthOptions } from '../../lib/b2b/index.ts';
import type { AuthEvent } from '../../lib/types.ts';

const b2b = (options: B2bAuthOptions = {}): any =>
  b2bAuth({ clientId: 'client_1', apiKey: 'sk_test_1', cookiePassword: 'x'.repeat(32), ...options });
const backend = (options: BackendAuthOptions = {}): any =>
  backendAuth({ url: 'http://127.0.0.1:9', anonKey: 'sb_publishable_test', ...options });

const warnings: string[] = [];
beforeEach(() => {
  warnings.length = 0;
  jest.spyOn(process, 'emitWarning').mockImplementation((warning, options) => {
    const { code } = options as { code?: string };
    if (code === 'EXPRESS_AUTH_ADAPTERS_MOUNT') warnings.push(String(warning));
  });
});
afterEach(() => void jest.restoreAllMocks());

/** Listens, and answers nothing. */
async function start(listener: RequestListener): Promise<void> {
  const server = createServer(listener).listen(0, '127.0.0.1');
  await once(server, 'listening');
  server.close();
  await once(server, 'close');
}

describe.each([
  ['Express 4', express4],
  ['Express 5', express],
])('an %s application that begins to listen', (_name, createApp) => {
  const app = (mount: (app: any) => void): RequestListener => {
    const created: any = createApp();
    mount(created);
    return created as RequestListener;
  };

  it('warns once of two adapters that answer the same path', async () => {
    const events: AuthEvent[] = [];
    await start(app((root) => root.use(b2b({ onEvent: (event) => events.push(event) }), backend())));
    expect(warnings).toEqual([
      "sessionPath: b2bAuth() and backendAuth() both answer '/auth/session'; give sessionPath of one of them another path. Every request is refused until then.",
    ]);
    expect(events).toEqual([{ type: 'configuration_warning', adapter: 'b2b', message: warnings[0] }]);
  });

  it.each([
    ['/auth/resend', '/auth/confirm', '/auth/forgot', '/auth/password', '/auth/verify'],
    ['/auth/enroll', '/auth/code', '/auth/sso', '/auth/signup', '/auth/callback'],
  ])('names the option of each path that both answer: %s, %s, %s, %s, %s', async (...taken) => {
    const [loginPath, signUpPath, callbackPath, logoutPath, organizationPath] = taken;
    const other = { loginPath, signUpPath, callbackPath, logoutPath, organizationPath, sessionPath: '/session' };
    await start(app((root) => root.use(backend({ signInMethods: ['password', 'code'], sso: true }), b2b(other))));
    const named = warnings.join('\n').match(/\w+Path(?=: backendAuth\(\) and b2bAuth\(\))/g);
    expect(named).toEqual(expect.arrayContaining(taken.map((path) => `${path.replace('/auth/', '')}Path`)));
  });

  it('warns of an adapter that is mounted twice, also below a path', async () => {
    const twice = b2b();
    await start(app((root) => root.use(twice, twice)));
    await start(
      app((root) => {
        root.use('/a', b2b());
        root.use('/b', b2b());
      }),
    );
    expect(warnings).toHaveLength(2);
    for (const warning of warnings) expect(warning).toContain('b2bAuth() is mounted twice in one application');
  });

  it('reports nothing if paths differ, or no adapter is mounted', async () => {
    await start(app((root) => root.use(b2b({ sessionPath: '/b2b/session' }), backend())));
    await start(
      app((root) => {
        root.use('/org', b2b());
        root.use(backend());
      }),
    );
    b2b();
    await start(app(() => undefined));
    expect(warnings).toEqual([]);
  });
});

it('a server without an Express application reports nothing', async () => {
  const router = b2b();
  backend();
  await start((req, res) => router(req, res, () => res.end()));
  expect(warnings).toEqual([]);
});
