import { jest } from '@jest/globals';
import express from 'express';
import request from 'supertest';

// Modules that are loaded with the first sign-in. On a server without a free file descriptor that fails.
const modules = {
  throttle: new URL('../lib/backend/throttle/counter.ts', import.meta.url).pathname,
  workos: '@workos-inc/node',
  backendStore: new URL('../lib/doors/store-session/backend.ts', import.meta.url).pathname,
  b2bStore: new URL('../lib/doors/store-session/b2b.ts', import.meta.url).pathname,
};

/** Replaces a module by one that cannot be loaded the first time. */
async function failFirst(name: string): Promise<() => number> {
  const actual = (await import(name)) as object;
  let loads = 0;
  jest.unstable_mockModule(name, () => {
    loads += 1;
    if (loads === 1) throw Object.assign(new Error('too many open files'), { code: 'EMFILE' });
    return { ...actual };
  });
  return () => loads;
}

it('a sign-in that could not load the throttle leaves the next one unharmed', async () => {
  const loads = await failFirst(modules.throttle);
  const { createThrottle } = await import('./support/throttle.ts');
  const throttle = createThrottle({ keyPrefix: 'test', emit: () => undefined });
  await expect(throttle.code('factor:1')).rejects.toThrow('too many open files');
  await expect(throttle.code('factor:1')).resolves.toBeDefined();
  await expect(throttle.code('factor:1')).resolves.toBeDefined();
  expect(loads()).toBe(2);
});

it('a sign-in that could not load the SDK of WorkOS leaves the next one unharmed', async () => {
  const loads = await failFirst(modules.workos);
  const { createProvider } = await import('../lib/b2b/workos.ts');
  const provider = createProvider({
    clientId: 'client_1',
    apiKey: 'key',
    apiUrl: 'https://api.example.com',
    authorizationParams: {},
    now: Date.now,
    timeoutMs: 1_000,
    fetch,
  });
  await expect(provider.createVerifier()).rejects.toThrow('too many open files');
  await expect(provider.createVerifier()).resolves.toMatchObject({ codeVerifier: expect.any(String) });
  await expect(provider.createVerifier()).resolves.toBeDefined();
  expect(loads()).toBe(2);
});

it.each(['backend', 'b2b'] as const)(
  'storeSession of %s is loaded with its first use, and a failure leaves the next one unharmed',
  async (adapter) => {
    const loads = await failFirst(modules[`${adapter}Store`]);
    const { b2bAuth, backendAuth, storeSession } = await import('../lib/index.ts');
    const { createB2bTestKit, createBackendTestKit } = await import('../lib/testing/index.ts');
    const [b2b, backend] = [createB2bTestKit(), createBackendTestKit()];
    const auth = adapter === 'b2b' ? b2bAuth(b2b.options) : backendAuth(backend.options);
    const app = express();
    app.use(auth);
    app.get('/own', (req, res) => {
      const tokens = adapter === 'b2b' ? b2b.tokens() : backend.tokens();
      tokens
        .then((given) => storeSession(auth, req, res, given))
        .then((answer) => res.json(answer))
        .catch((error: unknown) => res.status(500).send(String(error)));
    });
    await request(app).get('/auth/session').expect(401);
    expect(loads()).toBe(0);
    await request(app)
      .get('/own')
      .expect(500, /too many open files/);
    await request(app).get('/own').expect(200, { redirectTo: '/' });
    expect(loads()).toBe(2);
  },
);
