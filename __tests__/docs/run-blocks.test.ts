import { fork } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { demoUsers, startWorkosStandIn } from '../../example-app/providers/workos/index.ts';
import type { WorkosStandIn } from '../../example-app/providers/workos/index.ts';
import { codeBlocks, markdownFiles } from '../support/markdown.ts';
import type { CodeBlock } from '../support/markdown.ts';
import type { ExampleReport } from '../support/run-examples.ts';
import { startSupabaseStandIn } from '../../example-app/providers/supabase/stand-in.ts';
import type { SupabaseStandIn } from '../../example-app/providers/supabase/stand-in.ts';
import { createVisitor } from '../support/visitor.ts';
import type { Visitor } from '../support/visitor.ts';

const directory = join(process.cwd(), 'reports', 'docs-runs');
const ada = { email: 'ada@example.com', password: 'correct horse battery' };
const { personal } = demoUsers;

interface Example extends CodeBlock {
  readonly file: string;
  readonly name: string;
}

const blocks = markdownFiles()
  .flatMap(codeBlocks)
  .filter(({ language }) => language === 'ts');

/** What an example imports that this machine may not have, or that only a test runner can do something with. */
const foreignImports = ({ code }: CodeBlock): string[] =>
  [...code.matchAll(/^(?:import|export) .*?from '([^']+)';$/gms)]
    .map(([, specifier = '']) => specifier)
    .filter((specifier) => !/^(?:node:.*|express|express-auth-adapters(?:\/\w+)?)$/.test(specifier));

const examples: readonly Example[] = blocks
  .filter((block) => foreignImports(block).length === 0)
  .map((block, index) => ({
    ...block,
    file: join(directory, `${block.path.replaceAll(/[^a-z0-9]+/gi, '-')}-${index}.ts`),
    name: `${block.path}:${block.line}`,
  }));

const hasApp = ({ code }: CodeBlock): boolean => /^const app = express\(\);$/m.test(code);
const served = examples.filter(hasApp);

/** Paths that the example says are guarded, as a visitor would ask for them. */
function guardedPaths({ code }: CodeBlock): string[] {
  const [, routes = ''] = /protectedRoutes: (\[[^\]]*\]|'[^']*')/.exec(code) ?? [];
  const patterns = [...routes.matchAll(/'([^']+)'/g)].map(([, pattern = '']) => pattern.replace(/\/?\(\.\*\)$/, ''));
  const guards = [...code.matchAll(/app\.(?:use|get)\(\s*'([^']+)',\s*requireSession/g)].map(([, path = '']) => path);
  return [...patterns, ...guards].map((path) => path.replaceAll(':', ''));
}

let workos: WorkosStandIn;
let supabase: SupabaseStandIn;
let child: ChildProcess;
let complaints = '';
const reports = new Map<string, ExampleReport>();

beforeAll(async () => {
  workos = await startWorkosStandIn({ clientId: 'client_test', apiKey: `sk_test_${randomBytes(12).toString('hex')}` });
  supabase = await startSupabaseStandIn({ autoconfirm: true });
  supabase.addUser(ada);
  supabase.addNote(ada.email, 'Remember the milk');
  rmSync(directory, { recursive: true, force: true });
  mkdirSync(directory, { recursive: true });
  for (const example of examples) {
    const { file, code } = example;
    // An excerpt that stops before `listen` is served all the same.
    writeFileSync(file, hasApp(example) && !code.includes('app.listen(') ? `${code}\napp.listen(3000);\n` : code);
  }
  child = fork(
    '__tests__/support/run-examples.ts',
    examples.map(({ file }) => file),
    {
      execArgv: ['--disable-warning=ExperimentalWarning'],
      stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
      env: {
        PATH: process.env['PATH'],
        B2B_CLIENT_ID: workos.clientId,
        B2B_API_KEY: workos.apiKey,
        B2B_COOKIE_PASSWORD: randomBytes(32).toString('base64'),
        B2B_API_HOSTNAME: workos.hostname,
        B2B_API_PORT: String(workos.port),
        B2B_API_HTTPS: 'false',
        BAAS_URL: supabase.url,
        BAAS_PUBLISHABLE_KEY: supabase.publishableKey,
      },
    },
  );
  child.stderr?.on('data', (chunk: Buffer) => (complaints += chunk.toString()));
  await new Promise<void>((resolve, reject) => {
    child.on('message', (report: ExampleReport) => {
      if (report.file === '') resolve();
      else reports.set(report.file, report);
    });
    child.on('exit', (code) => reject(new Error(`The examples ended with ${code}: ${complaints}`)));
  });
}, 60_000);

afterAll(async () => {
  child.removeAllListeners('exit');
  child.kill();
  await Promise.all([workos.close(), supabase.close()]);
  rmSync(directory, { recursive: true, force: true });
});

function originOf(example: Example): string {
  return `http://127.0.0.1:${reports.get(example.file)?.port}`;
}

function exampleWith(path: string, text: string): Example {
  const [example, ...others] = served.filter(({ path: from, code }) => from === path && code.includes(text));
  if (example === undefined || others.length > 0) throw new Error(`${path}: not one example has ${text}`);
  return example;
}

async function signedInToWorkos(origin: string): Promise<Visitor> {
  workos.redirectUris.push(`${origin}/callback`);
  const visitor = createVisitor(origin);
  const start = await visitor.get('/login');
  const callback = await workos.authorize(start.location, { user: personal });
  expect((await visitor.get(callback.href)).status).toBe(303);
  return visitor;
}

async function signedInToSupabase(origin: string): Promise<Visitor> {
  const visitor = createVisitor(origin);
  expect((await visitor.postJson('/auth/login', ada)).status).toBe(200);
  return visitor;
}

describe('the examples of README and docs', () => {
  it('are all here but for those that want a Redis or a test runner', () => {
    expect(served.length).toBeGreaterThan(10);
    expect(new Set(blocks.flatMap(foreignImports))).toEqual(new Set(['redis', 'supertest']));
  });

  it.each(examples.map((example) => [example.name, example] as const))('%s runs', (_name, example) => {
    const { error, port } = reports.get(example.file) ?? { error: 'not run' };
    expect({ error, isServed: port !== undefined }).toEqual({ error: undefined, isServed: hasApp(example) });
  });

  it.each(served.map((example) => [example.name, example] as const))('%s serves its start page', async (_, example) => {
    const { status } = await createVisitor(originOf(example)).get('/');
    expect([200, 404]).toContain(status);
  });

  const guarded = served.flatMap((example) =>
    guardedPaths(example).map((path) => [example.name, path, example] as const),
  );

  it.each(guarded)('%s guards %s', async (_name, path, example) => {
    const { status, location } = await createVisitor(originOf(example)).get(path);
    expect({ status, returnTo: new URL(location).searchParams.get('returnTo') }).toEqual({
      status: 307,
      returnTo: path,
    });
  });
});

describe('a reader who follows the examples', () => {
  it.each([
    ['README.md', "requireSession } from 'express-auth-adapters/b2b'", '/dashboard', `Hello ${personal.email}`],
    ['docs/start.md', 'b2bAuth(', '/dashboard', `"email":"${personal.email}"`],
    ['docs/moving.md', "'/dashboard', requireSession()", '/dashboard', `Hello ${personal.email}`],
    ['docs/moving.md', 'onSignIn', '/account', '"name":'],
  ])('%s, %s: signs in through WorkOS and sees %s', async (path, text, page, words) => {
    const visitor = await signedInToWorkos(originOf(exampleWith(path, text)));
    expect(await visitor.get(page)).toMatchObject({ status: 200, text: expect.stringContaining(words) });
  });

  it.each([
    ['docs/start.md', 'backendAuth(', '/account'],
    ['docs/moving.md', 'backendAuth(', '/account'],
    ['docs/backend.md', 'getSupabaseClient', '/notes'],
  ])('%s, %s: signs in at Supabase and sees the own notes at %s', async (path, text, page) => {
    const visitor = await signedInToSupabase(originOf(exampleWith(path, text)));
    expect(await visitor.get(page)).toMatchObject({ status: 200, text: expect.stringContaining('Remember the milk') });
  });

  it('docs/pages.md: is led to the own page, told what went wrong, and back to where they wanted to go', async () => {
    const visitor = createVisitor(originOf(exampleWith('docs/pages.md', "signIn: '/welcome'")));
    const form = (password: string) => ({
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body: new URLSearchParams({ email: ada.email, password, returnTo: '/account?tab=2' }).toString(),
    });

    const challenge = await visitor.get('/account?tab=2');
    expect(new URL(challenge.location).pathname).toBe('/welcome');
    const page = await visitor.get(challenge.location);
    expect(page.text).toContain('value="/account?tab=2"');

    const refused = await visitor.post('/auth/login', form('wrong'));
    expect(refused.status).toBe(303);
    expect((await visitor.get(refused.location)).text).toContain('<p role="alert">Incorrect email or password');

    const done = await visitor.post('/auth/login', form(ada.password));
    expect(done).toMatchObject({ status: 303, location: expect.stringMatching(/\/account\?tab=2$/) });
    expect((await visitor.get(done.location)).text).toBe('Your account');
  });
});
