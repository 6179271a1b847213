import { jest } from '@jest/globals';
import { b2bAuth, backendAuth, createTokenVerifier, protectResource } from '../../../lib/index.ts';
import type { B2bAuthOptions, BackendAuthOptions, ProtectResourceOptions } from '../../../lib/index.ts';
import { readB2bOptions } from '../../../lib/b2b/options.ts';
import { createB2bTestKit, createBackendTestKit } from '../../../lib/testing/index.ts';
import { withNodeEnv } from '../../support/node-env.ts';
import { problemsBy } from '../../support/problems.ts';

const kits = { b2b: createB2bTestKit(), backend: createBackendTestKit() };
const b2b = (options: B2bAuthOptions = {}) => b2bAuth({ ...kits.b2b.options, ...options });
const backend = (options: BackendAuthOptions = {}) => backendAuth({ ...kits.backend.options, ...options });

const ofB2b = (options: object) => problemsBy(() => protectResource(b2b(), options as ProtectResourceOptions));
const ofBackend = (options: object) =>
  problemsBy(() => protectResource(backend(), { audience: 'authenticated', ...options } as ProtectResourceOptions));

describe('protectResource', () => {
  it('needs what an adapter returned', () => {
    for (const auth of [undefined, null, {}, () => undefined, kits.b2b]) {
      expect(problemsBy(() => protectResource(auth as never, { path: '/mcp' }))).toEqual([
        'the first argument must be what b2bAuth() or backendAuth() returned',
      ]);
    }
  });

  it('needs an object with a path', () => {
    for (const options of [undefined, null, '/mcp', ['/mcp']]) {
      expect(ofB2b(options as never)).toEqual(["options must be an object, such as { path: '/mcp' }"]);
    }
    expect(() => protectResource(b2b(), {} as ProtectResourceOptions)).toThrow(/^protectResource: path is missing/);
    expect(ofB2b({})).toEqual(['path is missing: the path of the resource, such as /mcp']);
    expect(ofB2b({ path: undefined })).toEqual(['path is undefined; give it a value or leave it out']);
  });

  it.each(['/', '/mcp', '/MCP', '/a/b/c', '/v1.0/mcp', '/.hidden', '/a~b_c-d'])('takes the path %s', (path) => {
    expect(ofB2b({ path })).toEqual([]);
  });

  it.each([
    'mcp',
    '',
    '//mcp',
    '/mcp/',
    '/a//b',
    '/a/../b',
    '/..',
    '/.',
    '/mcp?x',
    '/mcp#x',
    '/m cp',
    '/m%63p',
    '/:id',
    '/mcp(.*)',
    '/"',
    '/é',
    'https://x.test/mcp',
    1,
  ])('refuses the path %p', (path) => {
    expect(ofB2b({ path })).toEqual([expect.stringMatching(/^path must be a root-relative path/)]);
  });

  it('names every problem at once, and undefined values and unknown options too', () => {
    const found = ofB2b({
      path: 'x',
      scopes: [],
      attach: 1,
      check: undefined,
      audience: undefined,
      scope: 'x',
      firstParty: true,
    });
    expect(found).toHaveLength(7);
    for (const name of [
      'path',
      'scopes',
      'attach',
      'check is undefined',
      'audience is undefined',
      'scope is not an option',
      'firstParty belongs to backendAuth()',
    ]) {
      expect(found).toContainEqual(expect.stringContaining(name));
    }
  });

  it.each([
    [{ clients: [] }, /^clients must be 'any', a list/],
    [{ clients: [''] }, /^clients\.0 must|^clients must/],
    [{ clients: 'all' }, /^clients must/],
    [{ clients: true }, /^clients must/],
    [{ scopes: ['a b'] }, /^scopes/],
    [{ scopes: ['a"b'] }, /^scopes/],
    [{ scopes: ['a\\b'] }, /^scopes/],
    [{ scopes: ['a\r\nb'] }, /^scopes/],
    [{ scopes: 'a' }, /^scopes must/],
    [{ audience: '' }, /^audience is empty/],
    [{ audience: ['x'] }, /^audience must/],
    [{ authorizationServer: 'auth.example.com' }, /^authorizationServer must/],
    [{ authorizationServer: 'https://a.example?x' }, /^authorizationServer must/],
    [{ check: true }, /^check must be a function/],
    [{ firstParty: 'yes', clients: 'any' }, /^firstParty must be true or false/],
  ])('refuses %p', (options, message) => {
    expect(ofBackend({ path: '/mcp', clients: 'any', ...options })).toEqual([expect.stringMatching(message)]);
  });

  it('needs authkitDomain of b2bAuth', () => {
    const auth = b2bAuth({ ...kits.b2b.options, authkitDomain: undefined });
    expect(problemsBy(() => protectResource(auth, { path: '/mcp' }))).toEqual([
      expect.stringMatching(/^authkitDomain \(env B2B_AUTHKIT_DOMAIN\) of b2bAuth\(\) is missing/),
    ]);
  });

  it('needs clients with backendAuth, and firstParty needs all of them', () => {
    expect(ofBackend({ path: '/mcp' })).toEqual([expect.stringMatching(/^clients is missing/)]);
    expect(ofBackend({ path: '/mcp', clients: ['c'], firstParty: true })).toEqual(["firstParty needs clients: 'any'"]);
    expect(ofBackend({ path: '/mcp', clients: () => true, firstParty: true })).toEqual([
      "firstParty needs clients: 'any'",
    ]);
    expect(ofBackend({ path: '/mcp', clients: ['c'], firstParty: false })).toEqual([]);
  });

  it.each(['/auth', '/auth/login', '/AUTH/session'])(
    'refuses a path that covers the adapter’s own routes: %s',
    (path) => {
      expect(ofBackend({ path, clients: 'any' })[0]).toMatch(
        /^path covers '\/auth\/\w+', which is \w+Path of the adapter/,
      );
    },
  );

  it('refuses resources of an adapter that contain one another', () => {
    const auth = b2b();
    protectResource(auth, { path: '/mcp' });
    protectResource(auth, { path: '/mcp' });
    protectResource(auth, { path: '/mcp-two' });
    for (const path of ['/mcp/admin', '/']) {
      expect(problemsBy(() => protectResource(auth, { path }))).toEqual([expect.stringMatching(/contain one another/)]);
    }
  });

  it('in production needs an origin that callers do not choose', async () => {
    await withNodeEnv('production', () => {
      // The kits refuse to run there.
      const options = {
        clientId: 'client_1',
        apiKey: 'sk_1',
        cookiePassword: 'x'.repeat(32),
        authkitDomain: 'a.authkit.app',
      };
      const at = (more: B2bAuthOptions, resource: object = {}) =>
        problemsBy(() => protectResource(b2bAuth({ ...options, ...more }), { path: '/mcp', ...resource }));
      expect(at({})).toEqual([expect.stringMatching(/in production the audience must not follow the Host header/)]);
      expect(at({ appBaseUrl: 'https://app.example.com' })).toEqual([]);
      expect(at({}, { audience: 'https://app.example.com/mcp' })).toEqual([]);
      // Supabase's tokens name no resource, so that no header decides about theirs.
      expect(problemsBy(() => protectResource(backend(), { path: '/mcp', clients: 'any' }))).toEqual([]);
      expect(
        problemsBy(() =>
          createTokenVerifier(b2bAuth(options), { InvalidTokenError: Error, resource: 'https://x.test/mcp' }),
        ),
      ).toEqual([]);
    });
  });

  it('warns once for each backendAuth that Supabase binds no token to a resource', () => {
    const messages: string[] = [];
    const warn = jest.spyOn(process, 'emitWarning').mockImplementation(() => undefined);
    const auth = backend({
      onEvent: (event) => event.type === 'configuration_warning' && messages.push(event.message),
    });
    protectResource(auth, { path: '/one', clients: 'any' });
    protectResource(auth, { path: '/two', clients: 'any' });
    createTokenVerifier(auth, { InvalidTokenError: Error, resource: 'https://x.test/mcp', clients: 'any' });
    expect(messages).toEqual([
      expect.stringMatching(/^backendAuth: Supabase does not bind access tokens to a resource.*docs\/mcp\.md$/),
    ]);
    expect(warn.mock.calls).toEqual([[messages[0], { code: 'EXPRESS_AUTH_ADAPTERS_AUDIENCE' }]]);
    warn.mockRestore();
    const bound: unknown[] = [];
    protectResource(backend({ onEvent: (event) => bound.push(event) }), {
      path: '/mcp',
      clients: 'any',
      audience: 'x',
    });
    protectResource(b2b({ onEvent: (event) => bound.push(event) }), { path: '/mcp' });
    expect(bound).toEqual([]);
  });
});

describe('authkitDomain', () => {
  const read = (authkitDomain: unknown) => () =>
    readB2bOptions({ ...kits.b2b.options, authkitDomain: authkitDomain as string }, {}).authkitDomain;

  it.each([
    ['example.authkit.app', 'https://example.authkit.app'],
    ['Example.AuthKit.app', 'https://example.authkit.app'],
    ['https://example.authkit.app', 'https://example.authkit.app'],
    ['https://example.authkit.app/', 'https://example.authkit.app'],
    ['https://auth.example.com:8443', 'https://auth.example.com:8443'],
    ['auth.example.com:8443', 'https://auth.example.com:8443'],
    ['http://localhost:4100', 'http://localhost:4100'],
    ['http://127.0.0.1:4100', 'http://127.0.0.1:4100'],
    ['http://[::1]:4100', 'http://[::1]:4100'],
  ])('reads %s as the issuer %s', (given, origin) => {
    expect(read(given)()).toBe(origin);
  });

  it.each([
    'http://example.authkit.app',
    'http://localhost.example.com',
    'http://127.0.0.1.example.com',
    'https://example.authkit.app/oauth2',
    'https://example.authkit.app?x',
    'https://user:secret@example.authkit.app',
    'example.authkit.app/x',
    'ftp://example.authkit.app',
    'javascript:alert(1)',
    ' example.authkit.app',
    'example authkit app',
    '"example.authkit.app"',
    'https://',
    'https://example.authkit.app//',
    1,
  ])('refuses %p', (given) => {
    expect(read(given)).toThrow(
      /authkitDomain \(env B2B_AUTHKIT_DOMAIN\) must be a host such as example\.authkit\.app/,
    );
  });

  it('comes from B2B_AUTHKIT_DOMAIN where the option is not given', () => {
    const options = { ...kits.b2b.options, authkitDomain: undefined };
    const env = { B2B_AUTHKIT_DOMAIN: 'env.authkit.app' };
    expect(readB2bOptions(options, env).authkitDomain).toBe('https://env.authkit.app');
    expect(readB2bOptions({ ...options, authkitDomain: 'own.authkit.app' }, env).authkitDomain).toBe(
      'https://own.authkit.app',
    );
    expect(readB2bOptions(options, {}).authkitDomain).toBeUndefined();
  });
});
