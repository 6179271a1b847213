import { setTimeout as wait } from 'node:timers/promises';
import { endSession, getSession, requireSession } from '../../lib/backend/index.ts';
import type { SharedCoordinator } from '../../lib/backend/index.ts';
import { ada, continueAsOther, postForm, setSession, startBackendApp } from '../support/backend-app.ts';
import type { BackendApp, BackendAppSetup } from '../support/backend-app.ts';
import { sendJson, sendText } from '../support/hosts.ts';
import type { Answer, Visitor } from '../support/visitor.ts';
import { createShared } from '../support/shared-memory.ts';

let app: BackendApp;
let releaseSlow: () => void = () => undefined;
afterEach(() => app.close());

const bob = { email: 'bob@example.com', password: 'another good password' };
const fresh = 'a brand new password 1';
const change = { currentPassword: ada.password, password: fresh };

async function start(setup: BackendAppSetup = {}): Promise<void> {
  app = await startBackendApp({
    after: (host) => {
      host.get('/vault', requireSession({ aal: 'aal2' }), (_req, res) => sendText(res, 'vault'));
      host.get('/bearer', requireSession({ credentials: ['bearer'] }), (_req, res) => sendText(res, 'bearer'));
      // Resolves the session at once, and answers when the test says so.
      host.get('/slow', (req, res, next) => {
        const released = new Promise<void>((resolve) => (releaseSlow = resolve));
        getSession(req).then(async (session) => {
          await released;
          sendJson(res, { user: session?.user.email ?? null });
        }, next);
      });
    },
    ...setup,
  });
}

const code = (factor: { readonly secret: string }): string => app.supabase.codeOf(factor);
const userIdOf = async (visitor: Visitor): Promise<string> =>
  ((await visitor.getJson('/auth/session')).json as { readonly user: { readonly id: string } }).user.id;
const isCleared = ({ setCookies }: Answer): boolean => setCookies.some((line) => line.includes('Max-Age=0'));

/** Another tab of the same browser, with the cookies as they are now. */
function tabOf(visitor: Visitor, cookies: ReadonlyMap<string, string> = new Map(visitor.cookies)): Visitor {
  const tab = app.visitor();
  cookies.forEach((value, name) => tab.cookies.set(name, value));
  return tab;
}

/** A session with both factors. */
async function signInWithFactor(): Promise<Visitor> {
  const factor = app.supabase.addFactor(ada.email);
  const visitor = app.visitor();
  await visitor.postJson('/auth/login', ada);
  expect((await visitor.postJson('/auth/verify', { code: code(factor) })).status).toBe(200);
  return visitor;
}

describe('endSession takes effect', () => {
  it.each(['factor', 'recovery'])('after a callback that is requested again (%s)', async (kind) => {
    await start({ options: { providers: ['github'] } });
    const visitor = app.visitor();
    let callback: string;
    if (kind === 'factor') {
      const { location } = await visitor.get('/auth/login?provider=github');
      callback = (await app.supabase.authorize(location, { approve: true, user: ada.email })).href;
    } else {
      await postForm(visitor, '/auth/forgot', { email: ada.email });
      callback = (await visitor.get(app.supabase.mails.at(-1)!.confirmationUrl)).location;
    }
    const factor = kind === 'factor' ? app.supabase.addFactor(ada.email) : undefined;
    const before = new Map(visitor.cookies);
    await visitor.get(callback);
    if (factor === undefined) await postForm(visitor, '/auth/password', { password: fresh });
    else await postForm(visitor, '/auth/verify', { code: code(factor) });
    const session = new Map(visitor.cookies);
    const userId = await userIdOf(visitor);
    app.clock.advance(60_000);
    await endSession(app.auth, { userId });
    expect((await tabOf(visitor, session).getJson('/api/me')).status).toBe(401);
    await tabOf(visitor, before).get(callback);
    expect((await tabOf(visitor, session).getJson('/api/me')).status).toBe(401);
  });

  it('after a new password in progress, in the session that gave it', async () => {
    await start();
    const visitor = await signInWithFactor();
    const userId = await userIdOf(visitor);
    app.clock.advance(5_000);
    const gate = app.supabase.gate('update-user');
    const changing = visitor.postJson('/auth/password', change);
    await gate.waitFor(1);
    await endSession(app.auth, { userId });
    gate.open();
    await changing;
    expect((await visitor.getJson('/api/me')).status).toBe(401);
  });
});

it('a sign-in with the former password that is under way when a new one is set ends with it', async () => {
  const [arrived, released] = [Promise.withResolvers<undefined>(), Promise.withResolvers<undefined>()];
  let isSlow = false;
  await start({
    options: {
      onSignIn: async () => {
        if (!isSlow) return;
        isSlow = false;
        arrived.resolve(undefined);
        await released.promise;
      },
    },
  });
  const [owner, thief] = [app.visitor(), app.visitor()];
  await owner.postJson('/auth/login', ada);
  app.clock.advance(1_000);
  isSlow = true;
  const signingIn = thief.postJson('/auth/login', ada);
  await arrived.promise;
  app.clock.advance(1_000);
  expect((await owner.postJson('/auth/password', change)).status).toBe(200);
  released.resolve(undefined);
  expect(await signingIn).toMatchObject({ json: { error: { code: 'invalid_state' } } });
  expect((await thief.getJson('/api/me')).status).toBe(401);
  expect((await owner.getJson('/api/me')).status).toBe(200);
  app.clock.advance(1_000);
  expect((await app.visitor().postJson('/auth/login', { ...ada, password: fresh })).status).toBe(200);
});

describe('a second factor that is entered in a session', () => {
  it.each([
    ['parent', 'first'],
    ['parent', 'last'],
    ['strict', 'first'],
    ['strict', 'last'],
  ] as const)('ends it for no request in progress (reuse: %s, it comes %s)', async (reuse, order) => {
    await start({ standIn: { reuse } });
    const factor = app.supabase.addFactor(ada.email);
    const visitor = app.visitor();
    setSession(visitor, await app.supabase.issueSession(ada.email));
    const tab = tabOf(visitor);
    expect((await visitor.postJson('/auth/verify', { code: code(factor) })).status).toBe(200);
    const both = order === 'first' ? [tab, visitor] : [visitor, tab];
    for (const each of both) {
      const answer = await each.getJson('/api/me');
      expect([answer.status, isCleared(answer)]).toEqual([200, false]);
    }
    app.clock.advance(3_700_000);
    expect((await visitor.getJson('/api/me')).status).toBe(200);
  });

  it('has tokens that work at once, during an outage of the backend and as a bearer token', async () => {
    await start();
    const visitor = await signInWithFactor();
    app.supabase.fail('refresh', 503);
    expect((await visitor.get('/vault')).text).toBe('vault');
    const issued = JSON.parse(
      Buffer.from(visitor.cookies.get(app.cookieName)!.replace('base64-', ''), 'base64url').toString(),
    ) as { readonly access_token: string };
    const headers = { authorization: `Bearer ${issued.access_token}` };
    expect((await app.visitor().get('/bearer', { headers })).text).toBe('bearer');
    expect(app.supabase.calls('refresh')).toBe(0);
  });
});

describe('a new password', () => {
  it('keeps its new session, whatever an earlier request answers', async () => {
    await start();
    const visitor = await app.signedIn();
    const tab = tabOf(visitor);
    const gate = app.supabase.gate('logout');
    const changing = visitor.postJson('/auth/password', change);
    await gate.waitFor(1);
    const slow = tab.get('/slow');
    await wait(50);
    gate.open();
    expect((await changing).status).toBe(200);
    releaseSlow();
    expect(isCleared(await slow)).toBe(false);
    expect((await visitor.getJson('/api/me')).status).toBe(200);
  });

  it('never ends the continuing session, even with a slow coordinator', async () => {
    const shared = createSlowCoordinator();
    await start({ options: { coordinator: shared } });
    const visitor = await signInWithFactor();
    const tab = tabOf(visitor);
    const answers: Answer[] = [];
    const changing = visitor.postJson('/auth/password', change).then((answer) => void answers.push(answer));
    const seen = new Set<number>();
    while (answers.length === 0) seen.add((await tab.getJson('/api/me')).status);
    await changing;
    expect([answers[0]?.status, [...seen]]).toEqual([200, [200]]);
  });

  it('is set for the form’s own user, although another user’s link got no answer', async () => {
    await start();
    app.supabase.addUser(bob);
    const visitor = await app.signedIn();
    await app.visitor().postJson('/auth/forgot', { email: bob.email });
    await postForm(visitor, '/auth/confirm', { token_hash: app.supabase.mails.at(-1)!.tokenHash, type: 'recovery' });
    await continueAsOther(visitor);
    app.supabase.fail('update-user', 503, 1);
    expect((await postForm(visitor, '/auth/password', { password: 'bobs new password 1' })).status).toBe(503);
    await postForm(visitor, '/auth/password', change);
    const signIn = async (email: string): Promise<number> =>
      (await app.visitor().postJson('/auth/login', { email, password: fresh })).status;
    expect([await signIn(ada.email), await signIn(bob.email)]).toEqual([200, 401]);
  });

  it('is set once by a form that is sent three times, as each answer reports', async () => {
    await start({ standIn: { reuse: 'strict' } });
    const visitor = await app.signedIn();
    const signIns = app.supabase.calls('password');
    const gate = app.supabase.gate('update-user');
    const pressed = [1, 2, 3].map(() => postForm(visitor, '/auth/password', { ...change, returnTo: '/account' }));
    await gate.waitFor(1);
    await wait(50);
    gate.open();
    const answers = (await Promise.all(pressed)).map(({ status, headers }) => [status, headers.location]);
    expect(answers).toEqual([1, 2, 3].map(() => [303, '/account']));
    expect([app.supabase.calls('password') - signIns, app.supabase.calls('update-user')]).toEqual([1, 1]);
    app.clock.advance(3_700_000);
    expect((await visitor.getJson('/api/me')).status).toBe(200);
  });

  it('waits for a second factor in each answer to a form that is sent twice', async () => {
    await start();
    const visitor = await app.signedIn();
    const factor = app.supabase.addFactor(ada.email);
    const tab = tabOf(visitor);
    const gate = app.supabase.gate('password');
    const pressed = [visitor, tab].map((each) => postForm(each, '/auth/password', change));
    await gate.waitFor(1);
    await wait(50);
    gate.open();
    expect((await Promise.all(pressed)).map(({ status }) => status)).toEqual([303, 303]);
    const given = await postForm(tab, '/auth/verify?returnTo=%2Fauth%2Fpassword', { code: code(factor) });
    expect([given.status, given.headers.location]).toEqual([303, '/auth/password']);
  });

  it.each(['update-user', 'password'] as const)('loses to a sign-out (in progress: %s)', async (call) => {
    await start();
    const visitor = await app.signedIn();
    if (call === 'password') app.supabase.addFactor(ada.email);
    const gate = app.supabase.gate(call);
    const changing = visitor.postJson('/auth/password', change);
    await gate.waitFor(1);
    await visitor.postJson('/auth/logout');
    gate.open();
    const { status, json } = await changing;
    expect([status, json.error.code]).toEqual([400, 'invalid_state']);
    expect([...visitor.cookies.keys()]).toEqual([]);
  });
});

it('a sign-out ends everything of a new password whose answer was lost', async () => {
  await start({ options: { timeoutMs: 300 } });
  const visitor = await app.signedIn();
  const gate = app.supabase.gate('update-user');
  const tab = tabOf(visitor);
  const changing = visitor.postJson('/auth/password', change);
  await gate.waitFor(1);
  await visitor.postJson('/auth/logout');
  expect((await changing).status).toBe(503);
  gate.open();
  expect([...visitor.cookies.keys()]).toEqual([]);
  expect((await tab.getJson('/api/me')).status).toBe(401);
  expect((await tab.postJson('/auth/password', change)).json.error.code).toBe('unauthenticated');
  expect(app.supabase.calls('update-user')).toBe(1);
});

it('a sign-out wins while onSignIn of a new password runs', async () => {
  const [asked, held] = [Promise.withResolvers<undefined>(), Promise.withResolvers<undefined>()];
  let count = 0;
  await start({
    options: {
      onSignIn: async () => {
        count += 1;
        if (count === 1) return undefined;
        asked.resolve(undefined);
        await held.promise;
        return undefined;
      },
    },
  });
  const visitor = await app.signedIn();
  const tab = tabOf(visitor);
  const changing = visitor.postJson('/auth/password', change);
  await asked.promise;
  await tab.postJson('/auth/logout');
  held.resolve(undefined);
  expect((await changing).json.error.code).toBe('invalid_state');
  expect((await visitor.getJson('/api/me')).status).toBe(401);
});

it('the form of an ended session sets no password with another user’s link', async () => {
  await start();
  app.supabase.addUser(bob);
  const visitor = await app.signedIn();
  const userId = await userIdOf(visitor);
  await app.visitor().postJson('/auth/forgot', { email: bob.email });
  await postForm(visitor, '/auth/confirm', { token_hash: app.supabase.mails.at(-1)!.tokenHash, type: 'recovery' });
  app.supabase.fail('update-user', 503, 1);
  await postForm(visitor, '/auth/password', { password: 'bobs new password 1' });
  await endSession(app.auth, { userId });
  const updates = app.supabase.calls('update-user');
  const answer = await postForm(visitor, '/auth/password', change);
  expect([answer.status, answer.headers.location]).toEqual([303, '/auth/login?returnTo=%2Fauth%2Fpassword']);
  expect(app.supabase.calls('update-user')).toBe(updates);
});

describe('the code of a sign-in that is complete', () => {
  it('is not asked for again: a form that comes late leads on, and counts as no attempt', async () => {
    await start();
    const visitor = await signInWithFactor();
    const calls = app.supabase.calls('verify-factor');
    for (let tries = 0; tries < 6; tries += 1) {
      const late = await postForm(visitor, '/auth/verify', { code: '000000', returnTo: '/account' });
      expect([late.status, late.headers.location]).toEqual([303, '/account']);
    }
    expect(app.supabase.calls('verify-factor')).toBe(calls);
    // Asked for by the application, it is judged.
    expect((await visitor.postJson('/auth/verify', { code: '000000' })).json.error.code).toBe('code_wrong');
  });

  it('counts for no other user’s factor', async () => {
    await start();
    app.supabase.addUser(bob);
    const [other, own] = [app.supabase.addFactor(bob.email), app.supabase.addFactor(ada.email)];
    const visitor = app.visitor();
    setSession(visitor, await app.supabase.issueSession(ada.email));
    for (let tries = 0; tries < 6; tries += 1) {
      const { status, json } = await visitor.postJson('/auth/verify', { factorId: other.id, code: '000000' });
      expect([status, json.error.code]).toEqual([422, 'code_wrong']);
    }
    expect(app.supabase.calls('verify-factor')).toBe(0);
    expect((await visitor.postJson('/auth/verify', { code: code(own) })).status).toBe(200);
  });
});

it('onSignIn runs once for a button that is pressed three times', async () => {
  let asked = 0;
  await start({
    standIn: { autoconfirm: false },
    options: {
      onSignIn: () => {
        asked += 1;
        return undefined;
      },
    },
  });
  const visitor = app.visitor();
  await visitor.postJson('/auth/signup', bob);
  const fields = { token_hash: app.supabase.mails.at(-1)!.tokenHash, type: 'signup' };
  const gate = app.supabase.gate('verify');
  const pressed = [1, 2, 3].map(() => postForm(visitor, '/auth/confirm', fields));
  await gate.waitFor(1);
  await wait(50);
  gate.open();
  expect((await Promise.all(pressed)).map(({ status }) => status)).toEqual([303, 303, 303]);
  expect([asked, app.eventTypes().filter((type) => type === 'signed_in').length]).toEqual([1, 1]);
});

it('onSignIn runs once for a second factor that is sent three times, and the session continues', async () => {
  let asked = 0;
  await start({
    standIn: { reuse: 'strict' },
    options: {
      onSignIn: () => {
        asked += 1;
        return undefined;
      },
    },
  });
  const factor = app.supabase.addFactor(ada.email);
  const visitor = app.visitor();
  await visitor.postJson('/auth/login', ada);
  const gate = app.supabase.gate('verify-factor');
  const pressed = [1, 2, 3].map(() => visitor.postJson('/auth/verify', { code: code(factor) }));
  await gate.waitFor(1);
  await wait(50);
  gate.open();
  expect((await Promise.all(pressed)).map(({ status }) => status)).toEqual([200, 200, 200]);
  expect([asked, app.supabase.calls('verify-factor')]).toEqual([1, 1]);
  app.clock.advance(3_700_000);
  expect((await visitor.getJson('/api/me')).status).toBe(200);
});

it('a sign-in in progress ends when another user’s takes its place', async () => {
  await start();
  app.supabase.addUser(bob);
  for (const { email } of [ada, bob]) app.supabase.addFactor(email);
  const visitor = app.visitor();
  await visitor.postJson('/auth/login', bob);
  const old = new Map(visitor.cookies);
  await visitor.postJson('/auth/login', ada);
  expect([app.supabase.sessionsOf(bob.email).length, app.supabase.sessionsOf(ada.email).length]).toEqual([0, 1]);
  expect((await tabOf(visitor, old).getJson('/auth/verify')).status).toBe(401);
});

/** A coordinator that takes 20 ms for every call. */
function createSlowCoordinator(): SharedCoordinator {
  const shared = createShared();
  return {
    ...shared,
    async merge(...change) {
      await wait(20);
      await shared.merge(...change);
    },
    async read(subject) {
      await wait(20);
      return shared.read(subject);
    },
  };
}
