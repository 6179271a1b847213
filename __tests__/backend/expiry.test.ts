import { getSupabaseClient } from '../../lib/backend/index.ts';
import { startBackendApp } from '../support/backend-app.ts';
import type { BackendApp, BackendAppSetup } from '../support/backend-app.ts';
import { sendJson } from '../support/hosts.ts';

let app: BackendApp;
const start = async (setup?: BackendAppSetup): Promise<BackendApp> => (app = await startBackendApp(setup));
afterEach(() => app.close());

/** An application whose clock is slow, so that it treats expired tokens as valid. */
const withLateClock = { options: { now: () => app.clock.now() - 30_000 } };

/** Tries the refresh token of a visitor's cookie. */
async function tryRefreshToken(cookie: string): Promise<unknown> {
  const session = JSON.parse(Buffer.from(cookie.slice('base64-'.length), 'base64url').toString());
  const response = await fetch(`${app.supabase.url}/auth/v1/token?grant_type=refresh_token`, {
    method: 'POST',
    headers: { apikey: app.supabase.publishableKey, 'content-type': 'application/json' },
    body: JSON.stringify({ refresh_token: session.refresh_token }),
  });
  return response.status;
}

describe('a project with a shared secret that verifies a token', () => {
  const hs256 = { algorithm: 'HS256' as const, accessTokenTtl: 90 };

  it.each([-8, 0, 1, 4])('renews one that expired %d s ago instead of asking the project', async (seconds) => {
    await start({ standIn: hs256 });
    const visitor = await app.signedIn();
    app.clock.advance((90 + seconds) * 1000);
    app.supabase.requests.length = 0;
    expect((await visitor.getJson('/auth/session')).status).toBe(200);
    expect(app.supabase.requests.map(({ endpoint }) => endpoint)).toEqual(['refresh', 'user']);
  });

  it('keeps the session if the clock here is slow', async () => {
    await start({ standIn: hs256, ...withLateClock });
    const visitor = await app.signedIn();
    app.clock.advance(91_000);
    expect((await visitor.getJson('/auth/session')).status).toBe(200);
    expect(app.eventTypes()).not.toContain('session_rejected');
  });
});

describe('signing out', () => {
  it.each([-8, 1, 4])('with a token that expired %d s ago ends the session at the backend', async (seconds) => {
    await start({ standIn: { accessTokenTtl: 600 } });
    const visitor = await app.signedIn();
    const cookie = visitor.cookies.get(app.cookieName) ?? '';
    app.clock.advance((600 + seconds) * 1000);
    expect((await visitor.post('/auth/logout')).status).toBe(303);
    expect(await tryRefreshToken(cookie)).toBe(400);
    expect(app.events.at(-1)).toMatchObject({ type: 'signed_out', userId: expect.any(String) });
  });

  it('ends the session at the backend even if the clock here is slow', async () => {
    await start({ standIn: { accessTokenTtl: 600 }, ...withLateClock });
    const visitor = await app.signedIn();
    const cookie = visitor.cookies.get(app.cookieName) ?? '';
    app.clock.advance(601_000);
    await visitor.post('/auth/logout');
    expect(await tryRefreshToken(cookie)).toBe(400);
  });
});

describe('the request’s own client', () => {
  it.each([-8, 1, 4])('gets a new token in place of one that expired %d s ago', async (seconds) => {
    await start({
      standIn: { accessTokenTtl: 600 },
      options: { refreshWindow: 0 },
      after: (host) =>
        host.get('/user', (req, res, next) => {
          getSupabaseClient(req)
            .then((client) => client.auth.getUser())
            .then(({ error }) => sendJson(res, { error: error?.code ?? null }), next);
        }),
    });
    const visitor = await app.signedIn();
    await visitor.getJson('/auth/session');
    app.clock.advance((600 + seconds) * 1000);
    expect((await visitor.getJson('/user')).json).toEqual({ error: null });
  });
});
