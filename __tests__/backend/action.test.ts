import { has, readAction } from '../../lib/backend/forms/action.ts';

const meanings = { remove: has('remove'), confirm: has('code') };
const actionOf = (...names: readonly string[]) =>
  readAction(new Map(names.map((name) => [name, ''])), meanings, 'start');

it.each([
  [['remove', 'code'], 'remove'],
  [['code', 'remove'], 'remove'],
  [['code'], 'confirm'],
  [['sure'], 'start'],
  [[], 'start'],
])('a POST with the fields %j means what counts first: %s', (names, action) => {
  expect(actionOf(...names)).toBe(action);
});
