import { jest } from '@jest/globals';
import express from 'express';
import { backendAuth } from '../../lib/backend/index.ts';
import type { BackendAuthOptions } from '../../lib/backend/index.ts';
import { serve } from '../support/servers.ts';
import { createVisitor } from '../support/visitor.ts';

let warn: jest.SpiedFunction<typeof process.emitWarning>;
beforeEach(() => {
  warn = jest.spyOn(process, 'emitWarning').mockImplementation(() => undefined);
  jest.replaceProperty(process, 'env', { ...process.env, NODE_ENV: '"production"' });
});
afterEach(() => void jest.restoreAllMocks());

/** @returns the codes of the warnings once a cookie was sent */
async function warningsWith(options: BackendAuthOptions): Promise<readonly unknown[]> {
  const auth = backendAuth({ url: 'http://127.0.0.1:9', anonKey: 'sb_publishable_test', ...options });
  const server = await serve(express().use(auth));
  const { setCookies } = await createVisitor(server.origin).get('/auth/login?provider=github');
  expect(setCookies).not.toEqual([]);
  await server.close();
  return warn.mock.calls.map(([, given]) => Reflect.get(Object(given), 'code'));
}

it('a cookie without Secure in production is a process warning, unless it was asked for', async () => {
  const code = 'EXPRESS_AUTH_ADAPTERS_TRUST_PROXY';
  expect(await warningsWith({ cookieOptions: { secure: false } })).not.toContain(code);
  expect(await warningsWith({ appBaseUrl: 'https://app.example' })).not.toContain(code);
  expect(await warningsWith({})).toContain(code);
});
