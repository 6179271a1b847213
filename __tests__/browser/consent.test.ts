import { jest } from '@jest/globals';
import type { BrowserContext, Page } from 'playwright-core';
import { ada } from '../support/backend-app.ts';
import type { BackendApp } from '../support/backend-app.ts';
import { launchBrowser } from '../support/browser.ts';
import type { TestBrowser } from '../support/browser.ts';
import { consentUrl, startConsentApp } from '../support/consent.ts';
import { serve } from '../support/servers.ts';
import type { RunningServer } from '../support/servers.ts';

jest.setTimeout(60_000);

let browser: TestBrowser;
let app: BackendApp;
/** The other application's own server, on this device. */
let client: RunningServer;
let context: BrowserContext;
let page: Page;
/** What the browser complains of, such as a blocked redirect. */
let complaints: string[];
/** The headers of each request to the application, by its path. */
const seen: { readonly url: string; readonly headers: Readonly<Record<string, unknown>> }[] = [];

beforeAll(async () => {
  [browser, app, client] = await Promise.all([
    launchBrowser(),
    startConsentApp({
      options: { throttle: false, pages: { title: 'Northwind' } },
      before: (host) =>
        host.use('/', (req, _res, next) => {
          seen.push({ url: req.url ?? '', headers: req.headers });
          next();
        }),
    }),
    serve((req, res) => {
      res.setHeader('content-type', 'text/html');
      const to = new URL(req.url ?? '/', 'http://x').searchParams.get('to');
      if (to === null) res.end(`<h1>Client</h1><p id="referrer">${req.headers.referer ?? 'none'}</p>`);
      else res.end(`<a href="${to}">go</a><iframe src="${to}"></iframe>`);
    }),
  ]);
});
afterAll(async () => {
  await browser.close();
  await client.close();
  await app.close();
});
beforeEach(async () => {
  complaints = [];
  seen.length = 0;
  context = await browser.newContext({ baseURL: app.origin });
  context.on('console', (message) => {
    if (message.type() === 'error') complaints.push(message.text());
  });
  page = await context.newPage();
});
afterEach(() => context.close());

const callback = (): string => `${client.origin}/callback`;

function ask(redirectUri = callback(), name = 'Cursor'): string {
  return app.supabase.askConsent(app.supabase.addClient({ name, redirectUris: [redirectUri] }), { state: 's' });
}

async function fillSignIn(at = page): Promise<void> {
  await at.getByLabel('Email').fill(ada.email);
  await at.getByLabel('Password').fill(ada.password);
  await at.getByRole('button', { name: 'Sign in' }).click();
}

const policyComplaints = (): string[] => complaints.filter((text) => /Content Security Policy|form-action/i.test(text));

it.each(['Allow', 'Deny'])(
  'a person signs in on the way and chooses %s: the browser follows to the app',
  async (choice) => {
    await page.goto(consentUrl(ask()));
    await fillSignIn();
    await page.getByRole('heading', { name: 'Connect “Cursor”?' }).waitFor();
    await page.getByRole('button', { name: choice }).click();
    await page.waitForURL((url) => url.origin === client.origin);
    const { searchParams } = new URL(page.url());
    expect([searchParams.get('state'), searchParams.has(choice === 'Allow' ? 'code' : 'error')]).toEqual(['s', true]);
    expect(await page.locator('#referrer').innerText()).toBe('none');
    expect(policyComplaints()).toEqual([]);
  },
);

it('a grant that exists goes on after the sign-in form, whose page would block the redirect', async () => {
  const known = app.supabase.addClient({ name: 'Known', redirectUris: [callback()] });
  await page.goto(consentUrl(app.supabase.askConsent(known)));
  await fillSignIn();
  await page.getByRole('button', { name: 'Allow' }).click();
  await page.waitForURL((url) => url.origin === client.origin);
  await context.clearCookies();
  await page.goto(consentUrl(app.supabase.askConsent(known)));
  await fillSignIn();
  await page.waitForURL((url) => url.origin === client.origin && url.searchParams.has('code'));
  expect(await page.locator('#referrer').innerText()).toBe('none');
  expect(policyComplaints()).toEqual([]);
});

it('an app beside the browser opens, and the page leads back to it and asks no more', async () => {
  await page.goto(consentUrl(ask('cursor://anysphere/callback')));
  await fillSignIn();
  const button = page.getByRole('button', { name: 'Allow' });
  await button.waitFor();
  const [answer] = await Promise.all([
    page.waitForResponse(
      (response) => response.request().method() === 'POST' && response.url().endsWith('/oauth/consent'),
    ),
    button.click({ noWaitAfter: true }),
  ]);
  expect([
    answer.status(),
    answer.headers()['refresh']?.startsWith('0; url=cursor://anysphere/callback?code='),
  ]).toEqual([200, true]);
  // The app opens beside the browser, where the page stays: it must not ask again.
  await page.getByRole('heading', { name: 'Go back to “Cursor”' }).waitFor();
  expect(await page.getByRole('button').count()).toBe(0);
  const link = page.getByRole('link', { name: 'Continue' });
  expect(await link.getAttribute('href')).toMatch(/^cursor:\/\/anysphere\/callback\?code=/);
  await link.click({ noWaitAfter: true });
  await page.getByRole('heading', { name: 'Go back to “Cursor”' }).waitFor();
  expect(policyComplaints()).toEqual([]);
});

it('a popup keeps its opener through sign-in and consent: the app that opened it does not take it for closed', async () => {
  await page.goto(client.origin);
  const url = app.origin + consentUrl(ask());
  const [popup] = await Promise.all([
    context.waitForEvent('page'),
    page.evaluate(`window.popup = window.open(${JSON.stringify(url)}, 'oauth', 'width=500,height=700'); undefined`),
  ]);
  await fillSignIn(popup);
  await popup.getByRole('button', { name: 'Allow' }).waitFor();
  expect(await page.evaluate('window.popup.closed')).toBe(false);
  await popup.getByRole('button', { name: 'Allow' }).click();
  await popup.waitForURL(`${callback()}?**`);
  await popup.evaluate(`window.opener.postMessage(location.search, '*')`);
  expect([await popup.evaluate('window.opener !== null'), await page.evaluate('window.popup.closed')]).toEqual([
    true,
    false,
  ]);
});

it('the page cannot be framed, and a frame asks the provider nothing', async () => {
  await page.goto(`/auth/login`);
  await fillSignIn();
  const id = ask();
  const before = app.supabase.calls('authorization');
  await page.goto(`${client.origin}/?to=${encodeURIComponent(app.origin + consentUrl(id))}`, {
    waitUntil: 'networkidle',
  });
  expect(app.supabase.calls('authorization')).toBe(before);
  const framed = seen.find(({ url }) => url.includes(id));
  expect(framed?.headers['sec-fetch-dest']).toBe('iframe');
  await page.getByRole('link', { name: 'go' }).click();
  await page.getByRole('heading', { name: 'Connect “Cursor”?' }).waitFor();
  expect(app.supabase.calls('authorization')).toBe(before + 1);
});

it('reload and the back button show the same page, and the request lives on', async () => {
  const id = ask();
  await page.goto(consentUrl(id));
  await fillSignIn();
  const heading = page.getByRole('heading', { name: 'Connect “Cursor”?' });
  await heading.waitFor();
  await page.reload();
  await heading.waitFor();
  await page.getByRole('button', { name: 'Allow' }).click();
  await page.waitForURL((url) => url.origin === client.origin);
  const first = page.url();
  await page.goBack();
  await heading.waitFor();
  await page.getByRole('button', { name: 'Allow' }).click();
  await page.waitForURL((url) => url.origin === client.origin);
  expect(page.url()).toBe(first);
});

it('the buttons weigh the same, also by keyboard', async () => {
  await page.goto(consentUrl(ask()));
  await fillSignIn();
  const [allow, deny] = [page.getByRole('button', { name: 'Allow' }), page.getByRole('button', { name: 'Deny' })];
  const [one, other] = [await allow.boundingBox(), await deny.boundingBox()];
  expect([one?.width, one?.height]).toEqual([other?.width, other?.height]);
  const looks = (button: typeof allow) =>
    button.evaluate((element: unknown) => {
      const style = (
        globalThis as unknown as { getComputedStyle(of: unknown): Record<string, string> }
      ).getComputedStyle(element);
      return [style['color'], style['backgroundColor'], style['fontWeight'], style['borderColor']];
    });
  expect(await looks(allow)).toEqual(await looks(deny));
  await deny.focus();
  await page.keyboard.press('Enter');
  await page.waitForURL((url) => url.searchParams.get('error') === 'access_denied');
});

it('its form works over plain http on a network, where browsers send no Fetch Metadata', async () => {
  const { chromium } = await import('playwright-core');
  const executablePath = process.env['CHROMIUM_PATH'] ?? '/usr/bin/chromium';
  const args = ['--no-sandbox', '--disable-gpu', '--host-resolver-rules=MAP app.test 127.0.0.1'];
  const plain = await chromium.launch({ executablePath, args });
  try {
    const own = await plain.newPage({ baseURL: `http://app.test:${app.port}` });
    own.setDefaultTimeout(5_000);
    page = own;
    await own.goto(consentUrl(ask()));
    await fillSignIn();
    await own.getByRole('button', { name: 'Allow' }).click();
    await own.waitForURL((url) => url.origin === client.origin);
    const posted = seen.filter(({ url }) => url === '/oauth/consent').at(-1);
    expect([posted?.headers['sec-fetch-site'], posted?.headers['origin']]).toEqual([
      undefined,
      `http://app.test:${app.port}`,
    ]);
  } finally {
    await plain.close();
  }
});
