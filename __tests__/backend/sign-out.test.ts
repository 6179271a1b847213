import { randomBytes } from 'node:crypto';
import { ada, encodeSession, postForm, setSession, startBackendApp } from '../support/backend-app.ts';
import type { BackendApp, BackendAppSetup } from '../support/backend-app.ts';
import { createShared } from '../support/shared-memory.ts';
import type { Visitor } from '../support/visitor.ts';
import type { Fault } from '../../stand-ins/supabase/stand-in.ts';

const grace = { email: 'grace@example.com', password: 'long enough' };
const statusOf = async (visitor: Visitor): Promise<number> => (await visitor.getJson('/auth/session')).status;

let app: BackendApp;
const start = async (setup?: BackendAppSetup): Promise<BackendApp> => (app = await startBackendApp(setup));
afterEach(() => app.close());

describe('POST /auth/logout', () => {
  it('clears the cookie, ends the session at the backend (this one only) and redirects', async () => {
    await start();
    const visitor = await app.signedIn();
    const elsewhere = await app.signedIn();
    const answer = await postForm(visitor, '/auth/logout', { returnTo: '/bye' });
    expect([answer.status, answer.headers.location]).toEqual([303, '/bye']);
    expect(visitor.cookies.size).toBe(0);
    expect(app.supabase.requests.at(-1)?.url.search).toBe('?scope=local');
    expect((await elsewhere.getJson('/auth/session')).status).toBe(200);
    expect(app.eventTypes()).toContain('signed_out');
  });

  it('needs no body, and answers { redirectTo } to the typed client', async () => {
    await start();
    const visitor = await app.signedIn();
    const answer = await visitor.post('/auth/logout', { headers: { accept: 'application/json' } });
    expect([answer.status, answer.json]).toEqual([200, { redirectTo: '/' }]);
    expect((await visitor.postJson('/auth/logout', { returnTo: '//evil.example' })).json).toEqual({ redirectTo: '/' });
  });

  it('ends all of the user’s sessions if the scope is global, here at once', async () => {
    await start({ options: { signOutScope: 'global' } });
    app.supabase.addUser(grace);
    const [visitor, elsewhere, other] = [await app.signedIn(), await app.signedIn(), app.visitor()];
    await other.postJson('/auth/login', grace);
    app.clock.advance(1_000);
    await visitor.post('/auth/logout');
    expect(app.supabase.requests.at(-1)?.url.search).toBe('?scope=global');
    expect([await statusOf(elsewhere), await statusOf(other)]).toEqual([401, 200]);
    // A later sign-in works.
    expect(await statusOf(await app.signedIn())).toBe(200);
  });

  it('ends them here with an expired token, and while the backend is down or the coordinator is', async () => {
    const coordinator = createShared();
    await start({ options: { signOutScope: 'global', timeoutMs: 1_000, coordinator } });
    const expired = await app.signedIn({ ttl: -60 });
    const [down, alone, elsewhere] = [await app.signedIn(), await app.signedIn(), await app.signedIn()];
    app.clock.advance(1_000);
    await expired.post('/auth/logout');
    expect(await statusOf(elsewhere)).toBe(401);
    app.supabase.fail('all', 'hang');
    coordinator.isDown = true;
    for (const visitor of [down, alone]) expect((await visitor.post('/auth/logout')).status).toBe(303);
  });

  it('ends them where the token of the cookie was exchanged, and its response was lost', async () => {
    await start({ options: { signOutScope: 'global' } });
    const [visitor, elsewhere] = [await app.signedIn(), await app.signedIn()];
    const cookie = visitor.cookieHeader();
    app.clock.advance(61 * 60_000);
    expect(await statusOf(visitor)).toBe(200);
    await statusOf(elsewhere);
    app.clock.advance(1_000);
    await app.visitor().post('/auth/logout', { headers: { cookie } });
    expect(app.supabase.requests.at(-1)?.url.search).toBe('?scope=global');
    expect(await statusOf(elsewhere)).toBe(401);
  });

  it('ends the sessions of no user whom a forged cookie names', async () => {
    await start({ options: { signOutScope: 'global' } });
    const ada = await app.signedIn();
    const session = await app.supabase.issueSession('ada@example.com');
    const claims = JSON.parse(Buffer.from(session.access_token.split('.')[1] ?? '', 'base64url').toString());
    const access_token = await app.supabase.signToken(claims, { key: randomBytes(32), alg: 'HS256' });
    const mallory = app.visitor();
    setSession(mallory, { ...session, access_token, refresh_token: 'made-up' });
    app.clock.advance(1_000);
    expect((await mallory.post('/auth/logout')).status).toBe(303);
    expect(await statusOf(ada)).toBe(200);
  });

  it.each([
    ['signed out', 1_000],
    ['signed out, and whose token has expired', 61 * 60_000],
  ])('ends no session by a copy of one that was %s', async (_what, laterMs) => {
    for (const onSignOut of [undefined, () => undefined]) {
      await start({ options: { signOutScope: 'global', ...(onSignOut && { onSignOut }) } });
      const [lost, copy] = [await app.signedIn(), app.visitor()];
      const cookie = lost.cookieHeader();
      app.clock.advance(1_000);
      await lost.post('/auth/logout');
      app.clock.advance(laterMs);
      const again = await app.signedIn();
      app.clock.advance(1_000);
      expect((await copy.post('/auth/logout', { headers: { cookie } })).status).toBe(303);
      expect(await statusOf(again)).toBe(200);
      if (onSignOut === undefined) await app.close();
    }
  });

  it('ends the sessions of the user whose unverifiable token the backend renews', async () => {
    await start({ options: { signOutScope: 'global' } });
    const [visitor, elsewhere] = [await app.signedIn(), await app.signedIn()];
    await app.supabase.rotateKeys({ keepOld: false });
    app.clock.advance(31_000);
    await app.signedIn();
    app.clock.advance(61 * 60_000);
    await statusOf(elsewhere);
    app.clock.advance(1_000);
    await visitor.post('/auth/logout');
    expect(await statusOf(elsewhere)).toBe(401);
  });

  it('leaves nothing that the old cookie could open, neither in the cache nor by a refresh', async () => {
    await start();
    const visitor = await app.signedIn();
    await visitor.getJson('/auth/session');
    const cookie = visitor.cookieHeader();
    await visitor.post('/auth/logout');
    const replayed = await app.visitor().get('/auth/session', { headers: { cookie } });
    expect(replayed.status).toBe(401);
    app.clock.advance(61 * 60_000);
    const later = await app.visitor().get('/auth/session', { headers: { cookie } });
    expect(later.status).toBe(401);
  });

  it.each<Fault>([401, 403, 429, 500, 'html502', 'refuse', 'hang'])(
    'clears the cookie even if the backend answers %s',
    async (fault) => {
      await start({ options: { timeoutMs: 1_000 } });
      const visitor = await app.signedIn();
      app.supabase.fail('logout', fault);
      const answer = await visitor.post('/auth/logout');
      expect([answer.status, visitor.cookies.size]).toEqual([303, 0]);
    },
  );

  it('works with an expired token, during an outage, and with an unreadable cookie', async () => {
    await start({ options: { timeoutMs: 1_000 } });
    const expired = await app.signedIn({ ttl: -60 });
    expect((await expired.post('/auth/logout')).status).toBe(303);
    expect(app.supabase.requests.slice(-2).map(({ endpoint }) => endpoint)).toEqual(['refresh', 'logout']);
    const down = await app.signedIn({ ttl: -60 });
    app.supabase.fail('all', 'hang');
    expect((await down.post('/auth/logout')).status).toBe(303);
    const unreadable = app.visitor();
    unreadable.cookies.set(app.cookieName, 'garbage');
    expect((await unreadable.post('/auth/logout')).status).toBe(303);
    for (const visitor of [expired, down, unreadable]) expect(visitor.cookies.size).toBe(0);
  });

  it('ends every genuine session in the cookies at the backend, and no other', async () => {
    await start();
    const first = await app.signedIn();
    const second = await app.signedIn();
    const tossed = encodeSession({ access_token: 'x', refresh_token: 'y' });
    const cookie = [`${app.cookieName}=${tossed}`, first.cookieHeader(), second.cookieHeader()].join('; ');
    await app.visitor().post('/auth/logout', { headers: { cookie } });
    expect([app.supabase.calls('logout'), app.supabase.calls('refresh')]).toEqual([2, 0]);
    expect(app.eventTypes().filter((type) => type === 'signed_out')).toHaveLength(2);
    // Long after the tombstones have expired: the refresh tokens are invalid at the backend.
    app.clock.advance(10 * 60 * 60_000);
    for (const visitor of [first, second]) expect((await visitor.getJson('/auth/session')).status).toBe(401);
  });

  it('ends each of them, too, where onSignOut is told of one whose tokens were renewed for it', async () => {
    await start({ options: { onSignOut: () => undefined } });
    const [renewed, other] = [await app.signedIn({ ttl: -60 }), await app.signedIn({ ttl: -60 })];
    const cookie = [renewed.cookieHeader(), other.cookieHeader()].join('; ');
    await app.visitor().post('/auth/logout', { headers: { cookie } });
    // The one that was renewed for the hook is not renewed again.
    expect([app.supabase.calls('refresh'), app.supabase.calls('logout')]).toEqual([2, 2]);
    expect(app.supabase.sessionsOf(ada.email)).toEqual([]);
    expect(app.eventTypes().filter((type) => type === 'signed_out')).toHaveLength(2);
  });

  it('reports who signed out, even with an expired token, and nothing if there was no session', async () => {
    await start();
    const visitor = await app.signedIn();
    const { userId, sessionId } = app.events.find((event) => event.type === 'signed_in') ?? {};
    app.clock.advance(61 * 60_000);
    app.events.length = 0;
    await visitor.post('/auth/logout');
    await visitor.post('/auth/logout');
    expect(app.events).toEqual([{ adapter: 'backend', type: 'signed_out', userId, sessionId }]);
  });

  it.each([
    ['that the project signed with another key', { key: randomBytes(32), alg: 'HS256' }],
    ['with a line break in its session id', {}],
  ])('names no one in its event for a token %s', async (_what, forgery) => {
    await start();
    const session = await app.supabase.issueSession(ada.email, { claims: { session_id: 'one\ntwo' } });
    const claims = JSON.parse(Buffer.from(session.access_token.split('.')[1] ?? '', 'base64url').toString());
    const access_token = await app.supabase.signToken(claims, forgery);
    const visitor = app.visitor();
    setSession(visitor, { ...session, access_token, refresh_token: 'made-up' });
    await visitor.post('/auth/logout');
    expect(JSON.stringify(app.events)).not.toContain('two');
  });

  it('calls the backend for a session whose signing key was withdrawn', async () => {
    await start();
    const visitor = await app.signedIn();
    await app.supabase.rotateKeys({ keepOld: false });
    app.clock.advance(31_000);
    await app.signedIn();
    app.clock.advance(61 * 60_000);
    const before = app.supabase.requests.length;
    await visitor.post('/auth/logout');
    expect(app.supabase.requests.slice(before).map(({ endpoint }) => endpoint)).toEqual(['jwks', 'refresh', 'logout']);
    expect(app.eventTypes().at(-1)).toBe('signed_out');
  });

  it('refuses a POST from another site', async () => {
    await start();
    const visitor = await app.signedIn();
    const answer = await visitor.post('/auth/logout', { headers: { origin: 'https://evil.example' } });
    expect([answer.status, visitor.cookies.size]).toEqual([403, 1]);
  });
});

describe('GET /auth/logout', () => {
  it.each([
    ['from a page of this site', { 'sec-fetch-site': 'same-origin', 'sec-fetch-mode': 'navigate' }],
    ['typed by the visitor', { 'sec-fetch-site': 'none', 'sec-fetch-mode': 'navigate' }],
    ['on plain http, from this site', { referer: 'ORIGIN/account' }],
  ])('signs out %s', async (_what, headers) => {
    await start();
    const visitor = await app.signedIn();
    const sent = Object.fromEntries(
      Object.entries(headers).map(([name, value]) => [name, value.replace('ORIGIN', app.origin)]),
    );
    const answer = await visitor.get('/auth/logout?returnTo=/bye', { headers: sent });
    expect([answer.status, answer.headers.location, visitor.cookies.size]).toEqual([302, '/bye', 0]);
  });

  it.each([
    ['another site', { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate' }],
    ['a sister domain', { 'sec-fetch-site': 'same-site', 'sec-fetch-mode': 'navigate' }],
    ['an image', { 'sec-fetch-site': 'same-origin', 'sec-fetch-mode': 'no-cors' }],
    ['a prefetch', { 'sec-fetch-site': 'same-origin', 'sec-purpose': 'prefetch' }],
    ['a browser’s own prerendering', { 'sec-fetch-site': 'none', 'sec-purpose': 'prefetch;prerender' }],
    ['another site, on plain http', { referer: 'https://evil.example/' }],
    ['a link that hides where it stands, on plain http', {}],
    ['a page without an address, on plain http', { origin: 'null' }],
    ['a referrer that is no URL, on plain http', { referer: 'about:blank' }],
  ])('signs no one out for %s, but shows a button that posts', async (_what, headers) => {
    await start();
    const visitor = await app.signedIn();
    const answer = await visitor.get('/auth/logout?returnTo=/bye', { headers });
    expect([answer.status, visitor.cookies.size]).toEqual([200, 1]);
    expect(answer.text).toContain('<form method="post" action="/auth/logout">');
    expect(answer.text).toContain('value="/bye"');
    expect(app.supabase.calls('logout')).toBe(0);
  });

  it('does nothing for HEAD', async () => {
    await start();
    const visitor = await app.signedIn();
    expect((await visitor.ask('/auth/logout', { method: 'HEAD' })).status).toBe(200);
    expect(visitor.cookies.size).toBe(1);
  });
});
