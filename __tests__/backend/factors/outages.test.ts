import { ada, postForm, startBackendApp } from '../../support/backend-app.ts';
import type { BackendApp } from '../../support/backend-app.ts';
import { createPageBrowser } from '../../support/page-browser.ts';
import type { PageBrowser } from '../../support/page-browser.ts';

let app: BackendApp;
let browser: PageBrowser;
beforeEach(async () => {
  app = await startBackendApp();
  browser = createPageBrowser(app.origin);
});
afterEach(() => app.close());

async function signIn(): Promise<void> {
  await browser.open('/auth/login?returnTo=/account');
  await browser.submit(ada);
}

async function follow(label: string): Promise<void> {
  const link = browser.links().find((each) => each.label === label);
  expect(link).toBeDefined();
  await browser.open(link!.href);
}

/** @param code of the authenticator app */
async function sendInOutage(code: string): Promise<void> {
  app.supabase.fail('user', 503);
  await browser.submit({ code });
  app.supabase.heal();
  expect([browser.at.answer.status, browser.at.answer.text]).toEqual([
    503,
    expect.stringContaining('reach the sign-in'),
  ]);
}

describe('after an outage "Try again" leads back', () => {
  it('to the second factors of an account, and from there to the page where the person was going', async () => {
    await signIn();
    await browser.open('/auth/enroll?returnTo=/account');
    await browser.submit({ returnTo: '/account' });
    await sendInOutage(app.supabase.codeOf(app.supabase.factorsOf(ada.email)[0]!));
    await follow('Try again');
    expect([new URL(browser.at.url).pathname, browser.at.answer.status]).toEqual(['/auth/enroll', 200]);
    await browser.submit({ returnTo: '/account' });
    await browser.submit({ code: app.supabase.codeOf(app.supabase.factorsOf(ada.email)[0]!) });
    await follow('Done');
    expect(browser.at.answer.text).toBe('account');
  });

  it('to the second factor of a sign-in', async () => {
    const factor = app.supabase.addFactor(ada.email);
    await signIn();
    await sendInOutage(app.supabase.codeOf(factor));
    await follow('Try again');
    expect(new URL(browser.at.url).pathname).toBe('/auth/verify');
    await browser.submit({ code: app.supabase.codeOf(factor) });
    expect(browser.at.answer.text).toBe('account');
  });
});

it.each([503, 429] as const)(
  'an outage (%d) after the first second factor skips the advice, and the way goes on',
  async (status) => {
    const visitor = await app.signedIn();
    const { factorId, secret } = (await visitor.postJson('/auth/enroll', {})).json;
    const fields = { factorId, code: app.supabase.codeOf({ secret }), returnTo: '/account' };
    const { location } = await postForm(visitor, '/auth/enroll', fields);
    expect(location).toContain('/auth/enroll?added=first&');
    app.supabase.fail('user', status);
    const answer = await visitor.get(location);
    expect([answer.status, answer.headers.location]).toEqual([302, '/account']);
    expect((await visitor.get('/auth/enroll?returnTo=/account')).status).toBe(status);
    expect((await visitor.getJson(location)).status).toBe(status);
    expect((await postForm(visitor, location, {})).status).toBe(status);
  },
);

it.each(['/auth/enroll', '/auth/verify'])('%s offers no sign-in to a member who has asked too often', async (path) => {
  await signIn();
  app.supabase.fail('user', 429);
  await browser.open(path);
  const labels = browser.links().map(({ label }) => label);
  expect([browser.at.answer.status, labels.includes('Sign in'), labels.includes('Back to home')]).toEqual([
    429,
    false,
    true,
  ]);
});
