import { execFile, spawn } from 'node:child_process';
import { readFile, rm, writeFile } from 'node:fs/promises';
import { dirname, join, normalize } from 'node:path';
import { parseEnv, promisify } from 'node:util';
import { installTarball, typeErrors } from '../support/consumer.ts';

const run = promisify(execFile);
const root = process.cwd();

const sdks = {
  b2b: ['@workos-inc/node@11'],
  backend: ['@supabase/ssr@0.12', '@supabase/supabase-js@2'],
} as const;

async function inDirectory(directory: string, file: string, source: string): Promise<string> {
  await writeFile(join(directory, file), source);
  const { stdout } = await run(process.execPath, [file], { cwd: directory });
  return stdout.trim();
}

/** The translations of the built-in pages. */
const languages = ['ar', 'de', 'es', 'fr', 'it', 'ja', 'nl', 'pl', 'pt', 'zh'];

/** What every server entry exports. */
const serverFunctions = [
  'AuthError',
  'ConfigurationError',
  'authInfo',
  'authenticateUpgrade',
  'createNonce',
  'createTokenVerifier',
  'currentSession',
  'endSession',
  'forwardAuth',
  'getSession',
  'messageOf',
  'protectResource',
  'refuseUpgrade',
  'renewSession',
  'requireSameOrigin',
  'requireSession',
  'storeSession',
  'takeNonce',
];

const entries: Readonly<Record<string, readonly string[]>> = {
  'express-auth-adapters': [
    ...serverFunctions,
    'b2bAuth',
    'backendAuth',
    'getSupabaseClient',
    'sqlSession',
    'withUser',
  ],
  'express-auth-adapters/b2b': [...serverFunctions, 'b2bAuth'],
  'express-auth-adapters/backend': [...serverFunctions, 'backendAuth', 'getSupabaseClient', 'sqlSession', 'withUser'],
  'express-auth-adapters/client': ['createB2bClient', 'createBackendClient', 'createPasskey', 'getPasskey'],
  'express-auth-adapters/passport': ['passportShape'],
  'express-auth-adapters/redis': ['createRedisCoordinator'],
  'express-auth-adapters/testing': ['createB2bTestKit', 'createBackendTestKit'],
  ...Object.fromEntries(languages.map((language) => [`express-auth-adapters/texts/${language}`, [language]])),
};

describe.each(['5', '4'])('the packed tarball beside Express %s', (express) => {
  let directory: string;
  beforeAll(async () => {
    directory = await installTarball([`express@${express}`, ...sdks.b2b, ...sdks.backend]);
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

  it('has one implementation, whichever entry imports it, by import and by require', async () => {
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

  it('without variables reports what is missing, in less than 2 KB and by the name of this package', async () => {
    const empty = "import { b2bAuth } from 'express-auth-adapters/b2b'; b2bAuth();";
    await writeFile(join(directory, 'empty.mjs'), empty);
    const start = run(process.execPath, ['empty.mjs'], { cwd: directory, env: {} });
    const { stderr } = await start.catch((failure: unknown) => failure as { stderr: string });
    expect(stderr.length).toBeLessThan(2048);
    expect(stderr).toContain('ConfigurationError: b2bAuth: 2 problems');
    expect(stderr).toContain('clientId (env B2B_CLIENT_ID) is missing');
    expect(stderr).toMatch(/at readOptions .*at b2bAuth .*empty\.mjs:1/s);
  });

  it('includes the doctor, which reports what is missing', async () => {
    const doctor = run('npx', ['--no-install', 'express-auth-adapters', 'doctor', '--json'], {
      cwd: directory,
      env: { PATH: process.env['PATH'] },
    });
    await expect(doctor).rejects.toMatchObject({ code: 1 });
  }, 30_000);

  it('includes the stand-ins of both providers, which need nothing else', async () => {
    const providers = spawn('npx', ['--no-install', 'express-auth-adapters', 'providers', '--env'], {
      cwd: directory,
      env: { PATH: process.env['PATH'] },
      detached: true,
    });
    try {
      let output = '';
      for await (const chunk of providers.stdout) {
        output += String(chunk);
        if (output.includes('# Supabase')) break;
      }
      expect(output).toContain('# .env is new');
      const { BAAS_URL: url = '' } = parseEnv(await readFile(join(directory, '.env'), 'utf8'));
      expect((await fetch(`${url}/auth/v1/.well-known/jwks.json`)).status).toBe(200);
    } finally {
      process.kill(-Number(providers.pid), 'SIGTERM');
    }
  }, 30_000);

  it.each([
    ['node16', 'node16'],
    ['esnext', 'bundler'],
  ])(
    'type-checks a consumer with module %s and resolution %s',
    async (module, moduleResolution) => {
      const errors = await typeErrors(
        directory,
        `import { b2bAuth, backendAuth, currentSession, getSession, requireSession } from 'express-auth-adapters';
       import type { Session } from 'express-auth-adapters';
       import { createB2bClient } from 'express-auth-adapters/client';
       import { createRedisCoordinator } from 'express-auth-adapters/redis';
       import type { Translation } from 'express-auth-adapters';
       import { de } from 'express-auth-adapters/texts/de';
       import express from 'express';
       const app = express();
       app.use(b2bAuth({ sessionPath: '/auth/b2b' }), backendAuth());
       b2bAuth({ pages: { lang: 'de', text: de } });
       backendAuth({ pages: { lang: 'de', text: { ...de, signInButton: 'Los' } } });
       const { signInButton, ...others } = de;
       // @ts-expect-error a text is missing
       others satisfies Translation;
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
        { module, moduleResolution, skipLibCheck: true },
      );
      expect(errors).toEqual([]);
    },
    60_000,
  );
});

describe.each([
  {
    entry: 'b2b',
    factory: 'b2bAuth',
    installed: sdks.b2b,
    other: "backendAuth({ url: 'https://project.supabase.co', anonKey: 'sb_publishable_abcdefghijklmnopqrstuv' })",
    missing: 'npm install @supabase/ssr @supabase/supabase-js',
    options: 'organizationId: process.env.ORGANIZATION, cookieOptions: { domain: process.env.DOMAIN }',
  },
  {
    entry: 'backend',
    factory: 'backendAuth',
    installed: sdks.backend,
    other: "b2bAuth({ clientId: 'client_1', apiKey: 'sk_test_1', cookiePassword: 'x'.repeat(32) })",
    missing: 'npm install @workos-inc/node',
    options: 'defaultProvider: process.env.PROVIDER, pages: { title: process.env.TITLE }',
  },
])('the packed tarball beside the SDK of $entry alone', ({ entry, factory, installed, other, missing, options }) => {
  let directory: string;
  beforeAll(async () => {
    directory = await installTarball(['express@5', ...installed]);
  }, 180_000);
  afterAll(() => rm(directory, { recursive: true, force: true }));

  it('has no problem by the doctor of its quickstart, beside the settings of both stand-ins', async () => {
    const quickstart = await readFile(
      join(root, `docs/quickstart-${entry === 'b2b' ? 'workos' : 'supabase'}.md`),
      'utf8',
    );
    const [, line = ''] = /`npx express-auth-adapters (doctor [^`]*)`/.exec(quickstart) ?? [];
    const options = { cwd: directory, env: { PATH: process.env['PATH'] } };
    const providers = spawn('npx', ['--no-install', 'express-auth-adapters', 'providers', '--env'], {
      ...options,
      detached: true,
    });
    try {
      for await (const chunk of providers.stdout) if (String(chunk).includes('# Supabase')) break;
      // A problem is exit code 1, which rejects.
      const { stdout } = await run('npx', ['--no-install', 'express-auth-adapters', ...line.split(' ')], options);
      expect(stdout).toMatch(/^no problems/);
      expect(stdout).toContain(entry === 'b2b' ? 'backendAuth is not checked' : 'b2bAuth is not checked');
    } finally {
      process.kill(-Number(providers.pid), 'SIGTERM');
    }
  }, 30_000);

  it('names the SDK that the other adapter needs, and how to install it', async () => {
    const program = `
      import { ConfigurationError, b2bAuth, backendAuth } from 'express-auth-adapters';
      try { ${other}; } catch (error) { console.log(error instanceof ConfigurationError, error.message); }`;
    const said = await inDirectory(directory, 'other.mjs', program);
    expect(said).toMatch(/^true /);
    expect(said).toContain(missing);
  });

  it.each([
    ['bundler', {}],
    // What TypeScript 5 takes for CommonJS; it reads `typesVersions` in place of `exports`.
    ['node10', { ignoreDeprecations: '6.0' }],
  ])(
    'compiles with module commonjs and resolution %s',
    async (moduleResolution, others) => {
      const source = `
      import { requireSession } from 'express-auth-adapters';
      import { ${factory} } from 'express-auth-adapters/${entry}';
      import { createB2bTestKit } from 'express-auth-adapters/testing';
      import { de } from 'express-auth-adapters/texts/de';
      ${factory}({ pages: { text: de } });
      ${factory}({ sessionPath: '/auth/me' }) satisfies object;
      export const guards = [requireSession(), createB2bTestKit];`;
      const settings = { module: 'commonjs', moduleResolution, skipLibCheck: true, ...others };
      expect(await typeErrors(directory, source, settings)).toEqual([]);
    },
    60_000,
  );

  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
  const loads = [
    ['mjs', `import { ${factory} } from 'express-auth-adapters/${entry}';`],
    // jest takes `require` of an ES module from here on.
    ...(major > 24 || (major === 24 && minor >= 9)
      ? [['cjs', `const { ${factory} } = require('express-auth-adapters/${entry}');`] as const]
      : []),
  ] as const;

  it.each(loads)(
    'runs under jest with --experimental-vm-modules, in a test that is %s',
    async (ending, load) => {
      await writeFile(
        join(directory, `loads.test.${ending}`),
        `${load} test('loads', () => expect(typeof ${factory}).toBe('function'));`,
      );
      const config = { rootDir: directory, testMatch: [`**/loads.test.${ending}`], transform: {} };
      const jest = [join(root, 'node_modules/jest/bin/jest.js'), '--config', JSON.stringify(config)];
      const { stderr } = await run(process.execPath, ['--experimental-vm-modules', ...jest], {
        cwd: directory,
        env: { PATH: process.env['PATH'] },
      });
      expect(stderr).toContain('1 passed');
    },
    60_000,
  );

  it('compiles with the declarations of all libraries checked, and with exact optional properties', async () => {
    const source = `
      import { ${factory}, getSession, requireSession } from 'express-auth-adapters/${entry}';
      import express from 'express';
      const app = express();
      app.use(${factory}({ ${options} }), requireSession());
      app.get('/', async (req, res) => void res.json(await getSession(req)));`;
    const errors = await typeErrors(directory, source, { skipLibCheck: false, exactOptionalPropertyTypes: true });
    // supabase-js' own declarations compile under no strict configuration.
    expect(errors.filter((line) => !line.startsWith('node_modules/@supabase/'))).toEqual([]);
  }, 60_000);
});

describe('the packed tarball', () => {
  it('contains the built code, the docs and the legal texts, and nothing else', async () => {
    const { stdout } = await run('npm', ['pack', '--dry-run', '--json', '--ignore-scripts'], { cwd: root });
    const [{ files, size }] = JSON.parse(stdout);
    const tops = new Set(files.map(({ path }: { path: string }) => path.split('/')[0]));
    expect([...tops].sort()).toEqual([
      'AGENTS.md',
      'LICENSE',
      'README.md',
      'SECURITY.md',
      'dist',
      'docs',
      'llms.txt',
      'package.json',
      'skills',
    ]);
    const paths = files.map(({ path }: { path: string }) => path);
    const internal =
      /stand-in|example-app|\.test\.|docs\/(?:comparison|contributing|proofs|releasing)|\.map$|\.png$|\.ts$(?<!\.d\.ts)/;
    expect(paths.filter((path: string) => internal.test(path))).toEqual([]);
    expect(size).toBeLessThan(600_000);
  });

  it('contains readable code: whole names, short lines, and nothing of other packages', async () => {
    const { stdout } = await run('npm', ['pack', '--dry-run', '--json', '--ignore-scripts'], { cwd: root });
    const [{ files }] = JSON.parse(stdout);
    const { dependencies, peerDependencies } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8'));
    const imported = new Set<string>();
    for (const { path } of files.filter((file: { path: string }) => file.path.endsWith('.js'))) {
      const source = await readFile(join(root, path), 'utf8');
      expect(source).not.toContain('node_modules/');
      // The script of the passkey pages is served as it stands there, so it is minified.
      const lines = source.split('\n').filter((line) => !line.startsWith('var passkeyScript'));
      expect(Math.max(...lines.map((line) => line.length))).toBeLessThan(1_200);
      for (const [, name = ''] of source.matchAll(/(?:from|import\() ?"((?:@[^/"]+\/)?[^./"][^/":]*)(?:\/[^"]*)?"/g)) {
        imported.add(name);
      }
    }
    const declared = Object.keys({ ...dependencies, ...peerDependencies });
    expect([...imported].sort()).toEqual(declared.sort());
    for (const range of Object.values<string>(dependencies)) expect(range).toMatch(/^\^/);
  });

  it('loads an entry from few files', async () => {
    const program = `
      import { registerHooks } from 'node:module';
      const own = new Set();
      registerHooks({ load: (url, context, next) => (url.includes('/dist/') && url.startsWith('file://${root}/dist') && own.add(url), next(url, context)) });
      await import('${root}/dist/b2b/index.js');
      console.log(own.size);`;
    const { stdout } = await run(process.execPath, ['--input-type=module', '--eval', program]);
    // Each part that loads on its first use makes the rest one file more.
    expect(Number(stdout)).toBeLessThan(32);
  });

  it('loads a translation only where it is imported, and nothing with it', async () => {
    const loaded = async (...entries: readonly string[]): Promise<string[]> => {
      const program = `
        import { registerHooks } from 'node:module';
        const own = [];
        registerHooks({ load: (url, context, next) => (url.startsWith('file://${root}/dist/') && own.push(url.slice(url.indexOf('/dist/') + 6)), next(url, context)) });
        for (const entry of ${JSON.stringify(entries)}) await import('${root}/dist/' + entry);
        console.log(JSON.stringify(own));`;
      const { stdout } = await run(process.execPath, ['--input-type=module', '--eval', program]);
      return JSON.parse(stdout);
    };
    const others = [
      'index.js',
      'b2b/index.js',
      'backend/index.js',
      'client/index.js',
      'redis/index.js',
      'testing/index.js',
    ];
    const without = await loaded(...others);
    expect(without.length).toBeGreaterThan(10);
    expect(without.filter((file) => file.startsWith('texts/'))).toEqual([]);
    // No part of a text is in a shared file either.
    const german = 'Sehen Sie im Spam-Ordner nach';
    for (const file of without) expect(await readFile(join(root, 'dist', file), 'utf8')).not.toContain(german);
    expect(await readFile(join(root, 'dist/texts/de.js'), 'utf8')).toContain(german);
    for (const language of languages) expect(await loaded(`texts/${language}.js`)).toEqual([`texts/${language}.js`]);
  });

  it('has its repository, its issue tracker and search keywords', async () => {
    const { repository, homepage, bugs, keywords } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8'));
    const address = 'https://github.com/express-auth-adapters/express-auth-adapters';
    expect([repository.url, homepage, bugs.url]).toEqual([
      `git+${address}.git`,
      `${address}#readme`,
      `${address}/issues`,
    ]);
    expect(keywords).toEqual(expect.arrayContaining(['express', 'workos', 'supabase', 'authentication']));
  });

  it('has no relative link to a file that is not packed', async () => {
    const { stdout } = await run('npm', ['pack', '--dry-run', '--json', '--ignore-scripts'], { cwd: root });
    const [{ files }] = JSON.parse(stdout);
    const packed = new Set<string>(files.map(({ path }: { path: string }) => path));
    const broken: string[] = [];
    for (const path of [...packed].filter((each) => each.endsWith('.md'))) {
      const text = (await readFile(join(root, path), 'utf8')).replaceAll(/^( *)```[\s\S]*?^\1```/gm, '');
      for (const [, target = ''] of text.matchAll(/\]\(([^)\s]+)\)/g)) {
        const [file = ''] = target.split('#');
        const isThere = /^[a-z]+:/i.test(target) || file === '' || packed.has(normalize(join(dirname(path), file)));
        if (!isThere) broken.push(`${path}: ${target}`);
      }
    }
    expect(broken).toEqual([]);
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

  it('has only licenses that an application may use', async () => {
    const lock = JSON.parse(await readFile(join(root, 'package-lock.json'), 'utf8'));
    const allowed = /^\(?(?:MIT|ISC|BSD-[23]-Clause|0BSD|Apache-2\.0|BlueOak-1\.0\.0)(?: (?:AND|OR) .*)?\)?$/;
    const shipped = Object.entries<{ dev?: boolean; license?: string; link?: boolean }>(lock.packages)
      .filter(([path, { dev, link }]) => path.startsWith('node_modules/') && dev !== true && link !== true)
      .filter(([, { license }]) => !allowed.test(license ?? ''));
    expect(shipped.map(([path, { license }]) => `${path}: ${license}`)).toEqual([]);
  });
});
