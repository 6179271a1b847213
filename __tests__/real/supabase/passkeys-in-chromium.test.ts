import type { BrowserContext, CDPSession, Page } from 'playwright-core';
import { launchBrowser } from '../../support/browser.ts';
import type { TestBrowser } from '../../support/browser.ts';
import { addVirtualAuthenticator, switchAutofillOff } from '../../support/virtual-authenticator.ts';
import { useRealApp } from '../support/application.ts';
import { describeOwnGoTrue } from '../support/describe-with.ts';
import { createSigningKey } from '../support/gotrue.ts';
import type { User } from '../support/project.ts';
import { party, webAuthnSettings } from '../support/security-key.ts';

describeOwnGoTrue('Chromium with a virtual authenticator, at a real GoTrue,', () => {
  const real = useRealApp({
    gotrue: {
      keys: [createSigningKey('only')],
      settings: { ...webAuthnSettings, GOTRUE_PASSKEY_ENABLED: 'true', GOTRUE_RATE_LIMIT_PASSKEY: '1000000' },
    },
    options: { signInMethods: ['password', 'passkey'] },
  });
  let browser: TestBrowser;
  let context: BrowserContext;
  let page: Page;
  let cdp: CDPSession;
  let user: User;

  beforeAll(async () => {
    // The project lists this origin, wherever the application listens.
    browser = await launchBrowser({ [new URL(party.origin).host]: new URL(real.app.origin).host });
  });
  afterAll(() => browser.close());
  beforeEach(async () => {
    context = await browser.newContext({ baseURL: party.origin });
    context.setDefaultTimeout(30_000);
    page = await context.newPage();
    cdp = await context.newCDPSession(page);
    user = await real.project.addUser();
  });
  afterEach(() => context.close());

  const button = (name: string) => page.getByRole('button', { name, exact: true });
  const arrives = (path: string) => page.waitForURL((url) => url.pathname === path);

  async function signIn(returnTo: string): Promise<void> {
    await page.goto(`/auth/login?returnTo=${encodeURIComponent(returnTo)}`);
    await page.getByLabel('Email').fill(user.email);
    await page.getByLabel('Password').fill(user.password);
    await button('Sign in').click();
  }

  it.each(['button', 'autofill'])('adds a passkey and signs in with it: by %s', async (way) => {
    await addVirtualAuthenticator(cdp);
    await signIn('/auth/passkeys');
    await button('Add a passkey').click();
    await page.getByText('Added ').waitFor();
    await context.clearCookies();
    if (way === 'button') await switchAutofillOff(page);
    await page.goto('/auth/login?returnTo=/account');
    if (way === 'button') await button('Sign in with a passkey').click();
    await arrives('/account');
  });

  it('adds a security key, and confirms a sign-in with it', async () => {
    await addVirtualAuthenticator(cdp, { transport: 'usb' });
    await signIn('/auth/enroll?returnTo=/account');
    await button('Add a security key').click();
    await page.getByRole('link', { name: 'Done' }).click();
    await arrives('/account');
    await context.clearCookies();
    await signIn('/secure');
    await button('Use your security key').click();
    await arrives('/secure');
    expect(await page.getByText('secret').isVisible()).toBe(true);
  });
});
