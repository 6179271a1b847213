import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { parseEnv } from 'node:util';
import { runCommand } from '../support/commands.ts';

const folder = mkdtempSync(join(tmpdir(), 'commands-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** A package manager that writes down what it was told. */
const programs = join(folder, 'bin');
mkdirSync(programs);
writeFileSync(join(programs, 'npm'), '#!/bin/sh\necho "npm $*"\n[ ! -e failing ]\n');
chmodSync(join(programs, 'npm'), 0o755);

const run = (cwd: string, ...args: readonly string[]) =>
  runCommand(cwd, args, { PATH: [programs, process.env['PATH']].join(delimiter) });

function project(name: string): string {
  const directory = join(folder, name);
  mkdirSync(directory);
  writeFileSync(join(directory, 'package.json'), '{"dependencies":{"express":"5"}}');
  writeFileSync(join(directory, 'app.js'), "const app = require('express')();\n");
  return directory;
}

const folderOf = (name: string): string => (existsSync(join(folder, name)) ? join(folder, name) : project(name));

const variablesOf = (directory: string) => parseEnv(readFileSync(join(directory, '.env'), 'utf8'));

it('add installs, writes and asks the doctor, who reads what was written', () => {
  const directory = project('shop');
  const address = 'B2B_API_HOSTNAME=127.0.0.1\nB2B_API_PORT=1\nB2B_API_HTTPS=false\n';
  writeFileSync(join(directory, '.env'), `B2B_CLIENT_ID=client_1\nB2B_API_KEY=sk_test_1\n${address}`);
  const { status, stdout, stderr } = run(directory, 'add', 'b2b', '--write');
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
  expect(stdout).toContain('\nnpm install express-auth-adapters @workos-inc/node\n');
  expect(stdout).toContain('B2B_COOKIE_PASSWORD is set and long enough\n');
  expect(readFileSync(join(directory, 'app.js'), 'utf8')).toContain('app.use(b2bAuth());\n');
});

it.each(['first', 'second'])('add --local names the stand-ins and the doctor as next steps, in the %s run', () => {
  const directory = folderOf('local');
  const { status, stdout } = run(directory, 'add', 'b2b', '--local', '--write');
  expect(status).toBe(0);
  expect(stdout).toContain('  npx express-auth-adapters providers   starts the stand-ins');
  expect(stdout).toMatch(/\n {2}npx express-auth-adapters doctor {3}checks it all, once the stand-ins run\n$/);
  expect(stdout).not.toContain('cannot be reached');
});

it.each([
  ['b2b', 'backend'],
  ['backend', 'b2b'],
])('add %s and add %s leave the settings of both', (first, second) => {
  const directory = project(`both-${first}`);
  run(directory, 'add', first, '--local', '--write');
  const once = variablesOf(directory);
  run(directory, 'add', second, '--local', '--write');
  const twice = variablesOf(directory);
  expect(twice).toMatchObject(once);
  expect(Object.keys(twice)).toEqual(
    expect.arrayContaining(['B2B_CLIENT_ID', 'B2B_API_KEY', 'B2B_API_PORT', 'BAAS_URL', 'SUPABASE_SECRET_KEY']),
  );
});

const isWindows = process.platform === 'win32';

(isWindows ? it.skip : it)('add finishes where its output is not read', () => {
  const directory = project('unread');
  const command = '"$0" --disable-warning=ExperimentalWarning "$1" add b2b --local --write | true';
  const cli = join(process.cwd(), 'bin/cli.ts');
  const env = { PATH: [programs, process.env['PATH']].join(delimiter) };
  const { stderr } = spawnSync('sh', ['-c', command, process.execPath, cli], { cwd: directory, env, encoding: 'utf8' });
  expect(stderr).toBe('');
});

(isWindows ? it.skip : it)('add leaves a file as it was where the disk is full', () => {
  const directory = project('full-disk');
  const text = `A=${'a'.repeat(2_000)}\n`;
  writeFileSync(join(directory, '.env'), text);
  const command = `trap '' XFSZ; ulimit -f 1; "$0" --disable-warning=ExperimentalWarning "$1" add b2b`;
  const cli = join(process.cwd(), 'bin/cli.ts');
  const env = { PATH: [programs, process.env['PATH']].join(delimiter) };
  const { status, stdout, stderr } = spawnSync('sh', ['-c', command, process.execPath, cli], {
    cwd: directory,
    env,
    encoding: 'utf8',
  });
  expect({ status, stderr }).toEqual({ status: 1, stderr: '' });
  expect(stdout).toContain('.env cannot be written (EFBIG), and is as it was.\n');
  expect(stdout).not.toContain('Nothing was changed');
  expect(readFileSync(join(directory, '.env'), 'utf8')).toBe(text);
  expect(readdirSync(directory).sort()).toEqual(['.env', 'app.js', 'package.json']);
});

it('add changes nothing where .env is a folder, and says so without a stack trace', () => {
  const directory = project('folder');
  mkdirSync(join(directory, '.env'));
  const { status, stdout, stderr } = run(directory, 'add', 'b2b', '--write');
  expect({ status, stderr }).toEqual({ status: 1, stderr: '' });
  expect(stdout).toContain('.env is a folder, not a file.\n');
  expect(run(directory, 'providers')).toMatchObject({ status: 1, stderr: expect.stringMatching(/^\.env is a folder/) });
  expect(run(directory, 'add', 'b2b', '--file', '.env').stdout).toContain('.env is a folder, not a file.\n');
});

it('add ends with 1 where the package manager fails', () => {
  const directory = project('failing');
  writeFileSync(join(directory, 'failing'), '');
  expect(run(directory, 'add', 'backend', '--write').status).toBe(1);
});

it.each([
  [['add'], 'Say which adapter: add b2b (WorkOS) or add backend (Supabase)'],
  [['add', 'workos'], 'Say which adapter'],
  [['add', 'b2b', 'backend'], 'Say which adapter'],
  [['add', 'b2b', '--wirte'], "Unknown option '--wirte'; did you mean --write?"],
  [['add', 'b2b', '--file', 'none.js'], 'There is no file none.js'],
])('%j prints the usage of the command', (args, reason) => {
  const { status, stdout, stderr } = run(join(folder, 'shop'), ...args);
  expect({ status, stdout }).toEqual({ status: 2, stdout: '' });
  expect(stderr).toContain(reason);
  expect(stderr).toContain('Usage: express-auth-adapters add b2b|backend');
});

it('add --help prints its usage', () => {
  expect(run(folder, 'add', '--help')).toMatchObject({
    status: 0,
    stdout: expect.stringMatching(/^Usage: .* add b2b/),
  });
});
