import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
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

it('add installs, writes and asks the doctor, who reads what was written', () => {
  const directory = project('shop');
  const { status, stdout, stderr } = run(directory, 'add', 'b2b', '--local', '--write');
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
  expect(stdout).toContain('\nnpm install express-auth-adapters @workos-inc/node\n');
  expect(stdout).toContain('B2B_COOKIE_PASSWORD is set and long enough\n');
  expect(stdout).toMatch(/127\.0\.0\.1:\d+ cannot be reached: .*\n.*npx express-auth-adapters providers\n/);
  expect(readFileSync(join(directory, 'app.js'), 'utf8')).toContain('app.use(b2bAuth());\n');
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
