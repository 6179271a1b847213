import { prefixPaths, withPathPrefix } from '../../lib/core/path-prefix.ts';

it.each([
  ['/auth/login', '/v1/auth/login'],
  ['/login', '/v1/auth/login'],
  ['/auth/session', '/v1/auth/session'],
  ['/oauth/consent', '/v1/auth/oauth/consent'],
  ['/authors', '/v1/auth/authors'],
  ['/auth', '/v1/auth/auth'],
])('moves %s to %s', (path, moved) => {
  expect(withPathPrefix('/v1/auth', path)).toBe(moved);
});

it('leaves all paths without a prefix', () => {
  const paths = { login: '/auth/login' };
  expect(prefixPaths(undefined, paths)).toBe(paths);
  expect(prefixPaths('/x', paths)).toEqual({ login: '/x/login' });
});
