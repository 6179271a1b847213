import { jest } from '@jest/globals';
import type { BrowserContext, Page } from 'playwright-core';
import { ada, startBackendApp } from '../support/backend-app.ts';
import type { BackendApp } from '../support/backend-app.ts';
import { launchBrowser } from '../support/browser.ts';
import type { TestBrowser } from '../support/browser.ts';

jest.setTimeout(60_000);

let browser: TestBrowser;
let app: BackendApp;
let context: BrowserContext;
let page: Page;

beforeAll(async () => {
  browser = await launchBrowser();
});
afterAll(() => browser.close());
beforeEach(async () => {
  app = await startBackendApp({
    options: { providers: ['github', 'google'], signInMethods: ['password', 'passkey'], oauthConsent: true },
    standIn: { manualLinking: true, passkeys: true, oauthServer: true },
  });
  // All of it works without scripts.
  context = await browser.newContext({ baseURL: app.origin, javaScriptEnabled: false });
  page = await context.newPage();
});
afterEach(async () => {
  await context.close();
  await app.close();
});

const heading = () => page.getByRole('heading', { level: 1 }).innerText();
const isAt = (path: string) => page.waitForURL((url) => url.pathname === path);

async function signIn(): Promise<void> {
  await page.goto('/auth/login?returnTo=/auth/account');
  await page.getByLabel('Email').fill(ada.email);
  await page.getByLabel('Password').fill(ada.password);
  await page.keyboard.press('Enter');
  await isAt('/auth/account');
}

/** Tabs on to a link or a button whose words begin with these, and presses Enter. */
async function enter(words: string): Promise<void> {
  for (let steps = 0; steps < 30; steps += 1) {
    await page.keyboard.press('Tab');
    const [focused = ''] = await page.locator(':focus').allInnerTexts();
    if (focused.trim().startsWith(words)) return page.keyboard.press('Enter');
  }
  throw new Error(`The Tab key never reaches ${words}`);
}

it('changes the email by keyboard', async () => {
  await signIn();
  await enter('Email');
  await page.waitForURL(/change=email/);
  expect(await heading()).toBe('Change your email');
  await page.keyboard.type('new@example.com');
  await page.keyboard.press('Enter');
  await page.getByText('If a link comes to').waitFor();
  await page.waitForLoadState();
  await enter('Done');
  await page.getByText('isn’t confirmed yet').waitFor();
  expect(app.supabase.mails.map(({ to }) => to)).toEqual([ada.email, 'new@example.com']);
});

it('links an account of a provider by keyboard, and comes back; then unlinks it', async () => {
  await signIn();
  await enter('Link GitHub');
  // The page goes on by itself.
  await page.waitForURL(/\/provider\/github\//);
  await page
    .getByRole('button', { name: /octavia/i })
    .first()
    .click();
  await isAt('/auth/account');
  await enter('Unlink');
  await page.waitForURL(/unlink=/);
  expect(await heading()).toBe('Unlink GitHub?');
  await page.waitForLoadState();
  await enter('Unlink');
  await page.getByText('Link GitHub').waitFor();
  expect(app.supabase.users().find(({ email }) => email === ada.email)?.providers).toEqual(['email']);
});

it('signs out the other devices, and then everywhere, by keyboard', async () => {
  await signIn();
  await app.signedIn();
  await enter('Sign out other devices');
  await page.getByText('Your other devices are signed out').waitFor();
  await page.waitForLoadState();
  expect(app.supabase.sessionsOf(ada.email)).toHaveLength(1);
  await enter('Done');
  await page.getByText('Sign out everywhere').waitFor();
  await page.waitForLoadState();
  await enter('Sign out everywhere');
  await isAt('/');
  expect(app.supabase.sessionsOf(ada.email)).toHaveLength(0);
});
