import { jest } from '@jest/globals';
import express from 'express';
import request from 'supertest';
import { b2bAuth, currentSession, requireSession, storeSession } from '../../lib/b2b/index.ts';
import type { B2bAuthOptions } from '../../lib/b2b/index.ts';
import { createB2bTestKit } from '../../lib/testing/index.ts';
import type { B2bTestSession } from '../../lib/testing/index.ts';
import { withNodeEnv } from '../support/node-env.ts';

/** An application as users write it: options come in from outside. */
function createApp(auth: B2bAuthOptions): express.Express {
  const app = express();
  app.use(b2bAuth({ protectedRoutes: '/dashboard(.*)', ...auth }));
  app.get('/dashboard', (req, res) => void res.send(currentSession(req, 'b2b').user.email));
  app.get('/claims', requireSession(), (req, res) => void res.json(currentSession(req, 'b2b').claims));
  return app;
}

const ada = { user: { email: 'ada@example.com', firstName: 'Ada' } };

it('creates a signed-in agent in two lines', async () => {
  const kit = createB2bTestKit();
  const agent = await kit.signIn(request.agent(createApp(kit.options)), ada);

  await agent.get('/dashboard').expect(200, 'ada@example.com');
  const { body } = await agent.get('/auth/session').expect(200);
  expect(body).toMatchObject({
    authenticated: true,
    user: { email: 'ada@example.com', firstName: 'Ada', lastName: null },
  });
});

it('leaves all others signed out', async () => {
  const kit = createB2bTestKit();
  await request(createApp(kit.options)).get('/dashboard').expect(307);
});

it('creates one user per email address', async () => {
  const kit = createB2bTestKit();
  const app = createApp(kit.options);
  const idOf = async (email: string): Promise<unknown> => {
    const cookie = await kit.cookie({ user: { email } });
    return (await request(app).get('/auth/session').set('Cookie', cookie).expect(200)).body.user.id;
  };
  const id = await idOf('ada@example.com');
  expect(await idOf('ada@example.com')).toBe(id);
  expect(await idOf('grace@example.com')).not.toBe(id);
});

it('supports the organization, the impersonator and additional claims', async () => {
  const kit = createB2bTestKit();
  const agent = await kit.signIn(request.agent(createApp(kit.options)), {
    organizationId: 'org_1',
    claims: { role: 'admin' },
    impersonator: { email: 'staff@example.com', reason: null },
  });
  expect((await agent.get('/claims')).body).toMatchObject({ org_id: 'org_1', role: 'admin' });
  expect((await agent.get('/auth/session')).body.organizationId).toBe('org_1');
});

it('renews an expired session as the same session, and the agent keeps the new cookies', async () => {
  const kit = createB2bTestKit();
  const agent = await kit.signIn(request.agent(createApp(kit.options)), {
    ...ada,
    sessionId: 'session_1',
    expired: true,
  });

  const first = await agent.get('/auth/session').expect(200);
  expect(first.headers['set-cookie']).toHaveLength(1);
  expect(first.body.sessionId).toBe('session_1');
  const second = await agent.get('/auth/session').expect(200);
  expect(second.headers['set-cookie']).toBeUndefined();
});

it('ends a session that the provider refuses to renew', async () => {
  const kit = createB2bTestKit();
  const agent = await kit.signIn(request.agent(createApp(kit.options)), { expired: true });
  kit.simulate('revoking');
  await agent.get('/auth/session').expect(401);
});

it('answers 503 for an expired session during an outage of the provider, and keeps it', async () => {
  const kit = createB2bTestKit();
  const clock = { now: Date.now() };
  const agent = await kit.signIn(request.agent(createApp({ ...kit.options, now: () => clock.now })), { expired: true });
  kit.simulate('down');
  await agent.get('/dashboard').expect(503);
  kit.simulate('working');
  clock.now += 60_000;
  await agent.get('/dashboard').expect(200);
});

it('signs out permanently', async () => {
  const kit = createB2bTestKit();
  const agent = await kit.signIn(request.agent(createApp(kit.options)));
  await agent.get('/dashboard').expect(200);
  await agent.post('/logout').expect(303);
  await agent.get('/dashboard').expect(307);
});

it('replaces the existing session', async () => {
  const kit = createB2bTestKit();
  const agent = request.agent(createApp(kit.options));
  await kit.signIn(agent, ada);
  await agent.get('/dashboard').expect(200, 'ada@example.com');
  await kit.signIn(agent, { user: { email: 'grace@example.com' } });
  await agent.get('/dashboard').expect(200, 'grace@example.com');
});

it('leaves nothing of the previous session behind, whichever of the two needs several cookies', async () => {
  const kit = createB2bTestKit();
  const agent = request.agent(createApp(kit.options));
  const permissions = Array.from({ length: 200 }, (_, n) => `permission:${n}`);
  const readPermissions = async (): Promise<unknown> => (await agent.get('/claims').expect(200)).body.permissions;

  await kit.signIn(agent, ada);
  await kit.signIn(agent, { claims: { permissions } });
  expect(await readPermissions()).toEqual(permissions);
  await kit.signIn(agent, ada);
  expect(await readPermissions()).toBeUndefined();
  await agent.post('/logout').expect(303);
  await agent.get('/dashboard').expect(307);
});

it('simulates the hosted page, so that a whole sign-in runs with its hook', async () => {
  const kit = createB2bTestKit();
  const seen: string[] = [];
  const app = createApp({
    ...kit.options,
    onSignIn: ({ session }) => {
      seen.push(session.user.email);
    },
  });
  const agent = request.agent(app);

  const start = await agent.get('/login?returnTo=/dashboard').expect(302);
  const callback = kit.authorize(start.headers['location'] ?? '', ada);
  await agent.get(callback).expect(303).expect('Location', '/dashboard');
  await agent.get('/dashboard').expect(200, 'ada@example.com');
  expect(seen).toEqual(['ada@example.com']);
});

it('uses the options that the application sets itself', async () => {
  const fixed = { clientId: 'client_mine', cookiePassword: 'a'.repeat(40), cookieName: 'mine' };
  const kit = createB2bTestKit(fixed);
  expect(await kit.cookie()).toMatch(/^mine=Fe26/);
  const agent = await kit.signIn(request.agent(createApp({ ...kit.options, ...fixed })));
  await agent.get('/dashboard').expect(200);
});

it('shares one clock with the adapter', async () => {
  let at = Date.parse('2030-01-01T00:00:00Z');
  const kit = createB2bTestKit({ now: () => at });
  const agent = await kit.signIn(request.agent(createApp(kit.options)));
  expect((await agent.get('/auth/session').expect(200)).headers['set-cookie']).toBeUndefined();
  at += 310_000;
  expect((await agent.get('/auth/session').expect(200)).headers['set-cookie']).toHaveLength(1);
});

it('signs no one in if the application did not receive its options', async () => {
  const kit = createB2bTestKit();
  const other = createB2bTestKit();
  await request(createApp(other.options))
    .get('/auth/session')
    .set('Cookie', await kit.cookie())
    .expect(401);
});

it('reports a call that no test provider answers', async () => {
  const kit = createB2bTestKit();
  const warn = jest.spyOn(process, 'emitWarning').mockReturnValue(undefined);
  const other = createB2bTestKit({ clientId: 'client_other' });
  const app = createApp({ ...other.options, fetch: kit.options.fetch });
  await request(app)
    .get('/auth/session')
    .set('Cookie', await other.cookie())
    .expect(503);
  expect(warn.mock.calls[0]?.[0]).toMatch(
    /no answer to GET https:\/\/api\.workos\.com\/sso\/jwks\/client_other.*`options`/,
  );
  warn.mockRestore();
});

describe('with NODE_ENV=production', () => {
  it('throws on creation', async () => {
    await withNodeEnv('production', () => {
      expect(() => createB2bTestKit()).toThrow(/refuses to run with NODE_ENV=production/);
    });
  });

  it('throws on every use of a kit that was created before', async () => {
    const kit = createB2bTestKit();
    await withNodeEnv('production', async () => {
      await expect(kit.cookie()).rejects.toThrow(/NODE_ENV=production/);
      await expect(kit.signIn(request.agent(express()))).rejects.toThrow(/NODE_ENV=production/);
      expect(() => kit.authorize('https://api.workos.com/')).toThrow(/NODE_ENV=production/);
      await expect(kit.options.fetch?.('https://api.workos.com/sso/jwks/client_testing')).rejects.toThrow(
        /NODE_ENV=production/,
      );
    });
  });
});

it('signs users in fresh or stale, and the hosted page makes a stale sign-in fresh', async () => {
  const kit = createB2bTestKit();
  const app = express();
  app.use(b2bAuth(kit.options));
  app.get('/billing', requireSession({ maxAge: 300 }), (_req, res) => void res.send('billing'));
  const signIn = (session: B2bTestSession) => kit.signIn(request.agent(app), { ...ada, ...session });

  await (await signIn({})).get('/billing').expect(200);
  await (await signIn({ signedInAgo: 290 })).get('/billing').expect(200);
  const agent = await signIn({ signedInAgo: 3600, expired: true });
  const challenge = await agent.get('/billing').expect(307);
  expect(challenge.headers['location']).toBe('/login?max_age=300&returnTo=%2Fbilling');
  const start = await agent.get(String(challenge.headers['location'])).expect(302);
  expect(new URL(String(start.headers['location'])).searchParams.get('max_age')).toBe('300');
  await agent
    .get(kit.authorize(String(start.headers['location']), ada))
    .expect(303)
    .expect('Location', '/billing');
  await agent.get('/billing').expect(200);
});

it('refuses a sign-in that is still stale afterwards', async () => {
  const kit = createB2bTestKit();
  const app = express();
  app.use(b2bAuth(kit.options));
  app.get('/billing', requireSession({ maxAge: 300 }), (_req, res) => void res.send('billing'));
  const agent = await kit.signIn(request.agent(app), { signedInAgo: 3600 });
  const challenge = await agent.get('/billing').expect(307);
  const start = await agent.get(String(challenge.headers['location'])).expect(302);
  await agent.get(kit.authorize(String(start.headers['location']), { signedInAgo: 1800 })).expect(303);
  await agent.get('/billing').expect(403);
});

it('lets accept decide about its sessions and its sign-ins, without a warning', async () => {
  const warnings = jest.spyOn(process, 'emitWarning');
  const kit = createB2bTestKit();
  const app = createApp({ ...kit.options, accept: ({ organizationId }) => organizationId === 'org_1' });
  const member = await kit.signIn(request.agent(app), { organizationId: 'org_1' });
  await member.get('/dashboard').expect(200);
  const stranger = await kit.signIn(request.agent(app), { organizationId: 'org_2' });
  await stranger.get('/dashboard').expect(403);
  const start = await stranger.get('/login').expect(302);
  await stranger.get(kit.authorize(String(start.headers['location']), { organizationId: 'org_2' })).expect(403);
  expect(warnings).not.toHaveBeenCalledWith(expect.stringContaining('has no answer'), expect.anything());
  warnings.mockRestore();
});

describe('kit.tokens', () => {
  it('are stored by an application’s own route', async () => {
    const kit = createB2bTestKit();
    const app = express();
    const auth = b2bAuth(kit.options);
    app.use(auth);
    app.post('/sign-in', (req, res, next) => {
      const tokens = kit.tokens({ user: { email: 'ada@example.com' }, organizationId: 'org_1' });
      tokens.then((given) => storeSession(auth, req, res, given)).then((answer) => res.json(answer), next);
    });
    const agent = request.agent(app);
    await agent.post('/sign-in').expect(200, { redirectTo: '/' });
    const { body } = await agent.get('/auth/session').expect(200);
    expect(body).toMatchObject({ organizationId: 'org_1', user: { email: 'ada@example.com' } });
  });

  it('have the form of WorkOS’ answer', async () => {
    const impersonator = { email: 'support@example.com', reason: null };
    const tokens = await createB2bTestKit().tokens({ impersonator });
    expect(tokens).toMatchObject({ authenticationMethod: 'Password', impersonator, user: { emailVerified: true } });
    expect(tokens).not.toHaveProperty('organizationId');
  });

  it('are not made in production', async () => {
    const kit = createB2bTestKit();
    await withNodeEnv('production', () => expect(kit.tokens()).rejects.toThrow('NODE_ENV=production'));
  });
});
