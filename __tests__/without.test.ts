import { remove } from '../tools/without-removal.ts';
import { filesOf, optionKeysOf, roomsOf, textKeysOf, withoutBlocks } from '../tools/without.ts';

const room = 'lib/backend/passkeys';
const lib = {
  [`${room}/index.ts`]: 'export const passkeys = 1;\nexport interface Passkey { id: string }\n',
  'lib/backend/features.ts': [
    "import { consent } from './consent.ts';",
    "import { passkeys } from './passkeys/index.ts';",
    'export const features = [consent, passkeys];',
    'export const all = { ...consent, ...passkeys };',
    'register(passkeys);',
    '',
  ].join('\n'),
  'lib/backend/consent.ts': 'export const consent = 2;\n',
  'lib/backend/index.ts': [
    "export { features } from './features.ts';",
    "export type { Passkey } from './passkeys/index.ts';",
    '',
  ].join('\n'),
  'lib/index.ts': "export * from './backend/index.ts';\n",
};

function without(more: Readonly<Record<string, string>>, words?: RegExp) {
  const texts: Readonly<Record<string, string>> = { ...lib, ...more };
  const files = Object.keys(texts).filter((path) => path.startsWith(`${room}/`));
  const { texts: changed, removed, stuck } = remove(texts, { files, words });
  return {
    now: (path: string) => (changed.has(path) ? changed.get(path) : texts[path]),
    removed: removed.map(({ path, line, text }) => `${path}:${line} ${text}`),
    stuck: stuck.map(({ path, line, text }) => `${path}:${line} ${text}`),
  };
}

describe('of lib/ are taken away', () => {
  it('the imports and exports of a room, the items of lists and the calls that use them', () => {
    const { now, removed, stuck } = without({});
    expect(now(`${room}/index.ts`)).toBeUndefined();
    expect(now('lib/backend/features.ts')).toBe(
      [
        "import { consent } from './consent.ts';",
        'export const features = [consent];',
        'export const all = { ...consent };',
        '',
      ].join('\n'),
    );
    expect(now('lib/backend/index.ts')).toBe("export { features } from './features.ts';\n");
    expect(removed).toContain('lib/backend/features.ts:3 passkeys');
    expect(stuck).toEqual([]);
  });

  it('the only item of a list, with its comma', () => {
    const text = "import { passkeys } from './passkeys/index.ts';\nexport const all: number[] = [\n  passkeys,\n];\n";
    expect(without({ 'lib/backend/all.ts': text }).now('lib/backend/all.ts')).toBe(
      '\nexport const all: number[] = [\n];\n',
    );
  });

  it('an interface and a type that a list of types names', () => {
    const text = [
      "import type { Passkey } from './passkeys/index.ts';",
      'interface One {}',
      'export interface Both extends One, Passkey {}',
      'export type Either = One | Passkey;',
      '',
    ].join('\n');
    const { now, stuck } = without({ 'lib/backend/types.ts': text });
    expect(now('lib/backend/types.ts')).toBe(
      ['', 'interface One {}', 'export interface Both extends One {}', 'export type Either = One;', ''].join('\n'),
    );
    expect(stuck).toEqual([]);
  });

  it.each([
    'export function one() { return passkeys; }',
    'export const two = passkeys + 1;',
    'export function three() { if (passkeys) one(); }',
  ])('never other code: %s', (code) => {
    const { stuck } = without({ 'lib/b.ts': `import { passkeys } from './backend/passkeys/index.ts';\n${code}\n` });
    expect(stuck).toEqual(['lib/b.ts:2 passkeys']);
  });
});

describe('of suites are left out', () => {
  const suite = (...lines: string[]): string =>
    ["import { Passkey, features } from '../lib/index.ts';", ...lines, ''].join('\n');

  it('the cases whose title or body names the room', () => {
    const { now, removed } = without(
      {
        '__tests__/a.test.ts': suite(
          "describe('pages', () => {",
          "  it('has features', () => expect(features).toBe(1));",
          "  it('has a button', () => post('/auth/passkey'));",
          '});',
          "describe('passkeys', () => {",
          "  it('has one', () => expect(1).toBe(1));",
          '});',
        ),
      },
      /passkey/i,
    );
    expect(now('__tests__/a.test.ts')).toBe(
      [
        "import { features } from '../lib/index.ts';",
        "describe('pages', () => {",
        "  it('has features', () => expect(features).toBe(1));",
        '});',
        '',
      ].join('\n'),
    );
    expect(removed).toContain("__tests__/a.test.ts:4 'has a button'");
  });

  it('the rows of tables that name it, and the cases without a row', () => {
    const { now } = without(
      {
        '__tests__/a.test.ts': suite(
          "const paths = ['/auth/passkey', '/auth/login'];",
          "it.each([['one', '/auth/login'], ['two', '/auth/passkey']])('%s', () => expect(paths).toBe(features));",
          "it.each(['passkey'])('%s', () => expect(1).toBe(features));",
        ),
      },
      /passkey/,
    );
    expect(now('__tests__/a.test.ts')).toContain("const paths = [ '/auth/login'];");
    expect(now('__tests__/a.test.ts')).toContain("it.each([['one', '/auth/login']])(");
    expect(now('__tests__/a.test.ts')).not.toContain("%s', () => expect(1)");
  });

  it('the rows of a table of cases, not what names it in them', () => {
    const { now } = without(
      {
        '__tests__/a.test.ts': suite(
          "const data = { one: { links: ['/auth/passkey', '/'] }, two: { links: ['/'] } };",
          "it.each(Object.entries(data))('%s', (_, row) => expect(features).toBe(row));",
        ),
      },
      /passkey/,
    );
    expect(now('__tests__/a.test.ts')).toContain("const data = { two: { links: ['/'] } };");
  });

  it('the cases that use a function that names it, in another file too', () => {
    const { now } = without({
      '__tests__/support/app.ts': [
        "import { passkeys } from '../../lib/backend/passkeys/index.ts';",
        'export function start() { return passkeys; }',
        'export function stop() {}',
        '',
      ].join('\n'),
      '__tests__/a.test.ts': [
        "import { start, stop } from './support/app.ts';",
        'const app = start();',
        "it('one', () => expect(app).toBe(1));",
        "it('two', () => stop());",
        '',
      ].join('\n'),
    });
    expect(now('__tests__/support/app.ts')).toBe('\nexport function stop() {}\n');
    expect(now('__tests__/a.test.ts')).toBe(
      ["import { stop } from './support/app.ts';", "it('two', () => stop());", ''].join('\n'),
    );
  });

  it('the cases that use what a hook assigns, and all for which a hook calls a function that names it', () => {
    const { now } = without(
      {
        '__tests__/a.test.ts': suite(
          'let app: number;',
          'let key: number;',
          "beforeEach(() => { app = 1; key = add('passkey'); });",
          "it('one', () => expect(app).toBe(features));",
          "it('two', () => expect(key).toBe(features));",
        ),
        '__tests__/b.test.ts': suite(
          "function walk() { open('passkey'); }",
          'beforeEach(async () => { await walk(); });',
          "it('one', () => expect(answers).toBe(features));",
        ),
      },
      /passkey/,
    );
    expect(now('__tests__/a.test.ts')).toContain('beforeEach(() => { app = 1; });');
    expect(now('__tests__/a.test.ts')).toContain("it('one'");
    expect(now('__tests__/a.test.ts')).not.toContain("it('two'");
    expect(now('__tests__/b.test.ts')).toBeUndefined();
  });

  it('no use of a parameter that is called like it', () => {
    const { now } = without({
      '__tests__/a.test.ts': [
        "import { passkeys } from '../lib/backend/passkeys/index.ts';",
        "it('one', () => list.map((passkeys) => passkeys.id));",
        "it('two', () => list.map(() => passkeys));",
        '',
      ].join('\n'),
    });
    expect(now('__tests__/a.test.ts')).toBe("\nit('one', () => list.map((passkeys) => passkeys.id));\n");
  });

  it('a statement of what an application is given at its start', () => {
    const { now } = without(
      {
        '__tests__/a.test.ts': suite(
          'const app = start({ after: (host) => {',
          '  host.get(1);',
          "  host.get('passkey', (req) => { req.end(); });",
          '} });',
          "it('one', () => expect(app).toBe(features));",
        ),
      },
      /passkey/,
    );
    expect(now('__tests__/a.test.ts')).toContain('const app = start({ after: (host) => {\n  host.get(1);\n} });');
  });

  it('a route of an application that suites share', () => {
    const { now } = without({
      '__tests__/support/app.ts': [
        "import { passkeys } from '../../lib/backend/passkeys/index.ts';",
        'export function start(host) {',
        "  host.get('/one', passkeys);",
        "  host.get('/two', () => 2);",
        '}',
        '',
      ].join('\n'),
    });
    expect(now('__tests__/support/app.ts')).toBe("\nexport function start(host) {\n  host.get('/two', () => 2);\n}\n");
  });

  it('a property that is named after it, and a list of nothing with what it is for', () => {
    const { now } = without(
      {
        '__tests__/a.test.ts': suite(
          "const floors = [{ passkeys: ['uqr'], consent: [] }];",
          "const options = { title: 'A', methods: ['passkey'] };",
          "it('one', () => expect(floors).toBe([options, features]));",
        ),
      },
      /passkey/,
    );
    expect(now('__tests__/a.test.ts')).toContain('const floors = [{ consent: [] }];');
    expect(now('__tests__/a.test.ts')).toContain("const options = { title: 'A' };");
  });

  it('the names of its exports from the lists of exports, and no others', () => {
    const { now } = without(
      {
        'lib/backend/index.ts': "export { passkeys } from './passkeys/index.ts';\n",
        '__tests__/exports.test.ts': "const names = ['getPasskey', 'passkeys'];\nit('one', () => names);\n",
      },
      /passkey/,
    );
    expect(now('__tests__/exports.test.ts')).toBe("const names = ['getPasskey'];\nit('one', () => names);\n");
  });

  it('a suite without a case that is left', () => {
    const { now, removed } = without(
      { '__tests__/a.test.ts': suite("it('one', () => expect('passkey').toBe(1));") },
      /passkey/,
    );
    expect(now('__tests__/a.test.ts')).toBeUndefined();
    expect(removed).toContain('__tests__/a.test.ts:0 ');
  });
});

it('what is not used any more goes, and a parameter keeps its place', () => {
  const text = "import { one, two } from './b.ts';\nexport const three = (four: number) => two;\n";
  const places = ['one', 'four'].map((name) => ({ path: '__tests__/a.ts', start: text.indexOf(name), isUnused: true }));
  const { texts } = remove({ '__tests__/a.ts': text }, { files: [], places });
  expect(texts.get('__tests__/a.ts')).toBe(
    "import { two } from './b.ts';\nexport const three = (_four: number) => two;\n",
  );
});

it('the texts of a room go from each translation', () => {
  const keys = textKeysOf(
    "export const passkeysTexts = {\n  /** A. */\n  add: 'Add',\n  'twoWords': `{a}`,\n} as const;\n",
  );
  expect([...keys]).toEqual(['add', 'twoWords']);
  const texts = { 'lib/texts/de.ts': "export const de = {\n  add: 'Neu',\n  code: 'Code',\n};\n" };
  const { texts: now } = remove(texts, { files: [], textKeys: keys });
  expect(now.get('lib/texts/de.ts')).toBe("export const de = {\n  code: 'Code',\n};\n");
});

it('the options of a room go from the table of options', () => {
  const keys = optionKeysOf(
    'const parts = {\n  label: text,\n};\nexport const passkeyEntries = {\n  /** A. */\n  passkey: yes,\n};\n',
  );
  expect([...keys]).toEqual(['passkey']);
  const table = 'tools/option-table.ts';
  const texts = { [table]: "const groups = [{ options: ['url', 'passkey'] }];\nconst label = ['passkeyPath'];\n" };
  const { texts: now } = remove(texts, { files: [], optionKeys: keys });
  expect(now.get(table)).toBe("const groups = [{ options: ['url'] }];\nconst label = ['passkeyPath'];\n");
});

it('code blocks of the docs that name a room are left out, and no others', () => {
  const text = '# One\n\n```ts\nconst passkey = 1;\n```\n\nA passkey.\n\n```ts\nconst two = 2;\n```\n';
  const { text: now, removed } = withoutBlocks('docs/one.md', text, /passkey/);
  expect(now).toBe('# One\n\n\nA passkey.\n\n```ts\nconst two = 2;\n```\n');
  expect(removed).toEqual([{ path: 'docs/one.md', line: 3, text: 'const passkey = 1;' }]);
});

it('a room is a folder below those that house.json names, with its suites', () => {
  const house = {
    capabilities: [{ name: 'passkeys', words: ['passkey'], room }],
    roomsIn: ['lib/backend'],
    notRooms: ['lib/backend/pages'],
    rows: [],
  };
  const rooms = roomsOf(house, [room, 'lib/backend/pages', 'lib/http']);
  expect(rooms.map(({ name }) => name)).toEqual(['passkeys']);
  const paths = [
    `${room}/index.ts`,
    '__tests__/backend/passkeys/one.test.ts',
    '__tests__/hostile/passkeys.test.ts',
    '__tests__/support/passkeys.ts',
    '__tests__/backend/pages.test.ts',
  ];
  expect(filesOf(rooms[0]!, paths)).toEqual(paths.slice(0, 3));
});
