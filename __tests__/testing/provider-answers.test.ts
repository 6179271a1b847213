// What the kits' providers answer beyond signing in: asked by the SDKs in an application's own code.
import express from 'express';
import request from 'supertest';
import { b2bAuth, currentSession, requireSession } from '../../lib/b2b/index.ts';
import { backendAuth, getSupabaseClient } from '../../lib/backend/index.ts';
import { createB2bTestKit, createBackendTestKit } from '../../lib/testing/index.ts';

function createBackendApp(kit: ReturnType<typeof createBackendTestKit>): express.Express {
  const app = express();
  app.use(backendAuth(kit.options));
  app.get('/me', (req, res, next) => {
    getSupabaseClient(req)
      .then((client) => client.auth.getUser())
      .then(({ data, error }) => res.json({ email: data.user?.email ?? null, error: error?.name ?? null }))
      .catch(next);
  });
  return app;
}

describe('the backend’s kit', () => {
  it('returns the user whose token it issued', async () => {
    const kit = createBackendTestKit();
    const agent = await kit.signIn(request.agent(createBackendApp(kit)), { user: { email: 'ada@example.com' } });
    expect((await agent.get('/me').expect(200)).body).toEqual({ email: 'ada@example.com', error: null });
  });

  it('returns no user once sessions are revoked', async () => {
    const kit = createBackendTestKit();
    const agent = await kit.signIn(request.agent(createBackendApp(kit)));
    kit.simulate('revoking');
    expect((await agent.get('/me').expect(200)).body).toEqual({ email: null, error: 'AuthSessionMissingError' });
  });

  it('uses the given clock', async () => {
    let at = Date.UTC(2030, 0, 1);
    const kit = createBackendTestKit({ now: () => at });
    const agent = await kit.signIn(request.agent(createBackendApp(kit)));
    expect((await agent.get('/auth/session').expect(200)).headers['set-cookie']).toBeUndefined();
    at += 2 * 3_600_000;
    expect((await agent.get('/auth/session').expect(200)).headers['set-cookie']).toBeDefined();
  });
});

it('the B2B kit’s hosted page signs in to an organization, and as another user', async () => {
  const kit = createB2bTestKit();
  const app = express();
  app.use(b2bAuth(kit.options));
  app.get('/me', requireSession(), (req, res) => {
    const { organizationId, impersonator } = currentSession(req, 'b2b');
    res.json({ organizationId, impersonator });
  });
  const agent = request.agent(app);
  const start = await agent.get('/login').expect(302);
  const impersonator = { email: 'support@example.com', reason: 'asked to' };
  await agent
    .get(kit.authorize(start.headers['location'] ?? '', { organizationId: 'org_1', impersonator }))
    .expect(303);
  expect((await agent.get('/me').expect(200)).body).toEqual({ organizationId: 'org_1', impersonator });
});
