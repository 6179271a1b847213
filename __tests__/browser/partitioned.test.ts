import { jest } from '@jest/globals';
import type { BrowserContext, Frame } from 'playwright-core';
import { ada, startBackendApp } from '../support/backend-app.ts';
import type { BackendApp } from '../support/backend-app.ts';
import { launchBrowser } from '../support/browser.ts';
import type { TestBrowser } from '../support/browser.ts';
import { sendText } from '../support/hosts.ts';
import { serve } from '../support/servers.ts';
import type { RunningServer } from '../support/servers.ts';

jest.setTimeout(30_000);

/** Two sites around the application; Chromium finds both at the same server. */
const [one, two] = ['http://one.example', 'http://two.example'];

let site: RunningServer;
let browser: TestBrowser;
let app: BackendApp;
let context: BrowserContext;
let appOrigin: string;

beforeAll(async () => {
  site = await serve((req, res) => {
    res.setHeader('content-type', 'text/html');
    res.end(`<iframe src="${new URL(req.url ?? '/', 'http://site').searchParams.get('app') ?? ''}"></iframe>`);
  });
  browser = await launchBrowser({
    'one.example': `127.0.0.1:${site.port}`,
    'two.example': `127.0.0.1:${site.port}`,
  });
});
afterAll(async () => {
  await browser.close();
  await site.close();
});
beforeEach(async () => {
  context = await browser.newContext();
});
afterEach(async () => {
  await context.close();
  await app.close();
});

async function start(partitioned: boolean): Promise<void> {
  app = await startBackendApp({
    options: { cookieOptions: { sameSite: 'none', ...(partitioned ? { partitioned } : {}) }, throttle: false },
    after(host) {
      host.get('/app', (_req, res) => sendText(res, 'the app'));
      host.get('/former', (_req, res) => {
        res.setHeader('Set-Cookie', `${app.cookieName}=former; Path=/; HttpOnly; Secure; SameSite=None`);
        sendText(res, 'as before the option');
      });
    },
  });
  // A trustworthy origin without https, which takes cookies with Secure.
  appOrigin = `http://localhost:${app.port}`;
}

/** The application in the frame of a site, or in a tab of its own. */
async function open(around?: string): Promise<Frame> {
  const page = await context.newPage();
  const url = `${appOrigin}/app`;
  await page.goto(around === undefined ? url : `${around}/?app=${encodeURIComponent(url)}`);
  const frame = page.frames().find((each) => each.url() === url);
  if (frame === undefined) throw new Error(`${around} shows no frame of the application`);
  await frame.waitForLoadState();
  return frame;
}

const post = (frame: Frame, path: string, body: object = {}): Promise<number> =>
  frame.evaluate(
    async ([url, text]) =>
      (
        await fetch(url!, {
          method: 'POST',
          headers: { accept: 'application/json', 'content-type': 'application/json' },
          body: text!,
        })
      ).status,
    [path, JSON.stringify(body)],
  );
const session = (frame: Frame): Promise<number> =>
  frame.evaluate(async () => (await fetch('/auth/session', { headers: { accept: 'application/json' } })).status);

it('a partitioned session belongs to the site around the frame, and signing out ends it there', async () => {
  await start(true);
  const [atOne, atTwo, alone] = [await open(one), await open(two), await open()];
  expect(await post(atOne, '/auth/login', ada)).toBe(200);
  expect([await session(atOne), await session(atTwo), await session(alone)]).toEqual([200, 401, 401]);
  expect(await post(atTwo, '/auth/login', ada)).toBe(200);
  const cookies = await context.cookies();
  expect(cookies.map(({ name, partitionKey }) => [name, partitionKey]).sort()).toEqual([
    [app.cookieName, one],
    [app.cookieName, two],
  ]);
  expect(await post(atOne, '/auth/logout')).toBe(200);
  expect([await session(atOne), await session(atTwo)]).toEqual([401, 200]);
  expect((await context.cookies()).map(({ partitionKey }) => partitionKey)).toEqual([two]);
});

it('a session from before the option is removed by the next sign-in and by a sign-out', async () => {
  await start(true);
  const alone = await open();
  const setFormer = () => alone.evaluate(async () => (await fetch('/former')).status);
  const held = async () =>
    (await context.cookies()).map(({ value, partitionKey }) => [value === 'former', partitionKey ?? 'none']);
  await setFormer();
  expect(await held()).toEqual([[true, 'none']]);
  expect(await post(alone, '/auth/login', ada)).toBe(200);
  expect(await held()).toEqual([[false, 'http://localhost']]);
  await setFormer();
  expect(await held()).toHaveLength(2);
  expect(await post(alone, '/auth/logout')).toBe(200);
  expect(await held()).toEqual([]);
});

it('without the option a frame has no session where the browser blocks third-party cookies', async () => {
  await start(false);
  const [atOne, alone] = [await open(one), await open()];
  for (const frame of [atOne, alone]) expect(await post(frame, '/auth/login', ada)).toBe(200);
  expect([await session(atOne), await session(alone)]).toEqual([401, 200]);
});
