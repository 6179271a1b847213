import type http from 'node:http';
import { jest } from '@jest/globals';
import type { BrowserContext, Page } from 'playwright-core';
import type { RunningTour } from '../../show/start.ts';
import { axeFaults } from '../support/axe.ts';
import { launchBrowser } from '../support/browser.ts';
import type { TestBrowser } from '../support/browser.ts';
import { startTourHere } from '../support/show.ts';
import { serve } from '../support/servers.ts';
import type { RunningServer } from '../support/servers.ts';

jest.setTimeout(60_000);

let browser: TestBrowser;
let example: RunningTour;
let context: BrowserContext;
let page: Page;
/** The browser's complaints: blocked by a policy, failed scripts, missing files. */
let complaints: string[];

beforeAll(async () => {
  [browser, example] = await Promise.all([launchBrowser(), startTourHere()]);
});
afterAll(async () => {
  await browser.close();
  await example.close();
});
beforeEach(async () => {
  complaints = [];
  context = await newContext(example);
  await rememberOffer();
  page = await context.newPage();
});
afterEach(() => context.close());

/** As a browser that was asked for a passkey before. */
const rememberOffer = (): Promise<void> =>
  context.addCookies([{ name: 'sb-127-auth-token-offer', value: 'passkey', url: example.origin }]);

async function newContext({ origin }: RunningTour): Promise<BrowserContext> {
  const fresh = await browser.newContext({ baseURL: origin });
  fresh.on('console', (message) => {
    if (message.type() === 'error') complaints.push(message.text());
  });
  return fresh;
}

const supabase = () => example.providers.supabase!;
const heading = (on: Page) => on.getByRole('heading', { level: 1 }).innerText();
const newEmail = () => `visitor-${Math.random().toString(36).slice(2)}@example.com`;
const password = 'three unlikely words';

async function fillForm(on: Page, email: string, secret: string): Promise<void> {
  await on.getByLabel('Email').fill(email);
  await on.getByLabel('Password').fill(secret);
  await on.locator('form button:not(.quiet, .reveal)').click();
}

async function signIn(on: Page, returnTo = '/account'): Promise<void> {
  await on.goto(`/auth/login?returnTo=${encodeURIComponent(returnTo)}`);
  await fillForm(on, supabase().demo.email, supabase().demo.password);
  await on.waitForURL((url) => url.pathname === returnTo);
}

const sessionCookies = async (): Promise<string[]> =>
  (await context.cookies(example.origin)).map(({ name }) => name).filter((name) => /-auth-token(?:\.\d+)?$/.test(name));

/** Without those that only remember what this browser has seen. */
const signInCookies = async (): Promise<string[]> =>
  (await context.cookies(example.origin)).map(({ name }) => name).filter((name) => !/-(?:last|offer)$/.test(name));

it('signs in with the demo account from the landing page and reads its own notes', async () => {
  await page.goto('/');
  const card = page.getByRole('region', { name: 'Backend' });
  expect(await card.innerText()).toContain(supabase().demo.password);
  await card.getByRole('link', { name: 'Sign in' }).click();
  await fillForm(page, supabase().demo.email, supabase().demo.password);
  await page.waitForURL('**/account');
  expect(await page.locator('.notes li').allInnerTexts()).toEqual([
    expect.stringContaining('read with your own access token'),
    expect.stringContaining('Row-level security'),
  ]);
  expect(complaints).toEqual([]);
});

it('signs in with an address that was pasted with direction marks, which no one sees', async () => {
  await page.goto('/auth/login?returnTo=/account');
  await page.getByLabel('Email').fill('');
  await page.keyboard.insertText(`\u202a${supabase().demo.email}\u202c`);
  await page.getByLabel('Password').fill(supabase().demo.password);
  await page.locator('form button:not(.quiet, .reveal)').click();
  await page.waitForURL('**/account');
});

it('signs up with a confirmation: the email in the outbox, a button, and the account page', async () => {
  const email = newEmail();
  await page.goto('/');
  await page.getByRole('region', { name: 'Backend' }).getByRole('link', { name: 'Create an account' }).click();
  await fillForm(page, email, password);
  expect(await heading(page)).toBe('Check your email');
  expect(await sessionCookies()).toEqual([]);

  // Not confirmed yet: the right password is not enough.
  await page.goto('/auth/login?returnTo=/account');
  await fillForm(page, email, password);
  expect(await page.locator('#form-error').innerText()).toContain('confirm your email address');

  await page.goto('/outbox');
  const mail = page.getByRole('listitem').filter({ hasText: email }).filter({ hasText: 'Confirm' });
  await mail.first().getByRole('link').click();
  await page.getByRole('button', { name: 'Confirm and continue' }).click();
  await page.waitForURL((url) => !url.pathname.startsWith('/auth/'));
  await page.goto('/account');
  expect(await page.locator('.person').innerText()).toContain(email);
});

it('signs up without a confirmation if the project requires none', async () => {
  const open = await startTourHere({ confirmsEmail: false });
  const there = await newContext(open);
  try {
    const on = await there.newPage();
    await on.goto('/auth/signup?returnTo=/account?new=1');
    await fillForm(on, newEmail(), password);
    await on.waitForURL('**/account?new=1');
    expect(await on.locator('.notes li').count()).toBe(2);
  } finally {
    await there.close();
    await open.close();
  }
});

it('shows that a password is wrong, at the field, keeping the address and not the password', async () => {
  await page.goto('/auth/login?returnTo=/account');
  await fillForm(page, supabase().demo.email, 'not the password');
  expect(await page.locator('#password-error').innerText()).toContain('Incorrect email or password');
  expect(await page.getByLabel('Email').inputValue()).toBe(supabase().demo.email);
  expect(await page.getByLabel('Password').inputValue()).toBe('');
  expect(await page.evaluate('document.activeElement?.getAttribute("name")')).toBe('password');
  expect(await sessionCookies()).toEqual([]);
  // The link still leads to returnTo.
  await fillForm(page, supabase().demo.email, supabase().demo.password);
  await page.waitForURL('**/account');
});

it('signs in through GitHub with consent', async () => {
  await page.goto('/account?via=github');
  await page.getByRole('link', { name: 'Continue with GitHub' }).click();
  expect(await page.getByText('This is not GitHub.').isVisible()).toBe(true);
  await page.getByRole('button', { name: 'octavia@example.com' }).click();
  await page.waitForURL(`${example.origin}/account?via=github`);
  expect(await page.locator('.person').innerText()).toContain('octavia@example.com');
  const names = await signInCookies();
  // The sign-in page has asked for a passkey's challenge, which is bound to this browser for its five minutes.
  expect(names.toSorted()).toEqual(['sb-127-auth-token', 'sb-127-auth-token-ceremony']);
});

it('shows a page with a link back when consent is denied', async () => {
  await page.goto('/auth/login?provider=github&returnTo=/account');
  await page.getByRole('button', { name: 'Cancel' }).click();
  await page.waitForURL('**/auth/callback**');
  expect(await heading(page)).toBe('Sign-in was canceled');
  expect(await sessionCookies()).toEqual([]);
  await page.getByRole('link', { name: 'Sign in' }).click();
  await fillForm(page, supabase().demo.email, supabase().demo.password);
  await page.waitForURL(`${example.origin}/account`);
});

it('returns to a deep link after sign-in, and after a detour through sign-up', async () => {
  const deepLink = '/account/notes?tag=%C3%A4%26b&page=2';
  await page.goto(deepLink);
  await fillForm(page, supabase().demo.email, supabase().demo.password);
  await page.waitForURL('**/account/**');
  expect(page.url()).toBe(example.origin + deepLink);
  await context.clearCookies();
  await rememberOffer();
  await page.goto(deepLink);
  await page.getByRole('link', { name: 'Create an account' }).click();
  await page.getByRole('link', { name: 'Sign in' }).click();
  await fillForm(page, supabase().demo.email, supabase().demo.password);
  await page.waitForURL('**/account/**');
  expect(page.url()).toBe(example.origin + deepLink);
});

describe('sign-out', () => {
  let elsewhere: RunningServer;
  /** Another port is another origin but the same site; 127.0.0.1 is another site altogether. */
  const origins = (): string[] => [elsewhere.origin.replace('127.0.0.1', 'localhost'), elsewhere.origin];

  beforeAll(async () => {
    const target = `${example.origin}/auth/logout`;
    const pages: Readonly<Record<string, string>> = {
      '/form': `<form method="post" action="${target}"><button>Win</button></form>`,
      '/link': `<a href="${target}">Read on</a>`,
      '/image': `<img src="${target}" alt=""><iframe src="${target}"></iframe><link rel="prefetch" href="${target}">`,
      '/script': `<script>fetch('${target}', { method: 'POST', mode: 'no-cors', credentials: 'include' }).finally(() => { document.title = 'done'; })</script>`,
    };
    elsewhere = await serve((req: http.IncomingMessage, res: http.ServerResponse) => {
      res.setHeader('content-type', 'text/html');
      res.end(`<!doctype html><title>Elsewhere</title>${pages[req.url ?? ''] ?? ''}`);
    });
  });
  afterAll(() => elsewhere.close());

  const isSignedIn = async (): Promise<boolean> => {
    const response = await context.request.get('/auth/me');
    return response.status() === 200;
  };

  it('does not happen from another site, by form, link, image, frame, prefetch or script', async () => {
    await signIn(page);
    for (const origin of origins()) {
      await page.goto(`${origin}/form`);
      await page.getByRole('button').click();
      await page.waitForURL('**/auth/logout');
      await page.goto(`${origin}/image`, { waitUntil: 'networkidle' });
      await page.goto(`${origin}/script`);
      await page.waitForFunction('document.title === "done"');
      await page.goto(`${origin}/link`);
      await page.getByRole('link').click();
      expect(await heading(page)).toBe('Sign out?');
      expect(await isSignedIn()).toBe(true);
    }
    // The page behind the link can do it, because it is the application's own.
    await page.getByRole('button', { name: 'Sign out', exact: true }).click();
    await page.waitForURL((url) => url.pathname !== '/auth/logout');
    expect(await isSignedIn()).toBe(false);
  });

  it('works from the page itself, and the back button shows nothing private', async () => {
    await signIn(page);
    const id = await page.locator('.facts code').first().innerText();
    await page.getByRole('button', { name: 'Sign out', exact: true }).click();
    await page.waitForURL((url) => url.pathname !== '/account');
    expect(await sessionCookies()).toEqual([]);
    await page.goBack();
    expect(await page.content()).not.toContain(id);
    await page.goto('/account');
    expect(await heading(page)).toBe('Sign in to the tour');
  });

  it('reaches the other tab on its next request', async () => {
    await signIn(page);
    const other = await context.newPage();
    await other.goto('/account');
    await page.getByRole('button', { name: 'Sign out', exact: true }).click();
    await page.waitForURL((url) => url.pathname !== '/account');
    await other.reload();
    expect(await heading(other)).toBe('Sign in to the tour');
  });

  it('keeps the B2B session', async () => {
    await page.goto('/dashboard');
    await page.getByRole('button', { name: 'Ada Lovelace' }).click();
    await page.waitForURL('**/dashboard');
    await signIn(page);
    await page.getByRole('button', { name: 'Sign out', exact: true }).click();
    await page.waitForURL((url) => url.pathname !== '/account');
    await page.goto('/dashboard');
    expect(await heading(page)).toBe('Dashboard');
  });
});

it('stays signed in after a reload', async () => {
  await signIn(page);
  await page.reload();
  expect(await heading(page)).toBe('Account');
});

it('redirects to the start page when the callback is loaded again', async () => {
  const callbacks: string[] = [];
  page.on('request', (request) => {
    if (new URL(request.url()).pathname === '/auth/callback') callbacks.push(request.url());
  });
  await page.goto('/auth/login?provider=github&returnTo=/account');
  await page.getByRole('button', { name: 'octavia@example.com' }).click();
  await page.waitForURL('**/account');
  await page.goto(callbacks[0]!);
  expect(page.url()).toBe(`${example.origin}/`);
  expect(await page.getByText('Signed in as octavia@example.com').isVisible()).toBe(true);
});

it('signs in two tabs that started OAuth at the same time, in either order', async () => {
  const other = await context.newPage();
  await page.goto('/auth/login?provider=github&returnTo=/account?tab=1');
  await other.goto('/auth/login?provider=github&returnTo=/account?tab=2');
  await page.getByRole('button', { name: 'octavia@example.com' }).click();
  await page.waitForURL('**/account?tab=1');
  await other.getByRole('button', { name: 'octavia@example.com' }).click();
  await other.waitForURL('**/account?tab=2');
  expect(await signInCookies()).toEqual(['sb-127-auth-token']);
});

it('works from a script through the typed client', async () => {
  await page.goto('/client');
  const backend = page.getByRole('region', { name: 'Backend' });
  const answer = page.locator('#result');
  await backend.getByLabel('Password').fill('wrong');
  await backend.getByRole('button', { name: 'login()' }).click();
  await answer.getByText('"code": "invalid_credentials"').waitFor();
  await backend.getByLabel('Password').fill(supabase().demo.password);
  await backend.getByRole('button', { name: 'login()' }).click();
  await answer.getByText('"redirectTo": "/client"').waitFor();
  await backend.getByRole('button', { name: 'session()' }).click();
  await answer.getByText(`"email": "${supabase().demo.email}"`).waitFor();
  await backend.getByRole('button', { name: 'logout()' }).click();
  await answer.getByText('"redirectTo": "/client"').waitFor();
  await backend.getByRole('button', { name: 'oauth()' }).click();
  await page.getByRole('link', { name: 'Go where it says' }).click();
  await page.getByRole('button', { name: 'octavia@example.com' }).click();
  await page.waitForURL('**/client');
  await backend.getByRole('button', { name: 'session()' }).click();
  await answer.getByText('octavia@example.com').waitFor();
});

it('fits every page and passes axe', async () => {
  const faults: Record<string, unknown[]> = {};
  for (const path of ['/auth/login', '/auth/signup', '/outbox', '/account', '/', '/cookies', '/client']) {
    if (path === '/account') await signIn(page);
    await page.goto(path);
    faults[path] = await axeFaults(page);
  }
  expect(Object.entries(faults).filter(([, found]) => found.length > 0)).toEqual([]);
}, 240_000);
