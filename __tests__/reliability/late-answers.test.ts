// The browser signs in again while a request with its former session still waits for the backend.
import { endSession, getSession, getSupabaseClient, requireSession, storeSession } from '../../lib/backend/index.ts';
import { ada, encodeSession, postForm, startBackendApp } from '../support/backend-app.ts';
import type { BackendApp } from '../support/backend-app.ts';
import { sendJson, sendText } from '../support/hosts.ts';
import { createShared } from '../support/shared-memory.ts';
import { until } from '../support/until.ts';
import type { Answer, Visitor } from '../support/visitor.ts';
import type { Endpoint } from '../../stand-ins/supabase/types.ts';

const bob = { email: 'bob@example.com', password: 'a second account 1' };

let app: BackendApp;
/** Holds back the backend's answers to these calls, after the backend has done its work. */
let held: { readonly calls: RegExp; readonly until: Promise<unknown> } | undefined;
let answered = 0;
/** A handler that asks for its session and goes on for seconds. */
let slow: { readonly asked: PromiseWithResolvers<undefined>; readonly done: PromiseWithResolvers<undefined> };
beforeEach(async () => {
  [held, answered] = [undefined, 0];
  slow = { asked: Promise.withResolvers(), done: Promise.withResolvers() };
  app = await startBackendApp({
    options: {
      async fetch(input, init) {
        const answer = await fetch(input, init);
        if (held?.calls.test(`${init?.method} ${new Request(input).url}`) === true) {
          answered += 1;
          await held.until;
        }
        return answer;
      },
    },
    after: (host, auth) => {
      host.get('/enrolled', requireSession({ aal: 'enrolled' }), (_req, res) => sendText(res, 'enrolled'));
      host.get('/sdk', (req, res, next) => {
        const asked = getSupabaseClient(req).then((client) => client.auth.getUser());
        asked.then(({ error }) => sendJson(res, { error: error?.name })).catch(next);
      });
      host.get('/renew', (req, res, next) => {
        const renewed = getSupabaseClient(req).then((client) => client.auth.refreshSession());
        renewed.then(({ error }) => sendJson(res, { error: error?.name })).catch(next);
      });
      host.get('/as-bob', (req, res, next) => {
        const signedIn = getSupabaseClient(req).then((client) => client.auth.signInWithPassword(bob));
        signedIn.then(({ error }) => sendJson(res, { error: error?.name })).catch(next);
      });
      host.get('/store', (req, res, next) => {
        renewByHand(req.headers.cookie ?? '')
          .then((tokens) => storeSession(auth, req, res, tokens))
          .then((stored) => sendJson(res, stored), next);
      });
      host.get('/slow', (req, res, next) => {
        const { asked, done } = slow;
        const looked = getSession(req).then(() => asked.resolve(undefined));
        looked.then(() => done.promise).then(() => sendText(res, 'slow'), next);
      });
      host.get('/late', (req, res, next) => {
        const { asked, done } = slow;
        asked.resolve(undefined);
        const looked = done.promise.then(() => getSession(req));
        looked.then((session) => sendText(res, String(session?.user.email)), next);
      });
      host.get('/update', (req, res, next) => {
        const changed = getSupabaseClient(req).then((client) => client.auth.updateUser({ data: { a: 1 } }));
        changed.then(({ error }) => sendJson(res, { error: error?.name })).catch(next);
      });
    },
  });
  app.supabase.addUser(bob);
});
afterEach(() => app.close());

/** The same browser, whose request left with the cookies of now. */
function before(visitor: Visitor, at: BackendApp = app): Visitor {
  const copy = at.visitor();
  for (const [name, value] of visitor.cookies) copy.cookies.set(name, value);
  return copy;
}

/** The browser keeps what the late response says about its cookies. */
function receive(visitor: Visitor, { setCookies }: Answer): void {
  for (const line of setCookies) {
    const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
    if (value === '') visitor.cookies.delete(name);
    else visitor.cookies.set(name, value);
  }
}

interface StoredTokens {
  readonly access_token: string;
  readonly refresh_token: string;
}

/** The tokens in a browser's cookies. */
function tokensIn(cookies: string): StoredTokens {
  const [, text = ''] = /-auth-token=base64-([\w-]+)/.exec(cookies) ?? [];
  return JSON.parse(Buffer.from(text, 'base64url').toString()) as StoredTokens;
}

/** The application's own call to the backend. */
async function renewByHand(cookies: string): Promise<StoredTokens> {
  const { refresh_token } = tokensIn(cookies);
  const { url, publishableKey: apikey } = app.supabase;
  const answer = await fetch(`${url}/auth/v1/token?grant_type=refresh_token`, {
    method: 'POST',
    headers: { apikey, 'content-type': 'application/json' },
    body: JSON.stringify({ refresh_token }),
  });
  return (await answer.json()) as StoredTokens;
}

const emailOf = async (visitor: Visitor): Promise<string | undefined> =>
  (await visitor.getJson('/auth/session')).json.user?.email;

describe('a new sign-in is kept when the late request', () => {
  it.each<[string, Endpoint, (visitor: Visitor) => Promise<Answer>]>([
    ['learns at a guard that its session is over', 'user', (visitor) => visitor.get('/enrolled')],
    ['learns it from the list of factors', 'user', (visitor) => visitor.get('/auth/enroll')],
    ['learns it from the page of the second factor', 'user', (visitor) => visitor.get('/auth/verify')],
    ['adds a factor', 'enroll', (visitor) => postForm(visitor, '/auth/enroll', {})],
    ['asks the SDK for the user', 'user', (visitor) => visitor.get('/sdk')],
  ])('%s', async (_title, endpoint, ask) => {
    const visitor = await app.signedIn();
    const gate = app.supabase.gate(endpoint);
    const late = ask(before(visitor));
    await gate.waitFor(1);
    await postForm(visitor, '/auth/login', ada);
    await until(() => app.supabase.calls('logout') === 1);
    gate.open();
    receive(visitor, await late);
    expect(await emailOf(visitor)).toBe(ada.email);
  });

  it.each<[string, RegExp, (visitor: Visitor) => Promise<Answer>]>([
    [
      'gives the second factor',
      /^POST .*\/verify$/,
      (visitor) =>
        postForm(visitor, '/auth/verify', { code: app.supabase.codeOf(app.supabase.factorsOf(ada.email)[0]!) }),
    ],
    ['changes the user through the SDK', /^PUT /, (visitor) => visitor.get('/update')],
  ])('%s', async (title, calls, ask) => {
    const visitor = await app.signedIn();
    if (title.includes('factor')) app.supabase.addFactor(ada.email);
    const answer = Promise.withResolvers<undefined>();
    held = { calls, until: answer.promise };
    const late = ask(before(visitor));
    await until(() => answered > 0);
    held = undefined;
    await postForm(visitor, '/auth/login', bob);
    answer.resolve(undefined);
    receive(visitor, await late);
    expect(await emailOf(visitor)).toBe(bob.email);
  });
});

it.each<[string, (visitor: Visitor) => Promise<unknown>]>([
  ['the application ended', async () => endSession(app.auth, { userId: app.supabase.users()[0]!.id })],
  ['the browser signed out of', (visitor) => before(visitor).post('/auth/logout')],
  [
    'the backend ended',
    async (visitor) => {
      const [, claims = ''] = tokensIn(visitor.cookieHeader()).access_token.split('.');
      app.supabase.revokeSession(JSON.parse(Buffer.from(claims, 'base64url').toString()).session_id);
      app.clock.advance(3_660_000);
    },
  ],
])('a new sign-in is kept when a late answer deletes the cookie of a session that %s', async (_title, end) => {
  const visitor = await app.signedIn();
  app.clock.advance(2_000);
  await end(visitor);
  app.clock.advance(2_000);
  const late = before(visitor).get('/slow');
  await slow.asked.promise;
  // The page that leads to the sign-in has deleted the cookie already.
  receive(visitor, await visitor.get('/account'));
  expect(visitor.cookies.has(app.cookieName)).toBe(false);
  app.clock.advance(1_000);
  await postForm(visitor, '/auth/login', ada);
  slow.done.resolve(undefined);
  receive(visitor, await late);
  expect(await emailOf(visitor)).toBe(ada.email);
});

it.each([
  [999, false],
  [1_000, true],
])('an answer after %i ms leaves the cookie of a session that has ended: %s', async (ms, isLeft) => {
  const visitor = await app.signedIn();
  app.clock.advance(2_000);
  await endSession(app.auth, { userId: app.supabase.users()[0]!.id });
  const late = before(visitor).get('/slow');
  await slow.asked.promise;
  app.clock.advance(ms);
  slow.done.resolve(undefined);
  receive(visitor, await late);
  expect(visitor.cookies.has(app.cookieName)).toBe(isLeft);
  receive(visitor, await visitor.get('/account'));
  expect(visitor.cookies.has(app.cookieName)).toBe(false);
});

describe('the newest tokens are kept when the application has exchanged the session’s', () => {
  it.each([
    ['by the SDK, and a slow answer brings those before', '/renew'],
    ['and stored them, and a slow answer brings those before', '/store'],
  ])('%s', async (_title, path) => {
    const visitor = await app.signedIn();
    app.clock.advance(3_660_000);
    const late = before(visitor).get('/slow');
    await slow.asked.promise;
    await visitor.get('/whoami');
    app.clock.advance(2_000);
    expect((await visitor.get(path)).status).toBe(200);
    const kept = tokensIn(visitor.cookieHeader());
    slow.done.resolve(undefined);
    receive(visitor, await late);
    expect(tokensIn(visitor.cookieHeader())).toEqual(kept);
  });

  it('by the SDK, and a late request comes with the first ones', async () => {
    const visitor = await app.signedIn();
    const first = before(visitor);
    app.clock.advance(3_660_000);
    for (const path of ['/whoami', '/renew', '/renew']) await visitor.get(path);
    await first.get('/whoami');
    expect(tokensIn(first.cookieHeader()).refresh_token).toBe(tokensIn(visitor.cookieHeader()).refresh_token);
  });
});

it('a request with a spent token never gets the session of another user who signed in through the SDK', async () => {
  const visitor = await app.signedIn();
  const first = before(visitor);
  app.clock.advance(3_660_000);
  await visitor.get('/as-bob');
  expect([await emailOf(first), await emailOf(visitor)]).toEqual([ada.email, bob.email]);
});

describe('a new session is kept when the provider refuses a late refresh with the token of the former one', () => {
  let time: number;
  let apps: readonly BackendApp[];
  const now = (): number => time;
  beforeEach(() => {
    [time, apps] = [Date.now(), []];
  });
  afterEach(() => Promise.all(apps.map((each) => each.close())));

  async function start(options: Parameters<typeof startBackendApp>[0]): Promise<BackendApp> {
    const started = await startBackendApp(options);
    apps = [started, ...apps];
    return started;
  }

  /** Lets the access tokens expire. */
  function expire(): void {
    time += 3_660_000;
  }

  it('in one process, after a sign-in and a new password', async () => {
    const one = await start({ standIn: { now }, options: { now } });
    const visitor = await one.signedIn();
    expire();
    const gate = one.supabase.gate('refresh');
    const late = before(visitor, one).get('/api/me');
    await gate.waitFor(1);
    await postForm(visitor, '/auth/login', ada);
    await postForm(visitor, '/auth/password', { currentPassword: ada.password, password: 'another password 1' });
    gate.open();
    receive(visitor, await late);
    expect((await visitor.getJson('/api/me')).status).toBe(200);
  });

  it('in a process that waited for its turn while another one signed the browser in', async () => {
    const coordinator = createShared(now);
    const one = await start({ standIn: { now }, options: { now, coordinator } });
    const { url, publishableKey: anonKey } = one.supabase;
    const other = await start({ options: { now, coordinator, url, anonKey } });
    const visitor = await one.signedIn();
    expire();
    const gate = one.supabase.gate('refresh');
    const [first, late] = [before(visitor, one).get('/api/me'), before(visitor, other).get('/api/me')];
    await gate.waitFor(1);
    await postForm(visitor, '/auth/login', ada);
    gate.open();
    receive(visitor, await first);
    receive(visitor, await late);
    expect((await visitor.getJson('/api/me')).status).toBe(200);
  });
});

it('a sign-out is kept when a late request changes the user through the SDK', async () => {
  const visitor = await app.signedIn();
  const answer = Promise.withResolvers<undefined>();
  held = { calls: /^PUT /, until: answer.promise };
  const late = before(visitor).get('/update');
  await until(() => answered > 0);
  held = undefined;
  await visitor.post('/auth/logout');
  answer.resolve(undefined);
  expect((await late).setCookies).toEqual([]);
});

it('a sign-in is kept when a request of before asks for its session late, as after an upload', async () => {
  const visitor = await app.signedIn();
  const late = before(visitor).get('/late');
  await slow.asked.promise;
  await visitor.post('/auth/logout');
  await visitor.postJson('/auth/login', ada);
  app.clock.advance(1_000);
  slow.done.resolve(undefined);
  expect(await late).toMatchObject({ text: 'undefined', setCookies: [] });
  expect((await visitor.getJson('/api/me')).status).toBe(200);
});

it('a session that the backend has ended costs no other session beside it in the cookies', async () => {
  const [dead, good] = [await app.supabase.issueSession(ada.email), await app.supabase.issueSession(ada.email)];
  const [, payload = ''] = dead.access_token.split('.');
  const { session_id: sessionId } = JSON.parse(Buffer.from(payload, 'base64url').toString()) as { session_id: string };
  app.supabase.revokeSession(sessionId);
  const cookie = [dead, good].map((session) => `${app.cookieName}=${encodeSession(session)}`).join('; ');
  const visitor = app.visitor();
  expect((await visitor.get('/enrolled', { headers: { cookie } })).setCookies).toEqual([]);
  const again = await visitor.get('/enrolled', { headers: { cookie } });
  expect([again.status, again.text]).toEqual([200, 'enrolled']);
});

it('a new pending sign-in is kept when a late request learns that the former one is over', async () => {
  for (const { email } of [ada, bob]) app.supabase.addFactor(email);
  const visitor = app.visitor();
  await postForm(visitor, '/auth/login', ada);
  const gate = app.supabase.gate('user');
  const late = before(visitor).get('/auth/verify');
  await gate.waitFor(1);
  await postForm(visitor, '/auth/login', bob);
  await until(() => app.supabase.calls('logout') === 1);
  gate.open();
  receive(visitor, await late);
  expect((await visitor.get('/auth/verify')).status).toBe(200);
});
