import { prefixPath as ofClient } from '../../lib/client/send.ts';
import { prefixPaths } from '../../lib/options/read.ts';

it.each([
  ['/auth/login', '/v1/auth/login'],
  ['/login', '/v1/auth/login'],
  ['/auth/session', '/v1/auth/session'],
  ['/oauth/consent', '/v1/auth/oauth/consent'],
  ['/authors', '/v1/auth/authors'],
  ['/auth', '/v1/auth/auth'],
])('moves %s to %s, in the adapters and in the typed client', (path, moved) => {
  expect(prefixPaths('/v1/auth', { path })).toEqual({ path: moved });
  expect(ofClient('/v1/auth', path)).toBe(moved);
});
