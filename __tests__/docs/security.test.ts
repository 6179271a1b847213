import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';

const require = createRequire(import.meta.url);
const page = readFileSync('docs/security.md', 'utf8');
const evidence = readFileSync('docs/contributing/proofs.md', 'utf8');
const sectionOf = (heading: string): string =>
  `${page}\n${evidence}`.split(/^## /m).find((section) => section.startsWith(`${heading}\n`)) ?? '';

/** The cells of each row of the section's only table, below its head. */
const rowsOf = (heading: string): string[][] =>
  [...sectionOf(heading).matchAll(/^\| (?!---)(.*) \|$/gm)]
    .slice(1)
    .map(([, row = '']) => row.split(/(?<!\\)\|/).map((cell) => cell.trim().replaceAll('\\|', '|')));

/** `[suite]: …/__tests__/suite.test.ts` at the end of the page. */
const files = new Map(
  [...evidence.matchAll(/^(\[[^\]]+\]): .*\/blob\/main\/(\S+)$/gm)].map(([, name, file]) => [name, file]),
);

function missingTest(suite: string, title: string): boolean {
  const file = files.get(suite);
  return file === undefined || !readFileSync(file, 'utf8').includes(title);
}

describe('the rules', () => {
  const rules = [...sectionOf('Rules').matchAll(/^- \*\*(\w+)\.\*\* (.*)$/gm)].map(([, id = '', text = '']) => ({
    id,
    text,
  }));
  const proofs = rowsOf('Tests');

  it('each have a number of their own, and a first sentence that can be skimmed', () => {
    expect(rules.length).toBeGreaterThan(35);
    expect(new Set(rules.map(({ id }) => id)).size).toBe(rules.length);
    const long = rules.filter(({ text }) => (text.split('. ')[0] ?? '').length > 125);
    expect(long).toEqual([]);
  });

  it('name no test: each has one or more among the proofs, and no proof is without a rule', () => {
    expect(rules.filter(({ text }) => text.includes('__tests__'))).toEqual([]);
    expect([...new Set(proofs.map(([id]) => id))].sort()).toEqual(rules.map(({ id }) => id).sort());
  });

  it('are proved by a test whose file has that title', () => {
    expect(proofs.length).toBeGreaterThan(50);
    expect(proofs.filter(([, suite = '', title = '']) => missingTest(suite, title))).toEqual([]);
  });
});

it('names a test for each lesson, by a title that its file has', () => {
  const lessons = rowsOf('Lessons from others');
  expect(lessons.length).toBeGreaterThan(35);
  expect(lessons.filter(([, , suite = '', title = '']) => missingTest(suite, title))).toEqual([]);
});

it('lists exactly the dependencies, each with its reason and the license that it has', () => {
  const manifest = JSON.parse(readFileSync('package.json', 'utf8')) as Record<string, Record<string, unknown>>;
  const needed = { ...manifest['dependencies'], ...manifest['peerDependenciesMeta'] };
  const listed = [
    ...page.matchAll(/^\| \[([^\]]+)\]\(https:\/\/www\.npmjs\.com[^|]+\| ([^|]+?) +\| +(\S[^|]+?) +\|$/gm),
  ];
  expect(listed.map(([, name]) => name).sort()).toEqual(Object.keys(needed).sort());
  for (const [, name = '', license] of listed) expect([name, license]).toEqual([name, licenseOf(name)]);
});

/** Not every package exports its package.json. */
function licenseOf(name: string): unknown {
  for (const folder of require.resolve.paths(name) ?? []) {
    try {
      return (JSON.parse(readFileSync(`${folder}/${name}/package.json`, 'utf8')) as { license?: unknown }).license;
    } catch {
      // The next folder may have it.
    }
  }
  return undefined;
}
