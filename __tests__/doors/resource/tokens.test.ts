import { randomUUID } from 'node:crypto';
import { sealData } from 'iron-session';
import type { AdapterName } from '../../../lib/index.ts';
import { requireSession } from '../../../lib/index.ts';
import type { Handler } from '../../support/handler-list.ts';
import { encodeSession } from '../../support/backend-app.ts';
import { adapters, paths, startResourceApp } from '../../support/resource-app.ts';
import type { ResourceApp } from '../../support/resource-app.ts';

const ada = { user: { email: 'ada@example.com' } };
const agent = '9a8b7c6d-0000-4000-8000-000000000000';

/** The confusion matrix: what a token is, where it is, and whose resource is asked. */
const kinds = [
  'OAuth client',
  'session',
  'machine',
  'other resource',
  'no audience',
  'other issuer',
  'other keys',
  'other adapter',
  'expired',
  'not yet valid',
  'garbage',
] as const;
type Kind = (typeof kinds)[number];
const ways = ['cookie', 'header', 'query', 'body', 'form'] as const;

const cookiePassword = 'only for this test, and long enough';

describe.each(['anyone', 'listed'] as const)('a resource for clients: %s', (policy) => {
  let app: ResourceApp;
  const tokens = {} as Record<AdapterName, Record<Kind, string>>;

  beforeAll(async () => {
    const clients = policy === 'anyone' ? ('any' as const) : [agent, 'client_machine'];
    app = await startResourceApp({
      adapters: 'before',
      b2b: { cookiePassword },
      resources: { b2b: { clients }, backend: { clients, audience: 'urn:mcp' } },
    });
    const [other, foreign] = [await startResourceApp(), await startResourceApp()];
    for (const adapter of adapters) {
      const audience = adapter === 'b2b' ? app.identifiers.b2b : 'urn:mcp';
      const own = { client: agent, audience };
      const kit = app.kits[adapter];
      const mint = async (person: object, options?: object, from = kit): Promise<string> =>
        (await from.bearer({ ...ada, ...person }, options)).replace('Bearer ', '');
      const rival = app.kits[adapter === 'b2b' ? 'backend' : 'b2b'];
      tokens[adapter] = {
        'OAuth client': await mint({}, own),
        session: await mint({}),
        machine: await mint({ user: { id: 'client_machine' } }, { audience }),
        'other resource': await mint({}, { client: agent, audience: other.identifiers[adapter] }),
        'no audience': await mint({ claims: { aud: null } }, { client: agent }),
        'other issuer': await mint({ claims: { iss: 'https://other.example.com' } }, own),
        'other keys': await mint({}, own, foreign.kits[adapter]),
        'other adapter': await mint({}, own, rival),
        expired: await mint({ expired: true }, own),
        'not yet valid': await mint({ claims: { nbf: Math.floor(app.clock.now() / 1000) + 600 } }, own),
        garbage: 'eyJhbGciOiJub25lIn0.eyJzdWIiOiJ1c2VyXzEifQ.',
      };
    }
    await Promise.all([other.close(), foreign.close()]);
  });
  afterAll(() => app.close());

  /** The adapter's session cookie around a token. */
  async function cookieOf(adapter: AdapterName, token: string): Promise<string> {
    const refresh = randomUUID();
    if (adapter === 'backend') {
      const session = { access_token: token, refresh_token: refresh, token_type: 'bearer', expires_at: 1, user: {} };
      return `${app.kits.backend.options.cookieName}=${encodeSession(session)}`;
    }
    const { sub } = claimsOf(token);
    const content = { accessToken: token, refreshToken: refresh, user: { id: String(sub), email: ada.user.email } };
    return `b2b-session=${await sealData(content, { password: cookiePassword, ttl: 0 })}`;
  }

  function claimsOf(token: string): Record<string, unknown> {
    return JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString()) as Record<string, unknown>;
  }

  async function send(adapter: AdapterName, token: string, way: (typeof ways)[number]) {
    const path = paths[adapter];
    const visitor = app.visitor();
    switch (way) {
      case 'header':
        return visitor.get(path, { headers: { authorization: `Bearer ${token}` } });
      case 'cookie':
        return visitor.get(path, { headers: { cookie: await cookieOf(adapter, token) } });
      case 'query':
        return visitor.get(`${path}?access_token=${token}&token=${token}`);
      case 'body':
        return visitor.postJson(path, { access_token: token });
      case 'form':
        return visitor.post(path, {
          headers: { 'content-type': 'application/x-www-form-urlencoded' },
          body: `access_token=${token}`,
        });
    }
  }

  describe.each(adapters)('of %s', (adapter) => {
    describe.each(kinds)('a token of the kind "%s"', (kind) => {
      it.each(ways)('in the %s', async (way) => {
        const answer = await send(adapter, tokens[adapter][kind], way);
        const passes = way === 'header' && (kind === 'OAuth client' || (kind === 'machine' && adapter === 'b2b'));
        if (passes) expect([answer.status, answer.json.credential]).toEqual([200, 'bearer']);
        else {
          const code = way === 'header' ? 'invalid_token' : 'unauthenticated';
          expect([answer.status, answer.json.error.code]).toEqual([401, code]);
        }
        expect(answer.setCookies).toEqual([]);
      });
    });

    it('a token that it knows opens no other guard, and the other way round', async () => {
      const session = `Bearer ${tokens[adapter].session}`;
      const client = `Bearer ${tokens[adapter]['OAuth client']}`;
      for (let round = 0; round < 2; round += 1) {
        expect((await app.call(adapter, client)).status).toBe(200);
        expect((await app.call(adapter, session)).status).toBe(401);
        const login = await app.visitor().get(adapter === 'b2b' ? '/b2b/session' : '/auth/session', {
          headers: { authorization: client },
        });
        expect(login.status).toBe(401);
      }
    });
  });
});

describe('authInfo', () => {
  it('of a user has the shape of the MCP SDK', async () => {
    const app = await startResourceApp();
    const person = { ...ada, organizationId: 'org_1' };
    const audience = app.identifiers.b2b;
    const bearer = await app.kits.b2b.bearer(person, { client: 'client_agent', audience, scopes: ['openid', 'notes'] });
    const { json } = await app.call('b2b', bearer);
    expect(json.info).toEqual({
      token: bearer.replace('Bearer ', ''),
      clientId: 'client_agent',
      scopes: ['openid', 'notes'],
      expiresAt: Math.floor(app.clock.now() / 1000) + 300,
      resource: audience,
      extra: { userId: json.user.id, organizationId: 'org_1' },
    });
    await app.close();
  });

  it.each([
    ['a machine', 'client_machine', 'client_machine'],
    ['an agent', 'agent_registration_1', ''],
  ])('of %s has no user', async (_, id, clientId) => {
    const app = await startResourceApp();
    const machine = { user: { id }, organizationId: 'org_1', claims: { act: { sub: 'eve@example.com' } } };
    const { json } = await app.call('b2b', await app.kits.b2b.bearer(machine, { audience: app.identifiers.b2b }));
    expect([json.info.clientId, json.info.extra]).toEqual([clientId, { organizationId: 'org_1' }]);
    await app.close();
  });

  it('of the backend has a resource only where a special audience binds the token to it', async () => {
    const app = await startResourceApp({ resources: { backend: { audience: 'urn:mcp' } } });
    const bound = await app.call('backend', await app.kits.backend.bearer(ada, { client: 'c', audience: 'urn:mcp' }));
    expect(bound.json.info).toMatchObject({ resource: app.identifiers.backend, clientId: 'c', scopes: [] });
    expect(bound.json.info.extra).toEqual({ userId: bound.json.user.id });
    await app.close();
    const free = await startResourceApp();
    const unbound = await free.call('backend', await free.kits.backend.bearer(ada, { client: 'c' }));
    expect([unbound.status, unbound.json.info.resource]).toEqual([200, undefined]);
    await free.close();
  });
});

describe('the audience', () => {
  it.each([
    ['as text', (own: string) => own, 200],
    ['in a list', (own: string) => ['https://other.example.com', own], 200],
    ['with a slash more', (own: string) => `${own}/`, 401],
    ['in upper case', (own: string) => own.toUpperCase(), 401],
    ['with a query', (own: string) => `${own}?x=1`, 401],
    ['below it', (own: string) => `${own}/below`, 401],
    ['its origin', (own: string) => new URL(own).origin, 401],
    ['a nested list', (own: string) => [[own]], 401],
    ['an object', (own: string) => ({ aud: own }), 401],
    ['true', () => true, 401],
    ['empty', () => '', 401],
    ['an empty list', () => [], 401],
  ] as const)('%s', async (_, aud, status) => {
    const app = await startResourceApp({ resources: { backend: { audience: 'https://app.example.com/mcp' } } });
    const own = { b2b: app.identifiers.b2b, backend: 'https://app.example.com/mcp' };
    for (const adapter of adapters) {
      const person = { ...ada, claims: { aud: aud(own[adapter]) as never } };
      expect((await app.call(adapter, await app.kits[adapter].bearer(person, { client: 'c' }))).status).toBe(status);
    }
    await app.close();
  });

  it.each([
    ['https://app.example.com', 'https://app.example.com/', 200],
    ['https://app.example.com/', 'https://app.example.com', 200],
    ['https://app.example.com', 'https://app.example.com/mcp', 401],
    ['https://app.example.com/mcp', 'https://app.example.com/mcp/', 401],
    ['urn:mcp', 'undefined/', 401],
  ])('%s is asked for, and a token for %s is a %i', async (audience, aud, status) => {
    const app = await startResourceApp({ resources: { b2b: { audience } } });
    expect((await app.call('b2b', await app.kits.b2b.bearer(ada, { audience: aud }))).status).toBe(status);
    await app.close();
  });

  it('is the option where b2bAuth has another one for the resource', async () => {
    const app = await startResourceApp({ resources: { b2b: { audience: 'https://registered.example.com/mcp' } } });
    const call = async (audience: string) =>
      (await app.call('b2b', await app.kits.b2b.bearer(ada, { audience }))).status;
    expect(await call('https://registered.example.com/mcp')).toBe(200);
    expect(await call(app.identifiers.b2b)).toBe(401);
    await app.close();
  });

  it('does not follow a Host that the caller chooses', async () => {
    const app = await startResourceApp();
    const stolen = await app.kits.b2b.bearer(ada, { audience: 'http://evil.example.com/mcp' });
    for (let round = 0; round < 2; round += 1) {
      const answer = await app.call('b2b', stolen, { headers: { host: 'evil.example.com' } });
      expect([answer.status, answer.json.error.code]).toEqual([401, 'invalid_token']);
    }
    const warnings = app.events.filter(({ type }) => type === 'configuration_warning');
    expect(warnings).toEqual([
      expect.objectContaining({ message: expect.stringContaining('Set appBaseUrl of b2bAuth') }),
    ]);
    await app.close();
    const fixed = await startResourceApp({ b2b: { appBaseUrl: 'https://app.example.com' } });
    const ask = { headers: { host: 'evil.example.com' } };
    expect(
      (await fixed.call('b2b', await fixed.kits.b2b.bearer(ada, { audience: 'http://evil.example.com/mcp' }), ask))
        .status,
    ).toBe(401);
    expect(
      (await fixed.call('b2b', await fixed.kits.b2b.bearer(ada, { audience: 'https://app.example.com/mcp' }), ask))
        .status,
    ).toBe(200);
    await fixed.close();
  });
});

describe('the client', () => {
  const withClients = (clients: never) => startResourceApp({ resources: { b2b: { clients }, backend: { clients } } });

  it.each(adapters)('of a list passes with %s, and no other', async (adapter) => {
    const app = await withClients(['client_good', 'client_better'] as never);
    const audience = adapter === 'b2b' ? app.identifiers.b2b : 'authenticated';
    const call = async (client?: string) =>
      (
        await app.call(
          adapter,
          await app.kits[adapter].bearer(ada, { audience, ...(client === undefined ? {} : { client }) }),
        )
      ).status;
    expect([await call('client_good'), await call('client_better')]).toEqual([200, 200]);
    expect([await call('client_bad'), await call('CLIENT_GOOD'), await call('')]).toEqual([401, 401, 401]);
    expect(await call(undefined)).toBe(401);
    await app.close();
  });

  it.each(adapters)('is judged by a function of the claims with %s: only true passes', async (adapter) => {
    const answers: unknown[] = [true, Promise.resolve(true), false, undefined, null, 1, 'true', {}, Promise.resolve(1)];
    const statuses: number[] = [];
    const seen: unknown[] = [];
    for (const answer of answers) {
      const app = await withClients(
        ((claims: object) => (seen.push(Reflect.get(claims, 'client_id')), answer)) as never,
      );
      const audience = adapter === 'b2b' ? app.identifiers.b2b : 'authenticated';
      const token = await app.kits[adapter].bearer(ada, { audience, client: 'client_1' });
      statuses.push((await app.call(adapter, token)).status);
      await app.close();
    }
    expect(statuses).toEqual([200, 200, 401, 401, 401, 401, 401, 401, 401]);
    expect(new Set(seen)).toEqual(new Set(['client_1']));
  });

  it.each(adapters)('that is malformed never passes with %s', async (adapter) => {
    for (const clients of ['any', [''].concat('x'), () => true]) {
      const app = await withClients((Array.isArray(clients) ? ['x'] : clients) as never);
      const audience = adapter === 'b2b' ? app.identifiers.b2b : 'authenticated';
      for (const client of ['', 1, true, {}, ['x']]) {
        const person = { ...ada, claims: { client_id: client as never } };
        const answer = await app.call(adapter, await app.kits[adapter].bearer(person, { audience }));
        expect({ client, status: answer.status }).toEqual({ client, status: 401 });
      }
      await app.close();
    }
  });

  it('must be there with the backend, except for firstParty', async () => {
    for (const [options, status] of [
      [{ clients: 'any' }, 401],
      [{ clients: 'any', firstParty: false }, 401],
      [{ clients: 'any', firstParty: true }, 200],
      [{ clients: () => true }, 401],
    ] as const) {
      const app = await startResourceApp({ resources: { backend: options } });
      const kit = app.kits.backend;
      expect({ options, status: (await app.call('backend', await kit.bearer(ada))).status }).toEqual({
        options,
        status,
      });
      expect((await app.call('backend', await kit.bearer(ada, { client: 'c' }))).status).toBe(200);
      await app.close();
    }
  });

  it('need not be named by AuthKit’s tokens, whose clients no server knows', async () => {
    const app = await startResourceApp();
    const { json } = await app.call('b2b', await app.kits.b2b.bearer(ada, { audience: app.identifiers.b2b }));
    expect([json.info.clientId, json.info.extra.userId]).toEqual(['', json.user.id]);
    await app.close();
  });
});

it.each(adapters)('what a resource of %s knows passes no guard whose rules differ', async (adapter) => {
  const behind: { guard?: Handler } = {};
  const app = await startResourceApp({
    front: (host) => host.use('/api', (req, res, next) => behind.guard?.(req, res, next)),
    adapters: 'before',
    resources: { backend: { audience: 'urn:mcp' } },
  });
  behind.guard = inOrder(
    app.auths[adapter],
    requireSession({ adapter, credentials: ['bearer'], clients: ['client_1'] } as never),
  );
  const audience = adapter === 'b2b' ? app.identifiers.b2b : 'urn:mcp';
  const token = await app.kits[adapter].bearer(ada, { client: 'client_1', audience });
  for (let round = 0; round < 2; round += 1) {
    expect((await app.call(adapter, token)).status).toBe(200);
    const { status } = await app.visitor().get('/api', { headers: { authorization: token } });
    expect(status).toBe(401);
  }
  await app.close();
});

/** One handler after the other. */
const inOrder =
  (first: unknown, second: unknown): Handler =>
  (req, res, next) =>
    (first as Handler)(req, res, (error) => {
      if (error === undefined) (second as Handler)(req, res, next);
      else next(error);
    });

describe('the scopes', () => {
  it.each([
    ['none of the claim', undefined, 403],
    ['one of two', ['notes:read'], 403],
    ['both', ['notes:write', 'notes:read'], 200],
    ['more', ['openid', 'notes:write', 'notes:read', 'x'], 200],
    ['in another case', ['Notes:Read', 'notes:write'], 403],
  ])('that a resource needs: %s', async (_, scopes, status) => {
    const app = await startResourceApp({
      resources: { b2b: { scopes: ['notes:read', 'notes:write'] }, backend: { scopes: ['notes:read', 'notes:write'] } },
    });
    for (const adapter of adapters) {
      const audience = adapter === 'b2b' ? app.identifiers.b2b : 'authenticated';
      const token = await app.kits[adapter].bearer(ada, { client: 'c', audience, ...(scopes && { scopes }) });
      const answer = await app.call(adapter, token);
      expect(answer.status).toBe(status);
      if (status === 200) continue;
      expect(answer.json.error.code).toBe('insufficient_scope');
      expect(answer.headers['www-authenticate']).toBe(
        `Bearer error="insufficient_scope", resource_metadata="${app.origin}/.well-known/oauth-protected-resource${paths[adapter]}", scope="notes:read notes:write"`,
      );
    }
    const anonymous = await app.call('b2b');
    expect(anonymous.headers['www-authenticate']).toMatch(
      /^Bearer resource_metadata="[^"]+", scope="notes:read notes:write"$/,
    );
    await app.close();
  });

  it.each([
    ['a token without scope', {}, 200],
    ['a token with the scope', { scope: 'openid email' }, 200],
    ['a token with another one', { scope: 'openid' }, 403],
    ['a list of scopes, which is no scope', { scope: ['openid', 'email'] }, 403],
    ['an empty scope', { scope: '' }, 403],
  ])('of OpenID Connect are asked for, and %s is judged by what it says', async (_, claims, status) => {
    const app = await startResourceApp({ resources: { b2b: { scopes: ['openid', 'email', 'offline_access'] } } });
    const token = await app.kits.b2b.bearer({ ...ada, claims: claims }, { audience: app.identifiers.b2b });
    expect((await app.call('b2b', token)).status).toBe(status);
    await app.close();
  });

  it('are also refused by a check that throws insufficient_scope', async () => {
    const { AuthError } = await import('../../../lib/index.ts');
    const check = (): boolean => {
      throw new AuthError('insufficient_scope');
    };
    const app = await startResourceApp({ resources: { b2b: { check } } });
    const answer = await app.call('b2b', await app.kits.b2b.bearer(ada, { audience: app.identifiers.b2b }));
    expect([answer.status, answer.headers['www-authenticate']]).toEqual([
      403,
      expect.stringMatching(/^Bearer error="insufficient_scope", resource_metadata=/),
    ]);
    await app.close();
  });
});
