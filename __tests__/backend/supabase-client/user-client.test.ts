import { jest } from '@jest/globals';
import http from 'node:http';
import { createServerClient } from '@supabase/ssr';
import type { CookieMethodsServer } from '@supabase/ssr';
import type { SupabaseClient } from '@supabase/supabase-js';
import { getSession, getSupabaseClient, requireSession } from '../../../lib/backend/index.ts';
import { ada, setSession, startBackendApp } from '../../support/backend-app.ts';
import type { BackendApp, BackendAppSetup } from '../../support/backend-app.ts';
import type { Handler } from '../../support/handler-list.ts';
import { sendJson, sendText } from '../../support/hosts.ts';
import { createShared } from '../../support/shared-memory.ts';
import { isExpress } from '../../support/variant.ts';

const grace = { email: 'grace@example.com', password: 'long enough' };
const coordinator = createShared();

let app: BackendApp;
const start = async (setup?: BackendAppSetup): Promise<BackendApp> => (app = await startBackendApp(setup));
afterEach(() => app.close());

/** Runs `work` with the request's client behind the adapter. */
function withClient(
  path: string,
  work: (client: SupabaseClient, url: string) => Promise<unknown>,
): BackendAppSetup['after'] & object {
  return (host) => {
    host.get(path, (req, res, next) => {
      getSupabaseClient(req)
        .then((client) => work(client, req.url ?? ''))
        .then((result) => sendJson(res, { result }), next);
    });
  };
}

it('a response whose handler asked for the client varies on the cookie and is not public, signed in or not', async () => {
  await start({
    after: (host) =>
      host.get('/front', (req, res, next) => {
        getSupabaseClient(req).then(() => {
          res.setHeader('Cache-Control', 'public, max-age=600');
          sendText(res, 'front');
        }, next);
      }),
  });
  for (const visitor of [app.visitor(), await app.signedIn()]) {
    const { headers } = await visitor.get('/front');
    expect([headers['cache-control'], headers.vary]).toEqual(['private, max-age=600', 'Cookie']);
  }
});

describe('getSupabaseClient', () => {
  it('acts as the signed-in user, under row-level security', async () => {
    await start();
    app.supabase.addUser({ email: 'bob@example.com', password: 'long enough' });
    app.supabase.addNote(ada.email, 'of Ada');
    app.supabase.addNote('bob@example.com', 'of Bob');
    const visitor = await app.signedIn();
    expect((await visitor.getJson('/notes')).json.data).toMatchObject([{ body: 'of Ada' }]);
  });

  it('is anonymous without a session', async () => {
    await start();
    app.supabase.addNote(ada.email, 'of Ada');
    expect((await app.visitor().getJson('/notes')).json).toEqual({ data: [], error: null });
  });

  it('is created once per request, on first use', async () => {
    let same: boolean | undefined;
    await start({
      after: (host) =>
        host.get('/twice', (req, res, next) => {
          Promise.all([getSupabaseClient(req), getSupabaseClient(req)]).then(([one, other]) => {
            same = one === other;
            sendJson(res, {});
          }, next);
        }),
    });
    await (await app.signedIn()).getJson('/twice');
    expect(same).toBe(true);
  });

  it('uses the token that this request renewed, and renews none by itself', async () => {
    await start();
    app.supabase.addNote(ada.email, 'of Ada');
    const visitor = await app.signedIn({ ttl: -60 });
    const answer = await visitor.getJson('/notes');
    expect(answer.json.data).toMatchObject([{ body: 'of Ada' }]);
    expect(answer.setCookies).toHaveLength(1);
    expect(app.supabase.calls('refresh')).toBe(1);
    // Inside the margin in which the SDK would refresh on every request.
    const short = await app.signedIn({ ttl: 30 });
    expect((await short.getJson('/notes')).json.data).toHaveLength(1);
    expect(app.supabase.calls('refresh')).toBe(1);
  });

  it('rejects with the 503 if the token has expired and the backend is unreachable', async () => {
    await start();
    const visitor = await app.signedIn({ ttl: -60 });
    app.supabase.fail('refresh', 503);
    const answer = await visitor.getJson('/notes');
    expect([answer.status, answer.setCookies]).toEqual([503, []]);
  });

  it('includes the SDK’s auth, and stores the sessions that it saves', async () => {
    await start({
      after: withClient('/who', async (client) => {
        const { data } = await client.auth.getUser();
        return data.user?.email;
      }),
    });
    expect((await (await app.signedIn()).getJson('/who')).json).toEqual({ result: ada.email });
    await app.close();
    await start({ after: withClient('/out', async (client) => (await client.auth.signOut({ scope: 'local' })).error) });
    const visitor = await app.signedIn();
    const cookie = visitor.cookieHeader();
    expect((await visitor.getJson('/out')).json).toEqual({ result: null });
    expect(visitor.cookies.size).toBe(0);
    expect((await app.visitor().get('/auth/session', { headers: { cookie } })).status).toBe(401);
  });

  it.each([
    ['local', { scope: 'local' }, [401, 200, 200]],
    ['global', { scope: 'global' }, [401, 401, 200]],
    ['its default, global', undefined, [401, 401, 200]],
    ['others', { scope: 'others' }, [200, 401, 200]],
  ] as const)('ends here what signOut ends at the backend: %s', async (_what, options, expected) => {
    await start({ after: withClient('/out', async (client) => (await client.auth.signOut(options)).error) });
    app.supabase.addUser(grace);
    const [visitor, elsewhere, other] = [await app.signedIn(), await app.signedIn(), app.visitor()];
    await other.postJson('/auth/login', grace);
    app.clock.advance(1_000);
    const kept = visitor.cookieHeader();
    expect((await visitor.getJson('/out')).json).toEqual({ result: null });
    expect(visitor.cookies.size).toBe(expected[0] === 200 ? 1 : 0);
    const replayed = await app.visitor().get('/auth/session', { headers: { cookie: kept } });
    const statuses = [elsewhere, other].map(async (each) => (await each.getJson('/auth/session')).status);
    expect([replayed.status, ...(await Promise.all(statuses))]).toEqual(expected);
  });

  it.each([
    ['the backend fails', () => app.supabase.fail('logout', 500)],
    ['the coordinator is down', () => (coordinator.isDown = true)],
  ])('ends the others here, too, where %s', async (_what, fail) => {
    for (const scope of ['global', 'others'] as const) {
      coordinator.isDown = false;
      await start({
        options: { coordinator },
        after: withClient('/out', async (client) => (await client.auth.signOut({ scope })).error?.status),
      });
      const [visitor, elsewhere] = [await app.signedIn(), await app.signedIn()];
      app.clock.advance(1_000);
      fail();
      expect((await visitor.getJson('/out')).status).toBe(200);
      coordinator.isDown = false;
      expect((await elsewhere.getJson('/auth/session')).status).toBe(401);
      await app.close();
    }
    await start();
  });

  it('ends the sessions of no user whose token the backend would refuse', async () => {
    let token = '';
    await start({
      after: withClient('/out', async (client) => (await client.auth.admin.signOut(token, 'global')).error?.status),
    });
    const [ada, mallory] = [await app.signedIn(), await app.signedIn()];
    const { access_token } = await app.supabase.issueSession('ada@example.com');
    token = `${access_token.slice(0, access_token.lastIndexOf('.'))}.AAAA`;
    app.clock.advance(1_000);
    await mallory.getJson('/out');
    expect((await ada.getJson('/auth/session')).status).toBe(200);
  });

  it('stores a session that the SDK renewed on demand with the token’s own expiry', async () => {
    await start({ after: withClient('/renew', async (client) => (await client.auth.refreshSession()).error) });
    const visitor = await app.signedIn();
    expect((await visitor.getJson('/renew')).json).toEqual({ result: null });
    const stored = JSON.parse(
      Buffer.from(visitor.cookies.get(app.cookieName)!.slice('base64-'.length), 'base64url').toString(),
    );
    expect(stored.expires_at).toBe(Math.floor(app.clock.now() / 1000) + 3600);
    expect((await visitor.getJson('/auth/session')).status).toBe(200);
  });

  it('stores a session that the SDK merely changed with the token’s own expiry', async () => {
    const changed: typeof globalThis.fetch = async (input, init) =>
      init?.method === 'PUT' ? Response.json({ id: 'x', email: 'renamed@example.com' }) : fetch(input, init);
    await start({
      options: { fetch: changed },
      after: withClient('/rename', async (client) => (await client.auth.updateUser({ data: { name: 'A' } })).error),
    });
    const visitor = await app.signedIn();
    expect((await visitor.getJson('/rename')).json).toEqual({ result: null });
    const stored = JSON.parse(
      Buffer.from(visitor.cookies.get(app.cookieName)!.slice('base64-'.length), 'base64url').toString(),
    );
    expect(stored.user.email).toBe('renamed@example.com');
    expect(stored.expires_at).toBe(Math.floor(app.clock.now() / 1000) + 3600);
  });

  it('takes the user from the verified claims, not from the cookie, without a warning of the SDK', async () => {
    const warn = jest.spyOn(console, 'warn').mockImplementation(() => undefined);
    await start({
      after: withClient('/sdk', async (client) => {
        const { data } = await client.auth.getSession();
        return { ...data.session?.user };
      }),
    });
    app.supabase.setMetadata(ada.email, { name: 'Ada' });
    const issued = await app.supabase.issueSession(ada.email);
    const visitor = app.visitor();
    const forged = { id: 'admin', email: 'admin@example.com', app_metadata: { role: 'admin' }, factors: [] };
    setSession(visitor, { ...issued, user: forged });
    expect((await visitor.getJson('/sdk')).json.result).toEqual({
      id: issued.user.id,
      aud: 'authenticated',
      role: 'authenticated',
      email: ada.email,
      phone: '',
      app_metadata: { provider: 'email', providers: ['email'] },
      user_metadata: { name: 'Ada' },
      is_anonymous: false,
    });
    expect(warn.mock.calls).toEqual([]);
    warn.mockRestore();
  });

  it('never stores a session that the next request could not carry, and reports it once', async () => {
    await start({ after: withClient('/renew', async (client) => (await client.auth.refreshSession()).error) });
    const visitor = await app.signedIn();
    app.supabase.setMetadata(ada.email, { bio: 'x'.repeat(4_000) });
    expect((await visitor.getJson('/renew')).json).toEqual({ result: null });
    expect(visitor.cookieHeader().length).toBeLessThan(12 * 1024);
    expect((await visitor.getJson('/auth/session')).json.user.userMetadata.bio).toHaveLength(4_000);
    app.supabase.setMetadata(ada.email, { bio: 'x'.repeat(9_000) });
    expect((await visitor.getJson('/renew')).json).toEqual({ result: null });
    expect(visitor.cookieHeader()).toBe('');
    expect((await visitor.get('/')).status).toBe(200);
    expect(app.eventTypes().slice(1)).toEqual(['session_large', 'session_too_large']);
    expect(app.events.at(-1)).toMatchObject({ userId: app.supabase.users()[0]?.id });
  });

  it('reports a large session once for its tokens, however often the SDK changes it', async () => {
    const change = withClient('/change', async (client) => (await client.auth.updateUser({ data: { a: 1 } })).error);
    await start({ after: change });
    app.supabase.setMetadata(ada.email, { bio: 'x'.repeat(2_000) });
    const visitor = await app.signedIn();
    for (let count = 0; count < 2; count += 1)
      expect((await visitor.getJson('/change')).json).toEqual({ result: null });
    expect(app.eventTypes().filter((type) => type === 'session_large')).toHaveLength(1);
  });

  it('stores nothing for a session that was signed out during the request', async () => {
    let leave = (): Promise<unknown> => Promise.resolve();
    const changed: typeof globalThis.fetch = async (input, init) => {
      if (init?.method !== 'PUT') return fetch(input, init);
      await leave();
      return Response.json({ id: 'x', email: 'renamed@example.com' });
    };
    await start({
      options: { fetch: changed },
      after: withClient('/change', async (client) => (await client.auth.updateUser({ data: { a: 1 } })).error),
    });
    const visitor = await app.signedIn();
    const other = app.visitor();
    for (const [name, value] of visitor.cookies) other.cookies.set(name, value);
    leave = () => other.post('/auth/logout');
    const answer = await visitor.getJson('/change');
    expect([answer.json, answer.setCookies.filter((line) => !line.includes('Max-Age=0'))]).toEqual([
      { result: null },
      [],
    ]);
  });

  it('finds and stores the session under the name that the application gave its cookie', async () => {
    await start({
      options: { cookieName: 'own' },
      after: withClient('/renew', async (client) => (await client.auth.refreshSession()).error),
    });
    const visitor = await app.signedIn();
    expect((await visitor.getJson('/renew')).json).toEqual({ result: null });
    expect([...visitor.cookies.keys()]).toEqual(['own']);
  });

  it('never sees a session whose token is not genuine', async () => {
    await start({
      after: withClient('/sdk', async (client) => (await client.auth.getSession()).data.session),
    });
    const issued = await app.supabase.issueSession(ada.email);
    const [header, claims, signature = ''] = issued.access_token.split('.');
    const access_token = [header, claims, signature.split('').reverse().join('')].join('.');
    for (const name of [app.cookieName, `${app.cookieName}.0`]) {
      const visitor = app.visitor();
      setSession(visitor, { ...issued, access_token }, name);
      expect((await visitor.getJson('/sdk')).json).toEqual({ result: null });
    }
  });

  it('throws a clear error if no adapter was mounted', async () => {
    await start({
      before: (host) => host.get('/early', (req, _res, next) => getSupabaseClient(req).catch(next)),
    });
    const answer = await app.visitor().getJson('/early');
    expect(answer.json.thrown).toMatch(
      isExpress ? /; backendAuth\(\) is mounted after this handler/ : /; mount backendAuth\(\) with/,
    );
  });
});

describe('a sign-in that the application carries out with the client', () => {
  it('stores the session, also where there was none', async () => {
    await start({ after: withClient('/in', async (client) => (await client.auth.signInWithPassword(ada)).error) });
    const visitor = app.visitor();
    expect((await visitor.getJson('/in')).json).toEqual({ result: null });
    expect((await visitor.getJson('/auth/session')).json.user.email).toBe(ada.email);
  });

  it.each([
    ['Lax', { sameSite: 'lax' }],
    ['Lax', { sameSite: 'strict' }],
    ['None', { sameSite: 'none', secure: true }],
  ] as const)('keeps its verifier for ten minutes with SameSite=%s, and deletes it afterward', async (sent, given) => {
    await start({
      options: { cookieOptions: given },
      after: (host, auth) => {
        withClient('/begin', async (client) => {
          const redirectTo = `${app.origin}/finish`;
          return (await client.auth.signInWithOAuth({ provider: 'google', options: { redirectTo } })).data.url;
        })(host, auth);
        withClient('/finish', async (client, url) => {
          const code = new URL(url, app.origin).searchParams.get('code') ?? '';
          return (await client.auth.exchangeCodeForSession(code)).error;
        })(host, auth);
      },
    });
    const visitor = app.visitor();
    visitor.cookies.set('theme', 'dark');
    const begun = await visitor.getJson('/begin');
    expect(begun.setCookies.length).toBeGreaterThan(0);
    for (const line of begun.setCookies)
      expect(line).toMatch(new RegExp(`-code-verifier=base64-.*; Max-Age=600;.*; SameSite=${sent}$`));
    const back = await app.supabase.authorize(begun.json.result, { approve: true, user: ada.email });
    const finished = await visitor.getJson(back.pathname + back.search);
    expect(finished.json).toEqual({ result: null });
    expect(finished.setCookies).toContainEqual(
      expect.stringMatching(new RegExp(`-auth-token-code-verifier=; Max-Age=0;.*; SameSite=${sent}$`)),
    );
    expect(visitor.cookies.get('theme')).toBe('dark');
    expect((await visitor.getJson('/auth/session')).json.user.email).toBe(ada.email);
  });
});

describe('the client of a request with a bearer token', () => {
  const bearer = async (email: string): Promise<{ headers: Record<string, string> }> => ({
    headers: { authorization: `Bearer ${(await app.supabase.issueSession(email)).access_token}` },
  });

  it('acts as its user once a guard has accepted it, and as that of the cookie before', async () => {
    const bodies: unknown[] = [];
    const read: Handler = (req, _res, next) => {
      Promise.all([getSupabaseClient(req), getSupabaseClient(req)])
        .then(async ([client, same]) => {
          const { data } = await client.from('notes').select();
          bodies.push([client === same, data?.map(({ body }) => body)]);
        })
        .then(() => next(), next);
    };
    await start({
      after: (host) => {
        host.get('/both', read, requireSession({ credentials: ['bearer'] }), read, (_req, res) => sendJson(res, {}));
      },
    });
    app.supabase.addUser({ email: 'bob@example.com', password: 'long enough' });
    app.supabase.addNote(ada.email, 'of Ada');
    app.supabase.addNote('bob@example.com', 'of Bob');
    const answer = await (await app.signedIn()).get('/both', await bearer('bob@example.com'));
    expect([answer.status, answer.setCookies]).toEqual([200, []]);
    expect(bodies).toEqual([
      [true, ['of Ada']],
      [true, ['of Bob']],
    ]);
  });

  it('has no auth, because its session is not stored here', async () => {
    await start({
      after: (host) => {
        host.get('/auth-of', requireSession({ credentials: ['bearer'] }), (req, res, next) => {
          getSupabaseClient(req)
            .then((client) => client.auth.getUser())
            .then(() => sendJson(res, { error: 'none' }))
            .catch((error: unknown) => sendJson(res, { error: String(error) }))
            .catch(next);
        });
      },
    });
    expect((await app.visitor().get('/auth-of', await bearer(ada.email))).json.error).toContain('accessToken');
  });
});

describe('late writes', () => {
  it('never throw and never end the process, even for a forged cookie after the response', async () => {
    const rejections: unknown[] = [];
    const note = (reason: unknown): void => void rejections.push(reason);
    process.on('unhandledRejection', note);
    let late: Promise<unknown> = Promise.resolve();
    await start({
      after: (host) =>
        host.get('/late', (req, res) => {
          res.on('finish', () => {
            late = getSupabaseClient(req).then((client) => client.auth.signOut({ scope: 'local' }));
          });
          sendText(res, 'sent');
        }),
    });
    for (const value of ['base64-e30', 'base64-bnVsbA', 'x']) {
      const visitor = app.visitor();
      visitor.cookies.set(app.cookieName, value);
      expect((await visitor.get('/late')).text).toBe('sent');
      await late;
    }
    const visitor = await app.signedIn();
    expect((await visitor.get('/late')).text).toBe('sent');
    await late;
    await new Promise((resolve) => setImmediate(resolve));
    process.off('unhandledRejection', note);
    expect(rejections).toEqual([]);
    expect(app.eventTypes()).toContain('cookie_lost');
    expect((await app.visitor().get('/')).status).toBe(200);
  });

  it('do not start a refresh once the headers are sent', async () => {
    let session: unknown = 'not asked';
    let asked: Promise<unknown> = Promise.resolve();
    await start({
      after: (host) =>
        host.get('/late', (req, res) => {
          res.on('finish', () => {
            asked = getSession(req).then((found) => (session = found));
          });
          sendText(res, 'sent');
        }),
    });
    const visitor = await app.signedIn({ ttl: -60 });
    await visitor.get('/late');
    await asked;
    expect(session).toBeNull();
    expect(app.supabase.calls('refresh')).toBe(0);
    expect((await visitor.getJson('/auth/session')).status).toBe(200);
  });
});

describe('a plain createServerClient of @supabase/ssr beside it', () => {
  /** What a Next.js app would do with the same cookies. */
  function ssrClient(jar: Map<string, string>): SupabaseClient {
    const cookies: CookieMethodsServer = {
      getAll: () => [...jar].map(([name, value]) => ({ name, value })),
      setAll: (writes) => {
        for (const { name, value } of writes) {
          if (value === '') jar.delete(name);
          else jar.set(name, value);
        }
      },
    };
    const client: unknown = createServerClient(app.supabase.url, app.supabase.publishableKey, { cookies });
    return client as SupabaseClient;
  }

  it.each([0, 1500])('reads our cookies (%i bytes of metadata)', async (bytes) => {
    await start();
    const email = 'meta@example.com';
    app.supabase.addUser({ email, password: 'long enough', metadata: { bio: 'ü'.repeat(bytes / 2) } });
    const visitor = app.visitor();
    await visitor.postJson('/auth/login', { email, password: 'long enough' });
    const { data } = await ssrClient(visitor.cookies).auth.getUser();
    expect(data.user?.email).toBe(email);
  });

  it.each([0, 1500])('writes cookies that we read (%i bytes of metadata)', async (bytes) => {
    await start();
    const email = 'meta@example.com';
    app.supabase.addUser({ email, password: 'long enough', metadata: { bio: 'ü'.repeat(bytes / 2) } });
    const visitor = app.visitor();
    const client = ssrClient(visitor.cookies);
    const { error } = await client.auth.signInWithPassword({ email, password: 'long enough' });
    expect(error).toBeNull();
    expect((await visitor.getJson('/auth/session')).json.user.email).toBe(email);
  });

  it('continues with a session that we renewed', async () => {
    await start();
    const visitor = app.visitor();
    setSession(visitor, await app.supabase.issueSession(ada.email, { ttl: -60 }));
    await visitor.getJson('/auth/session');
    const { data } = await ssrClient(visitor.cookies).auth.getUser();
    expect(data.user?.email).toBe(ada.email);
    expect(app.supabase.calls('refresh')).toBe(1);
  });
});

it('works under bare node:http', async () => {
  await start();
  const { backendAuth } = await import('../../../lib/backend/index.ts');
  const router = backendAuth({ url: app.supabase.url, anonKey: app.supabase.publishableKey, now: app.clock.now });
  const server = http.createServer((req, res) => {
    router(req as never, res as never, () => void res.writeHead(404).end());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  const answer = await fetch(`http://127.0.0.1:${port}/auth/login`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(ada),
  });
  expect([answer.status, await answer.json()]).toEqual([200, { redirectTo: '/' }]);
  server.close();
  server.closeAllConnections();
});
