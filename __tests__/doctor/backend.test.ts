import { startSupabaseStandIn } from '../../stand-ins/supabase/stand-in.ts';
import type { SupabaseStandIn } from '../../stand-ins/supabase/stand-in.ts';
import { examine, lines, supabaseEnv } from '../support/doctor.ts';

let supabase: SupabaseStandIn;
beforeEach(async () => {
  supabase = await startSupabaseStandIn();
});
afterEach(() => supabase.close());

const jwt = (claims: object): string =>
  [{ alg: 'HS256', typ: 'JWT' }, claims]
    .map((part) => Buffer.from(JSON.stringify(part)).toString('base64url'))
    .concat('c2lnbmF0dXJl')
    .join('.');

it('finds no problem in a valid environment', async () => {
  const report = await examine(supabaseEnv(supabase));
  expect(report).toMatchObject({ ok: true, adapters: ['backend'] });
  expect(lines(report, 'backend.key_kind')).toEqual(['ok: BAAS_PUBLISHABLE_KEY is a publishable key']);
  expect(lines(report, 'backend.key')[0]).toMatch(/^ok: .*accepts the key/);
  expect(lines(report, 'backend.keys')).toEqual(['ok: The project publishes signing keys (ES256)']);
  expect(lines(report, 'backend.email')).toEqual([]);
});

it('prints the URL to register', async () => {
  const report = await examine({ ...supabaseEnv(supabase), APP_BASE_URL: 'https://app.example.com' });
  expect(report.findings.find(({ id }) => id === 'backend.redirect_url')?.values).toEqual({
    redirectUrl: 'https://app.example.com/auth/callback',
    siteUrl: 'https://app.example.com',
  });
});

it('prints the redirect URL below a path prefix', async () => {
  const { findings } = await examine(supabaseEnv(supabase), { pathPrefix: '/v1/auth' });
  expect(findings.find(({ id }) => id === 'backend.redirect_url')?.values).toMatchObject({
    redirectUrl: 'http://localhost:3000/v1/auth/callback',
  });
});

it('refuses a secret key by its kind, without sending or printing it', async () => {
  const secret = `sb_secret_${'q7'.repeat(12)}`;
  const report = await examine({ BAAS_URL: supabase.url, BAAS_ANON_KEY: secret });
  expect(lines(report, 'backend.options')[0]).toMatch(/^problem: anonKey .*is a secret key/);
  expect(JSON.stringify(report)).not.toContain('q7q7');
  expect(supabase.requests).toEqual([]);
});

it('accepts a legacy anon key and refuses the service role’s', async () => {
  const anon = jwt({ role: 'anon', iss: 'supabase' });
  expect(lines(await examine({ BAAS_URL: supabase.url, BAAS_ANON_KEY: anon }), 'backend.key_kind')[0]).toMatch(
    /^note: .*legacy anon key/,
  );
  const service = jwt({ role: 'service_role', iss: 'supabase' });
  expect(lines(await examine({ BAAS_URL: supabase.url, BAAS_ANON_KEY: service }), 'backend.options')[0]).toMatch(
    /service-role key/,
  );
});

it('reports that the project refuses the key', async () => {
  const report = await examine({ ...supabaseEnv(supabase), BAAS_PUBLISHABLE_KEY: 'sb_publishable_other' });
  expect(lines(report, 'backend.key')[0]).toMatch(/^problem: .*refuses the key/);
});

it('reports that the project is unreachable', async () => {
  const env = supabaseEnv(supabase);
  supabase.fail('all', 'refuse');
  const report = await examine(env);
  expect(lines(report, 'backend.reachable')[0]).toMatch(/^problem: .*cannot be reached/);
});

it('does not wait for a project that never answers', async () => {
  supabase.fail('settings', 'hang');
  const report = await examine(supabaseEnv(supabase), { timeoutMs: 100 });
  expect(lines(report, 'backend.reachable')[0]).toMatch(/no answer within 100 ms/);
});

it('recognizes a proxy’s page', async () => {
  supabase.fail('settings', 'html502');
  expect(lines(await examine(supabaseEnv(supabase)), 'backend.reachable')[0]).toMatch(/answered 502 without settings/);
});

it('recognizes signing keys that cannot be read', async () => {
  supabase.fail('jwks', 503);
  expect(lines(await examine(supabaseEnv(supabase)), 'backend.keys')[0]).toMatch(/^problem: .*answered 503/);
});

it('warns of a project that signs with a shared secret', async () => {
  const legacy = await startSupabaseStandIn({ algorithm: 'HS256' });
  const report = await examine(supabaseEnv(legacy));
  expect(lines(report, 'backend.keys')[0]).toMatch(/^warning: .*shared secret/);
  expect(report.ok).toBe(true);
  await legacy.close();
});

it('warns where sign-in by email is off', async () => {
  supabase.switches.emailProviderDisabled = true;
  const report = await examine(supabaseEnv(supabase));
  expect(lines(report, 'backend.email')[0]).toMatch(/^warning/);
});

it('recognizes a URL with too many parts', async () => {
  const report = await examine({ ...supabaseEnv(supabase), BAAS_URL: `${supabase.url}/rest/v1/` });
  expect(lines(report, 'backend.options')[0]).toMatch(/^problem: url \(env BAAS_URL\) is the address of one of/);
});

it('reports plain http as a problem in production', async () => {
  const report = await examine({ ...supabaseEnv(supabase), NODE_ENV: 'production' });
  expect(lines(report, 'backend.https')[0]).toMatch(/^problem/);
});
