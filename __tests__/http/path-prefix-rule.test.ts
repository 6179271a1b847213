import { prefixPath as ofClient } from '../../lib/client/send.ts';
import { prefixPath, withPrefix } from '../../lib/options/paths.ts';

it.each([
  ['/auth/login', '/v1/auth/login'],
  ['/login', '/v1/auth/login'],
  ['/auth/session', '/v1/auth/session'],
  ['/oauth/consent', '/v1/auth/oauth/consent'],
  ['/authors', '/v1/auth/authors'],
  ['/auth', '/v1/auth/auth'],
])('moves %s to %s, in the adapters and in the typed client', (path, moved) => {
  expect(prefixPath('/v1/auth', path)).toBe(moved);
  const defaults = { loginPath: path, 'paths.forgot': path };
  const pathPrefix = '/v1/auth';
  expect(withPrefix({ pathPrefix }, defaults)).toEqual({ pathPrefix, loginPath: moved, paths: { forgot: moved } });
  expect(ofClient('/v1/auth', path)).toBe(moved);
});

it('leaves the paths that the application names', () => {
  const defaults = { loginPath: '/login', 'paths.forgot': '/forgot', 'paths.code': '/code' };
  const given = { pathPrefix: '/v1', loginPath: '/in', paths: { forgot: '/lost' } };
  expect(withPrefix(given, defaults)).toEqual({ ...given, paths: { forgot: '/lost', code: '/v1/code' } });
  expect(withPrefix({ ...given, paths: 'wrong' }, defaults)).toEqual({ ...given, paths: 'wrong' });
});
