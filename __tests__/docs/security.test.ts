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
  const sections = page.split(/^## /m);
  for (const heading of ['Rules and their tests', 'Lessons from others']) {
    const items = (sections.find((section) => section.startsWith(heading)) ?? '').match(/^- .*$/gm) ?? [];
    expect(items.length).toBeGreaterThan(20);
    expect(items.filter((item) => !item.includes('__tests__'))).toEqual([]);
  }
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
