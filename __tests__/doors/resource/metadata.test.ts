import express from 'express';
import {
  authInfo,
  b2bAuth,
  backendAuth,
  ConfigurationError,
  currentSession,
  protectResource,
} from '../../../lib/index.ts';
import type { B2bAuthOptions } from '../../../lib/index.ts';
import { createB2bTestKit, createBackendTestKit } from '../../../lib/testing/index.ts';
import { hosts, sendJson } from '../../support/hosts.ts';
import type { Host } from '../../support/hosts.ts';
import { sendRaw } from '../../support/raw-socket.ts';
import { paths, startResourceApp } from '../../support/resource-app.ts';
import { serve } from '../../support/servers.ts';
import { traceLayers } from '../../support/traced-layers.ts';
import { hostNames } from '../../support/variant.ts';
import { createVisitor } from '../../support/visitor.ts';

const root = '/.well-known/oauth-protected-resource';
const kit = createB2bTestKit();
const closing: (() => Promise<void>)[] = [];
afterAll(() => Promise.all(closing.map((close) => close())));

/** An application that the test puts together. */
async function start(build: (host: Host) => unknown, host: Host = hosts['Express 5']()) {
  build(host);
  host.onError((error, _req, res) => sendJson(res, { thrown: String(error) }, 500));
  const server = await serve(host.listener);
  closing.push(() => server.close());
  return { ...server, visitor: createVisitor(server.origin) };
}

const b2b = (options: B2bAuthOptions = {}) => b2bAuth({ ...kit.options, ...options });

describe.each(hostNames)('on %s', (host) => {
  it('describes each resource at its own path', async () => {
    const app = await startResourceApp({ host, resources: { b2b: { scopes: ['openid', 'notes:read'] } } });
    const answer = await app.visitor().get(root + paths.b2b);
    expect([answer.status, answer.headers['content-type']]).toEqual([200, 'application/json; charset=utf-8']);
    expect(answer.json).toEqual({
      resource: app.identifiers.b2b,
      authorization_servers: [app.kits.b2b.options.authkitDomain],
      scopes_supported: ['openid', 'notes:read'],
      bearer_methods_supported: ['header'],
    });
    expect((await app.visitor().get(root + paths.backend)).json).toEqual({
      resource: app.identifiers.backend,
      authorization_servers: [`${app.kits.backend.options.url}/auth/v1`],
      bearer_methods_supported: ['header'],
    });
    await app.close();
  });

  it('lets any page read it, keeps it for five minutes, and sets no cookie', async () => {
    const app = await startResourceApp({ host });
    const { headers } = await app.visitor().get(`${root}/mcp?x=1`);
    expect(headers).toMatchObject({ 'access-control-allow-origin': '*', 'cache-control': 'public, max-age=300' });
    expect([headers['set-cookie'], headers.vary]).toEqual([undefined, 'X-Forwarded-Host, X-Forwarded-Proto']);
    const preflight = await app.visitor().ask(`${root}/mcp`, {
      method: 'OPTIONS',
      headers: { origin: 'https://inspector.example', 'access-control-request-headers': 'mcp-protocol-version' },
    });
    expect([preflight.status, preflight.headers['access-control-allow-headers']]).toEqual([204, '*']);
    expect(preflight.headers).toMatchObject({ allow: 'GET, HEAD, OPTIONS', 'access-control-allow-origin': '*' });
    const head = await app.visitor().ask(`${root}/mcp`, { method: 'HEAD' });
    expect([head.status, head.text, head.headers['access-control-allow-origin']]).toEqual([200, '', '*']);
    await app.close();
  });

  it.each(['POST', 'PUT', 'DELETE', 'PATCH'])('answers %s with 405 and Allow', async (method) => {
    const app = await startResourceApp({ host });
    const answer = await app.visitor().ask(`${root}/mcp`, { method });
    expect([answer.status, answer.headers.allow]).toEqual([405, 'GET, HEAD, OPTIONS']);
    expect([answer.json.error.code, answer.headers['access-control-allow-origin']]).toEqual([
      'method_not_allowed',
      '*',
    ]);
    await app.close();
  });

  it('needs no token for it, and no session', async () => {
    const app = await startResourceApp({ host });
    const headers = { authorization: 'Bearer nonsense', cookie: 'b2b-session=nonsense' };
    expect((await app.visitor().get(`${root}/mcp`, { headers })).status).toBe(200);
    await app.close();
  });

  it('has no metadata for a path that is no resource', async () => {
    const app = await startResourceApp({ host });
    for (const path of ['/other', '/mcp/below', '/tools', '/mcpx']) {
      expect((await app.visitor().get(root + path)).json).toEqual({ public: true });
    }
    await app.close();
  });

  it('a single resource has the root form, too', async () => {
    const app = await start((app) => app.use(protectResource(b2b(), { path: '/mcp' }) as never), hosts[host]());
    const answer = await app.visitor.get(root);
    expect([answer.status, answer.json.resource]).toEqual([200, `${app.origin}/mcp`]);
  });

  it('of several resources of an adapter the root form is 404', async () => {
    const auth = b2b();
    const app = await start((app) => {
      app.use(protectResource(auth, { path: '/one' }) as never);
      app.use(protectResource(auth, { path: '/two' }) as never);
      app.use((_req, res) => sendJson(res, { fallback: true }));
    }, hosts[host]());
    const answer = await app.visitor.get(root);
    expect([answer.status, answer.json.error.code, answer.headers['access-control-allow-origin']]).toEqual([
      404,
      'not_found',
      '*',
    ]);
    expect((await app.visitor.get(`${root}/one`)).json.resource).toBe(`${app.origin}/one`);
    expect((await app.visitor.get(`${root}/two`)).json.resource).toBe(`${app.origin}/two`);
  });

  it('answers a malformed Host with 400, for metadata and the resource', async () => {
    const app = await startResourceApp({ host });
    for (const path of [`${root}/mcp`, '/mcp']) {
      for (const line of ['a b', 'user@host', 'x/y', 'evil"']) {
        const { status, head } = await sendRaw(app.port, `GET ${path} HTTP/1.1\r\nHost: ${line}\r\n\r\n`);
        expect({ path, line, status, leaks: head.includes('evil') }).toEqual({ path, line, status: 400, leaks: false });
      }
    }
    await app.close();
  });
});

it('of one resource of each adapter, Express knows that there are two', async () => {
  for (const name of hostNames.filter((each) => each.startsWith('Express'))) {
    const app = await startResourceApp({ host: name });
    expect((await app.visitor().get(root)).status).toBe(404);
    await app.close();
  }
});

it.each([false, true])(
  'Express knows of a resource of another adapter: with each layer wrapped, %p',
  async (isTraced) => {
    const app = express();
    app.use(protectResource(b2b(), { path: '/one' }), protectResource(b2b(), { path: '/two' }));
    if (isTraced) traceLayers(app.router);
    const server = await serve(app);
    closing.push(() => server.close());
    const visitor = createVisitor(server.origin);
    expect((await visitor.get(root)).status).toBe(404);
    expect((await visitor.get(`${root}/one`)).status).toBe(200);
  },
);

it('a resource at the root has the root form for its own', async () => {
  const app = await start((app) => {
    app.use(protectResource(b2b(), { path: '/' }) as never);
    app.use((req, res) => sendJson(res, authInfo(req)));
  });
  expect((await app.visitor.get(root)).json.resource).toBe(`${app.origin}/`);
  const refused = await app.visitor.get('/anything');
  expect(refused.headers['www-authenticate']).toBe(`Bearer resource_metadata="${app.origin}${root}"`);
  for (const audience of [app.origin, `${app.origin}/`]) {
    const headers = { authorization: await kit.bearer({}, { audience }) };
    expect((await app.visitor.get('/anything', { headers })).status).toBe(200);
  }
  const headers = { authorization: await kit.bearer({}, { audience: `${app.origin}/mcp` }) };
  expect((await app.visitor.get('/anything', { headers })).status).toBe(401);
});

it.each(['https://api.example.com', 'https://api.example.com/'])(
  'an audience that is an origin has two forms: %s',
  async (audience) => {
    const app = await start((app) => {
      app.use(protectResource(b2b(), { path: '/mcp', audience }) as never);
      app.use((req, res) => sendJson(res, authInfo(req)));
    });
    const statusFor = async (aud: string): Promise<number> => {
      const headers = { authorization: await kit.bearer({}, { audience: aud }) };
      return (await app.visitor.get('/mcp', { headers })).status;
    };
    const forms = ['https://api.example.com', 'https://api.example.com/', 'https://api.example.com/x', 'undefined/'];
    expect(await Promise.all(forms.map(statusFor))).toEqual([200, 200, 401, 401]);
  },
);

it('a resource at the root and one of another adapter each answer for themselves', async () => {
  const backend = createBackendTestKit();
  const app = await start((app) => {
    app.use(
      protectResource(backendAuth(backend.options), {
        path: '/mcp',
        clients: 'any',
        audience: 'authenticated',
      }) as never,
    );
    app.use(protectResource(b2b(), { path: '/' }) as never);
  });
  expect((await app.visitor.get(root)).json.resource).toBe(`${app.origin}/`);
  expect((await app.visitor.get(`${root}/mcp`)).json.resource).toBe(`${app.origin}/mcp`);
});

describe('the public origin', () => {
  const ask = { headers: { 'x-forwarded-proto': 'https', 'x-forwarded-host': 'app.example.com' } };

  it.each([
    ['the request', {}, undefined, (origin: string) => origin],
    ['a trusted proxy', {}, 'loopback', () => 'https://app.example.com'],
    ['appBaseUrl', { appBaseUrl: 'https://own.example.com' }, 'loopback', () => 'https://own.example.com'],
  ] as const)('is that of %s', async (_, options, trust, expected) => {
    const app = await start((host) => {
      if (trust !== undefined) host.express.set('trust proxy', trust);
      host.use(protectResource(b2b(options), { path: '/mcp' }) as never);
    });
    const origin = expected(app.origin);
    const { json, headers } = await app.visitor.get(`${root}/mcp`, ask);
    expect([json.resource, headers.vary]).toEqual([
      `${origin}/mcp`,
      'appBaseUrl' in options ? undefined : 'X-Forwarded-Host, X-Forwarded-Proto',
    ]);
    const refused = await app.visitor.get('/mcp', ask);
    expect(refused.headers['www-authenticate']).toBe(`Bearer resource_metadata="${origin}${root}/mcp"`);
  });

  it('has the path of appBaseUrl, which a proxy strips', async () => {
    const app = await start((host) => {
      host.use(protectResource(b2b({ appBaseUrl: 'https://example.com/base' }), { path: '/mcp' }) as never);
      host.use((req, res) => sendJson(res, authInfo(req)));
    });
    const refused = await app.visitor.get('/mcp');
    expect(refused.headers['www-authenticate']).toBe(`Bearer resource_metadata="https://example.com/base${root}/mcp"`);
    for (const path of [`${root}/mcp`, `${root}/base/mcp`]) {
      expect((await app.visitor.get(path)).json.resource).toBe('https://example.com/base/mcp');
    }
    const headers = { authorization: await kit.bearer({}, { audience: 'https://example.com/base/mcp' }) };
    expect((await app.visitor.get('/mcp', { headers })).json.resource).toBe('https://example.com/base/mcp');
  });

  it('does not repeat the mount path that appBaseUrl and path both have', async () => {
    const app = await start((host) => {
      const auth = b2b({ appBaseUrl: 'https://example.com/app' });
      host.use(protectResource(auth, { path: '/app/mcp' }) as never);
      host.use('/app', auth as never);
    });
    expect((await app.visitor.get(`${root}/app/mcp`)).json.resource).toBe('https://example.com/app/mcp');
  });
});

it('names another authorization server where the options do', async () => {
  const authorizationServer = 'https://auth.example.com/issuer';
  const app = await start((host) => host.use(protectResource(b2b(), { path: '/mcp', authorizationServer }) as never));
  expect((await app.visitor.get(`${root}/mcp`)).json.authorization_servers).toEqual([authorizationServer]);
});

describe('a mount', () => {
  const problemAt = async (build: (host: Host) => unknown, path: string): Promise<string> => {
    const app = await start(build);
    const { status, text } = await app.visitor.get(path);
    return `${status} ${text}`;
  };

  it('below a path is an error at the first request', async () => {
    const message = await problemAt(
      (host) => host.use('/api', protectResource(b2b(), { path: '/mcp' }) as never),
      '/api/x',
    );
    expect(message).toMatch(/^500 .*mounted under '\/api'.*path: '\/api\/…'/);
    const nested = await problemAt((host) => {
      const sub = express();
      sub.use(protectResource(b2b(), { path: '/mcp' }));
      host.use('/sub', sub as never);
    }, '/sub/x');
    expect(nested).toMatch(/^500 .*mounted under '\/sub'/);
  });

  it('behind protectedRoutes that redirect the resource is an error at the first request', async () => {
    for (const pattern of ['/(.*)', '/mcp', '/mcp(.*)', '/.well-known/(.*)']) {
      const auth = b2b({ protectedRoutes: pattern });
      const app = await start((host) => {
        host.use(auth as never);
        host.use(protectResource(auth, { path: '/mcp' }) as never);
      });
      const cookie = await kit.cookie();
      const { status, text } = await app.visitor.get('/page', { headers: { cookie } });
      expect([pattern, status, text]).toEqual([
        pattern,
        500,
        expect.stringContaining('mount protectResource() before b2bAuth()'),
      ]);
    }
  });

  it('in front of the adapter is not redirected by its protectedRoutes', async () => {
    const auth = b2b({ protectedRoutes: '/(.*)' });
    const app = await start((host) => {
      host.use(protectResource(auth, { path: '/mcp' }) as never);
      host.use(auth as never);
      host.use((req, res) => sendJson(res, { client: authInfo(req).clientId }));
    });
    const headers = { authorization: await kit.bearer({}, { audience: `${app.origin}/mcp`, client: 'c' }) };
    expect((await app.visitor.get('/mcp/x', { headers })).json).toEqual({ client: 'c' });
    expect((await app.visitor.get('/mcp/x')).status).toBe(401);
    expect((await app.visitor.get('/page', { headers })).status).toBe(307);
  });

  it.each(['before', 'after', 'never'] as const)(
    'of the adapters %s the resource makes no difference',
    async (adapters) => {
      for (const prefix of ['/', '/app']) {
        const app = await startResourceApp({ adapters, prefix });
        const token = await app.kits.b2b.bearer({}, { audience: app.identifiers.b2b });
        expect((await app.call('b2b', token)).json.isSame).toBe(true);
        const backend = await app.kits.backend.bearer({}, { client: 'c' });
        expect((await app.call('backend', backend)).json.isSame).toBe(true);
        expect((await app.visitor().get('/')).json).toEqual({ public: true });
        if (adapters !== 'never') {
          const login = await app.visitor().get(`${prefix === '/' ? '' : prefix}/login`);
          expect(login.status).toBe(302);
        }
        await app.close();
      }
    },
  );

  it('of a resource in front says nothing about where its adapter is mounted', async () => {
    const [one, other] = [b2b(), backendAuth(createBackendTestKit().options)];
    const app = await start((host) => {
      host.use(protectResource(one, { path: '/mcp' }) as never);
      host.use('/app', one as never);
      // Both answer /auth/session, below different paths.
      host.use(other as never);
      host.use((req, res) => sendJson(res, { user: currentSession(req, 'b2b').user.id }));
    });
    const headers = { authorization: await kit.bearer({}, { audience: `${app.origin}/mcp` }) };
    expect((await app.visitor.get('/mcp', { headers })).json.user).toMatch(/^user_/);
  });

  it('beside another adapter of the same name mixes no sessions', async () => {
    const [one, two] = [b2b(), b2b({ cookieName: 'other' })];
    const app = await start((host) => {
      host.use(protectResource(one, { path: '/mcp' }) as never);
      host.use(two as never);
      host.use('/mcp', (req, res) => sendJson(res, currentSession(req)));
    });
    const headers = { authorization: await kit.bearer({}, { audience: `${app.origin}/mcp` }) };
    const answer = await app.visitor.get('/mcp', { headers });
    expect([answer.status, answer.text]).toEqual([500, expect.stringContaining('mounted twice')]);
  });
});

it('authInfo explains itself where no resource is in front', () => {
  expect(() => authInfo({} as never)).toThrow(ConfigurationError);
  expect(() => authInfo({} as never)).toThrow(/no protectResource\(\) has let this request pass/);
});
