import { fork } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { createHmac, randomBytes } from 'node:crypto';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { WorkOS } from '@workos-inc/node';
import { demoUsers, startWorkosStandIn } from '../../stand-ins/workos/index.ts';
import type { StandInUser, WorkosStandIn } from '../../stand-ins/workos/index.ts';
import { exportJWK, generateKeyPair, SignJWT } from 'jose';
import { io } from 'socket.io-client';
import { WebSocket } from 'ws';
import { codeBlocks, markdownFiles } from '../support/markdown.ts';
import type { CodeBlock } from '../support/markdown.ts';
import type { ExampleReport } from '../support/run-examples.ts';
import { startSupabaseStandIn } from '../../stand-ins/supabase/stand-in.ts';
import type { SupabaseStandIn } from '../../stand-ins/supabase/stand-in.ts';
import { withoutTypes } from '../support/recipe-code.ts';
import { serve } from '../support/servers.ts';
import { createVisitor } from '../support/visitor.ts';
import type { Answer, Visitor } from '../support/visitor.ts';

const directory = join(process.cwd(), 'reports', 'docs-runs');
const ada = { email: 'ada@example.com', password: 'correct horse battery' };
const { personal, oneOrganization } = demoUsers;
const cookiePassword = randomBytes(32).toString('base64');
const webhookSecret = randomBytes(32).toString('base64url');

type Google = Awaited<ReturnType<typeof startGoogle>>;

/** An issuer of id tokens, as Google's script has one. */
async function startGoogle() {
  const [kid, audience] = ['google-1', 'app.apps.googleusercontent.com'];
  const issuer = 'https://accounts.google.com';
  const { privateKey, publicKey } = await generateKeyPair('RS256');
  const jwks = { keys: [{ ...(await exportJWK(publicKey)), kid, alg: 'RS256' }] };
  return {
    issuer: { issuer, audience, jwks },
    idToken: (email: string, nonce: string) =>
      new SignJWT({ email, email_verified: true, nonce })
        .setProtectedHeader({ alg: 'RS256', kid })
        .setSubject(email)
        .setIssuer(issuer)
        .setAudience(audience)
        .setIssuedAt()
        .setExpirationTime('1h')
        .sign(privateKey),
  };
}

interface Example extends CodeBlock {
  readonly file: string;
  readonly name: string;
}

const allBlocks = markdownFiles().flatMap(codeBlocks);
const isCommonJs = ({ language, code }: CodeBlock): boolean => language === 'js' && code.includes('require(');
const blocks = allBlocks.filter((block) => block.language === 'ts' || isCommonJs(block));

/** Run by the suite `mcp`, beside which these packages are installed. */
const mcpSdk = [
  '@modelcontextprotocol/express',
  '@modelcontextprotocol/node',
  '@modelcontextprotocol/sdk/server/mcp.js',
  '@modelcontextprotocol/sdk/server/streamableHttp.js',
  '@modelcontextprotocol/server',
];

/** What an example imports that this machine may not have, or that only a test runner can do something with. */
const foreignImports = ({ code }: CodeBlock): string[] =>
  [...code.matchAll(/^(?:import|export) .*?from '([^']+)';$/gms)]
    .map(([, specifier = '']) => specifier)
    .filter(
      (specifier) =>
        !/^(?:node:.*|express|express-auth-adapters(?:\/\w+)*|@opentelemetry\/api|@supabase\/supabase-js|@workos-inc\/node|rate-limiter-flexible|socket\.io|ws|@trpc\/server.*|graphql(?:-http.*)?|next|express-session)$/.test(
          specifier,
        ),
    );

const documented: readonly Example[] = blocks
  .filter((block) => foreignImports(block).length === 0)
  .map((block, index) => ({
    ...block,
    file: join(directory, `${block.path.replaceAll(/[^a-z0-9]+/gi, '-')}-${index}.${isCommonJs(block) ? 'cjs' : 'ts'}`),
    name: `${block.path}:${block.line}`,
  }));

/** A common mistake: a parser in front consumes the raw body that a signature covers. */
const mistaken: readonly Example[] = documented
  .filter(({ code }) => code.includes('workos.webhooks'))
  .map((example) => ({
    ...example,
    path: `${example.path}, parsed`,
    code: example.code.replace('const app = express();', 'const app = express();\napp.use(express.json());'),
    file: example.file.replace(/\.ts$/, '-parsed.ts'),
    name: `${example.name}, behind a parser`,
  }));

const examples = [...documented, ...mistaken];

const hasApp = ({ code }: CodeBlock): boolean => /^const app = express\(\);$/m.test(code);
const served = examples.filter(hasApp);

/** Paths that the example says are guarded, as a visitor would ask for them, and whether the guard answers in JSON. */
function guardedPaths({ code }: CodeBlock): (readonly [path: string, isJson: boolean])[] {
  const [, routes = ''] = /protectedRoutes: (\[[^\]]*\]|'[^']*')/.exec(code) ?? [];
  const patterns = [...routes.matchAll(/'([^']+)'/g)].map(([, pattern = '']) => pattern.replace(/\/?\(\.\*\)$/, ''));
  const guards = [...code.matchAll(/app\.(?:use|get)\(\s*'([^']+)',\s*requireSession(\(\{[^}]*\})?/g)];
  return [
    ...patterns.map((path) => [path, false] as const),
    ...guards.map(([, path = '', options = '']) => [path, options.includes("respond: 'json'")] as const),
  ].map(([path, isJson]) => [path.replaceAll(':', ''), isJson]);
}

let workos: WorkosStandIn;
let supabase: SupabaseStandIn;
let google: Google;
let child: ChildProcess;
let complaints = '';
const reports = new Map<string, ExampleReport>();

beforeAll(async () => {
  workos = await startWorkosStandIn({
    clientId: 'client_test',
    apiKey: `sk_test_${randomBytes(12).toString('hex')}`,
    passwords: { [personal.email]: ada.password },
  });
  google = await startGoogle();
  supabase = await startSupabaseStandIn({
    autoconfirm: true,
    phoneProvider: true,
    oauthNames: true,
    idTokenIssuers: new Map([['google', google.issuer]]),
  });
  supabase.addUser(ada);
  supabase.addNote(ada.email, 'Remember the milk');
  rmSync(directory, { recursive: true, force: true });
  mkdirSync(join(directory, 'views'), { recursive: true });
  const [template] = allBlocks.filter(({ language }) => language === 'ejs');
  writeFileSync(join(directory, 'views', 'home.ejs'), template?.code ?? '');
  for (const example of examples) {
    const { file, code } = example;
    // An excerpt that ends before `listen` is served, too.
    writeFileSync(file, hasApp(example) && !code.includes('.listen(') ? `${code}\napp.listen(3000);\n` : code);
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
        B2B_COOKIE_PASSWORD: cookiePassword,
        B2B_API_HOSTNAME: workos.hostname,
        B2B_API_PORT: String(workos.port),
        B2B_API_HTTPS: 'false',
        BAAS_URL: supabase.url,
        BAAS_PUBLISHABLE_KEY: supabase.publishableKey,
        GOOGLE_CLIENT_ID: google.issuer.audience,
        WORKOS_WEBHOOK_SECRET: webhookSecret,
        WORKOS_ACTIONS_SECRET: webhookSecret,
        SUPABASE_WEBHOOK_SECRET: webhookSecret,
        SUPABASE_SECRET_KEY: supabase.secretKey,
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
  // Some examples close their server on SIGTERM and keep running.
  child.kill('SIGKILL');
  await Promise.all([workos.close(), supabase.close()]);
  rmSync(directory, { recursive: true, force: true });
});

function originOf(example: Example): string {
  return `http://127.0.0.1:${reports.get(example.file)?.port}`;
}

/** A POST with JSON from a network. */
function from(network: string, example: Example, path: string, body: object): Promise<Answer> {
  const headers = { accept: 'application/json', 'content-type': 'application/json', 'x-test-address': network };
  return createVisitor(originOf(example)).post(path, { headers, body: JSON.stringify(body) });
}

function exampleWith(path: string, text: string): Example {
  const [example, ...others] = served.filter(({ path: from, code }) => from === path && code.includes(text));
  if (example === undefined || others.length > 0) throw new Error(`${path}: not one example has ${text}`);
  return example;
}

async function signedInToWorkos(origin: string, user: StandInUser = personal, prefix = ''): Promise<Visitor> {
  workos.redirectUris.push(`${origin}${prefix}/callback`);
  workos.users.set(user.id, user);
  const visitor = createVisitor(origin);
  const start = await visitor.get(`${prefix}/login`);
  const callback = await workos.authorize(start.location, { user });
  expect((await visitor.get(callback.href)).status).toBe(303);
  return visitor;
}

async function signedInToSupabase(origin: string): Promise<Visitor> {
  const visitor = createVisitor(origin);
  expect((await visitor.postJson('/auth/login', ada)).status).toBe(200);
  return visitor;
}

describe('the examples of README and docs', () => {
  it('are all run except for those that require Redis, PostgreSQL or a test runner', () => {
    expect(served.length).toBeGreaterThan(10);
    // `__tests__/postgres/recipes.test.ts` runs these; Prisma's client is generated.
    const sql = ['@prisma/client', 'drizzle-orm', 'kysely', 'pg', 'postgres'];
    const packageOf = (name: string): string | undefined => /^(?:@[^/]+\/)?[^/]+/.exec(name)?.[0];
    const packages = blocks.flatMap(foreignImports).map(packageOf);
    const mcp = mcpSdk.map(packageOf);
    // `__tests__/frameworks` runs these.
    const frameworks = ['@nestjs/common', '@nestjs/core', '@react-router/express', 'next', 'react-router'];
    // The suite `functions` runs the one; the page says that the other is not run.
    const functions = ['serverless-http', '@vercel/functions'];
    const others = [...frameworks, ...functions, 'redis', 'supertest', 'vite', '@playwright/test'];
    expect(new Set(packages)).toEqual(new Set([...sql, ...mcp, ...others]));
  });

  it.each(examples.map((example) => [example.name, example] as const))('%s runs', (_name, example) => {
    const { error, port } = reports.get(example.file) ?? { error: 'not run' };
    expect({ error, isServed: port !== undefined }).toEqual({ error: undefined, isServed: hasApp(example) });
  });

  it.each(served.map((example) => [example.name, example] as const))('%s serves its start page', async (_, example) => {
    const { status } = await createVisitor(originOf(example)).get('/');
    expect([200, 307, 404]).toContain(status);
  });

  // What `onError` answers is the example's own form.
  const withOurErrors = served.filter(({ code }) => !code.includes('onError'));
  const guarded = withOurErrors.flatMap((example) =>
    guardedPaths(example).map(([path, isJson]) => [example.name, path, isJson, example] as const),
  );

  it.each(guarded)('%s guards %s', async (_name, path, isJson, example) => {
    const answer = await createVisitor(originOf(example)).get(path);
    const { status, location } = answer;
    if (isJson) {
      expect([status, answer.json]).toEqual([
        401,
        { error: expect.objectContaining({ status: 401 }), redirectTo: expect.anything() },
      ]);
      return;
    }
    expect({ status, returnTo: new URL(location).searchParams.get('returnTo') }).toEqual({
      status: 307,
      returnTo: path,
    });
  });
});

const posted = examplesWithPosts();

/** Routes of the examples' own that take a body, with a value for each parameter. */
function examplesWithPosts(): (readonly [name: string, path: string, example: Example])[] {
  return served
    .filter((example) => !mistaken.includes(example))
    .flatMap((example) =>
      [...example.code.matchAll(/\w+\.(?:post|put|patch)\(\s*'([^']+)'/g)].map(
        ([, path = '']) => [example.name, path.replaceAll(/:\w+/g, '1'), example] as const,
      ),
    );
}

it.each(posted)('%s answers %s without a body, and with an odd one, as a bad request', async (_, path, example) => {
  const visitor = createVisitor(originOf(example));
  const answers = [await visitor.post(path)];
  for (const body of [{}, [], null, 'text', { email: { a: 1 }, phone: [], code: 1, credential: {}, returnTo: 1 }])
    answers.push(await visitor.postJson(path, body));
  expect(answers.map(({ status }) => status >= 500)).toEqual(answers.map(() => false));
});

describe('a reader who follows the examples', () => {
  it.each([
    [
      'skills/express-auth-adapters/SKILL.md',
      'b2bAuth({',
      '/dashboard',
      `Signed in as ${personal.id}, no organization`,
    ],
    ['README.md', 'b2bAuth(', '/dashboard', `Hello ${personal.email} of no organization`],
    ['docs/quickstart-workos.md', 'b2bAuth(', '/dashboard', `Signed in as ${personal.id}, no organization`],
    ['docs/quickstart-workos.md', 'b2bAuth(', '/api/me', `"email":"${personal.email}"`],
    ['docs/moving/workos-sdk.md', "b2bAuth({ cookieName: 'wos-session' })", '/dashboard', `Hello ${personal.email}`],
    ['docs/moving/express-openid-connect.md', 'b2bAuth(', '/dashboard', `Hello ${personal.email}`],
    ['docs/moving/passport.md', 'users.set(', '/account', '"name":'],
    ['docs/recipes/nextjs.md', "from 'next'", '/dashboard', encodeURIComponent(personal.email)],
    ['docs/recipes/trpc-graphql.md', '@trpc/server', '/trpc/me', personal.email],
    ['docs/recipes/modules.md', 'require(', '/auth/session', personal.email],
  ])('%s, %s: signs in through WorkOS and sees %s', async (path, text, page, words) => {
    const visitor = await signedInToWorkos(originOf(exampleWith(path, text)));
    expect(await visitor.get(page)).toMatchObject({ status: 200, text: expect.stringContaining(words) });
  });

  it.each([
    ['docs/quickstart-supabase.md', 'backendAuth(', '/api/notes'],
    ['docs/tasks.md', 'getSupabaseClient', '/api/notes'],
    ['docs/moving/supabase-ssr.md', 'backendAuth(', '/account'],
    ['docs/backend.md', 'getSupabaseClient', '/notes'],
  ])('%s, %s: signs in at Supabase and sees their own notes at %s', async (path, text, page) => {
    const visitor = await signedInToSupabase(originOf(exampleWith(path, text)));
    expect(await visitor.get(page)).toMatchObject({ status: 200, text: expect.stringContaining('Remember the milk') });
  });

  it('docs/moving/passport.md: finds the row that has the provider’s own id, with OAuth at Supabase and through WorkOS', async () => {
    const path = 'docs/moving/passport.md';
    const origin = originOf(exampleWith(path, 'signInMethods: []'));
    const atSupabase = createVisitor(origin);
    const { location } = await atSupabase.get('/auth/login?provider=google');
    await atSupabase.get((await supabase.authorize(location, { approve: true, user: ada.email })).href);
    const atWorkos = await signedInToWorkos(originOf(exampleWith(path, 'getUserIdentities')));
    for (const visitor of [atSupabase, atWorkos])
      expect((await visitor.get('/me')).json).toMatchObject({ name: 'Ada Lovelace' });

    const newcomer = createVisitor(origin);
    const start = await newcomer.get('/auth/login?provider=google');
    const approved = await supabase.authorize(start.location, { approve: true, user: 'edsger@example.com' });
    await newcomer.get(approved.href);
    expect((await newcomer.get('/me')).json).toMatchObject({ name: 'Edsger' });
  });

  it('docs/tasks.md: an admin makes another one, whose next request is an admin’s', async () => {
    const origin = originOf(exampleWith('docs/tasks.md', 'updateUserById'));
    const [margaret, grace] = ['margaret@example.com', 'grace@example.com'].map((email) =>
      supabase.addUser({ email, password: ada.password }),
    );
    // What the page's SQL does.
    margaret!.appMetadata = { role: 'admin' };
    const [admin, other] = [createVisitor(origin), createVisitor(origin)];
    await admin.postJson('/auth/login', { email: margaret!.email, password: ada.password });
    await other.postJson('/auth/login', { email: grace!.email, password: ada.password });
    const path = `/admin/users/${grace!.id}`;
    expect((await other.post(path)).status).toBe(403);
    expect((await other.get('/admin')).status).toBe(403);
    expect((await admin.post(path, { headers: { 'sec-fetch-site': 'cross-site' } })).status).toBe(403);
    expect((await admin.post(path)).status).toBe(204);
    expect(await other.get('/admin')).toMatchObject({ status: 200, text: 'Only admins see this.' });
    expect((await admin.post('/admin/users/no-one')).status).toBe(502);
    supabase.removeUser(grace!);
  });

  it('docs/moving/passport.md: has a row that onSignIn wrote as the new user, once', async () => {
    supabase.addUser({ email: 'newcomer@example.com', password: ada.password });
    const origin = originOf(exampleWith('docs/moving/passport.md', 'getSupabaseClient'));
    for (const visitor of [createVisitor(origin), createVisitor(origin)]) {
      await visitor.postJson('/auth/login', { email: 'newcomer@example.com', password: ada.password });
      expect((await visitor.get('/notes')).json).toMatchObject([{ body: 'Welcome' }]);
    }
  });

  it('README.md: sees the page of its picture, signs in and is greeted', async () => {
    const origin = originOf(exampleWith('README.md', 'backendAuth('));
    const visitor = createVisitor(origin);
    const page = await visitor.get((await visitor.get('/account')).location);
    const [, alt = ''] = /<img [^>]*alt="([^"]*)"/.exec(readFileSync('README.md', 'utf8')) ?? [];
    const [heading = '', ...parts] = alt.split(/: |, /);
    expect(page.text.replaceAll(/<\/?bdi>/g, '')).toMatch(new RegExp(`<h1[^>]*>${heading}</h1>`));
    expect(parts.length).toBeGreaterThan(3);
    const text = page.text.replaceAll(/<head>[^]*<\/head>|<[^>]*>/g, ' ');
    expect(text).toMatch(new RegExp(parts.join('[^]*')));
    const greeted = await (await signedInToSupabase(origin)).get('/account');
    expect([greeted.status, greeted.text]).toEqual([200, `Hello ${ada.email}`]);
  });

  it('skills/express-auth-adapters/SKILL.md: signs in at Supabase and is greeted', async () => {
    const origin = originOf(exampleWith('skills/express-auth-adapters/SKILL.md', 'backendAuth({'));
    const visitor = await signedInToSupabase(origin);
    expect(await visitor.get('/account')).toMatchObject({ status: 200, text: `Hello ${ada.email}` });
  });

  it('docs/recipes/templates.md: sees a link to sign in, then their own address', async () => {
    const origin = originOf(exampleWith('docs/recipes/templates.md', "'view engine', 'ejs'"));
    const stranger = await createVisitor(origin).get('/');
    expect(stranger.text).toContain('<a href="/auth/login?returnTo=/account">');
    const visitor = await signedInToSupabase(origin);
    expect((await visitor.get('/account')).text).toContain(`Signed in as ${ada.email}`);
  });

  it('docs/moving/workos-sdk.md: stays signed in with the cookie of WorkOS’ SDK, which opens ours', async () => {
    const origin = originOf(exampleWith('docs/moving/workos-sdk.md', "b2bAuth({ cookieName: 'wos-session' })"));
    const { apiKey, clientId, hostname: apiHostname, port } = workos;
    const { userManagement } = new WorkOS({ apiKey, clientId, apiHostname, port, https: false });
    const session = { sealSession: true, cookiePassword };
    const { email } = personal;
    const theirs = await userManagement.authenticateWithPassword({ clientId, email, password: ada.password, session });
    const sessionData = theirs.sealedSession ?? '';
    const before = await userManagement.loadSealedSession({ sessionData, cookiePassword }).authenticate();

    const visitor = createVisitor(origin);
    visitor.cookies.set('wos-session', sessionData);
    expect(await visitor.get('/dashboard')).toMatchObject({ status: 200, text: `Hello ${email}` });
    const { sessionId } = (await visitor.getJson('/auth/session')).json;
    expect(before).toMatchObject({ authenticated: true, sessionId });

    const ours = (await signedInToWorkos(origin)).cookies.get('wos-session') ?? '';
    const opened = await userManagement.loadSealedSession({ sessionData: ours, cookiePassword }).authenticate();
    expect(opened).toMatchObject({ authenticated: true, user: { email } });
  });

  it('docs/moving/clerk.md: is let in by a permission of the organization', async () => {
    const origin = originOf(exampleWith('docs/moving/clerk.md', 'b2bAuth('));
    expect((await createVisitor(origin).getJson('/api/reports')).status).toBe(401);
    expect((await (await signedInToWorkos(origin)).getJson('/api/reports')).status).toBe(403);
    const member = await signedInToWorkos(origin, oneOrganization);
    const [{ id: organization }] = oneOrganization.organizations;
    expect((await member.getJson('/api/reports')).json).toEqual({ organization, email: oneOrganization.email });
  });

  it('docs/moving/auth-js.md: is let in by the address, as the callback signIn did', async () => {
    const origin = originOf(exampleWith('docs/moving/auth-js.md', 'backendAuth('));
    expect((await (await signedInToSupabase(origin)).get('/account')).text).toBe(`Hello ${ada.email}`);
    const stranger = { email: 'eve@elsewhere.example', password: 'a password of eve' };
    supabase.addUser(stranger);
    expect((await createVisitor(origin).postJson('/auth/login', stranger)).status).toBe(403);
  });

  it('docs/moving/workos-sdk.md: keeps routes below a path, and a session route that knows a row', async () => {
    const origin = originOf(exampleWith('docs/moving/workos-sdk.md', 'pathPrefix'));
    const stranger = createVisitor(origin);
    const answer = await stranger.getJson('/api/auth/session');
    expect([answer.status, answer.json]).toEqual([401, { authenticated: false }]);
    expect((await stranger.getJson('/api/courses')).status).toBe(401);
    expect((await stranger.getJson('/api/auth/login')).json).toEqual({
      redirectTo: expect.stringContaining('/authorize?'),
    });
    const visitor = await signedInToWorkos(origin, personal, '/api/auth');
    expect([...visitor.cookies.keys()]).toEqual(['wos-session']);
    expect((await visitor.getJson('/api/auth/session')).json).toEqual({
      authenticated: true,
      email: personal.email,
      canCreateCourses: false,
    });
    expect((await visitor.getJson('/api/courses')).json).toEqual({ mayCreate: false });
  });

  it('docs/moving.md: answers errors of an API in the form that its clients know, and of a page as a page', async () => {
    const visitor = createVisitor(originOf(exampleWith('docs/moving.md', 'onError')));
    const refused = await visitor.get('/api/me');
    expect([refused.status, refused.json]).toEqual([
      401,
      { success: false, errors: ['You’re not signed in. Sign in to continue.'] },
    ]);
    const page = await visitor.get('/callback?code=x&state=y');
    expect(page).toMatchObject({ status: 400, text: expect.stringContaining('<h1>My app</h1>') });
    const signedIn = await signedInToWorkos(originOf(exampleWith('docs/moving.md', 'onError')));
    expect((await signedIn.get('/api/me')).json).toEqual({ success: true, email: personal.email });
  });

  it('docs/moving/own-passwords.md: lists a user’s sessions from a table of the app’s, and ends one', async () => {
    const origin = originOf(exampleWith('docs/moving/own-passwords.md', 'hasRow'));
    const listed = async (visitor: Visitor): Promise<{ id: string; isCurrent: boolean }[]> =>
      (await visitor.getJson('/sessions')).json;
    const here = await signedInToSupabase(origin);
    const elsewhere = await signedInToSupabase(origin);
    const other = { email: 'sessions@example.com', password: 'a password of another' };
    supabase.addUser(other);
    const stranger = createVisitor(origin);
    expect((await stranger.postJson('/auth/login', other)).status).toBe(200);

    expect((await listed(here)).map(({ isCurrent }) => isCurrent)).toEqual([true, false]);
    const { id = '' } = (await listed(elsewhere)).find(({ isCurrent }) => isCurrent) ?? {};
    const end = (visitor: Visitor, from: string) =>
      visitor.ask(`/sessions/${id}`, { method: 'DELETE', headers: { origin: from, accept: 'application/json' } });
    expect((await end(stranger, origin)).status).toBe(404);
    expect((await end(here, 'https://sister.example')).status).toBe(403);
    expect((await end(here, origin)).status).toBe(204);
    expect((await elsewhere.getJson('/sessions')).status).toBe(401);
    expect(await listed(here)).toEqual([expect.objectContaining({ isCurrent: true })]);
    await here.postJson('/auth/logout');
    expect(await listed(stranger)).toHaveLength(1);
  });

  it('docs/moving/own-passwords.md: moves with the old password at the next sign-in, once', async () => {
    const origin = originOf(exampleWith('docs/moving/own-passwords.md', 'moveUser'));
    const isMoved = (): boolean => supabase.users().some(({ email }) => email === 'grace@example.com');
    const signIn = async (password: string, email = ' Grace@example.com'): Promise<[Visitor, number]> => {
      const visitor = createVisitor(origin);
      return [visitor, (await visitor.postJson('/auth/login', { email: email.trim(), password })).status];
    };
    expect((await signIn('a wrong password'))[1]).toBe(401);
    expect((await signIn('the old password', 'henry@example.com'))[1]).toBe(401);
    expect(isMoved()).toBe(false);

    const [visitor, status] = await signIn('the old password');
    expect([status, isMoved()]).toEqual([200, true]);
    expect((await visitor.get('/account')).text).toBe('Your account');
    const created = supabase.calls('admin');
    expect([(await signIn('the old password'))[1], supabase.calls('admin')]).toEqual([200, created]);
  });

  it('docs/moving/own-passwords.md: checks five old passwords of an address from a network, in any spelling, and its owner’s elsewhere', async () => {
    const example = exampleWith('docs/moving/own-passwords.md', 'moveUser');
    const signIn = (email: string, password: string, network: string): Promise<Answer> =>
      from(network, example, '/auth/login', { email, password });
    const before = supabase.calls('admin');
    for (const spelling of [
      'mary@example.com',
      'Mary@example.com',
      'MARY@example.com',
      'maRy@example.com ',
      'mary@EXAMPLE.com',
    ]) {
      await signIn(spelling, 'a guess', '192.0.2.1');
    }
    const right = 'another old password';
    const refused = await signIn('mary@example.com', right, '192.0.2.1');
    expect([refused.status, supabase.calls('admin')]).toEqual([401, before]);
    expect((await signIn('mary@example.com', right, '192.0.2.2')).status).toBe(200);
  });

  it('docs/recipes/web-and-mobile.md: reads and writes with the cookie, the phone with its token', async () => {
    const origin = originOf(exampleWith('docs/recipes/web-and-mobile.md', 'const notes'));
    const stranger = await createVisitor(origin).getJson('/api/notes');
    expect([stranger.status, stranger.json.error.code]).toEqual([401, 'unauthenticated']);
    const web = await signedInToSupabase(origin);
    const written = await web.postJson('/api/notes', { text: 'from the web' });
    expect(written.json).toEqual({ text: 'from the web', credential: 'cookie' });

    const { access_token: token } = await supabase.issueSession(ada.email);
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
    const body = JSON.stringify({ text: 'from the phone' });
    const phone = await createVisitor(origin).post('/api/notes', { headers, body });
    expect([phone.status, phone.json.credential]).toEqual([201, 'bearer']);
    expect((await web.getJson('/api/notes')).json).toEqual(['from the web', 'from the phone']);

    const foreign = { 'content-type': 'application/json', 'sec-fetch-site': 'cross-site' };
    expect((await web.post('/api/notes', { headers: foreign, body })).status).toBe(403);
    const stale = await createVisitor(origin).get('/api/notes', { headers: { authorization: 'Bearer a.b.c' } });
    expect([stale.status, stale.json.error.code]).toEqual([401, 'invalid_token']);
  });

  it('docs/recipes/web-and-mobile.md: has one row from the first request on, with a bearer token that no sign-in here began', async () => {
    supabase.addUser({ email: 'phone@example.com', password: ada.password });
    const { access_token: token } = await supabase.issueSession('phone@example.com');
    const visitor = createVisitor(originOf(exampleWith('docs/recipes/web-and-mobile.md', 'ensureUser')));
    const headers = { authorization: `Bearer ${token}` };
    const ask = async (): Promise<unknown> => (await visitor.get('/api/me', { headers })).json;
    const answers = await Promise.all([ask(), ask(), ask()]);
    for (const rows of [...answers, await ask()]) expect(rows).toMatchObject([{ email: 'phone@example.com' }]);
    expect((await visitor.get('/api/me')).status).toBe(401);
  });

  it('docs/recipes/workos-actions.md: is allowed or denied with a signature, and accept agrees', async () => {
    const origin = originOf(exampleWith('docs/recipes/workos-actions.md', 'constructAction'));
    const { actions } = new WorkOS({ apiKey: workos.apiKey, clientId: workos.clientId });
    const ask = async (email: string, secret = webhookSecret) => {
      const body = JSON.stringify({
        id: 'registration_action_1',
        object: 'user_registration_action_context',
        user_data: { object: 'user_data', email, name: null, first_name: 'A', last_name: 'B' },
        ip_address: '127.0.0.1',
      });
      const at = Date.now();
      const signature = createHmac('sha256', secret).update(`${at}.${body}`).digest('hex');
      const headers = { 'content-type': 'application/json', 'workos-signature': `t=${at}, v1=${signature}` };
      return createVisitor(origin).post('/workos/actions', { headers, body });
    };
    expect((await ask('ada@example.com', 'another secret')).status).toBe(400);
    const allowed = (await ask('ada@example.com')).json;
    expect(allowed).toMatchObject({ object: 'user_registration_action_response', payload: { verdict: 'Allow' } });
    const { payload, signature: v1 } = allowed;
    const sigHeader = `t=${payload.timestamp}, v1=${v1}`;
    expect(await actions.verifyHeader({ payload, sigHeader, secret: webhookSecret })).toBe(true);
    expect((await ask('eve@blocked.example')).json.payload).toMatchObject({ verdict: 'Deny' });

    const visitor = createVisitor(origin);
    workos.redirectUris.push(`${origin}/callback`);
    const start = await visitor.get('/login');
    const user = { ...personal, id: 'user_blocked', email: 'eve@blocked.example' };
    workos.users.set(user.id, user);
    const callback = await workos.authorize(start.location, { user });
    expect((await visitor.get(callback.href)).status).toBe(403);
  });

  it('docs/recipes/cli.md: the API knows the user of a session’s token, and takes no cookie', async () => {
    const origin = originOf(exampleWith('docs/recipes/cli.md', 'credentials'));
    const { accessToken } = await workos.issueSession({ user: personal });
    const headers = { authorization: `Bearer ${accessToken}` };
    expect((await createVisitor(origin).get('/api/whoami', { headers })).json).toEqual({ user: personal.id });
    expect((await (await signedInToWorkos(origin)).get('/api/whoami')).status).toBe(401);
  });

  it.each([
    [400, { error: 'invalid_client', error_description: 'Invalid client ID.' }, 'Invalid client ID.'],
    [404, { message: 'Not Found' }, 'Not Found'],
    [502, '<h1>Bad Gateway</h1>', 'WorkOS answered 502'],
  ])('docs/recipes/cli.md: the tool says why where WorkOS gives it no code (%d)', async (status, body, words) => {
    const server = await serve((_req, res) => {
      res.writeHead(status).end(typeof body === 'string' ? body : JSON.stringify(body));
    });
    const [tool] = documented.filter(
      ({ path, code }) => path === 'docs/recipes/cli.md' && code.includes('authorize/device'),
    );
    const file = join(directory, `tool-${status}.mjs`);
    writeFileSync(file, withoutTypes(tool?.code ?? '').replace('https://api.workos.com', server.origin));
    const { signIn } = (await import(pathToFileURL(file).href)) as { signIn: (clientId: string) => Promise<unknown> };
    await expect(signIn('client_test')).rejects.toThrow(words);
    await server.close();
  });

  it('docs/recipes/impersonation.md: sees who acts for them, who may not delete the account', async () => {
    const origin = originOf(exampleWith('docs/recipes/impersonation.md', 'impersonator'));
    const own = await signedInToWorkos(origin);
    expect((await own.get('/dashboard')).text).toBe('<h1>Dashboard</h1>');
    expect((await own.postJson('/account/delete', {})).status).toBe(200);

    const impersonator = { email: 'staff<b>@example.com', reason: 'A question' };
    const staff = await signedInToWorkos(origin, { ...personal, id: 'user_impersonated', impersonator });
    const { text } = await staff.get('/dashboard');
    expect(text).toContain(`staff&#60;b&#62;@example.com acts for ${personal.email}`);
    expect((await staff.postJson('/account/delete', {})).status).toBe(403);
    await staff.post('/logout', { headers: { origin } });
    expect((await staff.getJson('/auth/session')).status).toBe(401);
  });

  it('docs/recipes/devices.md: sees their devices, and ends another one’s session', async () => {
    const origin = originOf(exampleWith('docs/recipes/devices.md', 'listSessions'));
    const [here, there, stranger] = [
      await signedInToWorkos(origin),
      await signedInToWorkos(origin),
      await signedInToWorkos(origin, oneOrganization),
    ];
    const idOf = async (visitor: Visitor): Promise<string> => (await visitor.getJson('/auth/session')).json.sessionId;
    const other = await idOf(there);
    const { text } = await here.get('/account/devices');
    expect([text.match(/This device/g)?.length, text.includes(`/account/devices/${other}/end`)]).toEqual([1, true]);
    expect(text).not.toContain('<of 2026>');

    const end = async (visitor: Visitor, id: string, headers = {}) =>
      (await visitor.post(`/account/devices/${id}/end`, { headers })).status;
    expect(await end(stranger, other)).toBe(404);
    expect(await end(here, other, { 'sec-fetch-site': 'cross-site' })).toBe(403);
    expect((await there.getJson('/auth/session')).status).toBe(200);
    expect(await end(here, other, { origin })).toBe(303);
    expect((await there.getJson('/auth/session')).status).toBe(401);
    expect(workos.isSessionActive(other)).toBe(false);
    expect((await here.get('/account/devices')).text).not.toContain(other);
  });

  it('docs/recipes/nextjs.md: passes on no user that a client made up', async () => {
    const origin = originOf(exampleWith('docs/recipes/nextjs.md', "from 'next'"));
    const answer = await createVisitor(origin).get('/', { headers: { 'x-user': '%7B%22id%22%3A%221%22%7D' } });
    expect(answer).toMatchObject({ status: 200, text: 'no user' });
  });

  it('docs/recipes/trpc-graphql.md: gets a GraphQL answer, and signed-out clients an error in both APIs', async () => {
    const origin = originOf(exampleWith('docs/recipes/trpc-graphql.md', 'graphql-http'));
    const query = { query: '{ me }' };
    const stranger = await createVisitor(origin).postJson('/graphql', query);
    expect(stranger.text).toContain('"code":"UNAUTHENTICATED"');
    const visitor = await signedInToWorkos(origin);
    expect((await visitor.postJson('/graphql', query)).json).toEqual({ data: { me: personal.email } });
    const headers = { 'content-type': 'application/json', origin: 'https://sister.example' };
    const foreign = await visitor.post('/graphql', { headers, body: JSON.stringify(query) });
    expect([foreign.status, foreign.text]).toEqual([403, expect.stringContaining('cross_site_request')]);

    const trpc = createVisitor(originOf(exampleWith('docs/recipes/trpc-graphql.md', '@trpc/server')));
    expect((await trpc.getJson('/trpc/me')).status).toBe(401);
    expect((await trpc.getJson('/trpc/greeting')).text).toContain('Hello stranger');
  });

  it('docs/recipes/react-vite.md: returns to Vite’s port, although its proxy sends Express’ own', async () => {
    const visitor = createVisitor(originOf(exampleWith('docs/recipes/react-vite.md', 'appBaseUrl')));
    workos.redirectUris.push('http://localhost:5173/callback');
    const start = await visitor.get('/login?returnTo=/settings');
    const callback = await workos.authorize(start.location, { user: personal });
    expect(callback.origin).toBe('http://localhost:5173');
    expect((await visitor.get(callback.pathname + callback.search)).location).toMatch(/\/settings$/);
    expect((await visitor.getJson('/api/me')).json).toMatchObject({ email: personal.email });
  });

  it('docs/tenants.md: must sign in to the organization of the subdomain, and may enter that one only', async () => {
    const origin = originOf(exampleWith('docs/tenants.md', 'organizationOf'));
    const asked = await createVisitor(origin).get('/login?returnTo=/', {
      headers: { 'x-forwarded-host': 'acme.example.com' },
    });
    expect(new URL(asked.location).searchParams.get('organization_id')).toBe('org_01EXAMPLE');
    const member = await signedInToWorkos(origin);
    expect((await member.get('/')).status).toBe(403);
  });

  it('docs/own-pages.md: is redirected to the custom page, sees the error, and returns to returnTo', async () => {
    const visitor = createVisitor(originOf(exampleWith('docs/own-pages.md', "signIn: '/welcome'")));
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

  it('docs/pages.md: reads the sign-in page in German, Arabic or English', async () => {
    const visitor = createVisitor(originOf(exampleWith('docs/pages.md', '{ de, ar, en: {} }')));
    const pageIn = async (language: string): Promise<string> =>
      (await visitor.get('/auth/login', { headers: { 'accept-language': language } })).text;
    expect(await pageIn('de-AT,de;q=0.9,en;q=0.8')).toContain('<html lang="de" dir="ltr">');
    expect(await pageIn('ar-EG')).toContain('<html lang="ar" dir="rtl">');
    expect(await pageIn('en')).toContain('<title>Sign in to Nordwind</title>');
    expect(await pageIn('fr')).toContain('<html lang="de" dir="ltr">');
  });

  it('docs/recipes/google-one-tap.md: signs in with the id token of the own nonce, once', async () => {
    const origin = originOf(exampleWith('docs/recipes/google-one-tap.md', 'createNonce'));
    const visitor = createVisitor(origin);
    const hashedOf = async (who: Visitor) =>
      /data-nonce="([\da-f]{64})"/.exec((await who.get('/welcome')).text)?.[1] ?? '';
    const post = async (who: Visitor, credential: string) =>
      who.postJson('/auth/google', { credential, returnTo: '/inbox?a=b' });

    const credential = await google.idToken(ada.email, await hashedOf(visitor));
    const thief = createVisitor(origin);
    await hashedOf(thief);
    expect((await post(thief, credential)).status).toBe(422);
    expect((await post(createVisitor(origin), credential)).status).toBe(422);

    const unlucky = createVisitor(origin);
    const theirs = await google.idToken(ada.email, await hashedOf(unlucky));
    supabase.fail('all', 'refuse');
    expect((await post(unlucky, theirs)).status).toBe(503);
    supabase.heal();

    expect((await post(visitor, credential)).json).toEqual({ redirectTo: '/inbox?a=b' });
    expect((await visitor.getJson('/auth/session')).json.user.email).toBe(ada.email);
    expect((await post(visitor, credential)).status).toBe(422);
    expect((await visitor.getJson('/auth/session')).status).toBe(200);

    const headers = { 'content-type': 'application/json', 'sec-fetch-site': 'cross-site' };
    const body = JSON.stringify({ credential });
    expect((await visitor.post('/auth/google', { headers, body })).status).toBe(403);
    expect((await visitor.get('/one-tap.js')).text).toContain('async function signIn');
  });

  it.each([
    ['docs/own-sign-in.md', "'/mobile/session', async"],
    ['docs/recipes/apple-from-a-phone.md', "'/mobile/session', requireSameOrigin"],
  ])('%s: signs in with the tokens of the phone app', async (path, text) => {
    const visitor = createVisitor(originOf(exampleWith(path, text)));
    const { access_token, refresh_token } = await supabase.issueSession(ada.email);
    const done = await visitor.postJson('/mobile/session', { access_token, refresh_token, returnTo: '/account' });
    expect([done.status, done.json]).toEqual([200, { redirectTo: '/account' }]);
    expect((await visitor.getJson('/auth/session')).json.user.email).toBe(ada.email);
    const refused = await visitor.postJson('/mobile/session', { access_token: 'a.b.c', refresh_token: 'd' });
    expect([refused.status, (await visitor.getJson('/auth/session')).status]).toEqual([422, 200]);
  });

  it('docs/recipes/phone-codes.md: signs in with the code of a text message, and five guesses are enough', async () => {
    const visitor = createVisitor(originOf(exampleWith('docs/recipes/phone-codes.md', 'signInWithOtp')));
    const phone = '+15550001111';
    expect((await visitor.postJson('/phone/code', { phone })).json).toEqual({ sent: true });
    expect((await visitor.postJson('/phone/session', { phone, code: 'wrong' })).status).toBe(422);
    const { code } = supabase.texts.at(-1)!;
    supabase.fail('all', 'refuse');
    expect((await visitor.postJson('/phone/session', { phone, code })).status).toBe(503);
    supabase.heal();
    const done = await visitor.postJson('/phone/session', { phone, code, returnTo: '/account' });
    expect(done.json).toEqual({ redirectTo: '/account' });
    expect((await visitor.getJson('/auth/session')).json.user).toMatchObject({ phone: '15550001111', email: null });

    await visitor.postJson('/phone/code', { phone });
    for (let guess = 0; guess < 3; guess += 1) await visitor.postJson('/phone/session', { phone, code: 'wrong' });
    const late = { phone, code: supabase.texts.at(-1)!.code };
    expect((await visitor.postJson('/phone/session', late)).status).toBe(422);
  });

  it('docs/recipes/phone-codes.md: counts guesses by number and network: no spelling gets more, and no stranger closes a number', async () => {
    const example = exampleWith('docs/recipes/phone-codes.md', 'signInWithOtp');
    const guess = (phone: string, code: string, network: string): Promise<Answer> =>
      from(network, example, '/phone/session', { phone, code });
    await from('192.0.2.1', example, '/phone/code', { phone: '+1 555 000 2222' });
    const { code } = supabase.texts.at(-1)!;
    const before = supabase.calls('verify');
    for (const phone of [
      '+15550002222',
      '15550002222',
      '+1 555 000 2222',
      ' +1 5550002222',
      '+1-555-000-2222',
      '1 (555) 0002222',
    ]) {
      expect((await guess(phone, 'wrong', '192.0.2.1')).status).toBe(422);
    }
    expect(supabase.calls('verify')).toBe(before + 5);
    expect((await guess('+1 555 000-2222', code, '192.0.2.2')).json).toEqual({ redirectTo: '/' });
  });

  it('docs/recipes/phone-codes.md: allows thirty guesses for a number from all networks', async () => {
    const example = exampleWith('docs/recipes/phone-codes.md', 'signInWithOtp');
    const phone = '+15550003333';
    const before = supabase.calls('verify');
    for (let guess = 0; guess < 35; guess += 1) {
      await from(`198.51.100.${guess}`, example, '/phone/session', { phone, code: 'wrong' });
    }
    expect(supabase.calls('verify')).toBe(before + 30);
  });

  it('docs/recipes/phone-codes.md: sends five messages to a number from a network, and fifty from a network', async () => {
    const example = exampleWith('docs/recipes/phone-codes.md', 'signInWithOtp');
    const send = (phone: string, network: string): Promise<Answer> => from(network, example, '/phone/code', { phone });
    const sent = (): number => supabase.calls('otp');
    const before = sent();
    for (const phone of [
      '+1 5550004444',
      '+15550004444',
      '1 5550004444',
      '15550004444',
      '+1-555-0004444',
      '1.5550004444',
    ]) {
      await send(phone, '192.0.2.11');
    }
    expect(sent()).toBe(before + 5);
    for (let number = 0; number < 60; number += 1) await send(`+15550005${100 + number}`, '192.0.2.12');
    expect(sent()).toBe(before + 55);
  });

  it('docs/recipes/workos-headless.md: signs in by password and by code, in an own form', async () => {
    const visitor = createVisitor(originOf(exampleWith('docs/recipes/workos-headless.md', 'authenticateWithPassword')));
    const { email } = personal;
    expect((await visitor.postJson('/sign-in/password', { email, password: 'wrong' })).status).toBe(401);
    const body = { email, password: ada.password, returnTo: '/dashboard' };
    expect((await visitor.postJson('/sign-in/password', body)).json).toEqual({ redirectTo: '/dashboard' });
    const { sessionId, user } = (await visitor.getJson('/auth/session')).json;
    expect(user.email).toBe(email);

    expect((await visitor.postJson('/sign-in/code', { email })).json).toEqual({ sent: true });
    expect((await visitor.postJson('/sign-in/code', { email: 'stranger@example.com' })).json).toEqual({ sent: true });
    expect((await visitor.postJson('/sign-in/code/verify', { email, code: 'wrong' })).status).toBe(422);
    const code = workos.emailedCodes.get(email);
    expect((await visitor.postJson('/sign-in/code/verify', { email, code })).json).toEqual({ redirectTo: '/' });
    const next = (await visitor.getJson('/auth/session')).json;
    expect([next.user.email, next.sessionId === sessionId]).toEqual([email, false]);
    const { headers } = await visitor.post('/logout', { headers: { accept: 'text/html' } });
    expect(headers.location).toContain('/user_management/sessions/logout');
  });

  describe('docs/recipes/workos-headless.md', () => {
    const { email } = personal;
    const right = { email, password: ada.password, returnTo: '/inbox?a=b' };
    const ask = (path: string, body: object) =>
      createVisitor(originOf(exampleWith('docs/recipes/workos-headless.md', 'authenticateWithPassword'))).postJson(
        path,
        body,
      );
    const told = async (path: string, body: object) => {
      const { status, json } = await ask(path, body);
      return [status, json.error?.code, json.redirectTo];
    };
    afterEach(() => {
      workos.switches.authenticateError = null;
      workos.switches.outage = {};
    });

    it.each(['email_verification_required', 'mfa_challenge', 'mfa_enrollment', 'sso_required'] as const)(
      'leads to AuthKit’s page, with address and way back, where WorkOS answers %s',
      async (code) => {
        workos.switches.authenticateError = code;
        const hosted = `/login?${new URLSearchParams({ login_hint: email, returnTo: '/inbox?a=b' }).toString()}`;
        expect(await told('/sign-in/password', right)).toEqual([403, 'sign_in_incomplete', hosted]);
      },
    );

    it('leads to AuthKit’s page where the user has to choose an organization', async () => {
      const body = { code: 'organization_selection_required', message: '', pending_authentication_token: 'pat_1' };
      workos.switches.authenticateError = { status: 403, body };
      const answer = await ask('/sign-in/password', right);
      expect([answer.status, answer.json.error.code]).toEqual([403, 'sign_in_incomplete']);
      expect(answer.text).not.toContain('pat_1');
    });

    it.each([
      [{ status: 429, retryAfterSeconds: 7 }, 429, 'rate_limited', '7'],
      [{ status: 429 }, 429, 'rate_limited', '60'],
      [{ status: 503 }, 503, 'provider_unavailable', undefined],
      [{ status: 401 }, 503, 'provider_unavailable', undefined],
      ['html502', 503, 'provider_unavailable', undefined],
      ['refuse', 503, 'provider_unavailable', undefined],
    ] as const)('says that it is not the password where WorkOS answers %j', async (fault, status, code, retryAfter) => {
      workos.switches.outage = { all: fault };
      for (const [path, body] of [
        ['/sign-in/password', right],
        ['/sign-in/code', { email }],
        ['/sign-in/code/verify', { email, code: '123456' }],
      ] as const) {
        const answer = await ask(path, body);
        expect([path, answer.status, answer.json.error?.code]).toEqual([path, status, code]);
        expect(answer.headers['retry-after']).toBe(retryAfter);
      }
    });

    it('answers an empty, a half and a wrong form in JSON', async () => {
      expect(await told('/sign-in/password', { email, password: 'wrong' })).toEqual([
        401,
        'invalid_credentials',
        undefined,
      ]);
      expect(await told('/sign-in/code/verify', { email, code: 'wrong' })).toEqual([422, 'code_wrong', undefined]);
      for (const path of ['/sign-in/password', '/sign-in/code', '/sign-in/code/verify'])
        for (const body of [{}, { email: 1 }, { email: {} }]) expect((await ask(path, body)).status).toBeLessThan(500);
    });

    it('refuses what WorkOS refuses for good, and names no account', async () => {
      const body = { code: 'access_denied', message: `Denied for ${email}.` };
      workos.switches.authenticateError = { status: 403, body };
      const answer = await ask('/sign-in/password', right);
      expect([answer.status, answer.json.error.code]).toEqual([403, 'sign_in_refused']);
      expect(answer.text).not.toContain('Denied');
    });
  });

  it('docs/recipes/provider-tokens.md: keeps Google’s tokens for its user, encrypted', async () => {
    const visitor = createVisitor(originOf(exampleWith('docs/recipes/provider-tokens.md', 'createCipheriv')));
    expect((await visitor.getJson('/calendar')).status).toBe(401);
    await visitor.postJson('/auth/login', ada);
    const consent = await visitor.get('/calendar');
    const start = await visitor.get(consent.location);
    const { searchParams } = new URL(start.location);
    expect(['access_type', 'prompt'].map((name) => searchParams.get(name))).toEqual(['offline', 'consent']);
    const callback = await supabase.authorize(start.location, { approve: true, user: ada.email });
    const done = await visitor.get(callback.pathname + callback.search);
    expect(done.location).toMatch(/\/calendar$/);
    expect((await visitor.getJson('/calendar')).json).toEqual({ hasAccess: true, isRenewable: true });
  });

  describe('docs/ending-sessions.md', () => {
    const sign = (body: string): Record<string, string> => {
      const at = Date.now();
      const signature = createHmac('sha256', webhookSecret).update(`${at}.${body}`).digest('hex');
      return { 'content-type': 'application/json', 'workos-signature': `t=${at}, v1=${signature}` };
    };
    const send = (origin: string, event: string, data: object, headers?: Record<string, string>) => {
      const body = JSON.stringify({ id: 'event_1', event, data, created_at: new Date().toISOString() });
      return createVisitor(origin).post('/webhooks/workos', { headers: headers ?? sign(body), body });
    };

    it('WorkOS’ webhook ends a revoked session and all of a deleted user’s, and refuses a forged event', async () => {
      const origin = originOf(exampleWith('docs/ending-sessions.md', 'workos.webhooks'));
      const [one, two] = [await signedInToWorkos(origin), await signedInToWorkos(origin)];
      const { sessionId, user } = (await one.getJson('/auth/session')).json as {
        sessionId: string;
        user: { id: string };
      };

      expect((await send(origin, 'user.deleted', { id: user.id }, { 'workos-signature': 't=1, v1=00' })).status).toBe(
        400,
      );
      expect((await one.getJson('/auth/session')).status).toBe(200);
      for (let delivery = 0; delivery < 2; delivery += 1) {
        expect((await send(origin, 'session.revoked', { id: sessionId, user_id: user.id })).status).toBe(200);
      }
      expect((await one.getJson('/auth/session')).status).toBe(401);
      expect((await two.getJson('/auth/session')).status).toBe(200);
      expect((await send(origin, 'user.deleted', { id: user.id })).status).toBe(200);
      expect((await two.getJson('/auth/session')).status).toBe(401);
      expect((await (await signedInToWorkos(origin)).getJson('/auth/session')).status).toBe(200);
    });

    it('WorkOS’ webhook reports that the body was parsed before it', async () => {
      const origin = originOf(exampleWith('docs/ending-sessions.md, parsed', 'workos.webhooks'));
      const answer = await send(origin, 'user.deleted', { id: 'user_1' });
      expect([answer.status, answer.text.includes('before express.json()')]).toEqual([500, true]);
    });

    it('WorkOS’ webhook refreshes a session whose membership has changed', async () => {
      const origin = originOf(exampleWith('docs/ending-sessions.md', 'workos.webhooks'));
      const visitor = await signedInToWorkos(origin);
      const { user } = (await visitor.getJson('/auth/session')).json as { user: { id: string } };
      const before = visitor.cookieHeader();
      const membership = {
        id: 'om_1',
        user_id: user.id,
        organization_id: 'org_1',
        status: 'active',
        role: { slug: 'admin' },
      };
      expect((await send(origin, 'organization_membership.updated', membership)).status).toBe(200);
      expect((await visitor.getJson('/auth/session')).status).toBe(200);
      expect(visitor.cookieHeader()).not.toBe(before);
    });

    it.each([
      ['dsync.user.deleted', { state: 'active' }, 401],
      ['dsync.user.updated', { state: 'inactive' }, 401],
      ['dsync.user.updated', { state: 'active' }, 200],
      ['dsync.user.deleted', { organization_id: 'org_other' }, 200],
      ['dsync.user.deleted', { email: 'someone.else@example.com' }, 200],
    ])('WorkOS’ webhook, %s with %j: the session of the member is a %d afterwards', async (event, fields, status) => {
      const origin = originOf(exampleWith('docs/ending-sessions.md', 'workos.webhooks'));
      const visitor = await signedInToWorkos(origin, oneOrganization);
      const [{ id: organization }] = oneOrganization.organizations;
      const email = oneOrganization.email.toUpperCase();
      const data = { id: 'directory_user_1', organization_id: organization, email, ...fields };
      expect((await send(origin, event, data)).status).toBe(200);
      expect((await visitor.getJson('/auth/session')).status).toBe(status);
    });

    it.each([
      ['organization.deleted', () => ({ id: oneOrganization.organizations[0].id, domains: [] }), true],
      ['organization.deleted', () => ({ id: 'org_other', domains: [] }), false],
      ['role.updated', () => ({ slug: 'admin', permissions: [] }), true],
    ])(
      'WorkOS’ webhook, %s: the session of a member is refreshed where it is concerned',
      async (event, data, isConcerned) => {
        const origin = originOf(exampleWith('docs/ending-sessions.md', 'workos.webhooks'));
        const visitor = await signedInToWorkos(origin, oneOrganization);
        // An earlier event for this user may concern the new session, too.
        await visitor.getJson('/auth/session');
        const before = visitor.cookieHeader();
        expect((await send(origin, event, data())).status).toBe(200);
        expect((await visitor.getJson('/auth/session')).status).toBe(200);
        expect(visitor.cookieHeader() !== before).toBe(isConcerned);
      },
    );

    it('Supabase’s webhook ends the sessions of a removed member, and requires the secret', async () => {
      const origin = originOf(exampleWith('docs/ending-sessions.md', '/webhooks/supabase'));
      const visitor = await signedInToSupabase(origin);
      const { user } = (await visitor.getJson('/auth/session')).json as { user: { id: string } };
      const ask = (secret: string) =>
        createVisitor(origin).post('/webhooks/supabase', {
          headers: { 'content-type': 'application/json', 'x-webhook-secret': secret },
          body: JSON.stringify({
            type: 'DELETE',
            table: 'members',
            schema: 'public',
            record: null,
            old_record: { user_id: user.id },
          }),
        });
      expect((await ask('guessed')).status).toBe(401);
      expect((await visitor.getJson('/auth/session')).status).toBe(200);
      expect((await ask(webhookSecret)).status).toBe(200);
      expect((await visitor.getJson('/auth/session')).status).toBe(401);
      expect((await (await signedInToSupabase(origin)).getJson('/auth/session')).status).toBe(200);
    });
  });

  it('docs/websockets.md: is greeted over ws, and disconnected at sign-out', async () => {
    const origin = originOf(exampleWith('docs/websockets.md', 'WebSocketServer'));
    const visitor = await signedInToWorkos(origin);
    const ws = new WebSocket(origin.replace('http', 'ws'), { headers: { cookie: visitor.cookieHeader(), origin } });
    const greeting = await new Promise((resolve, reject) => {
      ws.on('message', (data) => resolve((data as Buffer).toString()));
      ws.on('error', reject);
    });
    expect(greeting).toBe(`Hello ${personal.id}`);
    const closed = new Promise((resolve) => ws.on('close', resolve));
    await visitor.post('/logout', { headers: { origin } });
    expect(await closed).toBe(4401);
  });

  it.each([
    ['io.engine.use(auth)', 'polling'],
    ['io.engine.use(auth)', 'websocket'],
    ['io.use(async', 'websocket'],
  ])('docs/websockets.md, %s: is greeted by Socket.IO over %s, signed-out clients are not', async (text, transport) => {
    const origin = originOf(exampleWith('docs/websockets.md', text));
    const visitor = await signedInToWorkos(origin);
    const open = (cookie: string) =>
      io(origin, { transports: [transport], reconnection: false, extraHeaders: { cookie, origin } });
    const known = open(visitor.cookieHeader());
    expect(await new Promise((resolve) => known.on('greeting', resolve))).toBe(`Hello ${personal.id}`);
    known.disconnect();
    const stranger = open('');
    const refusal = await new Promise((resolve) => {
      stranger.on('greeting', resolve);
      stranger.on('connect_error', () => resolve('refused'));
    });
    expect(refusal).toBe('refused');
    stranger.disconnect();
  });
});
