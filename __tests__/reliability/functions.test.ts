import { b2bAuth } from '../../lib/b2b/index.ts';
import { backendAuth } from '../../lib/backend/index.ts';
import type { BackendAuthOptions } from '../../lib/backend/index.ts';
import type { B2bAuthOptions } from '../../lib/b2b/index.ts';
import { createB2bTestKit } from '../../lib/testing/index.ts';
import { demoUsers, startB2bApp } from '../support/b2b-app.ts';
import type { B2bApp } from '../support/b2b-app.ts';
import { ada, startBackendApp } from '../support/backend-app.ts';
import type { BackendApp } from '../support/backend-app.ts';
import { closeAfterEach } from '../support/close-after-each.ts';

const platforms = ['AWS_LAMBDA_FUNCTION_NAME', 'VERCEL', 'K_SERVICE', 'NETLIFY'];
const environment = { ...process.env };
const started = closeAfterEach();

afterEach(() => {
  process.env = { ...environment };
});

/** Calls to the provider with this text in their URL wait for a gate. */
function hold(held: string) {
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
  return { holding, open: () => gate.resolve(undefined), asked: asked.promise };
}

/** An application on such a platform, whose calls to the provider with this text in their URL wait for a gate. */
async function start(options: BackendAuthOptions = {}, held = 'nothing', platform: string | null = 'VERCEL') {
  if (platform !== null) process.env[platform] = '1';
  const { holding, ...gate } = hold(held);
  return { app: await started(startBackendApp({ options: { fetch: holding, ...options } })), ...gate };
}

async function startB2b(options: B2bAuthOptions = {}, held = 'nothing', platform: string | null = 'VERCEL') {
  if (platform !== null) process.env[platform] = '1';
  const { holding, ...gate } = hold(held);
  return { app: await started(startB2bApp({ options: { fetch: holding, ...options } })), ...gate };
}

/** The response does not come while the call to the provider waits, though the process answers other requests. */
async function expectToWait(
  answer: Promise<unknown>,
  asked: Promise<unknown>,
  app: BackendApp | B2bApp,
): Promise<void> {
  await asked;
  const others = async (): Promise<string> => {
    for (let count = 0; count < 20; count += 1) await app.visitor().get('/');
    return 'others';
  };
  expect(await Promise.race([answer, others()])).toBe('others');
}

const refreshes = ({ events }: BackendApp | B2bApp): number =>
  events.filter(({ type }) => type === 'session_refreshed').length;

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
    const handed: Promise<unknown>[] = [];
    const { app } = await visit({ waitUntil: (work) => handed.push(work) }, null);
    await Promise.all(handed);
    expect(refreshes(app)).toBe(0);
  });

  it('is renewed before the response where refreshWindow is given', async () => {
    const { app, isNew } = await visit({ refreshWindow: 60 }, 'VERCEL');
    expect([refreshes(app), isNew]).toEqual([1, true]);
  });
});

it('a session is served while its refresh ahead of time hangs, also where accept asks another service', async () => {
  const services: ReturnType<BackendApp['visitor']>[] = [];
  const accept = async () => {
    const [answer] = await Promise.all(services.map((service) => service.get('/')));
    return answer === undefined || answer.status === 200;
  };
  const { app, open, asked } = await start({ refreshWindow: 60, timeoutMs: 500, accept }, 'grant_type=refresh_token');
  const visitor = await app.signedIn({});
  services.push(app.visitor());
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

describe('of b2bAuth', () => {
  /** Of the stand-in's access tokens, in milliseconds. */
  const lifetimeMs = 300_000;
  const handing = () => {
    const handed: Promise<unknown>[] = [];
    return { handed, waitUntil: (work: Promise<unknown>): void => void handed.push(work) };
  };

  describe('a token that is due for renewal in the background', () => {
    async function visit(options: B2bAuthOptions, platform: string | null, held?: string) {
      const parts = await startB2b(options, held, platform);
      const { app } = parts;
      const visitor = await app.signedIn();
      app.clock.advance(lifetimeMs - 20_000);
      return { ...parts, visitor, before: visitor.cookieHeader() };
    }

    it.each(platforms)('is not renewed where %s is set', async (name) => {
      const { app, visitor } = await visit({}, name);
      expect((await visitor.get('/api/me')).status).toBe(200);
      expect(refreshes(app)).toBe(0);
    });

    it('nor where waitUntil is given', async () => {
      const { handed, waitUntil } = handing();
      const { app, visitor } = await visit({ waitUntil }, null);
      handed.length = 0;
      expect((await visitor.get('/api/me')).status).toBe(200);
      expect([refreshes(app), handed]).toEqual([0, []]);
    });

    it('is renewed before the response where refreshWindow is given', async () => {
      const { app, visitor, before } = await visit({ refreshWindow: 60 }, 'VERCEL');
      expect((await visitor.get('/api/me')).status).toBe(200);
      expect([refreshes(app), visitor.cookieHeader() === before]).toEqual([1, false]);
    });
  });

  it('a renewal that outlasts its request is handed to waitUntil', async () => {
    const { handed, waitUntil } = handing();
    const held = hold('');
    const refreshing: typeof fetch = async (input, init) => {
      const request = new Request(input, init);
      const isRefresh = (await request.clone().text()).includes('refresh_token');
      return isRefresh ? held.holding(request) : fetch(request);
    };
    const { app } = await startB2b({ fetch: refreshing, waitUntil, timeoutMs: 1_000 }, 'nothing', null);
    const visitor = await app.signedIn();
    // Not so long that the signing keys are fetched again.
    app.clock.advance(lifetimeMs + 120_000);
    handed.length = 0;
    expect((await visitor.get('/api/me')).status).toBe(503);
    expect(handed.length).toBeGreaterThan(0);
    held.open();
    await Promise.all(handed);
    expect((await visitor.get('/api/me')).status).toBe(200);
    expect(refreshes(app)).toBe(1);
  });

  const cases = [
    ['is waited for on such a platform', 'VERCEL', false],
    ['is handed to waitUntil', null, true],
    ['goes on by itself elsewhere', null, true],
  ] as const;

  describe('the end of the session that a sign-in replaces', () => {
    it.each(cases)('%s', async (what, platform, comesFirst) => {
      const { handed, waitUntil } = handing();
      const options = what.includes('waitUntil') ? { waitUntil } : {};
      const { app, open, asked } = await startB2b(options, '/sessions/revoke', platform);
      const visitor = await app.signedIn();
      const { location } = await visitor.get('/login?prompt=login');
      const callback = await app.workos.authorize(location, { user: demoUsers.oneOrganization });
      handed.length = 0;
      const answer = visitor.get(callback.href);
      if (comesFirst) await answer;
      else await expectToWait(answer, asked, app);
      await asked;
      expect(handed.length > 0).toBe(what.includes('waitUntil'));
      open();
      await Promise.all(handed);
      expect((await answer).status).toBe(303);
    });
  });

  describe('the end of a session that a sign-out finds beside the visible one', () => {
    it.each(cases)('%s', async (what, platform, comesFirst) => {
      const { handed, waitUntil } = handing();
      const options = what.includes('waitUntil') ? { waitUntil } : {};
      const { app, open, asked } = await startB2b(options, '/sessions/revoke', platform);
      const [one, other] = [await app.signedIn(), await app.signedIn()];
      handed.length = 0;
      const headers = { cookie: `${one.cookieHeader()}; ${other.cookieHeader()}` };
      const answer = app.visitor().post('/logout', { headers });
      if (comesFirst) await answer;
      else await expectToWait(answer, asked, app);
      await asked;
      expect(handed.length > 0).toBe(what.includes('waitUntil'));
      open();
      await Promise.all(handed);
      expect((await answer).status).toBe(303);
    });
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
