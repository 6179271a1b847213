import { getSupabaseClient } from '../../lib/backend/index.ts';
import { ada, continueAsOther, postForm, startBackendApp } from '../support/backend-app.ts';
import type { BackendApp, BackendAppSetup } from '../support/backend-app.ts';
import { sendText } from '../support/hosts.ts';
import { until } from '../support/until.ts';
import type { Visitor } from '../support/visitor.ts';

let app: BackendApp;
/** The users of whom `onSignIn` was told. */
let hooked: (string | null)[];
afterEach(() => app.close());

const bob = { email: 'bob@example.com', password: 'a second account 1' };
const eve = { email: 'eve@example.com', password: 'battery staple' };
const fresh = 'another battery staple';

async function start({ options, ...setup }: BackendAppSetup = {}): Promise<void> {
  hooked = [];
  const onSignIn = ({ session }: { session: { user: { email: string | null } } }): void =>
    void hooked.push(session.user.email);
  app = await startBackendApp({
    ...setup,
    options: { signInMethods: ['password', 'code'], throttle: false, onSignIn, ...options },
    standIn: { autoconfirm: false, ...setup.standIn },
  });
  app.supabase.switches.mailFrequency = 0;
  app.supabase.addUser(bob);
}

/** A browser that is signed in as Bob. */
async function bobsBrowser(): Promise<Visitor> {
  const visitor = app.visitor();
  expect((await visitor.postJson('/auth/login', bob)).status).toBe(200);
  hooked.splice(0);
  app.events.splice(0);
  return visitor;
}

const userIn = async (visitor: Visitor): Promise<string | undefined> =>
  (await visitor.getJson('/auth/session')).json.user?.email;
const sessionsOf = (email: string): number => app.supabase.sessionsOf(email).length;
const hasPending = ({ cookies }: Visitor): boolean => [...cookies.keys()].some((name) => name.endsWith('-pending'));

/** The link of each kind of email, of an account other than Bob's. */
const links: Readonly<Record<string, () => Promise<string>>> = {
  async magiclink() {
    await app.visitor().postJson('/auth/code', { email: ada.email });
    return ada.email;
  },
  async email() {
    await app.visitor().postJson('/auth/code', { email: ada.email });
    return ada.email;
  },
  async signup() {
    await app.visitor().postJson('/auth/signup', eve);
    return eve.email;
  },
  async invite() {
    await app.supabase.invite(eve.email);
    return eve.email;
  },
  async recovery() {
    await app.visitor().postJson('/auth/forgot', { email: ada.email });
    return ada.email;
  },
};

const lastLink = (type: string) => ({ token_hash: app.supabase.mails.at(-1)!.tokenHash, type, returnTo: '/account' });
const question = '/auth/confirm?returnTo=%2Faccount';

describe.each(Object.keys(links))('an email’s link of the kind %s, pressed where another user is signed in', (type) => {
  const isForPassword = type === 'recovery' || type === 'invite';

  async function press(visitor: Visitor): Promise<string> {
    const email = await links[type]!();
    const pressed = await postForm(visitor, '/auth/confirm', lastLink(type));
    expect([pressed.status, pressed.headers.location]).toEqual([303, question]);
    return email;
  }

  it('asks first, names both, and changes nothing', async () => {
    await start();
    const visitor = await bobsBrowser();
    const other = await press(visitor);
    const page = await visitor.get(question);
    expect(page.status).toBe(200);
    expect(page.text).toContain(`<strong dir="auto">${bob.email}</strong>`);
    expect(page.text).toContain(`<strong dir="auto">${other}</strong>`);
    expect([await userIn(visitor), hooked, app.eventTypes()]).toEqual([bob.email, [], []]);
    expect((await visitor.get('/account')).text).toBe('account');
  });

  it('signs in after "Continue as …", and ends the session that it replaces', async () => {
    await start();
    const visitor = await bobsBrowser();
    const other = await press(visitor);
    const done = await continueAsOther(visitor, question);
    expect(done.status).toBe(303);
    if (isForPassword) {
      expect([done.headers.location, await userIn(visitor)]).toEqual(['/auth/password?returnTo=%2Faccount', bob.email]);
      const saved = await postForm(visitor, '/auth/password', { password: fresh, returnTo: '/account' });
      expect(saved.headers.location).toBe('/account');
    } else expect(done.headers.location).toBe('/account');
    expect([await userIn(visitor), hooked, hasPending(visitor)]).toEqual([other, [other], false]);
    // The project hears of it beside the answer.
    await until(() => sessionsOf(bob.email) === 0);
    expect(sessionsOf(other)).toBe(1);
  });

  it('leaves no session after "Stay signed in as …", here and at the backend', async () => {
    await start();
    const visitor = await bobsBrowser();
    const other = await press(visitor);
    const stayed = await postForm(visitor, '/auth/confirm', { stay: 'yes', returnTo: '/account' });
    expect([stayed.status, stayed.headers.location]).toEqual([303, '/account']);
    expect([await userIn(visitor), hasPending(visitor), sessionsOf(other)]).toEqual([bob.email, false, 0]);
    expect([hooked, app.eventTypes()]).toEqual([[], []]);
  });

  it('answers JSON clients with the question, and takes their answer', async () => {
    await start();
    const visitor = await bobsBrowser();
    const other = await links[type]!();
    const pressed = await visitor.postJson('/auth/confirm', lastLink(type));
    expect([pressed.status, pressed.json]).toEqual([200, { redirectTo: question }]);
    const { json } = await visitor.getJson(question);
    const user = (email: string) => ({ id: app.supabase.users().find((each) => each.email === email)!.id, email });
    expect(json).toEqual({ account: user(other), signedInAs: user(bob.email) });
    const wrong = await visitor.postJson('/auth/confirm', { account: json.signedInAs.id });
    expect([wrong.status, wrong.json.error.code, await userIn(visitor)]).toEqual([400, 'invalid_request', bob.email]);
    const done = await visitor.postJson('/auth/confirm', { account: json.account.id });
    const redirectTo = isForPassword ? '/auth/password?returnTo=%2Faccount' : '/account';
    expect([done.status, done.json]).toEqual([200, { redirectTo }]);
  });

  it('asks nothing where no one else is signed in: no one, a guest, or the link’s own user', async () => {
    await start();
    const guest = app.visitor();
    const body = '{}';
    const headers = { apikey: app.supabase.publishableKey, 'content-type': 'application/json' };
    const made = await fetch(`${app.supabase.url}/auth/v1/signup`, { method: 'POST', headers, body });
    guest.cookies.set(app.cookieName, `base64-${Buffer.from(await made.text()).toString('base64url')}`);
    const own = app.visitor();
    for (const visitor of [app.visitor(), guest, own]) {
      const other = await links[type]!();
      if (visitor === own && !isForPassword && type !== 'signup') await own.postJson('/auth/login', ada);
      const pressed = await postForm(visitor, '/auth/confirm', lastLink(type));
      expect(pressed.headers.location).toBe(isForPassword ? '/auth/password?returnTo=%2Faccount' : '/account');
      if (!isForPassword) expect(await userIn(visitor)).toBe(other);
      if (type === 'signup' || type === 'invite') app.supabase.removeUser(other);
    }
  });
});

describe('the question before a link replaces another user’s session', () => {
  async function asked(setup?: BackendAppSetup): Promise<Visitor> {
    await start(setup);
    const visitor = await bobsBrowser();
    await links['magiclink']!();
    await postForm(visitor, '/auth/confirm', lastLink('magiclink'));
    return visitor;
  }
  const idOf = (email: string): string => app.supabase.users().find((user) => user.email === email)!.id;

  it('is answered by no GET, and by no other site', async () => {
    const visitor = await asked();
    const account = idOf(ada.email);
    await visitor.get(`/auth/confirm?account=${account}`);
    for (const headers of [
      { 'sec-fetch-site': 'cross-site' },
      { origin: 'https://evil.example' },
      { origin: 'null' },
    ]) {
      expect((await postForm(visitor, '/auth/confirm', { account }, headers)).status).toBe(403);
      expect((await postForm(visitor, '/auth/confirm', { stay: 'yes' }, headers)).status).toBe(403);
    }
    expect([await userIn(visitor), hasPending(visitor)]).toEqual([bob.email, true]);
  });

  it('is asked again where the form was shown for another link', async () => {
    const visitor = await asked();
    const page = await postForm(visitor, '/auth/confirm', { account: idOf(bob.email) });
    expect([page.status, page.text.includes('Switch accounts?')]).toEqual([200, true]);
    expect(await userIn(visitor)).toBe(bob.email);
  });

  it('leaves the pages of the present account alone', async () => {
    const visitor = await asked();
    expect((await visitor.get('/auth/password')).text).toContain('name="currentPassword"');
    expect((await visitor.get('/auth/enroll')).status).toBe(200);
    expect((await visitor.getJson('/auth/verify')).json.factors).toBeUndefined();
    expect(await userIn(visitor)).toBe(bob.email);
  });

  it('comes before the second factor, which is asked for as ever', async () => {
    await start();
    const factor = app.supabase.addFactor(ada.email);
    const visitor = await bobsBrowser();
    await links['magiclink']!();
    await postForm(visitor, '/auth/confirm', lastLink('magiclink'));
    const code = app.supabase.codeOf(factor);
    await visitor.postJson('/auth/verify', { code });
    expect([await userIn(visitor), app.supabase.calls('verify-factor')]).toEqual([bob.email, 0]);
    expect((await continueAsOther(visitor)).headers.location).toBe('/auth/verify?returnTo=%2Faccount');
    // By the back button.
    expect((await visitor.get(question)).headers.location).toBe('/auth/verify?returnTo=%2Faccount');
    expect(await userIn(visitor)).toBe(bob.email);
    expect((await postForm(visitor, '/auth/verify', { code })).status).toBe(303);
    expect([await userIn(visitor), hooked]).toEqual([ada.email, [ada.email]]);
  });

  it('comes before the second factor also where the cookie does not name it', async () => {
    await start();
    app.supabase.addFactor(ada.email);
    const visitor = await bobsBrowser();
    await links['magiclink']!();
    await postForm(visitor, '/auth/confirm', lastLink('magiclink'));
    const name = [...visitor.cookies.keys()].find((each) => each.endsWith('-pending'))!;
    const pending = JSON.parse(Buffer.from(visitor.cookies.get(name)!, 'base64url').toString());
    expect(pending.needs).toEqual(['account', 'factor']);
    const forged = JSON.stringify({ ...pending, needs: ['account'] });
    visitor.cookies.set(name, Buffer.from(forged).toString('base64url'));
    expect((await continueAsOther(visitor)).headers.location).toBe('/auth/verify?returnTo=%2Faccount');
    expect([await userIn(visitor), hooked]).toEqual([bob.email, []]);
  });

  it('ends the session of an earlier link whose place it takes, of the same user too', async () => {
    const visitor = await asked();
    await links['magiclink']!();
    await postForm(visitor, '/auth/confirm', lastLink('magiclink'));
    expect(sessionsOf(ada.email)).toBe(1);
    await postForm(visitor, '/auth/confirm', { stay: 'yes' });
    expect(sessionsOf(ada.email)).toBe(0);
  });

  it('ends with a sign-out, and with its ten minutes', async () => {
    const visitor = await asked();
    const account = idOf(ada.email);
    app.clock.advance(606_000);
    const late = await postForm(visitor, '/auth/confirm', { account });
    expect([late.status, late.text.includes('This link doesn’t work anymore')]).toEqual([400, true]);
    expect((await visitor.postJson('/auth/confirm', { account })).json.error.code).toBe('link_expired');
    expect([await userIn(visitor), (await visitor.get(question)).headers.location]).toEqual([bob.email, '/account']);

    await links['magiclink']!();
    await postForm(visitor, '/auth/confirm', lastLink('magiclink'));
    const before = sessionsOf(ada.email);
    await visitor.postJson('/auth/logout');
    expect([sessionsOf(ada.email), hasPending(visitor)]).toEqual([before - 1, false]);
    expect((await visitor.get('/auth/confirm')).status).toBe(400);
  });

  it('is over where the backend has ended the link’s session', async () => {
    const visitor = await asked();
    const account = idOf(ada.email);
    app.supabase.removeUser(ada.email);
    const answer = await visitor.postJson('/auth/confirm', { account });
    expect([answer.status, answer.json.error.code]).toEqual([400, 'link_expired']);
    expect([await userIn(visitor), hasPending(visitor)]).toEqual([bob.email, false]);
  });

  it('can be answered again after an outage', async () => {
    const visitor = await asked();
    app.supabase.fail('user', 503, 1);
    const failed = await postForm(visitor, '/auth/confirm', { account: idOf(ada.email) });
    expect([failed.status, failed.text.includes('Switch accounts?'), await userIn(visitor)]).toEqual([
      503,
      true,
      bob.email,
    ]);
    expect((await continueAsOther(visitor)).status).toBe(303);
    expect(await userIn(visitor)).toBe(ada.email);
  });

  it('has one result where it is answered twice, and where the link is pressed twice', async () => {
    const visitor = await asked();
    app.clock.advance(3_000);
    expect((await postForm(visitor, '/auth/confirm', lastLink('magiclink'))).headers.location).toBe(question);
    const fields = { account: idOf(ada.email), returnTo: '/account' };
    const answers = await Promise.all([1, 2].map(() => postForm(visitor, '/auth/confirm', fields)));
    expect(answers.map(({ headers }) => headers.location)).toEqual(['/account', '/account']);
    expect([await userIn(visitor), hooked]).toEqual([ada.email, [ada.email]]);
  });

  it('is also asked where it is not known who is signed in', async () => {
    await start();
    const visitor = await bobsBrowser();
    await links['magiclink']!();
    app.clock.advance(3_700_000);
    app.supabase.fail('refresh', 503, 5);
    await links['magiclink']!();
    const pressed = await postForm(visitor, '/auth/confirm', lastLink('magiclink'));
    expect(pressed.headers.location).toBe(question);
    app.supabase.heal();
    expect((await visitor.get(question)).text).toContain(bob.email);
  });

  it('names only the link’s account where no one is signed in anymore', async () => {
    const visitor = await asked();
    visitor.cookies.delete(app.cookieName);
    const page = await visitor.get(question);
    expect(page.text).toContain(`This link signs you in as <strong dir="auto">${ada.email}</strong>`);
    expect(page.text).not.toContain(bob.email);
    expect((await continueAsOther(visitor)).headers.location).toBe('/account');
    expect(await userIn(visitor)).toBe(ada.email);
  });
});

describe('a link that confirms a new address', () => {
  /** Presses the first link elsewhere, and the last one here. */
  async function change(visitor: Visitor, asJson = false) {
    const [first, last] = app.supabase.sendEmailChange(ada.email);
    const fields = (tokenHash: string) => ({ token_hash: tokenHash, type: 'email_change', returnTo: '/account' });
    await postForm(app.visitor(), '/auth/confirm', fields(first!.tokenHash));
    const link = fields(last!.tokenHash);
    return asJson ? visitor.postJson('/auth/confirm', link) : postForm(visitor, '/auth/confirm', link);
  }
  const changed = `new-${ada.email}`;

  it('signs in to no other account: it says that the address is confirmed, and leaves no session', async () => {
    await start();
    const visitor = await bobsBrowser();
    const page = await change(visitor);
    expect([page.status, page.text.includes('Your new email is confirmed')]).toEqual([200, true]);
    expect(page.text).toContain('href="/account"');
    expect([await userIn(visitor), hasPending(visitor), hooked, app.eventTypes()]).toEqual([bob.email, false, [], []]);
    expect(app.supabase.users().some(({ email }) => email === changed)).toBe(true);
    expect(sessionsOf(changed)).toBe(0);
  });

  it('signs no one in who is signed out, and leads to the sign-in', async () => {
    await start();
    const visitor = app.visitor();
    const page = await change(visitor);
    expect([page.status, page.text.includes('href="/auth/login?returnTo=%2Faccount"')]).toEqual([200, true]);
    expect([visitor.cookies.size, hooked, sessionsOf(changed)]).toEqual([0, [], 0]);
  });

  it('answers JSON clients likewise', async () => {
    await start();
    const answer = await change(app.visitor(), true);
    const message = 'Use it the next time you sign in.';
    expect([answer.status, answer.json]).toEqual([200, { message, redirectTo: '/auth/login?returnTo=%2Faccount' }]);
  });

  it('signs in to the same account', async () => {
    await start();
    const visitor = await app.signedIn();
    expect((await change(visitor)).headers.location).toBe('/account');
    expect(await userIn(visitor)).toBe(changed);
  });
});

describe('the backend’s own link, opened where another user has signed in since', () => {
  const follow = async (url: string): Promise<string> =>
    (await fetch(url, { redirect: 'manual' })).headers.get('location') ?? '';

  it.each<[string, (visitor: Visitor) => Promise<unknown>, string]>([
    ['of a sign-up', (visitor) => visitor.postJson('/auth/signup', eve), eve.email],
    ['of a sign-in', (visitor) => visitor.postJson('/auth/code', { email: ada.email }), ada.email],
    ['of a recovery', (visitor) => visitor.postJson('/auth/forgot', { email: ada.email }), ada.email],
  ])('%s asks first', async (_link, send, other) => {
    await start();
    const visitor = app.visitor();
    await send(visitor);
    const { confirmationUrl } = app.supabase.mails.at(-1)!;
    await visitor.postJson('/auth/login', bob);
    const answer = await visitor.get(await follow(confirmationUrl));
    expect([answer.status, answer.headers.location]).toEqual([303, '/auth/confirm']);
    expect([await userIn(visitor), hooked]).toEqual([bob.email, [bob.email]]);
    // Reloaded.
    expect((await visitor.get(await follow(confirmationUrl))).headers.location).toMatch(/^\/(?:auth\/confirm)?$/);
    expect((await visitor.get('/auth/confirm')).text).toContain(other);
    expect((await continueAsOther(visitor)).status).toBe(303);
  });

  it('whose answer was lost replaces no session that has begun since', async () => {
    await start({ options: { providers: ['github'] } });
    const visitor = app.visitor();
    await visitor.postJson('/auth/code', { email: ada.email });
    const byMail = await follow(app.supabase.mails.at(-1)!.confirmationUrl);
    const { location } = await visitor.get('/auth/login?provider=github');
    const { href: byProvider } = await app.supabase.authorize(location, { approve: true, user: ada.email });
    for (const url of [byMail, byProvider]) {
      const headers = { cookie: visitor.cookieHeader() };
      expect((await app.visitor().get(url, { headers })).headers.location).toBe('/');
      expect((await app.visitor().get(url, { headers })).headers.location).toBe('/');
    }
    await visitor.postJson('/auth/login', bob);
    hooked.splice(0);
    for (const url of [byMail, byProvider]) {
      const again = await visitor.get(url);
      expect([again.status, again.headers.location, await userIn(visitor)]).toEqual([303, '/', bob.email]);
    }
    expect(hooked).toEqual([]);
  });

  it('of a new address signs in to the same account only', async () => {
    await start({
      standIn: { autoconfirm: true },
      after: (host) => {
        host.get('/change', (req, res, next) => {
          const emailRedirectTo = `${app.origin}/auth/callback`;
          getSupabaseClient(req)
            .then((client) => client.auth.updateUser({ email: 'new@example.com' }, { emailRedirectTo }))
            .then(({ error }) => sendText(res, String(error)), next);
        });
      },
    });
    const visitor = await app.signedIn();
    expect((await visitor.get('/change')).text).toBe('null');
    const urls = app.supabase.mails.map(({ confirmationUrl }) => confirmationUrl);
    await visitor.postJson('/auth/login', bob);
    hooked.splice(0);
    let page = await visitor.get(await follow(urls[0]!));
    for (const url of urls.slice(1)) page = await visitor.get(await follow(url));
    expect([page.status, page.text.includes('Your new email is confirmed')]).toEqual([200, true]);
    expect([await userIn(visitor), hooked, sessionsOf('new@example.com')]).toEqual([bob.email, [], 0]);
  });
});

describe('a person’s own act replaces the session without a question', () => {
  it('by OAuth', async () => {
    await start({ options: { providers: ['github'] } });
    const visitor = await bobsBrowser();
    const { location } = await visitor.get('/auth/login?provider=github');
    const { href } = await app.supabase.authorize(location, { approve: true, user: ada.email });
    expect((await visitor.get(href)).headers.location).toBe('/');
    expect(await userIn(visitor)).toBe(ada.email);
  });

  it('by an emailed code that is typed in', async () => {
    await start();
    const visitor = await bobsBrowser();
    await postForm(visitor, '/auth/code', { email: ada.email });
    const { token: code } = app.supabase.mails.at(-1)!;
    expect((await postForm(visitor, '/auth/code', { email: ada.email, code })).status).toBe(303);
    expect(await userIn(visitor)).toBe(ada.email);
  });
});
