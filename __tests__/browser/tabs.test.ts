import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { jest } from '@jest/globals';
import type { BrowserContext, Page } from 'playwright-core';
import { ada, startBackendApp } from '../support/backend-app.ts';
import type { BackendApp } from '../support/backend-app.ts';
import { launchBrowser } from '../support/browser.ts';
import type { TestBrowser } from '../support/browser.ts';

jest.setTimeout(60_000);

/** A page of the application, in two forms: one shows who is signed in, one begins anew. */
const html = (listener: string): string => `<!doctype html>
<html lang="en">
  <title>…</title>
  <form method="post" action="/auth/logout"><button>Sign out</button></form>
  <script type="module">
    import { createBackendClient } from '/client.js';
    const auth = createBackendClient();
    globalThis.auth = auth;
    const show = ({ data }) => (document.title = data?.user.email ?? 'Signed out');
    show(await auth.session());
    auth.subscribe(${listener});
  </script>
</html>`;

let app: BackendApp;
let browser: TestBrowser;
let context: BrowserContext;
let loads: number;

async function bundledClient(): Promise<string> {
  const folder = mkdtempSync(join(process.cwd(), 'reports', 'tabs-'));
  try {
    const file = join(folder, 'client.js');
    const args = ['lib/client/index.ts', '--platform', 'browser', '--format', 'esm', '--file', file];
    await promisify(execFile)('node_modules/.bin/rolldown', args);
    return readFileSync(file, 'utf8');
  } finally {
    rmSync(folder, { recursive: true });
  }
}

beforeAll(async () => {
  const script = await bundledClient();
  app = await startBackendApp({
    before: (host) => {
      host.get('/client.js', (_req, res) => void res.setHeader('content-type', 'text/javascript').end(script));
      host.get('/page', (_req, res) => void res.setHeader('content-type', 'text/html').end(html('show')));
      host.get('/reloading', (_req, res) => {
        loads += 1;
        res.setHeader('content-type', 'text/html').end(html('() => location.reload()'));
      });
    },
  });
  browser = await launchBrowser();
});
afterAll(async () => {
  await browser.close();
  await app.close();
});
beforeEach(async () => {
  loads = 0;
  context = await browser.newContext({ baseURL: app.origin });
});
afterEach(() => context.close());

async function open(path: string): Promise<Page> {
  const page = await context.newPage();
  await page.goto(path);
  await expectTitle('Signed out', page);
  return page;
}

async function expectTitle(title: string, ...pages: Page[]): Promise<void> {
  for (const page of pages) await page.waitForFunction(`document.title === ${JSON.stringify(title)}`);
}

async function signIn(page: Page, returnTo: string): Promise<void> {
  await page.goto(`/auth/login?returnTo=${returnTo}`);
  await page.getByLabel('Email').fill(ada.email);
  await page.getByLabel('Password').fill(ada.password);
  await page.locator('form button:not(.quiet, .reveal)').click();
  await page.waitForURL(`**${returnTo}`);
}

it('a sign-in and a sign-out on the built-in pages reach the other tab', async () => {
  const [here, other] = [await open('/page'), await open('/page')];
  await signIn(here, '/page');
  await expectTitle(ada.email, here, other);
  await other.getByRole('button', { name: 'Sign out' }).click();
  await other.waitForURL('**/');
  await other.goto('/page');
  await expectTitle('Signed out', here, other);
});

it('a call of the client reaches the other tab, even where the page is left at once', async () => {
  const [here, other] = [await open('/page'), await open('/page')];
  const call = `auth.login({ body: ${JSON.stringify({ ...ada, returnTo: '/page' })} })`;
  await here.evaluate(`void ${call}.then(({ data }) => location.assign(data.redirectTo))`);
  await expectTitle(ada.email, here, other);
  await here.evaluate("void auth.logout().then(() => location.assign('about:blank'))");
  await expectTitle('Signed out', other);
});

it('tabs that reload when they are told do so once for each change', async () => {
  const [here, other] = [await open('/reloading'), await open('/reloading')];
  await signIn(here, '/reloading');
  await expectTitle(ada.email, here, other);
  // Both tabs at first, the one that signed in on its return, and the other one.
  expect(loads).toBe(4);
  await here.evaluate("void auth.logout().then(() => location.assign('/page'))");
  await expectTitle('Signed out', here, other);
  expect(loads).toBe(5);
});
