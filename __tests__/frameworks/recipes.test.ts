import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { demoUsers, startWorkosStandIn } from '../../stand-ins/workos/index.ts';
import type { StandInUser, WorkosStandIn } from '../../stand-ins/workos/index.ts';
import { recipeBlock, runExamples, withoutTypes } from '../support/recipe-code.ts';
import type { RunningExamples } from '../support/recipe-code.ts';
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

let workos: WorkosStandIn;
let examples: RunningExamples;

beforeAll(async () => {
  rmSync(directory, { recursive: true, force: true });
  mkdirSync(directory, { recursive: true });
  const outage = `@Controller('outage') class OutageController {
    @Get() outage() { throw new AuthError('provider_unavailable', { retryAfter: 7 }); }
  }
  @Module`;
  const nestApp = recipeBlock('nestjs', 'NestFactory')
    .replace('@Module', outage)
    .replace('controllers: [', 'controllers: [OutageController, ');
  const nest = write('nest.js', withoutTypes(nestApp));
  // The three lines of the recipe for Fastify.
  const fastify = write('fastify.js', withoutTypes(onFastify(nestApp)));
  const router = write('router.js', withoutTypes(recipeBlock('react-router', 'createRequestHandler')));
  write('require-user.js', withoutTypes(recipeBlock('react-router', 'requireUser')));
  const build = write('build.js', serverBuild);
  workos = await startWorkosStandIn({ clientId: 'client_test', apiKey: 'sk_test_frameworks' });
  const env = { REACT_ROUTER_BUILD: pathToFileURL(build).href };
  examples = await runExamples([nest, fastify, router], workos, { env });
}, 60_000);

afterAll(async () => {
  examples.kill();
  await workos.close();
  rmSync(directory, { recursive: true, force: true });
});

/** The recipe's application on Nest's other platform, changed as the recipe says. */
function onFastify(code: string): string {
  const changes = [
    ["import { NestFactory } from '@nestjs/core';", "$&\nimport { FastifyAdapter } from '@nestjs/platform-fastify';"],
    ['NestFactory.create(AppModule, {', 'NestFactory.create(AppModule, new FastifyAdapter(), {'],
    ["currentSession(req, 'b2b')", "currentSession(req.raw, 'b2b')"],
    [
      "getSession(context.switchToHttp().getRequest<Request>(), 'b2b')",
      "getSession(context.switchToHttp().getRequest().raw, 'b2b')",
    ],
    ['res.set(headers).status(status).json(', 'res.headers(headers).status(status).send('],
  ] as const;
  for (const [from] of changes) expect(code).toContain(from);
  return changes.reduce((changed, [from, to]) => changed.replace(from, to), code);
}

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

const originOf = (name: string): string => examples.originOf(join(directory, name));

async function signedIn(origin: string, user: StandInUser = personal): Promise<Visitor> {
  workos.redirectUris.push(`${origin}/callback`);
  const visitor = createVisitor(origin);
  const organization = user === twoOrganizations ? `?organization_id=${organizationId}` : '';
  const start = await visitor.get(`/login${organization}`);
  const callback = await workos.authorize(start.location, { user });
  expect((await visitor.get(callback.href)).status).toBe(303);
  return visitor;
}

describe.each(['nest.js', 'fastify.js'])('docs/recipes/nestjs.md, as %s', (file) => {
  it('serves the user of the session', async () => {
    const visitor = await signedIn(originOf(file));
    expect((await visitor.getJson('/api/me')).json).toEqual({ email: personal.email });
  });

  it('answers a stranger with a 401, and redirects pages', async () => {
    const visitor = createVisitor(originOf(file));
    const refused = await visitor.getJson('/api/me');
    expect([refused.status, refused.json.error.code]).toEqual([401, 'unauthenticated']);
    expect((await visitor.get('/dashboard/reports')).status).toBe(307);
  });

  it('answers an AuthError with its status, its code and its headers, by the filter', async () => {
    const answer = await createVisitor(originOf(file)).getJson('/outage');
    expect([answer.status, answer.json.error.code]).toEqual([503, 'provider_unavailable']);
    expect(answer.headers['retry-after']).toBe('7');
  });

  it('lets only administrators pass a guard of Nest', async () => {
    const origin = originOf(file);
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
