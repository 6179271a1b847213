import { ada, setSession, startBackendApp } from '../support/backend-app.ts';
import type { BackendApp, BackendAppSetup } from '../support/backend-app.ts';
import type { Fault } from '../../stand-ins/supabase/stand-in.ts';
import { until } from '../support/until.ts';

let app: BackendApp;
const start = async (setup?: BackendAppSetup): Promise<BackendApp> => (app = await startBackendApp(setup));
afterEach(() => app.close());

const minutes = 60_000;

describe('an expired token', () => {
  it('is renewed once, however many requests carry it', async () => {
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

  it('ends the session on the OAuth code for a refresh token of another application', async () => {
    await start();
    const foreign = await app.supabase.issueSession(ada.email, {
      claims: { client_id: 'client_of_another_application' },
    });
    const own = await app.supabase.issueSession(ada.email, { ttl: -60 });
    const visitor = app.visitor();
    setSession(visitor, { ...own, refresh_token: foreign.refresh_token });
    expect((await visitor.getJson('/auth/session')).status).toBe(401);
    expect(visitor.cookies.size).toBe(0);
    expect(app.events).toContainEqual(expect.objectContaining({ type: 'session_ended', reason: 'invalid_client' }));
  });

  it('ends by a refusal of the project’s hook only when it has been over for ten minutes', async () => {
    await start();
    const visitor = await app.signedIn();
    app.supabase.fail('refresh', { status: 403, code: 'unknown' });
    app.clock.advance(60 * minutes - 5_000);
    expect((await visitor.getJson('/auth/session')).status).toBe(200);
    app.clock.advance(9 * minutes);
    expect([(await visitor.getJson('/auth/session')).status, visitor.cookies.size]).toEqual([503, 1]);
    app.clock.advance(2 * minutes);
    expect([(await visitor.getJson('/auth/session')).status, visitor.cookies.size]).toEqual([401, 0]);
    expect(app.events).toContainEqual(expect.objectContaining({ type: 'session_ended', reason: 'unknown' }));
  });

  it.each([
    [400, 'unknown'],
    [403, 'a_code_of_tomorrow'],
    [403, 'user_banned'],
  ])('ends at once by any other refusal (%i %s)', async (status, code) => {
    await start();
    const visitor = await app.signedIn();
    app.supabase.fail('refresh', { status, code });
    app.clock.advance(61 * minutes);
    expect([(await visitor.getJson('/auth/session')).status, visitor.cookies.size]).toEqual([401, 0]);
  });

  it.each<Fault>([401, 403, 404, 408, 429, 500, 503, 'html502', 'refuse', 'reset', 'hang'])(
    'keeps the session when the backend answers %s',
    async (fault) => {
      // Like GoTrue: a token whose successor never arrived is accepted once more.
      await start({ options: { timeoutMs: 1_000 }, standIn: { reuse: 'parent' } });
      const visitor = await app.signedIn();
      await visitor.getJson('/auth/session');
      app.clock.advance(61 * minutes);
      app.supabase.fail('refresh', fault);
      const before = visitor.cookieHeader();
      const paths = ['/auth/session', '/api/me', '/account', '/notes'];
      for (const path of fault === 'hang' ? paths.slice(0, 1) : paths) {
        const answer = await visitor.getJson(path);
        expect([path, answer.status, answer.setCookies]).toEqual([path, 503, []]);
      }
      expect(visitor.cookieHeader()).toBe(before);
      // A request that joins a refresh just before its time limit fails with it.
      await until(() => app.eventTypes().includes('refresh_failed'));
      app.supabase.heal();
      app.clock.advance(10_000);
      expect((await visitor.getJson('/auth/session')).status).toBe(200);
    },
  );

  it('keeps the session when a captive portal answers 200 with a page of its own', async () => {
    let isCaptive = false;
    let pages = 0;
    const captured: typeof globalThis.fetch = async (input, init) => {
      const url = input instanceof Request ? input.url : input.toString();
      if (!isCaptive || !url.includes('/token')) return fetch(input, init);
      pages += 1;
      return new Response('<h1>Welcome to the hotel</h1>');
    };
    await start({ options: { fetch: captured, timeoutMs: 1_000 } });
    const visitor = await app.signedIn();
    await visitor.getJson('/auth/session');
    app.clock.advance(61 * minutes);
    isCaptive = true;
    const answer = await visitor.getJson('/auth/session');
    expect([answer.status, answer.setCookies]).toEqual([503, []]);
    expect(pages).toBe(1);
  });

  it('is renewed even if the answer to the first try was lost', async () => {
    await start({ standIn: { reuse: 'parent' } });
    const visitor = await app.signedIn();
    app.clock.advance(61 * minutes);
    app.supabase.fail('refresh', 'lost', 1);
    expect((await visitor.getJson('/auth/session')).status).toBe(200);
    expect(app.supabase.calls('refresh')).toBe(2);
  });

  it('is refreshed with one call, whatever the SDK would retry', async () => {
    await start({ options: { timeoutMs: 1_000 } });
    const visitor = await app.signedIn();
    await visitor.getJson('/auth/session');
    app.clock.advance(61 * minutes);
    app.supabase.fail('refresh', 503);
    await visitor.getJson('/auth/session');
    expect(app.supabase.calls('refresh')).toBe(1);
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
  ])('whose refresh token is %s ends the session, and clears the cookie once', async (_what, token) => {
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
