import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startSupabaseStandIn } from '../../stand-ins/supabase/stand-in.ts';
import type { SupabaseStandIn } from '../../stand-ins/supabase/stand-in.ts';
import { runCli, supabaseEnv } from '../support/doctor.ts';

let supabase: SupabaseStandIn;
beforeAll(async () => {
  supabase = await startSupabaseStandIn();
});
afterAll(() => supabase.close());

it('exits with 0 and readable marks if it finds no problem', async () => {
  const { code, stdout, stderr } = await runCli(['doctor'], supabaseEnv(supabase));
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  expect(stdout).toContain('Supabase (backendAuth)\n');
  expect(stdout).toContain('  ok       BAAS_PUBLISHABLE_KEY is a publishable key\n');
  expect(stdout).toMatch(/^no problems, \w+ warnings?\n/);
  // A pipe gets no color.
  expect(stdout).not.toContain('\u001B');
});

it('exits with 1 if it finds a problem', async () => {
  const { code, stdout } = await runCli(['doctor']);
  expect(code).toBe(1);
  expect(stdout).toContain('  problem  Neither adapter is configured');
  expect(stdout).toContain('in the environment or in .env');
});

it('prints one JSON document for scripts', async () => {
  const { code, stdout } = await runCli(
    ['doctor', '--json', '--app-url', 'https://app.example.com'],
    supabaseEnv(supabase),
  );
  expect(code).toBe(0);
  const report = JSON.parse(stdout);
  expect(Object.keys(report)).toEqual(['format', 'ok', 'adapters', 'findings']);
  expect(report).toMatchObject({ format: 1, ok: true, adapters: ['backend'] });
  for (const finding of report.findings) {
    expect(finding).toMatchObject({
      id: expect.stringMatching(/^(?:application|b2b|backend)\.[a-z_]+$/),
      subject: expect.any(String),
      level: expect.stringMatching(/^(?:ok|note|warning|problem)$/),
      message: expect.any(String),
    });
  }
});

it('reads a file of variables, which do not override those of the environment', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'doctor-'));
  const file = join(folder, '.env');
  writeFileSync(file, `BAAS_URL=${supabase.url}\nBAAS_PUBLISHABLE_KEY="${supabase.publishableKey}"\n`);
  expect((await runCli(['doctor', '--env-file', file])).code).toBe(0);
  expect((await runCli(['doctor', '--env-file', file], { BAAS_PUBLISHABLE_KEY: 'sb_publishable_other' })).code).toBe(1);
  rmSync(folder, { recursive: true });
});

it('reads .env and .env.local by itself, the latter first, and says so', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'doctor-'));
  const key = `BAAS_PUBLISHABLE_KEY=${supabase.publishableKey}\n`;
  writeFileSync(join(folder, '.env'), `BAAS_URL=${supabase.url}\nBAAS_PUBLISHABLE_KEY=sb_publishable_other\n`);
  const { code, stdout } = await runCli(['doctor'], {}, folder);
  expect([code, stdout]).toEqual([1, expect.stringContaining('Variables of .env are read here too\n')]);
  writeFileSync(join(folder, '.env.local'), key);
  const both = await runCli(['doctor'], {}, folder);
  expect([both.code, both.stdout]).toEqual([
    0,
    expect.stringContaining(
      'Variables of .env and .env.local are read here too\n           Node reads them for the application only when asked: node --env-file=.env --env-file=.env.local app.mjs\n',
    ),
  ]);
  writeFileSync(join(folder, 'server.mjs'), 'app.listen(3000);\n');
  expect((await runCli(['doctor'], {}, folder)).stdout).toContain('--env-file=.env.local server.mjs\n');
  writeFileSync(join(folder, 'package.json'), '{"scripts":{"start":"node --watch web.js"}}');
  writeFileSync(join(folder, 'web.js'), '');
  expect((await runCli(['doctor'], {}, folder)).stdout).toContain('--env-file=.env.local web.js\n');
  expect((await runCli(['doctor', '--env-file', '.env'], {}, folder)).code).toBe(1);
  expect((await runCli(['doctor'], { BAAS_PUBLISHABLE_KEY: 'sb_publishable_third' }, folder)).code).toBe(1);
  rmSync(folder, { recursive: true });
});

it.each([
  [[], 'A command is missing'],
  [['docter'], 'Unknown command: docter'],
  [['doctor', '--jsno'], "Unknown option '--jsno'; did you mean --json?"],
  [['doctor', '--color'], "Unknown option '--color'"],
  [['doctor', '--adapter', 'both'], '--adapter is b2b or backend'],
  [['doctor', '--app-url', 'app.example.com'], '--app-url must be an absolute http(s) URL'],
  [['doctor', '--callback-path', 'callback'], '--callback-path must start with /'],
  [['doctor', '--timeout', '5s'], '--timeout must be between'],
])('exits with 2 and prints its usage: %j', async (args, reason) => {
  const { code, stdout, stderr } = await runCli(args);
  expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
  expect(stderr).toContain(reason);
  expect(stderr).toContain('Usage: express-auth-adapters doctor');
});

// Node reads `--env-file` itself, wherever it stands, and exits with 9 if the file is missing.
it('fails with the name of a missing file of variables', async () => {
  const { code, stdout, stderr } = await runCli(['doctor', '--env-file', '/nowhere/.env']);
  expect([2, 9]).toContain(code);
  expect(stdout).toBe('');
  expect(stderr).toContain('/nowhere/.env');
});

it.each(['--callback-path', '--path-prefix'])('asks which adapter %s belongs to', async (option) => {
  const env = { B2B_CLIENT_ID: 'client_1', BAAS_URL: 'https://project.example' };
  const { code, stderr } = await runCli(['doctor', option, '/v1/auth'], env);
  expect([code, stderr]).toEqual([2, expect.stringContaining(`--adapter which one ${option} belongs to`)]);
});

it('with --quiet prints nothing if it finds no problem, and otherwise the problems', async () => {
  const env = { ...supabaseEnv(supabase), APP_BASE_URL: 'https://app.example.com' };
  expect(await runCli(['doctor', '--quiet'], env)).toEqual({ code: 0, stdout: '', stderr: '' });
  const { code, stdout } = await runCli(['doctor', '--quiet'], {
    ...env,
    BAAS_PUBLISHABLE_KEY: 'sb_publishable_other',
  });
  expect(code).toBe(1);
  expect(stdout).toMatch(/^1 problem, no warnings\n\nSupabase \(backendAuth\)\n {2}problem {2}.* refuses the key\n/);
  expect(stdout).not.toMatch(/^ {2}(?:ok|note) /m);
});

it('prints its version', async () => {
  const { version } = JSON.parse(readFileSync('package.json', 'utf8')) as { version: string };
  expect(await runCli(['--version'])).toEqual({ code: 0, stdout: `${version}\n`, stderr: '' });
});

it('prints help', async () => {
  const { code, stdout } = await runCli(['--help']);
  expect(code).toBe(0);
  expect(stdout).toMatch(/^Usage: express-auth-adapters doctor/);
});
