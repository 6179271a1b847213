import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { b2bVariables, readB2bOptions } from '../../lib/b2b/options.ts';
import { backendSchema, env as backendVariables } from '../../lib/backend/option-schema.ts';
import { ConfigurationError } from '../../lib/errors.ts';
import {
  formerB2bEntries,
  formerBackendEntries,
  formerOptions,
  formerSharedEntries,
} from '../../lib/options/former.ts';
import { sharedEntries } from '../../lib/options/shared.ts';
import { optionsOf, parseComment } from '../../tools/option-table.ts';

const namesOf = (interfaceName: string): string[] => optionsOf(interfaceName).map(({ name }) => name);

it('documents each option that is read, and no other', () => {
  const shared = namesOf('SharedAuthOptions');
  expect(shared).toEqual(Object.keys(sharedEntries));
  const former = [formerSharedEntries, formerBackendEntries].flatMap((each) => Object.keys(each));
  expect([...shared, ...namesOf('BackendAuthOptions'), ...former].sort()).toEqual(
    Object.keys(backendSchema.entries).sort(),
  );
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

  const [, ...sections] = lines.join('\n').split('\n## ');
  const headings = sections.map((section) => section.split('\n', 1)[0]);
  /** The options in the tables of these sections that are about an adapter. */
  const listedIn = (texts: readonly string[], adapter: string): string[] =>
    texts
      .flatMap((text) => text.split('\n### '))
      .filter((part) => part.split('\n', 1)[0]?.endsWith(`: ${adapter}`))
      .flatMap((part) => [...part.matchAll(/^\| `(\w+)`/gm)].map(([, name = '']) => name));

  it('begins with the five that people set, and has six groups', () => {
    const groups = ['You need these', 'Sign-in', 'Pages', 'Sessions', 'Network', 'Rare'];
    expect(headings.slice(0, groups.length)).toEqual(groups);
    for (const adapter of ['`b2bAuth`', '`backendAuth`'])
      expect(listedIn(sections.slice(0, 1), adapter)).toHaveLength(5);
  });

  it.each([
    ['`b2bAuth`', 'B2bAuthOptions', []],
    ['`backendAuth`', 'BackendAuthOptions', ['pages']],
    ['both adapters', 'SharedAuthOptions', []],
  ])('has each option of %s once, below the five or among them', (adapter, interfaceName, twice: readonly string[]) => {
    const shared = adapter === 'both adapters' ? [] : ['protectedRoutes', 'appBaseUrl'];
    const own = namesOf(interfaceName).filter(
      (name) => adapter !== 'both adapters' || !['protectedRoutes', 'appBaseUrl'].includes(name),
    );
    expect(listedIn(sections, adapter).sort()).toEqual([...own, ...shared, ...twice].sort());
  });

  it('says of each former option what became of it', () => {
    const former = sections.find((section) => section.startsWith('Former options')) ?? '';
    for (const option of formerOptions.keys()) expect(former).toContain(`| \`${option}\``);
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
  // Those of the parts of apiUrl are read together.
  ['B2bAuthOptions', Object.fromEntries(Object.entries(b2bVariables).filter(([name]) => !(name in formerB2bEntries)))],
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
