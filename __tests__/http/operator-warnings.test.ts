import { format } from 'node:util';
import { jest } from '@jest/globals';
import createDebug from 'debug';
import { b2bAuth, requireSession } from '../../lib/b2b/index.ts';
import { backendAuth } from '../../lib/backend/index.ts';
import { createB2bTestKit } from '../../lib/testing/index.ts';
import type { AuthEvent } from '../../lib/types.ts';
import { createApplication } from '../support/application.ts';
import type { Handler } from '../support/handler-list.ts';
import { sendText } from '../support/hosts.ts';
import { itWithoutProxy } from '../support/only.ts';
import { serve } from '../support/servers.ts';
import { createVisitor } from '../support/visitor.ts';
import type { Answer } from '../support/visitor.ts';

let warnings: string[];
beforeEach(() => {
  warnings = [];
  jest.spyOn(process, 'emitWarning').mockImplementation((warning) => void warnings.push(String(warning)));
});
afterEach(() => void jest.restoreAllMocks());

it('a Supabase project that does not answer is one process warning, and visitors read nothing of staying signed in', async () => {
  const { host, listener } = createApplication();
  host.use(backendAuth({ url: 'http://127.0.0.1:9', anonKey: 'sb_publishable_test' }));
  const server = await serve(listener);
  const visitor = createVisitor(server.origin);
  // What a stranger's query says of the provider must not use the warning up.
  await visitor.get('/auth/callback?error=server_error&error_code=unexpected_failure');
  expect(warnings.filter((text) => text.includes('did not answer'))).toEqual([]);
  for (let round = 0; round < 2; round += 1) {
    const { status, text } = await visitor.postJson('/auth/login', { email: 'a@example.com', password: 'x' });
    expect(status).toBe(503);
    expect(text).not.toContain('signed out');
  }
  await visitor.get('/auth/login?provider=github');
  const page = await visitor.get('/auth/callback?code=made-up');
  expect([page.status, page.text.includes('signed out')]).toEqual([503, false]);
  await server.close();
  expect(warnings.filter((text) => text.includes('did not answer'))).toEqual([
    'backendAuth: the Supabase project at 127.0.0.1:9 did not answer; check BAAS_URL and whether the server can reach it. To find out more: npx express-auth-adapters doctor',
  ]);
});

it('a WorkOS that does not answer is one process warning, and visitors read nothing of staying signed in', async () => {
  const { host, listener } = createApplication();
  host.use(b2bAuth({ ...createB2bTestKit().options, apiUrl: 'http://127.0.0.1:9', fetch }) as Handler);
  const server = await serve(listener);
  const visitor = createVisitor(server.origin);
  const callback = async (query: string): Promise<Answer> => {
    const { location } = await visitor.get('/login');
    return visitor.get(`/callback?state=${new URL(location).searchParams.get('state') ?? ''}&${query}`);
  };
  // What a stranger's query says of the provider must not use the warning up.
  await callback('error=server_error&error_description=did+not+answer');
  expect(warnings.filter((text) => text.includes('did not answer'))).toEqual([]);
  for (let round = 0; round < 2; round += 1) {
    const { status, text } = await callback('code=made-up');
    expect([status, text.includes('signed out')]).toEqual([503, false]);
  }
  await server.close();
  expect(warnings.filter((text) => text.includes('did not answer'))).toEqual([
    'b2bAuth: WorkOS at 127.0.0.1:9 did not answer; check B2B_API_HOSTNAME and whether the server can reach it. To find out more: npx express-auth-adapters doctor',
  ]);
});

describe.each(['backendAuth', 'b2bAuth'] as const)('the callback of %s', (name) => {
  it.each(['provider_refused', 'token_rejected', 'keys_unavailable', 'server_error', 'invalid_client'])(
    'uses up no warning of operators with a query that says %s',
    async (said) => {
      const { host, listener } = createApplication();
      const events: AuthEvent[] = [];
      const onEvent = (event: AuthEvent): void => void events.push(event);
      const auth =
        name === 'b2bAuth'
          ? b2bAuth({ ...createB2bTestKit().options, onEvent })
          : backendAuth({ url: 'http://127.0.0.1:9', anonKey: 'sb_publishable_test', onEvent });
      host.use(auth as Handler);
      const server = await serve(listener);
      const visitor = createVisitor(server.origin);
      let callback = '/auth/callback?';
      if (name === 'b2bAuth') {
        const { location } = await visitor.get('/login');
        callback = `/callback?state=${new URL(location).searchParams.get('state') ?? ''}&`;
      }
      const { status } = await visitor.get(`${callback}error=${said}&error_code=${said}&error_description=${said}`);
      await server.close();
      expect(status).toBeLessThan(500);
      expect(events.map(({ type }) => type)).toContain('sign_in_failed');
      expect(warnings.filter((text) => text.includes('doctor'))).toEqual([]);
    },
  );
});

describe('b2bAuth behind https', () => {
  async function startSignIns(headers: Record<string, string>, trust?: boolean): Promise<AuthEvent[]> {
    const events: AuthEvent[] = [];
    const { host, listener } = createApplication();
    if (trust === true) host.express.set('trust proxy', 'loopback');
    const auth = b2bAuth({ ...createB2bTestKit().options, onEvent: (event) => events.push(event) });
    host.use(auth as Handler);
    const server = await serve(listener);
    for (let round = 0; round < 2; round += 1) await createVisitor(server.origin).get('/login', { headers });
    await server.close();
    return events.filter(({ type }) => type === 'configuration_warning');
  }

  itWithoutProxy(
    'without `trust proxy` is one warning that says what to set, and names no host of a request',
    async () => {
      const events = await startSignIns({ 'x-forwarded-proto': 'https', host: 'stranger.example' });
      expect(events).toHaveLength(1);
      expect(warnings).toEqual([
        expect.stringMatching(
          /A proxy says that visitors use https.*app\.set\('trust proxy', 1\), or the option appBaseUrl/,
        ),
      ]);
      expect(warnings[0]).not.toContain('stranger');
    },
  );

  itWithoutProxy('is silent without the header', async () => {
    expect(await startSignIns({})).toEqual([]);
  });
});

describe('a request from another site', () => {
  const ask = async (mode: string | undefined, origins: readonly string[]): Promise<void> => {
    const former = process.env['NODE_ENV'];
    if (mode === undefined) delete process.env['NODE_ENV'];
    else process.env['NODE_ENV'] = mode;
    const { host, listener } = createApplication();
    host.use(backendAuth({ url: 'http://127.0.0.1:9', anonKey: 'sb_publishable_test' }));
    const server = await serve(listener);
    for (const origin of origins) {
      const headers = { origin, 'sec-fetch-site': 'cross-site' };
      expect((await createVisitor(server.origin).ask('/auth/logout', { method: 'POST', headers })).status).toBe(403);
    }
    await server.close();
    process.env['NODE_ENV'] = former;
  };

  it('is in development one warning per origin, which names the option', async () => {
    await ask(undefined, ['http://localhost:5173', 'http://localhost:5173', 'null', 'x'.repeat(400)]);
    await ask('development', ['http://localhost:5173', 'http://localhost:5174']);
    expect(warnings).toEqual(
      [5173, 5174].map(
        (port) =>
          `backendAuth refused a request from another site with 403: it came from http://localhost:${port}; if that is your own site, add it to trustedOrigins`,
      ),
    );
  });

  it.each(['production', 'test'])('is no warning in %s', async (mode) => {
    await ask(mode, ['http://localhost:5175']);
    expect(warnings).toEqual([]);
  });
});

// Here, because mutation testing leaves this file out: it runs all suites in one process, in which adapters then explain to its end.
it('DEBUG that is on from the start explains a session from the cache, too', async () => {
  const lines: string[] = [];
  const { log } = createDebug;
  createDebug.log = (...given: unknown[]) => void lines.push(format(...given));
  createDebug.enable('express-auth-adapters:*');
  const kit = createB2bTestKit();
  const { host, listener } = createApplication();
  host.use(b2bAuth(kit.options) as Handler);
  host.get('/page', requireSession() as Handler, (_req, res) => sendText(res, 'page'));
  const server = await serve(listener);
  const visitor = createVisitor(server.origin);
  const headers = { cookie: await kit.cookie() };
  for (let round = 0; round < 2; round += 1) await visitor.get('/page?secret=1', { headers });
  await server.close();
  createDebug.disable();
  createDebug.log = log;
  const explained = lines.join('\n');
  expect(explained).toMatch(/GET \S*\/page: let in$/m);
  expect(explained).toMatch(/GET \S*\/page: let in, with a session from the cache$/m);
  expect(explained).not.toContain('secret');
});
