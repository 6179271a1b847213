import { until } from '../../support/until.ts';
import type { B2bSignIn } from '../../../lib/b2b/index.ts';
import { addUser, authorize, describeEmulator, startRealB2b } from '../support/workos.ts';
import type { RealB2b } from '../support/workos.ts';

describeEmulator('a sign-in through the emulator', (url) => {
  const calls: B2bSignIn[] = [];
  let app: RealB2b;
  beforeAll(async () => {
    app = await startRealB2b(url, { onSignIn: (signIn) => void calls.push(signIn) });
  });
  beforeEach(() => {
    calls.length = 0;
    app.events.length = 0;
    app.relay.relayed.length = 0;
  });
  afterAll(() => app.close());

  it('leads from a guard to the page and back, for a user without an organization', async () => {
    const user = await addUser(app);
    const visitor = app.visitor();
    const guarded = await visitor.get('/dashboard?a=b');
    expect([guarded.status, guarded.headers.location]).toEqual([307, '/login?returnTo=%2Fdashboard%3Fa%3Db']);
    const callback = await app.callback(visitor, user.email, guarded.headers.location);
    const done = await visitor.get(callback);
    expect([done.status, done.headers.location]).toEqual([303, '/dashboard?a=b']);
    expect((await visitor.get('/dashboard?a=b')).text).toBe('dashboard');
    expect(app.relay.relayed.find(({ path }) => path.endsWith('/authenticate'))?.answer).toMatchObject({
      organization_id: null,
    });
    expect(app.eventTypes()).toEqual(['signed_in']);
  });

  it('yields the documented session, and the profile to the application alone', async () => {
    const user = await addUser(app);
    const visitor = await app.signedIn(user);
    const { json } = await visitor.getJson('/auth/session');
    const names = { firstName: null, lastName: null, profilePictureUrl: null };
    expect(json).toEqual({
      authenticated: true,
      sessionId: expect.stringMatching(/^session_/),
      user: { id: user.id, email: user.email, ...names },
    });
    const profile = { emailVerified: true, externalId: 'crm-7', metadata: { plan: 'pro' }, locale: null };
    expect((await visitor.getJson('/api/me')).json.user).toMatchObject(profile);
    expect(calls).toHaveLength(1);
    expect(calls[0]).toMatchObject({ session: { user: { id: user.id, ...profile } }, returnTo: '/' });
    expect(calls[0]).not.toHaveProperty('organizationId');
  });

  it('starts at /signup with the sign-up screen, and gives its URL to JSON clients', async () => {
    const user = await addUser(app);
    const visitor = app.visitor();
    const started = await visitor.getJson(`/signup?login_hint=${user.email}&returnTo=/dashboard`);
    const target = new URL(started.json.redirectTo);
    expect(target.searchParams.get('screen_hint')).toBe('sign-up');
    const done = await visitor.get(await authorize(target));
    expect(done.headers.location).toBe('/dashboard');
    expect((await visitor.getJson('/auth/session')).json.user.id).toBe(user.id);
  });

  it('that the emulator ends with an error shows a page with a link, and keeps the existing session', async () => {
    const visitor = await app.signedIn(await addUser(app));
    const refused = await visitor.get(await app.callback(visitor, 'unknown@nowhere.example'));
    // The emulator: ?error=user_not_found. Only `access_denied` is the visitor's own decision.
    expect(refused.status).toBe(400);
    expect(refused.text).toMatch(/href="\/login\?login_hint=unknown%40nowhere\.example&amp;prompt=login"/);
    expect(app.events.at(-1)).toMatchObject({ type: 'sign_in_failed', code: 'sign_in_failed' });
    expect((await visitor.getJson('/auth/session')).status).toBe(200);
  });

  it('exchanges a code once, and redirects a repeated callback to the start page', async () => {
    const user = await addUser(app);
    const visitor = app.visitor();
    const callback = await app.callback(visitor, user.email, '/login?returnTo=/dashboard');
    const ask = { headers: { cookie: visitor.cookieHeader() } };
    const answers = await Promise.all([1, 2, 3].map(() => app.visitor().get(callback, ask)));
    expect(answers.map(({ headers }) => headers.location)).toEqual(Array(3).fill('/dashboard'));
    await visitor.get(callback);
    expect((await visitor.get(callback)).headers.location).toBe('/');
    expect(app.relay.relayed.filter(({ path }) => path.endsWith('/authenticate'))).toHaveLength(1);
    expect(calls).toHaveLength(1);
  });

  it('whose code another process has just exchanged works after a reload', async () => {
    const user = await addUser(app);
    const other = await startRealB2b(url, { cookiePassword: app.cookiePassword }, app.relay);
    const visitor = app.visitor();
    const callback = new URL(await app.callback(visitor, user.email, '/login?returnTo=/dashboard'));
    const ask = { headers: { cookie: visitor.cookieHeader() } };
    await app.visitor().get(callback.href, ask);
    const shown = await other.visitor().get(callback.pathname + callback.search, ask);
    expect([shown.status, shown.setCookies, shown.text.includes('code_rejected')]).toEqual([400, [], true]);
    expect((await visitor.get(callback.href)).headers.location).toBe('/dashboard');
    await other.close();
  });

  it('with another verifier, or in another browser, is refused', async () => {
    const user = await addUser(app);
    const [victim, attacker] = [app.visitor(), app.visitor()];
    const stolen = new URL(await app.callback(victim, user.email));
    expect((await attacker.get(stolen.href)).status).toBe(400);
    const own = new URL(await app.callback(attacker, 'unknown@nowhere.example'));
    own.searchParams.delete('error');
    own.searchParams.set('code', stolen.searchParams.get('code') ?? '');
    const refused = await attacker.get(own.href);
    expect([refused.status, attacker.cookies.has('b2b-session')]).toEqual([400, false]);
    expect((await victim.get(stolen.href)).status).toBe(303);
  });

  it('as another user replaces the existing session', async () => {
    const [one, other] = [await addUser(app), await addUser(app)];
    const visitor = await app.signedIn(one);
    const before = visitor.cookies.get('b2b-session');
    const revocations = () => app.relay.relayed.filter(({ path }) => path === '/user_management/sessions/revoke');
    await visitor.get(await app.callback(visitor, other.email));
    expect((await visitor.getJson('/auth/session')).json.user.id).toBe(other.id);
    const copy = app.visitor();
    copy.cookies.set('b2b-session', before ?? '');
    expect((await copy.getJson('/auth/session')).status).toBe(401);
    await until(() => revocations().length === 1);
    expect((await app.sdk.userManagement.listSessions(one.id)).data).toEqual([]);
    expect((await app.sdk.userManagement.listSessions(other.id)).data).toHaveLength(1);
  });

  it('of an impersonated user names the impersonator', async () => {
    const visitor = await app.signedIn({ email: 'impersonated@example.com' });
    const { json } = await visitor.getJson('/api/me');
    expect(json.impersonator).toEqual({ email: 'staff@example.com', reason: 'support' });
    expect(json.claims.act).toEqual({ sub: 'staff@example.com' });
  });
});
