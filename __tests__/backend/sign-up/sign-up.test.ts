import { ada, postForm, startBackendApp } from '../../support/backend-app.ts';
import type { BackendApp, BackendAppSetup } from '../../support/backend-app.ts';
import { createPageBrowser } from '../../support/page-browser.ts';

let app: BackendApp;
const start = async (setup?: BackendAppSetup): Promise<BackendApp> => (app = await startBackendApp(setup));
afterEach(() => app.close());

describe('GET /auth/signup', () => {
  it('tells someone who is signed in so, and has its form for another account', async () => {
    await start();
    const browser = createPageBrowser(app.origin);
    for (const [name, value] of (await app.signedIn()).cookies) browser.jar.cookies.set(name, value);
    await browser.open('/auth/signup?returnTo=/account');
    expect([browser.at.answer.status, browser.forms()]).toEqual([200, []]);
    expect(browser.at.answer.text).toContain(`Signed in as <strong dir="auto">${ada.email}</strong>`);
    const open = (label: string): Promise<unknown> =>
      browser.open(browser.links().find((link) => link.label === label)?.href ?? '');
    const other = browser.fork();
    await open('Continue');
    expect(browser.at.answer.text).toBe('account');
    await other.open(other.links().find(({ label }) => label === 'Use another account')?.href ?? '');
    await other.open(other.links().find(({ label }) => label === 'Create an account')?.href ?? '');
    expect((await other.submit({ email: 'eve@example.com', password: 'battery staple' })).text).toBe('account');
  });
});

describe('POST /auth/signup', () => {
  const eve = { email: 'eve@example.com', password: 'battery staple' };

  it('signs in at once if the project confirms no addresses, and deletes the verifier', async () => {
    await start();
    const visitor = app.visitor();
    const answer = await visitor.postJson('/auth/signup', { ...eve, returnTo: '/account' });
    expect([answer.status, answer.json]).toEqual([200, { redirectTo: '/account' }]);
    expect([...visitor.cookies.keys()]).toEqual([app.cookieName]);
  });

  it('answers { emailConfirmationRequired, email, message } and links back to sign-in', async () => {
    await start({ standIn: { autoconfirm: false } });
    const answer = await app.visitor().postJson('/auth/signup', { ...eve, returnTo: '/account' });
    expect(answer.json).toEqual({
      emailConfirmationRequired: true,
      email: eve.email,
      message: expect.stringContaining(eve.email),
      redirectTo: '/auth/login?returnTo=%2Faccount',
    });
    const page = await postForm(app.visitor(), '/auth/signup', { ...eve, email: 'other@example.com' });
    expect(page.status).toBe(200);
    expect(page.text).toContain('Check your email');
  });

  it('answers a known address like a new one', async () => {
    await start({ standIn: { autoconfirm: false } });
    const [known, fresh] = [app.visitor(), app.visitor()];
    const one = await known.postJson('/auth/signup', { email: ada.email, password: 'something else' });
    const other = await fresh.postJson('/auth/signup', eve);
    const comparable = (text: string, email: string): string => text.replaceAll(email, 'EMAIL');
    expect(comparable(one.text, ada.email)).toBe(comparable(other.text, eve.email));
    const shape = (cookies: Map<string, string>): string[] =>
      [...cookies.keys()].map((name) => name.replace(/[0-9a-f]{32}/, 'ID'));
    expect(shape(known.cookies)).toEqual(shape(fresh.cookies));
  });

  it('does not claim that it sent a mail, and leads the owner of an address to sign-in and to a new password', async () => {
    await start({ standIn: { autoconfirm: false } });
    const again = { email: ada.email, password: 'something else' };
    const browser = createPageBrowser(app.origin);
    await browser.open('/auth/signup?returnTo=/account');
    const { text } = await browser.submit(again);
    expect(text.replaceAll(/<[^>]*>/g, '')).toContain(`If ${ada.email} has no account yet, open the link in our email`);
    const [signIn, forgot] = ['/auth/login', '/auth/forgot'].map((path) => {
      const href = browser.links().find((link) => link.href.startsWith(path))?.href;
      return href ?? '';
    });
    const other = browser.fork();
    await other.open(forgot ?? '');
    expect((await other.submit({ email: ada.email })).text).toContain('Check your email');
    expect(app.supabase.mails.map(({ to }) => to)).toEqual([ada.email]);
    await browser.open(signIn ?? '');
    expect((await browser.submit(ada)).text).toBe('account');
    const { message } = (await app.visitor().postJson('/auth/signup', again)).json;
    expect(message).toMatch(/^If .* has no account yet, open the link.* Already have one\? Sign in, or reset/);
  });

  it('answers 409 only if the backend itself does', async () => {
    await start();
    const answer = await app.visitor().postJson('/auth/signup', { email: ada.email, password: 'something else' });
    expect([answer.status, answer.json.error.code]).toEqual([409, 'email_in_use']);
  });

  it.each([
    [{ minimumPasswordLength: 20 }, /too short/],
    [{ requireLettersAndDigits: true }, /kinds of characters/],
    [{ pwnedPasswords: new Set([eve.password]) }, /data breach/],
  ])('explains why a password is weak (%j)', async (standIn, reason) => {
    await start({ standIn });
    const answer = await app.visitor().postJson('/auth/signup', eve);
    expect([answer.status, answer.json.error.code]).toEqual([422, 'weak_password']);
    expect(answer.json.error.message).toMatch(reason);
    const form = await postForm(app.visitor(), '/auth/signup', eve);
    expect(form.status).toBe(422);
    expect(form.text).toMatch(/aria-describedby="password-error/);
  });

  it('refuses a password that the backend would truncate', async () => {
    await start();
    const answer = await app.visitor().postJson('/auth/signup', { ...eve, password: 'ä'.repeat(37) });
    expect([answer.status, answer.json.error.code]).toEqual([422, 'weak_password']);
    expect(app.supabase.calls('signup')).toBe(0);
  });

  it('answers 403 if sign-up is disabled', async () => {
    await start({ standIn: { signupDisabled: true } });
    expect((await app.visitor().postJson('/auth/signup', eve)).json.error).toMatchObject({
      status: 403,
      code: 'signup_disabled',
    });
  });

  it('passes a rate limit on for all requests of this server, with a time to wait', async () => {
    await start({ standIn: { autoconfirm: false } });
    app.supabase.fail('signup', 429);
    const answer = await app.visitor().postJson('/auth/signup', eve);
    expect([answer.status, answer.headers['retry-after']]).toEqual([429, '60']);
  });

  it('uses its own text when a hook of the project refuses the account', async () => {
    await start({ standIn: { autoconfirm: false, newUsersRefused: true } });
    const answer = await app.visitor().postJson('/auth/signup', eve);
    expect([answer.status, answer.json.error.code]).toEqual([403, 'signup_refused']);
    const form = await postForm(app.visitor(), '/auth/signup', eve);
    expect([form.status, form.text.includes('This account can’t be created.')]).toEqual([403, true]);
    expect(form.text).not.toContain('choir');
  });

  it.each(['a..b@example.com', 'a@example..com'])('refuses %s, which no mail server takes', async (email) => {
    await start({ standIn: { autoconfirm: false } });
    const answer = await app.visitor().postJson('/auth/signup', { ...eve, email });
    expect([answer.status, answer.json.error.code]).toEqual([400, 'invalid_request']);
    expect(app.supabase.calls('signup')).toBe(0);
  });
});

describe('a sign-up whose answer is lost', () => {
  const words = 'Your account may have been created. Check your email, or sign in, before you try again.';

  it('may have created the account, and says so', async () => {
    await start({ standIn: { autoconfirm: false } });
    const fields = { email: 'new@example.com', password: 'long enough' };
    app.supabase.fail('signup', 'lost');
    const page = await postForm(app.visitor(), '/auth/signup', fields);
    expect([page.status, page.headers['retry-after'], page.text.includes(words)]).toEqual([503, '5', true]);
    expect(app.supabase.mails.map(({ to }) => to)).toEqual([fields.email]);
    const { error } = (await app.visitor().postJson('/auth/signup', fields)).json;
    expect([error.code, error.message]).toEqual(['provider_unavailable', words]);
  });

  it('has created none where Supabase was not reached', async () => {
    const refused = Object.assign(new TypeError('fetch failed'), { cause: { code: 'ECONNREFUSED' } });
    const isSignUp = (input: unknown): boolean =>
      String(input instanceof Request ? input.url : input).includes('/signup');
    await start({
      standIn: { autoconfirm: false },
      options: { fetch: (input, init) => (isSignUp(input) ? Promise.reject(refused) : fetch(input, init)) },
    });
    const page = await postForm(app.visitor(), '/auth/signup', { email: 'new@example.com', password: 'long enough' });
    expect([page.status, page.text.includes(words)]).toEqual([503, false]);
    expect(page.text).toContain('We can’t reach the sign-in service right now.');
  });
});
