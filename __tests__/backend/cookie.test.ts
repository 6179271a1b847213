import { createServerClient } from '@supabase/ssr';
import { ada, setSession, startBackendApp } from '../support/backend-app.ts';
import type { BackendApp, BackendAppSetup } from '../support/backend-app.ts';

let app: BackendApp;
/** What @supabase/ssr stored. */
const decodeSession = (cookie: string): any =>
  JSON.parse(Buffer.from(cookie.slice('base64-'.length), 'base64url').toString());
const start = async (setup?: BackendAppSetup): Promise<BackendApp> => (app = await startBackendApp(setup));
afterEach(() => app.close());

describe('the cookie', () => {
  async function signInWith(bytes: number) {
    await start();
    const email = `big${bytes}@example.com`;
    app.supabase.addUser({ email, password: 'long enough', metadata: { bio: 'x'.repeat(bytes) } });
    const visitor = app.visitor();
    return { visitor, answer: await visitor.postJson('/auth/login', { email, password: 'long enough' }) };
  }

  it('is split into the chunks of @supabase/ssr, and joined when read', async () => {
    const { visitor } = await signInWith(800);
    expect([...visitor.cookies.keys()]).toEqual([`${app.cookieName}.0`, `${app.cookieName}.1`]);
    expect((await visitor.getJson('/auth/session')).json.user.userMetadata.bio).toHaveLength(800);
  });

  it('over 8 KB raises one event per sign-in and one per refresh', async () => {
    const { visitor, answer } = await signInWith(1900);
    expect(answer.status).toBe(200);
    expect(app.eventTypes()).toEqual(['session_large', 'signed_in']);
    app.clock.advance(3_700_000);
    const cookie = visitor.cookieHeader();
    await Promise.all([1, 2, 3].map(() => app.visitor().get('/auth/session', { headers: { cookie } })));
    expect(app.eventTypes().slice(2)).toEqual(['session_large', 'session_refreshed']);
  });

  it.each([2_400, 4_000])(
    'over 12 KB is stored without the fields that nothing here reads (%i bytes of metadata)',
    async (bytes) => {
      const { visitor, answer } = await signInWith(bytes);
      expect(answer.status).toBe(200);
      expect(visitor.cookieHeader().length).toBeLessThan(12 * 1024);
      const [name] = app.cookieName.split('.');
      const chunks = [...visitor.cookies].filter(([each]) => each.startsWith(`${name}.`)).map(([, value]) => value);
      const stored = decodeSession(chunks.join(''));
      expect(stored).toMatchObject({ access_token: expect.any(String), refresh_token: expect.any(String) });
      expect(stored.user).toMatchObject({ id: expect.any(String), app_metadata: {}, user_metadata: {} });
      expect(Object.keys(stored.user)).not.toContain('identities');
      expect((await visitor.getJson('/auth/session')).json.user.userMetadata.bio).toHaveLength(bytes);
      // @supabase/ssr beside it reads the same cookies.
      const neighbor = createServerClient(app.supabase.url, app.supabase.publishableKey, {
        cookieOptions: { name: app.cookieName },
        cookies: {
          getAll: () => [...visitor.cookies].map(([each, value]) => ({ name: each, value })),
          setAll: () => undefined,
        },
      });
      expect((await neighbor.auth.getUser()).data.user?.email).toBe(`big${bytes}@example.com`);
    },
  );

  it.each([
    ['keeps the provider’s tokens where there is room', 100, true],
    ['drops the provider’s tokens before it refuses a sign-in', 12_000, false],
  ])('%s, with keepProviderTokens', async (_, length, isKept) => {
    const issue: typeof globalThis.fetch = async (input, init) => {
      const answer = await fetch(input, init);
      return new Request(input).url.includes('grant_type=pkce')
        ? Response.json({ ...((await answer.json()) as object), provider_token: 'p'.repeat(length) })
        : answer;
    };
    await start({ options: { fetch: issue, keepProviderTokens: true } });
    const visitor = app.visitor();
    const begin = await visitor.get('/auth/login?provider=github');
    await visitor.get((await app.supabase.authorize(begin.location, { approve: true })).href);
    const stored = decodeSession(visitor.cookies.get(app.cookieName)!);
    expect('provider_token' in stored).toBe(isKept);
  });

  it.each([7_000, 8_000])('over 12 KB refuses the sign-in (%i bytes of metadata)', async (bytes) => {
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

  it('expires with the browser session if maxAge is null', async () => {
    await start({ options: { cookieOptions: { maxAge: null } } });
    expect((await app.visitor().postJson('/auth/login', ada)).setCookies[0]).not.toContain('Max-Age');
  });

  it('is deleted for its own domain and for this host, where an earlier configuration may have set it', async () => {
    await start({ options: { cookieOptions: { domain: 'example.com' } } });
    const visitor = await app.signedIn({});
    const deletions = (await visitor.post('/auth/logout')).setCookies;
    expect(deletions.map((line) => line.includes('Domain=example.com')).sort()).toEqual([false, true]);
  });
});

describe('a field that is null', () => {
  const nullable = ['expires_at', 'provider_token', 'provider_refresh_token', 'weak_password', 'user', 'token_type'];
  const nulls = (fields: readonly string[]) => Object.fromEntries(fields.map((field) => [field, null]));

  it.each([...nullable.map((field) => [field, [field]] as const), ['each of them', nullable] as const])(
    'is absent in the cookie of another library (%s)',
    async (_what, fields) => {
      await start();
      app.supabase.addNote(ada.email, 'mine');
      const visitor = app.visitor();
      setSession(visitor, { ...(await app.supabase.issueSession(ada.email)), ...nulls(fields) });
      expect((await visitor.getJson('/auth/session')).json.user?.email).toBe(ada.email);
      expect((await visitor.get('/notes')).json.data).toHaveLength(1);
      app.clock.advance(3_700_000);
      expect((await visitor.getJson('/auth/session')).status).toBe(200);
      expect(app.supabase.calls('refresh')).toBe(1);
      await visitor.post('/auth/logout');
      expect(app.supabase.sessionsOf(ada.email)).toEqual([]);
    },
  );

  it('is absent in every answer with tokens: of a sign-in, a second factor and a refresh', async () => {
    const changed: typeof fetch = async (input, init) => {
      const response = await fetch(input, init);
      if (!/\/(token|verify)$/.test(new URL(new Request(input).url).pathname)) return response;
      const fields = nulls(nullable.filter((field) => field !== 'user' && field !== 'token_type'));
      return Response.json({ ...((await response.json()) as object), ...fields }, { status: response.status });
    };
    await start({ options: { fetch: changed } });
    const visitor = app.visitor();
    expect((await visitor.postJson('/auth/login', ada)).status).toBe(200);
    app.clock.advance(3_700_000);
    expect((await visitor.getJson('/auth/session')).status).toBe(200);
    const factor = app.supabase.addFactor(ada.email);
    const other = app.visitor();
    expect((await other.postJson('/auth/login', ada)).json.redirectTo).toBe('/auth/verify');
    expect((await other.postJson('/auth/verify', { code: app.supabase.codeOf(factor) })).status).toBe(200);
    expect((await other.getJson('/auth/session')).status).toBe(200);
  });

  it.each(['access_token', 'refresh_token'])('is missing where it is the %s', async (field) => {
    await start();
    const visitor = app.visitor();
    setSession(visitor, { ...(await app.supabase.issueSession(ada.email)), [field]: null });
    const answer = await visitor.getJson('/auth/session');
    expect([answer.status, answer.setCookies]).toEqual([401, []]);
  });
});
