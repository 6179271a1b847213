import { jest } from '@jest/globals';
import express from 'express';
import request from 'supertest';
import { b2bAuth, currentSession, requireSession } from '../../lib/b2b/index.ts';
import type { B2bAuthOptions } from '../../lib/b2b/index.ts';
import { backendAuth } from '../../lib/backend/index.ts';
import type { BackendAuthOptions } from '../../lib/backend/index.ts';
import { AuthError } from '../../lib/index.ts';
import { createB2bTestKit, createBackendTestKit } from '../../lib/testing/index.ts';
import { withNodeEnv } from '../support/node-env.ts';

const ada = { user: { email: 'ada@example.com' } };
const grace = { user: { email: 'grace@example.com' } };

type Shared = 'accept' | 'appBaseUrl' | 'cookieOptions' | 'onError' | 'onEvent' | 'onSignIn';

const kits = {
  b2b(options: Pick<B2bAuthOptions, Shared | 'loginPath'> = {}) {
    const kit = createB2bTestKit();
    return { kit, app: appOf(b2bAuth({ ...options, ...kit.options })) };
  },
  backend(options: Pick<BackendAuthOptions, Shared | 'signInMethods'> = {}) {
    const kit = createBackendTestKit();
    return { kit, app: appOf(backendAuth({ ...options, ...kit.options })) };
  },
};

function appOf(auth: express.RequestHandler): express.Express {
  const app = express();
  app.use(auth);
  app.get('/me', requireSession(), (req, res) => void res.send(currentSession(req).user.email));
  return app;
}

it.each([
  ['b2b', () => createB2bTestKit({ pathPrefix: '/v1/auth' }), b2bAuth],
  ['backend', () => createBackendTestKit({ pathPrefix: '/v1/auth' }), backendAuth],
] as const)('kit.signIn of %s with hooks signs in below pathPrefix', async (_name, createKit, createAuth) => {
  const onSignIn = jest.fn();
  const kit = createKit();
  const app = appOf(createAuth({ onSignIn: () => void onSignIn(), ...kit.options }));
  const agent = await kit.signIn(request.agent(app), ada, { hooks: true });
  await agent.get('/me').expect(200, ada.user.email);
  expect(onSignIn).toHaveBeenCalledTimes(1);
});

describe.each(['b2b', 'backend'] as const)('kit.signIn of %s', (adapter) => {
  const onSignIn = jest.fn<(facts: { session: { user: { email?: string | null } } }) => undefined>();
  const onEvent = jest.fn<(event: { type: string }) => undefined>();
  const events = (): string[] => onEvent.mock.calls.map(([{ type }]) => type);
  beforeEach(() => {
    onSignIn.mockClear();
    onEvent.mockClear();
  });

  it('does not run onSignIn', async () => {
    const { kit, app } = kits[adapter]({ onSignIn, onEvent });
    const agent = await kit.signIn(request.agent(app), ada);
    await agent.get('/me').expect(200, ada.user.email);
    expect([onSignIn.mock.calls, events()]).toEqual([[], []]);
  });

  it('runs accept and onSignIn with hooks, once, and emits signed_in', async () => {
    const accept = jest.fn(() => true);
    const { kit, app } = kits[adapter]({ accept, onSignIn, onEvent });
    const agent = await kit.signIn(request.agent(app), ada, { hooks: true });
    expect(onSignIn.mock.calls.map(([{ session }]) => session.user.email)).toEqual([ada.user.email]);
    expect([accept.mock.calls.length, events()]).toEqual([1, ['signed_in']]);
    await agent.get('/me').expect(200, ada.user.email);
  });

  it('is one user with and without hooks', async () => {
    const { kit, app } = kits[adapter]();
    const idOf = async (hooks: boolean): Promise<string> => {
      const agent = await kit.signIn(request.agent(app), ada, { hooks });
      return (await agent.get('/auth/session').expect(200)).body.user.id;
    };
    expect(await idOf(true)).toBe(await idOf(false));
  });

  it('replaces the session that the agent had', async () => {
    const { kit, app } = kits[adapter]();
    const agent = await kit.signIn(request.agent(app), ada);
    await kit.signIn(agent, grace, { hooks: true });
    await agent.get('/me').expect(200, grace.user.email);
  });

  it('rejects with status and code where the application refuses', async () => {
    const refused = kits[adapter]({ accept: () => false });
    const agent = request.agent(refused.app);
    await expect(refused.kit.signIn(agent, ada, { hooks: true })).rejects.toThrow(
      'refused the sign-in: 403 not_accepted',
    );
    const suspended = kits[adapter]({
      onSignIn() {
        throw new AuthError('forbidden');
      },
    });
    const other = request.agent(suspended.app);
    await expect(suspended.kit.signIn(other, ada, { hooks: true })).rejects.toThrow('403 forbidden');
    await agent.get('/me').set('Accept', 'application/json').expect(401);
    await other.get('/me').set('Accept', 'application/json').expect(401);
  });

  it.each<[string, NonNullable<B2bAuthOptions['onError']>]>([
    ['a page of its own', (_error, _req, res) => void res.send('Sorry')],
    ['a redirect', (_error, _req, res) => res.redirect('/sorry')],
  ])('rejects where the application refuses with %s', async (_what, onError) => {
    const { kit, app } = kits[adapter]({ accept: () => false, onError });
    const agent = request.agent(app);
    await expect(kit.signIn(agent, ada, { hooks: true })).rejects.toThrow('refused the sign-in');
  });

  it('signs in where the application is for https, and for another host', async () => {
    const cookieOptions = { domain: 'example.com' };
    const { kit, app } = kits[adapter]({ appBaseUrl: 'https://app.example.com', cookieOptions, onSignIn });
    const agent = await kit.signIn(request.agent(app), ada, { hooks: true });
    expect(onSignIn).toHaveBeenCalledTimes(1);
    await agent.get('/me').expect(200, ada.user.email);
  });

  it('says what is wrong with an agent, a path or an expired session', async () => {
    const { kit, app } = kits[adapter]();
    const { jar } = request.agent(app);
    for (const agent of [{ jar }, request(app) as unknown as { jar: typeof jar }]) {
      await expect(kit.signIn(agent, ada, { hooks: true })).rejects.toThrow('request.agent(app)');
    }
    const agent = request.agent(app);
    await expect(kit.signIn(agent, ada, { hooks: true, path: '/nowhere' })).rejects.toThrow(
      /\/nowhere answered 404.*`path`/,
    );
    await expect(kit.signIn(agent, { ...ada, expired: true }, { hooks: true })).rejects.toThrow('`expired`');
    await expect(kit.signIn(agent, ada, { loginPath: '/login' } as object)).rejects.toThrow('no option loginPath');
    await agent.get('/me').set('Accept', 'application/json').expect(401);
  });

  it('starts at another path', async () => {
    const b2b = kits.b2b({ loginPath: '/v1/login', onSignIn });
    await b2b.kit.signIn(request.agent(b2b.app), ada, { hooks: true, path: '/v1/login' });
    expect(onSignIn).toHaveBeenCalledTimes(1);
  });

  it('refuses in production', async () => {
    const { kit, app } = kits[adapter]();
    await withNodeEnv('production', async () => {
      await expect(kit.signIn(request.agent(app), ada, { hooks: true })).rejects.toThrow('NODE_ENV=production');
    });
  });
});

it('keeps the organization and the impersonator of a sign-in with hooks', async () => {
  const { kit, app } = kits.b2b();
  const session = { ...ada, organizationId: 'org_1', impersonator: { email: 'staff@example.com', reason: null } };
  const agent = await kit.signIn(request.agent(app), session, { hooks: true });
  const { body } = await agent.get('/auth/session').expect(200);
  expect(body).toMatchObject({ organizationId: 'org_1', impersonator: { email: 'staff@example.com' } });
});

it('signs in with hooks where passwords are off', async () => {
  const onSignIn = jest.fn(() => undefined);
  const { kit, app } = kits.backend({ signInMethods: ['code'], onSignIn });
  await kit.signIn(request.agent(app), ada, { hooks: true });
  expect(onSignIn).toHaveBeenCalledTimes(1);
});

it('runs onSignIn after the second factor of a pending sign-in', async () => {
  const onSignIn = jest.fn(() => undefined);
  const { kit, app } = kits.backend({ onSignIn });
  const agent = await kit.signIn(request.agent(app), { ...ada, pending: 'factor' }, { hooks: true });
  expect(onSignIn).not.toHaveBeenCalled();
  await agent.get('/me').set('Accept', 'application/json').expect(401);
  await agent.post('/auth/verify').set('Accept', 'application/json').send({ code: kit.code }).expect(200);
  expect(onSignIn).toHaveBeenCalledTimes(1);
  await agent.get('/me').expect(200, ada.user.email);
});

it('waits for the new password of a recovery with hooks', async () => {
  const { kit, app } = kits.backend();
  const agent = await kit.signIn(request.agent(app), { ...ada, pending: 'recovery' }, { hooks: true });
  await agent.get('/me').set('Accept', 'application/json').expect(401);
  await agent.get('/auth/password').expect(200);
});
