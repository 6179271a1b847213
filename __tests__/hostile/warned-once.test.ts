import { jest } from '@jest/globals';
import type { IncomingMessage } from 'node:http';
import { requireSession } from '../../lib/b2b/index.ts';
import type { B2bAuthOptions } from '../../lib/b2b/index.ts';
import type { BackendAuthOptions } from '../../lib/backend/index.ts';
import { demoUsers, startB2bApp } from '../support/b2b-app.ts';
import type { B2bApp } from '../support/b2b-app.ts';
import { ada, encodeSession, startBackendApp } from '../support/backend-app.ts';
import type { BackendApp } from '../support/backend-app.ts';
import { closeAfterEach } from '../support/close-after-each.ts';
import type { Handler } from '../support/handler-list.ts';
import { sendText } from '../support/hosts.ts';
import { withNodeEnv } from '../support/node-env.ts';
import { describeWithoutProxy } from '../support/only.ts';
import { createShared } from '../support/shared-memory.ts';
import type { Answer } from '../support/visitor.ts';

// A process warning is printed once, so that operators read it. A stranger who could cause it would use it up: then the operator's real
// cause is silent. Each test sends a stranger's requests first, and then the real cause twice.

/** What a stranger writes wherever text is taken. */
const mark = 'stranger';
const causes = ['provider_refused', 'token_rejected', 'keys_unavailable', 'provider_unreachable', 'NOPERM', 'READONLY'];
const started = closeAfterEach();

let warnings: string[];
beforeEach(() => {
  warnings = [];
  jest.spyOn(process, 'emitWarning').mockImplementation((text, options) => {
    warnings.push(`${(options as { code?: string } | undefined)?.code ?? ''} ${String(text)}`);
  });
});
afterEach(() => void jest.restoreAllMocks());

/** Who sends the requests. */
let peer: string;
const fromPeer = (host: { use(handler: Handler): unknown }): void => {
  host.use((req: IncomingMessage, _res: unknown, next: () => void) => {
    Object.defineProperty(req.socket, 'remoteAddress', { value: peer, configurable: true });
    next();
  });
};
beforeEach(() => {
  peer = '127.0.0.1';
});

/** Answers of a provider, by a part of the URL. */
let answers: Map<string, (body: string) => Response | undefined>;
beforeEach(() => {
  answers = new Map();
});
const provider: typeof fetch = async (input, init) => {
  const request = new Request(input, init);
  const body = request.method === 'GET' ? '' : await request.clone().text();
  for (const [part, answer] of answers) {
    const found = request.url.includes(part) ? answer(body) : undefined;
    if (found !== undefined) return found;
  }
  return fetch(request);
};

const startBackend = (options: BackendAuthOptions = {}): Promise<BackendApp> =>
  started(startBackendApp({ options: { fetch: provider, ...options }, before: fromPeer }));
const startB2b = (options: B2bAuthOptions = {}): Promise<B2bApp> =>
  started(startB2bApp({ options: { fetch: provider, ...options }, before: fromPeer }));

const signIn = (app: BackendApp, email: string = ada.email, password = 'wrong'): Promise<Answer> =>
  app.visitor().postJson('/auth/login', { email, password });

async function callback(app: B2bApp, query?: string): Promise<Answer> {
  const visitor = app.visitor();
  const { location } = await visitor.get('/login');
  if (query !== undefined) {
    return visitor.get(`/callback?state=${new URL(location).searchParams.get('state') ?? ''}&${query}`);
  }
  return visitor.get((await app.workos.authorize(location, { user: demoUsers.personal })).href);
}

/** Forged tokens, headers and cookies, on every route that takes them. */
async function forge(app: BackendApp | B2bApp, cookieName: string): Promise<void> {
  const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');
  const later = Math.floor(app.clock.now() / 1000) + 3_600;
  for (const alg of ['ES256', 'RS256', 'HS256', 'none', mark]) {
    const claims = { sub: mark, iss: mark, iat: later, auth_time: later, exp: later + 3_600, session_id: mark };
    const amr = [{ method: 'password', timestamp: later }];
    const token = `${part({ alg, kid: `${mark} NOPERM` })}.${part({ ...claims, amr })}.${part({})}`;
    const session = encodeSession({ access_token: token, refresh_token: causes.join(' '), expires_at: 1, user: {} });
    for (const cookie of [token, session]) {
      const headers = { cookie: `${cookieName}=${cookie}`, authorization: `Bearer ${token}`, 'user-agent': mark };
      for (const path of ['/api/me', '/whoami', '/fresh', '/auth/session']) await app.visitor().get(path, { headers });
      for (const path of ['/auth/logout', '/logout']) await app.visitor().post(path, { headers });
    }
  }
}

async function expectOnce(code: string, text: RegExp, stranger: () => Promise<unknown>, cause: () => Promise<unknown>) {
  const told = (): string[] => warnings.filter((warning) => text.test(warning));
  await stranger();
  expect(told()).toEqual([]);
  await cause();
  await cause();
  expect(told()).toEqual([expect.stringMatching(new RegExp(`^${code} (?:b2bAuth|backendAuth|A proxy)`))]);
  expect(warnings.join('\n')).not.toContain(mark);
}

describe('a refused key is told once', () => {
  it('of Supabase, after forged callbacks and what a firewall before it refuses', async () => {
    const app = await startBackend();
    await expectOnce(
      'EXPRESS_AUTH_ADAPTERS_PROVIDER_REFUSED',
      /BAAS_ANON_KEY/,
      async () => {
        for (const cause of causes) await app.visitor().get(`/auth/callback?error=${cause}&error_code=${cause}`);
        for (const status of [400, 403, 413, 414, 431]) {
          answers.set('/token', () => new Response('<html>blocked</html>', { status }));
          expect((await signIn(app, `${mark}@example.com`, "' or 1=1 --")).status).toBe(502);
        }
        answers.clear();
      },
      async () => {
        app.supabase.fail('token', 401);
        expect((await signIn(app)).status).toBe(502);
      },
    );
    // Each of them is a cause of its own.
    expect(warnings.filter((text) => text.includes('with http_403'))).toHaveLength(1);
  });

  it('of WorkOS, after forged callbacks and a profile of an organization that it does not take', async () => {
    const app = await startB2b();
    const refuse = (status: number, code: string) => () => Response.json({ code, message: 'Refused' }, { status });
    await expectOnce(
      'EXPRESS_AUTH_ADAPTERS_PROVIDER_REFUSED',
      /B2B_API_KEY/,
      async () => {
        for (const cause of causes) await callback(app, `error=${cause}&error_description=${mark}`);
        answers.set('/authenticate', refuse(400, 'invalid_profile'));
        expect((await callback(app)).status).toBe(502);
      },
      async () => {
        answers.set('/authenticate', refuse(401, 'unauthorized'));
        expect((await callback(app)).status).toBe(502);
      },
    );
  });
});

describe('a provider that does not answer is told once', () => {
  const large = JSON.stringify({ user_metadata: 'x'.repeat(1_100_000) });

  it('by backendAuth, after a user whose own data makes an answer too large', async () => {
    const app = await startBackend();
    await expectOnce(
      'EXPRESS_AUTH_ADAPTERS_PROVIDER_UNREACHABLE',
      /did not answer/,
      async () => {
        await app.visitor().get('/auth/callback?error=temporarily_unavailable&error_code=request_timeout');
        answers.set('/token', () => new Response(large));
        expect((await signIn(app, `${mark}@example.com`)).status).toBe(503);
        answers.clear();
      },
      async () => {
        app.supabase.fail('token', 'refuse');
        expect((await signIn(app)).status).toBe(503);
      },
    );
  });

  it('by b2bAuth, likewise', async () => {
    const app = await startB2b();
    await expectOnce(
      'EXPRESS_AUTH_ADAPTERS_PROVIDER_UNREACHABLE',
      /did not answer/,
      async () => {
        answers.set('/authenticate', () => new Response(large));
        expect((await callback(app)).status).toBe(503);
      },
      async () => {
        answers.set('/authenticate', () => {
          throw new TypeError('fetch failed');
        });
        expect((await callback(app)).status).toBe(503);
      },
    );
  });
});

describe('after forged tokens', () => {
  const cookieName = 'sb-127-auth-token';
  const broken = (body: string): string => body.replace(/("access_?token":"[^"]+)[^"]{8}"/i, '$1AAAAAAAA"');

  it('signing keys that cannot be fetched are told once', async () => {
    const app = await startBackend();
    const visitor = await app.signedIn();
    await expectOnce(
      'EXPRESS_AUTH_ADAPTERS_KEYS_UNAVAILABLE',
      /keys that sign tokens/,
      () => forge(app, cookieName),
      async () => {
        app.supabase.fail('jwks', 'refuse');
        app.clock.advance(11 * 60_000);
        await visitor.get('/api/me');
        await signIn(app, ada.email, ada.password);
      },
    );
  });

  it('a token of the provider that fails verification is told once', async () => {
    const app = await startBackend();
    await expectOnce(
      'EXPRESS_AUTH_ADAPTERS_TOKEN_REJECTED',
      /failed verification/,
      () => forge(app, cookieName),
      async () => {
        const session = await app.supabase.issueSession(ada.email);
        answers.set('/token', () => new Response(broken(JSON.stringify(session))));
        expect((await signIn(app, ada.email, ada.password)).status).toBe(502);
      },
    );
  });

  it('a clock that is behind is told once', async () => {
    const app = await startB2b();
    const guarded = await started(
      startB2bApp({
        after: (host) =>
          host.get('/fresh', requireSession({ maxAge: 60 }) as Handler, (_req, res) => sendText(res, 'fresh')),
      }),
    );
    await expectOnce(
      'EXPRESS_AUTH_ADAPTERS_CLOCKS_DIFFER',
      /clock of this server/,
      async () => {
        await forge(app, 'b2b-session');
        await forge(guarded, 'b2b-session');
      },
      async () => {
        const visitor = await guarded.signedIn();
        guarded.clock.advance(-30_000);
        await visitor.get('/fresh');
        guarded.clock.advance(30_000);
      },
    );
  });

  it('a coordinator that is not permitted is told once', async () => {
    const shared = createShared();
    let failure: Error | undefined;
    const coordinator = {
      ...shared,
      read: (subject: string) => (failure === undefined ? shared.read(subject) : Promise.reject(failure)),
    };
    const app = await startBackend({ coordinator });
    const visitor = await app.signedIn();
    await expectOnce(
      'EXPRESS_AUTH_ADAPTERS_COORDINATOR_NOT_PERMITTED',
      /NOPERM/,
      () => forge(app, cookieName),
      async () => {
        failure = new Error("NOPERM User app has no permissions to run the 'hget' command");
        await visitor.get('/api/me');
        await (await app.signedIn()).get('/api/me');
      },
    );
  });
});

describe.each([
  ['backendAuth', '/auth/logout', (options: object) => startBackend(options)],
  ['b2bAuth', '/logout', (options: object) => startB2b(options)],
] as const)('a hook of %s that fails at sign-out', (name, path, start) => {
  it('is told once for each cause, however many strangers sign out without a session', async () => {
    const onSignOut = ({ session, req }: { readonly session: object | null; readonly req: IncomingMessage }): void => {
      if (session === null) throw new TypeError(`No basket of ${String(req.headers['x-basket'])}`);
      throw Object.assign(new Error('The database is away'), { code: 'ECONNREFUSED' });
    };
    const app = await start({ onSignOut });
    const told = (): string[] => warnings.filter((warning) => warning.includes('onSignOut failed'));
    for (let basket = 0; basket < 30; basket += 1) {
      await app.visitor().post(path, { headers: { 'x-basket': String(basket) } });
    }
    expect(told()).toEqual([expect.stringContaining('No basket of 0')]);
    for (let round = 0; round < 2; round += 1) await (await app.signedIn()).post(path);
    expect(told().slice(1)).toEqual([
      `EXPRESS_AUTH_ADAPTERS_SIGN_OUT_HOOK ${name}: onSignOut failed, and the person is signed out: The database is away`,
    ]);
    expect(app.events.filter(({ type }) => type === 'hook_failed')).toHaveLength(32);
  });
});

describeWithoutProxy(
  'a proxy that is not trusted is told once, after strangers who send its headers themselves',
  () => {
    const headers = {
      'x-forwarded-for': mark,
      'x-real-ip': mark,
      'x-forwarded-proto': 'https',
      forwarded: `for=${mark}`,
    };

    it('by backendAuth', async () => {
      const app = await startBackend();
      const login = () =>
        app.visitor().post('/auth/login', {
          headers: { ...headers, 'content-type': 'application/json' },
          body: JSON.stringify(ada),
        });
      await expectOnce(
        'BACKEND_TRUST_PROXY',
        /trust proxy/,
        () => ((peer = '203.0.113.7'), login()),
        () => ((peer = '10.0.0.1'), login()),
      );
    });

    it('by b2bAuth', async () => {
      const app = await startB2b();
      const login = () => app.visitor().get('/login', { headers });
      await expectOnce(
        'EXPRESS_AUTH_ADAPTERS_TRUST_PROXY',
        /trust proxy/,
        () => ((peer = '203.0.113.7'), login()),
        () => ((peer = '10.0.0.1'), login()),
      );
    });
  },
);

it('in development, a front end of one’s own is told once, after strangers with many origins', () =>
  withNodeEnv('development', async () => {
    const app = await startBackend();
    const post = (origin: string) =>
      app.visitor().post('/auth/logout', { headers: { origin, 'sec-fetch-site': 'cross-site' } });
    await expectOnce(
      'EXPRESS_AUTH_ADAPTERS_ORIGIN',
      /trustedOrigins/,
      async () => {
        for (let count = 0; count < 25; count += 1) await post(`https://${mark}-${count}.example`);
        peer = '203.0.113.7';
        for (let count = 0; count < 25; count += 1) await post(`http://localhost:${1_000 + count}`);
        peer = '127.0.0.1';
      },
      () => post('http://localhost:5173'),
    );
  }));
