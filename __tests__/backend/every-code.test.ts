// Each route of the adapter meets each error code of GoTrue, those of tomorrow included.
import { englishText } from '../../lib/backend/pages/text.ts';
import { encodeSession } from '../support/backend-app.ts';
import { ada, callback, consentUrl, startConsentApp } from '../support/consent.ts';
import type { BackendApp } from '../support/backend-app.ts';
import { gotrueCodes } from '../support/gotrue-codes.ts';
import type { GoTrueCode } from '../support/gotrue-codes.ts';
import { createPageBrowser } from '../support/page-browser.ts';
import type { PageBrowser } from '../support/page-browser.ts';
import type { Endpoint } from '../../stand-ins/supabase/types.ts';

const codes: readonly GoTrueCode[] = [
  ...gotrueCodes,
  { status: 422, code: 'a_code_of_tomorrow' },
  { status: 404, code: 'a_code_of_tomorrow' },
];

let app: BackendApp;

beforeAll(async () => {
  app = await startConsentApp({
    standIn: { autoconfirm: false, mailFrequency: 0, anonymousUsers: true, oauthSessions: true, passkeys: true },
    options: { providers: ['github'], signInMethods: ['password', 'code', 'passkey'], sso: true, throttle: false },
  });
  app.supabase.addFactor(app.supabase.addUser(enrolled));
});
afterAll(() => app.close());

const enrolled = { email: 'enrolled@example.com', password: 'something else 1' };
const returnTo = '/account';

interface Route {
  readonly endpoint: Endpoint;
  /** Whether the person is signing in or up there. */
  readonly signsIn: boolean;
  /** Of a route that acts with the session's own token: where a sign-in leads back to. */
  readonly memberOf?: string;
  /** The browser as it is before the call that fails. */
  readonly prepare: (browser: PageBrowser) => Promise<unknown>;
  readonly send: (browser: PageBrowser) => Promise<unknown>;
}

const signIn = async (browser: PageBrowser): Promise<void> => {
  const value = encodeSession(await app.supabase.issueSession(ada.email));
  browser.jar.cookies.set(app.cookieName, value);
};
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
  const mail = app.supabase.mails.findLast(({ to }) => to === ada.email);
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
  'confirm, of a changed address': { ...link('email_change'), signsIn: true },
  'callback of OAuth, its code': {
    endpoint: 'pkce',
    signsIn: true,
    prepare: fromGithub,
    send: (browser) => browser.open(`${app.origin}/auth/callback?code=0123abcd`),
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
    prepare: pending,
    send: (browser) => browser.submit({ code: '123456' }),
  },
  'factors, the page that asks for one': {
    endpoint: 'user',
    signsIn: true,
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
    send: (browser) => browser.post('/auth/passkeys', { remove: '00000000-0000-4000-8000-000000000000', sure: 'yes' }),
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
    send: (browser) => browser.post('/oauth/apps', { revoke: '00000000-0000-4000-8000-000000000000', sure: 'yes' }),
  },
};

function ask(): string {
  const client = app.supabase.addClient({ name: 'Cursor', redirectUris: [callback] });
  return app.supabase.askConsent(client, { codeChallenge: 'x'.repeat(43), state: 's' });
}

function allow(browser: PageBrowser): Promise<unknown> {
  const form = browser.forms().find(({ fields }) => 'authorization_id' in fields);
  return browser.post('/oauth/consent', { ...form?.fields, action: 'allow' });
}

const wordsOf = ({ at }: PageBrowser): string =>
  at.answer.text
    .replaceAll(/<(?:head|script|style)\b[\s\S]*?<\/(?:head|script|style)>/g, ' ')
    .replaceAll(/<a\b[\s\S]*?<\/a>|<button\b[\s\S]*?<\/button>|<p class="reference"[\s\S]*?<\/p>/g, ' ')
    .replaceAll(/<[^>]*>/g, ' ')
    .replaceAll(/\s+/g, ' ');

interface Met {
  readonly refusal: GoTrueCode;
  readonly browser: PageBrowser;
}

/** The page after each code. */
async function meet(route: Route): Promise<readonly Met[]> {
  const all: Met[] = [];
  for (const refusal of codes) {
    // Each with a session of its own: some codes end it.
    const browser = createPageBrowser(app.origin);
    await route.prepare(browser);
    app.supabase.fail(route.endpoint, refusal);
    await route.send(browser);
    app.supabase.heal();
    all.push({ refusal, browser });
  }
  return all;
}

const pathOf = ({ at }: PageBrowser): string => new URL(at.url).pathname.slice(new URL(app.origin).pathname.length - 1);

/** Codes that say no more than that something did not work there. */
const unknownHere = ['unknown', 'a_code_of_tomorrow', 'mfa_factor_name_conflict', 'mfa_verified_factor_exists'];
const overCodes = ['session_not_found', 'session_expired', 'no_authorization', 'user_not_found'];
/** Where Supabase may have done what it was asked for, although its answer was lost. */
const outages = ['request_timeout', 'conflict', 'sms_send_failed', 'hook_timeout', 'hook_timeout_after_retry'];

describe.each(Object.entries(routes))('%s', (_, route) => {
  const { signsIn, memberOf } = route;
  let met: readonly Met[] = [];
  beforeAll(async () => {
    met = await meet(route);
  }, 300_000);

  /** The codes after which a page is wrong. */
  const codesWhere = (isWrong: (one: Met) => boolean): readonly string[] =>
    met.filter(isWrong).map(({ refusal }) => refusal.code);

  it('never calls a refusal of the project a cancellation', () => {
    const isCancellation = ({ browser }: Met): boolean =>
      wordsOf(browser).includes(englishText.canceledHeading) || browser.at.answer.text.includes('access_denied');
    expect([met.length, codesWhere(isCancellation)]).toEqual([codes.length, []]);
  });

  it('answers every code with a page, and with no error of the application', () => {
    const isWrong = ({ browser: { at } }: Met): boolean =>
      at.answer.status === 500 || !/<h1>|^account$|^home$/.test(at.answer.text);
    expect(codesWhere(isWrong)).toEqual([]);
  });

  if (!signsIn) {
    it('says nothing of a sign-in after codes that say no more, because no one signs in there', () => {
      const speaks = ({ refusal, browser: { at } }: Met): boolean => {
        const alert = /role="alert">([\s\S]*?)<\/p>/.exec(at.answer.text)?.[1] ?? '';
        return unknownHere.includes(refusal.code) && /sign(?:ed)?[- ](?:in|out)|sign_in/i.test(alert);
      };
      expect(codesWhere(speaks)).toEqual([]);
    });
  }

  // Whose user it is, GoTrue tells at any level.
  if (memberOf !== undefined && route.endpoint !== 'user') {
    it('leads to sign-in and back after a code that ends the session', () => {
      const staysHere = ({ refusal, browser }: Met): boolean => {
        const back = browser.forms().find(({ fields }) => 'password' in fields)?.fields['returnTo'] ?? '';
        const isThere = pathOf(browser) === '/auth/login' && back.startsWith(memberOf);
        return overCodes.includes(refusal.code) && !(isThere && !browser.jar.cookies.has(app.cookieName));
      };
      expect(codesWhere(staysHere)).toEqual([]);
    });

    it('leads to the page of the second factor after insufficient_aal', () => {
      // From there on to its enrollment where the account has none.
      const staysHere = ({ refusal, browser }: Met): boolean =>
        refusal.code === 'insufficient_aal' &&
        (browser.at.answer.status >= 400 || !/^\/auth\/(?:verify|enroll)$/.test(pathOf(browser)));
      expect(codesWhere(staysHere)).toEqual([]);
    });
  }

  it('says that a password may have been saved only after an outage', () => {
    const mayBe = codesWhere(({ browser }) => wordsOf(browser).includes(englishText.passwordMaybeSaved));
    expect(mayBe.filter((code) => !outages.includes(code))).toEqual(mayBe.length > 0 ? ['unexpected_failure'] : []);
  });
});

describe('a callback', () => {
  const query = '/auth/callback?error=server_error&error_code=insufficient_aal';

  it('with insufficient_aal leads someone who is signed in to the second factor', async () => {
    const browser = createPageBrowser(app.origin);
    await signIn(browser);
    await fromGithub(browser);
    await browser.open(app.origin + query);
    expect(browser.at.url).toContain(`/auth/enroll?returnTo=${encodeURIComponent(returnTo)}`);
  });

  it('with insufficient_aal is a failed sign-in for anyone else', async () => {
    const browser = createPageBrowser(app.origin);
    await browser.open(query);
    expect([browser.at.answer.status, browser.at.answer.text]).toEqual([
      400,
      expect.stringContaining('sign_in_failed'),
    ]);
  });
});
