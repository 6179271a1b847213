import express from 'express';
import express4 from 'express4';
import { jest } from '@jest/globals';
import { b2bAuth } from '../../lib/b2b/index.ts';
import { createB2bTestKit } from '../../lib/testing/index.ts';
import type { AuthEvent } from '../../lib/types.ts';
import { serve } from '../support/servers.ts';

const warnings: string[] = [];
beforeEach(() => {
  warnings.length = 0;
  jest.spyOn(process, 'emitWarning').mockImplementation((warning, options) => {
    const { code } = options as { code?: string };
    if (code === 'EXPRESS_AUTH_ADAPTERS_UNGUARDED') warnings.push(String(warning));
  });
});
afterEach(() => void jest.restoreAllMocks());

const secret = (_req: unknown, res: any): void => res.end('SECRET');

describe.each([
  ['Express 4', express4],
  ['Express 5', express],
])('on %s', (_name, createApp) => {
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
