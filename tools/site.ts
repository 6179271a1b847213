/**
 * Builds the documentation's site into reports/site: docs/ as pages (VitePress, tools/site), the API reference (TypeDoc) below api/, and for
 * agents each page as Markdown, with llms.txt. Every link is relative to /express-auth-adapters/, where GitHub Pages serves it.
 *
 *     npm run docs:site
 */
import { spawnSync } from 'node:child_process';
import { cpSync, globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { llmsText } from './agent-files.ts';
import { isForContributors, siteLink, sitePath } from './site/links.ts';

const address = 'https://express-auth-adapters.github.io/express-auth-adapters';
const out = 'reports/site';

function run(tool: string, ...options: readonly string[]): void {
  const { status } = spawnSync(join('tools/node_modules/.bin', tool), options, {
    stdio: ['ignore', 'inherit', 'inherit'],
  });
  if (status !== 0) throw new Error(`${tool} ended with ${status}`);
}

/** The page's text, with links that work on the site. */
function markdownOf(path: string): string {
  return readFileSync(path, 'utf8').replaceAll(
    /\]\(([^)\s]+)\)/g,
    (_, target: string) => `](${siteLink(target, path)})`,
  );
}

function write(path: string, text: string): void {
  mkdirSync(dirname(join(out, path)), { recursive: true });
  writeFileSync(join(out, path), text);
}

rmSync('reports/site-public', { recursive: true, force: true });
cpSync('docs/screenshots', 'reports/site-public/screenshots', { recursive: true });
cpSync('tools/site/favicon.svg', 'reports/site-public/favicon.svg');
const mermaid = 'tools/node_modules/mermaid/dist';
for (const file of globSync(['mermaid.esm.min.mjs', 'chunks/mermaid.esm.min/*.mjs'], { cwd: mermaid })) {
  cpSync(join(mermaid, file), join('reports/site-public/mermaid', file));
}
run('vitepress', 'build', 'tools/site');
run('typedoc', '--logLevel', 'Warn');
cpSync('reports/api', join(out, 'api'), { recursive: true });

const pages = globSync('docs/**/*.md').filter((path) => !isForContributors(path));
for (const path of pages) write(sitePath(path), markdownOf(path));
const skill = 'skills/express-auth-adapters/SKILL.md';
write(skill, readFileSync(skill, 'utf8'));
write(
  'llms.txt',
  llmsText(({ path }) => `${address}/${sitePath(path)}`),
);
console.log(
  `${pages.length} pages in ${out}. To read them: tools/node_modules/.bin/vitepress preview tools/site, then http://localhost:4173/express-auth-adapters/`,
);
