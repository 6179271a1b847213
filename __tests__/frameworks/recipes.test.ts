import { fork } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import ts from 'typescript';
import { demoUsers, startWorkosStandIn } from '../../example-app/providers/workos/index.ts';
import type { StandInUser, WorkosStandIn } from '../../example-app/providers/workos/index.ts';
import { codeBlocks } from '../support/markdown.ts';
import type { ExampleReport } from '../support/run-examples.ts';
import { createVisitor } from '../support/visitor.ts';
import type { Visitor } from '../support/visitor.ts';

/** The recipes for NestJS and React Router, with these frameworks, and signed-in users of the stand-in. */
const directory = join(process.cwd(), '__tests__', 'frameworks', 'reports', 'recipes');
const { personal, twoOrganizations } = demoUsers;
const [{ id: organizationId }] = twoOrganizations.organizations;

function write(name: string, text: string): string {
  const file = join(directory, name);
  writeFileSync(file, text);
  return file;
}

/** As the frameworks' own build does: NestJS needs decorators, which Node does not strip. */
function compile(recipe: string, text: string, name: string, change = (code: string): string => code): string {
  const path = `docs/recipes/${recipe}.md`;
  const found = codeBlocks({ path, text: readFileSync(path, 'utf8') }).find(({ code }) => code.includes(text));
  const compilerOptions = {
    target: ts.ScriptTarget.ES2023,
    module: ts.ModuleKind.ESNext,
    experimentalDecorators: true,
    verbatimModuleSyntax: true,
  };
  return write(name, ts.transpileModule(change(found?.code ?? ''), { compilerOptions }).outputText);
}

let workos: WorkosStandIn;
let child: ChildProcess;
const reports = new Map<string, ExampleReport>();

beforeAll(async () => {
  rmSync(directory, { recursive: true, force: true });
  mkdirSync(directory, { recursive: true });
  const outage = `@Controller('outage') class OutageController {
    @Get() outage() { throw new AuthError('provider_unavailable', { retryAfter: 7 }); }
  }
  @Module`;
  const nest = compile('nestjs', 'NestFactory', 'nest.js', (code) =>
    code.replace('@Module', outage).replace('controllers: [', 'controllers: [OutageController, '),
  );
  const router = compile('react-router', 'createRequestHandler', 'router.js');
  compile('react-router', 'requireUser', 'require-user.js');
  const build = write('build.js', serverBuild);
  workos = await startWorkosStandIn({ clientId: 'client_test', apiKey: 'sk_test_frameworks' });
  child = fork('__tests__/support/run-examples.ts', [nest, router], {
    execArgv: ['--disable-warning=ExperimentalWarning'],
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    env: {
      PATH: process.env['PATH'],
      B2B_CLIENT_ID: workos.clientId,
      B2B_API_KEY: workos.apiKey,
      B2B_COOKIE_PASSWORD: randomBytes(32).toString('base64'),
      B2B_API_HOSTNAME: workos.hostname,
      B2B_API_PORT: String(workos.port),
      B2B_API_HTTPS: 'false',
      REACT_ROUTER_BUILD: pathToFileURL(build).href,
    },
  });
  await new Promise<void>((resolve, reject) => {
    child.on('message', (report: ExampleReport) =>
      report.file === '' ? resolve() : void reports.set(report.file, report),
    );
    child.on('exit', (code) => reject(new Error(`The examples ended with ${code}`)));
  });
  child.removeAllListeners('exit');
}, 60_000);

afterAll(async () => {
  child.kill('SIGKILL');
  await workos.close();
  rmSync(directory, { recursive: true, force: true });
});

/** As much of what `react-router build` writes as requests for data need. */
const serverBuild = `
import { requireUser } from './require-user.js';
const route = (id, path, loader) => ({ [id]: { id, path, module: { loader } } });
export const entry = { module: { default: () => new Response('page') } };
export const routes = {
  ...route('me', 'api/me', ({ context }) => Response.json({ email: context.session?.user.email ?? null })),
  ...route('reports', 'reports', (given) => Response.json({ email: requireUser(given).user.email })),
};
export const assets = { entry: { module: '', imports: [] }, routes: {}, url: '', version: '1' };
export const publicPath = '/';
export const assetsBuildDirectory = 'build/client';
export const basename = '/';
export const future = {};
export const ssr = true;
export const isSpaMode = false;
export const prerender = [];
export const routeDiscovery = { mode: 'initial' };
`;

function originOf(name: string): string {
  const report = reports.get(join(directory, name));
  expect(report).toMatchObject({ port: expect.any(Number) });
  return `http://127.0.0.1:${report?.port}`;
}

async function signedIn(origin: string, user: StandInUser = personal): Promise<Visitor> {
  workos.redirectUris.push(`${origin}/callback`);
  const visitor = createVisitor(origin);
  const organization = user === twoOrganizations ? `?organization_id=${organizationId}` : '';
  const start = await visitor.get(`/login${organization}`);
  const callback = await workos.authorize(start.location, { user });
  expect((await visitor.get(callback.href)).status).toBe(303);
  return visitor;
}

describe('docs/recipes/nestjs.md', () => {
  it('serves the user of the session', async () => {
    const visitor = await signedIn(originOf('nest.js'));
    expect((await visitor.getJson('/api/me')).json).toEqual({ email: personal.email });
  });

  it('answers a stranger with a 401, and redirects pages', async () => {
    const visitor = createVisitor(originOf('nest.js'));
    const refused = await visitor.getJson('/api/me');
    expect([refused.status, refused.json.error.code]).toEqual([401, 'unauthenticated']);
    expect((await visitor.get('/dashboard/reports')).status).toBe(307);
  });

  it('answers an AuthError with its status, its code and its headers, by the filter', async () => {
    const answer = await createVisitor(originOf('nest.js')).getJson('/outage');
    expect([answer.status, answer.json.error.code]).toEqual([503, 'provider_unavailable']);
    expect(answer.headers['retry-after']).toBe('7');
  });

  it('lets only administrators pass a guard of Nest', async () => {
    const origin = originOf('nest.js');
    const stranger = await createVisitor(origin).getJson('/reports');
    expect([stranger.status, stranger.json.error.code]).toEqual([401, 'unauthenticated']);
    expect((await (await signedIn(origin)).getJson('/reports')).status).toBe(403);
    const admin = await signedIn(origin, twoOrganizations);
    expect((await admin.getJson('/reports')).json).toEqual(['of 2026']);
  });
});

describe('docs/recipes/react-router.md', () => {
  it('gives loaders the session', async () => {
    const origin = originOf('router.js');
    expect((await createVisitor(origin).getJson('/api/me')).json).toEqual({ email: null });
    expect((await (await signedIn(origin)).getJson('/api/me')).json).toEqual({ email: personal.email });
  });

  it('leads a stranger to sign in, as a document, and back with the query', async () => {
    const origin = originOf('router.js');
    const asked = await createVisitor(origin).get('/reports?year=2026');
    expect([asked.status, asked.headers['x-remix-reload-document']]).toEqual([302, 'true']);
    expect(asked.location).toMatch(/\/login\?returnTo=%2Freports%3Fyear%3D2026$/);
    expect((await (await signedIn(origin)).getJson('/reports?year=2026')).json).toEqual({ email: personal.email });
  });
});
