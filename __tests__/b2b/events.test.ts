import { inspect } from 'node:util';
import createDebug from 'debug';
import { unsealData } from 'iron-session';
import { getSession } from '../../lib/b2b/index.ts';
import { demoUsers, startB2bApp, startProvider } from '../support/b2b-app.ts';
import type { B2bApp, SharedProvider } from '../support/b2b-app.ts';
import type { Visitor } from '../support/visitor.ts';

let provider: SharedProvider;
let app: B2bApp;
beforeAll(async () => {
  provider = await startProvider();
});
beforeEach(async () => {
  app = await startB2bApp({
    provider,
    after: (root) => {
      root.get('/broken-off', (req, res, next) => {
        getSession(req).then(() => res.destroy(), next);
      });
    },
  });
});
afterEach(async () => {
  app.workos.switches.outage = {};
  await app.close();
});
afterAll(() => provider.close());

const { oneOrganization: user } = demoUsers;
const [{ id: organizationId }] = user.organizations;

async function sessionIdOf(visitor: Visitor): Promise<string> {
  return String((await visitor.getJson('/auth/session')).json.sessionId);
}

it('report the life of a session: signed_in, session_refreshed, signed_out', async () => {
  const visitor = await app.signedIn(user);
  const sessionId = await sessionIdOf(visitor);
  provider.clock.advance(400_000);
  await visitor.get('/dashboard');
  await visitor.post('/logout');
  const about = { adapter: 'b2b', userId: user.id, sessionId };
  expect(app.events).toEqual([
    { ...about, type: 'signed_in', organizationId },
    { ...about, type: 'session_refreshed' },
    { ...about, type: 'signed_out' },
  ]);
});

it('distinguish an outage from the end: refresh_failed keeps the session, session_ended clears it', async () => {
  const visitor = await app.signedIn();
  const sessionId = await sessionIdOf(visitor);
  provider.clock.advance(400_000);
  app.events.length = 0;
  app.workos.switches.outage = { token: 'refuse' };
  expect((await visitor.get('/dashboard')).status).toBe(503);
  expect(app.events).toEqual([
    { adapter: 'b2b', type: 'refresh_failed', code: 'provider_unavailable', reason: 'unanswered' },
  ]);
  expect(visitor.cookies.size).toBe(1);

  app.workos.switches.outage = {};
  provider.clock.advance(60_000);
  app.workos.revokeSession(sessionId);
  app.events.length = 0;
  expect((await visitor.get('/dashboard')).status).toBe(307);
  expect(visitor.cookies.size).toBe(0);
  expect(app.events[0]).toEqual({ adapter: 'b2b', type: 'session_ended', reason: 'invalid_grant', sessionId });
});

it('report keys that cannot be fetched', async () => {
  app.workos.switches.outage = { jwks: 'refuse' };
  const visitor = app.visitor();
  const start = await visitor.get('/login');
  const callback = await app.workos.authorize(start.location, { user });
  expect((await visitor.get(callback.href)).status).toBe(503);
  expect(app.events).toContainEqual({ adapter: 'b2b', type: 'keys_unavailable', stale: false });
  expect(app.events.at(-1)).toEqual({ adapter: 'b2b', type: 'sign_in_failed', code: 'provider_unavailable' });
});

it('report cookies that were lost with their connection; the next request still works', async () => {
  const visitor = await app.signedIn();
  provider.clock.advance(400_000);
  app.events.length = 0;
  await expect(visitor.get('/broken-off')).rejects.toThrow();
  expect(app.events.map(({ type }) => type)).toEqual(['session_refreshed', 'cookie_lost']);
  expect((await visitor.getJson('/auth/session')).status).toBe(200);
});

it('hold no secret, and neither does the debug log: no token, cookie, code, state, password or address', async () => {
  const lines: string[] = [];
  const { log } = createDebug;
  createDebug.log = (...values: unknown[]) => void lines.push(values.map(String).join(' '));
  createDebug.enable('express-auth-adapters*');
  // A logger binds its destination when it is created.
  const watched = await startB2bApp({ provider });
  try {
    const visitor = watched.visitor();
    const start = await visitor.get('/login?login_hint=ada@example.com&returnTo=/dashboard?token=from-the-query');
    const callback = await watched.workos.authorize(start.location, { user });
    const flowCookie = visitor.cookieHeader();
    await visitor.get(callback.href);
    const sealed = visitor.cookies.get('b2b-session') ?? '';
    const { accessToken, refreshToken } = await unsealData<Record<string, string>>(sealed, {
      password: watched.cookiePassword,
      ttl: 0,
    });
    await visitor.get('/dashboard?secret=in-the-query');
    provider.clock.advance(400_000);
    watched.workos.switches.outage = { token: { status: 500 } };
    await visitor.get('/dashboard');
    watched.workos.switches.outage = {};
    provider.clock.advance(60_000);
    await visitor.get('/api/me');
    await visitor.post('/logout');
    await visitor.get(callback.href);
    await watched.visitor().get('/dashboard?secret=in-the-query');

    const everything = inspect(watched.events, { depth: 9 }) + lines.join('\n');
    expect(watched.events.length).toBeGreaterThan(4);
    expect(lines.length).toBeGreaterThan(4);
    for (const secret of [
      accessToken,
      refreshToken,
      sealed,
      sealed.slice(0, 40),
      flowCookie,
      callback.searchParams.get('code'),
      callback.searchParams.get('state'),
      watched.workos.apiKey,
      watched.cookiePassword,
      user.email,
      'ada@example.com',
      'in-the-query',
      'from-the-query',
    ]) {
      expect(everything).not.toContain(secret);
    }
  } finally {
    createDebug.disable();
    createDebug.log = log;
    await watched.close();
  }
});

it.each([
  [
    'throws',
    () => {
      throw new Error('broken');
    },
  ],
  ['rejects', () => Promise.reject(new Error('broken')) as unknown as undefined],
])('do no harm when the listener %s', async (_how, onEvent) => {
  const other = await startB2bApp({ provider, options: { onEvent } });
  const visitor = await other.signedIn();
  provider.clock.advance(400_000);
  expect((await visitor.get('/dashboard')).status).toBe(200);
  expect((await visitor.post('/logout')).status).toBe(303);
  await other.close();
});
