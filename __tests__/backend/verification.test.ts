import { generateKeyPairSync, randomBytes } from 'node:crypto';
import type { JWTPayload } from 'jose';
import { ada, setSession, startBackendApp } from '../support/backend-app.ts';
import type { BackendApp, BackendAppSetup } from '../support/backend-app.ts';

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
  ])('refuses a validly signed token with %s, and leaves its cookie to its writer', async (_what, claims) => {
    await start();
    const visitor = await app.signedIn({ claims: claims as JWTPayload });
    const answer = await visitor.getJson('/auth/session');
    expect(answer.status).toBe(401);
    expect(answer.setCookies).toEqual([]);
    expect(app.supabase.calls('refresh')).toBe(0);
  });

  it.each([
    ['a list of audiences', { aud: ['authenticated', 'other'] }],
    ['no issuer', { iss: undefined }],
  ])('accepts a token with %s', async (_what, claims) => {
    await start();
    expect((await (await app.signedIn({ claims: claims as JWTPayload })).getJson('/auth/session')).status).toBe(200);
  });

  it('accepts additional issuers from the option, as for a custom domain', async () => {
    await start({ options: { issuer: 'https://auth.example.com/auth/v1' } });
    const visitor = await app.signedIn({ claims: { iss: 'https://auth.example.com/auth/v1' } });
    expect((await visitor.getJson('/auth/session')).status).toBe(200);
  });

  it.each([
    ['a live token', {}],
    ['an expired token', { ttl: -60 }],
  ])(
    'refuses %s that was issued to another application’s OAuth client, and asks the project nothing',
    async (_what, session) => {
      await start();
      const visitor = await app.signedIn({ ...session, claims: { client_id: 'client_of_another_application' } });
      const answer = await visitor.getJson('/auth/session');
      expect([answer.status, answer.setCookies]).toEqual([401, []]);
      expect(app.events.at(-1)).toMatchObject({ type: 'session_rejected', reason: 'client' });
      expect([app.supabase.calls('refresh'), app.supabase.calls('user')]).toEqual([0, 0]);
    },
  );

  it('refuses a token with another signer’s signature, or without one', async () => {
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

  it('limits the calls that tokens with made-up key ids cause', async () => {
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
      expect((await visitor.getJson('/auth/session')).status).toBe(index < 10 ? 401 : 503);
    }
    const asked = app.supabase.requests.slice(before).map(({ endpoint }) => endpoint);
    expect(asked).toEqual(['jwks', ...Array.from({ length: 10 }, () => 'refresh')]);
  });

  it('keeps everyone signed in when keys are rotated within the cool-down', async () => {
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

  it('serves from cached keys during an outage, and answers 503 if it has none yet', async () => {
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

  it('survives any content of the cookie, without a call and without a 5xx', async () => {
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

  it('finds its session beside a cookie of the same name from a sibling domain', async () => {
    await start();
    const visitor = await app.signedIn();
    const cookie = `${app.cookieName}=base64-e30; ${visitor.cookieHeader()}; ${app.cookieName}=x`;
    const answer = await app.visitor().get('/auth/session', { headers: { cookie } });
    expect(answer.status).toBe(200);
  });
});
