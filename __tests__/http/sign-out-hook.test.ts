import { jest } from '@jest/globals';
import type { Request } from 'express';
import session from 'express-session';
import { demoUsers, startB2bApp } from '../support/b2b-app.ts';
import type { B2bApp } from '../support/b2b-app.ts';
import { ada, postForm, startBackendApp } from '../support/backend-app.ts';
import type { BackendApp } from '../support/backend-app.ts';
import type { Handler } from '../support/handler-list.ts';
import { sendText } from '../support/hosts.ts';
import type { Host } from '../support/hosts.ts';
import type { Visitor } from '../support/visitor.ts';

let told: { readonly user: string | null | undefined; readonly path: string | undefined; readonly isOpen: boolean }[];
let fail: () => unknown;
const onSignOut = ({
  session,
  req,
  res,
}: {
  session: unknown;
  req: { url?: string };
  res: { headersSent: boolean };
}) => {
  const { user } = (session ?? {}) as { user?: { email?: string | null } };
  told.push({ user: user?.email ?? null, path: req.url, isOpen: !res.headersSent });
  return fail();
};
let app: BackendApp | B2bApp;
beforeEach(() => {
  told = [];
  fail = () => undefined;
});
afterEach(() => app.close());

let warn: jest.SpiedFunction<typeof process.emitWarning>;
beforeEach(() => {
  warn = jest.spyOn(process, 'emitWarning').mockImplementation(() => undefined);
});
afterEach(() => warn.mockRestore());
/** The warnings of a hook, each with what Node is given beside its text. */
const warnings = (): unknown[][] => warn.mock.calls.filter(([message]) => String(message).includes('onSignOut'));
const reported = (): unknown[] => warnings().map(([message]) => message);

describe('onSignOut of the backend adapter', () => {
  const start = async (options = {}): Promise<BackendApp> => {
    const started = await startBackendApp({ options: { onSignOut, ...options } });
    app = started;
    return started;
  };

  it('gets the session that ends, once, before the response', async () => {
    await start();
    const visitor = await app.signedIn();
    const answer = await visitor.post('/auth/logout');
    expect([answer.status, visitor.cookies.size]).toEqual([303, 0]);
    expect(told).toEqual([{ user: ada.email, path: expect.any(String), isOpen: true }]);
  });

  it('gets null without a session, also at the second click', async () => {
    await start();
    await app.visitor().post('/auth/logout');
    const visitor = await app.signedIn();
    const cookie = visitor.cookieHeader();
    await visitor.post('/auth/logout');
    await app.visitor().post('/auth/logout', { headers: { cookie } });
    expect(told.map(({ user }) => user)).toEqual([null, ada.email, null]);
  });

  it('gets a session whose token has expired, which then ends all the same', async () => {
    const { clock, supabase, cookieName } = await start();
    const visitor = await app.signedIn();
    clock.advance(61 * 60_000);
    const answer = await visitor.post('/auth/logout');
    expect(
      answer.setCookies.filter((line) => line.startsWith(cookieName)).every((line) => line.includes('Max-Age=0')),
    ).toBe(true);
    expect([visitor.cookies.size, told.map(({ user }) => user)]).toEqual([0, [ada.email]]);
    expect(supabase.calls('logout')).toBe(1);
  });

  it('does not run for a request of another site, or for the page that asks', async () => {
    await start();
    const visitor = await app.signedIn();
    const headers = { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' };
    expect((await visitor.post('/auth/logout', { headers })).status).toBe(403);
    expect((await visitor.get('/auth/logout', { headers })).status).toBe(200);
    expect(told).toEqual([]);
  });

  it.each([
    ['throws', () => Promise.reject(new Error('no table'))],
    [
      'throws at once',
      () => {
        throw new Error('no table');
      },
    ],
    ['never settles', () => new Promise(() => undefined)],
  ])('signs out where the hook %s, and reports it', async (_, failing) => {
    fail = failing;
    const { events } = await start({ timeoutMs: 150 });
    const visitor = await app.signedIn();
    const answer = await postForm(visitor, '/auth/logout', { returnTo: '/bye' });
    expect([answer.status, answer.headers.location, visitor.cookies.size]).toEqual([303, '/bye', 0]);
    expect(events.at(-1)).toMatchObject({ type: 'hook_failed', hook: 'onSignOut', code: 'internal_error' });
    expect(reported()).toEqual([expect.stringContaining('backendAuth: onSignOut failed')]);
  });

  it.each<[string, unknown, string, object]>([
    [
      'an error',
      Object.assign(new Error('no table'), { stack: 'Error: no table at hook' }),
      'no table',
      { detail: 'Error: no table at hook' },
    ],
    ['an error without a stack', Object.assign(new Error('no table'), { stack: undefined }), 'no table', {}],
    ['what is no error', 'route', 'A value that is no Error was thrown', { detail: expect.any(String) }],
  ])('warns once of %s that the hook throws, with a code to filter by', async (_, thrown, message, more) => {
    // eslint-disable-next-line @typescript-eslint/prefer-promise-reject-errors -- what an application may do
    fail = () => Promise.reject(thrown);
    await start();
    await (await app.signedIn()).post('/auth/logout');
    expect(warnings()).toStrictEqual([
      [
        `backendAuth: onSignOut failed, and the person is signed out: ${message}`,
        { code: 'EXPRESS_AUTH_ADAPTERS_SIGN_OUT_HOOK', ...more },
      ],
    ]);
  });

  it('is told of as late where it takes longer than timeoutMs', async () => {
    fail = () => new Promise(() => undefined);
    await start({ timeoutMs: 100 });
    await app.visitor().post('/auth/logout');
    expect(reported()).toEqual([expect.stringMatching(/signed out: no answer within 100 ms$/)]);
  });

  it('is missed by no sign-out of an application without one', async () => {
    const { events } = await start({ onSignOut: undefined });
    const visitor = await app.signedIn();
    expect((await visitor.post('/auth/logout')).status).toBe(303);
    expect([reported(), events.filter(({ type }) => type === 'hook_failed')]).toEqual([[], []]);
  });

  it('signs out during an outage', async () => {
    const { clock, supabase } = await start({ timeoutMs: 300 });
    const visitor = await app.signedIn();
    clock.advance(61 * 60_000);
    supabase.fail('refresh', 'refuse');
    const answer = await visitor.post('/auth/logout');
    expect([answer.status, visitor.cookies.size, told.map(({ user }) => user)]).toEqual([303, 0, [null]]);
  });
});

describe('an express-session beside the adapter', () => {
  const renewId = ({ req }: { readonly req: Request }): Promise<void> =>
    new Promise((resolve, reject) => {
      req.session.regenerate((error?: Error) => (error === undefined ? resolve() : reject(error)));
    });
  const setup = {
    options: { onSignIn: renewId, onSignOut: renewId },
    before(host: Host) {
      // An express-session in front, whose cookie visitors do not keep, would be taken for this one.
      host.use((req, _res, next) => {
        Reflect.deleteProperty(req, 'session');
        next();
      });
      host.use(session({ secret: 'only for this test', resave: false, saveUninitialized: true }) as Handler);
      host.get('/basket', (req, res) => sendText(res, (req as Request).sessionID));
    },
  };

  async function expectNewIds(visitor: Visitor, signIn: () => Promise<unknown>, logoutPath: string): Promise<void> {
    const ids: string[] = [];
    const look = async (): Promise<unknown> => ids.push((await visitor.get('/basket')).text);
    await look();
    await signIn();
    await look();
    await visitor.post(logoutPath);
    await look();
    expect(new Set(ids).size).toBe(3);
    await look();
    expect(ids[3]).toBe(ids[2]);
  }

  it('gets a new id at each sign-in and sign-out of backendAuth by its hooks', async () => {
    app = await startBackendApp(setup);
    const visitor = app.visitor();
    await expectNewIds(visitor, () => visitor.postJson('/auth/login', ada), '/auth/logout');
  });

  it('gets a new id at each sign-in and sign-out of b2bAuth by its hooks', async () => {
    const { workos } = (app = await startB2bApp(setup));
    const visitor = app.visitor();
    const signIn = async (): Promise<unknown> => {
      const { location } = await visitor.get('/login');
      const callback = await workos.authorize(location, { user: demoUsers.personal });
      return visitor.get(callback.href);
    };
    await expectNewIds(visitor, signIn, '/logout');
  });
});

describe('onSignOut of the B2B adapter', () => {
  it('gets the session that ends, and null without one', async () => {
    app = await startB2bApp({ options: { onSignOut } });
    const visitor = await app.signedIn();
    const answer = await visitor.post('/logout');
    expect([answer.status, visitor.cookies.size]).toEqual([303, 0]);
    await app.visitor().post('/logout');
    await app.visitor().get('/logout');
    expect(told).toEqual([
      { user: demoUsers.personal.email, path: expect.any(String), isOpen: true },
      { user: null, path: expect.any(String), isOpen: true },
    ]);
  });

  it('signs out where the hook throws', async () => {
    fail = () => Promise.reject(new Error('no table'));
    app = await startB2bApp({ options: { onSignOut } });
    const visitor = await app.signedIn();
    const answer = await visitor.post('/logout');
    expect([answer.status, visitor.cookies.size]).toEqual([303, 0]);
    expect(reported()).toEqual([expect.stringContaining('b2bAuth: onSignOut failed')]);
  });
});
