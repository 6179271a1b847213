// Every refusal leads on: by the page's own links and forms alone, to a sign-in as another person or to a sign-out.
import { AuthError } from '../../lib/errors.ts';
import type { AuthErrorCode } from '../../lib/errors.ts';
import { requireSession } from '../../lib/backend/index.ts';
import { setSession, startBackendApp } from '../support/backend-app.ts';
import type { BackendApp } from '../support/backend-app.ts';
import { sendText } from '../support/hosts.ts';
import { createPageBrowser } from '../support/page-browser.ts';
import type { PageBrowser } from '../support/page-browser.ts';

const bob = { email: 'bob@example.com', password: 'a second account 1' };

let app: BackendApp;
let count = 0;
/** The person who is refused. */
let person: typeof bob;
let browser: PageBrowser;
let isAccepted = true;
let refuseSignIn: AuthErrorCode | undefined;

beforeAll(async () => {
  app = await startBackendApp({
    standIn: { mailFrequency: 0, anonymousUsers: true, oauthSessions: true, ssoDomains: new Set(['example.com']) },
    options: {
      providers: ['github'],
      signInMethods: ['password', 'code'],
      sso: true,
      throttle: false,
      accept: ({ user }) => isAccepted || user.email !== person.email,
      onSignIn: ({ session }) => {
        if (refuseSignIn !== undefined && session.user.email === person.email) throw new AuthError(refuseSignIn);
      },
    },
    after: (host) => {
      const members = requireSession({ check: ({ user }) => user.email !== person.email });
      host.get('/members', members, (_req, res) => sendText(res, 'members'));
      host.get('/fresh', requireSession({ maxAge: 60 }), (_req, res) => sendText(res, 'fresh'));
      host.get('/vault', requireSession({ aal: 'aal2' }), (_req, res) => sendText(res, 'vault'));
      host.get('/enrolled', requireSession({ aal: 'enrolled' }), (_req, res) => sendText(res, 'enrolled'));
    },
  });
  app.supabase.addUser(bob);
});
beforeEach(() => {
  count += 1;
  person = { email: `person${count}@example.com`, password: 'correct horse battery' };
  browser = createPageBrowser(app.origin);
});
afterEach(heal);
afterAll(() => app.close());

/** What refused the person, and not their account, is over. */
function heal(): void {
  app.supabase.heal();
  const switches = { newUsersRefused: false, signupDisabled: false, factorCodesRejected: false, totpFactors: true };
  Object.assign(app.supabase.switches, { ...switches, tokenClaims: {}, autoconfirm: true });
}

const emailOf = async ({ jar }: PageBrowser): Promise<string | undefined> =>
  (await jar.getJson('/auth/session')).json.user?.email;
const pathOf = (url: string): string =>
  new URL(url, browser.at.url).pathname.slice(new URL(app.origin).pathname.length - 1);
const isOwn = (url: string): boolean => new URL(url, browser.at.url).origin === app.origin;
const addPerson = (user: Partial<Parameters<BackendApp['supabase']['addUser']>[0]> = {}) =>
  app.supabase.addUser({ ...person, ...user });

/** As many clicks as a person would try. */
const maxClicks = 2;

/**
 * Clicks through the page's own links until a form signs another person in or signs this one out.
 *
 * @returns the page that the other person then sees
 */
async function leave(): Promise<string> {
  const queue = [{ page: browser.fork(), clicks: 0 }];
  const seen = new Set<string>();
  for (const { page, clicks } of queue) {
    const forms = page.forms();
    const has = (path: string, names: readonly string[]) =>
      forms.some(({ action, fields }) => pathOf(action) === path && names.every((name) => name in fields));
    if (has('/auth/login', ['email', 'password'])) {
      await page.submit(bob);
      expect(await emailOf(page)).toBe(bob.email);
      return pathOf(page.at.url);
    }
    const signOut = forms.find(({ action }) => pathOf(action) === '/auth/logout');
    if (signOut !== undefined) {
      await page.post(signOut.action, signOut.fields);
      const isHeld = (name: string): boolean => /^(-pending)?(\.\d+)?$/.test(name.slice(app.cookieName.length));
      expect([...page.jar.cookies.keys()].filter(isHeld)).toEqual([]);
      if (pathOf(page.at.url) !== '/auth/login') await page.open('/auth/login');
      await page.submit(bob);
      expect(await emailOf(page)).toBe(bob.email);
      return pathOf(page.at.url);
    }
    if (clicks === maxClicks) continue;
    for (const { href } of page.links()) {
      if (!isOwn(href) || href.includes('provider=') || seen.has(href)) continue;
      seen.add(href);
      const next = page.fork();
      await next.open(href);
      queue.push({ page: next, clicks: clicks + 1 });
    }
  }
  throw new Error(`No way on: ${browser.at.url} ${browser.at.answer.text}`);
}

async function signIn(to = '/account'): Promise<void> {
  await browser.open(`/auth/login?returnTo=${encodeURIComponent(to)}`);
  await browser.submit({ email: person.email, password: person.password });
}

async function signUp(): Promise<void> {
  await browser.open('/auth/signup?returnTo=/account');
  await browser.submit({ email: person.email, password: person.password });
}

/** Presses the button behind an email's link. */
async function openMail(type: string): Promise<void> {
  const mail = app.supabase.mails.findLast(({ to }) => to === person.email);
  await browser.open(`/auth/confirm?token_hash=${mail?.tokenHash}&type=${type}&returnTo=/account`);
  await browser.submit({ token_hash: mail?.tokenHash ?? '' });
}

async function choosePassword(): Promise<void> {
  if (browser.at.answer.status < 400) await browser.submit({ password: 'a whole new password' });
}

const approve = (): Promise<unknown> => browser.post(browser.at.url, { decision: 'approve', email: person.email });

async function startAsGuest(): Promise<void> {
  const answer = await fetch(`${app.supabase.url}/auth/v1/signup`, {
    method: 'POST',
    headers: { apikey: app.supabase.publishableKey, 'content-type': 'application/json' },
    body: '{}',
  });
  setSession(browser.jar, await answer.json());
}

const arrivals: Readonly<Record<string, () => Promise<unknown>>> = {
  async 'a password'() {
    addPerson();
    await signIn();
  },
  'a sign-up': signUp,
  async 'a sign-up of a guest'() {
    await startAsGuest();
    await signUp();
  },
  async 'an emailed code'() {
    addPerson();
    await browser.open('/auth/code?returnTo=/account');
    await browser.submit({ email: person.email });
    await browser.submit({ code: app.supabase.mails.findLast(({ to }) => to === person.email)?.token ?? '' });
  },
  async 'an emailed link'() {
    addPerson();
    await browser.open('/auth/code?returnTo=/account');
    await browser.submit({ email: person.email });
    await openMail('magiclink');
  },
  async 'an emailed link that leads to the callback'() {
    addPerson();
    await browser.open('/auth/code?returnTo=/account');
    await browser.submit({ email: person.email });
    await browser.open(app.supabase.mails.findLast(({ to }) => to === person.email)?.confirmationUrl ?? '');
  },
  async OAuth() {
    addPerson();
    await browser.open('/auth/login?provider=github&returnTo=/account');
    await approve();
  },
  async 'single sign-on'() {
    await browser.open('/auth/sso?returnTo=/account');
    await browser.submit({ email: person.email });
    await approve();
  },
  async 'a link for a new password'() {
    addPerson();
    await browser.open('/auth/forgot?returnTo=/account');
    await browser.submit({ email: person.email });
    await openMail('recovery');
    await choosePassword();
  },
  async 'an invitation'() {
    await app.supabase.invite(person.email);
    await openMail('invite');
    await choosePassword();
  },
  async 'a second factor'() {
    const factor = app.supabase.addFactor(addPerson());
    await signIn();
    if (browser.at.answer.status < 400) await browser.submit({ code: app.supabase.codeOf(factor) });
  },
  async 'a sign-in beside another session'() {
    addPerson();
    app.supabase.addUser({ email: `other${count}@example.com`, password: 'something else 1' });
    await browser.open('/auth/login');
    await browser.submit({ email: `other${count}@example.com`, password: 'something else 1' });
    await browser.open('/auth/login?prompt=login&returnTo=/account');
    await browser.submit({ email: person.email, password: person.password });
  },
};

const hookRefusals: readonly AuthErrorCode[] = [
  'forbidden',
  'user_banned',
  'access_denied',
  'email_not_confirmed',
  'signup_disabled',
  'signup_refused',
  'email_in_use',
  'identity_in_use',
  'link_expired',
  'code_rejected',
  'second_factor_required',
  'session_too_large',
  'token_rejected',
  'invalid_state',
  'factor_unavailable',
  'organization_required',
  'rate_limited',
  'unauthenticated',
  'provider_refused',
  'provider_unavailable',
];

describe.each(Object.keys(arrivals))('a sign-in by %s', (arrival) => {
  const arrive = () => arrivals[arrival]?.();
  afterEach(() => {
    refuseSignIn = undefined;
    isAccepted = true;
  });

  it.each(hookRefusals)('that onSignIn refuses with %s leads on', async (code) => {
    refuseSignIn = code;
    await arrive();
    expect(browser.at.answer.status).toBe(new AuthError(code).status);
    expect(await emailOf(browser)).not.toBe(person.email);
    await leave();
  });

  it('that accept refuses leads on, with returnTo', async () => {
    isAccepted = false;
    await arrive();
    expect(browser.at.answer.status).toBe(403);
    expect(await leave()).toBe('/account');
  });

  it('whose token is refused leads on', async () => {
    app.supabase.switches.tokenClaims = { role: 'other' };
    await arrive();
    expect(browser.at.answer.status).toBe(502);
    heal();
    await leave();
  });
});

const large = { text: 'x'.repeat(20_000) };

interface Refusal {
  readonly what: string;
  readonly status: number;
  readonly arrive: () => Promise<unknown>;
}

/** Refusals by the backend, by a guard and by the account's own pages. */
const refusals: readonly Refusal[] = [
  {
    what: 'a banned user',
    status: 403,
    arrive: () => (addPerson({ banned: true }), signIn()),
  },
  {
    what: 'a banned user of a provider',
    status: 403,
    async arrive() {
      addPerson({ banned: true });
      await browser.open('/auth/login?provider=github');
      await approve();
    },
  },
  {
    what: 'a wrong password',
    status: 401,
    arrive: () => signIn(),
  },
  {
    what: 'an unconfirmed address',
    status: 403,
    arrive: () => (addPerson({ confirmed: false }), signIn()),
  },
  {
    what: 'a session that is too large',
    status: 422,
    arrive: () => (addPerson({ metadata: large }), signIn()),
  },
  {
    what: 'a session of a provider that is too large',
    status: 422,
    async arrive() {
      addPerson({ metadata: large });
      await browser.open('/auth/login?provider=github');
      await approve();
    },
  },
  {
    what: 'a pending sign-in that is too large',
    status: 422,
    arrive: () => (app.supabase.addFactor(addPerson({ metadata: large })), signIn()),
  },
  {
    what: 'a new user whom a hook refuses',
    status: 403,
    arrive: () => ((app.supabase.switches.newUsersRefused = true), signUp()),
  },
  {
    what: 'a closed sign-up',
    status: 403,
    arrive: () => ((app.supabase.switches.signupDisabled = true), signUp()),
  },
  {
    what: 'a sign-in that was canceled',
    status: 403,
    async arrive() {
      await browser.open('/auth/login?provider=github');
      await browser.post(browser.at.url, { decision: 'deny' });
    },
  },
  ...[
    ['identity_already_exists', 409],
    ['server_error', 400],
    ['signup_disabled', 403],
    ['otp_expired', 400],
    ['bad_oauth_state', 400],
    ['provider_email_needs_verification', 403],
  ].map(([code, status]) => ({
    what: `the callback’s error ${code}`,
    status: Number(status),
    async arrive() {
      addPerson();
      await signIn();
      await browser.open('/auth/login?provider=github');
      await browser.open(`${app.origin}/auth/callback?error=server_error&error_code=${code}`);
    },
  })),
  {
    what: 'a code without a flow',
    status: 400,
    arrive: () => browser.post(`${app.origin}/auth/login`, { email: 'x' }).then(() => browser.open('/auth/callback')),
  },
  {
    what: 'a link that was used',
    status: 400,
    async arrive() {
      await browser.open('/auth/confirm?token_hash=gone&type=magiclink&returnTo=/account');
      await browser.submit({ token_hash: 'gone' });
    },
  },
  {
    what: 'a link for a new password that was used',
    status: 400,
    async arrive() {
      await browser.open('/auth/confirm?token_hash=gone&type=recovery&returnTo=/account');
      await browser.submit({ token_hash: 'gone' });
    },
  },
  {
    what: 'a new password that is too weak',
    status: 422,
    async arrive() {
      addPerson();
      await browser.open('/auth/forgot');
      await browser.submit({ email: person.email });
      await openMail('recovery');
      await browser.submit({ password: 'x' });
    },
  },
  {
    what: 'a link that could not be checked',
    status: 503,
    async arrive() {
      await browser.open('/auth/confirm?token_hash=later&type=magiclink&returnTo=/account');
      app.supabase.fail('verify', 503);
      await browser.submit({ token_hash: 'later' });
    },
  },
  {
    what: 'a current password that is wrong',
    status: 422,
    async arrive() {
      addPerson();
      await signIn();
      await browser.open('/auth/password?returnTo=/account');
      await browser.submit({ currentPassword: 'not this one', password: 'a whole new password' });
    },
  },
  {
    what: 'a second factor whose code is wrong',
    status: 422,
    async arrive() {
      app.supabase.addFactor(addPerson());
      await signIn();
      await browser.submit({ code: '000000' });
    },
  },
  {
    what: 'a second factor that cannot be asked for',
    status: 422,
    arrive: () => (app.supabase.addFactor(addPerson(), { type: 'webauthn' }), signIn()),
  },
  {
    what: 'a code that the project’s hook rejects',
    status: 403,
    async arrive() {
      const factor = app.supabase.addFactor(addPerson());
      await signIn();
      app.supabase.switches.factorCodesRejected = true;
      await browser.submit({ code: app.supabase.codeOf(factor) });
    },
  },
  {
    what: 'a guard’s check',
    status: 403,
    arrive: () => (addPerson(), signIn('/members')),
  },
  {
    what: 'a guard, of an account that accept no longer accepts',
    status: 403,
    async arrive() {
      addPerson();
      await signIn();
      isAccepted = false;
      // The next token is asked about again.
      setSession(browser.jar, await app.supabase.issueSession(person.email));
      await browser.open('/api/me');
    },
  },
  {
    what: 'a guard that asks for the second factor, with a factor',
    status: 200,
    async arrive() {
      const user = addPerson();
      await signIn();
      app.supabase.addFactor(user);
      await browser.open('/vault');
    },
  },
  {
    what: 'a guard that asks for the second factor, with a wrong code',
    status: 422,
    async arrive() {
      const user = addPerson();
      await signIn();
      app.supabase.addFactor(user);
      await browser.open('/enrolled');
      await browser.submit({ code: '000000' });
    },
  },
  {
    what: 'a guard that asks for the second factor, without one',
    status: 200,
    arrive: () => (addPerson(), signIn('/vault')),
  },
  {
    what: 'a guard that asks for the second factor, where none can be added',
    status: 422,
    async arrive() {
      addPerson();
      await signIn('/vault');
      app.supabase.switches.totpFactors = false;
      await browser.post('/auth/enroll', { returnTo: '/vault' });
    },
  },
  {
    what: 'a guard that asks for the second factor, of a type that cannot be asked for',
    status: 422,
    async arrive() {
      const user = addPerson();
      await signIn();
      app.supabase.addFactor(user, { type: 'webauthn' });
      await browser.open('/vault');
    },
  },
  {
    what: 'a guard that asks for a new sign-in, after one that was none',
    status: 403,
    async arrive() {
      addPerson();
      await signIn();
      const amr = [{ method: 'password', timestamp: Math.floor(app.clock.now() / 1000) - 3_600 }];
      const old = async () =>
        setSession(browser.jar, await app.supabase.issueSession(person.email, { claims: { amr } }));
      await old();
      await browser.open('/fresh');
      await old();
      await browser.open('/fresh');
    },
  },
  {
    what: 'a guard, after the backend has ended the session',
    status: 200,
    async arrive() {
      const user = addPerson();
      await signIn();
      for (const { id } of app.supabase.sessionsOf(user)) app.supabase.revokeSession(id);
      await browser.open('/enrolled');
    },
  },
  {
    what: 'a guest who wants a second factor',
    status: 200,
    arrive: () => startAsGuest().then(() => browser.open('/auth/enroll')),
  },
  {
    what: 'an account of an organization that wants a password',
    status: 403,
    async arrive() {
      await browser.open('/auth/sso?returnTo=/account');
      await browser.submit({ email: person.email });
      await approve();
      await browser.open('/auth/password');
    },
  },
  {
    what: 'a form from another site',
    status: 403,
    async arrive() {
      addPerson();
      await signIn();
      const answer = await browser.jar.post('/auth/login', { headers: { origin: 'https://evil.example' } });
      Object.assign(browser.at, { answer });
    },
  },
];

it.each(refusals)('$what leads on', async ({ status, arrive }) => {
  await arrive();
  expect([browser.at.answer.status, browser.at.url]).toEqual([status, browser.at.url]);
  heal();
  await leave();
  isAccepted = true;
});

describe('a person whom the provider remembers', () => {
  afterEach(() => void (isAccepted = true));

  /** Where the page's only link or button to this leads. */
  function linkTo(part: string): string {
    const found = browser.links().filter(({ href }) => href.includes(part));
    if (found.length !== 1) throw new Error(`${found.length} links to ${part}: ${browser.at.answer.text}`);
    return found[0]?.href ?? '';
  }
  const otherAccount = () => browser.open(linkTo('prompt=login'));
  const viaGithub = () => browser.open(linkTo('provider=github'));
  const isAsked = (): boolean => !isOwn(browser.at.url);
  async function goOnAsBob(): Promise<void> {
    expect(isAsked()).toBe(true);
    isAccepted = true;
    await browser.post(browser.at.url, { decision: 'approve', email: bob.email });
    expect(await emailOf(browser)).toBe(bob.email);
  }
  const arriveRefused = async (): Promise<void> => {
    isAccepted = false;
    await arrivals['OAuth']?.();
    expect(browser.at.answer.status).toBe(403);
  };

  it('is signed in without a question, unless they ask for another account', async () => {
    await arrivals['OAuth']?.();
    await browser.open('/auth/logout');
    await browser.submit({});
    await browser.open('/auth/login?provider=github');
    expect([isAsked(), await emailOf(browser)]).toEqual([false, person.email]);
  });

  it('can choose another account there after a refusal', async () => {
    await arriveRefused();
    await otherAccount();
    await viaGithub();
    await goOnAsBob();
    expect(pathOf(browser.at.url)).toBe('/account');
  });

  it('can choose another account there after a guard’s check', async () => {
    addPerson();
    await browser.open('/auth/login?provider=github&returnTo=/members');
    await approve();
    expect(browser.at.answer.status).toBe(403);
    await otherAccount();
    await viaGithub();
    await goOnAsBob();
    expect(browser.at.answer.text).toBe('members');
  });

  it('can choose another account there from the page that names theirs', async () => {
    await arrivals['OAuth']?.();
    await browser.open('/auth/login?returnTo=/account');
    await otherAccount();
    await viaGithub();
    await goOnAsBob();
  });

  it('can choose another account there after a wrong password and from the sign-up page', async () => {
    await arriveRefused();
    await otherAccount();
    await browser.submit({ email: person.email, password: 'not this one' });
    expect(browser.at.answer.status).toBe(401);
    const failed = browser.fork();
    await browser.open(linkTo('/auth/signup'));
    await browser.submit({ email: 'no address', password: 'x' });
    expect(browser.at.answer.status).toBe(400);
    await viaGithub();
    expect(isAsked()).toBe(true);
    browser = failed;
    await viaGithub();
    await goOnAsBob();
  });

  it('can choose another account there while the second factor is missing', async () => {
    app.supabase.addFactor(addPerson());
    await browser.open('/auth/login?provider=github&returnTo=/account');
    await approve();
    const leaving = browser.forms().find(({ action }) => pathOf(action) === '/auth/logout');
    await browser.post(leaving?.action ?? '', leaving?.fields ?? {});
    expect(pathOf(browser.at.url)).toBe('/auth/login');
    await viaGithub();
    await goOnAsBob();
    expect(pathOf(browser.at.url)).toBe('/account');
  });
});

describe('a refusal leads back to where the person wanted to go', () => {
  afterEach(() => void (isAccepted = true));

  it('after a link that was used', async () => {
    await browser.open('/auth/confirm?token_hash=gone&type=magiclink&returnTo=/account');
    await browser.submit({ token_hash: 'gone' });
    expect([browser.at.answer.status, await leave()]).toEqual([400, '/account']);
  });

  it('after an outage at the callback', async () => {
    await browser.open('/auth/login?provider=github&returnTo=/account');
    app.supabase.fail('pkce', 503);
    await approve();
    expect(browser.at.answer.status).toBe(503);
    heal();
    expect(browser.links().map(({ href }) => href)).toContain('');
    await browser.open('');
    await browser.submit(bob);
    expect(pathOf(browser.at.url)).toBe('/account');
  });

  it('after the older of two sign-ins', async () => {
    addPerson();
    isAccepted = false;
    await browser.open('/auth/login?provider=github&returnTo=/account');
    const consent = browser.at.url;
    await browser.jar.get('/auth/login?provider=github&returnTo=/members');
    await browser.post(consent, { decision: 'approve', email: person.email });
    expect([browser.at.answer.status, await leave()]).toEqual([403, '/account']);
  });

  it('after a callback that came twice', async () => {
    isAccepted = false;
    await browser.open('/auth/login?provider=github&returnTo=/account');
    await approve();
    await browser.open('');
    expect([browser.at.answer.status, await leave()]).toEqual([403, '/account']);
  });
});
