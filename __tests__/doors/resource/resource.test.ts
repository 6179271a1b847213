import { jest } from '@jest/globals';
import { authInfo, b2bAuth, backendAuth, createTokenVerifier, protectResource } from '../../../lib/index.ts';
import type { AuthEvent, B2bAuthOptions, ProtectResourceOptions } from '../../../lib/index.ts';
import { createB2bTestKit, createBackendTestKit } from '../../../lib/testing/index.ts';
import { closeAfterEach } from '../../support/close-after-each.ts';
import type { Handler } from '../../support/handler-list.ts';
import { hosts, sendJson, sendText } from '../../support/hosts.ts';
import type { Host } from '../../support/hosts.ts';
import { serve } from '../../support/servers.ts';
import type { HostName } from '../../support/variant.ts';
import { createVisitor } from '../../support/visitor.ts';
import type { Answer } from '../../support/visitor.ts';

const kit = createB2bTestKit();
const backendKit = createBackendTestKit();
const closing = closeAfterEach();

type Auth = ReturnType<typeof b2bAuth>;
const b2b = (options: B2bAuthOptions = {}): Auth => b2bAuth({ ...kit.options, ...options });
const resource = (auth: Auth, options: Partial<ProtectResourceOptions> = {}): Handler =>
  protectResource(auth, { path: '/mcp', ...options }) as Handler;

interface ResourceServer {
  readonly origin: string;
  /** Asks with a token for the audience, by default the one of `/mcp`. */
  readonly ask: (path: string, headers?: Record<string, string>, audience?: string) => Promise<Answer>;
  /** Asks without a token. */
  readonly askAlone: (path: string) => Promise<Answer>;
}

/** An application at the root of its origin, where metadata belongs. */
async function start(build: (host: Host) => unknown, hostName: HostName = 'Express 5'): Promise<ResourceServer> {
  const host = hosts[hostName]();
  build(host);
  host.use((_req, res) => sendText(res, 'public'));
  host.onError((error, _req, res) => sendText(res, String(error), 500));
  const { origin } = await closing(serve(host.listener));
  const visitor = createVisitor(origin);
  return {
    origin,
    askAlone: (path) => visitor.get(path),
    async ask(path, headers = {}, audience = `${origin}/mcp`) {
      const authorization = await kit.bearer({}, { audience });
      return visitor.get(path, { headers: { authorization, ...headers } });
    },
  };
}

/** What is said with `process.emitWarning`, and to `onEvent`. */
function listen() {
  const warn = jest.spyOn(process, 'emitWarning').mockImplementation(() => undefined);
  const events: AuthEvent[] = [];
  return { warnings: warn.mock.calls, events, onEvent: (event: AuthEvent) => void events.push(event) };
}
afterEach(() => void jest.restoreAllMocks());

describe('a protected resource', () => {
  it('is guarded by the path that the client sent, and by the one that other code made of it', async () => {
    const { askAlone, ask } = await start((host) => {
      host.use((req, _res, next) => {
        if (req.url === '/alias') req.url = '/mcp/tools';
        else if (req.url === '/mcp/hidden') req.url = '/inside';
        next();
      });
      host.use(resource(b2b()));
    });
    for (const path of ['/alias', '/mcp/hidden', '/mcp']) {
      expect([path, (await askAlone(path)).status]).toEqual([path, 401]);
      expect([path, (await ask(path)).text]).toEqual([path, 'public']);
    }
    expect((await askAlone('/inside')).text).toBe('public');
  });

  it('is guarded under Connect, too, where other code strips the front of the path', async () => {
    const { askAlone, ask } = await start((host) => {
      host.use((req, _res, next) => {
        req.url = req.url.replace(/^\/v1/, '');
        next();
      });
      host.use(resource(b2b()));
    }, 'Connect');
    expect((await askAlone('/v1/mcp')).status).toBe(401);
    expect((await ask('/v1/mcp')).text).toBe('public');
    expect((await askAlone('/v1/other')).text).toBe('public');
  });

  it('lets pass a response whose head other code has sent', async () => {
    const { ask } = await start((host) => {
      host.use((_req, res, next) => {
        res.flushHeaders();
        next();
      });
      host.use(resource(b2b()));
      host.use('/mcp', (req, res) => void res.end(`for ${authInfo(req).resource?.pathname}`));
    });
    expect(await ask('/mcp')).toMatchObject({ status: 200, text: 'for /mcp' });
  });

  it('works behind another adapter whose own place says nothing about protectedRoutes of this one', async () => {
    const { ask } = await start((host) => {
      const auth = b2b({ protectedRoutes: '/(.*)', sessionPath: '/b2b/session' });
      host.use(backendAuth(backendKit.options) as Handler);
      host.use(resource(auth));
      host.use(auth as Handler);
      host.use('/mcp', (req, res) => sendJson(res, authInfo(req).scopes));
    });
    expect(await ask('/mcp')).toMatchObject({ status: 200, text: '[]' });
  });

  it('lets no one pass whose request has passed two adapters of its name, also where the application goes on', async () => {
    const [first, second] = [b2b(), b2b({ cookieName: 'other' })];
    const { ask } = await start((host) => {
      // In functions, where no search of the stack finds them.
      host.use((req, res, next) => (first as Handler)(req, res, next));
      host.use((req, res, next) => (second as Handler)(req, res, next));
      host.onError((_error, _req, _res, next) => next());
      host.use(resource(second));
    });
    const { status, text } = await ask('/mcp');
    expect([status, text]).toEqual([500, expect.stringMatching(/^ConfigurationError: b2bAuth: .*mounted twice/)]);
  });
});

describe('the host of a request', () => {
  const host = { host: 'app.example.com' };
  const identifier = 'http://app.example.com/mcp';

  it('makes no audience, because callers choose it; operators hear of it once for each resource', async () => {
    const { warnings, events, onEvent } = listen();
    const { ask } = await start((app) => {
      const auth = b2b({ onEvent });
      app.use(resource(auth));
      app.use(resource(auth, { path: '/tools' }));
    });
    for (let round = 0; round < 2; round += 1) {
      const { status, headers } = await ask('/mcp', host, identifier);
      expect([status, headers['www-authenticate']]).toEqual([
        401,
        expect.stringMatching(/^Bearer error="invalid_token"/),
      ]);
    }
    expect((await ask('/tools', host, 'http://app.example.com/tools')).status).toBe(401);
    const messages = ['/mcp', '/tools'].map(
      (path) =>
        `protectResource: no token passes at ${path}, because its audience would follow the Host header, which callers choose. Set appBaseUrl of b2bAuth.`,
    );
    expect(warnings).toEqual(messages.map((message) => [message, { code: 'EXPRESS_AUTH_ADAPTERS_AUDIENCE' }]));
    expect(events).toEqual(messages.map((message) => ({ type: 'configuration_warning', adapter: 'b2b', message })));
  });

  it.each([
    ['a token without aud', {}],
    ['a token whose aud is null', { aud: null }],
    ['a token whose aud is an empty list', { aud: [] }],
  ])('that counts for nothing lets in no other token either: %s', async (_what, claims) => {
    listen();
    const { origin } = await start((app) => app.use(resource(b2b())));
    const authorization = await kit.bearer({ claims }, {});
    const answer = await createVisitor(origin).get('/mcp', { headers: { ...host, authorization } });
    expect(answer.status).toBe(401);
  });

  it('does not matter where the options name the audience, and is no warning', async () => {
    const { warnings, onEvent, events } = listen();
    const { ask } = await start((app) => {
      app.use(resource(b2b({ onEvent }), { audience: 'urn:mcp' }));
    });
    expect((await ask('/mcp', host, 'urn:mcp')).text).toBe('public');
    expect((await ask('/mcp', host, identifier)).status).toBe(401);
    expect([warnings, events]).toEqual([[], []]);
  });
});

describe('that Supabase binds no token to a resource', () => {
  const verifierOptions = { InvalidTokenError: Error, resource: 'https://app.example.com/mcp' };
  it.each([
    ['protectResource', (auth: Auth) => protectResource(auth, { path: '/mcp', clients: 'any' })],
    ['createTokenVerifier', (auth: Auth) => createTokenVerifier(auth, { ...verifierOptions, clients: 'any' })],
  ] as const)('is a warning of %s, once', (_caller, call) => {
    const { warnings, events, onEvent } = listen();
    const auth = backendAuth({ ...backendKit.options, onEvent });
    call(auth);
    call(auth);
    expect(warnings).toEqual([
      [expect.stringMatching(/^backendAuth: Supabase does not bind/), { code: 'EXPRESS_AUTH_ADAPTERS_AUDIENCE' }],
    ]);
    expect(events).toEqual([{ type: 'configuration_warning', adapter: 'backend', message: warnings[0]?.[0] }]);
  });
});

describe('a configuration error names the function', () => {
  it('that got something else than an adapter', () => {
    const message = 'the first argument must be what b2bAuth() or backendAuth() returned';
    expect(() => protectResource({} as never, { path: '/mcp' })).toThrow(`protectResource: ${message}`);
    expect(() => createTokenVerifier((() => undefined) as never, {} as never)).toThrow(
      `createTokenVerifier: ${message}`,
    );
  });

  it('that is mounted below a path, or behind protectedRoutes that redirect', async () => {
    const below = await start((host) => host.use('/api', resource(b2b())));
    expect((await below.askAlone('/api/x')).text).toMatch(
      /^ConfigurationError: protectResource: it is mounted under '\/api'/,
    );
    const auth = b2b({ protectedRoutes: '/mcp(.*)' });
    const behind = await start((host) => {
      host.use(auth as Handler);
      host.use(resource(auth));
    });
    expect((await behind.askAlone('/')).text).toMatch(
      /^ConfigurationError: protectResource: protectedRoutes of b2bAuth\(\) redirects '\/mcp' to the sign-in page/,
    );
  });

  it('whose paths contain one another', () => {
    const auth = b2b();
    protectResource(auth, { path: '/mcp' });
    expect(() => protectResource(auth, { path: '/mcp/admin' })).toThrow(
      "protectResource: path '/mcp/admin' and the path '/mcp' of another resource contain one another",
    );
  });

  it('that found no resource in front', () => {
    expect(() => authInfo({} as never)).toThrow('authInfo: no protectResource() has let this request pass');
  });
});

describe('metadata', () => {
  const root = '/.well-known/oauth-protected-resource';

  it('may be read by pages of other sites that isolate themselves', async () => {
    const { askAlone } = await start((host) => host.use(resource(b2b())));
    for (const path of [`${root}/mcp`, root]) {
      const { status, headers } = await askAlone(path);
      expect([status, headers['cross-origin-resource-policy'], headers['access-control-allow-origin']]).toEqual([
        200,
        'cross-origin',
        '*',
      ]);
    }
  });

  it('of a resource that is the whole application has the path of appBaseUrl, without a slash at its end', async () => {
    const { askAlone } = await start((host) => {
      host.use(resource(b2b({ appBaseUrl: 'https://example.com/base/' }), { path: '/' }));
    });
    for (const path of [root, `${root}/base`]) {
      expect((await askAlone(path)).json).toMatchObject({ resource: 'https://example.com/base' });
    }
    expect((await askAlone('/page')).headers['www-authenticate']).toBe(
      `Bearer resource_metadata="https://example.com/base${root}"`,
    );
  });
});
