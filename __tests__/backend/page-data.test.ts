import { signInPage } from '../../lib/backend/pages/sign-in.ts';
import { html, render } from '../../lib/tools/html.ts';
import type { BuiltInPage } from '../../lib/every-entry.ts';
import type { Reply } from '../../lib/http/reply.ts';
import { everyPageState, requestOf, siteOf } from '../support/built-in-pages.ts';

const email = 'ada@example.com';
const returnTo = '/account?tab=1';
const at = 'returnTo=%2Faccount%3Ftab%3D1';
const request = requestOf();

function pageOf(reply: Reply | undefined): { readonly view: BuiltInPage; readonly markup: string } {
  if (reply?.body?.kind !== 'page') throw new Error('not a page');
  return { view: reply.body.view, markup: render(reply.body.markup) };
}

type Data = Partial<Pick<BuiltInPage, 'action' | 'values' | 'links' | 'choices'>> & {
  readonly kind: string;
  readonly fields?: readonly string[];
};

/** What `pages.render` gets, without the texts. */
function dataOf(reply: Reply | undefined): Data {
  const { kind, action, fields, values, links, choices } = pageOf(reply).view;
  return {
    kind,
    values,
    ...(action !== undefined && { action }),
    ...(fields.length > 0 && { fields: fields.map(({ name }) => name) }),
    ...(Object.keys(links).length > 0 && { links }),
    ...(choices.length > 0 && { choices }),
  };
}

const wordsOf = (markup: string): string => markup.replaceAll(/<[^>]*>|\s/g, '');
const escaped = (text: string): string => render(html`${text}`);

const signIn = `/auth/login?${at}`;
const [toGitHub, toGoogle] = (['github', 'google'] as const).map((name) => ({
  name: name === 'github' ? 'GitHub' : 'Google',
  href: `/auth/login?provider=${name}&${at}`,
}));
const fromAccount = `returnTo=${encodeURIComponent(`/auth/account?${at}`)}`;
const toPhone = { name: 'Phone ending in 123', href: `/auth/verify?factorId=b&${at}` };

/** By the names of the states. */
const data: Readonly<Record<string, Data>> = {
  'sign-in': {
    kind: 'sign_in',
    action: '/auth/login',
    fields: ['email', 'password'],
    values: { returnTo },
    links: { forgot: `/auth/forgot?${at}`, signUp: `/auth/signup?${at}` },
    choices: [toGitHub!, toGoogle!],
  },
  'sign-in, every way': {
    kind: 'sign_in',
    action: '/auth/login',
    fields: ['email', 'password'],
    values: { email, returnTo },
    links: {
      forgot: `/auth/forgot?${at}`,
      signUp: `/auth/signup?${at}`,
      sso: `/auth/sso?${at}`,
      code: `/auth/code?${at}`,
    },
  },
  'sign-in, codes only': {
    kind: 'sign_in',
    action: '/auth/code',
    fields: ['email'],
    values: { returnTo },
    links: { sso: `/auth/sso?${at}`, code: `/auth/code?${at}` },
    choices: [toGitHub!],
  },
  'sign-in, passkey only': {
    kind: 'sign_in',
    values: { returnTo },
    links: { passkey: '/auth/passkey' },
    choices: [toGitHub!],
  },
  'sign-in, unconfirmed': {
    kind: 'sign_in',
    action: '/auth/login',
    fields: ['email', 'password'],
    values: { email, returnTo },
    links: { forgot: `/auth/forgot?${at}`, signUp: `/auth/signup?${at}`, resend: '/auth/resend' },
    choices: [toGitHub!, toGoogle!],
  },
  'sign-in, signed in': {
    kind: 'signed_in',
    values: { email, returnTo },
    links: { continue: returnTo, otherAccount: `${signIn}&prompt=login` },
  },
  'sign-up': {
    kind: 'sign_up',
    action: '/auth/signup',
    fields: ['email', 'password'],
    values: { returnTo },
    links: { signIn },
    choices: [toGitHub!, toGoogle!],
  },
  code: { kind: 'code_request', action: '/auth/code', fields: ['email'], values: { returnTo }, links: { signIn } },
  'code sent': {
    kind: 'code',
    action: '/auth/code',
    fields: ['code'],
    values: { email, returnTo },
    links: { signIn, resend: '/auth/code', otherAddress: `/auth/code?${at}` },
  },
  sso: { kind: 'sso', action: '/auth/sso', fields: ['email'], values: { returnTo }, links: { signIn } },
  forgot: { kind: 'forgot', action: '/auth/forgot', fields: ['email'], values: { returnTo }, links: { signIn } },
  'forgot, no address': {
    kind: 'no_address',
    values: { returnTo },
    links: { continue: returnTo, otherAccount: `${signIn}&prompt=login` },
  },
  'sign-in, no address, passkey': {
    kind: 'sign_in',
    values: { returnTo },
    links: { passkey: '/auth/passkey', otherAccount: `${signIn}&prompt=login`, home: '/' },
  },
  'password, signed in': {
    kind: 'password',
    action: '/auth/password',
    fields: ['currentPassword', 'password'],
    values: { email, returnTo },
    links: { forgot: `/auth/forgot?${at}`, cancel: returnTo, signOut: '/auth/logout' },
  },
  'password, after a link': {
    kind: 'password',
    action: '/auth/password',
    fields: ['password'],
    values: { email, returnTo },
    links: { signOut: '/auth/logout' },
  },
  confirm: {
    kind: 'confirm',
    action: '/auth/confirm',
    values: { returnTo: '/', type: 'email' },
  },
  'confirmation sent': {
    kind: 'confirmation_sent',
    action: '/auth/resend',
    values: { email, returnTo: '/' },
    links: { signIn: '/auth/login', forgot: '/auth/forgot' },
  },
  'mail sent again': {
    kind: 'mail_sent',
    action: '/auth/resend',
    values: { email, returnTo: '/' },
    links: { signIn: '/auth/login', forgot: '/auth/forgot' },
  },
  'recovery mail sent': {
    kind: 'forgot_sent',
    action: '/auth/forgot',
    values: { email, returnTo: '/' },
    links: { signIn: '/auth/login' },
  },
  'please sign in': {
    kind: 'please_sign_in',
    values: { returnTo: '/' },
    links: { signIn: '/auth/login', forgot: '/auth/forgot' },
  },
  'link expired': { kind: 'link_expired', values: { returnTo }, links: { forgot: `/auth/forgot?${at}`, signIn } },
  'one more link': { kind: 'address_change', values: { returnTo: '/' }, links: { continue: '/' } },
  'address changed': { kind: 'address_changed', values: { returnTo }, links: { signIn } },
  'address changed, signed in': { kind: 'address_changed', values: { returnTo }, links: { continue: returnTo } },
  'switch account': {
    kind: 'switch_account',
    action: '/auth/confirm',
    values: { returnTo, account: 'o', email: 'eve@example.com', signedInAs: email },
  },
  'switch account, signed out': {
    kind: 'switch_account',
    action: '/auth/confirm',
    values: { returnTo: '/', account: 'o', email: 'eve@example.com' },
  },
  verify: {
    kind: 'verify',
    action: '/auth/verify',
    fields: ['code'],
    values: { returnTo, factorId: 'a', factorType: 'totp' },
    links: { signOut: '/auth/logout' },
    choices: [toPhone],
  },
  'verify, no factor': {
    kind: 'verify',
    action: '/auth/verify',
    values: { returnTo },
    links: { signOut: '/auth/logout' },
  },
  factors: {
    kind: 'factors',
    action: '/auth/enroll',
    values: { returnTo },
    links: { done: returnTo },
    choices: [
      { name: 'Work', href: `/auth/enroll?remove=a&${at}` },
      { name: 'Phone ending in 123', href: `/auth/enroll?remove=b&${at}` },
    ],
  },
  enroll: {
    kind: 'enroll',
    action: '/auth/enroll',
    fields: ['code'],
    values: { returnTo, factorId: 'c' },
    links: { cancel: '/auth/enroll' },
  },
  'factor, remove': {
    kind: 'remove_factor',
    action: '/auth/enroll',
    values: { returnTo, remove: 'a', sure: 'yes', name: 'Work' },
    links: { cancel: `/auth/enroll?${at}` },
  },
  'factor, unavailable': {
    kind: 'factor_unavailable',
    values: { returnTo },
    links: { signOut: '/auth/logout' },
  },
  'factor, rejected': { kind: 'factor_rejected', values: { returnTo }, links: { signIn } },
  passkeys: {
    kind: 'passkeys',
    action: '/auth/passkeys',
    values: { returnTo },
    links: { done: returnTo },
    choices: [
      { name: 'Passkey', href: `/auth/passkeys?rename=p&${at}` },
      { name: 'iCloud Keychain', href: `/auth/passkeys?rename=q&${at}` },
    ],
  },
  'passkeys, offer': {
    kind: 'passkey_offer',
    values: { returnTo },
    links: { add: `/auth/passkeys?${at}`, continue: returnTo },
  },
  'passkeys, rename': {
    kind: 'rename_passkey',
    action: '/auth/passkeys',
    fields: ['name'],
    values: { returnTo, rename: 'q', name: 'iCloud Keychain' },
    links: { cancel: `/auth/passkeys?${at}` },
  },
  'passkeys, remove': {
    kind: 'remove_passkey',
    action: '/auth/passkeys',
    values: { returnTo, remove: 'q', sure: 'yes', name: 'iCloud Keychain' },
    links: { cancel: `/auth/passkeys?${at}` },
  },
  consent: {
    kind: 'consent',
    action: '/oauth/consent',
    values: {
      authorization_id: 'abc',
      account: email,
      app: 'Cursor',
      address: 'www.cursor.example',
      scopes: 'openid profile email',
      returnTo,
    },
    links: { signOut: '/auth/logout' },
  },
  'consent, expired': {
    kind: 'start_again',
    values: { account: email },
    links: { home: '/', signOut: '/auth/logout' },
  },
  'consent, answered before': { kind: 'start_again', values: { account: email, app: 'Cursor' }, links: { home: '/' } },
  'consent, on to the app': { kind: 'to_app', values: {} },
  'consent, back to the app': { kind: 'to_app', values: { app: 'Cursor' } },
  apps: {
    kind: 'apps',
    values: { returnTo },
    links: { done: returnTo },
    choices: [
      { name: 'Cursor', href: `/oauth/apps?revoke=d&${at}` },
      { name: expect.stringContaining('Donaudampf') as never, href: `/oauth/apps?revoke=e&${at}` },
      { name: 'Unnamed app', href: `/oauth/apps?revoke=&${at}` },
    ],
  },
  'apps, disconnect': {
    kind: 'disconnect_app',
    action: '/oauth/apps',
    values: { returnTo, revoke: 'd', sure: 'yes', app: 'Cursor' },
    links: { cancel: `/oauth/apps?${at}` },
  },
  'account, everything': {
    kind: 'account',
    values: { email, returnTo },
    links: { link: '/auth/account', signOut: '/auth/account', done: returnTo },
    choices: [
      { name: 'Email', href: `/auth/account?change=email&${at}` },
      { name: 'Password', href: `/auth/password?${fromAccount}` },
      { name: 'Two-step sign-in', href: `/auth/enroll?${fromAccount}` },
      { name: 'Passkeys', href: `/auth/passkeys?${fromAccount}` },
      { name: 'GitHub', href: `/auth/account?unlink=i&${at}` },
      { name: 'Keycloak', href: `/auth/account?unlink=j&${at}` },
    ],
  },
  'email, change': {
    kind: 'change_email',
    action: '/auth/account',
    fields: ['email'],
    values: { returnTo },
    links: { cancel: `/auth/account?${at}` },
  },
  'email, change sent': {
    kind: 'change_email_sent',
    values: { email: 'ada.lovelace@gmail.com', returnTo },
    links: { mail: 'https://mail.google.com/', done: `/auth/account?${at}` },
  },
  'provider, link': {
    kind: 'link_provider',
    values: {},
    links: { continue: 'https://github.com/login?a=1&b=2' },
  },
  'provider, unlink': {
    kind: 'unlink_provider',
    action: '/auth/account',
    values: { returnTo, unlink: 'i', sure: 'yes', provider: 'GitHub' },
    links: { cancel: `/auth/account?${at}` },
  },
};

describe('a page as data', () => {
  let states: ReturnType<typeof everyPageState>;
  beforeAll(() => {
    states = everyPageState();
  });

  it.each(Object.entries(data))('names its fields, values and ways on: %s', (state, expected) => {
    expect(dataOf(states[state])).toEqual(expected);
  });

  it('has every link, form and field of the HTML, with its text', () => {
    for (const [state, reply] of Object.entries(states)) {
      const { view, markup } = pageOf(reply);
      const main = markup.slice(markup.indexOf('<main>'), markup.indexOf('</main>'));
      const urls = [...main.matchAll(/<(?:a|form)\b[^>]*? (?:href|action)="([^"#]+)"/g)].map(([, url = '']) => url);
      // A form for GET has the query of its link in hidden fields.
      const search = view.links['search']?.replace(/\?.*/, '');
      const known = [view.action, search, ...Object.values(view.links), ...view.choices.map(({ href }) => href)];
      // Rows with two links lead to the same page about the same passkey. The address of an app holds a code.
      const unknown = urls.filter((url) => !known.includes(url.replaceAll('&amp;', '&')) && !url.includes('remove='));
      expect([state, view.kind === 'to_app' ? [] : unknown]).toEqual([state, []]);
      const inputs = [...main.matchAll(/<input id="([^"]+)"/g)].map(([, name]) => name);
      expect([
        state,
        // A template has all choices that were found, and may search in its own way by `links.search`.
        inputs.filter((name) => name !== 'search' && !view.fields.some((field) => field.name === name && field.label)),
      ]).toEqual([state, []]);
      const buttons = view.buttons.map(({ label }) => label);
      for (const text of [view.title, view.lead ?? '', ...buttons])
        expect([state, wordsOf(main)]).toEqual([state, expect.stringContaining(wordsOf(escaped(text)))]);
    }
  });

  it.each([
    ['switch account', ['Continue as eve@example.com: account=o', 'Stay signed in as ada@example.com: stay=yes']],
    ['verify, phone', ['Send a code: send=b']],
    ['verify, key and app', ['Continue: ']],
    ['sign-in, every way', ['Sign in: ']],
    ['consent', ['Allow: action=allow', 'Deny: action=deny']],
    ['passkeys', []],
  ])('%s has the buttons that a form without a script can send, each with what it says', (state, expected) => {
    const { buttons } = pageOf(states[state]).view;
    const said = buttons.map(({ label, name, value }) => `${label}: ${name === undefined ? '' : `${name}=${value}`}`);
    expect(said).toEqual(expected);
  });

  it('is named here for every kind of the adapter', () => {
    const ofOthers = ['error', 'sign_out', 'signing_out', 'organizations'];
    const kinds = new Set(Object.values(states).map((reply) => pageOf(reply).view.kind));
    expect(new Set([...Object.values(data).map(({ kind }) => kind), ...ofOthers])).toEqual(kinds);
  });

  it('has only the ways that the options leave', () => {
    const linksOf = (options: Parameters<typeof siteOf>[0]) =>
      Object.keys(dataOf(signInPage(siteOf(options), request, { returnTo })).links ?? {}).toSorted();
    expect(linksOf({ signUp: false })).toEqual(['forgot']);
    expect(linksOf({ signInMethods: ['password', 'passkey'] })).toEqual(['forgot', 'passkey', 'signUp']);
    expect(linksOf({ signInMethods: ['passkey'], sso: true })).toEqual(['passkey', 'sso']);
  });

  it('leads to the application’s own sign-up page, and keeps that another account is asked for', () => {
    const own = siteOf({ pages: { signUp: '/join?plan=free' } });
    const { values, links } = dataOf(signInPage(own, request, { returnTo, isOtherAccount: true }));
    expect(values).toEqual({ returnTo, prompt: 'login' });
    expect(links).toMatchObject({
      signUp: `/join?plan=free&${at}&prompt=login`,
      forgot: `/auth/forgot?${at}&prompt=login`,
    });
  });
});
