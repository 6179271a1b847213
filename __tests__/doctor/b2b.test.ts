import { randomBytes } from 'node:crypto';
import { startWorkos } from '../support/workos.ts';
import type { WorkosStandIn } from '../../stand-ins/workos/index.ts';
import { freePortsInARow, serve } from '../support/servers.ts';
import { examine, lines, workosEnv } from '../support/doctor.ts';

let workos: WorkosStandIn;
beforeEach(async () => {
  workos = await startWorkos({
    clientId: 'client_test',
    apiKey: `sk_test_${randomBytes(12).toString('hex')}`,
  });
});
afterEach(() => workos.close());

it('finds no problem in a valid environment', async () => {
  const report = await examine(workosEnv(workos));
  expect(report).toMatchObject({ ok: true, adapters: ['b2b'] });
  expect(lines(report, 'b2b.client_id')).toEqual(['ok: B2B_CLIENT_ID is a client id (client_…)']);
  expect(lines(report, 'b2b.api_key_kind')).toEqual(['ok: B2B_API_KEY is an API key (sk_…)']);
  expect(lines(report, 'b2b.cookie_password')).toEqual(['ok: B2B_COOKIE_PASSWORD is set and long enough']);
  expect(lines(report, 'b2b.keys')[0]).toMatch(/^ok: .*publishes signing keys \(RS256\)/);
  expect(lines(report, 'b2b.api_key')).toEqual(['ok: WorkOS accepts the API key']);
});

it('prints no key, no password and no part of one', async () => {
  const env = workosEnv(workos);
  const report = JSON.stringify(await examine(env));
  for (const secret of [env['B2B_API_KEY'] ?? '', env['B2B_COOKIE_PASSWORD'] ?? '']) {
    expect(report).not.toContain(secret.slice(-6));
    expect(report).not.toContain(secret.slice(8, 14));
  }
});

it('prints the exact redirect URI, also below a mount path', async () => {
  const uris = async (appUrl: string, callbackPath?: string): Promise<unknown> => {
    const report = await examine(workosEnv(workos), { appUrl, callbackPath });
    return report.findings.find(({ id }) => id === 'b2b.redirect_uri')?.values?.['redirectUri'];
  };
  expect(await uris('http://localhost:3000')).toBe('http://localhost:3000/callback');
  expect(await uris('https://app.example.com/')).toBe('https://app.example.com/callback');
  expect(await uris('https://app.example.com/admin', '/auth/done')).toBe('https://app.example.com/admin/auth/done');
});

it('names the URLs to register below a path prefix', async () => {
  const { findings } = await examine(workosEnv(workos), { pathPrefix: '/v1/auth' });
  const valuesOf = (id: string) => findings.find((finding) => finding.id === `b2b.${id}`)?.values;
  expect(valuesOf('redirect_uri')).toEqual({ redirectUri: 'http://localhost:3000/v1/auth/callback' });
  expect(valuesOf('sign_out_redirect')).toMatchObject({ signInUrl: 'http://localhost:3000/v1/auth/login' });
});

it('reports that the client id is unknown', async () => {
  const report = await examine({ ...workosEnv(workos), B2B_CLIENT_ID: 'client_other' });
  expect(lines(report, 'b2b.client_id')[1]).toMatch(/^problem: .*does not know this client id/);
  expect(report.ok).toBe(false);
});

it('reports that the API key is refused', async () => {
  const report = await examine({ ...workosEnv(workos), B2B_API_KEY: 'sk_test_other' });
  expect(lines(report, 'b2b.api_key')).toEqual(['problem: WorkOS refuses the API key for this client id']);
});

it('recognizes swapped keys', async () => {
  const { B2B_CLIENT_ID, B2B_API_KEY, ...others } = workosEnv(workos);
  const report = await examine({ ...others, B2B_CLIENT_ID: B2B_API_KEY, B2B_API_KEY: B2B_CLIENT_ID });
  expect(lines(report, 'b2b.options')).toEqual([
    'problem: clientId (env B2B_CLIENT_ID) holds an API key (sk_…); it must be the client id (client_…)',
    'problem: apiKey (env B2B_API_KEY) holds a client id (client_…); it must be an API key (sk_…)',
  ]);
  expect(JSON.stringify(report)).not.toContain(B2B_API_KEY);
});

it.each(['\u2028', '\n', ' ', '"'])(
  'recognizes a key that was copied with extra characters, without printing it: %j',
  async (extra) => {
    const env = { ...workosEnv(workos), B2B_API_KEY: `sk_test_q7q7${extra}q7q7` };
    const report = await examine(env);
    expect(lines(report, 'b2b.options')[0]).toMatch(
      /^problem: apiKey \(env B2B_API_KEY\) holds blanks, quotes or a line break/,
    );
    expect(JSON.stringify(report)).not.toContain('q7q7');
  },
);

it('reports that nothing listens there', async () => {
  const report = await examine({ ...workosEnv(workos), B2B_API_PORT: String(await freePortsInARow(1)) });
  expect(lines(report, 'b2b.reachable')[0]).toMatch(/^problem: .*nothing listens there/);
  expect(lines(report, 'b2b.api_key')).toEqual([]);
});

it('does not wait for a provider that never answers', async () => {
  workos.switches.outage.jwks = 'hang';
  const report = await examine(workosEnv(workos), { timeoutMs: 100 });
  expect(lines(report, 'b2b.reachable')[0]).toMatch(/no answer within 100 ms/);
});

it.each(['html502', { status: 429 }, 'refuse', 'hang'] as const)(
  'does not blame the key if it could not be verified: %j',
  async (fault) => {
    workos.switches.outage.token = fault;
    const report = await examine(workosEnv(workos), { timeoutMs: 200 });
    expect(lines(report, 'b2b.api_key')).toEqual([expect.stringMatching(/^problem: The API key could not be tried: /)]);
  },
);

it('recognizes something that is not WorkOS', async () => {
  const server = await serve((_req, res) => res.end('<h1>It works!</h1>'));
  const report = await examine({ ...workosEnv(workos), B2B_API_PORT: String(server.port) });
  expect(lines(report, 'b2b.keys')[0]).toMatch(/^problem: .*answered 200 without a key set/);
  await server.close();
});

it('finds a wrong clock', async () => {
  const report = await examine(workosEnv(workos), { now: () => Date.now() + 3_600_000 });
  expect(lines(report, 'b2b.clock')[0]).toMatch(/^problem: .*clock is (?:3599|3600|3601) seconds ahead/);
});

describe('the cookie password', () => {
  it('is a note when it is missing in development', async () => {
    const report = await examine({ ...workosEnv(workos), B2B_COOKIE_PASSWORD: '' });
    expect(lines(report, 'b2b.cookie_password')[0]).toMatch(/^note: No cookie password/);
    expect(report.ok).toBe(true);
  });

  it('is a problem when it is missing in production, and the provider is still checked', async () => {
    const report = await examine({ ...workosEnv(workos), B2B_COOKIE_PASSWORD: '', NODE_ENV: 'production' });
    expect(lines(report, 'b2b.options')[0]).toMatch(/^problem: cookiePassword \(env B2B_COOKIE_PASSWORD/);
    expect(lines(report, 'b2b.api_key')).toEqual(['ok: WorkOS accepts the API key']);
  });

  it('is not accepted for its length alone', async () => {
    const report = await examine({ ...workosEnv(workos), B2B_COOKIE_PASSWORD: 'a'.repeat(40) });
    expect(lines(report, 'b2b.cookie_password')).toEqual(['problem: B2B_COOKIE_PASSWORD is easy to guess']);
  });
});

it('warns of plain http, and reports it as a problem in production', async () => {
  expect(lines(await examine(workosEnv(workos)), 'b2b.https')[0]).toMatch(/^warning/);
  expect(lines(await examine({ ...workosEnv(workos), NODE_ENV: 'production' }), 'b2b.https')[0]).toMatch(/^problem/);
});

it('warns of a staging key in production', async () => {
  const report = await examine({ ...workosEnv(workos), NODE_ENV: 'production' });
  expect(lines(report, 'b2b.api_key_environment')).toEqual([expect.stringMatching(/^warning: .*staging/)]);
});
