import { generateKeyPairSync, randomBytes } from 'node:crypto';
import type { JWTPayload } from 'jose';
import { ada, encodeSession, setSession, startBackendApp } from '../support/backend-app.ts';
import type { BackendApp, BackendAppSetup } from '../support/backend-app.ts';
import type { Fault } from '../support/supabase-stand-in/index.ts';

let app: BackendApp;
const start = async (setup?: BackendAppSetup): Promise<BackendApp> => (app = await startBackendApp(setup));
afterEach(() => app.close());

const minutes = 60_000;

describe('verification', () => {
  it('takes the user from the signed claims, never from the cookie', async () => {
    await start();
    const visitor = app.visitor();
    const session = await app.supabase.issueSession(ada.email, {
      claims: { user_metadata: { name: 'Ada' }, app_metadata: { plan: 'free' }, phone: '49123', is_anonymous: true },
    });
    const forged = { ...session.user, email: 'admin@example.com', app_metadata: { plan: 'all' } };
    setSession(visitor, { ...session, user: forged });
    expect((await visitor.getJson('/auth/session')).json).toEqual({
      authenticated: true,
      user: {
        id: session.user.id,
        email: ada.email,
        phone: '49123',
        role: 'authenticated',
        isAnonymous: true,
        appMetadata: { plan: 'free' },
        userMetadata: { name: 'Ada' },
      },
    });
  });

  it.each([
    ['a service role', { role: 'service_role' }],
    ['an anon key’s role', { role: 'anon' }],
    ['several roles', { role: ['authenticated'] as unknown as string }],
    ['no role', { role: undefined }],
    ['another audience', { aud: 'other' }],
    ['no audience', { aud: undefined }],
    ['another project’s issuer', { iss: 'https://other.supabase.co/auth/v1' }],
    ['an issuer that is no text', { iss: 42 as unknown as string }],
    ['no subject', { sub: '' }],
    ['a time that has not come yet', { nbf: Math.floor(Date.now() / 1000) + 3600 }],
  ])('refuses a validly signed token with %s, and clears its cookie', async (_what, claims) => {
    await start();
    const visitor = await app.signedIn({ claims: claims as JWTPayload });
    const answer = await visitor.getJson('/auth/session');
    expect(answer.status).toBe(401);
    expect(visitor.cookies.size).toBe(0);
    expect(app.supabase.calls('refresh')).toBe(0);
  });

  it.each([
    ['a list of audiences', { aud: ['authenticated', 'other'] }],
    ['no issuer, as @supabase/lite does', { iss: undefined }],
  ])('takes a token with %s', async (_what, claims) => {
    await start();
    expect((await (await app.signedIn({ claims: claims as JWTPayload })).getJson('/auth/session')).status).toBe(200);
  });

  it('takes further issuers where they are named, as behind a custom domain', async () => {
    await start({ options: { issuer: 'https://auth.example.com/auth/v1' } });
    const visitor = await app.signedIn({ claims: { iss: 'https://auth.example.com/auth/v1' } });
    expect((await visitor.getJson('/auth/session')).status).toBe(200);
  });

  it('refuses what somebody else signed, or nobody', async () => {
    await start();
    const session = await app.supabase.issueSession(ada.email);
    const claims = JSON.parse(Buffer.from(session.access_token.split('.')[1] ?? '', 'base64url').toString());
    const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    const kid = JSON.parse(Buffer.from(session.access_token.split('.')[0] ?? '', 'base64url').toString()).kid;
    const forgeries = [
      await app.supabase.signToken(claims, { alg: 'none' }),
      await app.supabase.signToken(claims, { key: privateKey as never, kid }),
      await app.supabase.signToken(claims, { alg: 'HS256', key: randomBytes(32), kid }),
      `${session.access_token.slice(0, -8)}AAAAAAAA`,
    ];
    for (const access_token of forgeries) {
      const visitor = app.visitor();
      setSession(visitor, { ...session, access_token, refresh_token: 'made-up' });
      expect((await visitor.getJson('/auth/session')).status).toBe(401);
    }
  });

  it('does not turn tokens with made-up key ids into load', async () => {
    await start();
    await (await app.signedIn()).getJson('/auth/session');
    const before = app.supabase.requests.length;
    const issuedBefore = Math.floor(app.clock.now() / 1000) - 600;
    app.clock.advance(31_000);
    const session = await app.supabase.issueSession(ada.email);
    for (let index = 0; index < 20; index += 1) {
      const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
      const claims = {
        sub: 'x',
        role: 'authenticated',
        aud: 'authenticated',
        iat: issuedBefore,
        exp: issuedBefore + 7200,
      };
      const access_token = await app.supabase.signToken(claims, { key: privateKey as never, kid: `made-up-${index}` });
      const visitor = app.visitor();
      setSession(visitor, { ...session, access_token, refresh_token: `made-up-${index}` });
      expect((await visitor.getJson('/auth/session')).status).toBe(401);
    }
    expect(app.supabase.requests.slice(before).map(({ endpoint }) => endpoint)).toEqual(['jwks']);
  });

  it('signs nobody out when keys are rotated within the cool-down', async () => {
    await start();
    const old = await app.signedIn();
    await old.getJson('/auth/session');
    await app.supabase.rotateKeys();
    const fresh = await app.signedIn({});
    const first = await fresh.getJson('/auth/session');
    expect(first.status).toBe(503);
    expect(fresh.cookies.size).toBe(1);
    app.clock.advance(31_000);
    expect((await fresh.getJson('/auth/session')).status).toBe(200);
    expect((await old.getJson('/auth/session')).status).toBe(200);
  });

  it('serves from cached keys while the backend is down, and says 503 where it has none yet', async () => {
    await start();
    const cold = await app.signedIn({});
    app.supabase.fail('jwks', 503, 1);
    const answer = await cold.getJson('/auth/session');
    expect([answer.status, cold.cookies.size]).toEqual([503, 1]);
    app.clock.advance(6_000);
    expect((await cold.getJson('/auth/session')).status).toBe(200);
    app.supabase.fail('all', 'refuse');
    app.clock.advance(11 * minutes);
    const other = await app.signedIn({});
    expect((await other.getJson('/auth/session')).status).toBe(200);
  });

  it('survives whatever stands in the cookie, without a call and without a 5xx', async () => {
    await start();
    for (const value of [
      'base64-e30',
      'base64-',
      'base64-!!!',
      'null',
      '[]',
      '{"access_token":1}',
      '%',
      'base64-bnVsbA',
    ]) {
      const visitor = app.visitor();
      visitor.cookies.set(app.cookieName, value);
      expect((await visitor.getJson('/auth/session')).status).toBe(401);
    }
    const deep = app.visitor();
    setSession(deep, {
      access_token: 'a.b.c',
      refresh_token: 'r',
      user: JSON.parse(`${'['.repeat(2000)}${']'.repeat(2000)}`),
    });
    expect((await deep.getJson('/auth/session')).status).toBe(401);
    expect(app.supabase.requests).toEqual([]);
  });

  it('is not fooled by a cookie of the same name from a sibling domain', async () => {
    await start();
    const visitor = await app.signedIn();
    const cookie = `${app.cookieName}=base64-e30; ${visitor.cookieHeader()}; ${app.cookieName}=x`;
    const answer = await app.visitor().get('/auth/session', { headers: { cookie } });
    expect(answer.status).toBe(200);
  });
});

describe('an expired token', () => {
  it('is renewed once, however many requests come with it', async () => {
    await start();
    const visitor = await app.signedIn();
    app.clock.advance(61 * minutes);
    const cookie = visitor.cookieHeader();
    const answers = await Promise.all(
      Array.from({ length: 20 }, () => app.visitor().get('/auth/session', { headers: { cookie } })),
    );
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200));
    expect(new Set(answers.map(({ setCookies }) => setCookies.join())).size).toBe(1);
    expect(app.supabase.calls('refresh')).toBe(1);
  });

  it.each<Fault>([401, 403, 404, 408, 429, 500, 503, 'html502', 'refuse', 'reset', 'hang'])(
    'costs nobody the session when the backend answers %s',
    async (fault) => {
      // As GoTrue does: a token whose successor never arrived is taken once more.
      await start({ options: { timeoutMs: 300 }, standIn: { reuse: 'parent' } });
      const visitor = await app.signedIn();
      await visitor.getJson('/auth/session');
      app.clock.advance(61 * minutes);
      app.supabase.fail('refresh', fault);
      const before = visitor.cookieHeader();
      for (const path of ['/auth/session', '/api/me', '/account', '/notes']) {
        const answer = await visitor.getJson(path);
        expect([path, answer.status, answer.setCookies]).toEqual([path, 503, []]);
      }
      expect(visitor.cookieHeader()).toBe(before);
      app.supabase.heal();
      app.clock.advance(10_000);
      expect((await visitor.getJson('/auth/session')).status).toBe(200);
    },
  );

  it('is renewed although the answer to its first try was lost', async () => {
    await start({ standIn: { reuse: 'parent' } });
    const visitor = await app.signedIn();
    app.clock.advance(61 * minutes);
    app.supabase.fail('refresh', 'lost', 1);
    expect((await visitor.getJson('/auth/session')).status).toBe(200);
    expect(app.supabase.calls('refresh')).toBe(2);
  });

  it('is not waited for longer than the budget, whatever the SDK would retry', async () => {
    await start({ options: { timeoutMs: 300 } });
    const visitor = await app.signedIn();
    await visitor.getJson('/auth/session');
    app.clock.advance(61 * minutes);
    app.supabase.fail('refresh', 503);
    await visitor.getJson('/auth/session');
    expect(app.supabase.calls('refresh')).toBeLessThanOrEqual(2);
  });

  it.each([
    ['spent', async () => 'made-up'],
    [
      'of a banned user',
      async () => {
        const banned = app.supabase.addUser({ email: 'banned@example.com', banned: true });
        return (await app.supabase.issueSession(banned)).refresh_token;
      },
    ],
  ])('whose refresh token is %s ends the session, clearing the cookie once', async (_what, token) => {
    await start();
    const visitor = app.visitor();
    const session = await app.supabase.issueSession(ada.email, { ttl: -60 });
    setSession(visitor, { ...session, refresh_token: await token() });
    const answer = await visitor.getJson('/auth/session');
    expect(answer.status).toBe(401);
    expect(answer.setCookies).toHaveLength(1);
    expect(visitor.cookies.size).toBe(0);
    expect(app.eventTypes()).toContain('session_ended');
  });

  it('with a forged later expiry in the cookie is still expired', async () => {
    await start();
    const visitor = app.visitor();
    const session = await app.supabase.issueSession(ada.email, { ttl: -60 });
    setSession(visitor, { ...session, expires_at: 9_999_999_999 });
    expect((await visitor.getJson('/auth/session')).status).toBe(200);
    expect(app.supabase.calls('refresh')).toBe(1);
  });
});

describe('a project that signs with a shared secret', () => {
  const hs256 = { standIn: { algorithm: 'HS256' as const } };

  it('is asked about each token once a minute', async () => {
    await start(hs256);
    const visitor = await app.signedIn();
    for (let index = 0; index < 5; index += 1) expect((await visitor.getJson('/auth/session')).status).toBe(200);
    expect(app.supabase.calls('user')).toBe(1);
    app.clock.advance(61_000);
    expect((await visitor.getJson('/auth/session')).status).toBe(200);
    expect(app.supabase.calls('user')).toBe(2);
  });

  it('ends a session within a minute of its end elsewhere', async () => {
    await start(hs256);
    const visitor = await app.signedIn();
    const { json } = await visitor.getJson('/auth/session');
    expect(json.authenticated).toBe(true);
    const signedIn = app.events.find((event) => event.type === 'signed_in');
    app.supabase.revokeSession(signedIn?.sessionId ?? '');
    app.clock.advance(61_000);
    expect((await visitor.getJson('/auth/session')).status).toBe(401);
  });

  it.each<Fault>([401, 429, 500, 'html502', 'refuse', 'hang'])(
    'keeps the session when it answers %s',
    async (fault) => {
      await start({ ...hs256, options: { timeoutMs: 300 } });
      const visitor = await app.signedIn();
      app.clock.advance(61_000);
      app.supabase.fail('user', fault);
      const answer = await visitor.getJson('/auth/session');
      expect([answer.status, answer.setCookies]).toEqual([503, []]);
      app.supabase.heal();
      expect((await visitor.getJson('/auth/session')).status).toBe(200);
    },
  );

  it('is not asked about what cannot be a session, nor twice about the same garbage', async () => {
    await start(hs256);
    const session = await app.supabase.issueSession(ada.email);
    const claims = {
      sub: 'x',
      role: 'authenticated',
      aud: 'authenticated',
      exp: Math.floor(app.clock.now() / 1000) + 60,
    };
    const forge = (changes: Record<string, unknown>): Promise<string> =>
      app.supabase.signToken({ ...claims, ...changes }, { alg: 'HS256', key: randomBytes(32) });
    const ask = async (access_token: string): Promise<number> => {
      const headers = {
        cookie: `${app.cookieName}=${encodeSession({ ...session, access_token, refresh_token: 'x' })}`,
      };
      return (await app.visitor().get('/auth/session', { headers })).status;
    };
    for (const changes of [{ role: 'service_role' }, { aud: 'x' }, { iss: 'https://evil.example' }, { sub: '' }]) {
      expect(await ask(await forge(changes))).toBe(401);
    }
    expect(app.supabase.calls('user')).toBe(0);
    const garbage = await forge({});
    for (let index = 0; index < 5; index += 1) expect(await ask(garbage)).toBe(401);
    expect(app.supabase.calls('user')).toBe(1);
  });

  it('renews an expired token without asking about it first', async () => {
    await start(hs256);
    const visitor = await app.signedIn({ ttl: -60 });
    expect((await visitor.getJson('/auth/session')).status).toBe(200);
    expect(app.supabase.calls('refresh')).toBe(1);
  });
});

describe('the cookie', () => {
  async function signInWith(bytes: number) {
    await start();
    const email = `big${bytes}@example.com`;
    app.supabase.addUser({ email, password: 'long enough', metadata: { bio: 'x'.repeat(bytes) } });
    const visitor = app.visitor();
    return { visitor, answer: await visitor.postJson('/auth/login', { email, password: 'long enough' }) };
  }

  it('is chunked as @supabase/ssr does, and whole again when read', async () => {
    const { visitor } = await signInWith(800);
    expect([...visitor.cookies.keys()]).toEqual([`${app.cookieName}.0`, `${app.cookieName}.1`]);
    expect((await visitor.getJson('/auth/session')).json.user.userMetadata.bio).toHaveLength(800);
  });

  it('over 8 KB raises an event', async () => {
    const { answer } = await signInWith(2400);
    expect(answer.status).toBe(200);
    expect(app.eventTypes()).toContain('session_large');
  });

  it.each([4_000, 8_000])('over 12 KB refuses the sign-in (%i bytes of metadata)', async (bytes) => {
    const { visitor, answer } = await signInWith(bytes);
    expect([answer.status, answer.json.error.code]).toEqual([422, 'session_too_large']);
    expect(visitor.cookies.size).toBe(0);
  });

  it('keeps its attributes: domain, path, sameSite, secure, maxAge and httpOnly', async () => {
    const cookieOptions = {
      domain: 'example.com',
      path: '/app',
      sameSite: 'strict',
      secure: true,
      maxAge: 60,
      httpOnly: false,
    } as const;
    await start({ options: { cookieOptions } });
    const answer = await app.visitor().postJson('/auth/login', ada);
    expect(answer.setCookies[0]).toMatch(/; Max-Age=60; Domain=example.com; Path=\/app; Secure; SameSite=Strict$/);
  });

  it('ends with the browser where maxAge is null', async () => {
    await start({ options: { cookieOptions: { maxAge: null } } });
    expect((await app.visitor().postJson('/auth/login', ada)).setCookies[0]).not.toContain('Max-Age');
  });

  it('is deleted in its own domain and on this host, where a former configuration may have left it', async () => {
    await start({ options: { cookieOptions: { domain: 'example.com' } } });
    const visitor = await app.signedIn({});
    const deletions = (await visitor.post('/auth/logout')).setCookies;
    expect(deletions.map((line) => line.includes('Domain=example.com')).sort()).toEqual([false, true]);
  });
});
