import { existsSync, readFileSync } from 'node:fs';

const page = readFileSync('docs/asvs.md', 'utf8');

/** The level of each requirement of a chapter in ASVS 5.0, by section: 3.1.1 is of level 3, and 3.2 has three, of which 3.2.1 is of level 1. */
const requirements: Readonly<Record<string, readonly string[]>> = {
  3: ['3', '113', '12223', '11222233', '11122333', '3', '22333'],
  6: ['122', '111111112222', '11223333', '112233', '22222333', '2223', '33', '2222'],
  7: ['222', '1111', '22', '11222', '223', '22'],
  8: ['1233', '1123', '133', '23'],
  9: ['111', '1222'],
  10: ['22', '223', '22223', '1111122222233333', '22222', '22', '222'],
  11: ['2233', '22233', '11233', '1222', '23', '23', '33'],
  16: ['2', '22222', '2222', '222', '2223'],
};

const levels = new Map<string, string>(
  Object.entries(requirements).flatMap(([chapter, sections]) =>
    sections.flatMap((section, index) =>
      Array.from(section, (level, at) => [`${chapter}.${index + 1}.${at + 1}`, level] as const),
    ),
  ),
);

interface Row {
  readonly section: string;
  readonly id: string;
  readonly metBy: string;
  readonly shownBy: string;
}

/** The rows of the tables whose third column says who meets a requirement. */
const rows: readonly Row[] = page.split(/^## /m).flatMap((text) => {
  const [section = '', ...lines] = text.split('\n');
  const table = lines.filter((line) => line.startsWith('| '));
  const cells = table.map((line) =>
    line
      .slice(1, line.lastIndexOf('|'))
      .split('|')
      .map((cell) => cell.trim()),
  );
  const start = cells.findIndex(([, , third]) => third === 'Met by');
  return start === -1
    ? []
    : cells
        .slice(start + 1)
        .filter(([first = '']) => !first.startsWith('---'))
        .map(([id = '', , metBy = '', shownBy = '']) => ({ section, id, metBy, shownBy }));
});

const rowsOf = (...kinds: readonly string[]): readonly Row[] => rows.filter(({ metBy }) => kinds.includes(metBy));

/** `[suite]: …/__tests__/suite.test.ts` at the end of the page. */
const files = new Map(
  [...page.matchAll(/^\[([^\]]+)\]: .*\/blob\/main\/(\S+)$/gm)].map(([, suite = '', file = '']) => [suite, file]),
);

/** `[suite] “title”, “another title”` */
const namedTests = /\[([\w/-]+)\] (“[^”]+”(?:, “[^”]+”)*)/g;

const testsOf = ({ shownBy }: Row): { readonly suite: string; readonly title: string }[] =>
  [...shownBy.matchAll(namedTests)].flatMap(([, suite = '', titles = '']) =>
    [...titles.matchAll(/“([^”]+)”/g)].map(([, title = '']) => ({ suite, title })),
  );

/** What a row says beside the names of its tests. */
const wordsOf = ({ shownBy }: Row): number => (shownBy.replaceAll(namedTests, '').match(/[\w`]{2,}/g) ?? []).length;

it('reads the rows', () => {
  expect(rows.length).toBeGreaterThan(190);
  expect(rowsOf('adapter', 'in part', 'provider', 'application', 'not met')).toEqual(rows);
});

it('names each requirement of these chapters once: in a table, or as one that does not concern an adapter', () => {
  const [, others = ''] = page.split('## Does not concern an adapter\n');
  const list = [...(others.split(/^## /m)[0] ?? '').matchAll(/^- ([\d., ]+): (.+)$/gm)];
  expect(list.filter(([, , reason = '']) => reason.length < 15)).toEqual([]);
  const unconcerned = list.flatMap(([, ids = '']) => ids.split(', '));
  const concerned = rows.filter(({ section }) => /^V\d+: /.test(section)).map(({ id }) => id);
  expect([...concerned, ...unconcerned].sort()).toEqual([...levels.keys()].sort());
});

it('shows what the adapter meets by a test whose file has that title', () => {
  const claims = rowsOf('adapter', 'in part');
  expect(claims.length).toBeGreaterThan(90);
  expect(claims.filter((row) => testsOf(row).length === 0)).toEqual([]);
  const missing = rows
    .flatMap((row) => testsOf(row).map((test) => ({ id: row.id, ...test })))
    .filter(({ suite, title }) => {
      const file = files.get(suite);
      return file === undefined || !existsSync(file) || !readFileSync(file, 'utf8').includes(title);
    });
  expect(missing).toEqual([]);
});

it('says which part is missing, why something is not met, and what a provider does', () => {
  expect(rowsOf('in part').filter((row) => wordsOf(row) < 3)).toEqual([]);
  expect(rowsOf('not met', 'provider').filter((row) => wordsOf(row) < 2)).toEqual([]);
});

it('lists first what is not met, of ASVS by level', () => {
  const unmet = (isListed: (row: Row) => boolean): string =>
    rowsOf('not met')
      .filter(isListed)
      .map(({ id }) => id)
      .join(', ') || 'none';
  for (const level of ['1', '2', '3'])
    expect(page).toContain(
      `\n- ${level}: ${unmet(({ section, id }) => section.startsWith('V') && levels.get(id) === level)}\n`,
    );
  expect(page).toContain(`\nNot met of RFC 9700: ${unmet(({ section }) => section === 'RFC 9700')}.\n`);
});

it('leads from the part of the application to the page that tells it so', () => {
  expect(rowsOf('application').filter(({ shownBy }) => !/\]\((?:[\w-]+\.md)?[#)]/.test(shownBy))).toEqual([]);
});

it('lists each suite that it names, and no other', () => {
  const named = new Set(rows.flatMap(testsOf).map(({ suite }) => suite));
  expect([...files.keys()].sort()).toEqual([...named].sort());
});
