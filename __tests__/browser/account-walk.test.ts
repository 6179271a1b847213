import { jest } from '@jest/globals';
import type { BrowserContext, Page } from 'playwright-core';
import type { RunningTour } from '../../show/start.ts';
import { launchBrowser } from '../support/browser.ts';
import type { TestBrowser } from '../support/browser.ts';
import { startTourHere } from '../support/show.ts';

jest.setTimeout(60_000);

let browser: TestBrowser;
let example: RunningTour;
let context: BrowserContext;
let page: Page;

beforeAll(async () => {
  [browser, example] = await Promise.all([launchBrowser(), startTourHere()]);
});
afterAll(async () => {
  await browser.close();
  await example.close();
});
beforeEach(async () => {
  // All of it works without scripts.
  context = await browser.newContext({ baseURL: example.origin, javaScriptEnabled: false });
  page = await context.newPage();
});
afterEach(() => context.close());

const heading = () => page.getByRole('heading', { level: 1 }).innerText();
const press = (name: string) => page.getByRole('button', { name, exact: true }).click();
const supabase = () => example.providers.supabase!;
const password = 'three unlikely words';

/** A new account of the local project, with a password. */
function newAccount(): string {
  const email = `user-${Math.random().toString(36).slice(2)}@example.com`;
  supabase().standIn.addUser({ email, password });
  return email;
}

async function signIn(email: string, secret = password, returnTo = '/account'): Promise<void> {
  await page.goto(`/auth/login?returnTo=${encodeURIComponent(returnTo)}`);
  await page.getByLabel('Email').fill(email);
  await page.getByLabel('Password').fill(secret);
  await press('Sign in');
  // Each browser is asked once, on the way to a page of the application.
  if (page.url().includes('offer=yes')) await page.getByRole('link', { name: 'Not now' }).click();
}

/** The newest email to an address, as the outbox shows it. */
async function openOutbox(email: string) {
  await page.goto('/outbox');
  return page.getByRole('listitem').filter({ hasText: email }).first();
}

it('resets a forgotten password, from the sign-in page to the requested page', async () => {
  const email = newAccount();
  await page.goto('/account?from=reset');
  await page.getByRole('link', { name: 'Forgot password?' }).click();
  await page.getByLabel('Email').fill(email);
  await press('Send link');
  expect(await heading()).toBe('Check your email');

  const mail = await openOutbox(email);
  await mail.getByRole('link').click();
  await press('Continue');
  expect(await heading()).toBe('Choose a new password');
  await page.getByLabel('New password').fill('four even less likely words');
  await press('Save password');
  await page.waitForURL((url) => url.pathname === '/account');
  expect(await page.locator('.person').innerText()).toContain(email);

  await context.clearCookies();
  await signIn(email);
  expect(await page.locator('#password-error').innerText()).toContain('Incorrect email or password');
  await signIn(email, 'four even less likely words');
  expect(new URL(page.url()).pathname).toBe('/account');
});

it('signs in with a code from an email, by its digits and by its link', async () => {
  for (const way of ['digits', 'link'] as const) {
    const email = newAccount();
    await context.clearCookies();
    await page.goto('/auth/code?returnTo=/account');
    await page.getByLabel('Email').fill(email);
    await press('Email me a code');
    expect(await heading()).toBe('Check your email');
    if (way === 'digits') {
      await page.getByLabel('Code', { exact: true }).fill(supabase().standIn.mails.at(-1)?.token ?? '');
      await press('Sign in');
    } else {
      await (await openOutbox(email)).getByRole('link').click();
      await press('Sign in');
    }
    await page.waitForURL('**/account');
    expect(await page.locator('.person').innerText()).toContain(email);
  }
});

it('adds an authenticator app for a page that requires it, and asks for its code at the next sign-in', async () => {
  const email = newAccount();
  await signIn(email);
  await page.goto('/account/vault');
  await press('Add an authenticator app');
  expect(await page.locator('svg.qr').isVisible()).toBe(true);
  const code = async () => {
    const other = await context.newPage();
    await other.goto('/authenticator');
    const shown = await other.getByRole('listitem').filter({ hasText: email }).locator('code').innerText();
    await other.close();
    return shown;
  };
  await page.getByLabel('Code', { exact: true }).fill(await code());
  await page.locator('form:has(input[name="code"]) button').first().click();
  await page.goto('/account/vault');
  expect(await heading()).toBe('Vault');

  await context.clearCookies();
  await signIn(email, password, '/account/vault');
  expect(new URL(page.url()).pathname).toBe('/auth/verify');
  await page.getByLabel('Code', { exact: true }).fill('000000');
  await page.locator('form:has(input[name="code"]) button').first().click();
  expect(await page.getByText('code').first().isVisible()).toBe(true);
  await page.getByLabel('Code', { exact: true }).fill(await code());
  await page.locator('form:has(input[name="code"]) button').first().click();
  await page.waitForURL('**/account/vault');
  expect(await heading()).toBe('Vault');
});
