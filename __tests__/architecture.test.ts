import { globSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';

/** Floors from the ground up: a file may import from its own room and from lower floors. */
const floors: readonly (readonly string[])[] = [
  ['types.ts', 'errors.ts'],
  ['core'],
  ['session'],
  ['http'],
  ['b2b', 'backend', 'redis', 'client'],
  ['testing', 'doctor'],
  ['index.ts'],
];

const importPattern = /(?:^|\n)\s*(?:import|export)\b[^'";]*?from\s+'(\.[^']+)'|import\('(\.[^']+)'\)/g;

interface Import {
  readonly from: string;
  readonly to: string;
}

const files = globSync('lib/**/*.ts').map((path) => path.replaceAll('\\', '/'));

const imports: readonly Import[] = files.flatMap((path) =>
  [...readFileSync(path, 'utf8').matchAll(importPattern)].map(([, from = '', dynamic = '']) => ({
    from: path.slice('lib/'.length),
    to: normalize(join(dirname(path), from === '' ? dynamic : from)).slice('lib/'.length),
  })),
);

const roomOf = (path: string): string => path.split('/')[0] ?? '';
const floorOf = (path: string): number => floors.findIndex((rooms) => rooms.includes(roomOf(path)));

it('finds the imports that it judges', () => {
  expect(files.length).toBeGreaterThan(40);
  expect(imports.length).toBeGreaterThan(100);
});

it('gives every file a floor', () => {
  expect(files.filter((path) => floorOf(path.slice('lib/'.length)) === -1)).toEqual([]);
});

it('imports point down only, and never across between rooms of one floor', () => {
  const wrong = imports.filter(
    ({ from, to }) =>
      floorOf(to) > floorOf(from) || (floorOf(to) === floorOf(from) && roomOf(to) !== roomOf(from) && floorOf(to) > 0),
  );
  expect(wrong).toEqual([]);
});

it('has no circle of imports', () => {
  const reached = new Map<string, Set<string>>();
  const below = (path: string): Set<string> => {
    const known = reached.get(path);
    if (known !== undefined) return known;
    const set = new Set<string>();
    reached.set(path, set);
    for (const { to } of imports.filter(({ from }) => from === path)) {
      set.add(to);
      for (const further of below(to)) set.add(further);
    }
    return set;
  };
  const circles = files.map((path) => path.slice('lib/'.length)).filter((path) => below(path).has(path));
  expect(circles).toEqual([]);
});

it('knows Express only in http and above, and the providers only in their adapters', () => {
  const users = (pattern: RegExp): string[] =>
    [
      ...new Set(
        files
          .filter((path) => pattern.test(readFileSync(path, 'utf8')))
          .map((path) => roomOf(path.slice('lib/'.length))),
      ),
    ].sort();
  expect(
    users(/from '(?:express|on-headers|accepts)'/).filter((room) =>
      ['core', 'session', 'types.ts', 'errors.ts'].includes(room),
    ),
  ).toEqual([]);
  expect(users(/from '@workos-inc\/node'/).filter((room) => room !== 'b2b' && room !== 'doctor')).toEqual([]);
  expect(users(/from '@supabase\//).filter((room) => room !== 'backend' && room !== 'doctor')).toEqual([]);
});

it('gives the typed client nothing but types', () => {
  const reached = files
    .filter((path) => path.startsWith('lib/client/'))
    .flatMap((path) => [...readFileSync(path, 'utf8').matchAll(/^import (?!type)[^;]*from '([^']+)'/gm)]);
  expect(reached.map(([, target]) => target).filter((target) => target?.startsWith('./') !== true)).toEqual([]);
});
