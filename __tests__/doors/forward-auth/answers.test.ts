import { runInNewContext } from 'node:vm';
import type { Router } from 'express';
import { AuthError, b2bAuth, backendAuth, forwardAuth, requireSession } from '../../../lib/index.ts';
import type { B2bAuthOptions, ForwardAuthOptions } from '../../../lib/index.ts';
import { createB2bTestKit, createBackendTestKit } from '../../../lib/testing/index.ts';
import { createApplication, publicOrigin } from '../../support/application.ts';
import { closeAfterEach } from '../../support/close-after-each.ts';
import type { Handler } from '../../support/handler-list.ts';
import { sendText } from '../../support/hosts.ts';
import type { Host } from '../../support/hosts.ts';
import { itOnExpress } from '../../support/only.ts';
import { serve } from '../../support/servers.ts';
import { createVisitor } from '../../support/visitor.ts';
import type { Answer, Visitor } from '../../support/visitor.ts';

const kit = createB2bTestKit();
const backendKit = createBackendTestKit();
const closing = closeAfterEach();

const forward = (auth: Router, options?: ForwardAuthOptions): Handler => forwardAuth(auth, options) as Handler;

interface Gateway {
  readonly visitor: Visitor;
  readonly origin: string;
  /** What handlers passed to the application. */
  readonly errors: unknown[];
}

/** An application that a gateway asks at `/forward`. */
async function start(build: (host: Host) => unknown): Promise<Gateway> {
  const { host, listener } = createApplication();
  build(host);
  const errors: unknown[] = [];
  host.onError((error, _req, res) => {
    errors.push(error);
    sendText(res, 'failed', 500);
  });
  const server = await closing(serve(listener));
  const origin = publicOrigin(server.origin);
  return { visitor: createVisitor(origin), origin, errors };
}

const startB2b = (options?: ForwardAuthOptions, extra: B2bAuthOptions = {}): Promise<Gateway> =>
  start((host) => {
    const auth = b2bAuth({ ...kit.options, ...extra });
    host.use(auth as Handler);
    host.use('/forward', forward(auth, options));
  });

const askAs = async (visitor: Visitor, session: object = {}, headers: object = {}): Promise<Answer> =>
  visitor.get('/forward', {
    headers: { cookie: await kit.cookie(session), 'x-original-uri': '/wiki', ...headers },
  });

describe('forwardAuth names a person', () => {
  const startBackend = (): Promise<Gateway> =>
    start((host) => {
      const auth = backendAuth(backendKit.options);
      host.use(auth as Handler);
      host.use('/forward', forward(auth));
    });

  it('who has signed in with a phone by the id alone', async () => {
    const { visitor } = await startBackend();
    const cookie = await backendKit.cookie({ user: { id: 'user-1', email: null, phone: '15550100' } });
    const { status, headers } = await visitor.get('/forward', { headers: { cookie } });
    expect(status).toBe(200);
    expect(Object.entries(headers).filter(([name]) => name.startsWith('x-auth-'))).toEqual([
      ['x-auth-request-user', 'user-1'],
    ]);
  });

  it('without the header of a value that is empty', async () => {
    const { visitor } = await startB2b();
    const { status, headers } = await askAs(visitor, { user: { id: 'user_1', email: '' } });
    expect(status).toBe(200);
    expect(Object.entries(headers).filter(([name]) => name.startsWith('x-auth-'))).toEqual([
      ['x-auth-request-user', 'user_1'],
    ]);
  });
});

describe('forwardAuth lets a change pass', () => {
  it('that comes from the own origin, from a browser without Fetch Metadata', async () => {
    const { visitor, origin } = await startB2b();
    const method = { 'x-original-method': 'POST' };
    expect((await askAs(visitor, {}, { ...method, origin })).status).toBe(200);
    expect((await askAs(visitor, {}, { ...method, origin: `${origin}0` })).status).toBe(403);
  });
});

describe('forwardAuth tells a client in JSON', () => {
  const json = { accept: 'application/json' };

  it.each(['forbidden', 'second_factor_required', 'organization_required'] as const)(
    'why a check refuses with 403: %s',
    async (code) => {
      const { visitor } = await startB2b({ check: () => Promise.reject(new AuthError(code)) });
      const answer = await askAs(visitor, {}, json);
      expect([answer.status, answer.json.error.code]).toEqual([403, code]);
    },
  );

  it.each([
    ['rate_limited', 403, 'forbidden'],
    ['invalid_request', 403, 'forbidden'],
    ['token_rejected', 503, 'provider_unavailable'],
    ['provider_unavailable', 503, 'provider_unavailable'],
  ] as const)('of a refusal that gateways do not know, %s, only %d %s', async (code, status, known) => {
    const { visitor } = await startB2b({ check: () => Promise.reject(new AuthError(code)) });
    const answer = await askAs(visitor, {}, json);
    expect([answer.status, answer.json.error.code]).toEqual([status, known]);
  });

  it('that accept refuses the account', async () => {
    const { visitor } = await startB2b({}, { accept: () => false });
    const answer = await askAs(visitor, {}, json);
    expect([answer.status, answer.json.error.code]).toEqual([403, 'not_accepted']);
  });

  it('that the change comes from another site', async () => {
    const { visitor } = await startB2b();
    const answer = await askAs(visitor, {}, { ...json, 'sec-fetch-site': 'cross-site', 'x-original-method': 'PUT' });
    expect([answer.status, answer.json.error.code]).toEqual([403, 'cross_site_request']);
  });
});

describe('forwardAuth passes to the application', () => {
  it.each(['route', undefined, null, { status: 401 }] as unknown as Error[])(
    'as the cause of an error what a check throws that is none: %j',
    async (thrown) => {
      const { visitor, errors } = await start((host) => {
        const auth = b2bAuth(kit.options);
        host.use(auth as Handler);
        host.use('/forward', forward(auth, { check: () => Promise.reject(thrown) }));
        host.use('/forward', (_req, res) => sendText(res, 'passed'));
      });
      const answer = await askAs(visitor);
      expect([answer.status, answer.text]).toEqual([500, 'failed']);
      expect(errors).toEqual([expect.any(Error)]);
      expect(errors).toMatchObject([{ message: 'A value that is no Error was thrown', cause: thrown }]);
    },
  );

  it('an error of another realm that a check throws, as it is', async () => {
    const thrown = runInNewContext("new TypeError('no database')") as Error;
    const { visitor, errors } = await start((host) => {
      const auth = b2bAuth(kit.options);
      host.use(auth as Handler);
      host.use('/forward', forward(auth, { check: () => Promise.reject(thrown) }));
    });
    expect((await askAs(visitor)).status).toBe(500);
    expect(errors[0]).toBe(thrown);
  });

  itOnExpress('that its adapter has not seen the request, where another one of its name has', async () => {
    const { visitor, errors } = await start((host) => {
      host.use(b2bAuth(kit.options) as Handler);
      host.use('/forward', forward(b2bAuth({ ...createB2bTestKit().options, cookieName: 'other' })));
    });
    expect((await askAs(visitor)).status).toBe(500);
    expect(errors.map(String)).toEqual([
      'ConfigurationError: forwardAuth: no adapter has seen this request; mount b2bAuth() with app.use() before it',
    ]);
  });

  it('that a guard in front would redirect', async () => {
    const { visitor, errors } = await start((host) => {
      const auth = b2bAuth(kit.options);
      host.use(auth as Handler);
      host.use('/forward', requireSession() as Handler, forward(auth));
    });
    expect((await askAs(visitor)).status).toBe(500);
    expect(errors.map(String)).toEqual([
      'ConfigurationError: forwardAuth: a guard (protectedRoutes or requireSession) covers its path, and would redirect signed-out visitors, which gateways take for an error; choose a path that no guard covers',
    ]);
  });
});
