import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { b2bVariables, readB2bOptions } from '../../lib/b2b/options.ts';
import { backendSchema, env as backendVariables } from '../../lib/backend/option-schema.ts';
import { ConfigurationError } from '../../lib/errors.ts';
import { sharedEntries } from '../../lib/options/shared.ts';
import { optionsOf, parseComment } from '../../tools/option-table.ts';

const namesOf = (interfaceName: string): string[] => optionsOf(interfaceName).map(({ name }) => name);

it('documents each option that is read, and no other', () => {
  const shared = namesOf('SharedAuthOptions');
  expect(shared).toEqual(Object.keys(sharedEntries));
  expect([...shared, ...namesOf('BackendAuthOptions')].sort()).toEqual(Object.keys(backendSchema.entries).sort());
  const ofB2b = [...shared, ...namesOf('B2bAuthOptions')];
  const read = (): unknown => readB2bOptions(Object.fromEntries(ofB2b.map((name) => [name, Symbol(name)])), {});
  expect(read).toThrow(ConfigurationError);
  expect(read).not.toThrow(/is not an option/);
});

it('keeps docs/options.md in sync with the code', () => {
  const { status, stderr } = spawnSync(process.execPath, ['tools/option-table.ts', '--check'], { encoding: 'utf8' });
  expect({ status, stderr }).toMatchObject({ status: 0 });
});

describe('docs/options.md', () => {
  const lines = readFileSync('docs/options.md', 'utf8').split('\n');
  const rows = lines.filter((line) => line.startsWith('| `'));

  it('can be skimmed: each cell of a table has at most one short sentence', () => {
    const cells = rows.flatMap((row) => row.split(/(?<!\\)\|/).map((cell) => cell.trim()));
    expect(cells.filter((cell) => cell.length > 100 || /[.;] \S/.test(cell))).toEqual([]);
  });

  it('has each option once, besides the five at its top', () => {
    const [, first = '', ...rest] = lines.join('\n').split('\n## ');
    expect(first).toMatch(/^The five that everyone sets/);
    expect(first.match(/^\| `/gm)).toHaveLength(10);
    for (const [heading, interfaceName] of [
      ['`b2bAuth`', 'B2bAuthOptions'],
      ['`backendAuth`', 'BackendAuthOptions'],
      ['Both adapters', 'SharedAuthOptions'],
    ] as const) {
      const section = rest.find((text) => text.startsWith(`${heading}\n`)) ?? '';
      const listed = [...section.matchAll(/^\| `(\w+)`/gm)].map(([, name = '']) => name);
      expect(listed.sort()).toEqual(namesOf(interfaceName).sort());
    }
  });
});

it.each([
  'B2bAuthOptions',
  'BackendAuthOptions',
  'SharedAuthOptions',
  'CookieOptions',
  'PagesOptions',
  'BackendPagesOptions',
  'ThrottleOptions',
])('has a comment on every option of %s, with an explanation or a default', (name) => {
  const rows = optionsOf(name);
  expect(rows.length).toBeGreaterThan(1);
  const bare = rows.filter(({ meaning, fallback }) => meaning === '' && fallback === '');
  expect(bare.map((row) => row.name)).toEqual([]);
});

it.each([
  ['B2bAuthOptions', b2bVariables],
  [
    'BackendAuthOptions',
    Object.fromEntries(Object.entries(backendVariables).filter(([name]) => name !== 'appBaseUrl')),
  ],
] as const)('names the variables of %s that are read, in their order', (name, variables) => {
  const documented = optionsOf(name).filter((row) => row.variables.length > 0);
  expect(Object.fromEntries(documented.map((row) => [row.name, row.variables]))).toEqual(variables);
});

it.each(['BackendAuthOptions', 'SharedAuthOptions'])('names the defaults of %s that the schema has', (name) => {
  for (const { name: option, fallback } of optionsOf(name)) {
    const entry: unknown = Reflect.get(backendSchema.entries, option);
    const inSchema: unknown =
      typeof entry === 'object' && entry !== null && 'default' in entry ? entry.default : undefined;
    if (!['string', 'number', 'boolean'].includes(typeof inSchema)) continue;
    expect({ option, fallback: fallback.replaceAll(/[`,]/g, '') }).toEqual({
      option,
      fallback: expect.stringMatching(new RegExp(`^${String(inSchema)}\\b`)),
    });
  }
});

it('parses the variables and defaults in a comment', () => {
  expect(parseComment("The provider's host. Env `A_HOST`, then `B_HOST`; default `a.example`. More.")).toEqual({
    variables: ['A_HOST', 'B_HOST'],
    fallback: '`a.example`',
    meaning: "The provider's host. More.",
  });
  expect(parseComment('A path. Default `/x`.')).toEqual({ variables: [], fallback: '`/x`', meaning: 'A path.' });
  expect(parseComment('Default: none.')).toEqual({ variables: [], fallback: 'none', meaning: '' });
});
