import { jest } from '@jest/globals';

// Modules that are loaded with the first sign-in. On a server without a free file descriptor that fails.
const modules = {
  throttle: new URL('../lib/backend/throttle-counter.ts', import.meta.url).pathname,
  workos: '@workos-inc/node',
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
    apiHostname: 'api.example.com',
    port: undefined,
    https: true,
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
