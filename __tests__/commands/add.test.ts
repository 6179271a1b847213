import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  globSync,
  mkdirSync,
  lstatSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { parseEnv } from 'node:util';
import { add } from '../../lib/commands/add/add.ts';
import type { Surroundings } from '../../lib/commands/add/surroundings.ts';
import { parseAdd } from '../../lib/commands/add/arguments.ts';
import { withVariables } from '../../stand-ins/env-file.ts';
import { newVariables } from '../../stand-ins/variables.ts';
import { startTourProcess } from '../support/show.ts';
import { createVisitor } from '../support/visitor.ts';
import { freePortsInARow } from '../support/servers.ts';
import { refused, shapes } from './shapes.ts';
import type { Shape } from './shapes.ts';

const root = mkdtempSync(join(tmpdir(), 'add-'));
afterAll(() => rmSync(root, { recursive: true, force: true }));

let count = 0;

/** A new folder with these files. */
function write(files: Readonly<Record<string, string>>): string {
  const directory = join(root, String((count += 1)));
  mkdirSync(directory);
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(directory, path)), { recursive: true });
    writeFileSync(join(directory, path), text);
  }
  return directory;
}

/** The texts of a folder's files, by their paths. */
function textsOf(directory: string): Record<string, string> {
  const paths = globSync('**/*', { cwd: directory, exclude: (name) => name === 'node_modules' });
  const files = [...paths, ...['.env', '.gitignore'].filter((name) => existsSync(join(directory, name)))];
  const texts = files.filter((path) => statSync(join(directory, path)).isFile());
  return Object.fromEntries(texts.map((path) => [path, readFileSync(join(directory, path), 'utf8')]));
}

interface Ran {
  readonly code: number;
  readonly output: string;
  /** The programs and their arguments, but git. */
  readonly programs: readonly string[];
}

/** The command with a package manager that only reports what it was told. */
async function run(directory: string, args: string, others: Partial<Surroundings> = {}): Promise<Ran> {
  const command = parseAdd(args.split(' '));
  if (command === 'help') throw new Error('no command');
  let output = '';
  const programs: string[] = [];
  const code = await add(command, {
    directory,
    env: {},
    print: (text) => void (output += text),
    run: async (program, given) => {
      if (program !== 'git') programs.push([program, ...given].join(' '));
      return program === 'git' ? undefined : 0;
    },
    runDoctor: async (adapter) => void programs.push(`doctor ${adapter}`),
    standIns: { settings: newVariables, withSettings: (text, settings) => withVariables(text, settings).text },
    ...others,
  });
  return { code, output, programs };
}

const sdks = { b2b: '@workos-inc/node', backend: '@supabase/ssr @supabase/supabase-js' } as const;
const factories = { b2b: 'b2bAuth', backend: 'backendAuth' } as const;

const expectedLines = ({ lines }: Shape, adapter: 'b2b' | 'backend'): string[] =>
  lines.map((line) => line.replace('FACTORY', factories[adapter]).replace('ADAPTER', adapter));

describe.each(shapes)('add, in $title', (shape) => {
  const { files, folder = '', install, file } = shape;

  it.each(['b2b', 'backend'] as const)('%s: shows the lines, and changes only .env', async (adapter) => {
    const directory = join(write(files), folder);
    const before = textsOf(directory);
    const { code, output, programs } = await run(directory, adapter);
    expect(code).toBe(0);
    expect(programs).toEqual([`${install} express-auth-adapters ${sdks[adapter]}`, `doctor ${adapter}`]);
    for (const line of expectedLines(shape, adapter)) {
      const [number = '', ...code] = line.split(' ');
      expect(output).toContain(`  + ${number.padStart(4)}  ${code.join(' ')}\n`);
    }
    const { '.env': env = '', ...others } = textsOf(directory);
    expect(others).toEqual(before);
    expect(Object.keys(parseEnv(env)).sort()).toEqual(
      adapter === 'b2b'
        ? ['B2B_API_KEY', 'B2B_CLIENT_ID', 'B2B_COOKIE_PASSWORD']
        : ['BAAS_PUBLISHABLE_KEY', 'BAAS_URL'],
    );
  });

  it('says everything and changes nothing with --dry-run', async () => {
    const directory = join(write(files), folder);
    const before = textsOf(directory);
    const { code, output, programs } = await run(directory, 'backend --write --local --dry-run');
    expect({ code, programs }).toEqual({ code: 0, programs: [] });
    expect(textsOf(directory)).toEqual(before);
    expect(output).toContain(`${install} express-auth-adapters ${sdks.backend}`);
    expect(output).toContain('BAAS_URL, BAAS_PUBLISHABLE_KEY');
    expect(output).toContain('app.use(backendAuth())');
  });

  it.each(['b2b', 'backend'] as const)('%s: with --local --write it serves a sign-in', async (adapter) => {
    const directory = join(write(files), folder);
    const before = textsOf(directory)[file] ?? '';
    const { code } = await run(directory, `${adapter} --local --write`);
    expect(code).toBe(0);
    const after = textsOf(directory)[file] ?? '';
    expect(after.includes('\r')).toBe(before.includes('\r'));
    const added = after
      .split(/\r?\n/)
      .flatMap((line, index) => (before.split(/\r?\n/).includes(line) ? [] : [`${index + 1} ${line}`]));
    expect(added).toEqual(expectedLines(shape, adapter));

    await signIn(directory, shape, adapter);
  });

  it('a second run finds it mounted, and changes nothing', async () => {
    const directory = join(write(files), folder);
    await run(directory, 'b2b --write');
    const once = textsOf(directory);
    const { code, output } = await run(directory, 'b2b --write');
    expect(code).toBe(0);
    expect(textsOf(directory)).toEqual(once);
    expect(output).toContain(`b2bAuth is mounted: ${file}, line ${Number.parseInt(shape.lines.at(-1) ?? '')}.`);
  });
});

/** Starts the stand-ins and the application as the command says, and signs in. */
async function signIn(directory: string, { file, starts = file }: Shape, adapter: 'b2b' | 'backend'): Promise<void> {
  mkdirSync(join(directory, 'node_modules'));
  symlinkSync(join(process.cwd(), 'node_modules/express'), join(directory, 'node_modules/express'));
  const port = String(await freePortsInARow(1));
  const providers = startTourProcess({}, [`${process.cwd()}/bin/cli.ts`, 'providers', port], directory);
  const app = startTourProcess({ PORT: port }, ['--env-file=.env', starts], directory);
  try {
    await Promise.all([providers.printed('# Supabase'), app.printed('Listening')]);
    const visitor = createVisitor(`http://localhost:${port}`);
    if (adapter === 'b2b') {
      const page = await fetch((await visitor.get('/login')).location);
      expect([page.status, await page.text()]).toEqual([200, expect.stringContaining('ada@example.com')]);
    } else {
      const [, email, password] = /# Supabase: sign in as (\S+) with (\S+)/.exec(providers.output()) ?? [];
      expect((await visitor.postJson('/auth/login', { email, password })).status).toBe(200);
      expect((await visitor.getJson('/auth/session')).json.user.email).toBe(email);
    }
  } finally {
    await Promise.all([providers.stop(), app.stop()]);
  }
}

describe('add changes nothing', () => {
  it.each(refused)('in $title', async ({ files, reason }) => {
    const directory = write(files);
    const { code, output, programs } = await run(directory, 'backend --write --local');
    expect({ code, programs }).toEqual({ code: 1, programs: [] });
    expect(textsOf(directory)).toEqual(files);
    expect(output).toContain(reason);
    expect(output).toContain('Nothing was changed.');
    expect(output).toContain('npm install express-auth-adapters @supabase/ssr @supabase/supabase-js');
    expect(output).toContain('app.use(backendAuth());');
  });

  it('where the package manager fails', async () => {
    const files = shapes[0]?.files ?? {};
    const directory = write(files);
    const { code, output } = await run(directory, 'backend --write', { run: async () => 1 });
    expect(code).toBe(1);
    expect(output).toContain('npm has failed, so nothing else was changed.');
    expect(textsOf(directory)).toEqual(files);
  });
});

it('changes the file that --file names, where several make an application', async () => {
  const files = {
    'package.json': '{"dependencies":{"express":"5"}}',
    'a.js': `const app = require('express')();\n`,
    'b.js': `const app = require('express')();\n`,
  };
  const directory = write(files);
  expect((await run(directory, 'b2b --write --file b.js')).code).toBe(0);
  expect(textsOf(directory)).toMatchObject({
    'a.js': files['a.js'],
    'b.js': `${files['b.js']}const { b2bAuth } = require('express-auth-adapters/b2b');\napp.use(b2bAuth());\n`,
  });
  await expect(run(directory, 'b2b --file c.js')).rejects.toThrow('There is no file c.js');
});

it('reads no sources of tests, builds and other packages', async () => {
  const made = `const app = require('express')();\n`;
  const directory = write({
    'package.json': '{"dependencies":{"express":"5"}}',
    'src/app.js': made,
    'src/app.test.js': made,
    'tests/helper.js': made,
    'dist/app.js': made,
    'node_modules/shop/index.js': made,
    'packages/admin/package.json': '{}',
    'packages/admin/app.js': made,
  });
  expect((await run(directory, 'b2b --write')).output).toContain('src/app.js has new lines:');
});

it.each([
  ['the file', { app: 'app.listen(3000);', scripts: {} }, '  node --env-file=.env app.js\n'],
  [
    'no file of its own',
    { app: '', scripts: {} },
    '  node --env-file=.env …, with the file that starts the application\n',
  ],
  [
    'a script',
    { app: '', scripts: { start: 'node app.js', dev: 'nodemon --inspect app.js' } },
    '  Put --env-file=.env into the script dev: nodemon --env-file=.env --inspect app.js\n  npm run dev\n',
  ],
  ['a script that reads .env', { app: '', scripts: { start: 'node -r dotenv/config app.js' } }, '  npm run start\n'],
])('says how to start an application with %s', async (_what, { app, scripts }, expected) => {
  const directory = write({
    'package.json': JSON.stringify({ dependencies: { express: '5' }, scripts }),
    'app.js': `const app = require('express')();\n${app}\n`,
  });
  expect((await run(directory, 'backend')).output).toContain(expected);
});

it('gives the second adapter a session route of its own', async () => {
  const directory = write(shapes[0]?.files ?? {});
  await run(directory, 'backend --write');
  const { output } = await run(directory, 'b2b --write');
  expect(output).toContain('It answers /login, /signup, /callback, /logout and /auth/me;');
  expect(textsOf(directory)['server.js']).toContain(
    "const app = express();\napp.use(b2bAuth({ sessionPath: '/auth/me' }));\napp.use(backendAuth());\n",
  );
});

it.each([[], ['--env']])('the stand-ins use the settings of both adapters again: %j', async (...args) => {
  const directory = write(shapes[0]?.files ?? {});
  for (const adapter of ['backend', 'b2b']) await run(directory, `${adapter} --local --write`);
  const before = textsOf(directory)['.env'];
  const providers = startTourProcess({}, [`${process.cwd()}/bin/cli.ts`, 'providers', ...args], directory);
  try {
    await providers.printed('# Supabase');
    expect(providers.output()).toContain('# The settings in .env are used again.\n');
    expect(providers.output()).toContain('with: node --env-file=.env server.js\n');
    expect(textsOf(directory)['.env']).toBe(before);
  } finally {
    await providers.stop();
  }
});

it('installs only what the project does not depend on', async () => {
  const dependencies = {
    express: '5',
    '@supabase/ssr': '0.12',
    '@supabase/supabase-js': '2',
    'express-auth-adapters': '1',
  };
  const directory = write({
    'package.json': JSON.stringify({ dependencies }),
    'app.js': `const app = require('express')();\n`,
  });
  const { output, programs } = await run(directory, 'backend');
  expect(programs).toEqual(['doctor backend']);
  expect(output).toContain('The packages are installed.');
});

it('tells pnpm that the root of a workspace is meant', async () => {
  const directory = write({
    'package.json': '{"dependencies":{"express":"5"}}',
    'pnpm-workspace.yaml': '',
    'pnpm-lock.yaml': '',
    'app.js': `const app = require('express')();\n`,
  });
  expect((await run(directory, 'b2b')).programs[0]).toBe(
    'pnpm add --workspace-root express-auth-adapters @workos-inc/node',
  );
});

describe('the variables', () => {
  const files = { 'package.json': '{"dependencies":{"express":"5"}}', 'app.js': `const app = require('express')();\n` };

  it.each([
    ['.env', { B2B_CLIENT_ID: 'client_real', WORKOS_API_KEY: 'sk_live_1' }],
    ['.env.local', { WORKOS_CLIENT_ID: 'client_real', B2B_API_KEY: 'sk_live_1' }],
  ])('that %s has are kept, and get no local ones beside them', async (name, variables) => {
    const own = Object.entries(variables)
      .map(([key, value]) => `${key}=${value}`)
      .join('\n');
    const directory = write({ ...files, [name]: own });
    await run(directory, 'b2b --local');
    expect(readFileSync(join(directory, name), 'utf8').startsWith(own)).toBe(true);
    const written = Object.keys(parseEnv(readFileSync(join(directory, '.env'), 'utf8')));
    expect(written.filter((key) => !(key in variables))).toEqual(['B2B_COOKIE_PASSWORD']);
  });

  it('of the environment are not asked for again', async () => {
    const directory = write(files);
    const env = { SUPABASE_URL: 'https://abc.supabase.co', SUPABASE_ANON_KEY: 'key' };
    const { output } = await run(directory, 'backend', { env });
    expect(output).toContain('The variables are set.');
    expect(existsSync(join(directory, '.env'))).toBe(false);
  });

  it('hold a cookie password of 32 random bytes, which no output shows', async () => {
    const passwords = await Promise.all(
      [1, 2].map(async () => {
        const directory = write(files);
        const { output } = await run(directory, 'b2b');
        const { B2B_COOKIE_PASSWORD: password = '' } = parseEnv(readFileSync(join(directory, '.env'), 'utf8'));
        expect(output).not.toContain(password);
        return password;
      }),
    );
    expect(new Set(passwords).size).toBe(2);
    for (const password of passwords) expect(Buffer.from(password, 'base64url')).toHaveLength(32);
  });

  it('are in a file that its owner alone reads', async () => {
    const directory = write(files);
    await run(directory, 'b2b --local');
    if (process.platform !== 'win32') expect(statSync(join(directory, '.env')).mode & 0o777).toBe(0o600);
  });

  it('get no second line while they wait for a value', async () => {
    const directory = write(files);
    await run(directory, 'backend');
    const once = textsOf(directory);
    const { output } = await run(directory, 'backend');
    expect(output).toContain('.env waits for BAAS_URL and BAAS_PUBLISHABLE_KEY.');
    expect(textsOf(directory)).toEqual(once);
  });
});

describe('files', () => {
  const files = { 'package.json': '{"dependencies":{"express":"5"}}', 'app.js': `const app = require('express')();\n` };
  const ofLatin1 = Buffer.from('A=caf\xe9\n', 'latin1');

  it.each(['.env', '.gitignore', 'app.js'])('of which %s is not UTF-8 are left as they are', async (name) => {
    const directory = write(files);
    const bytes = Buffer.concat([Buffer.from(name === 'app.js' ? `${files['app.js']}// ` : ''), ofLatin1]);
    writeFileSync(join(directory, name), bytes);
    const before = textsOf(directory);
    const { code, output, programs } = await run(directory, 'b2b --write');
    expect({ code, programs }).toEqual({ code: 1, programs: [] });
    expect(output).toContain(`${name} is not UTF-8 text.\nSave it as UTF-8, and run the command again.\nNothing was`);
    expect(readFileSync(join(directory, name))).toEqual(bytes);
    expect(textsOf(directory)).toEqual(before);
  });

  it('that it only reads may be no UTF-8, and package.json may begin with a byte order mark', async () => {
    const directory = write({ ...files, 'package.json': `\uFEFF${files['package.json']}` });
    writeFileSync(join(directory, 'other.js'), ofLatin1);
    expect((await run(directory, 'b2b --write')).code).toBe(0);
  });

  it('are written with the mode that they have, and leave nothing beside them', async () => {
    const directory = write({ ...files, '.env': 'A=1\n' });
    chmodSync(join(directory, '.env'), 0o640);
    chmodSync(join(directory, 'app.js'), 0o755);
    const inode = statSync(join(directory, '.env')).ino;
    await run(directory, 'b2b --write');
    expect(readdirSync(directory).sort()).toEqual(['.env', 'app.js', 'package.json']);
    if (process.platform === 'win32') return;
    const modes = ['.env', 'app.js'].map((name) => statSync(join(directory, name)).mode & 0o777);
    expect(modes).toEqual([0o640, 0o755]);
    // Another file took its place at once.
    expect(statSync(join(directory, '.env')).ino).not.toBe(inode);
  });

  it.each(['outside/.env', 'outside/none'])('get no variables through a link to %s', async (target) => {
    const outside = write({ 'outside/.env': 'A=1\n' });
    const directory = write(files);
    symlinkSync(join(outside, target), join(directory, '.env'));
    const { code, output } = await run(directory, 'b2b --write');
    expect(code).toBe(1);
    expect(output).toContain('.env is a symbolic link to a file outside this folder, which is not written.\n');
    expect(textsOf(join(outside, 'outside'))).toEqual({ '.env': 'A=1\n' });
    expect(readdirSync(join(outside, 'outside'))).toEqual(['.env']);
    expect(readFileSync(join(directory, 'app.js'), 'utf8')).toBe(files['app.js']);
  });

  it('that are links within the folder stay links', async () => {
    const directory = write({ ...files, 'config/env': 'A=1\n' });
    symlinkSync('config/env', join(directory, '.env'));
    expect((await run(directory, 'b2b')).code).toBe(0);
    expect(lstatSync(join(directory, '.env')).isSymbolicLink()).toBe(true);
    expect(readFileSync(join(directory, 'config/env'), 'utf8')).toContain('B2B_COOKIE_PASSWORD=');
  });

  it('of which package.json has a script that is no text are read', async () => {
    const manifest = JSON.stringify({ dependencies: { express: '5' }, scripts: { dev: 123 } });
    expect((await run(write({ ...files, 'package.json': manifest }), 'b2b')).code).toBe(0);
  });
});

describe('git', () => {
  const files = { 'package.json': '{"dependencies":{"express":"5"}}', 'app.js': `const app = require('express')();\n` };

  function repository(others: Readonly<Record<string, string>> = {}): { directory: string; run: Surroundings['run'] } {
    const directory = write({ ...files, ...others });
    execFileSync('git', ['init', '-q'], { cwd: directory });
    return {
      directory,
      run: async (program, args) => {
        if (program !== 'git') return 0;
        try {
          execFileSync('git', args, { cwd: directory, stdio: 'ignore' });
          return 0;
        } catch (error) {
          return (error as { status: number }).status;
        }
      },
    };
  }

  it('ignores .env from then on', async () => {
    const { directory, ...git } = repository({ '.gitignore': 'node_modules' });
    const { output } = await run(directory, 'backend', git);
    expect(textsOf(directory)['.gitignore']).toBe('node_modules\n.env\n');
    expect(output).toContain('.gitignore has a new line: .env');
    await run(directory, 'backend', git);
    expect(textsOf(directory)['.gitignore']).toBe('node_modules\n.env\n');
  });

  it('that knows .env is told to forget it', async () => {
    const { directory, ...git } = repository({ '.env': 'A=1' });
    execFileSync('git', ['add', '-f', '.env'], { cwd: directory });
    const { output } = await run(directory, 'backend', git);
    expect(output).toContain('git rm --cached .env');
    expect(textsOf(directory)['.gitignore']).toBeUndefined();
  });
});
