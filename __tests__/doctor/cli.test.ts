import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startSupabaseStandIn } from '../support/supabase-stand-in/index.ts';
import type { SupabaseStandIn } from '../support/supabase-stand-in/index.ts';
import { runCli, supabaseEnv } from '../support/doctor.ts';
import { createPrinter } from '../../lib/doctor/print.ts';

let supabase: SupabaseStandIn;
beforeAll(async () => {
  supabase = await startSupabaseStandIn();
});
afterAll(() => supabase.close());

it('ends with 0 and readable marks where nothing is wrong', async () => {
  const { code, stdout, stderr } = await runCli(['doctor'], supabaseEnv(supabase));
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  expect(stdout).toContain('Supabase (backendAuth)\n');
  expect(stdout).toContain('  ok       BAAS_PUBLISHABLE_KEY is a publishable key\n');
  expect(stdout).toMatch(/no problems, \w+ warnings?\n$/);
  // A pipe gets neither color nor lines that are erased again.
  expect(stdout).not.toMatch(/[\u001B\r]|…  /);
});

it('ends with 1 where something is wrong', async () => {
  const { code, stdout } = await runCli(['doctor']);
  expect(code).toBe(1);
  expect(stdout).toContain('  problem  Neither adapter is configured');
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

it('reads a file of variables, which yields to what is set already', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'doctor-'));
  const file = join(folder, '.env');
  writeFileSync(file, `BAAS_URL=${supabase.url}\nBAAS_PUBLISHABLE_KEY="${supabase.publishableKey}"\n`);
  expect((await runCli(['doctor', '--env', file])).code).toBe(0);
  expect((await runCli(['doctor', '--env', file], { BAAS_PUBLISHABLE_KEY: 'sb_publishable_other' })).code).toBe(1);
  rmSync(folder, { recursive: true });
});

it.each([
  [[], 'A command is missing'],
  [['docter'], 'Unknown command: docter'],
  [['doctor', '--jsno'], "Unknown option '--jsno'"],
  [['doctor', '--adapter', 'both'], '--adapter is b2b or backend'],
  [['doctor', '--app-url', 'app.example.com'], '--app-url must be an absolute http(s) URL'],
  [['doctor', '--callback-path', 'callback'], '--callback-path must start with /'],
  [['doctor', '--timeout', '5s'], '--timeout must be between'],
  [['doctor', '--env', '/nowhere/.env'], '/nowhere/.env cannot be read'],
])('ends with 2 and says how it is used: %j', async (args, reason) => {
  const { code, stdout, stderr } = await runCli(args);
  expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
  expect(stderr).toContain(reason);
  expect(stderr).toContain('Usage: express-auth-adapters doctor');
});

it('wants to know which adapter a callback path belongs to', async () => {
  const env = { B2B_CLIENT_ID: 'client_1', BAAS_URL: 'https://project.example' };
  expect((await runCli(['doctor', '--callback-path', '/done'], env)).code).toBe(2);
});

it('helps', async () => {
  const { code, stdout } = await runCli(['--help']);
  expect(code).toBe(0);
  expect(stdout).toMatch(/^Usage: express-auth-adapters doctor/);
});

describe('on a terminal', () => {
  const print = (hasColor: boolean): string => {
    let screen = '';
    const printer = createPrinter({ isTTY: true, write: (text) => (screen += text) }, hasColor);
    printer.step({ kind: 'started', subject: 'b2b', what: 'asking' });
    printer.step({
      kind: 'found',
      finding: { id: 'b2b.x', subject: 'b2b', level: 'problem', message: 'Broken\u001B[2J\nbadly', fix: 'Mend it' },
    });
    printer.end({ format: 1, ok: false, adapters: ['b2b'], findings: [] });
    return screen;
  };

  it('shows what it waits for until the answer is there', () => {
    expect(print(false)).toContain('  …        asking\r\u001B[2K  problem  Broken badly\n           Mend it\n');
  });

  it('adds color to the words, and only where it may', () => {
    expect(print(true)).toContain('\u001B[31mproblem');
    expect(print(false)).not.toContain('\u001B[31m');
  });
});
