// Tokens that Supabase's OAuth server issued to other applications.
import { requireSession } from '../../../lib/backend/index.ts';
import { ada, setSession, startBackendApp } from '../../support/backend-app.ts';
import type { BackendApp } from '../../support/backend-app.ts';
import { sendText } from '../../support/hosts.ts';

const client = '5b1a7f0e-0000-4000-8000-000000000001';
let app: BackendApp;
beforeEach(async () => {
  app = await startBackendApp({
    after: (host) => {
      host.all('/api/any', requireSession({ adapter: 'backend', credentials: ['cookie', 'bearer'] }));
      host.all('/api/any', (_req, res) => sendText(res, 'any'));
      host.all('/api/listed', requireSession({ adapter: 'backend', credentials: ['bearer'], clients: [client] }));
      host.all('/api/listed', (_req, res) => sendText(res, 'listed'));
    },
  });
});
afterEach(() => app.close());

const issue = (claims: Record<string, unknown> = { client_id: client }) =>
  app.supabase.issueSession(ada.email, { claims: { ...claims } });

it.each([client, 'other', '', 7, true, {}])(
  'are never a session in a cookie, whatever client_id says: %j',
  async (value) => {
    const visitor = app.visitor();
    setSession(visitor, await issue({ client_id: value }));
    expect((await visitor.getJson('/auth/session')).status).toBe(401);
    expect((await visitor.getJson('/whoami')).json).toEqual({ user: null });
    expect((await visitor.get('/account')).status).toBe(307);
    expect((await visitor.getJson('/api/any')).status).toBe(401);
    expect(app.events).toContainEqual({ type: 'session_rejected', adapter: 'backend', reason: 'client' });
  },
);

it('are not refreshed when they have expired', async () => {
  const visitor = app.visitor();
  setSession(visitor, await app.supabase.issueSession(ada.email, { ttl: -60, claims: { client_id: client } }));
  expect((await visitor.getJson('/auth/session')).status).toBe(401);
  expect(app.supabase.calls('refresh')).toBe(0);
});

it('hide no session of the application beside them', async () => {
  const visitor = app.visitor();
  setSession(visitor, await issue());
  const foreign = visitor.cookieHeader();
  const own = await app.signedIn();
  const cookie = `${foreign}; ${own.cookieHeader()}`;
  const answer = await app.visitor().get('/auth/session', { headers: { cookie, accept: 'application/json' } });
  expect(answer.json.user.email).toBe(ada.email);
});

it('are a bearer session only if the guard lists their client', async () => {
  const bearer = async (url: string, claims: Record<string, unknown>) => {
    const { access_token: token } = await issue(claims);
    return app.visitor().get(url, { headers: { authorization: `Bearer ${token}` } });
  };
  expect((await bearer('/api/listed', { client_id: client })).text).toBe('listed');
  expect((await bearer('/api/listed', { client_id: 'other' })).status).toBe(401);
  expect((await bearer('/api/any', { client_id: client })).status).toBe(401);
  expect((await bearer('/api/any', {})).text).toBe('any');
});
