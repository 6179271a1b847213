// Accounts without an email address, such as those of a phone or a wallet.
import { setSession, startBackendApp } from '../../support/backend-app.ts';
import type { BackendApp } from '../../support/backend-app.ts';
import { createPageBrowser } from '../../support/page-browser.ts';
import type { PageBrowser } from '../../support/page-browser.ts';

let app: BackendApp;
let browser: PageBrowser;
beforeEach(async () => {
  app = await startBackendApp({ options: { pages: { links: { help: 'https://help.example/' } } } });
  browser = createPageBrowser(app.origin);
  const claims = { email: '', phone: '15550001111', app_metadata: { provider: 'phone', providers: ['phone'] } };
  setSession(browser.jar, await app.supabase.issueSession(app.supabase.addUser({ email: '' }), { claims }));
});
afterEach(() => app.close());

const follow = (page: PageBrowser, label: string): Promise<unknown> =>
  page.open(page.links().find((link) => link.label === label)?.href ?? '');

it.each(['/auth/password', '/auth/forgot'])(
  '%s says that the account has no address, and asks for none',
  async (path) => {
    await browser.open(`${path}?returnTo=/account`);
    const { status, text } = browser.at.answer;
    expect([status, browser.forms()]).toEqual([200, []]);
    expect(text).toContain('<h1>Your account has no email address</h1>');
    expect(browser.links()).toContainEqual({ href: 'https://help.example/', label: 'Contact support' });
    const other = browser.fork();
    await follow(browser, 'Continue');
    expect(browser.at.answer.text).toBe('account');
    await follow(other, 'Use another account');
    await follow(other, 'Forgot password?');
    expect((await other.submit({ email: 'ada@example.com' })).text).toContain('Check your email');
  },
);

it('a script that sends a new password learns that none was saved, and where a page says so', async () => {
  const body = { currentPassword: 'x', password: 'a whole new password' };
  const { status, json } = await browser.jar.postJson('/auth/password', body);
  const message = 'Your account has no email address. Without one, a password can’t be changed here.';
  expect([status, json]).toEqual([
    422,
    { error: { status, code: 'form_refused', message }, redirectTo: '/auth/password' },
  ]);
  expect(app.supabase.mails).toEqual([]);
});
