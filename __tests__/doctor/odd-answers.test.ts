// Answers that no correct provider gives, from a provider or from a server in its place.
import { randomBytes } from 'node:crypto';
import { startWorkos } from '../support/workos.ts';
import type { WorkosStandIn } from '../../stand-ins/workos/index.ts';
import { examine, lines, workosEnv } from '../support/doctor.ts';
import { serve } from '../support/servers.ts';

const json = (status: number, body: unknown): Response => Response.json(body, { status });

describe('in place of WorkOS', () => {
  let workos: WorkosStandIn;
  beforeEach(async () => {
    workos = await startWorkos({
      clientId: 'client_test',
      apiKey: `sk_test_${randomBytes(12).toString('hex')}`,
    });
  });
  afterEach(() => workos.close());

  /** An impostor that publishes these keys and answers refreshes this way. */
  async function examineImpostor(keys: unknown, refresh: () => Response) {
    const server = await serve((req, res) => {
      const response = req.method === 'GET' ? json(200, { keys }) : refresh();
      void response
        .text()
        .then((text) => res.writeHead(response.status, { 'content-type': 'application/json' }).end(text));
    });
    const report = await examine({ ...workosEnv(workos), B2B_API_PORT: String(server.port) });
    await server.close();
    return report;
  }

  const rsa = [{ kty: 'RSA', alg: 'RS256' }];

  it('keys of another kind cannot verify a session', async () => {
    const keys = [{ kty: 'EC' }, { alg: 'ES256' }, {}, 'no key', null];
    const report = await examineImpostor(keys, () => json(400, { error: 'invalid_grant' }));
    const found = report.findings.find(({ id }) => id === 'b2b.keys');
    expect(found).toMatchObject({ level: 'problem', message: expect.stringContaining('publishes no RS256 key') });
    expect(found?.values).toEqual({ algorithms: ['EC', 'ES256', 'unknown'] });
  });

  it('a refusal of another kind does not blame the key', async () => {
    const report = await examineImpostor(rsa, () => json(400, { error: 'sso_required' }));
    expect(lines(report, 'b2b.api_key')).toEqual(['warning: WorkOS answered sso_required when the API key was tried']);
  });

  it('a renewal of an unknown session that succeeds is noticed', async () => {
    const user = {
      object: 'user',
      id: 'user_1',
      email: 'a@example.com',
      email_verified: true,
      created_at: '2026-01-01T00:00:00Z',
      updated_at: '2026-01-01T00:00:00Z',
    };
    const report = await examineImpostor(rsa, () => json(200, { user, access_token: 'a.b.c', refresh_token: 'r' }));
    expect(lines(report, 'b2b.api_key')).toEqual([
      'warning: The provider renewed a session that does not exist: it is not WorkOS',
    ]);
  });

  it('a slow clock differs from a fast one', async () => {
    const report = await examine(workosEnv(workos), { now: () => Date.now() - 60_000 });
    expect(lines(report, 'b2b.clock')[0]).toMatch(/clock is (?:59|60|61) seconds behind the provider/);
  });

  it('credentials of an unknown form are only a warning', async () => {
    const report = await examine({ ...workosEnv(workos), B2B_CLIENT_ID: 'project', B2B_API_KEY: 'token' });
    expect(lines(report, 'b2b.client_id')[0]).toMatch(/^warning: B2B_CLIENT_ID is not a client id/);
    expect(lines(report, 'b2b.api_key_kind')).toEqual([
      expect.stringMatching(/^warning: B2B_API_KEY is not an API key/),
    ]);
  });

  it('a production key in development is a warning', async () => {
    const key = { ...workosEnv(workos), B2B_API_KEY: 'sk_live_1' };
    expect(lines(await examine(key), 'b2b.api_key_environment')[0]).toMatch(/^warning: .*a production key/);
    expect(lines(await examine({ ...key, NODE_ENV: 'production' }), 'b2b.api_key_environment')).toEqual([]);
  });
});

describe('in place of Supabase', () => {
  async function examineProject(settings: Record<string, unknown>, keys: () => [number, string]) {
    const server = await serve((req, res) => {
      const [status, text] = req.url?.includes('jwks') === true ? keys() : [200, JSON.stringify(settings)];
      if (status === 0) req.socket.destroy();
      else res.writeHead(status, { 'content-type': 'application/json' }).end(text);
    });
    const report = await examine({ BAAS_URL: server.origin, BAAS_PUBLISHABLE_KEY: `sb_publishable_${'k'.repeat(20)}` });
    await server.close();
    return report;
  }

  it('unreachable keys differ from invalid ones', async () => {
    const settings = { external: { email: true } };
    const cut = await examineProject(settings, () => [0, '']);
    expect(lines(cut, 'backend.keys')[0]).toMatch(/^problem: .*could not be read: the connection was cut/);
    const none = await examineProject(settings, () => [200, '{"keys":{}}']);
    expect(lines(none, 'backend.keys')[0]).toMatch(/answered 200 without a key set/);
  });
});
