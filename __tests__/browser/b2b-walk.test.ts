import { jest } from '@jest/globals';
import type { BrowserContext, Page } from 'playwright-core';
import { demoUsers } from '../../stand-ins/workos/index.ts';
import type { RunningTour } from '../../show/start.ts';
import { axeFaults } from '../support/axe.ts';
import { launchBrowser } from '../support/browser.ts';
import type { TestBrowser } from '../support/browser.ts';
import { startTourHere } from '../support/show.ts';

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
  context = await browser.newContext({ baseURL: example.origin });
  context.on('console', (message) => {
    if (message.type() === 'error') complaints.push(message.text());
  });
  context.on('weberror', (error) => complaints.push(String(error.error())));
  page = await context.newPage();
});
afterEach(() => context.close());

const workos = () => example.providers.workos!;

async function chooseUser(on: Page, name: string): Promise<void> {
  await on.getByRole('button', { name }).click();
}

async function signIn(on: Page, name = 'Ada Lovelace'): Promise<void> {
  await on.goto('/login?returnTo=/dashboard');
  await chooseUser(on, name);
  await on.waitForURL('**/dashboard');
}

const heading = (on: Page) => on.getByRole('heading', { level: 1 }).innerText();

it('leads from the landing page through sign-up to the dashboard', async () => {
  await page.goto('/');
  await page.getByRole('region', { name: 'B2B' }).getByRole('link', { name: 'Create an account' }).click();
  expect(new URL(page.url()).host).toBe(new URL(workos().url).host);
  expect(await page.getByText('This is not WorkOS.').isVisible()).toBe(true);
  await page.getByLabel('Name').fill('Mary Jackson');
  await page.getByLabel('Email').fill(`mary-${Date.now()}@example.com`);
  await page.getByRole('button', { name: 'Sign up' }).click();
  await page.waitForURL('**/dashboard');
  expect(await page.locator('.person strong').innerText()).toBe('Mary Jackson');
  expect(await page.getByText('none: a personal session').isVisible()).toBe(true);
  expect(complaints).toEqual([]);
});

it('finds one of 500 organizations without a script, and signs in to it', async () => {
  const organizations = Array.from({ length: 500 }, (_, index) => ({
    id: `org_01JC4XJ2M7Q8T3WZ5R9VKB${String(index).padStart(4, '0')}`,
    name: index === 477 ? 'Zeta' : `Subsidiary ${index}`,
  }));
  const person = { ...demoUsers.personal, id: 'user_01FIVEHUNDRED', firstName: 'Dorothy', organizations };
  workos().users.set(person.id, person);
  const plain = await browser.newContext({ baseURL: example.origin, javaScriptEnabled: false });
  const on = await plain.newPage();
  await on.goto('/login?returnTo=/dashboard');
  await chooseUser(on, 'Dorothy Lovelace');
  expect(await on.getByRole('link', { name: /^Subsidiary / }).count()).toBe(499);
  await on.getByRole('searchbox', { name: 'Find an organization' }).fill('zeta');
  await on.keyboard.press('Enter');
  await on.getByRole('link', { name: 'Zeta' }).click();
  await on.waitForURL('**/dashboard');
  expect(await on.getByText(organizations[477]!.id).first().isVisible()).toBe(true);
  await plain.close();
  workos().users.delete(person.id);
});

it('signs in two tabs that started at the same time', async () => {
  const other = await context.newPage();
  await Promise.all([page.goto('/dashboard?tab=1'), other.goto('/dashboard?tab=2')]);
  await chooseUser(page, 'Ada Lovelace');
  await page.waitForURL('**/dashboard?tab=1');
  await chooseUser(other, 'Grace Hopper');
  await other.waitForURL('**/dashboard?tab=2');
  // The later sign-in replaced the earlier one, in both tabs.
  await page.reload();
  expect(await page.locator('.person strong').innerText()).toBe('Grace Hopper');
  const names = (await context.cookies(example.origin)).map(({ name }) => name);
  expect(names).toEqual(['b2b-session']);
});

it('shows a page with a link back when the visitor cancels at the provider', async () => {
  await page.goto('/dashboard');
  await page.getByRole('button', { name: 'Cancel' }).click();
  expect(await heading(page)).toBe('Sign-in was canceled');
  expect(new URL(page.url()).pathname).toBe('/callback');
  await page.getByRole('link', { name: 'Sign in' }).click();
  await chooseUser(page, 'Ada Lovelace');
  await page.waitForURL('**/dashboard');
  expect(await page.locator('.person strong').innerText()).toBe('Ada Lovelace');
});

it('returns to a protected deep link with its query', async () => {
  const deepLink = '/dashboard/reports?range=week&name=%C3%A4%20b%26c&x=//host';
  await page.goto(deepLink);
  await chooseUser(page, 'Ada Lovelace');
  await page.waitForURL('**/dashboard/**');
  expect(page.url()).toBe(example.origin + deepLink);
});

it('lets a member of several organizations choose one', async () => {
  await page.goto('/team');
  await chooseUser(page, 'Katherine Johnson');
  expect(await heading(page)).toBe('Choose an organization');
  expect(new URL(page.url()).origin).toBe(example.origin);
  await page.getByRole('link', { name: 'Lighthouse Cooperative' }).click();
  await page.waitForURL('**/team');
  expect(await page.locator('.facts dd').innerText()).toBe(demoUsers.twoOrganizations.organizations[1].id);
});

it('lets the hosted page ask for the organization if the provider does so', async () => {
  workos().switches.hostedOrganizationChoice = true;
  try {
    await page.goto('/team');
    await chooseUser(page, 'Katherine Johnson');
    await page.getByRole('button', { name: 'Analytical Instruments' }).click();
    await page.waitForURL('**/team');
    expect(await page.locator('.facts dd').innerText()).toBe(demoUsers.twoOrganizations.organizations[0].id);
  } finally {
    workos().switches.hostedOrganizationChoice = false;
  }
});

it('shows a personal session that it has no access to the organization area', async () => {
  await signIn(page);
  await page.getByRole('link', { name: 'Organization area' }).click();
  expect(await heading(page)).toBe('You don’t have access');
});

it('signs out here and at the provider, and the back button shows nothing private', async () => {
  await signIn(page);
  const id = await page.locator('.facts code', { hasText: /^session_/ }).innerText();
  expect(workos().isSessionActive(id)).toBe(true);
  await page.getByRole('button', { name: 'Sign out', exact: true }).click();
  await page.waitForURL(`${example.origin}/`);
  expect(workos().isSessionActive(id)).toBe(false);
  expect(await context.cookies(example.origin)).toEqual([]);
  expect(await page.locator('#b2b ~ .status').innerText()).toBe('Signed out');

  await page.goBack();
  await page.waitForURL(`${workos().url}/**`);
  expect(await page.content()).not.toContain(id);
  expect(complaints).toEqual([]);
});

it('redirects to the start page when the callback is loaded again', async () => {
  const callbacks: string[] = [];
  page.on('request', (request) => {
    if (new URL(request.url()).pathname === '/callback') callbacks.push(request.url());
  });
  await signIn(page);
  await page.goto(callbacks[0]!);
  expect(page.url()).toBe(`${example.origin}/`);
  expect(await page.getByText('Signed in as Ada Lovelace').isVisible()).toBe(true);
});

it('works from a script through the typed client', async () => {
  await page.goto('/client');
  const answer = page.locator('#result');
  const b2b = page.getByRole('region', { name: 'B2B' });
  await b2b.getByRole('button', { name: 'session()' }).click();
  await answer.getByText('"code": "unauthenticated"').waitFor();
  await b2b.getByRole('button', { name: 'login()' }).click();
  await answer.getByText('"redirectTo"').waitFor();
  await page.getByRole('link', { name: 'Go where it says' }).click();
  await chooseUser(page, 'Grace Hopper');
  await page.waitForURL('**/client');
  await b2b.getByRole('button', { name: 'session()' }).click();
  await answer.getByText(demoUsers.oneOrganization.email).waitFor();
  await b2b.getByRole('button', { name: 'logout()' }).click();
  await page.getByRole('link', { name: 'Go where it says' }).click();
  await page.waitForURL(`${example.origin}/`);
  expect(await context.cookies(example.origin)).toEqual([]);
  // The browser itself reports each 401 that a script gets.
  expect(complaints.filter((text) => !text.includes('401'))).toEqual([]);
});

it('shows the steps of a sign-in as they happen', async () => {
  await page.goto('/events');
  const entries = page.locator('#log li');
  const before = await entries.count();
  const other = await context.newPage();
  await signIn(other);
  await page.locator('#log li.event', { hasText: 'signed_in' }).first().waitFor();
  await expectSoon(
    () => entries.count(),
    (count) => count > before || count === 50,
  );
});

it('explains the cookies in the browser', async () => {
  await signIn(page);
  await page.goto('/cookies');
  const [session] = await context.cookies(example.origin);
  expect(session).toMatchObject({ name: 'b2b-session', httpOnly: true, sameSite: 'Lax', path: '/' });
  expect(await page.locator('.card:not(.absent) h3').allInnerTexts()).toEqual([
    expect.stringMatching(/^b2b-session \d+ bytes$/),
  ]);
  expect(await page.content()).not.toContain(session!.value.slice(0, 40));
});

it('fits every page and passes axe', async () => {
  const faults: Record<string, unknown[]> = {};
  const check = async (path: string): Promise<void> => {
    await page.goto(path);
    faults[path] = await axeFaults(page);
  };
  for (const path of ['/', '/events', '/cookies', '/client', '/nothing-here']) await check(path);
  await signIn(page, 'Grace Hopper');
  for (const path of ['/', '/dashboard', '/team', '/events', '/cookies']) await check(path);
  expect(Object.entries(faults).filter(([, found]) => found.length > 0)).toEqual([]);
}, 240_000);

async function expectSoon<T>(read: () => Promise<T>, isGood: (value: T) => boolean): Promise<void> {
  for (let tries = 0; tries < 50; tries += 1) {
    if (isGood(await read())) return;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  expect(isGood(await read())).toBe(true);
}

it('signs out at the provider from the page of a sign-out link, whose policy allows no redirect there', async () => {
  await signIn(page);
  await page.goto('/logout');
  expect(await heading(page)).toBe('Sign out?');
  const atProvider = page.waitForRequest((request) => request.url().includes('/user_management/sessions/logout'));
  await page.getByRole('button').click();
  await atProvider;
  await page.waitForURL(`${example.origin}/`);
  expect((await page.request.get('/auth/session')).status()).toBe(401);
  expect(complaints).toEqual([]);
});
