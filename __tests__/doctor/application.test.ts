import { examine, lines } from '../support/doctor.ts';

it('reports that neither adapter is configured, and what to set', async () => {
  const report = await examine({});
  expect(report).toMatchObject({ format: 1, ok: false, adapters: [] });
  expect(lines(report, 'application.adapter')).toEqual([expect.stringMatching(/^problem: Neither adapter/)]);
});

it('treats an empty variable as unset, as the adapters do', async () => {
  expect((await examine({ B2B_CLIENT_ID: '', BAAS_URL: '' })).adapters).toEqual([]);
});

it('checks an adapter that is only partly configured', async () => {
  const report = await examine({ B2B_CLIENT_ID: 'client_1' });
  expect(report.adapters).toEqual(['b2b']);
  expect(lines(report, 'b2b.options')).toEqual([
    'problem: apiKey (env B2B_API_KEY) is missing: an API key (sk_…), under API Keys in the WorkOS dashboard',
  ]);
});

describe('with the settings of both adapters, as the stand-ins write them', () => {
  const env = { B2B_CLIENT_ID: 'client_1', BAAS_URL: 'https://project.example' };
  const without = (...packages: string[]) => ({
    missing: (names: readonly string[]) => names.filter((name) => packages.includes(name)),
  });

  it.each([
    ['b2b', ['@supabase/ssr', '@supabase/supabase-js'], 'backendAuth', 'BAAS_'],
    ['backend', ['@workos-inc/node'], 'b2bAuth', 'B2B_'],
  ] as const)('checks only %s where the other SDK is not installed', async (adapter, packages, other, prefix) => {
    const report = await examine(env, without(...packages));
    expect(report.adapters).toEqual([adapter]);
    const said = `note: ${prefix}… is set, but ${packages.join(' and ')} is not installed: ${other} is not checked`;
    expect(lines(report, 'application.adapter')).toEqual([said]);
  });

  it('checks both where both SDKs are installed, and where none is', async () => {
    const both = ['@supabase/ssr', '@supabase/supabase-js', '@workos-inc/node'];
    for (const options of [without(), without(...both)])
      expect((await examine(env, options)).adapters).toEqual(['b2b', 'backend']);
  });

  it('checks the one that is asked for, installed or not', async () => {
    const report = await examine(env, { ...without('@workos-inc/node'), adapter: 'b2b' });
    expect([report.adapters, lines(report, 'application.adapter')]).toEqual([['b2b'], []]);
  });
});

it('finds misspelled variables', async () => {
  const report = await examine({
    B2B_CLIENTID: 'client_1',
    B2B_API_KEY: 'sk_test_1',
    BAAS_URI: 'https://project.example',
  });
  const fixes = report.findings.filter(({ id }) => id === 'b2b.variables').map(({ fix }) => fix);
  expect(fixes).toEqual(['Did you mean B2B_CLIENT_ID?']);
  expect(lines(report, 'b2b.variables')).toEqual(['warning: B2B_CLIENTID is set, but nothing reads it']);
  expect(lines(report, 'backend.variables')).toEqual(['warning: BAAS_URI is set, but nothing reads it']);
});

it.each([
  ['WORKOS_API_HOSTNAME', 'B2B_API_HOSTNAME'],
  ['VITE_SUPABASE_URL', 'BAAS_URL'],
  ['PUBLIC_SUPABASE_ANON_KEY', 'BAAS_ANON_KEY'],
])("recognizes the vendor's name %s, which is not read", async (theirs, ours) => {
  const line = `warning: ${theirs} is set; this package reads ${ours}`;
  expect(lines(await examine({ [theirs]: 'value' }), 'application.variables')).toEqual([line]);
  expect(lines(await examine({ [theirs]: 'value', [ours]: 'value' }), 'application.variables')).toEqual([]);
});

it.each([
  [{ WORKOS_CLIENT_ID: 'client_1' }, 'apiKey (env B2B_API_KEY) is missing'],
  [{ NEXT_PUBLIC_SUPABASE_URL: 'https://x.supabase.co' }, 'anonKey (env BAAS_PUBLISHABLE_KEY) is missing'],
])("reads the vendors' own names: %j", async (env, problem) => {
  const report = await examine(env);
  expect(lines(report, 'application.variables')).toEqual([]);
  expect(JSON.stringify(report)).toContain(problem);
});

it("accepts any of the key's own variables in place of the vendor's", async () => {
  const env = { VITE_SUPABASE_ANON_KEY: 'key', BAAS_URL: 'nonsense' };
  expect(lines(await examine(env), 'application.variables')).toHaveLength(1);
  const withKey = { ...env, NEXT_PUBLIC_BAAS_PUBLISHABLE_KEY: 'key' };
  expect(lines(await examine(withKey), 'application.variables')).toEqual([]);
});

it('prints nothing of a URL but its address', async () => {
  const hostile = 'https://user:hunter2@app.test/base?key=hunter3#hunter4';
  const variables = { B2B_CLIENT_ID: 'client_1', B2B_API_KEY: 'sk_test_1', HTTPS_PROXY: hostile };
  const refused: typeof globalThis.fetch = () => Promise.reject(new Error(hostile));
  for (const env of [
    { ...variables, APP_BASE_URL: hostile },
    { ...variables, BAAS_URL: hostile, BAAS_PUBLISHABLE_KEY: `sb_publishable_${'k'.repeat(20)}` },
    { ...variables, B2B_API_HOSTNAME: hostile },
  ]) {
    const report = await examine(env, { fetch: refused });
    expect(JSON.stringify(report)).not.toContain('hunter');
    expect(report.ok).toBe(false);
  }
  const report = await examine({ ...variables }, { fetch: refused, appUrl: hostile });
  expect(JSON.stringify(report)).not.toContain('hunter');
  expect(lines(report, 'application.url')).toEqual([
    'problem: --app-url holds a user name, a password, a query or a fragment',
  ]);
});

const aKey = `sk_live_${'Q7'.repeat(6)}`;
const aPassword = 'Tr0ub4dor-and-3-horses';
const pasted = { B2B_CLIENT_ID: 'client_1', B2B_API_KEY: aKey, B2B_COOKIE_PASSWORD: `${aPassword}${aPassword}` };

it.each<[string, NodeJS.ProcessEnv, string]>([
  ['an API key in a host name', { ...pasted, B2B_API_HOSTNAME: aKey }, aKey],
  ['the key of another environment in a host name', { ...pasted, B2B_API_HOSTNAME: 'sk_test_abc123DEF' }, 'abc123'],
  ['the cookie password in a host name', { ...pasted, B2B_API_HOSTNAME: aPassword + aPassword }, aPassword],
  ['a secret key in the URL', { BAAS_URL: `https://sb_secret_q7q7q7q7q7.supabase.co` }, 'q7q7'],
  ['a token in the URL', { BAAS_URL: 'https://x.test/eyJhbGciOi.eyJyb2xlIjoi.c2ln' }, 'eyJ'],
  ['a long secret without a prefix', { APP_BASE_URL: `https://${'a1'.repeat(16)}.example.com` }, 'a1a1'],
  ['a key in the path of the application', { ...pasted, APP_BASE_URL: `https://app.test/${aKey}` }, aKey],
])('prints nothing of %s', async (_what, env, secret) => {
  const refused: typeof globalThis.fetch = () => Promise.reject(new Error('refused'));
  const key = { BAAS_PUBLISHABLE_KEY: `sb_publishable_${'k'.repeat(20)}` };
  const text = JSON.stringify(await examine({ ...('BAAS_URL' in env ? key : {}), ...env }, { fetch: refused }));
  expect(text.toLowerCase()).not.toContain(secret.toLowerCase());
});

it('keeps examples of keys and the names of variables readable', async () => {
  const report = JSON.stringify(await examine({ BAAS_URI: 'x', LEGACY_B2B_WHATEVER: 'x' }));
  expect(report).toContain('sb_publishable_…');
  expect(report).toContain('LEGACY_B2B_COOKIE_PASSWORD,');
});

it('names the variable whose value is used', async () => {
  const secret = { BAAS_URL: 'https://project.example', NEXT_PUBLIC_BAAS_ANON_KEY: 'sb_secret_x' };
  expect(lines(await examine(secret), 'backend.options')[0]).toMatch(/anonKey \(env NEXT_PUBLIC_BAAS_ANON_KEY\) is/);
});

it('reports that two adapters share a path', async () => {
  const report = await examine({ B2B_CLIENT_ID: 'client_1', BAAS_URL: 'nonsense' });
  expect(report.adapters).toEqual(['b2b', 'backend']);
  expect(lines(report, 'application.adapter')[0]).toMatch(/^note: .*\/auth\/session/);
});

it('checks only the adapter that was selected', async () => {
  const report = await examine({ B2B_CLIENT_ID: 'client_1', BAAS_URL: 'nonsense' }, { adapter: 'backend' });
  expect(report.findings.filter(({ subject }) => subject === 'b2b')).toEqual([]);
  expect(lines(report, 'backend.options').length).toBeGreaterThan(0);
});

it.each([
  ['22.12.0', 'problem: Node 22.12.0 is too old'],
  ['20.19.0', 'problem: Node 20.19.0 is too old'],
  ['22.13.0', 'ok: Node 22.13.0'],
  ['26.1.0', 'ok: Node 26.1.0'],
])('accepts or refuses Node %s', async (nodeVersion, line) => {
  expect(lines(await examine({}, { nodeVersion }), 'application.node')).toEqual([line]);
});

describe('the public base URL', () => {
  it.each<[NodeJS.ProcessEnv, RegExp]>([
    [{}, /^note: .* http:\/\/localhost:3000 is assumed/],
    [{ APP_BASE_URL: 'app.example.com' }, /^problem: APP_BASE_URL is not an absolute URL/],
    [{ APP_BASE_URL: 'https://app.example.com/' }, /^ok: APP_BASE_URL is https:\/\/app\.example\.com$/],
    [{ APP_BASE_URL: 'http://localhost:3000' }, /^ok/],
    [{ APP_BASE_URL: 'http://app.example.com' }, /^warning: .*without https/],
    [{ APP_BASE_URL: 'http://app.example.com', NODE_ENV: 'production' }, /^problem: .*without https/],
    [{ APP_BASE_URL: 'https://localhost', NODE_ENV: 'production' }, /^warning: .*although NODE_ENV is production/],
  ])('%j', async (env, line) => {
    expect(lines(await examine(env), 'application.url')).toEqual([expect.stringMatching(line)]);
  });

  it('is overridden by the command line', async () => {
    const report = await examine({ APP_BASE_URL: 'https://a.example.com' }, { appUrl: 'https://b.example.com/' });
    expect(lines(report, 'application.url')).toEqual(['ok: --app-url is https://b.example.com']);
  });

  it('warns of a path if a mount below it does not see every spelling of the path', async () => {
    const [note, ...more] = lines(await examine({}, { appUrl: 'https://app.example/portal' }), 'application.mount');
    expect([note, more]).toEqual([expect.stringMatching(/^note: --app-url has the path \/portal/), []]);
    expect(lines(await examine({ APP_BASE_URL: 'https://app.example/' }), 'application.mount')).toEqual([]);
  });

  it('mentions `trust proxy` if it is https', async () => {
    const report = await examine({ APP_BASE_URL: 'https://app.example.com' });
    expect(lines(report, 'application.proxy')).toHaveLength(1);
    expect(lines(await examine({ APP_BASE_URL: 'http://localhost:3000' }), 'application.proxy')).toEqual([]);
  });
});

it('reports that certificates are not verified', async () => {
  const env = { NODE_TLS_REJECT_UNAUTHORIZED: '0' };
  expect(lines(await examine(env), 'application.tls')[0]).toMatch(/^warning/);
  expect(lines(await examine({ ...env, NODE_ENV: 'production' }), 'application.tls')[0]).toMatch(/^problem/);
});

it('reports an outgoing proxy that Node does not use', async () => {
  const env = { HTTPS_PROXY: 'http://proxy.example:3128' };
  expect(lines(await examine(env), 'application.outgoing_proxy')).toHaveLength(1);
  expect(lines(await examine({ ...env, NODE_USE_ENV_PROXY: '1' }), 'application.outgoing_proxy')).toEqual([]);
});
