import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';

const require = createRequire(import.meta.url);
const page = readFileSync('docs/security.md', 'utf8');
const references = [...page.matchAll(/\]\([^)]*\/blob\/main\/(__tests__\/[^)]+)\)(?: "([^"]+)")?/g)].map(
  ([, file = '', title]) => ({
    file,
    title: title ?? '',
  }),
);

it('names a test for each rule and each lesson, by a title that its file has', () => {
  expect(references.length).toBeGreaterThan(50);
  const missing = references.filter(({ file, title }) => !readFileSync(file, 'utf8').includes(title));
  expect(missing).toEqual([]);
  // The list of attacks names what was tried once, by hand; what it found has tests under the rules.
  const [rules = ''] = page.split('## Attacks tried');
  const rows = rules.split('\n').filter((line) => line.startsWith('|') && !/^\|[\s|-]+$/.test(line));
  const withoutTest = rows.filter((row) => !/__tests__|npmjs\.com|^\| (?:Rule|Lesson|Package)\b/.test(row));
  expect(withoutTest).toEqual([]);
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
