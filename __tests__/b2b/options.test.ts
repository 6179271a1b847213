import { randomBytes } from 'node:crypto';
import { jest } from '@jest/globals';
import { b2bAuth, getSession } from '../../lib/b2b/index.ts';
import { readB2bOptions } from '../../lib/b2b/options.ts';
import type { B2bAuthOptions } from '../../lib/b2b/index.ts';
import { demoUsers, startB2bApp, startProvider } from '../support/b2b-app.ts';
import type { B2bApp, B2bAppSetup, SharedProvider } from '../support/b2b-app.ts';
import type { B2bSuiteOptions } from '../support/build-adapter.ts';
import { sendText } from '../support/hosts.ts';
import { itAtRoot } from '../support/only.ts';
import { problemsBy } from '../support/problems.ts';
import { createShared } from '../support/shared-memory.ts';

let provider: SharedProvider;
let app: B2bApp;
const given = { ...process.env };

beforeAll(async () => {
  provider = await startProvider();
});
beforeEach(() => {
  for (const name of Object.keys(process.env))
    if (/B2B|APP_BASE_URL/.test(name)) Reflect.deleteProperty(process.env, name);
});
afterEach(async () => {
  Object.assign(process.env, given);
  provider.workos.switches.outage = {};
  await app.close();
});
afterAll(() => provider.close());

async function start(options: B2bSuiteOptions, setup: Omit<B2bAppSetup, 'options'> = {}): Promise<B2bApp> {
  app = await startB2bApp({ provider, options, ...setup });
  return app;
}

const good = { clientId: 'client_1', apiKey: 'sk_test_1', cookiePassword: 'p'.repeat(32) };

/** Instead of the password that the test app has by default. */
const withoutPassword: B2bAuthOptions = Object.fromEntries([['cookiePassword', undefined]]);

/** Options that an application without TypeScript may pass. */
const problemsOf = (options: unknown): readonly string[] => problemsBy(() => b2bAuth(options as B2bAuthOptions));

describe('environment variables', () => {
  beforeEach(async () => {
    await start({});
  });

  it('replace missing options', async () => {
    const { workos, cookiePassword } = app;
    Object.assign(process.env, {
      B2B_CLIENT_ID: workos.clientId,
      B2B_API_KEY: workos.apiKey,
      B2B_COOKIE_PASSWORD: cookiePassword,
      B2B_API_HOSTNAME: workos.hostname,
      B2B_API_PORT: String(workos.port),
      B2B_API_HTTPS: 'false',
    });
    const fromEnvironment = await startB2bApp({
      provider,
      options: Object.fromEntries(['clientId', 'apiKey', 'cookiePassword', 'apiUrl'].map((name) => [name, undefined])),
    });
    expect((await (await fromEnvironment.signedIn()).getJson('/auth/session')).status).toBe(200);
    await fromEnvironment.close();
  });

  it('are overridden by options', async () => {
    Object.assign(process.env, { B2B_CLIENT_ID: 'client_env', B2B_API_KEY: 'sk_env', B2B_API_HOSTNAME: 'env.example' });
    const other = await startB2bApp({
      provider,
      options: { clientId: 'client_option', apiUrl: 'https://option.example' },
    });
    const url = new URL((await other.visitor().get('/login')).location);
    expect([url.hostname, url.searchParams.get('client_id')]).toEqual(['option.example', 'client_option']);
    await other.close();
  });

  it('apply in the listed order; the first non-empty one wins', async () => {
    const [first, legacy] = [randomBytes(32).toString('hex'), randomBytes(32).toString('hex')];
    const opens = async (password: string): Promise<boolean> => {
      const [reading, writing] = await Promise.all([
        startB2bApp({ provider, options: withoutPassword }),
        startB2bApp({ provider, options: { cookiePassword: password } }),
      ]);
      const cookie = (await writing.signedIn()).cookieHeader();
      const { status } = await reading.visitor().get('/auth/session', { headers: { cookie } });
      await Promise.all([reading.close(), writing.close()]);
      return status === 200;
    };
    Object.assign(process.env, { B2B_COOKIE_PASSWORD: first, LEGACY_B2B_COOKIE_PASSWORD: legacy });
    expect([await opens(first), await opens(legacy)]).toEqual([true, false]);
    process.env['B2B_COOKIE_PASSWORD'] = '';
    expect([await opens(first), await opens(legacy)]).toEqual([false, true]);
  });

  it('do not include APP_BASE_URL, which is the backend adapter’s', async () => {
    process.env['APP_BASE_URL'] = 'https://elsewhere.example';
    const other = await startB2bApp({ provider });
    const url = new URL((await other.visitor().get('/login')).location);
    expect(url.searchParams.get('redirect_uri')).toBe(`${other.origin}/callback`);
    await other.close();
  });
});

describe('parts of apiUrl in the environment', () => {
  const apiUrlOf = (environment: Record<string, string>, options: B2bAuthOptions = {}): string =>
    readB2bOptions({ ...good, ...options }, environment).apiUrl;

  it.each<[string, Record<string, string>]>([
    ['https://api.workos.com', {}],
    ['https://auth.example.com', { B2B_API_HOSTNAME: 'Auth.example.com', B2B_API_HTTPS: 'true' }],
    ['http://localhost:8080', { B2B_API_HOSTNAME: 'localhost', B2B_API_PORT: '8080', B2B_API_HTTPS: 'false' }],
    ['https://api.workos.com:8443', { B2B_API_PORT: '"8443"' }],
  ])('make %s of %j', (expected, environment) => {
    expect(apiUrlOf(environment)).toBe(expected);
    expect(apiUrlOf(environment, { apiUrl: 'https://option.example' })).toBe('https://option.example');
  });

  it.each([
    ['B2B_API_HOSTNAME', 'https://api.workos.com', 'must be a host name without protocol or port'],
    ['B2B_API_HOSTNAME', '256.0.0.1', 'must be a host name without protocol or port'],
    ['B2B_API_PORT', '0', 'must be a port number'],
    ['B2B_API_PORT', '65536', 'must be a port number'],
    ['B2B_API_PORT', 'http', 'must be a port number'],
    ['B2B_API_HTTPS', 'yes', 'must be true or false'],
  ])('that are wrong are named by the variable alone: %s=%s', (name, value, problem) => {
    expect(problemsBy(() => readB2bOptions(good, { [name]: value }))).toEqual([`${name} ${problem}`]);
  });
});

describe('problems', () => {
  beforeEach(async () => {
    await start({});
  });

  it('are all reported at once, each with its option and environment variable, without secret values', () => {
    Object.assign(process.env, { B2B_COOKIE_PASSWORD: 'too short but secret' });
    const problems = problemsOf({ apiKey: 7, callBackPath: '/x', apiUrl: 'abc', sessionPath: '/login' });
    expect(problems).toHaveLength(6);
    for (const part of [
      'clientId (env B2B_CLIENT_ID) is missing: the client id (client_…), under API Keys in the WorkOS dashboard',
      'apiKey (env B2B_API_KEY) must be a string',
      'callBackPath is not an option',
      'apiUrl must be an origin',
      'cookiePassword (env B2B_COOKIE_PASSWORD) must be at least 32 characters',
      "sessionPath and loginPath are both '/login'",
    ]) {
      expect(problems).toContainEqual(expect.stringContaining(part));
    }
    expect(problems.join()).not.toContain('secret');
  });

  it.each(['redirectUri', 'redirect_uri', 'callbackUrl'])('include what to write for %s', (name) => {
    expect(problemsOf({ ...good, [name]: 'https://app.example/callback' })).toEqual([
      `${name} is not an option; write appBaseUrl for its origin, and callbackPath for its path`,
    ]);
  });

  it.each<[string, object]>([
    ['clientId', { clientId: '' }],
    ['apiKey', { apiKey: '' }],
    ['cookiePassword', { cookiePassword: 'p'.repeat(31) }],
    ['cookiePassword', { cookiePassword: ['p'.repeat(32), 'short'] }],
    ['cookiePassword', { cookiePassword: [] }],
    ['cookiePassword', { cookiePassword: { 1: 'p'.repeat(32) } }],
    ['cookieName', { cookieName: 'a b' }],
    ['cookieName', { cookieName: '' }],
    ['cookieOptions.maxAge', { cookieOptions: { maxAge: 0 } }],
    ['cookieOptions.maxAge', { cookieOptions: { maxAge: 401 * 86_400 } }],
    ['cookieOptions.sameSite', { cookieOptions: { sameSite: 'Lax' } }],
    ['cookieOptions.httpOnly', { cookieOptions: { httpOnly: false } }],
    ['cookieOptions.domain', { cookieOptions: { domain: 'a; Secure' } }],
    ['cookieOptions.path', { cookieOptions: { path: 'app' } }],
    ['loginPath', { loginPath: 'login' }],
    ['loginPath', { loginPath: '/' }],
    ['loginPath', { loginPath: '/login/' }],
    ['loginPath', { loginPath: '/:id' }],
    ['signUpPath', { signUpPath: '/a/../b' }],
    ['callbackPath', { callbackPath: 'https://app.example/callback' }],
    ['logoutPath', { logoutPath: '/logout?x' }],
    ['sessionPath', { sessionPath: 5 }],
    ['paths.organization', { paths: { organization: '/LOGIN' } }],
    ['paths.organization', { paths: { organization: 5 } }],
    ['paths', { paths: '/organization' }],
    ['organizationId', { organizationId: '' }],
    ['logoutReturnTo', { logoutReturnTo: '//evil.example' }],
    ['logoutReturnTo', { logoutReturnTo: 'javascript:alert(1)' }],
    ['apiUrl', { apiUrl: 'api.workos.com' }],
    ['apiUrl', { apiUrl: 'https://api.workos.com/' }],
    ['apiUrl', { apiUrl: 'https://user:secret@api.workos.com' }],
    ['apiUrl', { apiUrl: 8080 }],
    ['issuer', { issuer: 5 }],
    ['sessionMaxAge', { sessionMaxAge: 0 }],
    ['onSignIn', { onSignIn: 'x' }],
    ['onEvent', { onEvent: {} }],
    ['onError', { onError: true }],
    ['appBaseUrl', { appBaseUrl: 'app.example' }],
    ['appBaseUrl', { appBaseUrl: 'ftp://app.example' }],
    ['appBaseUrl', { appBaseUrl: 'https://app.example?a=1' }],
    ['appBaseUrl', { appBaseUrl: 'https://app.example/#a' }],
    ['appBaseUrl', { appBaseUrl: 'https://user:secret@app.example' }],
    ['protectedRoutes', { protectedRoutes: 'dashboard' }],
    ['protectedRoutes', { protectedRoutes: ['/a', '/(.*)/b'] }],
    ['protectedRoutes', { protectedRoutes: 5 }],
    ['trustedOrigins', { trustedOrigins: ['https://a.example/'] }],
    ['trustedOrigins', { trustedOrigins: ['*'] }],
    ['trustedOrigins', { trustedOrigins: 'https://a.example' }],
    ['timeoutMs', { timeoutMs: 5 }],
    ['refreshWindow', { refreshWindow: -1 }],
    ['coordinator', { coordinator: {} }],
    ['fetch', { fetch: 'x' }],
    ['now', { now: 5 }],
  ])('include %s for %j', (option, change) => {
    const problems = problemsOf({ ...good, ...change });
    expect(problems).toHaveLength(1);
    expect(problems[0]).toContain(option);
    expect(problems[0]).not.toContain('secret');
  });

  it.each([null, 'client_1', 7, [], () => undefined])('include that options must be an object, for %p', (options) => {
    if (options === null) process.env['B2B_CLIENT_ID'] = 'client_1';
    expect(problemsOf(options)).toEqual(['options must be an object']);
  });

  it.each(['sk_test_1 ', '"sk_test_1"', 'sk_test_1\n', 'sk_test\u2028_1'])(
    'with a copy that brought something with it say so: %j',
    (value) => {
      const said = 'holds blanks, quotes or a line break';
      const problems = problemsOf({
        ...good,
        clientId: value.replace('sk_test', 'client'),
        apiKey: value,
        organizationId: value,
      });
      expect(problems).toEqual([
        expect.stringContaining(`clientId (env B2B_CLIENT_ID) ${said}`),
        expect.stringContaining(`apiKey (env B2B_API_KEY) ${said}`),
        expect.stringContaining(`organizationId ${said}`),
      ]);
    },
  );

  it('never show a part of a key or password', () => {
    const secrets = { apiKey: 'sk_live_verysecret', cookiePassword: 'verysecret' };
    try {
      b2bAuth({ ...secrets, clientId: '' });
      throw new Error('It started');
    } catch (error) {
      expect(`${String(error)} ${JSON.stringify(error)} ${(error as Error).stack}`).not.toContain('verysecret');
    }
  });
});

describe('the development fallback password', () => {
  const nodeEnv = process.env['NODE_ENV'];
  let warn: jest.SpiedFunction<typeof process.emitWarning>;
  beforeEach(() => {
    warn = jest.spyOn(process, 'emitWarning').mockImplementation(() => undefined);
  });
  afterEach(() => {
    warn.mockRestore();
    process.env['NODE_ENV'] = nodeEnv;
  });

  it('survives a restart, and differs with the API key', async () => {
    const [first, second] = [await start(withoutPassword), await startB2bApp({ provider, options: withoutPassword })];
    const cookie = (await first.signedIn()).cookieHeader();
    const stranger = await startB2bApp({ provider, options: { ...withoutPassword, apiKey: 'sk_test_another' } });
    expect((await second.visitor().get('/auth/session', { headers: { cookie } })).status).toBe(200);
    expect((await stranger.visitor().get('/auth/session', { headers: { cookie } })).status).toBe(401);
    await Promise.all([second.close(), stranger.close()]);
  });

  it('is announced once, without printing itself or the key', async () => {
    const { workos, events } = await start(withoutPassword);
    await app.signedIn();
    const isAboutPassword = (text: unknown): boolean => String(text).includes('B2B_COOKIE_PASSWORD');
    const announced = warn.mock.calls.filter(([message]) => isAboutPassword(message));
    expect(announced).toHaveLength(1);
    expect(JSON.stringify([announced, events])).not.toContain(workos.apiKey);
    expect(events.filter((event) => isAboutPassword(JSON.stringify(event)))).toHaveLength(1);
  });

  it.each([
    ['"production"', '0123456'.repeat(5), 1],
    ['production', '01234567'.repeat(4), 0],
    ['development', 'p'.repeat(32), 0],
  ])('in %s, one that is easy to guess (%s) is as many process warnings: %d', async (mode, password, count) => {
    await start({});
    warn.mockClear();
    process.env['NODE_ENV'] = mode;
    b2bAuth({ ...good, cookiePassword: [randomBytes(32).toString('hex'), password] });
    const message =
      'b2bAuth: a cookiePassword is easy to guess. Set B2B_COOKIE_PASSWORD to the output of: openssl rand -base64 32';
    expect(warn.mock.calls).toEqual(Array(count).fill([message, { code: 'B2B_COOKIE_PASSWORD' }]));
  });

  it('does not exist in production', async () => {
    await start({});
    process.env['NODE_ENV'] = 'production';
    expect(problemsOf({ clientId: 'client_1', apiKey: 'sk_1' })).toEqual([expect.stringContaining('cookiePassword')]);
    expect(problemsOf({})).toHaveLength(3);
    process.env['B2B_COOKIE_PASSWORD'] = '';
    expect(problemsOf({ clientId: 'client_1', apiKey: 'sk_1' })).toHaveLength(1);
    process.env['LEGACY_B2B_COOKIE_PASSWORD'] = randomBytes(32).toString('hex');
    expect(problemsOf({ clientId: 'client_1', apiKey: 'sk_1' })).toEqual([]);
    expect(warn).not.toHaveBeenCalled();
  });
});

describe('each option', () => {
  const sessionLine = (lines: readonly string[]): string => lines.find((line) => line.startsWith('b2b-session=')) ?? '';

  async function signInLines(options: B2bAuthOptions): Promise<readonly string[]> {
    const { workos } = await start(options);
    const visitor = app.visitor();
    const begin = await visitor.get('/login');
    const url = new URL((await workos.authorize(begin.location, { user: demoUsers.personal })).href);
    return (await visitor.get(url.pathname + url.search)).setCookies;
  }

  it('cookieOptions: domain, path, sameSite, secure and maxAge', async () => {
    const line = sessionLine(
      await signInLines({
        cookieOptions: { domain: 'example.com', path: '/app', sameSite: 'strict', secure: true, maxAge: 3600 },
      }),
    );
    expect(line.split('; ').slice(1).sort()).toEqual([
      'Domain=example.com',
      'HttpOnly',
      'Max-Age=3600',
      'Path=/app',
      'SameSite=Strict',
      'Secure',
    ]);
  });

  it('cookieOptions.domain: sign-out deletes the cookie for its own domain and for this host, where it was set before', async () => {
    await start({ cookieOptions: { domain: 'example.com' } });
    const visitor = app.visitor();
    visitor.cookies.set('b2b-session', 'set before').set('b2b-session.0', 'set before');
    const lines = (await visitor.post('/logout')).setCookies;
    expect(lines.map((line) => [line.split('=')[0], line.includes('Domain=example.com')])).toEqual([
      ['b2b-session', true],
      ['b2b-session', false],
      ['b2b-session.0', true],
      ['b2b-session.0', false],
    ]);
  });

  it('cookieOptions.maxAge null: a cookie that ends with the browser', async () => {
    const line = sessionLine(await signInLines({ cookieOptions: { maxAge: null } }));
    expect(line).not.toMatch(/Max-Age|Expires/);
  });

  it('cookieOptions.sameSite none: always secure, as browsers require', async () => {
    const lines = await signInLines({ cookieOptions: { sameSite: 'none' } });
    expect(sessionLine(lines)).toMatch(/SameSite=None/);
    for (const line of lines) expect(line).toContain('Secure');
  });

  it('appBaseUrl: the public origin, whatever the request claims', async () => {
    const { workos } = await start({ appBaseUrl: 'https://app.example.com/' });
    const visitor = app.visitor();
    const begin = await visitor.get('/login');
    expect(new URL(begin.location).searchParams.get('redirect_uri')).toBe('https://app.example.com/callback');
    expect(begin.setCookies[0]).toContain('Secure');
    workos.redirectUris.push('https://app.example.com/callback');
    const { pathname, search } = await workos.authorize(begin.location, { user: demoUsers.personal });
    expect(sessionLine((await visitor.get(pathname + search)).setCookies)).toContain('Secure');
    const out = await visitor.post('/logout', { headers: { origin: 'https://app.example.com' } });
    expect(new URL(out.location).searchParams.get('return_to')).toBe('https://app.example.com/');
  });

  itAtRoot('appBaseUrl with a path: the path appears once, whether or not it includes the mount path', async () => {
    for (const [appBaseUrl, expected] of [
      ['https://example.com/app', 'https://example.com/app/callback'],
      ['https://example.com', 'https://example.com/app/callback'],
      ['https://example.com/proxy/app/', 'https://example.com/proxy/app/callback'],
      ['https://example.com/myapp', 'https://example.com/myapp/app/callback'],
    ] as const) {
      await start({ appBaseUrl }, { prefix: '/app' });
      const begin = await app.visitor().get('/app/login');
      expect(new URL(begin.location).searchParams.get('redirect_uri')).toBe(expected);
      await app.close();
    }
  });

  it('trustedOrigins: may post, whatever the letter case of the option', async () => {
    await start({ trustedOrigins: ['https://WWW.example.com'] });
    const headers = { origin: 'https://www.example.com', 'sec-fetch-site': 'same-site' };
    expect((await app.visitor().post('/logout', { headers })).status).toBe(303);
    const stranger = { origin: 'https://evil.example.com', 'sec-fetch-site': 'same-site' };
    expect((await app.visitor().post('/logout', { headers: stranger })).status).toBe(403);
  });

  it('pathPrefix: the URL of the pages’ stylesheet, too', async () => {
    await start({ pathPrefix: '/v1' });
    const page = await app.visitor().get('/v1/callback');
    expect(page.text).toContain('href="/v1/pages.css?v=');
    const sheet = await app.visitor().get('/v1/pages.css');
    expect([sheet.status, sheet.headers['content-type']]).toEqual([200, 'text/css; charset=utf-8']);
    expect((await app.visitor().get('/auth/pages.css')).status).toBe(404);
  });

  it('timeoutMs: the time limit for a provider that does not answer', async () => {
    const { workos } = await start({ timeoutMs: 100 });
    const visitor = app.visitor();
    const begin = await visitor.get('/login');
    const callback = await workos.authorize(begin.location, { user: demoUsers.personal });
    workos.switches.outage = { token: 'hang' };
    const answer = await visitor.get(callback.href);
    expect([answer.status, answer.headers['retry-after']]).toEqual([503, '5']);
  });

  it('issuer: the accepted issuers of the token', async () => {
    const { issuer } = provider.workos;
    for (const [option, status] of [
      [issuer, 303],
      [['https://auth.example.com', issuer], 303],
      ['https://auth.example.com', 502],
    ] as const) {
      await start({ issuer: option });
      const visitor = app.visitor();
      const callback = await app.workos.authorize((await visitor.get('/login')).location, {
        user: demoUsers.personal,
      });
      expect((await visitor.get(callback.href)).status).toBe(status);
      await app.close();
    }
  });

  it('sessionMaxAge: the session ends for good, despite refreshes', async () => {
    const { clock } = await start({ sessionMaxAge: 3_600 });
    const visitor = await app.signedIn();
    for (let minutes = 10; minutes < 60; minutes += 10) {
      clock.advance(600_000);
      expect((await visitor.getJson('/auth/session')).status).toBe(200);
    }
    clock.advance(600_000);
    expect((await visitor.getJson('/auth/session')).status).toBe(401);
    expect(visitor.cookies.size).toBe(0);
  });

  it('refreshWindow: renews ahead of time', async () => {
    const { clock, workos } = await start({ refreshWindow: 20 });
    const visitor = await app.signedIn();
    workos.clearRequests();
    clock.advance(279_000);
    await visitor.getJson('/auth/session');
    expect(workos.tokenCalls).toBe(0);
    clock.advance(2_000);
    await visitor.getJson('/auth/session');
    await workos.arrived('token');
    expect(workos.tokenCalls).toBe(1);
  });

  it.each([
    [10, 1],
    [0, 3],
  ])('with %d cached sessions, of three requests %d are verified', async (maxCachedSessions, expected) => {
    // Cached sessions are one object for all requests; verified ones are created anew.
    const sessions = new Set<unknown>();
    await start(
      { maxCachedSessions },
      {
        after: (host) =>
          host.use('/seen', async (req, res) => {
            sessions.add(await getSession(req));
            sendText(res, 'seen');
          }),
      },
    );
    const visitor = await app.signedIn();
    for (let request = 0; request < 3; request += 1) expect((await visitor.get('/seen')).status).toBe(200);
    expect([sessions.has(null), sessions.size]).toEqual([false, expected]);
  });

  it('coordinator: runs refreshes and receives sign-outs', async () => {
    const calls: string[] = [];
    const shared = createShared();
    const { clock } = await start({
      coordinator: {
        ...shared,
        take(token, turn) {
          calls.push(`take ${token.replace(/[\w-]{43}$/, '#')}`);
          return shared.take(token, turn);
        },
        merge: async (_subject, change) => void calls.push(`merge ${Object.keys(change).join(' ')}`),
      },
    });
    const visitor = await app.signedIn();
    clock.advance(310_000);
    expect((await visitor.getJson('/auth/session')).status).toBe(200);
    await visitor.post('/logout');
    expect(calls).toEqual(['take b2b:#', 'merge signedOut']);
  });

  it('fetch: makes every call to the provider', async () => {
    const urls: string[] = [];
    await start({
      fetch: (input, init) => {
        urls.push(new URL(String(input instanceof Request ? input.url : input)).pathname);
        return fetch(input, init);
      },
    });
    await (await app.signedIn()).getJson('/auth/session');
    expect(urls).toEqual(['/user_management/authenticate', '/sso/jwks/client_test']);
  });

  it('now: is the clock, to which a session expires', async () => {
    let ahead = 0;
    await start({ now: () => provider.clock.now() + ahead });
    const visitor = await app.signedIn();
    provider.workos.switches.outage = { token: 'refuse' };
    expect((await visitor.getJson('/auth/session')).status).toBe(200);
    ahead = 310_000;
    expect((await visitor.getJson('/auth/session')).status).toBe(503);
  });
});

it('two instances live side by side, each with its own cookie and provider', async () => {
  await start({});
  const other = await startB2bApp({ options: { cookieName: 'other' } });
  const [one, two] = [await app.signedIn(), await other.signedIn(demoUsers.oneOrganization)];
  const cookie = `${one.cookieHeader()}; ${two.cookieHeader()}`;
  const emails = await Promise.all(
    [app, other].map(
      async (each) => (await each.visitor().get('/auth/session', { headers: { cookie } })).json.user.email,
    ),
  );
  expect(emails).toEqual([demoUsers.personal.email, demoUsers.oneOrganization.email]);
  const wrong = await app
    .visitor()
    .get('/auth/session', { headers: { cookie: `b2b-session=${two.cookies.get('other')}` } });
  expect(wrong.status).toBe(401);
  await other.close();
});

describe('swapped keys', () => {
  beforeEach(async () => {
    await start({});
  });

  it('are refused at start-up without being printed, also from the environment', () => {
    const wrong = { clientId: 'sk_live_secret', apiKey: 'client_01SECRET', cookiePassword: good.cookiePassword };
    const expected = [
      'clientId (env B2B_CLIENT_ID) holds an API key (sk_…); it must be the client id (client_…)',
      'apiKey (env B2B_API_KEY) holds a client id (client_…); it must be an API key (sk_…)',
    ];
    expect(problemsOf(wrong)).toEqual(expected);
    expect(problemsOf({ ...good, clientId: ' sk_test_x' })).toContain(expected[0]);
    Object.assign(process.env, { B2B_CLIENT_ID: wrong.clientId, B2B_API_KEY: wrong.apiKey });
    expect(problemsOf({ cookiePassword: good.cookiePassword })).toEqual(expected);
  });
});

describe('authorizationParams', () => {
  it.each([
    'state',
    'redirect_uri',
    'client_id',
    'code_challenge',
    'response_type',
    'organization_id',
    'prompt',
    'state[]',
  ])('must not set %s, which the sign-in sets itself', (name) => {
    expect(problemsOf({ ...good, authorizationParams: { [name]: 'x' } })).toEqual([
      `authorizationParams must not set ${name}: the sign-in sets this itself`,
    ]);
  });

  it.each([['x'], 'connection_id=1', { connection_id: 1 }, { 'Connection Id': 'x' }, { 'a&b': 'x' }])(
    'must be an object of parameters, not %j',
    (value) => {
      expect(problemsOf({ ...good, authorizationParams: value })).toHaveLength(1);
    },
  );
});
