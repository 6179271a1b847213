import { jest } from '@jest/globals';
import type { BrowserContext, CDPSession, Page, Route } from 'playwright-core';
import { ada } from '../support/backend-app.ts';
import type { BackendApp } from '../support/backend-app.ts';
import { launchBrowser } from '../support/browser.ts';
import type { TestBrowser } from '../support/browser.ts';
import { startPasskeyApp } from '../support/passkeys.ts';
import { addVirtualAuthenticator, switchAutofillOff } from '../support/virtual-authenticator.ts';
import type { VirtualAuthenticatorOptions } from '../support/virtual-authenticator.ts';

// Chromium is slow on a busy machine.
jest.setTimeout(60_000);

let browser: TestBrowser;
let app: BackendApp;
let origin: string;
/** What the project lists. */
const origins: string[] = [];
let context: BrowserContext;
let page: Page;
let cdp: CDPSession;

beforeAll(async () => {
  browser = await launchBrowser();
  app = await startPasskeyApp({
    options: { signInMethods: ['password', 'code', 'passkey'], now: Date.now, throttle: false },
    standIn: { relyingParty: { id: 'localhost', origins }, now: Date.now },
  });
  // Browsers know no relying party that is an IP address.
  origin = app.origin.replace('127.0.0.1', 'localhost');
  origins.push(origin);
});
afterAll(async () => {
  await browser.close();
  await app.close();
});
beforeEach(async () => {
  await open();
});
afterEach(async () => {
  await context.close();
  app.supabase.removeUser(ada.email);
  app.supabase.addUser(ada);
});

/** A browser of its own, with an account that has neither passkeys nor factors. */
async function open(options: { readonly javaScriptEnabled?: boolean } = {}): Promise<void> {
  context = await browser.newContext({ baseURL: origin, ...options });
  page = await context.newPage();
  cdp = await context.newCDPSession(page);
}

const addAuthenticator = (options?: VirtualAuthenticatorOptions) => addVirtualAuthenticator(cdp, options);
const credentials = async (authenticatorId: string) =>
  (await cdp.send('WebAuthn.getCredentials', { authenticatorId })).credentials;
const heading = () => page.getByRole('heading', { level: 1 }).innerText();
const path = () => new URL(page.url()).pathname;
const button = (name: string) => page.getByRole('button', { name, exact: true });

async function signIn(returnTo = '/account'): Promise<void> {
  await page.goto(`/auth/login?returnTo=${encodeURIComponent(returnTo)}`);
  await page.getByLabel('Email').fill(ada.email);
  await page.getByLabel('Password').fill(ada.password);
  await button('Sign in').click();
}

/** Adds a passkey on its page, and signs out. */
async function addPasskey(authenticatorId: string): Promise<void> {
  await signIn('/auth/passkeys');
  await button('Add a passkey').click();
  await page.getByText('Added ').first().waitFor();
  expect(await credentials(authenticatorId)).toHaveLength(1);
  await context.clearCookies();
}

describe('a passkey', () => {
  it('is added on its page, and signs in by the button', async () => {
    const device = await addAuthenticator();
    await addPasskey(device);
    await switchAutofillOff(page);
    await page.goto('/auth/login?returnTo=/account');
    await button('Sign in with a passkey').click();
    await page.waitForURL((url) => url.pathname === '/account');
    expect(app.supabase.passkeysOf(ada.email)).toHaveLength(1);
  });

  it('signs in by autofill in the email field', async () => {
    const device = await addAuthenticator();
    await addPasskey(device);
    // With `enableUI: false` Chromium takes the passkey as soon as one is offered.
    await page.goto('/auth/login?returnTo=/account');
    await page.waitForURL((url) => url.pathname === '/account');
  });

  it('is renamed and removed by keyboard alone, after a question', async () => {
    const device = await addAuthenticator();
    await signIn('/auth/passkeys');
    const press = async (name: string, role: 'button' | 'link' = 'button') => {
      const wanted = page.getByRole(role, { name });
      for (let tabs = 0; tabs < 12; tabs += 1) {
        if (await wanted.first().evaluate((element: any) => element === (globalThis as any).document.activeElement))
          break;
        await page.keyboard.press('Tab');
      }
      await page.keyboard.press('Enter');
    };
    await press('Add a passkey');
    await page.getByText('Added ').waitFor();
    await press('Rename: Passkey', 'link');
    await page.getByLabel('Name').fill('My laptop');
    await page.keyboard.press('Enter');
    await page.getByText('My laptop').waitFor();
    await press('Remove: My laptop', 'link');
    expect(await heading()).toBe('Remove “My laptop”?');
    await press('Remove');
    await page.getByRole('heading', { name: 'Passkeys' }).waitFor();
    expect(app.supabase.passkeysOf(ada.email)).toEqual([]);
    expect(await credentials(device)).toHaveLength(1);
  });

  it('that this device already has is not added twice: the page says so', async () => {
    const device = await addAuthenticator();
    await signIn('/auth/passkeys');
    await button('Add a passkey').click();
    await page.getByText('Added ').waitFor();
    await button('Add a passkey').click();
    await page.getByText('This device is set up for your account already.').waitFor();
    expect(app.supabase.passkeysOf(ada.email)).toHaveLength(1);
    expect(await credentials(device)).toHaveLength(1);
  });

  it('that was removed meanwhile is refused on the sign-in page, and the password still signs in', async () => {
    const device = await addAuthenticator();
    await addPasskey(device);
    await switchAutofillOff(page);
    await page.goto('/auth/login?returnTo=/account');
    app.supabase.removePasskey(ada.email, app.supabase.passkeysOf(ada.email)[0]!.passkeyId);
    await button('Sign in with a passkey').click();
    await page.getByText('That didn’t work.').waitFor();
    await page.getByLabel('Email').fill(ada.email);
    await page.getByLabel('Password').fill(ada.password);
    await button('Sign in').click();
    await page.getByRole('link', { name: 'Not now' }).click();
    await page.waitForURL((url) => url.pathname === '/account');
  });

  it('is offered once after a password, and added on its page', async () => {
    await addAuthenticator();
    await signIn();
    await page.getByRole('link', { name: 'Add a passkey' }).click();
    await button('Add a passkey').click();
    await page.getByText('Added ').waitFor();
    await page.getByRole('link', { name: 'Done' }).click();
    await page.waitForURL((url) => url.pathname === '/account');
    expect(app.supabase.passkeysOf(ada.email)).toHaveLength(1);
  });

  it('answers late: the script asks once more by itself', async () => {
    await addPasskey(await addAuthenticator());
    const answers: number[] = [];
    page.on('response', (response) => {
      if (response.url().endsWith('/auth/passkey')) answers.push(response.status());
    });
    // The challenge of the autofill is over at the backend before its answer arrives, as after five minutes.
    const isLate = async (route: Route): Promise<void> => {
      const response = await route.fetch();
      app.supabase.forgetChallenges();
      await route.fulfill({ response });
    };
    await page.route('**/auth/passkey', isLate, { times: 1 });
    await page.goto('/auth/login?returnTo=/account', { waitUntil: 'commit' });
    await page.waitForURL((url) => url.pathname === '/account');
    expect(answers.filter((status) => status === 422)).toHaveLength(1);
  });
});

describe('a sign-in page', () => {
  const toAccount = () => page.waitForURL((url) => url.pathname === '/account');

  it('signs in by keyboard alone', async () => {
    await addPasskey(await addAuthenticator());
    await switchAutofillOff(page);
    await page.goto('/auth/login?returnTo=/account');
    const isFocused = () =>
      button('Sign in with a passkey').evaluate((element: any) => element.matches(':focus-visible'));
    for (let tabs = 0; tabs < 8 && !(await isFocused()); tabs += 1) await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    await toAccount();
  });

  it('that was open for longer than a challenge lives asks for a new one, in the same dialog', async () => {
    await addPasskey(await addAuthenticator());
    await switchAutofillOff(page);
    const posts: string[] = [];
    page.on('request', (request) => {
      if (request.method() === 'POST') posts.push(request.isNavigationRequest() ? 'answer' : 'challenge');
    });
    await page.clock.install();
    await page.goto('/auth/login?returnTo=/account');
    // A canceled dialog keeps its challenge.
    await page.evaluate(
      "navigator.credentials.get = (get => () => { navigator.credentials.get = get; return Promise.reject(new DOMException('', 'NotAllowedError')); })(navigator.credentials.get.bind(navigator.credentials))",
    );
    await button('Sign in with a passkey').click();
    await page.getByText('That wasn’t completed.').waitFor();
    await page.clock.fastForward('05:00');
    await button('Sign in with a passkey').click();
    await toAccount();
    expect(posts).toEqual(['challenge', 'challenge', 'answer']);
  });

  it('from before a deploy works with the script of today', async () => {
    await addPasskey(await addAuthenticator());
    await switchAutofillOff(page);
    await page.route('**/auth/login*', async (route: Route) => {
      const response = await route.fetch();
      const body = (await response.text()).replace(/(passkey\.js\?v=)[\w-]{16}/, '$1AAAAAAAAAAAAAAAA');
      await route.fulfill({ response, body });
    });
    await page.goto('/auth/login?returnTo=/account');
    await button('Sign in with a passkey').click();
    await toAccount();
  });

  it('in two tabs signs in twice, each with a challenge of its own', async () => {
    const device = await addAuthenticator();
    await addPasskey(device);
    const [stored] = await credentials(device);
    const tab = await context.newPage();
    const tabCdp = await context.newCDPSession(tab);
    // The virtual device of a tab is its own, so it gets the same passkey.
    const authenticatorId = await addVirtualAuthenticator(tabCdp);
    await tabCdp.send('WebAuthn.addCredential', { authenticatorId, credential: { ...stored!, signCount: 100 } });
    for (const each of [page, tab]) {
      await switchAutofillOff(each);
      await each.goto('/auth/login?returnTo=/account');
    }
    for (const each of [page, tab]) {
      await each.getByRole('button', { name: 'Sign in with a passkey' }).click();
      await each.waitForURL((url) => url.pathname === '/account');
    }
    expect((await page.goto('/account'))?.status()).toBe(200);
  });

  it('shows its button again after the way back from the account', async () => {
    await addPasskey(await addAuthenticator());
    await switchAutofillOff(page);
    await page.goto('/auth/login?returnTo=/account');
    await button('Sign in with a passkey').click();
    await toAccount();
    await context.clearCookies();
    await page.goBack();
    await page.goto('/auth/login?returnTo=/account');
    expect(await button('Sign in with a passkey').isEnabled()).toBe(true);
    await button('Sign in with a passkey').click();
    await toAccount();
  });
});

describe('the list of passkeys', () => {
  it('of ten, with names of any kind, fits a phone', async () => {
    await signIn('/auth/passkeys');
    for (let count = 1; count <= 10; count += 1) {
      const authenticatorId = await addAuthenticator();
      await button('Add a passkey').click();
      await page
        .getByText('Added ')
        .nth(count - 1)
        .waitFor();
      await cdp.send('WebAuthn.removeVirtualAuthenticator', { authenticatorId });
    }
    const names = ['x'.repeat(120), '\u202eيسرا مفتاح', 'W'.repeat(40), '<b>bold</b>', 'a b '.repeat(30).trim()];
    names.forEach((name, index) => {
      app.supabase.passkeysOf(ada.email)[index]!.name = name;
    });
    await page.setViewportSize({ width: 390, height: 844 });
    await page.reload();
    const overflow = 'document.documentElement.scrollWidth - document.documentElement.clientWidth';
    expect(await page.evaluate(overflow)).toBe(0);
    for (const link of await page.getByRole('link', { name: /^(?:Rename|Remove): / }).all()) {
      const box = await link.boundingBox();
      expect([box!.x >= 0, box!.x + box!.width <= 390]).toEqual([true, true]);
    }
    await page.getByRole('link', { name: `Rename: ${names[0]}` }).click();
    expect(await page.evaluate(overflow)).toBe(0);
    await page.goBack();
    await button('Add a passkey').click();
    await page.getByText('You’ve reached the limit. Remove a passkey first.').waitFor();
  });

  it('adds one passkey for two clicks, and none for a dialog that is left', async () => {
    await addAuthenticator();
    await signIn('/auth/passkeys');
    await page.evaluate(
      "navigator.credentials.create = (create => () => { navigator.credentials.create = create; return Promise.reject(new DOMException('', 'NotAllowedError')); })(navigator.credentials.create.bind(navigator.credentials))",
    );
    await button('Add a passkey').click();
    await page.getByText('That wasn’t completed.').waitFor();
    expect(app.supabase.passkeysOf(ada.email)).toEqual([]);
    await button('Add a passkey').dblclick();
    await page.getByText('Added ').waitFor();
    expect(app.supabase.passkeysOf(ada.email)).toHaveLength(1);
  });
});

describe('without a passkey', () => {
  it('a canceled dialog, or a device without one, says what to do, and the page goes on working', async () => {
    await addAuthenticator();
    await page.goto('/auth/login?returnTo=/account');
    await button('Sign in with a passkey').click();
    await page.getByText('That wasn’t completed. Try again, or choose another way.').waitFor();
    expect(await button('Sign in with a passkey').isEnabled()).toBe(true);
    await page.getByLabel('Email').fill(ada.email);
    await page.getByLabel('Password').fill(ada.password);
    await button('Sign in').click();
    // The account has no passkey.
    await page.getByText('Not now').click();
    await page.waitForURL((url) => url.pathname === '/account');
  });

  it('an origin that the project does not list is refused', async () => {
    const device = await addAuthenticator();
    await addPasskey(device);
    await switchAutofillOff(page);
    await page.goto('/auth/login');
    origins.splice(0, 1, 'https://example.com');
    await button('Sign in with a passkey').click();
    await page.getByText('That didn’t work.').waitFor();
    origins.splice(0, 1, origin);
  });

  it('a domain that is not the relying party’s cannot ask, and says so', async () => {
    await addAuthenticator();
    await page.goto(`${app.origin}/auth/login`);
    await button('Sign in with a passkey').click();
    await page.getByText('Your browser couldn’t do that here.').waitFor();
  });

  it('a browser without the API, or without scripts, has the page without the button', async () => {
    await page.addInitScript('delete globalThis.PublicKeyCredential');
    await page.goto('/auth/login');
    await page.getByLabel('Password').waitFor();
    expect(await button('Sign in with a passkey').count()).toBe(0);
    await context.close();
    await open({ javaScriptEnabled: false });
    await signIn('/auth/passkeys');
    expect(await button('Add a passkey').count()).toBe(0);
    expect(await page.getByText('Turn on JavaScript').isVisible()).toBe(true);
  });

  it('an outage of the backend is told on a page, and the browser console has no error of the policy', async () => {
    const refusals: string[] = [];
    page.on('console', (message) => {
      if (/Content Security Policy/i.test(message.text())) refusals.push(message.text());
    });
    await addAuthenticator();
    app.supabase.fail('passkey-options', 503, 50);
    await page.goto('/auth/login?returnTo=/account');
    await button('Sign in with a passkey').click();
    await page.getByText('We can’t reach the sign-in service right now.').waitFor();
    app.supabase.heal();
    expect(path()).toBe('/auth/passkey');
    expect(refusals).toEqual([]);
  });
});

describe('a security key', () => {
  async function addKey(): Promise<string> {
    const key = await addAuthenticator({ transport: 'usb' });
    await signIn('/auth/enroll?returnTo=/account');
    await button('Add a security key').click();
    await page.getByRole('link', { name: 'Done' }).click();
    await page.waitForURL((url) => url.pathname === '/account');
    await context.clearCookies();
    return key;
  }

  it('is added on /auth/enroll, and completes a sign-in on /auth/verify with the first key pressed', async () => {
    await addKey();
    expect(app.supabase.factorsOf(ada.email).map(({ type, isVerified }) => [type, isVerified])).toEqual([
      ['webauthn', true],
    ]);
    await signIn();
    expect([path(), await heading()]).toEqual(['/auth/verify', 'Confirm it’s you']);
    // The script has given its button the focus.
    await page.keyboard.press('Enter');
    await page.waitForURL((url) => url.pathname === '/account');
  });

  it('stands beside an authenticator app, whose code works as well', async () => {
    await addKey();
    const factor = app.supabase.addFactor(ada.email, { name: 'app' });
    await signIn();
    expect(await button('Use your security key').isVisible()).toBe(true);
    await page.getByLabel('Code').fill(app.supabase.codeOf(factor));
    await page.keyboard.press('Enter');
    await page.waitForURL((url) => url.pathname === '/account');
  });

  it('in two tabs: one completes the sign-in, and the other one leads on', async () => {
    await addKey();
    await signIn();
    const tab = await context.newPage();
    await tab.goto('/auth/verify?returnTo=/account');
    await button('Use your security key').click();
    await page.waitForURL((url) => url.pathname === '/account');
    await tab.reload();
    expect(new URL(tab.url()).pathname).toBe('/account');
  });

  it('is removed by keyboard alone, after a question', async () => {
    await addKey();
    await signIn();
    await page.locator('button:focus').waitFor();
    await page.keyboard.press('Enter');
    await page.waitForURL((url) => url.pathname === '/account');
    await page.goto('/auth/enroll');
    const press = async (name: string, role: 'button' | 'link'): Promise<void> => {
      const wanted = page.getByRole(role, { name });
      const isFocused = () => wanted.evaluate((element: any) => element.matches(':focus'));
      for (let tabs = 0; tabs < 8 && !(await isFocused()); tabs += 1) await page.keyboard.press('Tab');
      await page.keyboard.press('Enter');
    };
    await press('Remove: Security key', 'link');
    await page.getByText('Two-step sign-in will be off').waitFor();
    await press('Remove', 'button');
    await page.getByRole('button', { name: 'Add a security key' }).waitFor();
    expect(app.supabase.factorsOf(ada.email)).toEqual([]);
  });

  it('that the device does not have is told, and another try works', async () => {
    const key = await addKey();
    const [stored] = await credentials(key);
    await cdp.send('WebAuthn.removeCredential', { authenticatorId: key, credentialId: stored!.credentialId });
    await signIn();
    await button('Use your security key').click();
    await page.getByText('That wasn’t completed.').waitFor();
    await cdp.send('WebAuthn.addCredential', { authenticatorId: key, credential: stored! });
    await button('Use your security key').click();
    await page.waitForURL((url) => url.pathname === '/account');
  });
});
