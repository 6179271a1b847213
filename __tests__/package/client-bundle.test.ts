import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { gzipSync } from 'node:zlib';
import type { BrowserContext } from 'playwright-core';
import { demoUsers, startB2bApp } from '../support/b2b-app.ts';
import type { B2bApp } from '../support/b2b-app.ts';
import { ada, startBackendApp } from '../support/backend-app.ts';
import type { BackendApp } from '../support/backend-app.ts';
import { launchBrowser } from '../support/browser.ts';
import type { TestBrowser } from '../support/browser.ts';

const run = promisify(execFile);

/** What a bundler makes of an application's entry, minified. */
async function bundle(source: string): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'bundle-'));
  try {
    const input = join(directory, 'entry.js');
    await writeFile(
      input,
      source.replaceAll('express-auth-adapters/client', join(process.cwd(), 'dist/client/index.js')),
    );
    const out = join(directory, 'out.js');
    const options = ['--platform', 'browser', '--format', 'iife', '--transform.target', 'es2020', '--minify'];
    await run('node_modules/.bin/rolldown', [input, ...options, '--file', out]);
    return await readFile(out, 'utf8');
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

const application = `
  import { createB2bClient, createBackendClient } from 'express-auth-adapters/client';
  window.b2b = createB2bClient();
  window.backend = createBackendClient();
`;

it('both clients take as little of a page as docs/client.md says', async () => {
  const [, limit = '', how] =
    /under (\d+) KB for both clients, ([\w ]+)\./.exec(await readFile('docs/client.md', 'utf8')) ?? [];
  expect([limit, how]).toEqual(['2', 'minified and gzipped']);
  expect(gzipSync(await bundle(application)).byteLength).toBeLessThan(Number(limit) * 1024);
});

describe('in a real browser, from a bundled page', () => {
  let browser: TestBrowser;
  let context: BrowserContext;
  let b2b: B2bApp;
  let backend: BackendApp;
  let script: string;

  beforeAll(async () => {
    script = await bundle(application);
    browser = await launchBrowser();
    const page = (app: { get: (path: string, handler: (req: any, res: any) => void) => void }): void => {
      app.get('/page', (_req, res) =>
        res.type('html').send('<!doctype html><title>page</title><script src="/bundle.js"></script>'),
      );
      app.get('/bundle.js', (_req, res) => res.type('js').send(script));
    };
    b2b = await startB2bApp({ before: page });
    backend = await startBackendApp({ before: page });
  }, 60_000);
  beforeEach(async () => {
    context = await browser.newContext();
  });
  afterEach(() => context.close());
  afterAll(async () => {
    await browser.close();
    await b2b.close();
    await backend.close();
  });

  const call = async (origin: string, expression: string): Promise<any> => {
    const page = context.pages()[0] ?? (await context.newPage());
    if (!page.url().startsWith(origin)) await page.goto(`${origin}/page`);
    return page.evaluate(expression);
  };

  it('the B2B client starts a sign-in, reads the session and signs out', async () => {
    expect(await call(b2b.origin, 'b2b.session()')).toMatchObject({
      data: null,
      error: { status: 401, code: 'unauthenticated' },
    });
    const { data } = await call(b2b.origin, "b2b.login({ query: { returnTo: '/page?done' } })");
    const callback = await b2b.workos.authorize(data.redirectTo, { user: demoUsers.personal });
    await context.pages()[0]!.goto(callback.href);
    expect(context.pages()[0]!.url()).toBe(`${b2b.origin}/page?done`);
    expect((await call(b2b.origin, 'b2b.session()')).data.user.email).toBe('ada@example.com');
    expect((await call(b2b.origin, 'b2b.logout()')).data.redirectTo).toContain('/user_management/sessions/logout');
    expect((await call(b2b.origin, 'b2b.session()')).error.code).toBe('unauthenticated');
  });

  it('the backend client signs in, starts OAuth and signs out, and a wrong password is an error, not an exception', async () => {
    const body = (password: string) => JSON.stringify({ body: { email: ada.email, password, returnTo: '/account' } });
    expect((await call(backend.origin, `backend.login(${body('wrong')})`)).error).toMatchObject({
      status: 401,
      code: 'invalid_credentials',
    });
    expect(await call(backend.origin, `backend.login(${body(ada.password)})`)).toEqual({
      data: { redirectTo: '/account' },
      error: null,
    });
    expect((await call(backend.origin, 'backend.session()')).data.user.email).toBe(ada.email);
    expect((await call(backend.origin, 'backend.logout()')).error).toBeNull();
    const oauth = await call(backend.origin, "backend.oauth({ query: { provider: 'github', returnTo: '/account' } })");
    expect(oauth.data.redirectTo).toContain('/auth/v1/authorize?provider=github');
  });
});
