import { AuthError, currentSession, requireSession } from '../../lib/b2b/index.ts';
import { demoUsers, startB2bApp } from '../support/b2b-app.ts';
import type { B2bApp, B2bAppSetup } from '../support/b2b-app.ts';
import { sendJson } from '../support/hosts.ts';
import type { Visitor } from '../support/visitor.ts';

let app: B2bApp;
const start = async (setup: B2bAppSetup = {}): Promise<B2bApp> => (app = await startB2bApp(setup));
afterEach(() => app.close());

const html = { accept: 'text/html' };

/** The callback of a person who comes back from AuthKit. */
async function comeBack(visitor: Visitor, returnTo = '/dashboard/x'): Promise<Awaited<ReturnType<Visitor['get']>>> {
  const begun = await visitor.get(`/login?returnTo=${encodeURIComponent(returnTo)}`);
  const callback = await app.workos.authorize(begun.location, { user: demoUsers.personal });
  return visitor.get(callback.href, { headers: html });
}

it('a sign-in that accept refuses is a 403 that names the account, and ends the session at WorkOS', async () => {
  const hooks: unknown[] = [];
  await start({ options: { accept: () => false, onSignIn: (signIn) => void hooks.push(signIn) } });
  const visitor = app.visitor();
  const refused = await comeBack(visitor, '/dashboard/x?tab=1');
  expect(refused.status).toBe(403);
  expect(refused.text).toContain(`<strong dir="auto">${demoUsers.personal.email}</strong>`);
  const [, link = ''] = /class="button" href="([^"]+)"/.exec(refused.text) ?? [];
  const { searchParams } = new URL(link.replaceAll('&amp;', '&'), app.origin);
  expect(Object.fromEntries(searchParams)).toEqual({ prompt: 'login', returnTo: '/dashboard/x?tab=1' });
  expect(hooks).toEqual([]);
  expect(visitor.cookies.has('b2b-session')).toBe(false);
  const events = app.events.filter(({ type }) => type === 'sign_in_failed' || type === 'session_rejected');
  expect(events).toEqual([{ type: 'sign_in_failed', code: 'not_accepted', adapter: 'b2b' }]);
});

it('a sign-in of a further account that accept refuses leaves the earlier session untouched', async () => {
  let isOpen = true;
  await start({ options: { accept: () => isOpen } });
  const visitor = await app.signedIn();
  const before = visitor.cookies.get('b2b-session');
  isOpen = false;
  expect((await comeBack(visitor)).status).toBe(403);
  expect(visitor.cookies.get('b2b-session')).toBe(before);
  expect((await visitor.getJson('/api/me')).status).toBe(200);
});

it('a throw at the sign-in is passed on and lets no one in', async () => {
  await start({
    options: {
      accept: () => {
        throw new AuthError('provider_unavailable');
      },
    },
  });
  const visitor = app.visitor();
  expect((await comeBack(visitor)).status).toBe(503);
  expect(visitor.cookies.has('b2b-session')).toBe(false);
});

it('a session that is refused after its refresh is a 403 for guards, with the cookie and its new tokens kept', async () => {
  let isMember = true;
  await start({ options: { accept: () => isMember } });
  const visitor = await app.signedIn();
  isMember = false;
  app.clock.advance(400_000);
  const before = visitor.cookies.get('b2b-session');
  const page = await visitor.get('/dashboard/x', { headers: html });
  expect([page.status, page.headers.location]).toEqual([403, undefined]);
  expect(visitor.cookies.get('b2b-session')).not.toBe(before);
  for (const path of ['/api/me', '/dashboard']) {
    const refused = await visitor.getJson(path);
    expect([refused.status, refused.json.error.code]).toEqual([403, 'not_accepted']);
  }
  expect((await visitor.getJson('/whoami')).json).toEqual({ user: null });
  expect((await visitor.getJson('/auth/session')).status).toBe(401);
  expect(app.events.filter(({ type }) => type === 'session_rejected').length).toBe(1);
  isMember = true;
  app.clock.advance(400_000);
  expect((await visitor.getJson('/api/me')).status).toBe(200);
});

it('a cookie and a bearer token of one session are asked about apart, as they show different users', async () => {
  await start({
    options: { accept: ({ user }) => user.email === demoUsers.personal.email },
    after: (host) =>
      host.all('/token', requireSession({ credentials: ['cookie', 'bearer'] }), (req, res) =>
        sendJson(res, { token: currentSession(req).accessToken }),
      ),
  });
  const visitor = await app.signedIn();
  const { token } = (await visitor.getJson('/token')).json;
  const bearer = await app.visitor().get('/token', { headers: { authorization: `Bearer ${token}` } });
  expect([bearer.status, bearer.json.error.code]).toEqual([403, 'not_accepted']);
  expect((await visitor.getJson('/token')).status).toBe(200);
});
