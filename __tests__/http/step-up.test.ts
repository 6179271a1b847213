import { jest } from '@jest/globals';
import { noBackground } from '../../lib/tools/background.ts';
import { createSeal } from '../../lib/b2b/seal.ts';
import { AuthError } from '../../lib/errors.ts';
import { Parts } from '../../lib/http/adapter.ts';
import type { Adapter } from '../../lib/http/adapter.ts';
import { createBrands } from '../../lib/pages/options.ts';
import { sharedText } from '../../lib/pages/texts.ts';
import { createAuthRouter } from '../../lib/http/router.ts';
import { requireSession } from '../../lib/index.ts';
import type { BackendSession, RequireSessionOptions } from '../../lib/index.ts';
import { ada, setSession, startBackendApp } from '../support/backend-app.ts';
import type { BackendApp } from '../support/backend-app.ts';
import { createClock, demoUsers, startB2bApp, startProvider } from '../support/b2b-app.ts';
import type { B2bApp, SharedProvider } from '../support/b2b-app.ts';
import { createApplication } from '../support/application.ts';
import type { Handler } from '../support/handler-list.ts';
import { sendText } from '../support/hosts.ts';
import { serve } from '../support/servers.ts';
import { variant } from '../support/variant.ts';
import { createVisitor } from '../support/visitor.ts';
import type { Answer, Visitor } from '../support/visitor.ts';

const hello: Handler = (_req, res) => sendText(res, 'hello');
const marks = (visitor: Visitor): string[] => [...visitor.cookies.keys()].filter((name) => name.endsWith('-fresh'));
const again = (loginPath: string, path: string): string =>
  `${loginPath}?max_age=300&returnTo=${encodeURIComponent(path)}`;

describe('a recent sign-in at WorkOS', () => {
  let provider: SharedProvider;
  let app: B2bApp;
  beforeAll(async () => {
    provider = await startProvider();
    app = await startB2bApp({
      provider,
      after: (host) => {
        host.all('/fresh', requireSession({ maxAge: 300 }), hello);
        host.get('/fresh/api', requireSession({ maxAge: 300, credentials: ['cookie', 'bearer'] }), hello);
        host.get('/fresh/checked', requireSession({ maxAge: 300, check: () => false }), hello);
        host.get('/fresh/organization', requireSession({ maxAge: 300, organization: true }), hello);
      },
    });
  });
  afterEach(() => {
    provider.workos.switches.extraClaims = {};
  });
  afterAll(async () => {
    await app.close();
    await provider.close();
  });

  /** Signs in at the end of a redirect. */
  async function signInAgain(visitor: Visitor, location: string | undefined): Promise<Answer> {
    const start = await visitor.get(location ?? '');
    const callback = await app.workos.authorize(start.location, { user: demoUsers.personal });
    return visitor.get(callback.href);
  }

  async function signedInLongAgo(): Promise<Visitor> {
    const visitor = await app.signedIn();
    app.clock.advance(301_000);
    return visitor;
  }

  it('passes as long as it is recent', async () => {
    const visitor = await app.signedIn();
    expect((await visitor.get('/fresh')).text).toBe('hello');
    app.clock.advance(300_000);
    const answer = await visitor.get('/fresh');
    expect([answer.text, answer.setCookies.filter((line) => line.includes('-fresh='))]).toEqual(['hello', []]);
  });

  it('is requested with max_age, and returns to the page', async () => {
    const visitor = await signedInLongAgo();
    const answer = await visitor.get('/fresh?a=1');
    expect([answer.status, answer.headers.location]).toEqual([307, again('/login', '/fresh?a=1')]);
    const start = await visitor.get(answer.headers.location ?? '');
    expect(new URL(start.location).searchParams.get('max_age')).toBe('300');
    const done = await visitor.get((await app.workos.authorize(start.location, { user: demoUsers.personal })).href);
    expect(done.headers.location).toBe('/fresh?a=1');
    expect([(await visitor.get('/fresh?a=1')).text, marks(visitor)]).toEqual(['hello', []]);
  });

  it('is a 401 in JSON, which names the sign-in URL', async () => {
    const visitor = await signedInLongAgo();
    const { status, json } = await visitor.getJson('/fresh');
    expect([status, json.error.code, json.redirectTo]).toEqual([401, 'fresh_sign_in_required', '/login?max_age=300']);
    await signInAgain(visitor, json.redirectTo);
    expect((await visitor.getJson('/fresh')).status).toBe(200);
  });

  it('is a 403 if the user comes back with an old sign-in, and the next request starts another round', async () => {
    const visitor = await signedInLongAgo();
    provider.workos.switches.extraClaims = { auth_time: Math.floor(app.clock.now() / 1000) - 3_600 };
    for (const round of ['first', 'second']) {
      const answer = await visitor.get('/fresh');
      expect([round, answer.status]).toEqual([round, 307]);
      await signInAgain(visitor, answer.headers.location);
      const refused = await visitor.get('/fresh');
      expect([round, refused.status, marks(visitor)]).toEqual([round, 403, []]);
      expect(refused.text).toContain('sign_in_not_fresh');
    }
  });

  it('is a 403 for a JSON client that comes back with an old one, too', async () => {
    const visitor = await signedInLongAgo();
    provider.workos.switches.extraClaims = { auth_time: 1 };
    await signInAgain(visitor, (await visitor.getJson('/fresh')).json.redirectTo);
    const { status, json } = await visitor.getJson('/fresh');
    expect([status, json.error.code]).toEqual([403, 'sign_in_not_fresh']);
  });

  it('is requested again if the user did not finish, but not endlessly', async () => {
    const visitor = await signedInLongAgo();
    const statuses: number[] = [];
    for (let visit = 0; visit < 5; visit++) statuses.push((await visitor.get('/fresh')).status);
    expect(statuses).toEqual([307, 307, 307, 403, 307]);
  });

  it('is requested of a JSON client each time', async () => {
    const visitor = await signedInLongAgo();
    for (let visit = 0; visit < 5; visit++) expect((await visitor.getJson('/fresh')).status).toBe(401);
  });

  it('starts another round if it was recent and is too old by now', async () => {
    const visitor = await signedInLongAgo();
    await visitor.get('/fresh');
    await signInAgain(visitor, '/login');
    app.clock.advance(301_000);
    expect((await visitor.get('/fresh')).status).toBe(307);
  });

  it.each([undefined, null, '5', Number.NaN, {}])(
    'is dated by our own callback if the claim is unusable: %p',
    async (authTime) => {
      provider.workos.switches.extraClaims = { auth_time: authTime };
      const visitor = await app.signedIn();
      expect((await visitor.get('/fresh')).status).toBe(200);
      app.clock.advance(301_000);
      expect((await visitor.get('/fresh')).status).toBe(307);
    },
  );

  it('is unknown if the claim has a future time', async () => {
    provider.workos.switches.extraClaims = { auth_time: 1e30 };
    expect((await (await app.signedIn()).get('/fresh')).status).toBe(307);
  });

  it('may be five minutes ahead of our clock, and operators hear of the clocks once', async () => {
    const warn = jest.spyOn(process, 'emitWarning').mockImplementation(() => undefined);
    const seconds = Math.floor(app.clock.now() / 1000);
    for (const [ahead, status] of [
      [5, 200],
      [6, 200],
      [300, 200],
      [301, 307],
    ] as const) {
      provider.workos.switches.extraClaims = { auth_time: seconds + ahead };
      expect([ahead, (await (await app.signedIn()).get('/fresh')).status]).toEqual([ahead, status]);
      expect([ahead, warn.mock.calls.length]).toEqual([ahead, ahead > 5 ? 1 : 0]);
    }
    expect(warn.mock.calls[0]?.[0]).toMatch(/^b2bAuth: .* the clock of this server is behind that of WorkOS/);
    warn.mockRestore();
  });

  it('is unknown for a session that another SDK sealed without the claim', async () => {
    provider.workos.switches.extraClaims = { auth_time: undefined };
    const session = await app.workos.issueSession({ user: demoUsers.personal });
    const visitor = app.visitor();
    visitor.cookies.set('b2b-session', await createSeal([app.cookiePassword]).seal(session));
    const answer = await visitor.get('/fresh');
    expect(answer.headers.location).toBe(again('/login', '/fresh'));
    await signInAgain(visitor, answer.headers.location);
    expect((await visitor.get('/fresh')).status).toBe(200);
  });

  it('of a bearer token is requested as in RFC 9470', async () => {
    const ask = async (age: number): Promise<Answer> => {
      const claims = { auth_time: Math.floor(app.clock.now() / 1000) - age };
      const { accessToken } = await app.workos.issueSession({ user: demoUsers.personal, claims });
      return app.visitor().get('/fresh/api', { headers: { authorization: `Bearer ${accessToken}` } });
    };
    expect((await ask(300)).text).toBe('hello');
    const answer = await ask(301);
    expect([answer.status, answer.json, answer.setCookies]).toEqual([
      401,
      { error: expect.objectContaining({ code: 'fresh_sign_in_required' }) },
      [],
    ]);
    expect(answer.headers['www-authenticate']).toBe('Bearer error="insufficient_user_authentication", max_age="300"');
  });

  it('is not requested of users who would not pass anyway', async () => {
    const visitor = await signedInLongAgo();
    expect((await visitor.getJson('/fresh/organization')).json.error.code).toBe('forbidden');
    expect((await visitor.get('/fresh/checked')).status).toBe(307);
  });

  it('survives an invented mark', async () => {
    const visitor = await app.signedIn();
    for (const value of ['', 'x', '9.1.aaaaaaaaaaaaaaaaaaaaaa', '1.99999999999999.a', '0.0.', '%00']) {
      visitor.cookies.set('b2b-session-fresh', value);
      expect((await visitor.get('/fresh')).status).toBe(200);
    }
  });

  it('ignores a mark of another form', async () => {
    const visitor = await signedInLongAgo();
    await visitor.get('/fresh');
    const name = marks(visitor)[0]!;
    // A round that began after the sign-in, and was for another one.
    const mark = `1.999999999999.${'a'.repeat(22)}`;
    for (const [value, status] of [
      [mark, 403],
      [`1${mark}`, 307],
      [`${mark}a`, 307],
    ] as const) {
      visitor.cookies.set(name, value);
      expect([value, (await visitor.get('/fresh')).status]).toEqual([value, status]);
    }
  });
});

describe('a recent sign-in at Supabase', () => {
  let app: BackendApp;
  beforeAll(async () => {
    app = await startBackendApp({ after: (host) => host.get('/fresh', requireSession({ maxAge: 300 }), hello) });
  });
  afterAll(() => app.close());

  it('is the newest time in amr, and a refresh does not renew it', async () => {
    const visitor = await app.signedIn();
    expect((await visitor.get('/fresh')).status).toBe(200);
    app.clock.advance(3_700_000);
    const answer = await visitor.get('/fresh');
    expect([answer.status, answer.headers.location]).toEqual([307, again('/auth/login', '/fresh')]);
    const form = await visitor.get(answer.headers.location ?? '');
    expect(form.text).toMatch(/<input[^>]*name="email"[^>]*value="ada@example.com"/);
    expect((await visitor.postJson('/auth/login', { ...ada, returnTo: '/fresh' })).json.redirectTo).toBe('/fresh');
    expect([(await visitor.get('/fresh')).status, marks(visitor)]).toEqual([200, []]);
  });

  it('is a 403 if the user comes back with an old sign-in', async () => {
    const old = { claims: { amr: [{ method: 'password', timestamp: 1_000 }] } };
    const visitor = await app.signedIn(old);
    expect((await visitor.get('/fresh')).status).toBe(307);
    setSession(visitor, await app.supabase.issueSession(ada.email, old));
    expect((await visitor.get('/fresh')).status).toBe(403);
    expect((await visitor.get('/fresh')).status).toBe(307);
  });

  it.each([
    [5, 307],
    [6, 403],
  ])('that began %d seconds before its round and is too old by now is a %d', async (seconds, status) => {
    const visitor = await app.signedIn({ claims: { amr: [] } });
    expect((await visitor.get('/fresh')).status).toBe(307);
    const timestamp = Math.floor(app.clock.now() / 1000) - seconds;
    setSession(
      visitor,
      await app.supabase.issueSession(ada.email, { claims: { amr: [{ method: 'otp', timestamp }] } }),
    );
    app.clock.advance(301_000);
    expect((await visitor.get('/fresh')).status).toBe(status);
  });

  it.each([
    undefined,
    null,
    'password',
    [],
    ['password'],
    [{ method: 'password' }],
    [{ method: 'password', timestamp: '9999999999' }],
    [{ method: 'password', timestamp: 9_999_999_999 }],
  ])('is unknown for %j', async (amr) => {
    const visitor = await app.signedIn({ claims: { amr } });
    expect((await visitor.get('/fresh')).status).toBe(307);
  });

  it.each(['totp', 'mfa/phone', 'mfa/webauthn', 'recovery_code', 'token_refresh', 'of_tomorrow', undefined])(
    'is no time of the method %s, which is no sign-in',
    async (method) => {
      const now = Math.floor(app.clock.now() / 1000);
      const amr = [
        { method, timestamp: now },
        { method: 'password', timestamp: now - 9_000 },
      ];
      expect((await (await app.signedIn({ claims: { amr } })).get('/fresh')).status).toBe(307);
    },
  );

  it('uses the newest of several times, in any order', async () => {
    const now = Math.floor(app.clock.now() / 1000);
    const amr = [
      { method: 'password', timestamp: now - 9_000 },
      { method: 'otp', timestamp: now - 10 },
      { method: 'oauth', timestamp: now - 5_000 },
    ];
    expect((await (await app.signedIn({ claims: { amr } })).get('/fresh')).status).toBe(200);
  });
});

describe('a second factor', () => {
  const clock = createClock();
  let answers: (boolean | Error)[] = [];
  let asked: string[] = [];

  /** A session whose access token is the value of the cookie `test`: `aal1-…` or `aal2-…`. */
  function sessionOf(cookieHeader: string | undefined): BackendSession | undefined {
    const [, accessToken] = /test=(aal\d[\w-]*)/.exec(cookieHeader ?? '') ?? [];
    if (accessToken === undefined) return undefined;
    return {
      adapter: 'backend',
      credential: 'cookie',
      user: { id: 'u', email: null, role: 'authenticated', isAnonymous: false, appMetadata: {}, userMetadata: {} },
      accessToken,
      claims: { sub: 'u', exp: 2_000_000_000, aal: accessToken.slice(0, 4) },
      expiresAt: 2_000_000_000_000,
    };
  }

  const definition: Omit<Adapter, 'ownPaths'> = {
    adapter: 'backend',
    name: 'backendAuth',
    resolver: {
      background: noBackground,
      cachedSession: sessionOf,
      endSession: () => Promise.resolve(),
      isConfirmed: () => true,
      isShared: false,
      renewSession: () => Promise.resolve(),
      endOver: () => Promise.reject(new Error('unused')),
      watchSession: () => Promise.resolve(() => undefined),
      resolve: () => Promise.resolve({ session: null, cookies: [] }),
      resolveBearer: (token) => {
        const session = sessionOf(`test=${token}`);
        return Promise.resolve(session && { ...session, credential: 'bearer' });
      },
    },
    protectedRoutes: [],
    signInPage: undefined,
    openPages: [],
    loginPath: '/auth/login',
    stylesheetPath: '/auth/pages.css',
    freshSignIn: { authenticatedAt: () => undefined, signInId: () => '', parameters: () => ({}) },
    secondFactor: {
      verifyPath: '/auth/verify',
      enrollPath: '/auth/enroll',
      async hasVerifiedFactor({ accessToken }) {
        asked.push(accessToken);
        await Promise.resolve();
        const answer = answers.length > 1 ? answers.shift() : answers[0];
        if (answer instanceof Error) throw answer;
        return answer === true;
      },
    },
    guardStatusForForms: 303,
    cookieName: 'test',
    cookieOptions: { path: '/', sameSite: 'lax', httpOnly: true, maxAge: undefined },
    appBaseUrl: undefined,
    trustedOrigins: [],
    foreignClient: () => undefined,
    now: clock.now,
    timeoutMs: 1_000,
    onError: undefined,
    brands: createBrands(sharedText, {}),
    emit: () => undefined,
    explain: () => undefined,
    parts: new Parts(),
  };

  async function withGuards(
    use: (ask: (path: string, token: string, headers?: object) => Promise<Answer>) => Promise<void>,
    changes: Partial<typeof definition> = {},
  ) {
    const { host, listener } = createApplication();
    host.use('/', createAuthRouter({ ...definition, ...changes }, []));
    const at = (path: string, options: RequireSessionOptions): void => host.all(path, requireSession(options), hello);
    at('/vault', { aal: 'aal2' });
    at('/settings', { aal: 'enrolled' });
    at('/api', { aal: 'aal2', credentials: ['cookie', 'bearer'] });
    at('/api/enrolled', { aal: 'enrolled', credentials: ['bearer'] });
    at('/', { aal: 'aal2' });
    const server = await serve(listener);
    const visitor = createVisitor(server.origin);
    try {
      await use((path, token, headers = {}) => visitor.ask(path, { headers: { cookie: `test=${token}`, ...headers } }));
    } finally {
      await server.close();
    }
  }

  beforeEach(() => {
    answers = [true];
    asked = [];
    clock.advance(120_000);
  });

  it('is requested if there is one, and added if there is none', async () => {
    await withGuards(async (ask) => {
      const verify = await ask('/vault?a=1', 'aal1-a');
      expect([verify.status, verify.headers.location]).toEqual([307, '/auth/verify?returnTo=%2Fvault%3Fa%3D1']);
      answers = [false];
      const enroll = await ask('/vault', 'aal1-b');
      expect([enroll.status, enroll.headers.location]).toEqual([307, '/auth/enroll?returnTo=%2Fvault']);
      expect((await ask('/vault', 'aal2-a')).text).toBe('hello');
      const home = await ask('/', 'aal1-b');
      expect(home.headers.location).toBe(variant.prefix === '' ? '/auth/enroll' : '/auth/enroll?returnTo=%2F');
    });
    expect(asked).toEqual(['aal1-a', 'aal1-b']);
  });

  it.each([
    ['/settings', {}],
    ['/api/enrolled', { authorization: 'Bearer aal1' }],
  ])('is asked about in the time that the request has not spent on its session (%s)', async (path, headers) => {
    const hasVerifiedFactor = () => new Promise<never>(() => undefined);
    const now = performance.now.bind(performance);
    let spentMs = 0;
    jest.spyOn(performance, 'now').mockImplementation(() => now() + spentMs);
    const limits = jest.spyOn(AbortSignal, 'timeout');
    const resolver = {
      ...definition.resolver,
      cachedSession: () => undefined,
      resolve: async (cookieHeader: string | undefined) => {
        await Promise.resolve();
        spentMs += 800;
        return { session: sessionOf(cookieHeader) ?? null, cookies: [] };
      },
      resolveBearer: async (token: string) => {
        const session = await definition.resolver.resolveBearer(token, {});
        spentMs += 800;
        return session;
      },
    };
    await withGuards(
      async (ask) => {
        expect((await ask(path, 'aal1', headers)).status).toBe(503);
        expect(limits.mock.calls).toEqual([[expect.any(Number)]]);
        expect(limits.mock.calls[0]?.[0]).toBeLessThanOrEqual(200);
      },
      { resolver, secondFactor: { verifyPath: '/auth/verify', enrollPath: '/auth/enroll', hasVerifiedFactor } },
    );
    jest.restoreAllMocks();
  });

  it('is a 403 if the adapter does not support it', async () => {
    await withGuards(
      async (ask) => {
        expect((await ask('/vault', 'aal1')).status).toBe(403);
        expect((await ask('/vault', 'aal2')).text).toBe('hello');
      },
      { secondFactor: undefined },
    );
  });

  it('is a 403 in JSON, which names the URL', async () => {
    await withGuards(async (ask) => {
      const { status, json } = await ask('/vault', 'aal1', { accept: 'application/json' });
      expect([status, json]).toEqual([
        403,
        {
          error: expect.objectContaining({ code: 'second_factor_required' }),
          redirectTo: '/auth/verify',
        },
      ]);
    });
  });

  it('is required of enrolled users, if the guard says "enrolled"', async () => {
    await withGuards(async (ask) => {
      expect((await ask('/settings', 'aal1-a')).headers.location).toBe('/auth/verify?returnTo=%2Fsettings');
      answers = [false];
      expect((await ask('/settings', 'aal1-b')).text).toBe('hello');
      expect((await ask('/settings', 'aal2-c')).text).toBe('hello');
    });
    expect(asked).toEqual(['aal1-a', 'aal1-b']);
  });

  it('is one call per access token and minute, for all requests together', async () => {
    answers = [false];
    await withGuards(async (ask) => {
      await Promise.all([1, 2, 3, 4].map(() => ask('/settings', 'aal1')));
      clock.advance(59_000);
      await ask('/settings', 'aal1');
      expect(asked).toHaveLength(1);
      clock.advance(2_000);
      await ask('/settings', 'aal1');
      expect(asked).toHaveLength(2);
    });
  });

  it('keeps everyone out during an outage of the provider, and is requested again', async () => {
    answers = [new AuthError('provider_unavailable', { retryAfter: 5 }), true];
    await withGuards(async (ask) => {
      for (const path of ['/settings', '/settings']) {
        const { status } = await ask(path, 'aal1');
        expect(status).toBe(asked.length === 1 ? 503 : 307);
      }
    });
    expect(asked).toHaveLength(2);
  });

  it('is a 403 for a bearer token, without a URL', async () => {
    await withGuards(async (ask) => {
      for (const path of ['/api', '/api/enrolled']) {
        const { status, json, headers } = await ask(path, 'aal2', {
          authorization: `Bearer aal1${path.replaceAll('/', '-')}`,
        });
        expect([path, status, Object.keys(json), json.error.code, headers.location]).toEqual([
          path,
          403,
          ['error'],
          'second_factor_required',
          undefined,
        ]);
        expect((await ask(path, 'aal1', { authorization: 'Bearer aal2' })).status).toBe(200);
      }
      answers = [false];
      expect((await ask('/api/enrolled', '', { authorization: 'Bearer aal1-b' })).status).toBe(200);
    });
    // The provider is called only if its answer decides.
    expect(asked).toEqual(['aal1-api-enrolled', 'aal1-b']);
  });
});
