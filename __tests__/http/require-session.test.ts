import type express from 'express';
import { currentSession, getSession, requireSession } from '../../lib/b2b/index.ts';
import type { RequireSessionOptions } from '../../lib/b2b/index.ts';
import { AuthError, ConfigurationError } from '../../lib/errors.ts';
import { demoUsers, startB2bApp, startProvider } from '../support/b2b-app.ts';
import type { B2bApp, SharedProvider } from '../support/b2b-app.ts';
import { sendJson, sendText } from '../support/hosts.ts';
import { createApplication } from '../support/application.ts';
import type { Handler } from '../support/handler-list.ts';
import { serve } from '../support/servers.ts';
import type { RunningServer } from '../support/servers.ts';
import { createVisitor } from '../support/visitor.ts';
import type { Answer, Visitor } from '../support/visitor.ts';

const [{ id: instruments }] = demoUsers.oneOrganization.organizations;

/** As an application without TypeScript may call it. */
const guardOf = (options: unknown): express.RequestHandler => requireSession(options as RequireSessionOptions);

/** Over bare `node:http`, handlers deal with their own errors. */
const handingOn =
  (handler: Handler): Handler =>
  (req, res, next) => {
    try {
      handler(req, res, next);
    } catch (error) {
      next(error);
    }
  };

let provider: SharedProvider;
let app: B2bApp;
let personal: Visitor;
let member: Visitor;
beforeAll(async () => {
  provider = await startProvider();
  app = await startB2bApp({
    provider,
    after: (root) => {
      const hello: Handler = (req, res) => sendText(res, `hello ${currentSession(req).user.email ?? ''}`);
      root.get('/uncalled/one', requireSession, hello);
      root.use('/uncalled/all', requireSession, hello);
      root.use('/default', requireSession(), hello);
      root.use('/named', requireSession({ adapter: 'b2b' }), hello);
      root.use('/organization/any', requireSession({ organization: true }), hello);
      root.use('/organization/instruments', requireSession({ organization: instruments }), hello);
      root.use('/organization/other', requireSession({ organization: 'org_other' }), hello);
      root.use('/json/any', requireSession({ respond: 'json' }), hello);
      root.use('/json/organization', requireSession({ respond: 'json', organization: true }), hello);
      root.use('/json/fresh', requireSession({ respond: 'json', maxAge: 1 }), hello);
      root.use('/json/twice', requireSession({ respond: 'json' }), requireSession({ organization: true }), hello);
      root.use('/aal', requireSession({ aal: 'aal2' }), hello);
      root.use('/backend', requireSession({ adapter: 'backend' }), hello);
      root.use('/check/get', requireSession({ check: (_session, req) => req.method === 'GET' }), hello);
      root.use('/check/async', requireSession({ check: async ({ user }) => user.email === 'ada@example.com' }), hello);
      root.use('/check/truthy', guardOf({ check: () => 'yes' }), hello);
      root.use('/check/throws', guardOf({ check: () => Promise.reject(new Error('no database')) }), hello);
      root.use(
        '/check/refuses',
        guardOf({
          check: () => {
            throw new AuthError('rate_limited', {
              retryAfter: 9,
              challenge: 'Own realm="a"\r\nX-Forged: b ü',
              allow: ['GET\r\nX-Forged: c'],
            });
          },
        }),
        hello,
      );
      root.get(
        '/current/unguarded',
        handingOn((req, res) => sendText(res, currentSession(req).user.id)),
      );
      root.get('/current/b2b', requireSession, (req, res) =>
        sendText(res, String(currentSession(req, 'b2b').sessionId)),
      );
      root.get(
        '/current/backend',
        requireSession,
        handingOn((req, res) => sendText(res, currentSession(req, 'backend').user.id)),
      );
      root.get('/dashboard/current', hello);
      root.get('/same', requireSession, requireSession({ organization: true }), async (req, res) => {
        sendJson(res, new Set([currentSession(req), await getSession(req), await getSession(req, 'b2b')]).size);
      });
      root.onError((error, _req, res) => sendText(res, `${error.name}: ${error.message}`, 500));
    },
  });
  [personal, member] = [await app.signedIn(), await app.signedIn(demoUsers.oneOrganization)];
});
afterAll(async () => {
  await app.close();
  await provider.close();
});

describe.each(['/uncalled/one', '/uncalled/all/x', '/default/x', '/named/x'])('a guard at %s', (path) => {
  it('redirects a signed-out document to sign-in, with returnTo', async () => {
    const answer = await app.visitor().get(`${path}?a=1&b=2`);
    const returnTo = encodeURIComponent(`${path}?a=1&b=2`);
    expect([answer.status, answer.headers.location]).toEqual([307, `/login?returnTo=${returnTo}`]);
  });

  it('answers a signed-out JSON request with 401 { error, redirectTo }', async () => {
    const answer = await app.visitor().getJson(`${path}?a=1`);
    expect(answer.status).toBe(401);
    expect(answer.json).toEqual({
      error: { status: 401, code: 'unauthenticated', message: expect.any(String) },
      redirectTo: '/login',
    });
  });

  it('lets a session pass', async () => {
    expect((await personal.get(path)).text).toBe(`hello ${demoUsers.personal.email}`);
    expect((await personal.getJson(path)).status).toBe(200);
  });
});

describe('respond: json', () => {
  const clients = [
    ['curl', { accept: '*/*' }],
    ['a client without Accept', {}],
    ['a browser that navigates', { accept: 'text/html', 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'document' }],
  ] as const;

  it.each(clients)('answers %s in JSON where it is signed out', async (_client, headers) => {
    const answer = await app.visitor().get('/json/any?a=1', { headers });
    expect([answer.status, answer.headers.location]).toEqual([401, undefined]);
    expect(answer.json).toEqual({
      error: { status: 401, code: 'unauthenticated', message: expect.any(String) },
      redirectTo: '/login',
    });
  });

  it.each(clients)(
    'answers %s in JSON where its session is refused, also by a guard behind it',
    async (_client, headers) => {
      for (const path of ['/json/organization', '/json/twice']) {
        const answer = await personal.get(path, { headers });
        expect([answer.status, answer.json.error.code]).toEqual([403, 'forbidden']);
      }
      app.clock.advance(2_000);
      const { status, json } = await personal.get('/json/fresh', { headers });
      expect([status, json.error.code]).toEqual([401, 'fresh_sign_in_required']);
    },
  );

  it('lets a session pass, and changes nothing for other paths', async () => {
    expect((await personal.get('/json/any')).text).toBe(`hello ${demoUsers.personal.email}`);
    expect((await app.visitor().get('/default/x')).status).toBe(307);
  });
});

describe('the narrowing options', () => {
  it.each([
    ['/organization/any', 403, 200],
    ['/organization/instruments', 403, 200],
    ['/organization/other', 403, 403],
    ['/check/async', 200, 403],
    ['/check/get', 200, 200],
    ['/check/refuses', 429, 429],
  ])('%s: %d without an organization, %d with one', async (path, withoutOne, withOne) => {
    expect((await personal.getJson(path)).status).toBe(withoutOne);
    expect((await member.getJson(path)).status).toBe(withOne);
    expect((await app.visitor().getJson(path)).status).toBe(401);
  });

  it('answers 403 in the client’s format', async () => {
    expect((await personal.getJson('/organization/any')).json.error.code).toBe('forbidden');
    const page = await personal.get('/organization/any');
    expect([page.status, page.headers['content-type']]).toEqual([403, 'text/html; charset=utf-8']);
  });

  it('answers with the headers of the error that a check throws, each in one line', async () => {
    for (const { status, headers } of [
      await personal.getJson('/check/refuses'),
      await personal.get('/check/refuses'),
    ]) {
      expect([status, headers['retry-after'], headers['www-authenticate'], headers.allow]).toEqual([
        429,
        '9',
        'Own realm="a"X-Forged: b',
        'GETX-Forged: c',
      ]);
      expect(headers).not.toHaveProperty('x-forged');
    }
  });

  it('passes the request to a check, too', async () => {
    expect((await personal.post('/check/get')).status).toBe(403);
  });

  it('passes an error of a check to the application, and the request does not pass', async () => {
    const answer = await personal.get('/check/throws');
    expect([answer.status, answer.text]).toEqual([500, 'Error: no database']);
  });

  it.each(['/aal', '/backend'])(
    '%s requires an adapter that is not mounted: a clear error, never a pass',
    async (path) => {
      for (const visitor of [personal, app.visitor()]) {
        const answer = await visitor.get(path);
        expect(answer.status).toBe(500);
        expect(answer.text).toMatch(/^ConfigurationError: requireSession: .*mount backendAuth\(\)/);
      }
    },
  );
});

describe('the guard’s options', () => {
  it.each([
    [{ organizations: true }, 'organizations is not an option'],
    [{ organization: false }, 'organization must be'],
    [{ organization: '' }, 'organization must be'],
    [{ organization: undefined }, 'organization is undefined'],
    [{ organization: null }, 'organization must be'],
    [{ aal: 'aal1' }, 'aal must be'],
    [{ aal: undefined }, 'aal is undefined'],
    [{ check: true }, 'check must be'],
    [{ check: undefined }, 'check is undefined'],
    [{ respond: 'html' }, "respond must be 'json'"],
    [{ respond: undefined }, 'respond is undefined'],
    [{ adapter: 'workos' }, 'adapter must be'],
    [{ adapter: 'backend', organization: true }, "organization belongs to adapter 'b2b'"],
    [{ adapter: 'b2b', aal: 'aal2' }, "aal belongs to adapter 'backend'"],
    [null, 'options must be an object'],
    ['b2b', 'options must be an object'],
    [() => true, 'options must be an object'],
    [[], 'options must be an object'],
  ])('%j are refused immediately', (options, problem) => {
    expect(() => guardOf(options)).toThrow(ConfigurationError);
    expect(() => guardOf(options)).toThrow(problem);
  });
});

describe('a property that other code put on the request', () => {
  let foreign: RunningServer;
  beforeAll(async () => {
    const forged = {
      user: { id: 'user_forged', email: 'root@example.com' },
      adapter: 'b2b',
      organizationId: instruments,
    };
    const forging = await startB2bApp({
      provider,
      before: (root) =>
        root.use((req, _res, next) => {
          Object.assign(req, {
            auth: forged,
            user: forged.user,
            session: Object.assign(req.session ?? {}, forged),
            b2b: forged,
            getSession: () => forged,
          });
          next();
        }),
    });
    foreign = forging;
  });
  afterAll(() => foreign.close());

  it('is never trusted', async () => {
    const visitor = createVisitor(foreign.origin);
    expect((await visitor.getJson('/api/me')).status).toBe(401);
    expect((await visitor.get('/dashboard')).status).toBe(307);
    expect((await visitor.get('/whoami')).json.user).toBeNull();
    expect((await visitor.get('/auth/session')).status).toBe(401);
  });
});

describe('without an adapter before it', () => {
  let bare: RunningServer;
  const ask = (path: string): Promise<Answer> => createVisitor(bare.origin).get(path);
  beforeAll(async () => {
    const { host, listener } = createApplication();
    const secret: Handler = (_req, res) => sendText(res, 'secret');
    host.get('/guarded', requireSession(), secret);
    host.get('/uncalled', requireSession, secret);
    host.get('/session', (req, res, next) => getSession(req).then((session) => sendJson(res, session), next));
    host.get(
      '/current',
      handingOn((req, res) => sendJson(res, currentSession(req))),
    );
    host.onError((error, _req, res) => sendText(res, `${error.name}: ${error.message}`, 500));
    bare = await serve(listener);
  });
  afterAll(() => bare.close());

  it.each(['/guarded', '/uncalled', '/session'])('%s is a clear error, never a pass', async (path) => {
    const answer = await ask(path);
    expect(answer.status).toBe(500);
    expect(answer.text).toMatch(
      /^ConfigurationError: .*mount b2bAuth\(\) or backendAuth\(\) with app\.use\(\) before it$/,
    );
  });

  it('currentSession is a clear error, too', async () => {
    expect((await ask('/current')).text).toMatch(
      /^ConfigurationError: currentSession: no guard has let this request pass/,
    );
  });
});

describe('currentSession', () => {
  it('is the session behind a guard and behind protectedRoutes', async () => {
    expect((await personal.get('/default')).text).toBe(`hello ${demoUsers.personal.email}`);
    expect((await personal.get('/dashboard/current')).text).toBe(`hello ${demoUsers.personal.email}`);
  });

  it('is a clear error if no guard ran, with or without a session', async () => {
    for (const visitor of [personal, app.visitor()]) {
      const answer = await visitor.get('/current/unguarded');
      expect([answer.status, answer.text.split(':')[0]]).toEqual([500, 'ConfigurationError']);
    }
  });

  it('narrows by adapter, and accepts no other', async () => {
    expect((await personal.get('/current/b2b')).text).toMatch(/^session_/);
    expect((await personal.get('/current/backend')).status).toBe(500);
  });

  it('is the same session for everything in a request', async () => {
    expect((await member.get('/same')).text).toBe('1');
  });
});
