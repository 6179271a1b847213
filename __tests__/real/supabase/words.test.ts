// What the pages say of a real project, and where their links and buttons lead.
import { randomUUID } from 'node:crypto';
import { totp } from '../../../stand-ins/supabase/totp.ts';
import { createPageBrowser } from '../../support/page-browser.ts';
import type { PageBrowser } from '../../support/page-browser.ts';
import { setSession, useRealApp } from '../support/application.ts';
import type { RealApp } from '../support/application.ts';
import { describeGoTrue, describeOwnGoTrue } from '../support/describe-with.ts';
import { createSigningKey, phoneProvider } from '../support/gotrue.ts';
import { anotherMailIsAllowed, linkFields } from '../support/mail-links.ts';
import type { Mail } from '../support/mail-sink.ts';
import { newUser } from '../support/project.ts';
import type { User } from '../support/project.ts';

const openIn = ({ origin }: RealApp): PageBrowser => createPageBrowser(origin);
const wordsOf = ({ at }: PageBrowser): string =>
  at.answer.text
    .replaceAll(/<head>[\s\S]*?<\/head>/g, ' ')
    .replaceAll(/<[^>]*>/g, ' ')
    .replaceAll(/\s+/g, ' ');
const follow = (browser: PageBrowser, label: string): Promise<unknown> => {
  const link = browser.links().find((each) => each.label === label);
  if (link === undefined) throw new Error(`No link ${label}: ${wordsOf(browser)}`);
  return browser.open(link.href);
};
const signIn = async (
  browser: PageBrowser,
  { email, password }: Pick<User, 'email' | 'password'>,
  returnTo = '/account',
) => {
  await browser.open(`/auth/login?returnTo=${returnTo}`);
  await browser.submit({ email, password });
};
/** Opens the link that the docs recommend, and presses its button. */
const openMail = async (browser: PageBrowser, mail: Pick<Mail, 'links'>): Promise<void> => {
  const { token_hash: hash, type } = linkFields(mail);
  await browser.open(`/auth/confirm?token_hash=${hash}&type=${type}`);
  await browser.submit({ token_hash: hash });
};

describeGoTrue('the words of the pages', () => {
  const real = useRealApp({
    options: {
      providers: ['keycloak'],
      signInMethods: ['password', 'code'],
      pages: { links: { help: 'https://help.example/' } },
    },
  });

  it('of a provider that has not verified the address are true with an email and without one', async () => {
    const { email } = newUser();
    real.project.oauth.signIn({ sub: randomUUID(), email, isVerified: false });
    const unverified = 'If we sent you an email, open its link. Otherwise verify your address at your sign-in provider';
    const browser = openIn(real.app);
    await browser.open('/auth/login?provider=keycloak&returnTo=/account');
    expect([browser.at.answer.status, wordsOf(browser)]).toEqual([403, expect.stringContaining(unverified)]);
    // Within the minute GoTrue sends no second one.
    const again = openIn(real.app);
    await again.open('/auth/login?provider=keycloak');
    expect([again.at.answer.status, wordsOf(again)]).toEqual([403, expect.stringContaining(unverified)]);
    await follow(again, 'Sign in');
    expect(again.at.answer.status).toBe(200);
    await openMail(browser, await real.project.mails.take(email));
    expect(browser.at.answer.text).toBe('account');

    const known = await real.project.addUser();
    real.project.oauth.signIn({ sub: randomUUID(), email: known.email, isVerified: false });
    const owner = openIn(real.app);
    await owner.open('/auth/login?provider=keycloak&returnTo=/account');
    expect([wordsOf(owner), real.project.mails.count(known.email)]).toEqual([expect.stringContaining(unverified), 0]);
    await follow(owner, 'Sign in');
    await owner.submit({ email: known.email, password: known.password });
    expect(owner.at.answer.text).toBe('account');
  });

  it('of a sign-up with an address in use claim no email, and lead its owner in', async () => {
    const user = await real.project.addUser();
    const browser = openIn(real.app);
    await browser.open('/auth/signup?returnTo=/account');
    await browser.submit({ email: user.email, password: 'another password 1' });
    expect(wordsOf(browser)).toContain(
      `If ${user.email} has no account yet, open the link in our email to confirm it.`,
    );
    expect(real.project.mails.count(user.email)).toBe(0);
    const other = browser.fork();
    await follow(browser, 'Sign in');
    await browser.submit({ email: user.email, password: user.password });
    expect(browser.at.answer.text).toBe('account');
    await follow(other, 'Forgot password?');
    await other.submit({ email: user.email });
    await openMail(other, await real.project.mails.take(user.email));
    await other.submit({ password: 'a whole new password' });
    expect(other.at.answer.text).toBe('account');
  });

  it.each([
    ['access_denied', 'Sign-in was canceled'],
    ['server_error', 'Sign-in didn’t work.'],
  ])('after the provider’s %s are "%s", and a link leads back to the ways in', async (error, words) => {
    real.project.oauth.refuse(error);
    const browser = openIn(real.app);
    await browser.open('/auth/login?provider=keycloak&returnTo=/account');
    expect(wordsOf(browser)).toContain(words);
    expect(wordsOf(browser).includes('canceled')).toBe(error === 'access_denied');
    await follow(browser, 'Sign in');
    const { sub, email } = { sub: randomUUID(), ...newUser() };
    real.project.oauth.signIn({ sub, email });
    await follow(browser, 'Continue with Keycloak');
    expect(browser.at.answer.text).toBe('account');
  });

  it('of a guest who wants a second factor lead to sign-up, and back with the same user', async () => {
    const { body } = await real.project.ask('/signup', 'POST', {});
    const browser = openIn(real.app);
    setSession(browser.jar, body);
    await browser.open('/secure');
    expect(wordsOf(browser)).toContain('You’re here as a guest. To keep your data, sign up with your email.');
    const person = newUser();
    await browser.submit({ ...person });
    await openMail(browser, await real.project.mails.take(person.email));
    expect(wordsOf(browser)).toContain('Two-step sign-in');
    const { user } = (await browser.jar.getJson('/auth/session')).json;
    expect([user.id, user.email, user.isAnonymous]).toEqual([body.user.id, person.email, false]);
  });

  it.each(['signup', 'magiclink', 'recovery'])(
    'of a spent link (%s) have a button that sends another one',
    async (type) => {
      const person = type === 'signup' ? newUser() : await real.project.addUser();
      const { email } = person;
      const [path, fields] = {
        signup: ['/auth/signup', { ...newUser(), email }],
        magiclink: ['/auth/code', { email }],
        recovery: ['/auth/forgot', { email }],
      }[type] as [string, Record<string, string>];
      const asking = openIn(real.app);
      await asking.open(path);
      await asking.submit(fields);
      const mail = await real.project.mails.take(email);
      await openMail(asking, mail);
      // In another browser, and GoTrue's own link, which then leads to the callback.
      const [browser, own] = [openIn(real.app), openIn(real.app)];
      await openMail(browser, mail);
      await own.open(mail.links[1] ?? '');
      for (const page of [browser, own]) expect(wordsOf(page)).toContain('Request a new link');
      await anotherMailIsAllowed();
      const link = browser.links().find(({ label }) => label === 'Request a new link');
      if (link !== undefined) await browser.open(link.href);
      await browser.submit({ email });
      expect(wordsOf(browser)).toContain('Check your email');
    },
  );

  it('of an address that an administrator left unconfirmed claim no email, and a button sends it', async () => {
    const user = newUser();
    await real.project.admin('/admin/users', 'POST', { ...user, email_confirm: false });
    const browser = openIn(real.app);
    await signIn(browser, user);
    const words = 'confirm your email address first, with the link in an email from us.';
    expect([browser.at.answer.status, wordsOf(browser)]).toEqual([403, expect.stringContaining(words)]);
    const { action, fields } = browser.forms().find((form) => form.action.endsWith('/auth/resend'))!;
    await browser.post(action, fields);
    await openMail(browser, await real.project.mails.take(user.email));
    expect((await browser.jar.getJson('/auth/session')).json.user.email).toBe(user.email);
  });

  it('of a session that a new password ended elsewhere lead to sign-in, and the new one works', async () => {
    const user = await real.project.addUser();
    const browser = openIn(real.app);
    await signIn(browser, user, '/auth/password');
    const elsewhere = await real.app.signedIn(user);
    const changed = 'a whole new password';
    await elsewhere.postJson('/auth/password', { currentPassword: user.password, password: changed });
    await browser.submit({ currentPassword: user.password, password: 'yet another password' });
    expect([browser.at.answer.status, wordsOf(browser)]).toEqual([200, expect.stringContaining('Sign in to continue')]);
    await browser.open('/auth/login?prompt=login&returnTo=/account');
    await browser.submit({ email: user.email, password: changed });
    expect(browser.at.answer.text).toBe('account');
  });

  it('of a new password lead to sign-in once the user is deleted', async () => {
    const user = await real.project.addUser();
    const browser = openIn(real.app);
    await signIn(browser, user, '/auth/password');
    await real.project.admin(`/admin/users/${user.id}`, 'DELETE');
    // GoTrue: 400 invalid_credentials to the password, 403 user_not_found to the token
    await browser.submit({ currentPassword: 'not that one', password: 'a whole new password' });
    expect([browser.at.answer.status, new URL(browser.at.url).pathname]).toEqual([200, '/auth/login']);
    expect((await browser.jar.getJson('/auth/session')).status).toBe(401);
  });

  it('of a new password lead to a second factor that a sign-in waits for, and back', async () => {
    const user = await real.project.addUser();
    const visitor = await real.app.signedIn(user);
    const { factorId, secret } = (await visitor.postJson('/auth/enroll', {})).json;
    await visitor.postJson('/auth/enroll', { factorId, code: totp(secret) });
    const browser = openIn(real.app);
    await signIn(browser, user);
    await browser.open('/auth/password?returnTo=/account');
    expect(wordsOf(browser)).toContain('Can’t confirm it’s you? Contact support.');
    await browser.submit({ code: totp(secret) });
    await browser.submit({ currentPassword: user.password, password: 'a whole new password' });
    expect(browser.at.answer.text).toBe('account');
  });

  it('of a factor that was removed in another tab show the list without it', async () => {
    const user = await real.project.addUser();
    const visitor = await real.app.signedIn(user);
    const { factorId, secret } = (await visitor.postJson('/auth/enroll', {})).json;
    await visitor.postJson('/auth/enroll', { factorId, code: totp(secret) });
    const browser = openIn(real.app);
    for (const [name, value] of visitor.cookies) browser.jar.cookies.set(name, value);
    await browser.open(`/auth/enroll?remove=${factorId}`);
    const late = browser.fork();
    await browser.submit({ remove: factorId, sure: 'yes' });
    expect(wordsOf(browser)).toContain('Add an authenticator app.');
    for (const [name, value] of browser.jar.cookies) late.jar.cookies.set(name, value);
    await late.submit({ remove: factorId, sure: 'yes' });
    expect([late.at.answer.status, wordsOf(late)]).toEqual([200, expect.stringContaining('Add an authenticator app.')]);
  });
});

describeOwnGoTrue('the words for an account without an address', () => {
  const phone = '15550001117';
  const real = useRealApp({
    options: { pages: { links: { help: 'https://help.example/' } } },
    guarded: { '/danger': { adapter: 'backend', maxAge: 1 } },
    gotrue: {
      keys: [createSigningKey('one')],
      settings: phoneProvider(phone),
    },
  });

  it('ask for no email, and make no second account', async () => {
    expect((await real.project.ask('/otp', 'POST', { phone: `+${phone}` })).status).toBe(200);
    const answer = { phone: `+${phone}`, token: '123456', type: 'sms' };
    const { body } = await real.project.ask('/verify', 'POST', answer);
    const browser = openIn(real.app);
    setSession(browser.jar, body);
    const none = 'Your account has no email address';
    for (const path of ['/auth/password?returnTo=/account', '/auth/forgot?returnTo=/account']) {
      await browser.open(path);
      expect([wordsOf(browser), browser.forms()]).toEqual([expect.stringContaining(none), []]);
      await follow(browser, 'Continue');
      expect(browser.at.answer.text).toBe('account');
    }
    await browser.open('/auth/signup?returnTo=/account');
    expect(wordsOf(browser)).toContain(`Signed in as ${phone}`);
    await browser.open('/auth/enroll?returnTo=/account');
    expect(wordsOf(browser)).toContain('An authenticator app needs an email address, and your account has none.');
    expect(browser.forms().map(({ action }) => action)).toEqual(['/auth/logout']);
    await follow(browser, 'Back to home');
    expect(new URL(browser.at.url).pathname).toBe('/');
    await new Promise((resolve) => setTimeout(resolve, 2_500));
    await browser.open('/danger');
    expect(wordsOf(browser)).toContain(`${none}. Sign in again the way you did before, or contact support.`);
    expect(browser.links()).toContainEqual({ href: 'https://help.example/', label: 'Contact support' });
    await follow(browser, 'Use another account');
    const user = await real.project.addUser();
    await browser.submit({ email: user.email, password: user.password });
    expect(JSON.parse(browser.at.answer.text).user.email).toBe(user.email);
  });
});
