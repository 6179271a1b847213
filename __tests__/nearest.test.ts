import { didYouMean, nearestName } from '../lib/nearest.ts';

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
  ['xnow', 'now'],
])('%s means %s', (name, meant) => {
  expect(nearestName(name, known)).toBe(meant);
});

it.each(['color', 'no', 'x', '', 'redirectUri', 'path', 'a'.repeat(10_000)])('%.20s has no near match', (name) => {
  expect(nearestName(name, known)).toBeUndefined();
});

it.each([
  // Only one letter of a pair is that of the other pair, so nothing is swapped.
  ['xab', 'ayb'],
  ['axb', 'yab'],
  // A swap and a different letter; a different letter and one too many.
  ['nwoa', 'nowb'],
  ['axb', 'ac'],
])('%s is two errors away from %s, too many for so short a name', (name, other) => {
  expect(nearestName(name, [other])).toBeUndefined();
});

it('looks for names of at most 40 letters', () => {
  expect(nearestName('A'.repeat(40), ['a'.repeat(40)])).toBe('a'.repeat(40));
  expect(nearestName('A'.repeat(41), ['a'.repeat(41)])).toBeUndefined();
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
