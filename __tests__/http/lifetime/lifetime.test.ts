import { randomBytes } from 'node:crypto';
import { jest } from '@jest/globals';
import express from 'express';
import { sealData, unsealData } from 'iron-session';
import type { SharedAuthOptions } from '../../../lib/options/shared.ts';
import { b2bAuth, backendAuth, currentSession, requireSession } from '../../../lib/index.ts';
import { createB2bTestKit, createBackendTestKit } from '../../../lib/testing/index.ts';
import { ada, postForm, setSession, startBackendApp } from '../../support/backend-app.ts';
import { adapters } from '../../support/apps-under-test.ts';
import type { AppUnderTest } from '../../support/apps-under-test.ts';
import { closeAfterEach } from '../../support/close-after-each.ts';
import { createClock, startB2bApp } from '../../support/b2b-app.ts';
import { sendText } from '../../support/hosts.ts';
import type { Host } from '../../support/hosts.ts';
import { serve } from '../../support/servers.ts';
import { createShared } from '../../support/shared-memory.ts';
import { until } from '../../support/until.ts';
import { createVisitor } from '../../support/visitor.ts';
import type { Answer, Visitor } from '../../support/visitor.ts';

const closed = closeAfterEach();
const second = 1_000;
const hour = 3_600;
const password = 'a password for seals, of 32 characters or more';

interface Lifetimes {
  readonly sessionMaxAge?: number;
  readonly idleTimeout?: number;
}

describe.each(adapters)('$name', ({ start }) => {
  const startWith = (lifetimes: Lifetimes, options: SharedAuthOptions = {}): Promise<AppUnderTest> =>
    closed(
      start({
        options: { ...options, ...lifetimes },
        after(host) {
          host.get('/bearer', requireSession({ credentials: ['bearer'] }), (_req, res) => sendText(res, 'bearer'));
          host.get('/token', requireSession(), (req, res) => sendText(res, currentSession(req).accessToken));
        },
      }),
    );
  const sessionEvents = ({ events }: AppUnderTest) =>
    events.filter(({ type }) => type === 'session_ended' || type === 'session_rejected');

  /** Asks at each of these seconds after the one before. @returns the statuses */
  async function asks(app: AppUnderTest, visitor: Visitor, seconds: readonly number[]): Promise<number[]> {
    const statuses: number[] = [];
    for (const each of seconds) {
      app.clock.advance(each * second);
      const refreshed = app.refreshes().length;
      statuses.push((await visitor.getJson('/api/me')).status);
      // A renewal in the background ends before the clock goes on.
      await until(() => sessionEvents(app).length > 0 || app.refreshes().length === refreshed || isQuiet(app));
    }
    return statuses;
  }
  /** @returns the statuses of so many requests, one every so many seconds */
  async function asksEvery(app: AppUnderTest, visitor: Visitor, seconds: number, count: number): Promise<Set<number>> {
    return new Set(await asks(app, visitor, Array<number>(count).fill(seconds)));
  }
  const isQuiet = (app: AppUnderTest): boolean =>
    app.eventTypes().filter((type) => type === 'session_refreshed' || type === 'refresh_failed').length >=
    app.refreshes().length;

  it('ends a session sessionMaxAge after its sign-in, however often it was renewed', async () => {
    const app = await startWith({ sessionMaxAge: 5 * hour });
    const visitor = await app.signedIn();
    app.forget();
    expect(await asks(app, visitor, [...Array.from({ length: 4 }, () => hour), hour - 1, 1])).toEqual([
      ...Array.from({ length: 5 }, () => 200),
      401,
    ]);
    expect(app.refreshes().length).toBeGreaterThan(1);
    expect(visitor.cookies.size).toBe(0);
    expect(sessionEvents(app)).toMatchObject([{ type: 'session_ended', reason: 'session_max_age' }]);
  });

  it('counts sessionMaxAge from the newest sign-in', async () => {
    const app = await startWith({ sessionMaxAge: 5 * hour });
    const visitor = await app.signedIn();
    app.clock.advance(4 * hour * second);
    const again = await app.otherSignedIn();
    expect((await asks(app, again, [4 * hour]))[0]).toBe(200);
    expect((await asks(app, visitor, [0]))[0]).toBe(401);
  });

  it('ends a session after idleTimeout without a request, and asks the provider for nothing', async () => {
    const app = await startWith({ idleTimeout: 600 });
    const visitor = await app.signedIn();
    app.forget();
    app.clock.advance(600 * second);
    const answers = [await visitor.getJson('/api/me'), await visitor.getJson('/api/me')];
    expect(answers.map(({ status }) => status)).toEqual([401, 401]);
    expect(visitor.cookies.size).toBe(0);
    expect(app.refreshes()).toEqual([]);
    expect(sessionEvents(app)).toMatchObject([{ type: 'session_ended', reason: 'idle_timeout' }]);
    expect(sessionEvents(app)[0]).toHaveProperty('userId');
  });

  it('sends a signed-out person to sign in and back, as ever', async () => {
    const app = await startWith({ idleTimeout: 600 });
    const visitor = await app.signedIn();
    app.clock.advance(600 * second);
    const answer = await visitor.get('/api/me');
    expect([answer.status, new URL(answer.location, app.origin).searchParams.get('returnTo')]).toEqual([
      307,
      '/api/me',
    ]);
  });

  it('keeps a session in use for as long as it is used', async () => {
    const app = await startWith({ idleTimeout: 600 });
    const visitor = await app.signedIn();
    app.forget();
    expect(await asksEvery(app, visitor, 449, 20)).toEqual(new Set([200]));
    expect(await asksEvery(app, visitor, 10, 200)).toEqual(new Set([200]));
    // Each of the first finds the token due, of the others each fifteenth.
    expect(app.refreshes().length).toBeLessThanOrEqual(20 + 200 / 15 + 2);
  });

  it('renews with no window, too', async () => {
    const app = await startWith({ idleTimeout: 600 }, { refreshWindow: 0 });
    const visitor = await app.signedIn();
    expect(await asksEvery(app, visitor, 449, 20)).toEqual(new Set([200]));
  });

  it.each([
    ['was lost', false],
    ['came', true],
  ])(
    'keeps a session whose renewal just before the limit %s, where an older cookie comes after it',
    async (_what, hasCome) => {
      const app = await startWith({ idleTimeout: 600 });
      const visitor = await app.signedIn();
      const before = visitor.cookieHeader();
      app.clock.advance(599 * second);
      const renewed = await visitor.getJson('/api/me');
      expect([renewed.status, renewed.setCookies.length]).toEqual([200, 1]);
      app.clock.advance(2 * second);
      if (!hasCome) visitor.cookies.clear();
      app.forget();
      const late = await visitor.ask('/api/me', { headers: { accept: 'application/json', cookie: before } });
      expect([late.status, late.setCookies.some((line) => line.includes('Max-Age=0'))]).toEqual([200, false]);
      expect((await visitor.getJson('/api/me')).status).toBe(200);
      expect(sessionEvents(app)).toEqual([]);
      expect(app.refreshes()).toEqual([]);
    },
  );

  it('keeps a session whose renewal just before the limit is under way', async () => {
    const app = await startWith({ idleTimeout: 600 });
    const visitor = await app.signedIn();
    const headers = { accept: 'application/json', cookie: visitor.cookieHeader() };
    app.forget();
    app.clock.advance(599 * second);
    const gate = app.gate();
    const renewed = visitor.getJson('/api/me');
    await gate.arrived();
    app.clock.advance(2 * second);
    const late = visitor.ask('/api/me', { headers });
    // A request after it is answered: the late one waits.
    expect(await Promise.race([late, visitor.get('/').then(() => visitor.get('/'))])).toMatchObject({ text: 'home' });
    gate.open();
    expect([(await renewed).status, (await late).status]).toEqual([200, 200]);
    expect((await visitor.getJson('/api/me')).status).toBe(200);
    expect(sessionEvents(app)).toEqual([]);
  });

  /** An app whose responses are lost for as long as `isLost`. */
  async function startLosing(lifetimes: Lifetimes) {
    const network = { isLost: false };
    const lose = (host: Host): unknown =>
      host.use((_req, res, next) => {
        if (network.isLost) res.writeHead = res.end = () => res.destroy();
        next();
      });
    const app = await closed(start({ options: lifetimes as SharedAuthOptions, before: lose }));
    return { app, network };
  }

  it('ends a session whose newer token, which no browser got, is as old', async () => {
    const { app, network } = await startLosing({ idleTimeout: 600 });
    const visitor = await app.signedIn();
    app.clock.advance(500 * second);
    network.isLost = true;
    await visitor.getJson('/api/me').catch(() => undefined);
    network.isLost = false;
    expect(app.eventTypes()).toContain('session_refreshed');
    app.forget();
    app.clock.advance(600 * second);
    expect((await visitor.getJson('/api/me')).status).toBe(401);
    expect([app.refreshes(), visitor.cookies.size]).toEqual([[], 0]);
    expect(sessionEvents(app)).toMatchObject([{ type: 'session_ended', reason: 'idle_timeout' }]);
  });

  it('keeps a session in use whose newer tokens no browser got', async () => {
    const { app, network } = await startLosing({ idleTimeout: 600 });
    const visitor = await app.signedIn();
    app.forget();
    network.isLost = true;
    for (let request = 0; request < 30; request += 1) {
      app.clock.advance(60 * second);
      await visitor.getJson('/api/me').catch(() => undefined);
    }
    network.isLost = false;
    expect((await visitor.getJson('/api/me')).status).toBe(200);
    // Each third request finds the newest token due.
    expect(app.refreshes()).toHaveLength(10);
    expect(sessionEvents(app)).toEqual([]);
  });

  it('asks a provider that fails for those tokens no more often than it rests', async () => {
    const { app, network } = await startLosing({ idleTimeout: 600 });
    const visitor = await app.signedIn();
    app.clock.advance(150 * second);
    network.isLost = true;
    await visitor.getJson('/api/me').catch(() => undefined);
    network.isLost = false;
    app.clock.advance(150 * second);
    app.forget();
    app.fail('refresh', 503);
    const cookie = visitor.cookieHeader();
    const ask = (): Promise<Answer> => visitor.ask('/whoami', { headers: { accept: 'application/json', cookie } });
    for (let request = 0; request < 5; request += 1) expect((await ask()).json.user).not.toBeNull();
    expect(app.refreshes()).toHaveLength(1);
  });

  it('uses a session in an outage until it was idle for long enough', async () => {
    const app = await startWith({ idleTimeout: 240 });
    const visitor = await app.signedIn();
    app.forget();
    app.fail('refresh', 503);
    expect(await asks(app, visitor, [70, 70, 99])).toEqual([200, 200, 200]);
    expect(await asks(app, visitor, [1])).toEqual([401]);
  });

  it('leaves a bearer token to its own expiry', async () => {
    const app = await startWith({ idleTimeout: 60, sessionMaxAge: 60 });
    const visitor = await app.signedIn();
    const { text: token } = await visitor.get('/token');
    app.clock.advance(200 * second);
    const headers = { authorization: `Bearer ${token}` };
    expect((await visitor.get('/bearer', { headers })).status).toBe(200);
    expect((await visitor.getJson('/api/me')).status).toBe(401);
  });

  it('ends at the provider at sign-out what is over here', async () => {
    const app = await startWith({ idleTimeout: 60 });
    const visitor = await app.signedIn();
    app.clock.advance(100 * second);
    await app.signOut(visitor);
    expect(visitor.cookies.size).toBe(0);
    expect(app.eventTypes()).toContain('signed_out');
  });

  it('deletes no cookie while the processes that may have renewed it are not heard', async () => {
    const coordinator = createShared();
    const app = await startWith({ idleTimeout: 600 }, { coordinator });
    const visitor = await app.signedIn();
    app.clock.advance(601 * second);
    const take = jest.spyOn(coordinator, 'take').mockRejectedValue(new Error('down'));
    const unheard = await visitor.getJson('/api/me');
    expect([unheard.status, unheard.setCookies]).toEqual([401, []]);
    expect(sessionEvents(app)).toMatchObject([{ type: 'session_rejected', reason: 'idle_timeout' }]);
    take.mockRestore();
    // The coordinator rests after a failure.
    app.clock.advance(60 * second);
    expect((await visitor.getJson('/api/me')).status).toBe(401);
    expect(visitor.cookies.size).toBe(0);
  });

  it('deletes no cookie while another process renews it', async () => {
    const coordinator = createShared();
    const app = await startWith({ idleTimeout: 600 }, { coordinator });
    const visitor = await app.signedIn();
    app.clock.advance(601 * second);
    const take = jest.spyOn(coordinator, 'take').mockResolvedValue({ holder: 'another process', turnMs: 2_000 });
    const late = await visitor.getJson('/api/me');
    expect([late.status, late.setCookies]).toEqual([401, []]);
    take.mockRestore();
    expect((await visitor.getJson('/api/me')).status).toBe(401);
    expect(visitor.cookies.size).toBe(0);
  });
});

it.each([
  ['has that of its token', {}, 401],
  ['has none where its token does not say it', { auth_time: null }, 200],
])('a session of b2bAuth whose start another SDK dropped %s', async (_title, extraClaims, status) => {
  const app = await closed(startB2bApp({ options: { sessionMaxAge: 600, cookiePassword: password } }));
  app.workos.switches.extraClaims = extraClaims;
  const visitor = await app.signedIn();
  const [name = '', sealed = ''] = [...visitor.cookies].find(([, value]) => value.startsWith('Fe26')) ?? [];
  const { signedInAt, ...rest } = await unsealData<Record<string, unknown>>(sealed, { password });
  expect(signedInAt).toEqual(expect.any(Number));
  visitor.cookies.set(name, await sealData(rest, { password }));
  app.clock.advance(hour * second);
  expect((await visitor.getJson('/api/me')).status).toBe(status);
});

describe('backendAuth', () => {
  it('waits for a second factor longer than idleTimeout', async () => {
    const app = await closed(startBackendApp({ options: { idleTimeout: 60 } }));
    const factor = app.supabase.addFactor(ada.email);
    const visitor = app.visitor();
    await visitor.postJson('/auth/login', ada);
    app.clock.advance(300 * second);
    await postForm(visitor, '/auth/verify', { code: app.supabase.codeOf(factor) });
    expect((await visitor.getJson('/api/me')).status).toBe(200);
  });

  it('counts no second factor as a sign-in', async () => {
    const app = await closed(startBackendApp({ options: { sessionMaxAge: 600 } }));
    const visitor = await app.signedIn();
    app.clock.advance(500 * second);
    const factor = app.supabase.addFactor(ada.email);
    await postForm(visitor, '/auth/verify', { code: app.supabase.codeOf(factor) });
    expect((await visitor.getJson('/api/me')).status).toBe(200);
    app.clock.advance(100 * second);
    expect((await visitor.getJson('/api/me')).status).toBe(401);
  });

  it('ends a session whose token does not say when its sign-in was', async () => {
    const app = await closed(startBackendApp({ options: { sessionMaxAge: 600 } }));
    const visitor = await app.signedIn({ claims: { amr: undefined } });
    expect((await visitor.getJson('/api/me')).status).toBe(401);
  });

  it('asks no other process about an old token that anyone can have made up', async () => {
    const coordinator = createShared();
    const app = await closed(startBackendApp({ options: { idleTimeout: 600, coordinator } }));
    const session = await app.supabase.issueSession(ada.email);
    const claims = JSON.parse(Buffer.from(session.access_token.split('.')[1] ?? '', 'base64url').toString());
    const old = { ...claims, iat: claims.iat - 7_200, exp: claims.exp - 7_200 };
    const access_token = await app.supabase.signToken(old, { key: randomBytes(32), alg: 'HS256' });
    const visitor = app.visitor();
    setSession(visitor, { ...session, access_token });
    const [take, read] = [jest.spyOn(coordinator, 'take'), jest.spyOn(coordinator, 'read')];
    const answer = await visitor.getJson('/api/me');
    expect([answer.status, answer.setCookies]).toEqual([401, []]);
    expect([take.mock.calls, read.mock.calls, app.supabase.calls('refresh')]).toEqual([[], [], 0]);
  });
});

describe.each(['b2b', 'backend'] as const)('the test kit of %s, with sessionMaxAge', (name) => {
  async function start() {
    const clock = createClock();
    const { now } = clock;
    const kit = name === 'b2b' ? createB2bTestKit({ now }) : createBackendTestKit({ now });
    const options = { ...kit.options, sessionMaxAge: 10_000 };
    const app = express().use(name === 'b2b' ? b2bAuth(options) : backendAuth(options));
    const { origin } = await closed(serve(app));
    const visit = (cookie: string): Visitor => {
      const visitor = createVisitor(origin);
      for (const pair of cookie.split('; ')) visitor.cookies.set(...(pair.split(/=(.*)/s, 2) as [string, string]));
      return visitor;
    };
    return { kit, visit, clock };
  }

  it('keeps the time of a sign-in through renewals', async () => {
    const { kit, visit, clock } = await start();
    const visitor = visit(await kit.cookie());
    const statuses: number[] = [];
    for (let request = 0; request < 3; request += 1) {
      clock.advance(4_000 * second);
      statuses.push((await visitor.getJson('/auth/session')).status);
    }
    expect(statuses).toEqual([200, 200, 401]);
  });

  it.each([
    [9_000, 200],
    [10_000, 401],
  ])('makes a session that began %s seconds ago', async (signedInAgo, status) => {
    const { kit, visit } = await start();
    expect((await visit(await kit.cookie({ signedInAgo })).getJson('/auth/session')).status).toBe(status);
  });
});
