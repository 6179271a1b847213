import { didYouMean, nearestName } from '../../lib/core/nearest.ts';

const known = ['clientId', 'protectedRoutes', 'loginPath', 'logoutPath', 'signUpPath', 'lockTtl', 'now'];

it.each([
  ['protectedRoute', 'protectedRoutes'],
  ['protectRoutes', 'protectedRoutes'],
  ['signupPath', 'signUpPath'],
  ['client_id', 'clientId'],
  ['login-path', 'loginPath'],
  ['lockTTL', 'lockTtl'],
  ['lgoinPath', 'loginPath'],
  ['logOutPth', 'logoutPath'],
  ['nwo', 'now'],
])('%s means %s', (name, meant) => {
  expect(nearestName(name, known)).toBe(meant);
});

it.each(['color', 'no', 'x', '', 'redirectUri', 'path', 'a'.repeat(10_000)])('%.20s has no near match', (name) => {
  expect(nearestName(name, known)).toBeUndefined();
});

it('prefers the nearest name, and the first of equally near ones', () => {
  expect(nearestName('loginPath', ['logonPath', 'loginPath'])).toBe('loginPath');
  expect(nearestName('loginPath', ['loginPath', 'logonPath'])).toBe('loginPath');
  expect(nearestName('loganPath', ['logonPath', 'loginPath'])).toBe('logonPath');
});

it('asks about a near match, and otherwise uses the other text', () => {
  expect(didYouMean('loginpath', known, 'read the docs')).toBe('did you mean loginPath?');
  expect(didYouMean('color', known, 'read the docs')).toBe('read the docs');
});
