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

/** As of a phone, of a wallet, or of a provider that shares no address. */
async function withoutAddress(providers: readonly string[]): Promise<Visitor> {
  const visitor = app.visitor();
  const claims = { email: '', app_metadata: { provider: providers[0], providers } };
  setSession(visitor, await app.supabase.issueSession(app.supabase.addUser({ email: '' }), { claims }));
  app.clock.advance(301_000);
  return visitor;
}

it.each([['phone'], ['web3']])(
  'asks no account of a %s for an email, and names the ways on that exist',
  async (way) => {
    await start({ options: { pages: { links: { help: 'https://help.example/' } } } });
    const visitor = await withoutAddress([way]);
    const page = await visitor.get((await sentTo(visitor, '/danger')).href);
    expect([page.status, page.text.includes('<form')]).toEqual([200, false]);
    expect(page.text).toContain(
      'Your account has no email address. Sign in again the way you did before, or contact support.',
    );
    expect(page.text).toContain('<a href="https://help.example/">Contact support</a>');
    const other = /href="([^"]*prompt=login)"/.exec(page.text)?.[1]?.replaceAll('&amp;', '&');
    expect((await visitor.get(other ?? '')).text).toContain('name="email"');
    expect((await visitor.get('/')).text).toBe('home');
  },
);

it('with OAuth offers an account without an address its own provider alone, and comes back', async () => {
  await start({ options: { providers: ['github', 'google'] } });
  const visitor = await withoutAddress(['google']);
  const page = await visitor.get((await sentTo(visitor, '/danger')).href);
  expect(page.text).not.toContain('provider=github');
  const again = /href="([^"]*provider=google[^"]*)"/.exec(page.text)?.[1]?.replaceAll('&amp;', '&');
  const provider = await visitor.get(again ?? '');
  const callback = await app.supabase.authorize(provider.location, { approve: true });
  const back = await visitor.get(callback.href);
  expect(new URL(back.location).pathname).toBe('/danger');
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
