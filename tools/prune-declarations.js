// Removes the declarations that no entry of the package reaches: they would be a fifth of the tarball.
// Usage: node tools/prune-declarations.js, after tsc has written dist/
import { readdirSync, readFileSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';

const { exports } = JSON.parse(readFileSync('package.json', 'utf8'));
const entries = Object.values(exports).flatMap((path) => {
  if (!path.endsWith('.js')) return [];
  if (!path.includes('*')) return [join(path.replace(/\.js$/, '.d.ts'))];
  const folder = dirname(path);
  return readdirSync(folder).flatMap((name) => (name.endsWith('.d.ts') ? [join(folder, name)] : []));
});

/** Files that a declaration names, in imports, in types and in comments, so that a mistake keeps too much. */
function namedIn(path) {
  const names = [...readFileSync(path, 'utf8').matchAll(/['"](\.{1,2}\/[^'"]+?)\.[jt]s['"]/g)];
  return names.map(([, name = '']) => join(dirname(path), `${name}.d.ts`));
}

const reached = new Set();
const ahead = [...entries];
for (let path = ahead.pop(); path !== undefined; path = ahead.pop()) {
  if (reached.has(path)) continue;
  reached.add(path);
  ahead.push(...namedIn(path));
}

for (const name of readdirSync('dist', { recursive: true })) {
  const path = join('dist', name);
  if (path.endsWith('.d.ts') && !reached.has(path)) rmSync(path);
}
