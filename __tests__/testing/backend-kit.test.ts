import { jest } from '@jest/globals';
import express from 'express';
import request from 'supertest';
import {
  backendAuth,
  currentSession,
  getSupabaseClient,
  requireSession,
  storeSession,
} from '../../lib/backend/index.ts';
import type { BackendAuthOptions } from '../../lib/backend/index.ts';
import { createBackendTestKit } from '../../lib/testing/index.ts';
import { withNodeEnv } from '../support/node-env.ts';

/** An application as users write it: options come in from outside. */
function createApp(auth: BackendAuthOptions): express.Express {
  const app = express();
  app.use(backendAuth({ protectedRoutes: '/account(.*)', ...auth }));
  app.get('/account', (req, res) => void res.send(currentSession(req, 'backend').user.email));
  app.get('/vault', requireSession({ adapter: 'backend', aal: 'aal2' }), (_req, res) => void res.send('vault'));
  app.get('/fresh', requireSession({ maxAge: 300 }), (_req, res) => void res.send('fresh'));
  app.get('/notes', requireSession(), (req, res, next) => {
    (async () => {
      const client = await getSupabaseClient(req);
      const { data, error } = await client.from('notes').select();
      res.json({ data, error });
    })().catch(next);
  });
  return app;
}

const ada = { user: { email: 'ada@example.com' } };

it('creates a signed-in agent in two lines', async () => {
  const kit = createBackendTestKit();
  const agent = await kit.signIn(request.agent(createApp(kit.options)), ada);

  await agent.get('/account').expect(200, 'ada@example.com');
  const { body } = await agent.get('/auth/session').expect(200);
  expect(body).toMatchObject({ authenticated: true, user: { email: 'ada@example.com', role: 'authenticated' } });
  expect(body.user.id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-8[0-9a-f]{3}-[0-9a-f]{12}$/);
});

it('leaves all others signed out', async () => {
  const kit = createBackendTestKit();
  await request(createApp(kit.options)).get('/account').expect('Location', '/auth/login?returnTo=%2Faccount');
});

it('supports additional claims, metadata and anonymous users', async () => {
  const kit = createBackendTestKit();
  const agent = request.agent(createApp(kit.options));
  await kit.signIn(agent);
  await agent.get('/vault').expect('Location', '/auth/enroll?returnTo=%2Fvault');
  await kit.signIn(agent, {
    user: { email: null, isAnonymous: true, userMetadata: { theme: 'dark' } },
    claims: { aal: 'aal2' },
  });
  await agent.get('/vault').expect(200, 'vault');
  expect((await agent.get('/auth/session')).body.user).toMatchObject({
    email: null,
    isAnonymous: true,
    userMetadata: { theme: 'dark' },
  });
});

it('creates an agent that must choose a new password', async () => {
  const kit = createBackendTestKit();
  const agent = await kit.signIn(request.agent(createApp(kit.options)), { ...ada, pending: 'recovery' });
  await agent.get('/auth/session').expect(401);
  await agent.post('/auth/password').send({ password: 'a whole new password' }).expect(200, { redirectTo: '/' });
  await agent.get('/account').expect(200, 'ada@example.com');
});

it('creates an agent that signed in some time ago', async () => {
  const kit = createBackendTestKit();
  const app = createApp(kit.options);
  const [fresh, stale] = [request.agent(app), request.agent(app)];
  await kit.signIn(fresh, ada);
  await kit.signIn(stale, { ...ada, signedInAgo: 3_600 });
  await fresh.get('/fresh').expect(200, 'fresh');
  expect((await stale.get('/fresh')).status).toBe(307);
});

it('renews an expired session, and the agent keeps the new cookies', async () => {
  const kit = createBackendTestKit();
  const agent = await kit.signIn(request.agent(createApp(kit.options)), { ...ada, expired: true });
  expect((await agent.get('/auth/session').expect(200)).headers['set-cookie']).toHaveLength(1);
  expect((await agent.get('/auth/session').expect(200)).headers['set-cookie']).toBeUndefined();
});

it('ends a session that the project refuses to renew', async () => {
  const kit = createBackendTestKit();
  const agent = await kit.signIn(request.agent(createApp(kit.options)), { expired: true });
  kit.simulate('revoking');
  await agent.get('/auth/session').expect(401);
});

it('answers 503 for an expired session during an outage of the project', async () => {
  const kit = createBackendTestKit();
  const agent = await kit.signIn(request.agent(createApp(kit.options)), { expired: true });
  kit.simulate('down');
  await agent.get('/auth/session').expect(503);
});

it('signs out permanently', async () => {
  const kit = createBackendTestKit();
  const agent = await kit.signIn(request.agent(createApp(kit.options)));
  await agent.get('/account').expect(200);
  await agent.post('/auth/logout').expect(303);
  await agent.get('/auth/session').expect(401);
});

it('replaces a large session by a small one, and a small one by a large one', async () => {
  const kit = createBackendTestKit();
  const agent = request.agent(createApp(kit.options));
  const bio = 'x'.repeat(3000);
  const readBio = async (): Promise<unknown> =>
    (await agent.get('/auth/session').expect(200)).body.user.userMetadata.bio;
  await kit.signIn(agent, ada);
  await kit.signIn(agent, { user: { userMetadata: { bio } } });
  expect(await readBio()).toBe(bio);
  await kit.signIn(agent, ada);
  expect(await readBio()).toBeUndefined();
});

it('lets the test answer the application’s database queries, as the signed-in user', async () => {
  const asked: (string | null)[] = [];
  const kit = createBackendTestKit({
    fetch: (input, init) => {
      const { url, headers } = new Request(input, init);
      asked.push(new URL(url).pathname, headers.get('authorization'));
      return Promise.resolve(Response.json([{ id: 1 }]));
    },
  });
  const agent = await kit.signIn(request.agent(createApp(kit.options)), ada);
  expect((await agent.get('/notes').expect(200)).body).toEqual({ data: [{ id: 1 }], error: null });
  expect(asked).toEqual(['/rest/v1/notes', expect.stringMatching(/^Bearer ey/)]);
});

it('reports a call that has no answer', async () => {
  const warn = jest.spyOn(process, 'emitWarning').mockReturnValue(undefined);
  const kit = createBackendTestKit();
  const agent = await kit.signIn(request.agent(createApp(kit.options)), ada);
  const { body } = await agent.get('/notes').expect(200);
  const explanation = expect.stringContaining('no answer to GET https://project.supabase.test/rest/v1/notes');
  expect(body.error.message).toEqual(explanation);
  expect(warn.mock.calls[0]?.[0]).toEqual(explanation);
  warn.mockRestore();
});

it('uses the options that the application sets itself', async () => {
  const fixed = { url: 'https://mine.example/base', cookieName: 'mine' };
  const kit = createBackendTestKit(fixed);
  expect(await kit.cookie()).toMatch(/^mine=base64-/);
  const agent = await kit.signIn(request.agent(createApp({ ...kit.options, ...fixed })));
  await agent.get('/account').expect(200);
});

it('throws on creation and use with NODE_ENV=production', async () => {
  const kit = createBackendTestKit();
  await withNodeEnv('production', async () => {
    expect(() => createBackendTestKit()).toThrow(/refuses to run with NODE_ENV=production/);
    await expect(kit.cookie()).rejects.toThrow(/NODE_ENV=production/);
    await expect(kit.signIn(request.agent(express()))).rejects.toThrow(/NODE_ENV=production/);
    await expect(kit.options.fetch?.('https://project.supabase.test/auth/v1/user')).rejects.toThrow(/NODE_ENV=/);
  });
});

it('lets accept decide about its sessions', async () => {
  const kit = createBackendTestKit();
  const app = createApp({ ...kit.options, accept: ({ user }) => user.email === ada.user.email });
  await (await kit.signIn(request.agent(app), ada)).get('/account').expect(200);
  await (await kit.signIn(request.agent(app), { user: { email: 'eve@other.example' } })).get('/account').expect(403);
});

describe('kit.tokens', () => {
  function createOwnApp(auth: BackendAuthOptions): express.Express {
    const app = express();
    const adapter = backendAuth(auth);
    app.use(adapter, express.json());
    app.post('/mobile/session', (req, res, next) => {
      storeSession(adapter, req, res, req.body, { returnTo: req.body.returnTo }).then(
        (answer) => res.json(answer),
        next,
      );
    });
    return app;
  }

  it('are stored by an application’s own route', async () => {
    const kit = createBackendTestKit();
    const agent = request.agent(createOwnApp(kit.options));
    const tokens = await kit.tokens(ada);
    expect(Object.keys(tokens)).toEqual(['access_token', 'refresh_token']);
    await agent
      .post('/mobile/session')
      .send({ ...tokens, returnTo: '/inbox' })
      .expect(200, { redirectTo: '/inbox' });
    expect((await agent.get('/auth/session')).body.user.email).toBe(ada.user.email);
  });

  it('lead to the second factor, and are refused if they have expired', async () => {
    const kit = createBackendTestKit();
    const agent = request.agent(createOwnApp(kit.options));
    const pending = await kit.tokens({ ...ada, pending: 'factor' });
    await agent.post('/mobile/session').send(pending).expect(200, { redirectTo: '/auth/verify' });
    await agent.get('/auth/session').expect(401);
    await agent.post('/auth/verify').send({ code: kit.code }).expect(200);
    await agent.get('/auth/session').expect(200);
    await agent
      .post('/mobile/session')
      .send(await kit.tokens({ expired: true }))
      .expect(422);
    await agent.get('/auth/session').expect(200);
  });

  it('are not made in production', async () => {
    const kit = createBackendTestKit();
    await withNodeEnv('production', () => expect(kit.tokens()).rejects.toThrow('NODE_ENV=production'));
  });
});
