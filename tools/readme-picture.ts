/**
 * Takes README's picture: the page that its first example makes, served by the local stand-in.
 *
 *     npm run docs:picture
 */
import { fork } from 'node:child_process';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { once } from 'node:events';
import { join } from 'node:path';
import { startSupabaseStandIn } from '../stand-ins/supabase/stand-in.ts';
import { launchBrowser } from '../__tests__/support/browser.ts';
import { codeBlocks } from '../__tests__/support/markdown.ts';
import type { ExampleReport } from '../__tests__/support/run-examples.ts';

const [example] = codeBlocks({ path: 'README.md', text: readFileSync('README.md', 'utf8') }).filter(
  ({ language }) => language === 'ts',
);
// `run-examples.ts` resolves this package for the examples of this folder.
const directory = join(process.cwd(), 'reports', 'docs-runs');
mkdirSync(directory, { recursive: true });
const file = join(directory, 'readme-picture.ts');
writeFileSync(file, example?.code ?? '');

const supabase = await startSupabaseStandIn();
const child = fork('__tests__/support/run-examples.ts', [file], {
  env: { PATH: process.env['PATH'], BAAS_URL: supabase.url, BAAS_PUBLISHABLE_KEY: supabase.publishableKey },
});
const browser = await launchBrowser();
try {
  const [report] = (await once(child, 'message')) as [ExampleReport];
  const context = await browser.newContext({ viewport: { width: 480, height: 790 }, deviceScaleFactor: 2 });
  const page = await context.newPage();
  await page.goto(`http://127.0.0.1:${report.port}/account`);
  await page.screenshot({ path: 'docs/screenshots/readme.png' });
  console.log('docs/screenshots/readme.png');
} finally {
  child.kill();
  await browser.close();
  await supabase.close();
  rmSync(file);
}
