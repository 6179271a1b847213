import { jest } from '@jest/globals';
import type { BrowserContext, Page } from 'playwright-core';
import { ada, startBackendApp } from '../support/backend-app.ts';
import type { BackendApp } from '../support/backend-app.ts';
import { launchBrowser } from '../support/browser.ts';
import type { TestBrowser } from '../support/browser.ts';

// Chromium is slow on a busy machine.
jest.setTimeout(60_000);

let browser: TestBrowser;
let app: BackendApp;
let context: BrowserContext;
let page: Page;
/** What the browser reports against the policy of a page. */
const faults: string[] = [];

beforeAll(async () => {
  browser = await launchBrowser();
  app = await startBackendApp({ options: { now: Date.now } });
});
afterAll(async () => {
  await browser.close();
  await app.close();
});
beforeEach(() => open());
afterEach(async () => {
  await context.close();
  expect(faults.splice(0)).toEqual([]);
});

async function open(options: { readonly javaScriptEnabled?: boolean } = {}): Promise<void> {
  context = await browser.newContext({ baseURL: app.origin, viewport: { width: 320, height: 640 }, ...options });
  page = await context.newPage();
  page.on('console', (message) => message.text().includes('Content Security Policy') && faults.push(message.text()));
  page.on('pageerror', ({ message }) => faults.push(message));
}

const field = () => page.getByLabel('Password');
const eye = () => page.getByRole('button', { name: 'Show password', exact: true });
const typeOf = () => field().getAttribute('type');

it('the eye shows the password and hides it again, and the field keeps its caret', async () => {
  await page.goto('/auth/login');
  await field().fill('correct horse');
  await field().press('ArrowLeft');
  await eye().click();
  expect([await typeOf(), await eye().getAttribute('aria-pressed')]).toEqual(['text', 'true']);
  await page.keyboard.type('X');
  expect(await field().inputValue()).toBe('correct horsXe');
  await eye().click();
  expect([await typeOf(), await eye().getAttribute('aria-pressed')]).toEqual(['password', 'false']);
});

it('the eye follows its field by keyboard, and the first focus is where it was', async () => {
  await page.goto('/auth/login');
  const focused = () =>
    page.evaluate<string>('document.activeElement.name || document.activeElement.textContent.trim()');
  expect(await focused()).toBe('email');
  await page.keyboard.press('Tab');
  expect(await focused()).toBe('password');
  await page.keyboard.press('Tab');
  expect(await focused()).toBe('Show password');
  await page.keyboard.press('Space');
  expect(await typeOf()).toBe('text');
  await page.keyboard.press('Enter');
  expect(await typeOf()).toBe('password');
  await page.keyboard.press('Tab');
  expect(await focused()).toBe('Forgot password?');
});

it('the field is one for a password again before its form is sent, by each button and by Enter', async () => {
  const sent: string[] = [];
  await context.exposeFunction('sentAs', (type: string) => sent.push(type));
  await context.addInitScript(`addEventListener('submit', (event) => {
    event.preventDefault();
    globalThis.sentAs(document.querySelector('[name=password]').type);
  });`);
  await page.goto('/auth/login');
  await page.getByLabel('Email').fill(ada.email);
  await field().fill(ada.password);
  await eye().click();
  await field().press('Enter');
  await eye().click();
  await page.getByRole('button', { name: 'Sign in', exact: true }).click();
  expect(sent).toEqual(['password', 'password']);
});

it('a shown password signs in, and is hidden when the page is left', async () => {
  await page.goto('/auth/login?returnTo=/account');
  await page.getByLabel('Email').fill(ada.email);
  await field().fill(ada.password);
  await eye().click();
  // As the browser says it where it keeps the page for the way back.
  await page.evaluate("dispatchEvent(new Event('pagehide'))");
  expect([await typeOf(), await eye().getAttribute('aria-pressed')]).toEqual(['password', 'false']);
  await eye().click();
  await field().press('Enter');
  await page.waitForURL((url) => url.pathname === '/account');
});

it('each of two fields has an eye of its own', async () => {
  await page.goto('/auth/login?returnTo=/auth/password');
  await page.getByLabel('Email').fill(ada.email);
  await field().fill(ada.password);
  await field().press('Enter');
  await page.getByRole('heading', { name: 'Choose a new password' }).waitFor();
  await eye().nth(1).click();
  expect(await page.locator('#currentPassword').getAttribute('type')).toBe('password');
  expect(await page.locator('#password').getAttribute('type')).toBe('text');
});

it('the eye is 36 px wide within a field of 44, and takes a press in all of its height', async () => {
  await page.goto('/auth/signup');
  const [box, around] = [await eye().boundingBox(), await field().boundingBox()];
  expect([box?.width, box?.height, around?.height]).toEqual([36, 36, 44]);
  await page.mouse.click(around!.x + around!.width - 2, around!.y + 2);
  expect(await typeOf()).toBe('text');
});

it('without a script the field is as it was: no eye, and all of its width', async () => {
  await context.close();
  await open({ javaScriptEnabled: false });
  await page.goto('/auth/login');
  expect(await eye().count()).toBe(0);
  expect(await page.locator('.reveal').isVisible()).toBe(false);
  const padding = "getComputedStyle(document.getElementById('password')).paddingInlineEnd";
  expect(await page.evaluate(padding)).toBe('12px');
});
