import { randomBytes } from 'node:crypto';
import { ada, encodeSession, startBackendApp } from '../support/backend-app.ts';
import type { BackendApp, BackendAppSetup } from '../support/backend-app.ts';
import type { Fault } from '../../stand-ins/supabase/stand-in.ts';

let app: BackendApp;
const start = async (setup?: BackendAppSetup): Promise<BackendApp> => (app = await startBackendApp(setup));
afterEach(() => app.close());

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

  it('ends a session within a minute after it ended elsewhere', async () => {
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
    'keeps the session when the project answers %s',
    async (fault) => {
      await start({ ...hs256, options: { timeoutMs: 1_000 } });
      const visitor = await app.signedIn();
      app.clock.advance(61_000);
      app.supabase.fail('user', fault);
      const answer = await visitor.getJson('/auth/session');
      expect([answer.status, answer.setCookies]).toEqual([503, []]);
      app.supabase.heal();
      expect((await visitor.getJson('/auth/session')).status).toBe(200);
    },
  );

  it('is not asked about malformed tokens, nor twice about the same invalid one', async () => {
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
