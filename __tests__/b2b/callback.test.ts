import { AuthError } from '../../lib/errors.ts';
import type { B2bSignIn } from '../../lib/b2b/index.ts';
import { demoUsers, startB2bApp, startProvider } from '../support/b2b-app.ts';
import type { B2bApp, SharedProvider } from '../support/b2b-app.ts';
import { sendText } from '../support/hosts.ts';
import { itAtRoot } from '../support/only.ts';
import { until } from '../support/until.ts';
import type { Visitor } from '../support/visitor.ts';

let provider: SharedProvider;
let app: B2bApp;
beforeAll(async () => {
  provider = await startProvider();
  app = await startB2bApp({ provider });
});
beforeEach(() => {
  app.events.length = 0;
  app.workos.clearRequests();
});
afterAll(async () => {
  await app.close();
  await provider.close();
});

/** Signs in until the provider redirects the browser back. */
async function callbackOf(visitor: Visitor, path = '/login?returnTo=/dashboard', on = app): Promise<string> {
  const start = await visitor.get(path);
  return (await on.workos.authorize(start.location, { user: demoUsers.personal })).href;
}

const exchanges = (): number => app.workos.requests.filter(({ endpoint }) => endpoint === 'token').length;
const typesOf = (events: B2bApp['events']): string[] => events.map(({ type }) => type);

describe('a good callback', () => {
  it('exchanges once, checks the token, stores the session and answers 303 to returnTo', async () => {
    const visitor = app.visitor();
    const done = await visitor.get(await callbackOf(visitor));
    expect([done.status, done.headers.location]).toEqual([303, '/dashboard']);
    expect(exchanges()).toBe(1);
    expect([...visitor.cookies.keys()]).toEqual(['b2b-session']);
    expect(typesOf(app.events)).toEqual(['signed_in']);
  });

  it('shares one exchange among parallel requests', async () => {
    const visitor = app.visitor();
    const callback = await callbackOf(visitor);
    const cookie = visitor.cookieHeader();
    const answers = await Promise.all(
      Array.from({ length: 5 }, () => app.visitor().get(callback, { headers: { cookie } })),
    );
    expect(answers.map(({ status, headers }) => [status, headers.location])).toEqual(
      Array(5).fill([303, '/dashboard']),
    );
    expect(exchanges()).toBe(1);
    expect(typesOf(app.events)).toEqual(['signed_in']);
  });

  it('redirects to the start page when the same browser requests it again later', async () => {
    const visitor = app.visitor();
    const callback = await callbackOf(visitor);
    await visitor.get(callback);
    const again = await visitor.get(callback);
    expect([again.status, again.headers.location, again.setCookies]).toEqual([303, '/', []]);
    expect(exchanges()).toBe(1);
  });

  it('sends the user agent and the IP address of the user to the provider', async () => {
    const visitor = app.visitor();
    await visitor.get(await callbackOf(visitor), { headers: { 'user-agent': 'Browser/1.0' } });
    const exchange = app.workos.requests.find(({ endpoint }) => endpoint === 'token');
    expect(exchange?.body).toMatchObject({ ip_address: '127.0.0.1', user_agent: 'Browser/1.0' });
  });
});

describe('a sign-in in a browser that has a session', () => {
  const revocations = (): number => app.workos.requests.filter(({ endpoint }) => endpoint === 'revoke').length;

  it('ends the old session at the provider too, in the background', async () => {
    const visitor = await app.signedIn();
    const { sessionId } = (await visitor.getJson('/auth/session')).json;
    let release = (): void => undefined;
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    app.workos.switches.gate.revoke = () => held;
    const start = await visitor.get('/login');
    const callback = await app.workos.authorize(start.location, { user: demoUsers.oneOrganization });
    expect((await visitor.get(callback.href)).status).toBe(303);
    release();
    await until(() => !app.workos.isSessionActive(sessionId));
    delete app.workos.switches.gate.revoke;
    expect((await visitor.getJson('/auth/session')).json.user.email).toBe(demoUsers.oneOrganization.email);
    expect(revocations()).toBe(1);
  });

  it('succeeds when the provider is unreachable, and makes no call without an old session', async () => {
    const visitor = await app.signedIn();
    await visitor.getJson('/auth/session');
    expect(revocations()).toBe(0);
    app.workos.switches.outage = { revoke: 'refuse' };
    const callback = await callbackOf(visitor);
    expect((await visitor.get(callback)).status).toBe(303);
    await until(() => revocations() === 1);
    app.workos.switches.outage = {};
    // A repeat of the same callback with its original cookies ends nothing.
    expect((await visitor.get(callback)).status).toBe(303);
    expect([revocations(), (await visitor.getJson('/auth/session')).status]).toEqual([1, 200]);
  });
});

describe('a HEAD, a prefetch or an image of the callback', () => {
  it.each([
    ['HEAD', {}, 204],
    ['GET', { 'sec-purpose': 'prefetch' }, 403],
    ['GET', { 'sec-purpose': 'prefetch;prerender' }, 403],
    ['GET', { purpose: 'prefetch' }, 403],
    ['GET', { 'sec-fetch-mode': 'no-cors', 'sec-fetch-dest': 'image' }, 403],
  ])('(%s %j) exchanges nothing, and the real callback still works', async (method, headers, status) => {
    const visitor = app.visitor();
    const callback = await callbackOf(visitor);
    const answer = await visitor.ask(callback, { method, headers });
    expect([answer.status, answer.setCookies, exchanges()]).toEqual([status, [], 0]);
    expect((await visitor.get(callback)).headers.location).toBe('/dashboard');
  });
});

describe('a missing or foreign state', () => {
  it.each([
    '/callback?code=01ABC&state=foreign',
    '/callback?state=foreign',
    '/callback?code=&state=',
    '/callback',
    '/callback?state',
    '/callback?code=01ABC&state=%00',
    '/callback?code=01ABC&state=a&state=b',
  ])('%s is a 400 that never reaches the token endpoint', async (url) => {
    const answer = await app.visitor().get(url);
    expect(answer.status).toBe(400);
    expect(answer.headers['content-type']).toContain('text/html');
    expect(answer.text).toContain('href="/login"');
    expect(exchanges()).toBe(0);
    expect(typesOf(app.events)).toEqual(['sign_in_failed']);
    expect((await app.visitor().getJson(url)).json.error.status).toBe(400);
  });

  it('is the result of a callback for a sign-in from another browser', async () => {
    const callback = await callbackOf(app.visitor());
    const victim = app.visitor();
    expect((await victim.get(callback)).status).toBe(400);
    expect(victim.cookies.size).toBe(0);
    expect(exchanges()).toBe(0);
  });

  it('redirects a user with a session to the start page, and keeps the session', async () => {
    const visitor = await app.signedIn();
    app.workos.clearRequests();
    for (const url of ['/callback?code=01ABC&state=foreign', '/callback', '/callback?error=access_denied&state=x']) {
      const answer = await visitor.get(url);
      expect([answer.status, answer.headers.location]).toEqual([303, '/']);
    }
    expect(exchanges()).toBe(0);
    expect((await visitor.getJson('/auth/session')).status).toBe(200);
  });
});

describe('a code without state, as from a link in the provider’s dashboard', () => {
  it('restarts sign-in once, with a new state, and exchanges no code', async () => {
    const visitor = app.visitor();
    const restart = await visitor.get('/callback?code=01DASHBOARD');
    expect(restart.status).toBe(303);
    expect(restart.location).toContain(`${app.workos.url}/user_management/authorize?`);
    expect(exchanges()).toBe(0);
    const callback = await app.workos.authorize(restart.location, { user: demoUsers.personal });
    expect((await visitor.get(callback.href)).headers.location).toBe('/');
    expect((await visitor.getJson('/auth/session')).status).toBe(200);
  });

  it('does not redirect in a loop', async () => {
    const visitor = app.visitor();
    expect((await visitor.get('/callback?code=01DASHBOARD')).status).toBe(303);
    expect((await visitor.get('/callback?code=01DASHBOARD')).status).toBe(400);
    expect(exchanges()).toBe(0);
  });
});

describe('a refusal at the provider', () => {
  it('renders a page with a link back when the user canceled, and JSON for a client', async () => {
    for (const kind of ['page', 'json']) {
      const visitor = app.visitor();
      const start = await visitor.get('/login');
      const callback = await app.workos.cancel(start.location);
      const answer = kind === 'page' ? await visitor.get(callback.href) : await visitor.getJson(callback.href);
      expect(answer.status).toBe(403);
      if (kind === 'json') expect(answer.json.error.code).toBe('access_denied');
      else expect(answer.text).toMatch(/was canceled[\s\S]*href="\/login\?prompt=login"/);
      expect(visitor.cookies.size).toBe(0);
    }
    expect(exchanges()).toBe(0);
  });

  it('keeps returnTo', async () => {
    const visitor = app.visitor();
    const start = await visitor.get('/login?returnTo=/dashboard?tab=1');
    const answer = await visitor.get((await app.workos.cancel(start.location)).href);
    expect(answer.text).toContain('href="/login?returnTo=%2Fdashboard%3Ftab%3D1&amp;prompt=login"');
  });

  it.each([
    ['access_denied', 403, 'access_denied'],
    ['user_denied_everything', 400, 'sign_in_failed'],
    ['', 400, 'sign_in_failed'],
    ['server_error', 400, 'sign_in_failed'],
    ['temporarily_unavailable', 400, 'sign_in_failed'],
    ['invalid_scope', 400, 'sign_in_failed'],
    ['<script>alert(1)</script>', 400, 'sign_in_failed'],
  ])('error=%s is %d %s, and the provider’s description is never shown', async (error, status, code) => {
    const visitor = app.visitor();
    const start = await visitor.get('/login');
    const state = new URL(start.location).searchParams.get('state') ?? '';
    const query = new URLSearchParams({ error, error_description: 'Provider <b>words</b>', error_uri: 'x', state });
    const answer = await visitor.get(`/callback?${query.toString()}`);
    expect(answer.status).toBe(status);
    expect(answer.text).toContain(code);
    expect(answer.text).not.toMatch(/words|<script>/);
    expect(answer.headers['retry-after'] !== undefined).toBe(status === 503);
    expect(visitor.cookies.size).toBe(0);
    expect(app.events).toEqual([
      { adapter: 'b2b', type: 'sign_in_failed', code, ...(/^\w+$/.test(error) ? { reason: error } : {}) },
    ]);
  });

  it.each([
    'email_verification_required',
    'mfa_enrollment',
    'mfa_challenge',
    'organization_authentication_methods_required',
  ] as const)('at the token endpoint, %s, is a 403 that asks the user to sign in again', async (error) => {
    app.workos.switches.authenticateError = error;
    const visitor = app.visitor();
    const answer = await visitor.get(await callbackOf(visitor));
    app.workos.switches.authenticateError = null;
    expect(answer.status).toBe(403);
    expect(answer.text).toContain('sign_in_incomplete');
    expect(visitor.cookies.size).toBe(0);
  });

  it('of the code is a 400', async () => {
    const visitor = app.visitor();
    const callback = new URL(await callbackOf(visitor));
    callback.searchParams.set('code', '01NOT-A-CODE');
    const answer = await visitor.get(callback.href);
    expect([answer.status, visitor.cookies.has('b2b-session')]).toEqual([400, false]);
    expect(answer.text).toContain('code_rejected');
    expect(answer.text).not.toContain('01NOT-A-CODE');
  });

  it('for a code that another process has just exchanged leaves the reload at that process working', async () => {
    const cookiePassword = 'the same in every process of one application';
    const [one, other] = [
      await startB2bApp({ provider, options: { cookiePassword } }),
      await startB2bApp({ provider, options: { cookiePassword } }),
    ];
    const visitor = one.visitor();
    const callback = new URL(await callbackOf(visitor, '/login?returnTo=/dashboard', one));
    const ask = { headers: { cookie: visitor.cookieHeader() } };
    // The browser sent two requests; the first answer is lost, and the second one is shown.
    await one.visitor().get(callback.href, ask);
    const shown = await other.visitor().get(callback.pathname + callback.search, ask);
    expect([shown.status, shown.setCookies]).toEqual([400, []]);
    const reloaded = await visitor.get(callback.href);
    expect([reloaded.status, reloaded.headers.location]).toEqual([303, '/dashboard']);
    expect((await visitor.getJson('/auth/session')).status).toBe(200);
    await Promise.all([one.close(), other.close()]);
  });

  it.each([
    ['refuse', 503],
    ['html502', 503],
    ['reset', 503],
    [{ status: 500 }, 503],
    [{ status: 429, retryAfterSeconds: 7 }, 503],
    [{ status: 401 }, 502],
  ] as const)('that is an outage or an invalid key (%j) is %d, never a 500', async (outage, status) => {
    const visitor = app.visitor();
    const callback = await callbackOf(visitor);
    app.workos.switches.outage = { token: outage };
    const answer = await visitor.get(callback);
    app.workos.switches.outage = {};
    expect(answer.status).toBe(status);
    expect(answer.text).not.toMatch(/WorkOS|Unauthorized|Rate limit/);
    if (status === 503) {
      expect(answer.headers['retry-after']).toBe(
        typeof outage === 'object' && 'retryAfterSeconds' in outage ? '7' : '5',
      );
    }
    expect(visitor.cookies.has('b2b-session')).toBe(false);
  });

  it.each([{ token: 'refuse' }, { token: 'html502' }, { jwks: 'refuse' }] as const)(
    'during an outage (%j) is temporary: a reload starts over and does not send the old code again',
    async (outage) => {
      const fresh = await startB2bApp({ provider });
      const visitor = fresh.visitor();
      const { twoOrganizations: user } = demoUsers;
      const { id: organization } = user.organizations[1];
      const start = await visitor.get(`/login?returnTo=/dashboard&organization_id=${organization}`);
      const callback = (await app.workos.authorize(start.location, { user })).href;
      app.workos.switches.outage = { ...outage };
      expect((await visitor.get(callback)).status).toBe(503);
      app.workos.switches.outage = {};
      provider.clock.advance(60_000);
      app.workos.clearRequests();
      const again = await visitor.get(callback);
      expect(again.status).toBe(303);
      expect(new URL(again.location).searchParams.get('organization_id')).toBe(organization);
      expect(exchanges()).toBe(0);
      // The new flow replaced the old one.
      expect([...visitor.cookies.keys()].filter((name) => name.includes('b2b-session-flow-'))).toHaveLength(1);
      const next = await app.workos.authorize(again.location, { user });
      expect((await visitor.get(next.href)).headers.location).toBe('/dashboard');
      expect((await visitor.getJson('/auth/session')).json).toMatchObject({ organizationId: organization });
      await fresh.close();
    },
  );

  it('keeps the existing session and the flows of other tabs', async () => {
    const visitor = await app.signedIn();
    const other = await callbackOf(visitor);
    const start = await visitor.get('/login');
    expect((await visitor.get((await app.workos.cancel(start.location)).href)).status).toBe(403);
    expect((await visitor.getJson('/auth/session')).status).toBe(200);
    expect((await visitor.get(other)).headers.location).toBe('/dashboard');
  });
});

describe('a token that does not verify', () => {
  it.each([
    ['of another client', { client_id: 'client_other' }],
    ['of another user', { sub: 'user_other' }],
    ['that has expired', { exp: 1 }],
    ['from the future', { nbf: 4_000_000_000 }],
    ['without a subject', { sub: '' }],
  ])('%s is not stored', async (_name, claims) => {
    app.workos.switches.extraClaims = claims;
    const visitor = app.visitor();
    const answer = await visitor.get(await callbackOf(visitor));
    app.workos.switches.extraClaims = {};
    expect(answer.status).toBe(502);
    expect(answer.text).toContain('token_rejected');
    expect(visitor.cookies.size).toBe(0);
    expect(typesOf(app.events)).toEqual(['sign_in_failed']);
  });
});

describe('onSignIn', () => {
  async function withHook(
    onSignIn: NonNullable<B2bApp['options']['onSignIn']>,
    run: (hooked: B2bApp, visitor: Visitor) => Promise<void>,
  ): Promise<void> {
    const hooked = await startB2bApp({
      provider,
      options: { onSignIn },
      after: (host) => host.onError((error, _req, res) => sendText(res, `application: ${error.message}`, 500)),
    });
    await run(hooked, hooked.visitor());
    await hooked.close();
  }

  itAtRoot(
    'runs once per sign-in, after verification and before any cookie, with session, request and returnTo',
    async () => {
      const calls: B2bSignIn[] = [];
      await withHook(
        (signIn) => void calls.push(signIn),
        async (hooked, visitor) => {
          const callback = await callbackOf(visitor, '/login?returnTo=/a?b', hooked);
          const cookie = visitor.cookieHeader();
          await Promise.all([
            visitor.get(callback),
            hooked.visitor().get(callback, { headers: { cookie } }),
            hooked.visitor().get(callback, { headers: { cookie } }),
          ]);
        },
      );
      expect(calls).toHaveLength(1);
      const [{ session, req, returnTo }] = calls as [B2bSignIn];
      expect(session).toMatchObject({ adapter: 'b2b', user: { email: demoUsers.personal.email } });
      expect(session.claims.sub).toBe(demoUsers.personal.id);
      expect(req.url).toContain('/callback?');
      expect(returnTo).toBe('/a?b');
    },
  );

  it('that takes minutes is waited for by a second request, which does not exchange the code again', async () => {
    const [asked, held] = [Promise.withResolvers<undefined>(), Promise.withResolvers<undefined>()];
    const onSignIn = (): Promise<undefined> => {
      asked.resolve(undefined);
      return held.promise;
    };
    await withHook(onSignIn, async (hooked, visitor) => {
      const callback = await callbackOf(visitor, '/login?returnTo=/dashboard', hooked);
      const cookie = visitor.cookieHeader();
      const first = visitor.get(callback);
      await asked.promise;
      provider.clock.advance(120_000);
      const second = hooked.visitor().get(callback, { headers: { cookie } });
      // Long enough for another exchange to begin.
      for (let turn = 0; turn < 200; turn += 1) await new Promise((resolve) => setImmediate(resolve));
      held.resolve(undefined);
      expect([(await first).headers.location, (await second).headers.location]).toEqual(['/dashboard', '/dashboard']);
      expect(exchanges()).toBe(1);
    });
  });

  it('receives everything that WorkOS returns about the user and the sign-in', async () => {
    const tokens = { provider: 'GoogleOAuth', access_token: 'a', refresh_token: 'r', expires_at: 0, scopes: ['mail'] };
    const profile = { emailVerified: false, externalId: 'crm-7', metadata: { plan: 'pro' }, locale: 'de-DE' };
    const user = { ...demoUsers.oneOrganization, id: 'user_01PROFILE', ...profile };
    const [{ id: organizationId }] = user.organizations;
    app.workos.users.set(user.id, user);
    app.workos.switches.extraAnswer = { oauth_tokens: tokens };
    const calls: B2bSignIn[] = [];
    await withHook(
      (signIn) => void calls.push(signIn),
      async (hooked) => {
        const visitor = await hooked.signedIn(user);
        await hooked.signedIn();
        app.workos.switches.extraAnswer = { authentication_method: null, oauth_tokens: null };
        await hooked.signedIn();
        provider.clock.advance(310_000);
        const { json } = await visitor.get('/api/me');
        expect(json.user).toMatchObject(profile);
      },
    );
    app.workos.switches.extraAnswer = {};
    const [all, personal, nulls] = calls as [B2bSignIn, B2bSignIn, B2bSignIn];
    expect(all).toMatchObject({
      session: { user: profile },
      organizationId,
      authenticationMethod: 'Password',
      oauthTokens: { accessToken: 'a', refreshToken: 'r', expiresAt: 0, scopes: ['mail'] },
    });
    const missing = { emailVerified: true, externalId: null, metadata: {}, locale: null };
    expect(personal.session.user).toMatchObject(missing);
    expect(Object.keys(nulls).sort()).toEqual(['req', 'returnTo', 'session']);
  });

  it('receives the organization that the sign-in requested, even if the sign-in ended in another one', async () => {
    const calls: B2bSignIn[] = [];
    await withHook(
      (signIn) => void calls.push(signIn),
      async (hooked, visitor) => {
        const start = await visitor.get('/login?organization_id=org_01ASKED');
        const asked = new URL(start.location);
        asked.searchParams.delete('organization_id');
        await visitor.get((await app.workos.authorize(asked, { user: demoUsers.oneOrganization })).href);
        await hooked.signedIn();
      },
    );
    const [{ id }] = demoUsers.oneOrganization.organizations;
    const seen = calls.map(({ requestedOrganizationId, organizationId }) => [requestedOrganizationId, organizationId]);
    expect(seen).toEqual([
      ['org_01ASKED', id],
      [undefined, undefined],
    ]);
  });

  itAtRoot.each([
    ['/tenants/1?x#y', '/tenants/1?x#y'],
    ['https://evil.example/', '/a'],
    ['//evil.example', '/a'],
    ['/login', '/a'],
    [undefined, '/a'],
  ])('may redirect elsewhere: %s leads to %s', async (redirectTo, expected) => {
    await withHook(
      async () => (redirectTo === undefined ? undefined : { redirectTo }),
      async (hooked, visitor) => {
        const done = await visitor.get(await callbackOf(visitor, '/login?returnTo=/a', hooked));
        expect(done.headers.location).toBe(expected);
      },
    );
  });

  it('rejects the sign-in with the AuthError that it throws', async () => {
    await withHook(
      () => {
        throw new AuthError('forbidden', { message: 'This tenant is suspended.' });
      },
      async (hooked, visitor) => {
        const answer = await visitor.get(await callbackOf(visitor, '/login', hooked));
        expect(answer.status).toBe(403);
        expect(answer.text).toContain('This tenant is suspended.');
        expect(visitor.cookies.size).toBe(0);
        expect(typesOf(hooked.events)).toEqual(['sign_in_failed']);
      },
    );
  });

  it('passes any other error that it throws to the application, and signs no one in', async () => {
    await withHook(
      () => Promise.reject(new Error('no database')),
      async (hooked, visitor) => {
        const answer = await visitor.get(await callbackOf(visitor, '/login', hooked));
        expect([answer.status, answer.text]).toEqual([500, 'application: no database']);
        expect(visitor.cookies.size).toBe(0);
        expect(typesOf(hooked.events)).not.toContain('signed_in');
      },
    );
  });
});
