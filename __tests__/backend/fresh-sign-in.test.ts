import { requireSession } from '../../lib/backend/index.ts';
import { ada, postForm, setSession, startBackendApp } from '../support/backend-app.ts';
import type { BackendApp, BackendAppSetup } from '../support/backend-app.ts';
import { sendText } from '../support/hosts.ts';
import type { Visitor } from '../support/visitor.ts';

let app: BackendApp;
afterEach(() => app.close());

const start = async (setup: BackendAppSetup = {}): Promise<void> => {
  app = await startBackendApp({
    ...setup,
    after: (host) => {
      host.all('/danger', requireSession({ adapter: 'backend', maxAge: 300 }));
      host.all('/danger', (_req, res) => sendText(res, 'danger'));
    },
  });
};

/** The target of a redirect, without the origin. */
async function sentTo(visitor: Visitor, url: string): Promise<URL> {
  const { status, location } = await visitor.get(url);
  expect(status).toBe(307);
  return new URL(location);
}

it('shows the form with the address filled in, and returns to the page', async () => {
  await start();
  const visitor = await app.signedIn();
  expect((await visitor.get('/danger')).text).toBe('danger');
  app.clock.advance(301_000);
  const signIn = await sentTo(visitor, '/danger?x=1');
  expect(signIn.pathname).toBe('/auth/login');
  expect(signIn.searchParams.get('returnTo')).toBe('/danger?x=1');
  const page = await visitor.get(signIn.href);
  expect(page.status).toBe(200);
  expect(page.text).toMatch(new RegExp(`name="email"[^>]* value="${ada.email}"`));
  expect(page.text).toContain('name="password"');

  const answer = await postForm(visitor, '/auth/login', { ...ada, returnTo: '/danger?x=1' });
  const back = new URL(answer.location);
  expect(back.pathname + back.search).toBe('/danger?x=1');
  expect((await visitor.get(back.href)).text).toBe('danger');
});

it('shows the address on the page for codes too', async () => {
  await start({ options: { signInMethods: ['code'] } });
  const visitor = app.visitor();
  setSession(visitor, await app.supabase.issueSession(ada.email));
  app.clock.advance(301_000);
  const page = await visitor.get((await sentTo(visitor, '/danger')).href);
  expect(page.text).toMatch(new RegExp(`name="email"[^>]* value="${ada.email}"`));
});

it('shows no form if no guard asked for it, and no address to a visitor without a session', async () => {
  await start();
  const visitor = await app.signedIn();
  expect((await visitor.get('/auth/login')).text).not.toContain('name="email"');
  expect((await app.visitor().get('/auth/login?max_age=300')).text).not.toContain(ada.email);
});

it('shows the form even if the session cannot be read', async () => {
  await start();
  const visitor = app.visitor();
  setSession(visitor, await app.supabase.issueSession(ada.email, { ttl: -60 }));
  app.supabase.fail('refresh', 503);
  const { status, text } = await visitor.get('/auth/login?max_age=300');
  expect(status).toBe(200);
  expect(text).toContain('name="password"');
});

it('uses the newest time in amr, whatever its position', async () => {
  await start();
  const seconds = Math.floor(app.clock.now() / 1000);
  const visitor = app.visitor();
  const amr = [
    { method: 'totp', timestamp: seconds - 1_000 },
    { method: 'password', timestamp: seconds - 10 },
    { method: 'otp', timestamp: seconds - 5_000 },
  ];
  setSession(visitor, await app.supabase.issueSession(ada.email, { claims: { amr } }));
  expect((await visitor.get('/danger')).text).toBe('danger');
});

it.each([
  [undefined],
  [[]],
  [['password']],
  [[{ method: 'password' }]],
  [[{ method: 'password', timestamp: 'now' }]],
  ['password'],
])('counts a session with amr %j as stale', async (amr) => {
  await start();
  const visitor = app.visitor();
  setSession(visitor, await app.supabase.issueSession(ada.email, { claims: { amr } }));
  expect((await visitor.get('/danger')).status).toBe(307);
  expect((await visitor.getJson('/danger')).json.error.code).toBe('fresh_sign_in_required');
});

it('never loops: a second sign-in that is not recent is a 403', async () => {
  await start();
  const visitor = app.visitor();
  const old = (session: number) => ({ claims: { amr: [{ method: 'password', timestamp: session }] } });
  const seconds = Math.floor(app.clock.now() / 1000);
  setSession(visitor, await app.supabase.issueSession(ada.email, old(seconds - 1_000)));
  await sentTo(visitor, '/danger');
  // As after a sign-in at a provider that does not ask the user.
  setSession(visitor, await app.supabase.issueSession(ada.email, old(seconds - 900)));
  expect((await visitor.get('/danger')).status).toBe(403);
});
