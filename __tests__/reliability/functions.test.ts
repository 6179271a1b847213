import { b2bAuth } from '../../lib/b2b/index.ts';
import { backendAuth } from '../../lib/backend/index.ts';
import type { BackendAuthOptions } from '../../lib/backend/index.ts';
import { createB2bTestKit } from '../../lib/testing/index.ts';
import { ada, startBackendApp } from '../support/backend-app.ts';
import type { BackendApp } from '../support/backend-app.ts';
import { closeAfterEach } from '../support/close-after-each.ts';

const platforms = ['AWS_LAMBDA_FUNCTION_NAME', 'VERCEL', 'K_SERVICE', 'NETLIFY'];
const environment = { ...process.env };
const started = closeAfterEach();

afterEach(() => {
  process.env = { ...environment };
});

/** An application on such a platform, whose calls to the provider with this text in their URL wait for a gate. */
async function start(options: BackendAuthOptions = {}, held = 'nothing', platform: string | null = 'VERCEL') {
  if (platform !== null) process.env[platform] = '1';
  const gate = Promise.withResolvers<undefined>();
  const asked = Promise.withResolvers<undefined>();
  const holding: typeof fetch = async (input, init) => {
    const url = input instanceof Request ? input.url : String(input);
    if (url.includes(held)) {
      asked.resolve(undefined);
      await gate.promise;
    }
    return fetch(input, init);
  };
  const app = await started(startBackendApp({ options: { fetch: holding, ...options } }));
  return { app, open: () => gate.resolve(undefined), asked: asked.promise };
}

/** The response does not come while the call to the provider waits, though the process answers other requests. */
async function expectToWait(answer: Promise<unknown>, asked: Promise<unknown>, app: BackendApp): Promise<void> {
  await asked;
  const others = async (): Promise<string> => {
    for (let count = 0; count < 20; count += 1) await app.visitor().get('/');
    return 'others';
  };
  expect(await Promise.race([answer, others()])).toBe('others');
}

const refreshes = (app: BackendApp): number => app.eventTypes().filter((type) => type === 'session_refreshed').length;

describe('a token with half a minute left', () => {
  async function visit(options: BackendAuthOptions, platform: string | null) {
    const { app } = await start(options, 'nothing', platform);
    const visitor = await app.signedIn();
    app.clock.advance(3_600_000 - 30_000);
    const before = visitor.cookies.get(app.cookieName);
    expect((await visitor.get('/api/me')).status).toBe(200);
    return { app, isNew: visitor.cookies.get(app.cookieName) !== before };
  }

  it.each(platforms)('is not renewed in the background where %s is set', async (name) => {
    expect(refreshes((await visit({}, name)).app)).toBe(0);
  });

  it('nor where waitUntil is given', async () => {
    expect(refreshes((await visit({ waitUntil: () => undefined }, null)).app)).toBe(0);
  });

  it('is renewed before the response where refreshWindow is given', async () => {
    const { app, isNew } = await visit({ refreshWindow: 60 }, 'VERCEL');
    expect([refreshes(app), isNew]).toEqual([1, true]);
  });
});

it('a session is served while its refresh ahead of time hangs, also where accept asks another service', async () => {
  let service = '';
  const { app, open, asked } = await start(
    { refreshWindow: 60, timeoutMs: 500, accept: async () => service === '' || (await fetch(service)).ok },
    'grant_type=refresh_token',
  );
  const visitor = await app.signedIn({});
  service = app.origin;
  app.clock.advance(3_600_000 - 30_000);
  const answer = visitor.get('/api/me');
  await asked;
  expect((await answer).status).toBe(200);
  open();
});

describe('an email that takes long', () => {
  const forgot = (app: BackendApp) => app.visitor().postJson('/auth/forgot', { email: ada.email });

  it('is waited for on such a platform', async () => {
    const { app, open, asked } = await start({ mailAnswerMs: 1 }, '/recover');
    const answer = forgot(app);
    await expectToWait(answer, asked, app);
    open();
    expect((await answer).status).toBe(200);
  });

  it('is handed to waitUntil, and the response does not wait', async () => {
    const handed: Promise<unknown>[] = [];
    const waitUntil = (work: Promise<unknown>): void => void handed.push(work);
    const { app, open } = await start({ mailAnswerMs: 1, waitUntil }, '/recover');
    expect((await forgot(app)).status).toBe(200);
    expect(handed.length).toBeGreaterThan(0);
    open();
    await Promise.all(handed);
  });
});

describe('the end of the session that a sign-in replaces', () => {
  it.each([
    ['is waited for on such a platform', {}, 'VERCEL', false],
    ['is handed to waitUntil', { waitUntil: () => undefined }, 'VERCEL', true],
    ['goes on by itself elsewhere', {}, null, true],
  ] as const)('%s', async (_what, options, platform, comesFirst) => {
    const { app, open, asked } = await start(options, '/logout', platform);
    app.supabase.addUser({ email: 'bob@example.com', password: ada.password });
    const visitor = await app.signedIn();
    const answer = visitor.postJson('/auth/login', { email: 'bob@example.com', password: ada.password });
    if (comesFirst) await answer;
    else await expectToWait(answer, asked, app);
    open();
    expect((await answer).status).toBe(200);
  });
});

it.each([
  ['b2bAuth', (waitUntil: never) => b2bAuth({ ...createB2bTestKit().options, waitUntil })],
  [
    'backendAuth',
    (waitUntil: never) => backendAuth({ url: 'http://127.0.0.1:9', anonKey: 'sb_publishable_x', waitUntil }),
  ],
])('waitUntil of %s is a function', (_name, create) => {
  expect(() => create('yes' as never)).toThrow(/waitUntil/);
  expect(() => create((() => undefined) as never)).not.toThrow();
});
