import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { jest } from '@jest/globals';
import type { BrowserContext, Page } from 'playwright-core';
import { startSupabaseLocal } from '../../stand-ins/supabase/index.ts';
import type { SupabaseLocal } from '../../stand-ins/supabase/index.ts';
import { startProvider } from '../support/b2b-app.ts';
import type { SharedProvider } from '../support/b2b-app.ts';
import { launchBrowser } from '../support/browser.ts';
import type { TestBrowser } from '../support/browser.ts';
import { recipeBlock, runExamples } from '../support/recipe-code.ts';
import type { RunningExamples } from '../support/recipe-code.ts';
import { serve } from '../support/servers.ts';
import type { RunningServer } from '../support/servers.ts';

jest.setTimeout(60_000);

/** As the recipe names them; the browser finds other ports there. */
const front = 'http://localhost:5173';
const api = 'http://localhost:3000';

let supabase: SupabaseLocal;
let provider: SharedProvider;
let examples: RunningExamples;
let frontEnd: RunningServer;
let browser: TestBrowser;
let context: BrowserContext;
let page: Page;
let folder: string;

beforeAll(async () => {
  [supabase, provider] = await Promise.all([startSupabaseLocal({ siteUrl: api }), startProvider()]);
  // Below the package, where `express` is found.
  folder = mkdtempSync(join(process.cwd(), 'reports', 'front-end-'));
  const file = join(folder, 'api.ts');
  writeFileSync(file, recipeBlock('front-end-elsewhere', 'frontendOrigin'));
  const env = { BAAS_URL: supabase.url, BAAS_ANON_KEY: supabase.publishableKey };
  examples = await runExamples([file], provider.workos, { env });
  const html = recipeBlock('front-end-elsewhere', '<!doctype html>');
  frontEnd = await serve((_req, res) => res.setHeader('content-type', 'text/html').end(html));
  const mapped = (origin: string): string => new URL(origin).host;
  browser = await launchBrowser({
    'localhost:3000': mapped(examples.originOf(file)),
    'localhost:5173': mapped(frontEnd.origin),
  });
});
afterAll(async () => {
  await browser.close();
  examples.kill();
  await frontEnd.close();
  await supabase.close();
  await provider.close();
  rmSync(folder, { recursive: true });
});
beforeEach(async () => {
  context = await browser.newContext();
  page = await context.newPage();
});
afterEach(() => context.close());

const target = `${front}/items?page=2`;

async function fillForm(): Promise<void> {
  await page.getByLabel('Email').fill(supabase.demo.email);
  await page.getByLabel('Password').fill(supabase.demo.password);
  await page.locator('form button:not(.quiet, .reveal)').click();
}

/** The front end's page, with the person's address. */
async function expectSignedInAt(url: string, email = supabase.demo.email): Promise<void> {
  await page.waitForURL(url);
  await page.getByText(email).waitFor();
}

it('leads from a page of the front end to sign-in with a password, and back to it', async () => {
  await page.goto(target);
  await page.waitForURL(`${api}/auth/login?returnTo=${encodeURIComponent('/items?page=2')}`);
  await fillForm();
  await expectSignedInAt(target);
});

it('leads back through an OAuth provider, and to the start page from its link', async () => {
  await page.goto(target);
  await page.getByRole('link', { name: 'Continue with GitHub' }).click();
  await page.getByRole('button', { name: 'octavia@example.com' }).click();
  await expectSignedInAt(target, 'octavia@example.com');
  await context.clearCookies();
  await page.goto(front);
  await page.getByRole('link', { name: 'Sign in' }).click();
  await fillForm();
  await expectSignedInAt(`${front}/`);
});

it('signs out by a form of the front end, and shows its start page', async () => {
  await page.goto(target);
  await fillForm();
  await expectSignedInAt(target);
  await page.getByRole('button', { name: 'Sign out' }).click();
  await page.waitForURL(`${front}/`);
  await page.goto(target);
  await page.waitForURL(`${api}/auth/login?**`);
});

it('leads back from a page that says what went wrong', async () => {
  await page.goto(target);
  await page.getByRole('link', { name: 'Continue with GitHub' }).click();
  await page.getByRole('button', { name: 'Cancel' }).click();
  await page.waitForURL(`${api}/auth/callback**`);
  expect(await page.getByRole('link', { name: 'Back to home' }).getAttribute('href')).toBe(`${front}/`);
  await page.getByRole('link', { name: 'Sign in' }).click();
  await fillForm();
  await expectSignedInAt(target);
});

it('leads back from a mail’s link, and from the new password', async () => {
  const grace = { email: 'grace@example.com', password: 'correct horse battery' };
  supabase.standIn.addUser(grace);
  await page.goto(target);
  await page.getByRole('link', { name: 'Forgot password?' }).click();
  await page.getByLabel('Email').fill(grace.email);
  await page.locator('form button:not(.quiet, .reveal)').click();
  await page.getByRole('heading', { name: 'Check your email' }).waitFor();
  await page.goto(supabase.standIn.mails.at(-1)!.confirmationUrl);
  await page.waitForURL(`${api}/auth/password?**`);
  await page.locator('input[name=password]').fill('three unlikely words');
  await page.locator('form button:not(.quiet, .reveal)').first().click();
  await expectSignedInAt(target, grace.email);
});

it('leads back from the second factor', async () => {
  const { standIn } = supabase;
  const factor = standIn.addFactor(supabase.demo.email);
  await page.goto(target);
  await fillForm();
  await page.waitForURL(`${api}/auth/verify?**`);
  await page.getByLabel('Code').fill(standIn.codeOf(factor));
  await page.locator('form button:not(.quiet, .reveal)').first().click();
  await expectSignedInAt(target);
});
