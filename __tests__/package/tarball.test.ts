import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);
const root = process.cwd();

/** What a user has after `npm install`: the packed tarball in an empty directory, with this Express. */
async function installTarball(express: string): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'consumer-'));
  const { stdout } = await run('npm', ['pack', '--json', '--ignore-scripts', '--pack-destination', directory], {
    cwd: root,
  });
  const [{ filename }] = JSON.parse(stdout);
  await writeFile(join(directory, 'package.json'), JSON.stringify({ name: 'consumer', private: true, type: 'module' }));
  await run(
    'npm',
    [
      'install',
      '--no-audit',
      '--no-fund',
      `./${filename}`,
      `express@${express}`,
      '@types/express@5',
      'typescript@6',
      '@types/node@22',
    ],
    {
      cwd: directory,
    },
  );
  return directory;
}

async function inDirectory(directory: string, file: string, source: string): Promise<string> {
  await writeFile(join(directory, file), source);
  const { stdout } = await run(process.execPath, [file], { cwd: directory });
  return stdout.trim();
}

const entries: Readonly<Record<string, readonly string[]>> = {
  'express-auth-adapters': [
    'AuthError',
    'ConfigurationError',
    'b2bAuth',
    'backendAuth',
    'currentSession',
    'getSession',
    'getSupabaseClient',
    'requireSession',
  ],
  'express-auth-adapters/b2b': [
    'AuthError',
    'ConfigurationError',
    'b2bAuth',
    'currentSession',
    'getSession',
    'requireSession',
  ],
  'express-auth-adapters/backend': [
    'AuthError',
    'ConfigurationError',
    'backendAuth',
    'currentSession',
    'getSession',
    'getSupabaseClient',
    'requireSession',
  ],
  'express-auth-adapters/client': ['createB2bClient', 'createBackendClient'],
  'express-auth-adapters/redis': ['createRedisCoordinator'],
  'express-auth-adapters/testing': ['createB2bTestKit', 'createBackendTestKit'],
};

describe.each(['5', '4'])('the packed tarball beside Express %s', (express) => {
  let directory: string;
  beforeAll(async () => {
    directory = await installTarball(express);
  }, 180_000);
  afterAll(() => rm(directory, { recursive: true, force: true }));

  it.each(Object.entries(entries))('%s exports just these names, by import and by require', async (entry, names) => {
    const listed = JSON.stringify([...names].sort());
    const imported = `import * as entry from '${entry}'; console.log(JSON.stringify(Object.keys(entry).sort()));`;
    expect(await inDirectory(directory, 'imported.mjs', imported)).toBe(listed);
    const required = `console.log(JSON.stringify(Object.keys(require('${entry}')).filter((name) => name !== '__esModule').sort()));`;
    expect(await inDirectory(directory, 'required.cjs', required)).toBe(listed);
  });

  it('guards a route of an application', async () => {
    const application = `
      import express from 'express';
      import { b2bAuth, requireSession } from 'express-auth-adapters/b2b';
      const app = express();
      app.use(b2bAuth({ clientId: 'client_1', apiKey: 'sk_test_1', cookiePassword: 'x'.repeat(32) }));
      app.get('/private', requireSession(), (req, res) => res.send('private'));
      const server = app.listen(0, '127.0.0.1', async () => {
        const answer = await fetch(\`http://127.0.0.1:\${server.address().port}/private\`);
        console.log(answer.status, (await answer.json()).redirectTo);
        server.close();
      });`;
    expect(await inDirectory(directory, 'application.mjs', application)).toBe('401 /login?returnTo=%2Fprivate');
  });

  it('is one implementation, whichever entry it is taken from, by import and by require', async () => {
    const shared = `
      const names = ['AuthError', 'ConfigurationError', 'currentSession', 'getSession', 'requireSession'];
      console.log(names.every((name) => all[name] === b2b[name] && all[name] === backend[name]));
      const isOurs = (error) => console.log(error instanceof all.ConfigurationError);
      try { redis.createRedisCoordinator({}); } catch (error) { isOurs(error); }
      process.env.NODE_ENV = 'production';
      try { testing.createB2bTestKit({}); } catch (error) { isOurs(error); }`;
    const imports = ['all', 'b2b', 'backend', 'redis', 'testing'].map((name) => [
      name,
      `express-auth-adapters${name === 'all' ? '' : `/${name}`}`,
    ]);
    const imported = imports.map(([name, entry]) => `import * as ${String(name)} from '${String(entry)}';`).join('');
    const required = imports.map(([name, entry]) => `const ${String(name)} = require('${String(entry)}');`).join('');
    expect(await inDirectory(directory, 'shared.mjs', imported + shared)).toBe('true\ntrue\ntrue');
    expect(await inDirectory(directory, 'shared.cjs', required + shared)).toBe('true\ntrue\ntrue');
  });

  it('pins what it has bundled, with its licenses, and shows its sources to a debugger', async () => {
    const installed = join(directory, 'node_modules/express-auth-adapters');
    const { dependencies } = JSON.parse(await readFile(join(installed, 'package.json'), 'utf8'));
    const pinned = Object.entries<string>(dependencies).filter(([, version]) => /^\d/.test(version));
    expect(pinned.map(([name]) => name)).toContain('valibot');
    const licences = await readFile(join(installed, 'dist/licenses.txt'), 'utf8');
    for (const [name, version] of pinned) expect(licences).toContain(`${name} ${version}\n`);
    const failing = `
      import { b2bAuth } from 'express-auth-adapters/b2b';
      try { b2bAuth({ clientId: 1 }); } catch (error) { console.log(error.stack); }`;
    await writeFile(join(directory, 'failing.mjs'), failing);
    const { stdout } = await run(process.execPath, ['--enable-source-maps', 'failing.mjs'], { cwd: directory });
    expect(stdout).toContain('lib/http/read-options.ts:');
  });

  it('brings the doctor, who says what is missing', async () => {
    const doctor = run('npx', ['--no-install', 'express-auth-adapters', 'doctor', '--json'], {
      cwd: directory,
      env: { PATH: process.env['PATH'] },
    });
    await expect(doctor).rejects.toMatchObject({ code: 1 });
  }, 30_000);

  it.each([
    ['node16', 'node16'],
    ['esnext', 'bundler'],
  ])(
    'type-checks a consumer with module %s and resolution %s',
    async (module, moduleResolution) => {
      await writeFile(
        join(directory, 'consumer.ts'),
        `import { b2bAuth, backendAuth, currentSession, getSession, requireSession } from 'express-auth-adapters';
       import type { Session } from 'express-auth-adapters';
       import { createB2bClient } from 'express-auth-adapters/client';
       import { createRedisCoordinator } from 'express-auth-adapters/redis';
       import express from 'express';
       const app = express();
       app.use(b2bAuth({ sessionPath: '/auth/b2b' }), backendAuth());
       app.use('/a', requireSession, requireSession({ adapter: 'b2b', organization: true, check: (session) => session.organizationId !== 'x' }));
       app.get('/', async (req, res) => {
         const session: Session | null = await getSession(req);
         res.json([session?.user.id, currentSession(req, 'b2b').organizationId]);
       });
       // @ts-expect-error an option that does not exist
       b2bAuth({ cookieSecret: '' });
       const { data, error } = await createB2bClient().session();
       if (error === null) data.user.email satisfies string;
       void createRedisCoordinator;
       export {};`,
      );
      // supabase-js' own declarations clash with TypeScript's DOM library; ours are checked below.
      const options = {
        target: 'es2022',
        module,
        moduleResolution,
        strict: true,
        skipLibCheck: true,
        noEmit: true,
        types: ['node'],
      };
      await writeFile(
        join(directory, 'tsconfig.json'),
        JSON.stringify({ compilerOptions: options, files: ['consumer.ts'] }),
      );
      await run(join(directory, 'node_modules/.bin/tsc'), ['-p', directory], { cwd: directory });
    },
    60_000,
  );
});

describe('the packed tarball', () => {
  it('holds the built code, the docs and the legal texts, and nothing else', async () => {
    const { stdout } = await run('npm', ['pack', '--dry-run', '--json', '--ignore-scripts'], { cwd: root });
    const [{ files, size }] = JSON.parse(stdout);
    const tops = new Set(files.map(({ path }: { path: string }) => path.split('/')[0]));
    expect([...tops].sort()).toEqual([
      'CHANGELOG.md',
      'LICENSE',
      'README.md',
      'SECURITY.md',
      'dist',
      'docs',
      'package.json',
    ]);
    expect(files.filter(({ path }: { path: string }) => /stand-in|example-app|\.test\./.test(path))).toEqual([]);
    expect(size).toBeLessThan(1_500_000);
  });

  it('satisfies publint', async () => {
    const { stdout } = await run(join(root, 'tools/node_modules/.bin/publint'), ['--strict', root]);
    expect(stdout).toContain('All good!');
  }, 60_000);

  it('satisfies arethetypeswrong for an ESM package', async () => {
    const tool = join(root, 'tools/node_modules/.bin/attw');
    // Any problem is a non-zero exit, which rejects.
    const { stdout } = await run(tool, ['--pack', root, '--profile', 'esm-only', '--no-color'], { cwd: root });
    expect(stdout).toContain('express-auth-adapters/backend');
  }, 120_000);

  it('names licenses that an application may take', async () => {
    const lock = JSON.parse(await readFile(join(root, 'package-lock.json'), 'utf8'));
    const allowed = /^\(?(?:MIT|ISC|BSD-[23]-Clause|0BSD|Apache-2\.0|BlueOak-1\.0\.0)(?: (?:AND|OR) .*)?\)?$/;
    const shipped = Object.entries<{ dev?: boolean; license?: string; link?: boolean }>(lock.packages)
      .filter(([path, { dev, link }]) => path.startsWith('node_modules/') && dev !== true && link !== true)
      .filter(([, { license }]) => !allowed.test(license ?? ''));
    expect(shipped.map(([path, { license }]) => `${path}: ${license}`)).toEqual([]);
  });
});
