import { execFile } from 'node:child_process';
import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { demoUsers, startWorkosStandIn } from '../../stand-ins/workos/index.ts';
import type { WorkosStandIn } from '../../stand-ins/workos/index.ts';
import { recipeBlock, runExamples, withoutTypes } from '../support/recipe-code.ts';
import type { RunningExamples } from '../support/recipe-code.ts';
import { createVisitor } from '../support/visitor.ts';
import type { Answer, Visitor } from '../support/visitor.ts';

/** The recipe for Next.js, built once by Next.js with both routers, and served by the recipe's Express. */
const frameworks = join(process.cwd(), '__tests__', 'frameworks');
const directory = join(frameworks, 'reports', 'nextjs');
const server = join(directory, 'server.js');
const { personal } = demoUsers;

const recipe = (text: string): string => withoutTypes(recipeBlock('nextjs', text));

/** What the recipe leaves to the reader. `rename` stands on a public page and on a guarded one. */
const files: Readonly<Record<string, string>> = {
  'package.json': '{ "private": true, "type": "module" }',
  // Both routers' packages are outside of the application's folder here.
  'next.config.mjs': `${recipe('localPatterns').replace('export default', 'const config =')}
    export default { ...config, turbopack: { root: ${JSON.stringify(frameworks)} } };`,
  'server.js': recipe('nextApp'),
  'app/layout.jsx': `export default ({ children }) => <html lang="en"><body>{children}</body></html>;`,
  'app/page.jsx': `import { Rename } from './rename.jsx';
    export default function Home() { return <Rename />; }`,
  'app/rename.jsx': `'use client';
    import { rename } from './actions.js';
    export function Rename() { return <button onClick={() => rename('Grace')}>Rename</button>; }`,
  'app/actions.js': recipe("'use server'"),
  'app/dashboard/page.jsx': recipe('function Dashboard'),
  'app/dashboard/still/page.jsx': 'export default function Still() { return <p>of all users</p>; }',
  'pages/dashboard/reports.jsx': recipe('function Reports'),
  'pages/dashboard/still-reports.jsx': `export const getStaticProps = () => ({ props: { whose: 'of all users' } });
    export default function Still({ whose }) { return <p>{whose}</p>; }`,
};

let workos: WorkosStandIn;
let examples: RunningExamples;
let origin: string;

beforeAll(async () => {
  rmSync(directory, { recursive: true, force: true });
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(directory, name)), { recursive: true });
    writeFileSync(join(directory, name), text);
  }
  for (const folder of ['dashboard', 'images'])
    cpSync('docs/screenshots/chooser.png', join(directory, 'public', folder, 'plan.png'));
  const env = { NEXT_TELEMETRY_DISABLED: '1', NODE_ENV: 'production' };
  const next = join(frameworks, 'node_modules/next/dist/bin/next');
  const { PATH, HOME } = process.env;
  await promisify(execFile)(process.execPath, [next, 'build'], { cwd: directory, env: { PATH, HOME, ...env } });
  workos = await startWorkosStandIn({ clientId: 'client_test', apiKey: 'sk_test_frameworks' });
  examples = await runExamples([server], workos, { env, cwd: directory });
  origin = examples.originOf(server);
  workos.redirectUris.push(`${origin}/callback`);
}, 180_000);

afterAll(async () => {
  examples.kill();
  await workos.close();
  rmSync(directory, { recursive: true, force: true });
});

async function signedIn(): Promise<Visitor> {
  const visitor = createVisitor(origin);
  const callback = await workos.authorize((await visitor.get('/login')).location, { user: personal });
  expect((await visitor.get(callback.href)).status).toBe(303);
  return visitor;
}

const buildId = (): string => readFileSync(join(directory, '.next/BUILD_ID'), 'utf8');
const dataOf = (path: string): string => `/_next/data/${buildId()}${path}.json`;
/** What the App Router's link asks for. */
const rsc = { rsc: '1' };

/** Posts the recipe's action as its button does. */
function callAction(visitor: Visitor, path: string, headers = {}): Promise<Answer> {
  const manifest = readFileSync(join(directory, '.next/server/server-reference-manifest.json'), 'utf8');
  const [id = ''] = Object.keys(JSON.parse(manifest).node);
  return visitor.post(path, {
    headers: { 'next-action': id, 'content-type': 'text/plain;charset=UTF-8', ...headers },
    body: '["Grace"]',
  });
}

describe('docs/recipes/nextjs.md', () => {
  it.each([
    ['a page of the App Router', () => '/dashboard', {}],
    ['its data', () => '/dashboard?_rsc=1', rsc],
    ['a static page of the App Router', () => '/dashboard/still', {}],
    ['its data', () => '/dashboard/still?_rsc=1', rsc],
    ['its prefetched part', () => '/dashboard/still.segments/_tree.segment.rsc', {}],
    ['its stored data', () => '/dashboard/still.rsc', {}],
    ['a page of the Pages Router', () => '/dashboard/reports', {}],
    ['its data', () => dataOf('/dashboard/reports'), {}],
    ['its data, with doubled slashes', () => dataOf('/dashboard/reports').replace('/data/', '//data/'), {}],
    ['its data, encoded', () => dataOf('/%64ashboard/reports').replace('/data/', '/%64ata/'), {}],
    ['a static page of the Pages Router', () => '/dashboard/still-reports', {}],
    ['its data', () => dataOf('/dashboard/still-reports'), { 'x-nextjs-data': '1' }],
    ['a file of public/', () => '/dashboard/plan.png', {}],
  ])('a stranger is led to sign in, and gets nothing of %s', async (_, path, headers) => {
    const answer = await createVisitor(origin).get(path(), { headers });
    expect([answer.status, new URL(answer.location).pathname]).toEqual([307, '/login']);
    expect(answer.text).not.toMatch(/Reports for|Hello|of all users/);
  });

  it.each([
    [() => '/dashboard', {}, 'Hello <!-- -->'],
    [() => '/dashboard', rsc, personal.email],
    [() => '/dashboard/reports', {}, 'Reports for <!-- -->'],
    [() => dataOf('/dashboard/reports'), {}, `"email":"${personal.email}"`],
    [() => dataOf('/dashboard/still-reports'), {}, 'of all users'],
  ])('a signed-in user gets %s', async (path, headers, words) => {
    const visitor = await signedIn();
    let answer = await visitor.get(path(), { headers });
    // Next.js leads requests for data to an address with a hash of their headers.
    if (answer.status === 307) answer = await visitor.get(answer.location, { headers });
    expect(answer).toMatchObject({ status: 200, text: expect.stringContaining(words) });
  });

  it('a server action knows its user, refuses a stranger at a public page, and takes no header for a user', async () => {
    expect((await callAction(await signedIn(), '/')).text).toContain(`${personal.email} is Grace now`);
    const stranger = createVisitor(origin);
    const made = { 'x-user': encodeURIComponent(JSON.stringify({ email: 'mallory@example.com' })) };
    for (const headers of [{}, made]) {
      const refused = await callAction(stranger, '/', headers);
      expect([refused.status, refused.text.includes('is Grace now')]).toEqual([500, false]);
    }
  });

  it('the image route resizes what is listed, and no guarded picture', async () => {
    const visitor = createVisitor(origin);
    const resized = (path: string) => visitor.get(`/_next/image?url=${encodeURIComponent(path)}&w=64&q=75`);
    expect((await resized('/images/plan.png')).status).toBe(200);
    for (const path of ['/dashboard/plan.png', '/images/../dashboard/plan.png', '/images/%2e%2e/dashboard/plan.png'])
      expect((await resized(path)).status).toBe(400);
  });
});
