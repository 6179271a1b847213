import { createBackendClient, createB2bClient } from '../../lib/client/index.ts';
import { b2bAuth, backendAuth, ConfigurationError } from '../../lib/index.ts';
import { startB2bApp } from '../support/b2b-app.ts';
import type { B2bApp } from '../support/b2b-app.ts';
import { ada, startBackendApp } from '../support/backend-app.ts';
import type { BackendApp } from '../support/backend-app.ts';
import { describeAtRoot } from '../support/only.ts';

let app: BackendApp | B2bApp | undefined;
afterEach(async () => {
  await app?.close();
  app = undefined;
});

const b2b = { clientId: 'client_1', apiKey: 'sk_test_1', cookiePassword: 'x'.repeat(32) };
const backend = { url: 'https://abcdefghijklmnopqrst.supabase.co', anonKey: 'sb_publishable_abc_def' };

describeAtRoot('pathPrefix', () => {
  it('moves the routes of the backend adapter, its links and its guard', async () => {
    const started = (app = await startBackendApp({ options: { pathPrefix: '/v1/auth' } }));
    const visitor = started.visitor();
    const page = await visitor.get('/v1/auth/login');
    expect(page.text).toMatch(/action="\/v1\/auth\/login"/);
    expect(page.text).toContain('/v1/auth/pages.css?');
    expect(page.text).not.toMatch(/"\/auth\//);
    expect((await visitor.get('/account')).headers.location).toBe('/v1/auth/login?returnTo=%2Faccount');
    expect((await visitor.postJson('/v1/auth/login', ada)).status).toBe(200);
    expect((await visitor.getJson('/v1/auth/session')).json.user.email).toBe(ada.email);
    expect((await visitor.get('/auth/login')).status).toBe(404);
    const client = createBackendClient({
      pathPrefix: '/v1/auth',
      baseUrl: started.origin,
      fetch: (url, init) =>
        fetch(url, { ...init, headers: { accept: 'application/json', cookie: visitor.cookieHeader() } }),
    });
    expect((await client.session()).data?.user.email).toBe(ada.email);
  });

  it('moves the routes of the B2B adapter, and the redirect URI with them', async () => {
    const started = (app = await startB2bApp({ options: { pathPrefix: '/v1/auth' } }));
    const visitor = started.visitor();
    const { location } = await visitor.get('/v1/auth/login');
    expect(new URL(location).searchParams.get('redirect_uri')).toBe(`${started.origin}/v1/auth/callback`);
    expect((await visitor.get('/login')).status).toBe(404);
    expect((await visitor.getJson('/v1/auth/session')).status).toBe(401);
    const paths: string[] = [];
    const recording: typeof fetch = (url) => {
      paths.push(url as string);
      return Promise.resolve(new Response('{}'));
    };
    await createB2bClient({ pathPrefix: '/v1/auth', fetch: recording }).session();
    expect(paths).toEqual(['/v1/auth/session']);
  });

  it('is beaten by an option for a single path', async () => {
    const started = (app = await startB2bApp({ options: { pathPrefix: '/v1/auth', loginPath: '/sign-in' } }));
    const visitor = started.visitor();
    const statusOf = async (path: string) => (await visitor.get(path)).status;
    const moved = ['/sign-in', '/v1/auth/signup', '/v1/auth/session', '/v1/auth/pages.css'];
    expect(await Promise.all(moved.map(statusOf))).toEqual([302, 302, 401, 200]);
    expect(await statusOf('/v1/auth/login')).toBe(404);
  });
});

it.each([
  '/',
  '',
  'v1',
  '/v1/',
  '//v1',
  '/v1//auth',
  '/v1/../auth',
  '/./v1',
  '/v1?x',
  '/v1#x',
  '/:tenant',
  '/v1/*x',
  '/%76',
  '/é',
  7,
])('refuses %p, and names the option once', (pathPrefix) => {
  for (const create of [
    () => b2bAuth({ ...b2b, pathPrefix } as object),
    () => backendAuth({ ...backend, pathPrefix } as object),
  ]) {
    const problems = problemsOf(create);
    expect(problems).toEqual([expect.stringMatching(/^pathPrefix must/)]);
  }
});

it('says where a single path and a moved one clash', () => {
  expect(problemsOf(() => b2bAuth({ ...b2b, pathPrefix: '/v1', callbackPath: '/v1/login' }))).toEqual([
    expect.stringContaining("are both '/v1/login'"),
  ]);
});

it('knows a page of its own that leads to a moved form', () => {
  const pages = { signIn: '/v1/login' };
  expect(problemsOf(() => backendAuth({ ...backend, pathPrefix: '/v1', pages }))).toEqual([
    expect.stringContaining('pages.signIn is loginPath itself'),
  ]);
});

function problemsOf(create: () => unknown): readonly string[] {
  try {
    create();
    return [];
  } catch (error) {
    if (!(error instanceof ConfigurationError)) throw error;
    return error.problems;
  }
}
