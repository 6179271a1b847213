import { jest } from '@jest/globals';
import { requireSession } from '../../lib/backend/index.ts';
import type { SharedCoordinator } from '../../lib/session/coordinator.ts';
import { readToken } from '../../lib/session/jwt.ts';
import { ada, encodeSession, startBackendApp } from '../support/backend-app.ts';
import type { BackendApp } from '../support/backend-app.ts';
import { sendText } from '../support/hosts.ts';
import { createShared } from '../support/shared-memory.ts';
import { flowPrefix, variant } from '../support/variant.ts';
import { until } from '../support/until.ts';
import type { Answer, Visitor } from '../support/visitor.ts';

let app: BackendApp;
/** What the coordinator was asked and told. */
let commands: string[];
let verify: jest.SpiedFunction<typeof crypto.subtle.verify>;

beforeEach(async () => {
  commands = [];
  app = await startBackendApp({
    options: { coordinator: recording(createShared()) },
    after: (host) => host.get('/vault', requireSession({ aal: 'enrolled' }), (_req, res) => sendText(res, 'vault')),
  });
  // Fetches the project's keys.
  await (await app.signedIn()).getJson('/auth/session');
  commands = [];
  verify = jest.spyOn(crypto.subtle, 'verify');
});
afterEach(() => {
  jest.restoreAllMocks();
  return app.close();
});

function recording(coordinator: SharedCoordinator): SharedCoordinator {
  return new Proxy(coordinator, {
    get(target, name) {
      const method: unknown = Reflect.get(target, name);
      if (typeof method !== 'function') return method;
      return (...given: unknown[]) => {
        commands.push(String(name));
        return Reflect.apply(method, target, given);
      };
    },
  });
}

/** Tokens of the project's own key id with a bad signature, as short as they get: what a sibling domain can set. */
async function forgedTokens(
  count: number,
  from = 0,
  claims: Readonly<Record<string, unknown>> = {},
): Promise<string[]> {
  const { access_token: genuine } = await app.supabase.issueSession(ada.email);
  const whole = { role: 'authenticated', aud: 'authenticated', sub: 'x', exp: 4_102_444_800, ...claims };
  const payload = Buffer.from(JSON.stringify(whole)).toString('base64url');
  return Array.from({ length: count }, (_none, index) => {
    return `${genuine.split('.')[0]}.${payload}.${String(from + index).padStart(85, '0')}A`;
  });
}

const forged = async (count: number, from?: number): Promise<string[]> =>
  (await forgedTokens(count, from)).map((access_token) => encodeSession({ access_token, refresh_token: 'r' }));

const asCookies = (values: readonly string[], name = app.cookieName): string =>
  values.map((value) => `${name}=${value}`).join('; ');

const newSignIn = { email: 'eve@example.com', password: 'battery staple' };

/** The genuine cookie of a session that this process has not verified. */
const unseen = async (): Promise<string> => {
  const visitor = await app.signedIn({});
  return visitor.cookieHeader();
};

const ask = (path: string, cookie: string): Promise<Answer> =>
  app.visitor().get(path, { headers: { cookie, accept: 'application/json' } });
const post = (path: string, cookie: string, body: unknown = {}): Promise<Answer> =>
  app.visitor().post(path, { headers: { cookie, 'content-type': 'application/json' }, body: JSON.stringify(body) });

describe('twelve forged session cookies', () => {
  it.each(['/auth/session', '/api/me', '/account', '/whoami', '/vault', '/auth/login', '/auth/enroll', '/auth/verify'])(
    'cost %s four signature checks, no call and no command of the coordinator',
    async (path) => {
      const cookie = asCookies(await forged(12));
      verify.mockClear();
      const before = app.supabase.requests.length;
      const answer = await app.visitor().get(path, { headers: { cookie } });
      expect([answer.status < 500, verify.mock.calls.length]).toEqual([true, 4]);
      expect([app.supabase.requests.length - before, commands]).toEqual([0, []]);
    },
  );

  it('hide no genuine session that they name, however new they say they are', async () => {
    const visitor = await app.signedIn();
    const cookie = visitor.cookieHeader();
    const text = Buffer.from(cookie.replace(/^[^=]+=base64-/, ''), 'base64url').toString();
    const { access_token: genuine } = JSON.parse(text) as { access_token: string };
    const { session_id } = readToken(genuine).claims;
    app.clock.advance(3_700_000);
    const iat = Math.floor(app.clock.now() / 1000) - 60;
    const claims = { role: 'authenticated', aud: 'authenticated', sub: 'x', session_id, iat, exp: iat + 30 };
    // Of a key that the project does not publish (any more): only a refresh could tell.
    const parts = [{ alg: 'ES256', kid: 'gone' }, claims].map((part) =>
      Buffer.from(JSON.stringify(part)).toString('base64url'),
    );
    const newer = encodeSession({ access_token: `${parts.join('.')}.AAAA`, refresh_token: 'r' });
    expect((await ask('/api/me', `${app.cookieName}=${newer}; ${cookie}`)).status).toBe(200);
  });

  it('cost a sign-out no call and no command of the coordinator, and one check each', async () => {
    const cookie = asCookies(await forged(12));
    verify.mockClear();
    const before = app.supabase.requests.length;
    const { status, setCookies } = await post('/auth/logout', cookie);
    expect([status, setCookies.filter((line) => line.startsWith(`${app.cookieName}=;`)).length]).toEqual([200, 1]);
    expect(verify.mock.calls.length).toBe(12);
    expect([app.supabase.requests.length - before, commands]).toEqual([0, []]);
    expect(app.eventTypes()).not.toContain('signed_out');
  });

  it('cost a sign-out sixteen checks at most, however many more there are', async () => {
    const cookie = asCookies(await forged(20));
    verify.mockClear();
    expect((await post('/auth/logout', cookie)).status).toBe(200);
    expect(verify.mock.calls.length).toBeLessThanOrEqual(16);
  });
});

/** The same for sign-ins in progress. */
async function forgedPending(count: number): Promise<string> {
  const amr = [{ method: 'otp', timestamp: Math.floor(app.clock.now() / 1000) }];
  const pending = (await forgedTokens(count, 0, { amr })).map((access_token) => {
    const value = { needs: ['password'], access_token, refresh_token: 'r' };
    return Buffer.from(JSON.stringify(value)).toString('base64url');
  });
  return asCookies(pending, `${flowPrefix}${app.cookieName}-pending`);
}

it('five forged cookies of a sign-in in progress keep none alive at a sign-out or a sign-in', async () => {
  app.supabase.addFactor(ada.email);
  for (const path of ['/auth/logout', '/auth/login']) {
    const forgeries = await forgedPending(5);
    const before = app.supabase.sessionsOf(ada.email).length;
    const visitor = app.visitor();
    await visitor.postJson('/auth/login', ada);
    expect(app.supabase.sessionsOf(ada.email)).toHaveLength(before + 1);
    app.supabase.addUser(newSignIn);
    const own = visitor.cookieHeader();
    const done = await post(path, [forgeries, own].join('; '), newSignIn);
    expect([200, 303]).toContain(done.status);
    await until(() => app.supabase.sessionsOf(ada.email).length === before);
    expect((await ask('/auth/verify', own)).status).toBe(401);
  }
});

it('twelve forged cookies of a sign-in in progress cost four signature checks and no call', async () => {
  const cookie = await forgedPending(12);
  verify.mockClear();
  const before = app.supabase.requests.length;
  expect((await ask('/auth/verify', cookie)).status).toBe(401);
  expect([verify.mock.calls.length, app.supabase.requests.length - before, commands]).toEqual([4, 0, []]);
});

describe('forged cookies in front of the genuine one', () => {
  it('never delete its cookie, and hide no session that was verified before', async () => {
    const visitor = await app.signedIn();
    const tossed = [asCookies(await forged(4)), visitor.cookieHeader()].join('; ');
    const unknown = await ask('/auth/session', tossed);
    expect([unknown.status, unknown.setCookies]).toEqual([401, []]);
    expect((await visitor.getJson('/auth/session')).status).toBe(200);
    expect((await ask('/auth/session', tossed)).status).toBe(variant.isCached ? 200 : 401);
  });

  const accessTokenIn = (cookie: string): string =>
    JSON.parse(Buffer.from(cookie.split('=base64-')[1] ?? '', 'base64url').toString()).access_token;

  it.each([
    ['/auth/logout', 'verified before', (visitor: Visitor) => visitor.getJson('/auth/session')],
    ['/auth/logout', 'never verified here', () => undefined],
    ['/auth/login', 'verified before', (visitor: Visitor) => visitor.getJson('/auth/session')],
    ['/auth/login', 'never verified here', () => undefined],
  ])('keep no session alive at %s that was %s: it ends here and at the backend', async (path, _what, prepare) => {
    app.supabase.addUser(newSignIn);
    const visitor = await app.signedIn({});
    const own = visitor.cookieHeader();
    await prepare(visitor);
    const tossed = [asCookies(await forged(5)), own, asCookies(await forged(5, 5))].join('; ');
    const { session_id: id } = JSON.parse(Buffer.from(accessTokenIn(own).split('.')[1] ?? '', 'base64url').toString());
    const isAlive = (): boolean => app.supabase.sessionsOf(ada.email).some((session) => session.id === id);
    expect(isAlive()).toBe(true);
    const done = await post(path, tossed, newSignIn);
    expect([200, 303]).toContain(done.status);
    expect(done.setCookies.some((line) => line.startsWith(`${app.cookieName}=`))).toBe(true);
    expect((await ask('/auth/session', own)).status).toBe(401);
    await until(() => !isAlive());
  });

  it('delete every cookie of ours at a sign-out', async () => {
    const own = await unseen();
    const { setCookies } = await post(
      '/auth/logout',
      [asCookies(await forged(4)), own, `${app.cookieName}.0=x`].join('; '),
    );
    const deleted = setCookies.filter((line) => line.includes('; Max-Age=0;')).map((line) => line.split('=', 1)[0]);
    expect(deleted).toEqual(expect.arrayContaining([app.cookieName, `${app.cookieName}.0`]));
  });
});
