import { inspect } from 'node:util';
import { jest } from '@jest/globals';
import { b2bAuth } from '../../lib/b2b/index.ts';
import { sendText } from '../support/hosts.ts';
import { createVisitor } from '../support/visitor.ts';
import type { Answer } from '../support/visitor.ts';
import { demoUsers, startB2bApp, startProvider } from '../support/b2b-app.ts';
import type { B2bApp, SharedProvider } from '../support/b2b-app.ts';
import { itAtRoot } from '../support/only.ts';

let provider: SharedProvider;
let app: B2bApp;
beforeAll(async () => {
  provider = await startProvider();
  app = await startB2bApp({
    provider,
    after: (host) => host.get(['/welcome', '/dashboards'], (_req, res) => sendText(res, 'a page')),
  });
});
afterAll(async () => {
  await app.close();
  await provider.close();
});

const json = { accept: 'application/json' };

function isAtProvider(url: string): boolean {
  return url.startsWith(`${app.workos.url}/user_management/authorize?`);
}

describe('rule 1: /login and /signup start hosted sign-in and sign-up', () => {
  it.each([
    ['/login', 'sign-in'],
    ['/signup', 'sign-up'],
  ])('redirects a document at %s straight to the provider', async (path, screen) => {
    const answer = await app.visitor().get(path, { headers: { accept: 'text/html', 'sec-fetch-mode': 'navigate' } });
    expect(answer.status).toBe(302);
    expect(isAtProvider(answer.location)).toBe(true);
    expect(new URL(answer.location).searchParams.get('screen_hint')).toBe(screen);
  });

  it.each(['/login', '/signup'])('answers the typed client at %s with { redirectTo }', async (path) => {
    const answer = await app.visitor().getJson(path);
    expect(answer.status).toBe(200);
    expect(Object.keys(answer.json)).toEqual(['redirectTo']);
    expect(isAtProvider(answer.json.redirectTo)).toBe(true);
  });

  it.each(['/login', '/signup'])('returns the visitor of %s to returnTo, with query and fragment', async (path) => {
    const visitor = app.visitor();
    const start = await visitor.get(`${path}?returnTo=${encodeURIComponent('/welcome?a=1&b=%20x#part')}`);
    const callback = await app.workos.authorize(start.location, { user: demoUsers.personal });
    const done = await visitor.get(callback.href);
    expect([done.status, done.headers.location]).toEqual([303, '/welcome?a=1&b=%20x#part']);
  });

  it.each([
    'https://evil.example/',
    '//evil.example',
    '/\\evil.example',
    '/\t/evil.example',
    '/.//evil.example',
    'welcome',
    '',
    '/login',
    '/LOGIN/?again',
    '/%6Cogin',
    '/x/../logout',
    '/auth/session',
    '/auth/pages.css',
  ])('redirects to the start page instead of to %j', async (returnTo) => {
    const visitor = app.visitor();
    const start = await visitor.get(`/login?${new URLSearchParams({ returnTo }).toString()}`);
    const callback = await app.workos.authorize(start.location, { user: demoUsers.personal });
    expect((await visitor.get(callback.href)).headers.location).toBe('/');
  });

  itAtRoot('redirects to the start page instead of to a path of more than 2,048 characters', async () => {
    const visitor = app.visitor();
    const longest = `/${'a'.repeat(2047)}`;
    for (const [returnTo, expected] of [
      [longest, longest],
      [`${longest}a`, '/'],
    ] as const) {
      const start = await visitor.get(`/login?returnTo=${returnTo}`);
      const callback = await app.workos.authorize(start.location, { user: demoUsers.personal });
      expect((await visitor.get(callback.href)).headers.location).toBe(expected);
    }
  });
});

describe('rule 2: the redirect URI is the request’s origin plus the callback path', () => {
  const redirectUri = (answer: Answer): string | null => new URL(answer.location).searchParams.get('redirect_uri');

  it('is absolute and names the host that the visitor used', async () => {
    const visitor = app.visitor();
    expect(redirectUri(await visitor.get('/login'))).toBe(`${app.origin}/callback`);
    const named = await visitor.get('/signup', { headers: { host: `localhost:${app.port}` } });
    expect(redirectUri(named)).toBe(`${app.origin.replace('127.0.0.1', 'localhost')}/callback`);
  });

  it('follows callbackPath', async () => {
    const other = await startB2bApp({ provider, options: { callbackPath: '/auth/workos/return' } });
    const start = await other.visitor().get('/login');
    expect(redirectUri(start)).toBe(`${other.origin}/auth/workos/return`);
    await other.close();
  });
});

describe('rule 3: the callback exchanges the code and stores the session sealed', () => {
  it('exchanges the code once, with the verifier, and keeps nothing readable in the cookie', async () => {
    app.workos.clearRequests();
    const visitor = await app.signedIn(demoUsers.oneOrganization);
    const [exchange, ...others] = app.workos.requests.filter(({ endpoint }) => endpoint === 'token');
    expect(others).toEqual([]);
    expect(exchange?.body).toMatchObject({ grant_type: 'authorization_code', client_id: app.workos.clientId });
    expect(exchange?.body['code_verifier']).toMatch(/^[\w-]{43}$/);

    expect([...visitor.cookies.keys()]).toEqual(['b2b-session']);
    const sealed = visitor.cookies.get('b2b-session') ?? '';
    expect(sealed).toMatch(/^Fe26\.2\*1\*/);
    for (const part of sealed.split(/[*~]/)) {
      expect(Buffer.from(part, 'base64url').toString('latin1')).not.toMatch(/grace|org_|accessToken|eyJ/);
    }
    expect((await visitor.getJson('/auth/session')).status).toBe(200);
  });
});

describe('rule 4: logout clears the local cookie first and then goes through the provider', () => {
  it('redirects a document to the provider’s logout, which ends the session and leads to the start page', async () => {
    const visitor = await app.signedIn();
    const { sessionId } = (await visitor.getJson('/auth/session')).json;
    const out = await visitor.post('/logout');
    expect(out.status).toBe(303);
    expect(visitor.cookies.has('b2b-session')).toBe(false);
    const target = new URL(out.location);
    expect(target.origin + target.pathname).toBe(`${app.workos.url}/user_management/sessions/logout`);
    expect(target.searchParams.get('session_id')).toBe(sessionId);

    const home = await fetch(target, { redirect: 'manual' });
    expect(home.headers.get('location')).toBe(`${app.origin}/`);
    expect(app.workos.isSessionActive(sessionId)).toBe(false);
  });

  it('redirects a request without a session to the application’s origin', async () => {
    const out = await app.visitor().post('/logout');
    expect([out.status, out.headers.location]).toEqual([303, `${app.origin}/`]);
  });

  it('answers the typed client with { redirectTo }, with or without a body', async () => {
    const visitor = await app.signedIn();
    const out = await visitor.post('/logout', { headers: json });
    expect(out.status).toBe(200);
    expect(Object.keys(out.json)).toEqual(['redirectTo']);
    expect(out.json.redirectTo).toContain('/user_management/sessions/logout?');
    expect(visitor.cookies.size).toBe(0);
    expect((await visitor.postJson('/logout')).json).toEqual({ redirectTo: `${app.origin}/` });
  });
});

describe('rule 5: the session read', () => {
  it('returns exactly the listed fields, and null for what the user did not provide', async () => {
    const { sessionId, ...session } = (await (await app.signedIn()).getJson('/auth/session')).json;
    expect(sessionId).toMatch(/^session_/);
    const { id, email, firstName, lastName } = demoUsers.personal;
    expect(session).toEqual({
      authenticated: true,
      user: { id, email, firstName, lastName, profilePictureUrl: null },
    });

    const nameless = { id: 'user_01NAMELESS', email: 'n@example.com', firstName: null, lastName: null };
    const user = { ...nameless, profilePictureUrl: 'https://images.example/n.png', organizations: [] };
    app.workos.users.set(user.id, user);
    const read = await (await app.signedIn(user)).getJson('/auth/session');
    expect(read.json.user).toEqual({ ...nameless, profilePictureUrl: 'https://images.example/n.png' });
  });

  it('returns the organization, and omits the field for a personal session', async () => {
    const visitor = await app.signedIn(demoUsers.oneOrganization);
    const { organizationId } = (await visitor.getJson('/auth/session')).json;
    expect(organizationId).toBe(demoUsers.oneOrganization.organizations[0].id);
    expect((await (await app.signedIn()).getJson('/auth/session')).json).not.toHaveProperty('organizationId');
  });

  it.each(['text/html', 'application/json', '*/*'])('is 401 in JSON without a session, for %s too', async (accept) => {
    const answer = await app.visitor().get('/auth/session', { headers: { accept } });
    expect(answer.status).toBe(401);
    expect(answer.json.error).toMatchObject({ status: 401, code: 'unauthenticated' });
  });
});

describe('rule 6: a signed-out request to a protected path gets 307 to the login route', () => {
  it.each([
    ['/dashboard', '/login?returnTo=%2Fdashboard'],
    ['/dashboard/a/b?q=1&r=%26#x', '/login?returnTo=%2Fdashboard%2Fa%2Fb%3Fq%3D1%26r%3D%2526'],
    ['/dashboards', '/login?returnTo=%2Fdashboards'],
    ['/DashBoard?x', '/login?returnTo=%2FDashBoard%3Fx'],
  ])('%s', async (path, location) => {
    const answer = await app.visitor().get(path);
    expect([answer.status, answer.headers.location]).toEqual([307, location]);
  });

  it.each(['POST', 'PUT', 'DELETE', 'HEAD'])('whatever the method, such as %s', async (method) => {
    const answer = await app.visitor().ask('/dashboard', { method });
    expect([answer.status, answer.headers.location]).toEqual([307, '/login?returnTo=%2Fdashboard']);
  });

  it('whatever the client, because protected paths are pages', async () => {
    expect((await app.visitor().getJson('/dashboard')).status).toBe(307);
  });

  it('lets a request with a session pass', async () => {
    const answer = await (await app.signedIn()).get('/dashboard/a');
    expect([answer.status, answer.text]).toEqual([200, 'dashboard']);
  });

  it.each(['/', '/welcome', '/dash'])('leaves %s open', async (path) => {
    expect((await app.visitor().get(path)).status).not.toBe(307);
  });
});

describe('rule 7: options and defaults', () => {
  it('has the five default routes', async () => {
    const visitor = app.visitor();
    const statuses = {
      login: (await visitor.get('/login')).status,
      signup: (await visitor.get('/signup')).status,
      callback: (await visitor.get('/callback')).status,
      logout: (await visitor.post('/logout')).status,
      session: (await visitor.get('/auth/session')).status,
    };
    expect(statuses).toEqual({ login: 302, signup: 302, callback: 400, logout: 303, session: 401 });
  });

  it('takes every path from its option, and one matcher as well as a list', async () => {
    const other = await startB2bApp({
      provider,
      options: {
        loginPath: '/in',
        signUpPath: '/join',
        callbackPath: '/back',
        logoutPath: '/out',
        sessionPath: '/me',
        cookieName: 'wos-session',
        protectedRoutes: '/private(.*)',
      },
      after: (host) => host.get('/private', (_req, res) => sendText(res, 'private')),
    });
    expect((await other.visitor().get('/private')).headers.location).toBe('/in?returnTo=%2Fprivate');
    const visitor = await other.signedIn();
    expect([...visitor.cookies.keys()]).toEqual(['wos-session']);
    expect((await visitor.get('/private')).text).toBe('private');
    expect((await visitor.get('/join')).status).toBe(302);
    expect((await visitor.getJson('/me')).status).toBe(200);
    expect((await visitor.post('/out')).status).toBe(303);
    for (const path of ['/login', '/signup', '/callback', '/auth/session']) {
      expect((await visitor.get(path)).status).toBe(404);
    }
    await other.close();
  });
});

describe('rule 8: the cookie password', () => {
  const credentials = { clientId: 'client_x', apiKey: 'sk_test_something_local' };
  const nodeEnv = process.env['NODE_ENV'];
  afterEach(() => {
    process.env['NODE_ENV'] = nodeEnv;
  });

  it('has a local fallback in development', async () => {
    const events: string[] = [];
    const warn = jest.spyOn(process, 'emitWarning').mockImplementation(() => undefined);
    const options = { ...app.options };
    Reflect.deleteProperty(options, 'cookiePassword');
    expect(() => b2bAuth({ ...options, ...credentials, onEvent: ({ type }) => events.push(type) })).not.toThrow();
    expect(events).toEqual(['configuration_warning']);
    expect(warn).toHaveBeenCalledTimes(1);
    warn.mockRestore();
  });

  // Docker's env files keep quotes.
  it.each(['production', '"production"', 'production '])(
    'is required in production, where start-up fails without it: %j',
    (mode) => {
      process.env['NODE_ENV'] = mode;
      expect(() => b2bAuth(credentials)).toThrow(/cookiePassword \(env B2B_COOKIE_PASSWORD\)/);
      expect(() => b2bAuth({ ...credentials, cookiePassword: 'p'.repeat(32) })).not.toThrow();
    },
  );
});

describe('rule 9: only sign-in and sealed sessions', () => {
  it('calls nothing at the provider but sign-in, tokens and keys', async () => {
    app.workos.clearRequests();
    const visitor = await app.signedIn(demoUsers.oneOrganization);
    await visitor.get('/dashboard');
    await visitor.post('/logout');
    const endpoints = new Set(app.workos.requests.map(({ endpoint }) => endpoint));
    expect([...endpoints].filter((endpoint) => !['authorize', 'token', 'jwks'].includes(endpoint))).toEqual([]);
  });

  it('passes roles and permissions to the application as claims, and to no browser', async () => {
    const seen: unknown[] = [];
    const other = await startB2bApp({
      provider,
      options: {
        onSignIn: ({ session }) => {
          seen.push(session.claims.role, session.claims.permissions, session.organizationId);
        },
      },
    });
    const visitor = await other.signedIn(demoUsers.oneOrganization);
    const [{ id, role, permissions }] = demoUsers.oneOrganization.organizations;
    expect(seen).toEqual([role, permissions, id]);
    expect(inspect((await visitor.getJson('/auth/session')).json)).not.toMatch(/role|permission|reports|claims|token/i);
    await other.close();
  });
});

it('serves visitors from several browsers side by side', async () => {
  const [one, other] = await Promise.all([app.signedIn(), app.signedIn(demoUsers.oneOrganization)]);
  const emails = await Promise.all(
    [one, other, createVisitor(app.origin)].map(async (visitor) => (await visitor.getJson('/whoami')).json.user?.email),
  );
  expect(emails).toEqual([demoUsers.personal.email, demoUsers.oneOrganization.email, undefined]);
});
