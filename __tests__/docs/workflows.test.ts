import { globSync, readFileSync } from 'node:fs';

const workflows = globSync('.github/workflows/*.yml').map((path) => [path, readFileSync(path, 'utf8')] as const);

it('each workflow that the docs name is there', () => {
  const releasing = readFileSync('docs/contributing/releasing.md', 'utf8');
  const named = [...releasing.matchAll(/\.github\/workflows\/[\w-]+\.yml/g)].map(([path]) => path);
  expect(named.length).toBeGreaterThan(1);
  expect(workflows.map(([path]) => path)).toEqual(expect.arrayContaining(named));
});

it.each(workflows)('%s names each action by its commit, and its version beside it', (_path, text) => {
  const used = [...text.matchAll(/uses: (?!\.\/)(.*)/g)].map(([, action = '']) => action);
  expect(used.length).toBeGreaterThan(0);
  for (const action of used) expect(action).toMatch(/^[\w-]+\/[\w-]+@[\da-f]{40} # v\d+\.\d+\.\d+$/);
});
