import { IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import { jest } from '@jest/globals';
import { authenticateUpgrade, currentSession, endSession, requireSession } from '../../lib/b2b/index.ts';
import type { StandInUser } from '../../stand-ins/workos/index.ts';
import { demoUsers, startB2bApp, startProvider } from '../support/b2b-app.ts';
import type { B2bApp, SharedProvider } from '../support/b2b-app.ts';
import { sendText } from '../support/hosts.ts';
import { itWithoutProxy } from '../support/only.ts';
import { createShared } from '../support/shared-memory.ts';
import type { Visitor } from '../support/visitor.ts';

/** A sign-out that never reached WorkOS: AuthKit continues the session, with the same `sid`, at the next sign-in. */

let provider: SharedProvider;
beforeAll(async () => {
  provider = await startProvider();
});
// AuthKit continues a session that `endSession` could not end there.
beforeEach(() => void (provider.workos.switches.outage = { revoke: 'refuse' }));
afterAll(() => provider.close());

interface Person {
  readonly browser: Visitor;
  /** AuthKit's own cookie. */
  readonly hosted: Record<string, string>;
}

async function signIn(app: B2bApp, { id } = demoUsers.personal as StandInUser, query = ''): Promise<Person> {
  const browser = app.visitor();
  const start = await browser.get(`/login${query}`);
  const body = new URLSearchParams({ user_id: id });
  const chosen = await fetch(start.location, { method: 'POST', body, redirect: 'manual' });
  const [cookie = ''] = (chosen.headers.get('set-cookie') ?? '').split(';');
  expect((await browser.get(chosen.headers.get('location') ?? '')).status).toBe(303);
  return { browser, hosted: { cookie } };
}

/** Until AuthKit answers with a code, without a question. */
async function callbackOf({ browser, hosted }: Person, query = ''): Promise<string> {
  const start = await browser.get(`/login${query}`);
  const back = await fetch(start.location, { headers: hosted, redirect: 'manual' });
  return back.headers.get('location') ?? '';
}

const sessionOf = async ({ browser }: Person) => (await browser.getJson('/auth/session')).json;

describe.each(['one process', 'a coordinator'])('with %s', (kind) => {
  let app: B2bApp;
  beforeAll(async () => {
    app = await startB2bApp({
      provider,
      options: kind === 'one process' ? {} : { coordinator: createShared(provider.clock.now) },
    });
  });
  afterAll(() => app.close());

  it('signs in again after a sign-out that never reached WorkOS, and keeps the old cookie out', async () => {
    const person = await signIn(app);
    const { sessionId } = await sessionOf(person);
    const old = person.browser.cookieHeader();
    provider.clock.advance(1_000);
    await person.browser.post('/logout');
    provider.clock.advance(1_000);
    const done = await person.browser.get(await callbackOf(person));
    expect([done.status, done.headers.location]).toEqual([303, '/']);
    expect((await sessionOf(person)).sessionId).toBe(sessionId);
    expect((await app.visitor().get('/auth/session', { headers: { cookie: old } })).status).toBe(401);
    expect((await sessionOf(person)).sessionId).toBe(sessionId);
  });

  it('keeps the session over refreshes, and a second sign-out ends it', async () => {
    const person = await signIn(app);
    const old = person.browser.cookieHeader();
    provider.clock.advance(1_000);
    await person.browser.post('/logout');
    provider.clock.advance(1_000);
    await person.browser.get(await callbackOf(person));
    provider.clock.advance(299_000);
    expect((await sessionOf(person)).authenticated).toBe(true);
    expect((await app.visitor().get('/auth/session', { headers: { cookie: old } })).status).toBe(401);
    const second = person.browser.cookieHeader();
    await person.browser.post('/logout');
    expect((await app.visitor().get('/auth/session', { headers: { cookie: second } })).status).toBe(401);
  });

  it('refuses a callback that comes again, and leaves the new session alone', async () => {
    const person = await signIn(app);
    const callback = await callbackOf(person);
    const copy = person.browser.cookieHeader();
    await person.browser.get(callback);
    provider.clock.advance(1_000);
    await person.browser.post('/logout');
    provider.clock.advance(1_000);
    await person.browser.get(await callbackOf(person));
    provider.workos.clearRequests();
    const flowOnly = copy.split('; ').filter((pair) => pair.includes('-flow-'));
    const again = await app.visitor().get(callback, { headers: { cookie: flowOnly.join('; ') } });
    expect([again.status, again.text.includes('invalid_state')]).toEqual([400, true]);
    provider.clock.advance(400_000);
    expect((await sessionOf(person)).authenticated).toBe(true);
    expect(provider.workos.requests.filter(({ endpoint }) => endpoint === 'revoke')).toEqual([]);
  });

  it('refuses a sign-in that began before the sign-out', async () => {
    const person = await signIn(app);
    const other = app.visitor();
    person.browser.cookies.forEach((value, name) => other.cookies.set(name, value));
    const callback = await callbackOf({ ...person, browser: other });
    provider.clock.advance(1_000);
    // Another copy of the browser's cookies, so that the flow is not canceled by its own cookie.
    await person.browser.post('/logout');
    provider.clock.advance(1_000);
    const late = await other.get(callback);
    expect([late.status, late.text.includes('invalid_state')]).toEqual([400, true]);
  });
});

it('keeps an old cookie out in every process, and lets the new one in, although a clock is behind', async () => {
  const coordinator = createShared(provider.clock.now);
  const behind = { now: () => provider.clock.now() - 3_000 };
  const cookiePassword = 'a password of the two processes, 32+';
  const one = await startB2bApp({ provider, options: { coordinator, cookiePassword } });
  const two = await startB2bApp({ provider, options: { coordinator, cookiePassword, ...behind } });
  const person = await signIn(one);
  const old = person.browser.cookieHeader();
  // Its own clock says that the session has not begun yet.
  const elsewhere = two.visitor();
  await elsewhere.post('/logout', { headers: { cookie: old } });
  for (const app of [one, two]) {
    expect((await app.visitor().get('/auth/session', { headers: { cookie: old } })).status).toBe(401);
  }
  provider.clock.advance(1_000);
  person.browser.cookies.clear();
  expect((await person.browser.get(await callbackOf(person))).status).toBe(303);
  const cookie = person.browser.cookieHeader();
  for (const app of [one, two]) {
    expect((await app.visitor().get('/auth/session', { headers: { cookie } })).status).toBe(200);
    expect((await app.visitor().get('/auth/session', { headers: { cookie: old } })).status).toBe(401);
  }
  await one.close();
  await two.close();
});

it('signs in again to a session that another account replaced, where its end never reached WorkOS', async () => {
  const app = await startB2bApp({ provider });
  const person = await signIn(app);
  const { sessionId } = await sessionOf(person);
  const old = person.browser.cookieHeader();
  provider.workos.switches.outage = { revoke: 'refuse' };
  const start = await person.browser.get('/login?prompt=login');
  await person.browser.get((await app.workos.authorize(start.location, { user: demoUsers.oneOrganization })).href);
  expect((await sessionOf(person)).user.id).toBe(demoUsers.oneOrganization.id);
  expect((await person.browser.get(await callbackOf(person))).status).toBe(303);
  expect((await sessionOf(person)).sessionId).toBe(sessionId);
  expect((await person.browser.get('/dashboard')).status).toBe(200);
  expect((await app.visitor().get('/auth/session', { headers: { cookie: old } })).status).toBe(401);
  await person.browser.post('/logout');
  expect((await sessionOf(person)).error.code).toBe('unauthenticated');
  provider.workos.switches.outage = {};
  await app.close();
});

it('endSession by id ends a session in every process, although a sign-in has continued it after a sign-out', async () => {
  const coordinator = createShared(provider.clock.now);
  const cookiePassword = 'a password of the two processes, 32+';
  const one = await startB2bApp({ provider, options: { coordinator, cookiePassword } });
  const two = await startB2bApp({ provider, options: { coordinator, cookiePassword } });
  const person = await signIn(one);
  const { sessionId } = await sessionOf(person);
  provider.clock.advance(1_000);
  await person.browser.post('/logout');
  provider.clock.advance(1_000);
  await person.browser.get(await callbackOf(person));
  const cookie = person.browser.cookieHeader();
  const statuses = (): Promise<number[]> =>
    Promise.all(
      [one, two].map(async (app) => (await app.visitor().get('/auth/session', { headers: { cookie } })).status),
    );
  expect(await statuses()).toEqual([200, 200]);
  await endSession(one.auth, { sessionId });
  provider.clock.advance(5_001);
  expect(await statuses()).toEqual([401, 401]);
  coordinator.isDown = true;
  await expect(endSession(two.auth, { sessionId })).rejects.toMatchObject({ status: 503 });
  await one.close();
  await two.close();
});

it.each(['sessionId', 'userId'] as const)(
  'a cookie that endSession by %s has ended stays out, although a sign-in continues its session',
  async (by) => {
    const coordinator = createShared(provider.clock.now);
    const cookiePassword = 'a password of the two processes, 32+';
    const one = await startB2bApp({ provider, options: { coordinator, cookiePassword } });
    const two = await startB2bApp({ provider, options: { coordinator, cookiePassword } });
    const person = await signIn(one);
    const old = person.browser.cookieHeader();
    const { sessionId, user } = await sessionOf(person);
    provider.clock.advance(1_000);
    await endSession(one.auth, by === 'sessionId' ? { sessionId } : { userId: user.id });
    provider.clock.advance(1_000);
    person.browser.cookies.clear();
    await person.browser.get(await callbackOf(person));
    expect((await sessionOf(person)).sessionId).toBe(sessionId);
    const cookie = person.browser.cookieHeader();
    for (const app of [one, two]) {
      expect((await app.visitor().get('/auth/session', { headers: { cookie } })).status).toBe(200);
      expect((await app.visitor().get('/auth/session', { headers: { cookie: old } })).status).toBe(401);
    }
    await one.close();
    await two.close();
  },
);

it.each(['sessionId', 'userId'] as const)(
  'a bearer token that endSession by %s has ended stays out, although a sign-in continues its session with the same auth_time',
  async (by) => {
    const app = await startB2bApp({
      provider,
      after: (host) => {
        host.get('/token', requireSession(), (req, res) => sendText(res, currentSession(req, 'b2b').accessToken));
        host.get('/api', requireSession({ credentials: ['bearer'] }), (_req, res) => sendText(res, 'passed'));
      },
    });
    const api = async (token: string) =>
      (await app.visitor().get('/api', { headers: { authorization: `Bearer ${token}` } })).status;
    const person = await signIn(app);
    const former = (await person.browser.get('/token')).text;
    const { sessionId, user } = await sessionOf(person);
    expect(await api(former)).toBe(200);
    provider.clock.advance(1_000);
    await endSession(app.auth, by === 'sessionId' ? { sessionId } : { userId: user.id });
    expect(await api(former)).toBe(401);
    person.browser.cookies.clear();
    await person.browser.get(await callbackOf(person));
    const next = (await person.browser.get('/token')).text;
    expect([await api(former), await api(next)]).toEqual([401, 200]);
    await app.close();
  },
);

it('a refusal ends a session that was renewed here before a sign-in continued it', async () => {
  const app = await startB2bApp({ provider });
  const person = await signIn(app);
  provider.clock.advance(299_000);
  expect((await sessionOf(person)).authenticated).toBe(true);
  provider.clock.advance(1_000);
  await person.browser.get(await callbackOf(person));
  provider.clock.advance(310_000);
  const body = { code: 'invalid_grant', message: 'Refused.' };
  provider.workos.switches.authenticateError = { status: 400, body };
  expect((await person.browser.get('/dashboard')).status).toBe(307);
  provider.workos.switches.authenticateError = null;
  expect(person.browser.cookies.has('b2b-session')).toBe(false);
  expect(app.events.filter(({ type }) => type === 'session_ended')).toHaveLength(1);
  await app.close();
});

// The handshake that the test makes up has passed no proxy.
itWithoutProxy(
  'a sign-in that moves the session to another organization ends the WebSockets of the former one',
  async () => {
    const app = await startB2bApp({ provider });
    const [north, south] = demoUsers.twoOrganizations.organizations;
    const person = await signIn(app, demoUsers.twoOrganizations, `?organization_id=${north.id}`);
    const upgrade = () => {
      const req = new IncomingMessage(new Socket());
      const { host } = new URL(app.origin);
      Object.assign(req.headers, { host, origin: app.origin, cookie: person.browser.cookieHeader() });
      return authenticateUpgrade(app.auth, req);
    };
    const former = await upgrade();
    await person.browser.get(await callbackOf(person, `?organization_id=${north.id}`));
    expect(former.ended.aborted).toBe(false);
    await person.browser.get(await callbackOf(person, `?organization_id=${south.id}`));
    expect(former.ended.reason).toMatchObject({ reason: 'switched' });
    expect((await upgrade()).session).toMatchObject({ sessionId: former.session.claims.sid, organizationId: south.id });
    await app.close();
  },
);

it('a sign-in right after endSession is fresh, and tells operators nothing about clocks', async () => {
  const warn = jest.spyOn(process, 'emitWarning').mockImplementation(() => undefined);
  provider.workos.switches.extraClaims = { auth_time: undefined };
  const app = await startB2bApp({
    provider,
    after: (host) => host.get('/fresh', requireSession({ maxAge: 60 }), (_req, res) => sendText(res, 'fresh')),
  });
  try {
    const person = await signIn(app);
    await endSession(app.auth, { sessionId: (await sessionOf(person)).sessionId });
    await person.browser.get(await callbackOf(person));
    expect((await person.browser.get('/fresh')).text).toBe('fresh');
    const clocks = { code: 'EXPRESS_AUTH_ADAPTERS_CLOCKS_DIFFER' };
    expect(warn).not.toHaveBeenCalledWith(expect.anything(), expect.objectContaining(clocks));
  } finally {
    warn.mockRestore();
    provider.workos.switches.extraClaims = {};
    await app.close();
  }
});
