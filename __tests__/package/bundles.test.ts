import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { cp, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { createInterface } from 'node:readline';
import { demoUsers, startWorkosStandIn } from '../../stand-ins/workos/index.ts';
import type { WorkosStandIn } from '../../stand-ins/workos/index.ts';
import { startSupabaseStandIn } from '../../stand-ins/supabase/stand-in.ts';
import type { SupabaseStandIn } from '../../stand-ins/supabase/stand-in.ts';
import { installTarball, sdks } from '../support/consumer.ts';
import { codeBlocks } from '../support/markdown.ts';
import { createVisitor } from '../support/visitor.ts';

/** The lines of docs/recipes/modules.md, with the bundlers of tools/. */
const path = 'docs/recipes/modules.md';
const page = readFileSync(path, 'utf8');
const commands = codeBlocks({ path, text: page })
  .filter(({ code }) => code.includes('npx esbuild'))
  .flatMap(({ code }) => code.trim().split('\n'));
const [, denoRun = ''] = /`(deno run [^`]*)`/.exec(page) ?? [];

const app = (load: string): string => `${load}
const app = express();
app.use(b2bAuth({ protectedRoutes: '/members' }));
app.use(backendAuth({ sessionPath: '/auth/me' }));
app.get('/api', requireSession({ adapter: 'backend', respond: 'json' }), (req, res) => res.json('let in'));
const server = app.listen(0, '127.0.0.1', () => console.log('port ' + server.address().port));
`;

/** The application's files, by the extensions that the lines name. */
const sources = {
  'app.mjs': app(`import express from 'express';
    import { b2bAuth, backendAuth, requireSession } from 'express-auth-adapters';`),
  'app.cjs': app(`const express = require('express');
    const { b2bAuth, backendAuth, requireSession } = require('express-auth-adapters');`),
};

const ada = { email: 'ada@example.com', password: 'correct horse battery' };
const bin = [join(process.cwd(), 'node_modules/.bin'), join(process.cwd(), 'tools/node_modules/.bin')];
const environment = {
  PATH: [...bin, process.env['PATH']].join(delimiter),
  HOME: process.env['HOME'],
  // Deno fetches its bundler by itself, and knows the machine's own certificates only if it is told so.
  DENO_TLS_CA_STORE: 'system,mozilla',
};

let workos: WorkosStandIn;
let supabase: SupabaseStandIn;
let consumer: string;
/** Where nothing is installed, and where some packages are, without an SDK. */
const elsewhere: string[] = [];
const running: ChildProcess[] = [];

beforeAll(async () => {
  consumer = await installTarball(['express@5', ...sdks.b2b, ...sdks.backend]);
  for (const [file, text] of Object.entries(sources)) await writeFile(join(consumer, file), text);
  for (const packages of [[], ['express-auth-adapters', 'jose']]) {
    const directory = await mkdtemp(join(tmpdir(), 'bundle-'));
    for (const name of packages)
      await cp(join(consumer, 'node_modules', name), join(directory, 'node_modules', name), { recursive: true });
    elsewhere.push(directory);
  }
  workos = await startWorkosStandIn({ clientId: 'client_test', apiKey: 'sk_test_bundles' });
  supabase = await startSupabaseStandIn({ autoconfirm: true });
  supabase.addUser(ada);
}, 180_000);

afterEach(() => running.splice(0).forEach((child) => child.kill('SIGKILL')));

afterAll(async () => {
  await Promise.all([workos.close(), supabase.close()]);
  for (const directory of [consumer, ...elsewhere]) await rm(directory, { recursive: true, force: true });
});

/** @throws {Error} with what it said, where it fails */
async function shell(command: string, cwd: string): Promise<void> {
  const child = spawn(command, { cwd, env: environment, shell: true });
  let said = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => (said += chunk.toString()));
  const [code] = await once(child, 'close');
  if (code !== 0) throw new Error(said);
}

/** @returns the origin at which the application listens @throws {Error} with what it said, where it ends */
async function start(command: readonly string[], cwd: string): Promise<string> {
  const [program = '', ...args] = command;
  const child = spawn(program, args, {
    cwd,
    env: {
      ...environment,
      B2B_CLIENT_ID: workos.clientId,
      B2B_API_KEY: workos.apiKey,
      B2B_COOKIE_PASSWORD: 'a password for the tests of bundles',
      B2B_API_HOSTNAME: workos.hostname,
      B2B_API_PORT: String(workos.port),
      B2B_API_HTTPS: 'false',
      BAAS_URL: supabase.url,
      BAAS_PUBLISHABLE_KEY: supabase.publishableKey,
    },
  });
  running.push(child);
  let said = '';
  child.stderr.on('data', (chunk: Buffer) => (said += chunk.toString()));
  for await (const line of createInterface(child.stdout)) {
    const [, port] = /^port (\d+)$/.exec(line) ?? [];
    if (port !== undefined) return `http://127.0.0.1:${port}`;
  }
  throw new Error(said);
}

async function signsInThroughBoth(origin: string): Promise<void> {
  const visitor = createVisitor(origin);
  expect((await visitor.get('/members')).status).toBe(307);
  expect((await visitor.getJson('/api')).status).toBe(401);

  workos.redirectUris.push(`${origin}/callback`);
  const callback = await workos.authorize((await visitor.get('/login')).location, { user: demoUsers.personal });
  expect((await visitor.get(callback.href)).status).toBe(303);
  expect((await visitor.getJson('/auth/session')).json.user.email).toBe(demoUsers.personal.email);

  expect((await visitor.get('/auth/login')).text).toContain('<form');
  expect((await visitor.postJson('/auth/login', ada)).status).toBe(200);
  expect((await visitor.getJson('/api')).json).toBe('let in');
  expect((await visitor.postJson('/auth/logout')).status).toBe(200);
  expect((await visitor.getJson('/api')).status).toBe(401);
}

it('every bundler that people use has a line', () => {
  const bundlers = commands.map((command) => /^(?:npx )?(\w+)/.exec(command)?.[1]);
  expect(new Set(bundlers)).toEqual(new Set(['esbuild', 'webpack', 'rollup', 'ncc', 'bun', 'deno']));
});

it.each(commands)(
  'runs alone, and beside other packages: %s',
  async (command) => {
    await rm(join(consumer, 'out'), { recursive: true, force: true });
    await shell(command.replace(/^npx /, ''), consumer);
    const [entry = ''] = (await readdir(join(consumer, 'out'))).filter((file) => /^(?:app|index)\.\w+$/.test(file));
    const runner = command.startsWith('bun') ? ['bun'] : command.startsWith('deno') ? ['deno', 'run', '-A'] : ['node'];
    for (const directory of elsewhere) {
      await rm(join(directory, 'out'), { recursive: true, force: true });
      await cp(join(consumer, 'out'), join(directory, 'out'), { recursive: true });
      await signsInThroughBoth(await start([...runner, join('out', entry)], directory));
    }
  },
  180_000,
);

it.each([['node app.mjs'], ['node app.cjs'], ['bun app.mjs'], [denoRun]])(
  'runs as it is installed: %s',
  async (command) => {
    await signsInThroughBoth(await start(command.split(' '), consumer));
  },
  60_000,
);
