import express from 'express';
import type { BrowserContextOptions } from 'playwright-core';
import request from 'supertest';
import { b2bAuth } from '../../lib/b2b/index.ts';
import { backendAuth } from '../../lib/backend/index.ts';
import { createB2bTestKit, createBackendTestKit } from '../../lib/testing/index.ts';
import type { StorageState } from '../../lib/testing/index.ts';
import { withNodeEnv } from '../support/node-env.ts';

const user = { email: 'ada@example.com' };
const b2b = createB2bTestKit();
const backend = createBackendTestKit();

const kits = [
  ['B2B', b2b, b2bAuth(b2b.options)],
  ['backend', backend, backendAuth(backend.options)],
] as const;

const headerOf = ({ cookies }: StorageState): string => cookies.map(({ name, value }) => `${name}=${value}`).join('; ');

describe.each(kits)('storageState of the %s kit', (_name, kit, auth) => {
  it('contains the cookies of a signed-in user', async () => {
    const state = await kit.storageState('http://localhost:3000', { user });
    const app = express();
    app.use(auth);
    const { body } = await request(app).get('/auth/session').set('Cookie', headerOf(state)).expect(200);
    expect(body.user.email).toBe(user.email);
  });

  it('has the format of Playwright', async () => {
    const state = await kit.storageState('http://localhost:3000');
    expect(state satisfies BrowserContextOptions['storageState']).toEqual({
      cookies: expect.any(Array),
      origins: [],
    });
    for (const cookie of state.cookies) {
      expect(cookie).toEqual({
        name: expect.any(String),
        value: expect.any(String),
        domain: 'localhost',
        path: '/',
        expires: -1,
        httpOnly: true,
        secure: false,
        sameSite: 'Lax',
      });
    }
  });

  it('is Secure for an https origin, whatever its port and path', async () => {
    const { cookies } = await kit.storageState('https://app.example.com:8443/account');
    for (const cookie of cookies) expect(cookie).toMatchObject({ domain: 'app.example.com', path: '/', secure: true });
  });

  it.each(['localhost:3000', '/account', 'file:///tmp', ''])('refuses the origin %j', async (origin) => {
    await expect(kit.storageState(origin)).rejects.toThrow(TypeError);
  });

  it('refuses to run with NODE_ENV=production', async () => {
    await withNodeEnv('production', () =>
      expect(kit.storageState('http://localhost:3000')).rejects.toMatchObject({ name: 'ConfigurationError' }),
    );
  });

  it('splits a session that is too large for one cookie', async () => {
    const claims = { note: 'x'.repeat(4000) };
    const { cookies } = await kit.storageState('http://localhost:3000', { claims });
    expect(cookies.length).toBeGreaterThan(1);
  });
});
