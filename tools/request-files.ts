/**
 * Prints how many files and functions of lib/ a request enters, by V8's precise coverage, as a Markdown table.
 *
 *     node tools/request-files.ts [--list | --json]
 *
 * Each request is made twice before it is counted, so that modules are loaded and keys and sessions are cached.
 * `--list` names the files as well; `--json` writes titles and numbers of files alone.
 */
import { Session } from 'node:inspector/promises';
import { demoUsers, startB2bApp } from '../__tests__/support/b2b-app.ts';
import { ada, startBackendApp } from '../__tests__/support/backend-app.ts';

interface Entered {
  readonly files: readonly string[];
  readonly functions: number;
}

const lib = new URL('../lib/', import.meta.url).href;
const inspector = new Session();
inspector.connect();
await inspector.post('Profiler.enable');
await inspector.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false });

/** The functions that were entered since the last call. */
async function takeEntered(): Promise<Entered> {
  const { result } = await inspector.post('Profiler.takePreciseCoverage');
  const scripts = result
    .filter(({ url }) => url.startsWith(lib))
    .map(({ url, functions }) => ({
      file: url.slice(lib.length),
      functions: functions.filter(({ ranges }) => ranges.some(({ count }) => count > 0)).length,
    }))
    .filter(({ functions }) => functions > 0);
  return {
    files: scripts.map(({ file }) => file).sort(),
    functions: scripts.reduce((sum, { functions }) => sum + functions, 0),
  };
}

/** Makes the request three times and counts the last one; `prepare` is not counted. */
async function measure<Prepared>(
  prepare: () => Promise<Prepared>,
  request: (prepared: Prepared) => Promise<{ readonly status: number }>,
  expectedStatus: number,
): Promise<Entered> {
  for (let time = 0; time < 2; time += 1) await request(await prepare());
  const prepared = await prepare();
  await takeEntered();
  const { status } = await request(prepared);
  if (status !== expectedStatus) throw new Error(`The answer was ${status} and not ${expectedStatus}.`);
  return takeEntered();
}

const b2b = await startB2bApp();
const backend = await startBackendApp();
const member = await b2b.signedIn();
const user = await backend.signedIn();
const visitor = b2b.visitor();
const nothing = (): Promise<void> => Promise.resolve();

const rows: Readonly<Record<string, Entered>> = {
  'public page': await measure(nothing, () => visitor.get('/'), 200),
  'B2B: protected page, cached session': await measure(nothing, () => member.get('/dashboard'), 200),
  'backend: protected page, cached session': await measure(nothing, () => user.get('/account'), 200),
  'B2B: callback': await measure(
    async () => {
      const browser = b2b.visitor();
      const { location } = await browser.get('/login');
      const { href } = await b2b.workos.authorize(location, { user: demoUsers.personal });
      return { browser, href };
    },
    ({ browser, href }) => browser.get(href),
    303,
  ),
  'backend: password sign-in': await measure(
    () => Promise.resolve(backend.visitor()),
    (browser) => browser.postJson('/auth/login', ada),
    200,
  ),
};

if (process.argv.includes('--json')) {
  console.log(
    JSON.stringify(Object.fromEntries(Object.entries(rows).map(([title, { files }]) => [title, files.length]))),
  );
} else {
  console.log('| Request | Files | Functions |\n| --- | --- | --- |');
  for (const [title, { files, functions }] of Object.entries(rows)) {
    console.log(`| ${title} | ${files.length} | ${functions} |`);
  }
}
if (process.argv.includes('--list')) {
  for (const [title, { files }] of Object.entries(rows)) console.log(`\n${title}:\n${files.join('\n')}`);
}

inspector.disconnect();
await Promise.all([b2b.close(), backend.close()]);
