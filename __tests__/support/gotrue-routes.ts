// Every route of the adapter that calls GoTrue, and every person who may meet a refusal there.
import { randomUUID } from 'node:crypto';
import { encodeSession } from './backend-app.ts';
import { ada, callback, consentUrl, startConsentApp } from './consent.ts';
import type { BackendApp } from './backend-app.ts';
import { guestAccount, openAsGuest } from './guest.ts';
import type { PageBrowser } from './page-browser.ts';
import type { Seen } from './sentences.ts';
import type { SessionOptions } from '../../stand-ins/supabase/sessions.ts';
import type { Endpoint, User } from '../../stand-ins/supabase/types.ts';

const enrolled = { email: 'enrolled@example.com', password: 'something else 1' };
const returnTo = '/account';
const noId = '00000000-0000-4000-8000-000000000000';

export async function startEveryRoute(): Promise<BackendApp> {
  const app = await startConsentApp({
    standIn: { autoconfirm: false, mailFrequency: 0, anonymousUsers: true, oauthSessions: true, passkeys: true },
    options: { providers: ['github'], signInMethods: ['password', 'code', 'passkey'], sso: true, throttle: false },
  });
  app.supabase.addFactor(app.supabase.addUser(enrolled));
  return app;
}

export interface Route {
  /** Which call fails. None where the code comes in the callback's query. */
  readonly endpoint?: Endpoint;
  /** Whether the person is signing in or up there. */
  readonly signsIn: boolean;
  /** Whose browser it is. Default: no one's; with `memberOf` a member's. */
  readonly person?: Seen['person'];
  /** Of a route that acts with the session's own token: where a sign-in leads back to. */
  readonly memberOf?: string;
  /** The codes that do not tell there whether another try helps. */
  readonly saysNoMore?: readonly string[];
  /** The browser as it is before the call that fails. */
  readonly prepare: (browser: PageBrowser) => Promise<unknown>;
  readonly send: (browser: PageBrowser, code: string) => Promise<unknown>;
}

interface SignIn extends SessionOptions {
  readonly user?: User | string;
}

/** @param app asked when a route is walked */
export function everyRoute(app: () => BackendApp) {
  const signIn = async (browser: PageBrowser, given: SignIn = {}): Promise<void> => {
    const { user = ada.email, ...session } = given;
    const value = encodeSession(await app().supabase.issueSession(user, session));
    browser.jar.cookies.set(app().cookieName, value);
  };
  const newUser = (): User => app().supabase.addUser({ email: `${randomUUID()}@example.com` });
  const asked = async (browser: PageBrowser): Promise<void> => {
    await browser.open(`/auth/forgot?returnTo=${returnTo}`);
    await browser.submit({ email: ada.email });
  };
  const asGuest = async (browser: PageBrowser): Promise<void> => {
    for (const [name, value] of (await openAsGuest(app())).jar.cookies) browser.jar.cookies.set(name, value);
    await browser.open(`/auth/signup?returnTo=${returnTo}`);
  };
  const answerChallenge = async (browser: PageBrowser, path: string): Promise<void> => {
    const { json } = await browser.jar.postJson(path, {});
    await browser.post(path, { challengeId: json.challengeId, credential: '{}' });
  };
  const withoutAddress = (): SignIn => ({
    user: app().supabase.addUser({ email: '' }),
    claims: { email: '', app_metadata: { provider: 'phone', providers: ['phone'] } },
  });
  const signedIn = (path: string) => async (browser: PageBrowser) => {
    await signIn(browser);
    await browser.open(path);
  };
  const opened = (path: string) => (browser: PageBrowser) => browser.open(path);
  const link = (type: string) => ({
    endpoint: 'verify' as const,
    prepare: opened(`/auth/confirm?token_hash=0123abcd&type=${type}&returnTo=${returnTo}`),
    send: (browser: PageBrowser) => browser.submit({ token_hash: '0123abcd' }),
  });
  const mailed = async (browser: PageBrowser): Promise<void> => {
    await browser.open('/auth/forgot');
    await browser.submit({ email: ada.email });
    const mail = app().supabase.mails.findLast(({ to }) => to === ada.email);
    await browser.open(`/auth/confirm?token_hash=${mail?.tokenHash}&type=recovery&returnTo=${returnTo}`);
    await browser.submit({ token_hash: mail?.tokenHash ?? '' });
  };
  const pending = async (browser: PageBrowser): Promise<void> => {
    await browser.open('/auth/login');
    await browser.submit(enrolled);
  };
  const fromGithub = async (browser: PageBrowser): Promise<void> => {
    await browser.open(`/auth/login?provider=github&returnTo=${returnTo}`);
  };

  const routes: Readonly<Record<string, Route>> = {
    'sign-in with a password': {
      endpoint: 'password',
      signsIn: true,
      prepare: opened(`/auth/login?returnTo=${returnTo}`),
      send: (browser) => browser.submit(ada),
    },
    'sign-up': {
      endpoint: 'signup',
      signsIn: true,
      prepare: opened(`/auth/signup?returnTo=${returnTo}`),
      send: (browser) => browser.submit({ email: 'new@example.com', password: 'something else 3' }),
    },
    'resend of a sign-up': {
      endpoint: 'resend',
      signsIn: false,
      prepare: opened('/auth/login'),
      send: (browser) => browser.post('/auth/resend', { email: ada.email }),
    },
    'reset, its mail': {
      endpoint: 'recover',
      signsIn: false,
      prepare: opened(`/auth/forgot?returnTo=${returnTo}`),
      send: (browser) => browser.submit({ email: ada.email }),
    },
    'reset, a password after its link': {
      endpoint: 'update-user',
      signsIn: false,
      prepare: mailed,
      send: (browser) => browser.submit({ password: 'a whole new password' }),
    },
    'reset, a password of someone signed in': {
      endpoint: 'update-user',
      signsIn: false,
      memberOf: '/auth/password',
      prepare: signedIn('/auth/password'),
      send: (browser) => browser.submit({ currentPassword: ada.password, password: 'a whole new password' }),
    },
    'reset, the current password': {
      endpoint: 'password',
      signsIn: false,
      person: 'member',
      prepare: signedIn('/auth/password'),
      send: (browser) => browser.submit({ currentPassword: ada.password, password: 'a whole new password' }),
    },
    'email-code, its mail': {
      endpoint: 'otp',
      signsIn: true,
      prepare: opened(`/auth/code?returnTo=${returnTo}`),
      send: (browser) => browser.submit({ email: ada.email }),
    },
    'email-code, its code': {
      endpoint: 'verify',
      signsIn: true,
      prepare: opened(`/auth/code?returnTo=${returnTo}`),
      send: (browser) => browser.post('/auth/code', { email: ada.email, code: '123456', returnTo }),
    },
    'confirm, of a sign-up': { ...link('signup'), signsIn: true },
    'confirm, of a magic link': { ...link('magiclink'), signsIn: true },
    'confirm, of an invitation': { ...link('invite'), signsIn: true },
    'confirm, of a reset': { ...link('recovery'), signsIn: true },
    'confirm, of a changed address': {
      ...link('email_change'),
      signsIn: true,
      saysNoMore: ['unexpected_failure'],
    },
    'callback of OAuth, its code': {
      endpoint: 'pkce',
      signsIn: true,
      prepare: fromGithub,
      send: (browser) => browser.open(`${app().origin}/auth/callback?code=${randomUUID()}`),
    },
    'callback of OAuth, its query': {
      signsIn: true,
      prepare: fromGithub,
      send: (browser, code) => browser.open(`${app().origin}/auth/callback?error=server_error&error_code=${code}`),
    },
    'callback of a mail link, its query': {
      signsIn: true,
      prepare: asked,
      send: (browser, code) => browser.open(`${app().origin}/auth/callback?error=access_denied&error_code=${code}`),
    },
    'callback in another browser, its query': {
      signsIn: true,
      prepare: opened('/'),
      send: (browser, code) => browser.open(`/auth/callback?error=access_denied&error_code=${code}`),
    },
    'callback of a mail link, its code': {
      endpoint: 'pkce',
      signsIn: true,
      prepare: asked,
      send: (browser) => browser.open(`/auth/callback?code=${randomUUID()}`),
    },
    'a guarded page, whose session is renewed': {
      endpoint: 'refresh',
      signsIn: true,
      person: 'member',
      prepare: (browser) => signIn(browser, { ttl: -60 }),
      send: (browser) => browser.open(returnTo),
    },
    'sign-up of a guest': {
      endpoint: 'update-user',
      signsIn: true,
      person: 'guest',
      prepare: asGuest,
      send: (browser) => browser.submit(guestAccount),
    },
    'sign-up of a guest, who may have an account by now': {
      endpoint: 'user',
      signsIn: true,
      person: 'guest',
      prepare: asGuest,
      send: (browser) => browser.submit(guestAccount),
    },
    'sign-out': {
      endpoint: 'logout',
      signsIn: false,
      person: 'member',
      prepare: signIn,
      send: (browser) => browser.post('/auth/logout', {}),
    },
    sso: {
      endpoint: 'sso',
      signsIn: true,
      prepare: opened(`/auth/sso?returnTo=${returnTo}`),
      send: (browser) => browser.submit({ email: 'ada@example.org' }),
    },
    'factors, a code at sign-in': {
      endpoint: 'verify-factor',
      signsIn: true,
      person: 'first factor',
      prepare: pending,
      send: (browser) => browser.submit({ code: '123456' }),
    },
    'factors, the page that asks for one': {
      endpoint: 'user',
      signsIn: true,
      person: 'first factor',
      prepare: pending,
      send: (browser) => browser.open('/auth/verify'),
    },
    'factors, the list': {
      endpoint: 'user',
      signsIn: false,
      memberOf: '',
      prepare: signIn,
      send: (browser) => browser.open('/auth/enroll'),
    },
    'factors, adding one': {
      endpoint: 'enroll',
      signsIn: false,
      memberOf: '',
      prepare: signedIn('/auth/enroll'),
      send: (browser) => browser.post('/auth/enroll', {}),
    },
    'factors, the code of a new one': {
      endpoint: 'verify-factor',
      signsIn: false,
      memberOf: '',
      async prepare(browser) {
        await signIn(browser, { user: newUser() });
        await browser.open(`/auth/enroll?returnTo=${returnTo}`);
        await browser.post('/auth/enroll', { returnTo });
      },
      send: (browser) => browser.submit({ code: '123456' }),
    },
    'factors, removing one': {
      endpoint: 'unenroll',
      signsIn: false,
      memberOf: '',
      prepare: signedIn('/auth/enroll'),
      send: (browser) => browser.post('/auth/enroll', { remove: noId, sure: 'yes' }),
    },
    'factors, the list of an account without an address': {
      endpoint: 'user',
      signsIn: false,
      person: 'member',
      prepare: (browser) => signIn(browser, withoutAddress()),
      send: (browser) => browser.open(`/auth/enroll?returnTo=${returnTo}`),
    },
    'the account': {
      endpoint: 'user',
      signsIn: false,
      memberOf: '/auth/account',
      prepare: signIn,
      send: (browser) => browser.open('/auth/account'),
    },
    'the account, signing out others': {
      endpoint: 'logout',
      signsIn: false,
      person: 'member',
      // The sessions of the others' user would end, too.
      prepare: (browser) => signIn(browser, { user: newUser() }),
      send: (browser) => browser.post('/auth/account', { signOut: 'others' }),
    },
    'passkeys, the list': {
      endpoint: 'passkeys',
      signsIn: false,
      memberOf: '/auth/passkeys',
      prepare: signIn,
      send: (browser) => browser.open('/auth/passkeys'),
    },
    'passkeys, removing one': {
      endpoint: 'remove-passkey',
      signsIn: false,
      memberOf: '/auth/passkeys',
      prepare: signIn,
      send: (browser) => browser.post('/auth/passkeys', { remove: noId, sure: 'yes' }),
    },
    'passkeys, renaming one': {
      endpoint: 'rename-passkey',
      signsIn: false,
      memberOf: '/auth/passkeys',
      prepare: signIn,
      send: (browser) => browser.post('/auth/passkeys', { rename: noId, name: 'Mine' }),
    },
    'passkeys, the answer of sign-in': {
      endpoint: 'passkey-verify',
      signsIn: true,
      prepare: opened('/auth/login'),
      send: (browser) => answerChallenge(browser, '/auth/passkey'),
    },
    'passkeys, the answer of a new one': {
      endpoint: 'add-passkey',
      signsIn: false,
      memberOf: '/auth/passkeys',
      prepare: signedIn('/auth/passkeys'),
      send: (browser) => answerChallenge(browser, '/auth/passkeys'),
    },
    'passkeys, a challenge of sign-in': {
      endpoint: 'passkey-options',
      signsIn: true,
      prepare: opened('/auth/login'),
      send: (browser) => browser.post('/auth/passkey', { credential: '' }),
    },
    'passkeys, a challenge for a new one': {
      endpoint: 'add-passkey-options',
      signsIn: false,
      memberOf: '/auth/passkeys',
      prepare: signIn,
      send: (browser) => browser.post('/auth/passkeys', { credential: '' }),
    },
    'consent, the question': {
      endpoint: 'authorization',
      signsIn: false,
      memberOf: '/oauth/consent',
      prepare: signIn,
      send: (browser) => browser.open(consentUrl(ask())),
    },
    'consent, the answer': {
      endpoint: 'consent',
      signsIn: false,
      memberOf: '/oauth/consent',
      prepare: signIn,
      async send(browser) {
        await browser.open(consentUrl(ask()));
        await allow(browser);
      },
    },
    'consent, the connected apps': {
      endpoint: 'grants',
      signsIn: false,
      memberOf: '/oauth/apps',
      prepare: signIn,
      send: (browser) => browser.open('/oauth/apps'),
    },
    'consent, disconnecting an app': {
      endpoint: 'revoke-grant',
      signsIn: false,
      memberOf: '/oauth/apps',
      prepare: signIn,
      send: (browser) => browser.post('/oauth/apps', { revoke: noId, sure: 'yes' }),
    },
  };
  return { routes, signIn, fromGithub };

  function ask(): string {
    const client = app().supabase.addClient({ name: 'Cursor', redirectUris: [callback] });
    return app().supabase.askConsent(client, { codeChallenge: 'x'.repeat(43), state: 's' });
  }

  function allow(browser: PageBrowser): Promise<unknown> {
    const form = browser.forms().find(({ fields }) => 'authorization_id' in fields);
    return browser.post('/oauth/consent', { ...form?.fields, action: 'allow' });
  }
}
