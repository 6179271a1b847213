import { ada, postForm, startBackendApp } from '../../support/backend-app.ts';
import type { BackendApp, BackendAppSetup } from '../../support/backend-app.ts';
import { createPageBrowser } from '../../support/page-browser.ts';
import type { PageBrowser } from '../../support/page-browser.ts';

const waiting = { email: 'waiting@example.com', password: 'not confirmed yet 1', confirmed: false };

let app: BackendApp;
let browser: PageBrowser;
afterEach(() => app.close());

async function start(options?: BackendAppSetup['options']): Promise<void> {
  app = await startBackendApp({ standIn: { autoconfirm: false, mailFrequency: 0 }, options: { ...options } });
  app.supabase.addUser(waiting);
  browser = createPageBrowser(app.origin);
}

async function openSpent(type: string): Promise<string> {
  await browser.open(`/auth/confirm?token_hash=0123abcd&type=${type}&returnTo=/account`);
  await browser.submit({ token_hash: '0123abcd' });
  expect([browser.at.answer.status, browser.at.answer.text]).toEqual([400, expect.stringContaining('<h1>This link')]);
  return browser.at.answer.text;
}

async function askForMail(): Promise<readonly string[]> {
  await browser.submit({ email: waiting.email });
  expect([browser.at.answer.status, browser.at.answer.text]).toEqual([
    200,
    expect.stringContaining('Check your email'),
  ]);
  return app.supabase.mails.map(({ to }) => to);
}

describe('a spent link that someone presses who is signed in', () => {
  const press = async (visitor: ReturnType<BackendApp['visitor']>, type: string, tokenHash: string) => {
    const fields = { token_hash: tokenHash, type, returnTo: '/account' };
    const page = await postForm(visitor, '/auth/confirm', fields);
    const json = await visitor.postJson('/auth/confirm', fields);
    return [page.status, page.headers.location, json.status];
  };
  const used = [400, undefined, 400];
  /** The link of a new magic link's email. */
  const mailed = async (email: string): Promise<string> => {
    await postForm(app.visitor(), '/auth/code', { email });
    return app.supabase.mails.at(-1)!.tokenHash;
  };

  it('leads on for a minute where it began the session, and says then that it is used', async () => {
    await start({ signInMethods: ['password', 'code'] });
    const visitor = app.visitor();
    const link = await mailed(ada.email);
    await press(visitor, 'email', link);
    app.clock.advance(59_000);
    expect(await press(visitor, 'email', link)).toEqual([303, '/account', 200]);
    app.clock.advance(3_000);
    expect(await press(visitor, 'email', link)).toEqual(used);
  });

  it.each(['signup', 'email', 'magiclink', 'email_change'])(
    'is said to be used just after another sign-in, by a password or by another link: %s',
    async (type) => {
      await start({ signInMethods: ['password', 'code'] });
      const visitor = app.visitor();
      await postForm(visitor, '/auth/login', { email: ada.email, password: ada.password });
      expect(await press(visitor, type, 'pkce_made_up')).toEqual(used);

      app.supabase.addUser({ email: 'bob@example.com', password: 'bobs long password' });
      const links = [await mailed('bob@example.com'), await mailed(ada.email)] as const;
      await press(app.visitor(), 'email', links[0]);
      const other = app.visitor();
      await press(other, 'email', links[1]);
      expect(await press(other, type, links[0])).toEqual(used);
    },
  );

  it('is said to be used after the first of two links of a changed address, which began no session', async () => {
    await start();
    const visitor = app.visitor();
    await postForm(visitor, '/auth/login', { email: ada.email, password: ada.password });
    const first = app.supabase.sendEmailChange(ada.email)[0]!.tokenHash;
    const fields = { token_hash: first, type: 'email_change' };
    expect((await visitor.postJson('/auth/confirm', fields)).json.otherLinkRequired).toBe(true);
    app.clock.advance(15_000);
    expect(await press(visitor, 'email_change', first)).toEqual(used);
  });
});

describe('where "Request a new one" is said, a button does it', () => {
  it.each(['signup', 'email', 'magiclink'])(
    'after a spent link (%s): it sends the email of the sign-up again',
    async (type) => {
      await start();
      expect(await openSpent(type)).toContain('Request a new link');
      expect(await askForMail()).toEqual([waiting.email]);
    },
  );

  it.each(['signup', 'email', 'magiclink'])(
    'after a spent link (%s) with codes: it sends a code and a link',
    async (type) => {
      await start({ signInMethods: ['password', 'code'] });
      await openSpent(type);
      const { href } = browser.links().find(({ label }) => label === 'Request a new link') ?? { href: '' };
      expect(href).toBe('/auth/code?returnTo=%2Faccount');
      await browser.open(href);
      expect(await askForMail()).toEqual([waiting.email]);
    },
  );

  it('after a link of a sign-up that the callback reports as expired, in any browser', async () => {
    await start();
    await browser.open('/auth/callback?error=access_denied&error_code=otp_expired');
    expect(browser.at.answer.status).toBe(400);
    expect(await askForMail()).toEqual([waiting.email]);
  });

  it('after a spent link of a changed address nothing claims one: the other link still works', async () => {
    await start();
    const text = await openSpent('email_change');
    expect(text).toContain('If a second email went to your other address, open its link, too.');
    expect(text).not.toContain('Request a new');
    expect(browser.links().map(({ label }) => label)).toEqual(['Sign in']);
  });
});
