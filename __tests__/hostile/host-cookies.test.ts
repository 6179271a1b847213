import type { CookieOptions } from 'express-auth-adapters';
import { demoUsers, startB2bApp } from '../support/b2b-app.ts';
import { startBackendApp } from '../support/backend-app.ts';
import { b2bAuth, backendAuth } from '../../lib/index.ts';
import type { Visitor } from '../support/visitor.ts';

interface Setup {
  readonly appBaseUrl?: string;
  readonly cookieOptions?: CookieOptions & { httpOnly?: boolean };
}

const https = 'https://127.0.0.1';

interface App {
  visitor(): Visitor;
  /** Starts a sign-in; resolves to the path and query with which the provider sends the browser back. */
  start(visitor: Visitor): Promise<string>;
  readonly sessionPath: string;
  close(): Promise<void>;
}

const adapters: readonly (readonly [string, (options: Setup) => Promise<App>])[] = [
  [
    'b2bAuth',
    async (options) => {
      const app = await startB2bApp({ options });
      app.workos.redirectUris.push(`${options.appBaseUrl ?? ''}/callback`);
      return {
        ...app,
        sessionPath: '/auth/session',
        async start(visitor) {
          const { location } = await visitor.get('/login');
          const { pathname, search } = await app.workos.authorize(location, { user: demoUsers.personal });
          return pathname + search;
        },
      };
    },
  ],
  [
    'backendAuth',
    async (options) => {
      const app = await startBackendApp({ options });
      return {
        ...app,
        sessionPath: '/auth/session',
        async start(visitor) {
          const { location } = await visitor.get('/auth/login?provider=github');
          const { pathname, search } = new URL(await app.supabase.authorize(location, { approve: true }));
          return pathname + search;
        },
      };
    },
  ],
];

describe.each(adapters)('%s: the cookies of a sign-in in progress', (_, startApp) => {
  let app: App;
  afterEach(() => app.close());

  it('are restricted to this host if the origin is https', async () => {
    app = await startApp({ appBaseUrl: https, cookieOptions: { path: '/app' } });
    const visitor = app.visitor();
    const before = visitor.cookies.size;
    const callback = await app.start(visitor);
    expect(visitor.cookies.size).toBeGreaterThan(before);
    for (const name of visitor.cookies.keys()) expect(name).toMatch(/^__Host-/);
    const done = await visitor.get(callback);
    expect(done.status).toBe(303);
    for (const line of done.setCookies.filter((each) => each.startsWith('__Host-'))) {
      expect(line).toMatch(/^__Host-[\w-]+=;.*Path=\/;.*Secure/);
      expect(line).not.toContain('Domain');
    }
    expect([...visitor.cookies.keys()].filter((name) => name.startsWith('__Host-'))).toEqual([]);
    expect((await visitor.getJson(app.sessionPath)).status).toBe(200);
  });

  it('that a sibling domain set lead to no sign-in', async () => {
    app = await startApp({ appBaseUrl: https });
    const attacker = app.visitor();
    const callback = await app.start(attacker);
    // A sibling domain can set any name but one with the prefix.
    const tossed = attacker.cookieHeader().replaceAll('__Host-', '');
    const answer = await app.visitor().get(callback, { headers: { cookie: tossed } });
    expect([200, 400]).toContain(answer.status);
    expect(answer.setCookies.filter((line) => !line.includes('Max-Age=0'))).toEqual([]);
  });

  it.each<[string, Setup]>([
    ['over http', { appBaseUrl: 'http://127.0.0.1' }],
    ['that a domain shares', { appBaseUrl: https, cookieOptions: { domain: 'example.com' } }],
  ])('keep their plain names %s', async (_name, options) => {
    app = await startApp(options);
    const visitor = app.visitor();
    const callback = await app.start(visitor);
    for (const name of visitor.cookies.keys()) expect(name).not.toContain('__Host-');
    expect((await visitor.get(callback)).status).toBe(303);
  });
});

it('a browser client that shares the verifiers finds them under the names of @supabase/ssr', async () => {
  const app = await startBackendApp({ options: { appBaseUrl: https, cookieOptions: { httpOnly: false } } });
  const visitor = app.visitor();
  await visitor.get('/auth/login?provider=github');
  expect([...visitor.cookies.keys()]).toContain(`${app.cookieName}-code-verifier`);
  await app.close();
});

describe('a session cookie whose name begins with __Host-', () => {
  const b2b = { clientId: 'client_1', apiKey: 'sk_test_1', cookiePassword: 'x'.repeat(32) };
  const backend = { url: 'https://project.supabase.co', anonKey: 'sb_publishable_abcdefghijklmnopqrstuv' };

  it.each([
    [{ domain: 'example.com' }, 'cookieOptions.domain must be left out'],
    [{ path: '/app' }, "cookieOptions.path must be '/'"],
    [{ secure: false }, 'cookieOptions.secure must not be false'],
  ])('is refused at start-up with %j, which browsers reject', (cookieOptions, problem) => {
    const cookieName = '__Host-session';
    expect(() => b2bAuth({ ...b2b, cookieName, cookieOptions })).toThrow(problem);
    expect(() => backendAuth({ ...backend, cookieName, cookieOptions })).toThrow(problem);
  });

  it('is Secure whatever the origin, and signs in', async () => {
    const app = await startB2bApp({ options: { cookieName: '__Host-session' } });
    const visitor = await app.signedIn();
    expect([...visitor.cookies.keys()]).toEqual(['__Host-session']);
    const { setCookies } = await visitor.get('/login');
    expect(setCookies[0]).toMatch(/^__Host-session-flow-.*Path=\/; .*Secure/);
    await app.close();
  });
});
