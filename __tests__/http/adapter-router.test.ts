import express from 'express';
import express4 from 'express4';
import { b2bAuth } from '../../lib/b2b/index.ts';
import { serve } from '../support/servers.ts';

const options = {
  clientId: 'client_test',
  apiKey: 'sk_test_adapter_router',
  cookiePassword: 'x'.repeat(32),
  protectedRoutes: '/dashboard(.*)',
};

async function get(app: express.Express, path: string): Promise<{ status: number; text: string }> {
  const server = await serve(app);
  try {
    const response = await fetch(server.origin + path, { redirect: 'manual' });
    return { status: response.status, text: await response.text() };
  } finally {
    await server.close();
  }
}

describe.each([
  ['Express 5', express],
  ['Express 4', express4],
])('the router that an adapter is, under %s', (_version, host) => {
  function appWith(prefix = '/'): express.Express {
    const router = b2bAuth({ ...options, protectedRoutes: prefix === '/' ? '/dashboard(.*)' : [] });
    router.use((_req, res, next) => {
      res.setHeader('x-added', 'yes');
      next();
    });
    router.get('/added', (req, res) => void res.send(`added under '${req.baseUrl}'`));
    router.get('/dashboard', (_req, res) => void res.send('never'));
    router.get('/broken', () => {
      throw new Error('from a handler');
    });
    const app = host();
    app.use(prefix, router);
    app.get('/after', (_req, res) => void res.send(`after ${String(res.getHeader('x-added'))}`));
    const onError: express.ErrorRequestHandler = (error: Error, _req, res, next) => {
      if (res.headersSent) next(error);
      else res.status(500).send(error.message);
    };
    app.use(onError);
    return app;
  }

  it('runs handlers of the application after the adapter', async () => {
    expect(await get(appWith(), '/added')).toEqual({ status: 200, text: "added under ''" });
    expect((await get(appWith(), '/dashboard')).status).toBe(307);
    expect((await get(appWith(), '/login')).text).toContain('redirectTo');
  });

  it('passes on what neither the adapter nor those handlers answer', async () => {
    expect(await get(appWith(), '/after')).toEqual({ status: 200, text: 'after yes' });
    expect((await get(appWith(), '/nothing')).status).toBe(404);
  });

  it('gives them the same mount path', async () => {
    expect(await get(appWith('/app'), '/app/added')).toEqual({ status: 200, text: "added under '/app'" });
  });

  it('passes a problem of the adapter to the application, and the request to no handler', async () => {
    const router = b2bAuth(options);
    router.get('/added', (_req, res) => void res.send('never'));
    const app = host();
    app.use('/app', router);
    const onError: express.ErrorRequestHandler = (error: Error, _req, res, next) => {
      if (res.headersSent) next(error);
      else res.status(500).send(error.message);
    };
    app.use(onError);
    const { status, text } = await get(app, '/app/added');
    expect([status, text]).toEqual([500, expect.stringContaining("'/dashboard(.*)' can never match")]);
  });

  it('passes their errors to the application', async () => {
    expect(await get(appWith(), '/broken')).toEqual({ status: 500, text: 'from a handler' });
  });
});
