// A visitor without an account (an anonymous session) who signs up.
import { requireSession } from '../../../lib/backend/index.ts';
import { AuthError } from '../../../lib/index.ts';
import type { BackendAuthOptions, SharedCoordinator } from '../../../lib/index.ts';
import { ada, postForm, setSession, startBackendApp } from '../../support/backend-app.ts';
import type { BackendApp } from '../../support/backend-app.ts';
import { guestAccount, openAsGuest, signUpAsGuest } from '../../support/guest.ts';
import { sendText } from '../../support/hosts.ts';
import type { Visitor } from '../../support/visitor.ts';
import { createShared } from '../../support/shared-memory.ts';

const account = { email: 'gus@example.com', password: 'long enough' };
let app: BackendApp;
afterEach(() => app.close());

async function startWithGuest(autoconfirm = false, options: BackendAuthOptions = {}): Promise<Visitor> {
  app = await startBackendApp({ options, standIn: { autoconfirm, anonymousUsers: true } });
  const answer = await fetch(`${app.supabase.url}/auth/v1/signup`, {
    method: 'POST',
    headers: { apikey: app.supabase.publishableKey, 'content-type': 'application/json' },
    body: '{}',
  });
  const visitor = app.visitor();
  setSession(visitor, await answer.json());
  app.supabase.requests.length = 0;
  return visitor;
}

const userOf = async (visitor: Visitor): Promise<{ id: string; email: string | null; isAnonymous: boolean }> =>
  (await visitor.getJson('/auth/session')).json.user;
const lastMail = () => app.supabase.mails.at(-1);

it('keeps the user id, and the session until the address is confirmed', async () => {
  const visitor = await startWithGuest();
  const guest = await userOf(visitor);
  expect(guest.isAnonymous).toBe(true);
  const answer = await postForm(visitor, '/auth/signup', { ...account, returnTo: '/account' });
  expect(answer.status).toBe(200);
  expect(app.supabase.requests.map(({ endpoint }) => endpoint)).not.toContain('signup');
  expect(await userOf(visitor)).toEqual(guest);

  const mail = lastMail();
  const fields = { token_hash: mail?.tokenHash ?? '', type: 'email_change', returnTo: '/account' };
  expect((await postForm(visitor, '/auth/confirm', fields)).status).toBe(303);
  expect(await userOf(visitor)).toMatchObject({ id: guest.id, email: account.email, isAnonymous: false });
  const elsewhere = app.visitor();
  expect((await elsewhere.postJson('/auth/login', account)).status).toBe(200);
  expect((await userOf(elsewhere)).id).toBe(guest.id);
});

it('takes a form that is sent twice, and a corrected address', async () => {
  const visitor = await startWithGuest();
  app.supabase.switches.mailFrequency = 0;
  for (const email of ['typo@example.com', 'typo@example.com', account.email]) {
    expect((await postForm(visitor, '/auth/signup', { ...account, email })).status).toBe(200);
  }
  expect(lastMail()?.to).toBe(account.email);
});

describe('a guest who asks for the email of the sign-up again', () => {
  const resend = (visitor: Visitor, email: string) => postForm(visitor, '/auth/resend', { email });
  const mailsTo = (email: string) => app.supabase.mails.filter(({ to }) => to === email);

  it('gets it, and its link completes the account', async () => {
    const visitor = await startWithGuest();
    app.supabase.switches.mailFrequency = 0;
    const { id } = await userOf(visitor);
    await postForm(visitor, '/auth/signup', account);
    expect((await resend(visitor, 'GUS@example.com')).status).toBe(200);
    expect(mailsTo(account.email)).toHaveLength(2);
    await postForm(visitor, '/auth/confirm', { token_hash: lastMail()?.tokenHash ?? '', type: 'email_change' });
    expect(await userOf(visitor)).toMatchObject({ id, email: account.email, isAnonymous: false });
    expect((await app.visitor().postJson('/auth/login', account)).status).toBe(200);
  });

  it('gets the email of another sign-up as everyone does, and stays without an address', async () => {
    const visitor = await startWithGuest();
    app.supabase.switches.mailFrequency = 0;
    const other = { email: 'other@example.com', password: 'long enough' };
    await postForm(app.visitor(), '/auth/signup', other);
    await resend(visitor, other.email);
    expect(mailsTo(other.email).map(({ kind }) => kind)).toEqual(['signup', 'signup']);
    await resend(visitor, account.email);
    expect(mailsTo(account.email)).toEqual([]);
  });

  it('gets one answer for every address', async () => {
    const visitor = await startWithGuest();
    app.supabase.switches.mailFrequency = 0;
    await postForm(visitor, '/auth/signup', account);
    const answers = [];
    for (const email of [account.email, ada.email, 'unknown@example.com']) {
      const { status, text } = await resend(visitor, email);
      answers.push(JSON.stringify([status, text.replaceAll(email, 'x')]));
    }
    expect(new Set(answers).size).toBe(1);
  });

  it('gets none where the session has ended at Supabase', async () => {
    const visitor = await startWithGuest();
    await postForm(visitor, '/auth/signup', account);
    const cookie = visitor.cookies.get(app.cookieName) ?? '';
    const { access_token: token } = JSON.parse(Buffer.from(cookie.slice('base64-'.length), 'base64url').toString());
    app.supabase.revokeSession(JSON.parse(Buffer.from(token.split('.')[1], 'base64url').toString()).session_id);
    const sent = app.supabase.mails.length;
    expect((await resend(visitor, account.email)).status).toBe(200);
    expect(app.supabase.mails).toHaveLength(sent);
  });
});

it('is complete at once if the project confirms no addresses', async () => {
  const visitor = await startWithGuest(true);
  const guest = await userOf(visitor);
  const answer = await visitor.postJson('/auth/signup', { ...account, returnTo: '/account' });
  expect([answer.status, answer.json]).toEqual([200, { redirectTo: '/account' }]);
  expect(app.supabase.calls('refresh')).toBe(1);
  expect(await userOf(visitor)).toMatchObject({ id: guest.id, email: account.email, isAnonymous: false });
});

it('must sign in if the session ended while the account was completed', async () => {
  const gone = { code: 'refresh_token_not_found', message: 'Invalid Refresh Token: Refresh Token Not Found' };
  const visitor = await startWithGuest(true, {
    fetch: (input, init) =>
      new Request(input).url.includes('grant_type=refresh_token')
        ? Promise.resolve(Response.json(gone, { status: 400 }))
        : fetch(input, init),
  });
  const answer = await visitor.postJson('/auth/signup', account);
  expect([answer.status, answer.json.error.code]).toEqual([401, 'unauthenticated']);
  expect((await app.visitor().postJson('/auth/login', account)).status).toBe(200);
});

it('keeps the user if the backend refuses a token whose signature is right', async () => {
  const visitor = await startWithGuest(true, {
    fetch: (input, init) =>
      new URL(new Request(input).url).pathname.endsWith('/user')
        ? Promise.resolve(Response.json({ code: 'bad_jwt', message: 'invalid kid' }, { status: 403 }))
        : fetch(input, init),
  });
  const guest = await userOf(visitor);
  const answer = await visitor.postJson('/auth/signup', account);
  expect([answer.status, answer.headers['retry-after'], app.supabase.calls('signup')]).toEqual([503, '5', 0]);
  expect(await userOf(visitor)).toEqual(guest);
  const warnings = app.events.filter(({ type }) => type === 'configuration_warning');
  expect(JSON.stringify(warnings)).toContain('rotation of the signing keys');
});

it('shares the refresh of the complete session with other requests, and repeats one in progress', async () => {
  const shared = createShared();
  const tokens: string[] = [];
  let early: string | undefined;
  const coordinator: SharedCoordinator = {
    ...shared,
    async take(token, turn) {
      tokens.push(token);
      if (early === undefined) return shared.take(token, turn);
      const answer = JSON.stringify({ kind: 'renewed', token: 'newest', text: early, steps: 1 });
      early = undefined;
      return { answer, ttlMs: 60_000, turnMs: 1_000 };
    },
  };
  const visitor = await startWithGuest(true, { coordinator });
  const guest = await userOf(visitor);
  const cookie = visitor.cookies.get(app.cookieName) ?? '';
  const { refresh_token } = JSON.parse(Buffer.from(cookie.slice('base64-'.length), 'base64url').toString());
  // Another process has refreshed the guest's token before the address was added.
  const refreshed = await fetch(`${app.supabase.url}/auth/v1/token?grant_type=refresh_token`, {
    method: 'POST',
    headers: { apikey: app.supabase.publishableKey, 'content-type': 'application/json' },
    body: JSON.stringify({ refresh_token }),
  });
  early = await refreshed.text();
  expect((await visitor.postJson('/auth/signup', account)).status).toBe(200);
  expect(await userOf(visitor)).toMatchObject({ id: guest.id, email: account.email, isAnonymous: false });
  expect([tokens.length, new Set(tokens).size]).toEqual([2, 2]);
});

it('has no session if onSignIn refuses the complete account', async () => {
  const visitor = await startWithGuest(true, {
    onSignIn() {
      throw new AuthError('forbidden');
    },
  });
  expect((await visitor.postJson('/auth/signup', account)).status).toBe(403);
  expect((await visitor.getJson('/auth/session')).status).toBe(401);
});

it('gets the same answer for an address in use', async () => {
  const told = async (email: string) => {
    const visitor = await startWithGuest();
    const { status, setCookies, text } = await postForm(visitor, '/auth/signup', { ...account, email });
    const result = { status, cookies: setCookies.length, text: text.replaceAll(email, '<email>') };
    const stillThere = (await userOf(visitor)).isAnonymous;
    await app.close();
    return { ...result, stillThere };
  };
  const fresh = await told(account.email);
  expect(fresh).toMatchObject({ status: 200, stillThere: true });
  expect(await told(ada.email)).toEqual(fresh);
  await startWithGuest();
});

describe('a guest whose account was completed in another browser, with a token from before', () => {
  /** The guest's old token again, after the link in the email was opened elsewhere. */
  async function startWithOldToken(): Promise<Visitor> {
    const visitor = await startWithGuest();
    const old = visitor.cookieHeader();
    await postForm(visitor, '/auth/signup', account);
    const confirmed = { token_hash: lastMail()?.tokenHash ?? '', type: 'email_change' };
    const elsewhere = await postForm(app.visitor(), '/auth/confirm', confirmed);
    expect([elsewhere.status, elsewhere.text.includes('Your new email is confirmed')]).toEqual([200, true]);
    visitor.cookies.clear();
    visitor.cookies.set(app.cookieName, old.slice(old.indexOf('=') + 1));
    expect((await userOf(visitor)).isAnonymous).toBe(true);
    return visitor;
  }

  it('sets no other password by signing up again, learns so, and is signed in', async () => {
    const visitor = await startWithOldToken();
    const again = await visitor.postJson('/auth/signup', { ...account, password: 'another password' });
    const message = 'You already have an account with gus@example.com. Nothing was changed.';
    const refused = { error: { status: 409, code: 'email_in_use', message }, redirectTo: '/' };
    expect([again.status, again.json]).toEqual([409, refused]);
    expect(await userOf(visitor)).toMatchObject({ email: account.email, isAnonymous: false });
    expect((await app.visitor().postJson('/auth/login', account)).status).toBe(200);
  });

  it('learns that another address was not taken either, and goes on with the account', async () => {
    const visitor = await startWithOldToken();
    const fields = { email: 'other@example.com', password: 'another password', returnTo: '/account' };
    const page = await postForm(visitor, '/auth/signup', fields);
    expect([page.status, page.headers.location]).toEqual([409, undefined]);
    expect(page.text.replaceAll(/<[^>]*>/g, '')).toContain('You already have an account with gus@example.com.');
    expect(page.text).toContain('href="/account">Continue</a>');
    expect(await userOf(visitor)).toMatchObject({ email: account.email, isAnonymous: false });
  });

  it('is signed in by a press of the used link, and goes on', async () => {
    const visitor = await startWithOldToken();
    const used = { token_hash: lastMail()?.tokenHash ?? '', type: 'email_change', returnTo: '/account' };
    const press = await postForm(visitor, '/auth/confirm', used);
    expect([press.status, press.headers.location]).toEqual([303, '/account']);
    expect(await userOf(visitor)).toMatchObject({ email: account.email, isAnonymous: false });
  });

  it('does not make the project one that confirms nothing, whose answers tell who has an account', async () => {
    const old = await startWithOldToken();
    const fresh = app.visitor();
    const guest = await fetch(`${app.supabase.url}/auth/v1/signup`, {
      method: 'POST',
      headers: { apikey: app.supabase.publishableKey, 'content-type': 'application/json' },
      body: '{}',
    });
    setSession(fresh, await guest.json());
    await old.postJson('/auth/signup', account);
    const answer = await fresh.postJson('/auth/signup', { email: ada.email, password: account.password });
    expect([answer.status, answer.json.emailConfirmationRequired]).toEqual([200, true]);
  });
});

it('learns that a link was used which has not completed the account, however new the guest is', async () => {
  const visitor = await startWithGuest();
  await postForm(visitor, '/auth/signup', account);
  const made = { token_hash: 'pkce_made_up', type: 'email_change', returnTo: '/account' };
  const spent = await postForm(visitor, '/auth/confirm', made);
  // A sign-in would lose the guest's data, and there is no other address.
  expect([spent.status, spent.text]).toEqual([400, expect.stringContaining('Open the newest email, or request a new')]);
  expect(spent.text).toContain('href="/auth/signup?returnTo=%2Faccount">Request a new link</a>');
  expect(spent.text).not.toMatch(/other address|Sign in/);
  expect((await userOf(visitor)).isAnonymous).toBe(true);
});

it('is not told to wait where another account has taken the address before the link was opened', async () => {
  const visitor = await startWithGuest();
  await postForm(visitor, '/auth/signup', account);
  app.supabase.addUser(account);
  const link = { token_hash: lastMail()?.tokenHash ?? '', type: 'email_change' };
  const failed = 'That didn’t work. Try again, or contact support.';
  const page = await postForm(visitor, '/auth/confirm', link);
  expect([page.status, page.text]).toEqual([400, expect.stringContaining(failed)]);
  expect(page.text).toContain('Confirm the change</button>');
  const json = await visitor.postJson('/auth/confirm', link);
  expect([json.status, json.json.error, json.headers['retry-after']]).toEqual([
    400,
    { status: 400, code: 'action_failed', message: failed },
    undefined,
  ]);
});

describe('a guest’s sign-up tells for the next one', () => {
  const next = { email: 'next@example.com', password: 'long enough' };

  it('that the project sends an email, so that its answer does not wait for it', async () => {
    const visitor = await startWithGuest(false, { mailAnswerMs: 1 });
    await visitor.postJson('/auth/signup', account);
    const gate = app.supabase.gate('signup');
    const answer = await app.visitor().postJson('/auth/signup', next);
    expect([answer.status, answer.json.emailConfirmationRequired]).toEqual([200, true]);
    gate.open();
  });

  it('nothing where it was complete at once: the answer waits for the session', async () => {
    const visitor = await startWithGuest(true, { mailAnswerMs: 1 });
    await visitor.postJson('/auth/signup', account);
    const gate = app.supabase.gate('signup');
    const signingUp = app.visitor().postJson('/auth/signup', next);
    await gate.waitFor(1);
    for (let turn = 0; turn < 5; turn += 1) await visitor.getJson('/auth/session');
    gate.open();
    expect((await signingUp).json).toEqual({ redirectTo: '/' });
  });
});

it('learns that the password is weak, and stays a guest', async () => {
  const visitor = await startWithGuest();
  const { status, json } = await visitor.postJson('/auth/signup', { ...account, password: 'abc' });
  expect([status, json.error.code]).toEqual([422, 'weak_password']);
  expect((await userOf(visitor)).isAnonymous).toBe(true);
});

it('gets a new account if the backend has ended the anonymous session', async () => {
  const visitor = await startWithGuest();
  const cookie = visitor.cookies.get(app.cookieName) ?? '';
  const { access_token: token } = JSON.parse(Buffer.from(cookie.slice('base64-'.length), 'base64url').toString());
  app.supabase.revokeSession(JSON.parse(Buffer.from(token.split('.')[1], 'base64url').toString()).session_id);
  expect((await postForm(visitor, '/auth/signup', account)).status).toBe(200);
  expect(lastMail()).toMatchObject({ kind: 'signup', to: account.email });
});

it('gets no second user in an outage', async () => {
  const visitor = await startWithGuest();
  app.supabase.fail('update-user', 503);
  expect((await postForm(visitor, '/auth/signup', account)).status).toBe(503);
  expect(app.supabase.requests.map(({ endpoint }) => endpoint)).not.toContain('signup');
  expect((await userOf(visitor)).isAnonymous).toBe(true);
});

it('applies to anonymous sessions alone: a signed-in user creates a second account', async () => {
  app = await startBackendApp({ standIn: { autoconfirm: false } });
  const visitor = await app.signedIn();
  expect((await postForm(visitor, '/auth/signup', account)).status).toBe(200);
  expect(lastMail()).toMatchObject({ kind: 'signup', to: account.email });
});

describe('a guest is led to sign-up', () => {
  const ways = { standIn: { anonymousUsers: true } };
  const guestText = 'You’re here as a guest. To keep your data, sign up with your email.';

  it('from the page for a new password, which guests do not have', async () => {
    app = await startBackendApp(ways);
    const browser = await openAsGuest(app);
    await browser.open('/auth/password?returnTo=/account');
    expect(browser.at.answer.text).toContain(guestText);
    const answer = await browser.jar.postJson('/auth/password', { currentPassword: '', password: 'long enough' });
    expect([answer.status, answer.json.error.code]).toEqual([403, 'forbidden']);
    await signUpAsGuest(app, browser);
    expect(browser.at.answer.text).toContain(`For <strong dir="auto">${guestAccount.email}</strong>`);
  });

  it('by a guard with maxAge, and then signs in once more', async () => {
    app = await startBackendApp({
      ...ways,
      after: (host) => {
        host.all('/danger', requireSession({ adapter: 'backend', maxAge: 300 }));
        host.all('/danger', (_req, res) => sendText(res, 'danger'));
      },
    });
    const browser = await openAsGuest(app);
    app.clock.advance(301_000);
    await browser.open('/danger');
    expect(browser.at.answer.text).toContain(guestText);
    await signUpAsGuest(app, browser);
    expect(browser.at.answer.text).toContain(`value="${guestAccount.email}"`);
    expect((await browser.submit({ password: guestAccount.password })).text).toBe('danger');
  });

  it('unless no one can sign up: then to sign-in', async () => {
    app = await startBackendApp({ ...ways, options: { signUp: false } });
    const browser = await openAsGuest(app);
    await browser.open('/auth/password?returnTo=/account');
    expect((await browser.submit(ada)).text).toContain(`For <strong dir="auto">${ada.email}</strong>`);
  });

  it('and keeps the sentence after an error', async () => {
    app = await startBackendApp(ways);
    const browser = await openAsGuest(app);
    await browser.open('/auth/signup');
    const { status, text } = await browser.submit({ email: guestAccount.email, password: 'x' });
    expect([status, text.includes(guestText)]).toEqual([422, true]);
  });
});
