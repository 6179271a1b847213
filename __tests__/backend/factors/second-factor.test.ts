import { requireSession } from '../../../lib/backend/index.ts';
import { startBackendApp } from '../../support/backend-app.ts';
import type { BackendApp } from '../../support/backend-app.ts';
import { sendText } from '../../support/hosts.ts';

let app: BackendApp;
beforeAll(async () => {
  app = await startBackendApp({
    after: (host) => {
      host.get('/vault', requireSession({ aal: 'aal2' }), (_req, res) => sendText(res, 'vault'));
      host.get('/enrolled', requireSession({ aal: 'enrolled' }), (_req, res) => sendText(res, 'enrolled'));
      host.get('/staff', requireSession({ aal: 'aal2', check: () => false }), (_req, res) => sendText(res, 'staff'));
    },
  });
});
afterAll(() => app.close());

describe('a guard that asks for a second factor', () => {
  it('tells a client so with its own error code', async () => {
    const visitor = await app.signedIn();
    const answer = await visitor.getJson('/vault');
    expect([answer.status, answer.json.error.code]).toEqual([403, 'second_factor_required']);
    expect(answer.json.redirectTo).toBe('/auth/enroll');
  });

  it('redirects a document to add a factor, or to give the existing one, and then lets it pass', async () => {
    const grace = { email: 'grace@example.com', password: 'nanoseconds of wire' };
    app.supabase.addUser(grace);
    const visitor = app.visitor();
    await visitor.postJson('/auth/login', grace);
    const first = await visitor.get('/vault?tab=1');
    expect([first.status, first.headers.location]).toEqual([307, '/auth/enroll?returnTo=%2Fvault%3Ftab%3D1']);
    expect((await visitor.get(first.headers.location!)).status).toBe(200);
    const factor = app.supabase.addFactor(grace.email);
    app.clock.advance(61_000);
    const second = await visitor.get('/vault?tab=1');
    expect([second.status, second.headers.location]).toEqual([307, '/auth/verify?returnTo=%2Fvault%3Ftab%3D1']);
    const code = app.supabase.codeOf(factor);
    const given = await visitor.postJson(second.headers.location!, { code, returnTo: '/vault?tab=1' });
    expect(given.json).toEqual({ redirectTo: '/vault?tab=1' });
    expect((await visitor.get('/vault?tab=1')).text).toBe('vault');
  });

  it('asks the backend once per access token and minute', async () => {
    const visitor = await app.signedIn();
    const before = app.supabase.calls('user');
    await Promise.all(Array.from({ length: 20 }, () => visitor.get('/enrolled')));
    expect(app.supabase.calls('user') - before).toBe(1);
    app.clock.advance(61_000);
    await visitor.get('/enrolled');
    expect(app.supabase.calls('user') - before).toBe(2);
  });

  it('asks enrolled users for it, and lets the others pass', async () => {
    const lise = { email: 'lise@example.com', password: 'protactinium' };
    app.supabase.addUser(lise);
    const visitor = app.visitor();
    await visitor.postJson('/auth/login', lise);
    expect((await visitor.get('/enrolled')).text).toBe('enrolled');
    app.supabase.addFactor(lise.email);
    app.clock.advance(61_000);
    expect((await visitor.getJson('/enrolled')).json).toMatchObject({
      error: { code: 'second_factor_required' },
      redirectTo: '/auth/verify',
    });
  });

  it('answers 503 if only the unreachable backend knows, and keeps the session', async () => {
    const visitor = await app.signedIn();
    app.supabase.fail('user', 503);
    expect((await visitor.getJson('/enrolled')).status).toBe(503);
    app.supabase.heal();
    expect((await visitor.get('/enrolled')).text).toBe('enrolled');
  });

  it('treats a session that the backend has ended as none', async () => {
    const emmy = { email: 'emmy@example.com', password: 'symmetries of nature' };
    app.supabase.addUser(emmy);
    const visitor = app.visitor();
    await visitor.postJson('/auth/login', emmy);
    for (const { id } of app.supabase.sessionsOf(emmy.email)) app.supabase.revokeSession(id);
    const answer = await visitor.getJson('/enrolled');
    expect([answer.status, answer.json.error.code]).toEqual([401, 'unauthenticated']);
  });

  it('lets a session with one pass, and keeps "forbidden" for errors that a second factor does not fix', async () => {
    const visitor = await app.signedIn({ claims: { aal: 'aal2' } });
    expect((await visitor.get('/vault')).text).toBe('vault');
    expect((await visitor.getJson('/staff')).json.error.code).toBe('forbidden');
  });
});
