import { measure, readTree } from '../tools/house-measures.ts';
import { lowered, type Row, risen, table } from '../tools/house.ts';

const plan = {
  capabilities: [{ name: 'passkeys', words: ['passkey'], room: 'lib/backend/passkeys' }],
  roomsIn: ['lib/b2b', 'lib/backend', 'lib/doors'],
  notRooms: ['lib/backend/webauthn'],
};

function measured(files: Readonly<Record<string, string>>, tests: Readonly<Record<string, string>> = {}) {
  const read = (of: Readonly<Record<string, string>>) => readTree(Object.keys(of), (path) => of[path] ?? '');
  return measure(plan, read(files), read(tests));
}

describe('the numbers of the house', () => {
  it('count the files that know a capability outside of its room, by a word anywhere in them', () => {
    const { value, note, list } = measured({
      'lib/backend/passkeys/index.ts': 'export const passkeys = 1;',
      'lib/backend/index.ts': "import { passkeys } from './passkeys/index.ts';",
      'lib/http/page.ts': '// The script of a Passkey.',
      'lib/http/reply.ts': '',
      'lib/texts/de.ts': "export const de = { passkey: 'Passkey' };",
    })['files that know passkeys, outside of its room']!;
    expect({ value, note, list }).toEqual({
      value: 2,
      note: '2 folders',
      list: ['lib/backend/index.ts', 'lib/http/page.ts'],
    });
  });

  it('count the longest chain of imports within a part, types included', () => {
    const { list } = measured({
      'lib/http/one.ts': "import type { Two } from './two.ts';\nimport { four } from './four.ts';",
      'lib/http/two.ts': "export { three } from './inner/three.ts';",
      'lib/http/inner/three.ts': "import { five } from '../../session/five.ts';",
      'lib/http/four.ts': '',
      'lib/session/five.ts': '',
    })['levels of imports in http/']!;
    expect(list).toEqual(['lib/http/one.ts', 'lib/http/two.ts', 'lib/http/inner/three.ts']);
  });

  it('count imports between rooms: not those within a room, of the kernel, or of a floor below two rooms', () => {
    const files = {
      'lib/backend/reset/index.ts': "import { sendMail } from '../mail.ts';\nimport { page } from './page.ts';",
      'lib/backend/reset/page.ts': "import { ceremony } from '../webauthn/ceremony.ts';",
      'lib/backend/webauthn/ceremony.ts': '',
      'lib/backend/mail.ts': "import { reset } from './reset/index.ts';",
    };
    const name = 'imports from one room to another';
    expect(measured({ 'lib/backend/mail.ts': '' })[name]).toEqual({ value: null, note: 'no rooms yet' });
    expect(measured(files)[name]).toMatchObject({ value: 0, note: '1 rooms' });
    const other = { 'lib/doors/sql/index.ts': "type Reset = import('../../backend/reset/page.ts').Reset;" };
    expect(measured({ ...files, ...other })[name]).toMatchObject({
      value: 1,
      list: ['lib/doors/sql/index.ts → lib/backend/reset/page.ts'],
    });
  });

  it('count collections that fill, calls of a deadline, and what a module keeps by adapter', () => {
    const now = measured({
      'lib/session/cache.ts': [
        'const kept = createBoundedMap<string>({ max: 1 });',
        'const copy = new Map(kept.entries());',
        'const byAdapter = new WeakMap<Adapter, Set<string>>();',
        'const byRequest = new WeakMap<IncomingMessage, string>();',
        'function one() { return new WeakMap<Adapter, string>(); }',
        'await withDeadline(work, 1000, outOfTime);',
        'const signal = AbortSignal.timeout(1000);',
        '// withDeadline(work)',
      ].join('\n'),
    });
    expect(now['maps and sets in session/']?.value).toBe(4);
    expect(now['calls of a deadline']?.list).toEqual(['lib/session/cache.ts:6', 'lib/session/cache.ts:7']);
    expect(now['registries of a module (WeakMaps)']?.list).toEqual(['lib/session/cache.ts:3']);
  });

  it('read the kinds of time from the comment of the record', () => {
    const text = '/** Other */\n/**\n * Times.\n *\n * - `ended`: one.\n * - `spared:` with a start: two.\n */\n';
    const files = { 'lib/session/record.ts': `${text}export type SessionRecord = Readonly<Record<string, number>>;` };
    expect(measured(files)['kinds of time in the record of a session']?.list).toEqual(['ended', 'spared']);
  });

  it('count tests that import what package.json does not export', () => {
    const tests = {
      '__tests__/one.test.ts': "import { html } from '../lib/tools/html.ts';",
      '__tests__/two.test.ts': "import { b2bAuth } from '../lib/b2b/index.ts';",
      '__tests__/three.test.ts': "import { AuthError } from '../lib/errors.ts';",
    };
    expect(measured({}, tests)['tests that import internals, in percent']).toEqual({
      value: 33.3,
      note: '1 of 3',
      list: ['__tests__/one.test.ts'],
    });
  });
});

describe('what is written down', () => {
  const row = (title: string, most?: number | null): Row => ({
    title,
    then: 9,
    wanted: 1,
    ...(most === undefined ? {} : { most }),
  });
  const rows = [row('same', 5), row('higher', 5), row('lower', 5), row('new', null), row('told')];
  const now = {
    same: { value: 5 },
    higher: { value: 6 },
    lower: { value: 4 },
    new: { value: 7 },
    told: { value: 8, note: '2 folders' },
  };

  it('is not exceeded, and is there', () => {
    expect(risen(rows, now)).toEqual([
      'higher: 6, and not more than 5 is written down',
      'new: 7, and tools/house.json writes down no number (--write)',
    ]);
    expect(risen([row('gone', 5)], now)).toEqual(['gone: not measured']);
  });

  it('falls with the numbers and never rises', () => {
    expect(lowered(rows, now).map(({ most }) => most)).toEqual([5, 5, 4, 7, undefined]);
  });

  it('is printed as then, wanted and now', () => {
    expect(table([row('told')], now)).toBe('      then  wanted    now\ntold  9     1 (told)  8 (2 folders)');
  });
});
