import { sealData } from 'iron-session';
import { demoUsers, startB2bApp, startProvider } from '../support/b2b-app.ts';
import type { B2bApp, SharedProvider } from '../support/b2b-app.ts';
import type { Visitor } from '../support/visitor.ts';
import { describeAtRoot, itWithoutParsers } from '../support/only.ts';

let provider: SharedProvider;
let app: B2bApp;
beforeAll(async () => {
  provider = await startProvider();
  app = await startB2bApp({ provider });
});
beforeEach(() => {
  app.events.length = 0;
});
afterEach(() => {
  app.workos.switches.outage = {};
});
afterAll(async () => {
  await app.close();
  await provider.close();
});

const sessionIdOf = (url: string): string | null => new URL(url).searchParams.get('session_id');

it('works with an expired session: sid comes from the token’s claims', async () => {
  const visitor = await app.signedIn();
  const { sessionId } = (await visitor.getJson('/auth/session')).json;
  provider.clock.advance(3_600_000);
  app.workos.clearRequests();
  const out = await visitor.post('/logout');
  expect([out.status, sessionIdOf(out.location)]).toEqual([303, sessionId]);
  expect(visitor.cookies.size).toBe(0);
  expect(app.workos.requests).toEqual([]);
});

it('works during an outage of the provider, without waiting for it', async () => {
  const visitor = await app.signedIn();
  provider.clock.advance(3_600_000);
  app.workos.switches.outage = { all: 'hang' };
  const out = await visitor.post('/logout');
  expect(out.status).toBe(303);
  expect(sessionIdOf(out.location)).toMatch(/^session_/);
  expect(visitor.cookies.size).toBe(0);
});

it.each(['an invalid cookie', 'Fe26.2*1*a*b*c**d*e~2', 'Fe26.2*1**********', '%E0%A4%A', ''])(
  'clears an unreadable session (%j) and redirects to the start page',
  async (value) => {
    const out = await app.visitor().post('/logout', { headers: { cookie: `b2b-session=${value}; b2b-session.1=x` } });
    expect([out.status, out.headers.location]).toEqual([303, `${app.origin}/`]);
    expect(out.setCookies.map((line) => line.split('=', 1)[0])).toEqual(['b2b-session', 'b2b-session.1']);
    for (const line of out.setCookies) expect(line).toMatch(/=; Max-Age=0; .*Expires=Thu, 01 Jan 1970/);
  },
);

it('redirects to the start page if the token names no session', async () => {
  for (const sid of [undefined, '', 42]) {
    const session = await app.workos.issueSession({ user: demoUsers.personal, claims: { sid } });
    const visitor = app.visitor();
    visitor.cookies.set('b2b-session', await sealData(session, { password: app.cookiePassword, ttl: 0 }));
    const out = await visitor.post('/logout');
    expect([out.status, out.headers.location]).toEqual([303, `${app.origin}/`]);
    expect(visitor.cookies.size).toBe(0);
  }
});

it('ends the session for copies of its cookie too', async () => {
  const visitor = await app.signedIn();
  const cookie = visitor.cookieHeader();
  expect((await app.visitor().get('/whoami', { headers: { cookie } })).json.user).not.toBeNull();
  await visitor.post('/logout');
  expect((await app.visitor().get('/whoami', { headers: { cookie } })).json.user).toBeNull();
});

it('cancels sign-ins in progress in other tabs', async () => {
  const visitor = await app.signedIn();
  const start = await visitor.get('/login');
  await visitor.post('/logout');
  expect(visitor.cookies.size).toBe(0);
  const callback = await app.workos.authorize(start.location, { user: demoUsers.personal });
  expect((await visitor.get(callback.href)).status).toBe(400);
});

it('reports who signed out, and nothing if there was no session', async () => {
  const visitor = await app.signedIn();
  const { sessionId } = (await visitor.getJson('/auth/session')).json;
  app.events.length = 0;
  await visitor.post('/logout');
  await visitor.post('/logout');
  expect(app.events).toEqual([{ adapter: 'b2b', type: 'signed_out', userId: demoUsers.personal.id, sessionId }]);
});

it('ends at the provider the active session and every other session that the request carries', async () => {
  const visitor = await app.signedIn();
  const tossed = await app.signedIn();
  const idOf = async (who: Visitor): Promise<string> => (await who.getJson('/auth/session')).json.sessionId;
  const [seen, other] = [await idOf(visitor), await idOf(tossed)];
  provider.clock.advance(3_600_000);
  // The visitor's own session is valid; the other one has expired and comes first.
  expect(await idOf(visitor)).toBe(seen);
  const cookie = `${tossed.cookieHeader()}; ${visitor.cookieHeader()}`;
  app.workos.clearRequests();
  const out = await app.visitor().post('/logout', { headers: { cookie } });
  expect(sessionIdOf(out.location)).toBe(seen);
  await app.workos.arrived('revoke');
  expect(app.workos.requests.at(-1)?.body).toEqual({ session_id: other });
  expect(app.events.filter(({ type }) => type === 'signed_out')).toHaveLength(2);
});

it('is a POST: no other method signs anyone out', async () => {
  const visitor = await app.signedIn();
  for (const method of ['PUT', 'DELETE', 'PATCH']) {
    const answer = await visitor.ask('/logout', { method });
    expect([answer.status, answer.headers.allow]).toEqual([405, 'GET, HEAD, POST, OPTIONS']);
  }
  expect((await visitor.ask('/logout', { method: 'HEAD' })).setCookies).toEqual([]);
  expect((await visitor.getJson('/auth/session')).status).toBe(200);
});

it('asks for confirmation after a GET, on a page with one button', async () => {
  const visitor = await app.signedIn();
  const page = await visitor.get('/logout');
  expect([page.status, page.setCookies]).toEqual([200, []]);
  expect(page.headers['content-security-policy']).toContain("form-action 'self'");
  expect((await visitor.getJson('/auth/session')).status).toBe(200);

  const [, action = ''] = /<form method="post" action="([^"]+)">/.exec(page.text) ?? [];
  const left = await visitor.post(action);
  // The page's own policy would block a redirect to another site.
  expect([left.status, left.headers.location]).toEqual([200, undefined]);
  const destination = /^0; url=(.*)$/.exec(left.headers['refresh'] as string)?.[1] ?? '';
  expect(sessionIdOf(destination)).toMatch(/^session_/);
  expect(left.text).toContain(`href="${destination.replaceAll('&', '&amp;')}"`);
  expect([visitor.cookies.size, (await visitor.getJson('/auth/session')).status]).toEqual([0, 401]);
});

describe('a response whose policy restricts forms to this site', () => {
  // The default of helmet 8.
  const policy = "default-src 'self';form-action 'self';frame-ancestors 'self'";
  const withPolicy = (value: string | string[]) =>
    startB2bApp({
      provider,
      before: (host) =>
        host.use('/', (_req, res, next) => {
          res.setHeader('Content-Security-Policy', value);
          next();
        }),
    });

  it('sends a document to the provider by Refresh and a link, and clears the cookie', async () => {
    const strict = await withPolicy(policy);
    const visitor = await strict.signedIn();
    const out = await visitor.post('/logout');
    expect([out.status, out.headers.location, visitor.cookies.size]).toEqual([200, undefined, 0]);
    expect(out.headers['refresh']).toMatch(/^0; url=http.*\/user_management\/sessions\/logout\?/);
    expect(out.headers['cache-control']).toBe('private, no-store');
    // Without a session the redirect stays on the site.
    const home = await visitor.post('/logout');
    expect([home.status, home.headers.location]).toEqual([303, `${strict.origin}/`]);
    await strict.close();
  });

  it('does not change the answer for a JSON client', async () => {
    const strict = await withPolicy(policy);
    const visitor = await strict.signedIn();
    const out = await visitor.postJson('/logout');
    expect([out.status, sessionIdOf(out.json.redirectTo) !== null, out.headers['refresh']]).toEqual([
      200,
      true,
      undefined,
    ]);
    await strict.close();
  });

  it('redirects if every policy allows the provider', async () => {
    const provided = `form-action 'self' http://127.0.0.1:${app.workos.port}`;
    for (const [value, status] of [
      [provided, 303],
      ["script-src 'none'", 303],
      [[provided, policy], 200],
    ] as const) {
      const other = await withPolicy(value as string | string[]);
      const visitor = await other.signedIn();
      expect([value, (await visitor.post('/logout')).status]).toEqual([value, status]);
      await other.close();
    }
  });
});

async function expectSignedOut(type: string, body: string): Promise<void> {
  const visitor = await app.signedIn();
  const out = await visitor.post('/logout', { headers: { 'content-type': type }, body });
  const destination = type === 'application/json' ? out.json.redirectTo : out.location;
  expect(new URL(destination).searchParams.get('return_to')).toBe(`${app.origin}/`);
}

it.each([
  ['application/x-www-form-urlencoded', 'returnTo=https://evil.example'],
  ['text/plain', 'x'.repeat(100_000)],
])('ignores the body, whatever it is (%s)', expectSignedOut);

itWithoutParsers('ignores a body that cannot be read', () => expectSignedOut('application/json', '{"a":'));

describeAtRoot('logoutReturnTo', () => {
  it.each([
    ['/goodbye?a=1', (origin: string) => `${origin}/goodbye?a=1`],
    ['https://www.example.com/bye', () => 'https://www.example.com/bye'],
  ])('redirects the browser to %s, with and without a session', async (logoutReturnTo, expected) => {
    const other = await startB2bApp({ provider, options: { logoutReturnTo }, prefix: '/app' });
    const destination = expected(other.origin);
    const visitor = await other.signedIn();
    const out = await visitor.post('/app/logout');
    expect(new URL(out.location).searchParams.get('return_to')).toBe(destination);
    expect((await visitor.post('/app/logout')).headers.location).toBe(destination);
    await other.close();
  });
});
