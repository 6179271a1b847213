import { execFile, spawn } from 'node:child_process';
import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { inDirectory, installTarball, readUntil, sdks, typeErrors } from '../support/consumer.ts';

const run = promisify(execFile);
const root = process.cwd();

/** The range of docs/recipes/modules.md: the oldest TypeScript that the declarations compile with, and the newest. */
const versions = { oldest: 'typescript-oldest', former: 'typescript-former', newest: 'typescript' } as const;
const typescript = [`${versions.oldest}@npm:typescript@5.4`, `${versions.former}@npm:typescript@6`];

describe.each([
  {
    entry: 'b2b',
    factory: 'b2bAuth',
    kit: 'createB2bTestKit',
    client: 'createB2bClient',
    installed: sdks.b2b,
    other: "backendAuth({ url: 'https://project.supabase.co', anonKey: 'sb_publishable_abcdefghijklmnopqrstuv' })",
    missing: 'npm install @supabase/ssr @supabase/supabase-js',
    options: 'organizationId: process.env.ORGANIZATION, cookieOptions: { domain: process.env.DOMAIN }',
  },
  {
    entry: 'backend',
    factory: 'backendAuth',
    kit: 'createBackendTestKit',
    client: 'createBackendClient',
    installed: sdks.backend,
    other: "b2bAuth({ clientId: 'client_1', apiKey: 'sk_test_1', cookiePassword: 'x'.repeat(32) })",
    missing: 'npm install @workos-inc/node',
    options: 'defaultProvider: process.env.PROVIDER, pages: { title: process.env.TITLE }',
  },
])(
  'the packed tarball beside the SDK of $entry alone',
  ({ entry, factory, kit, client, installed, other, missing, options }) => {
    let directory: string;
    beforeAll(async () => {
      directory = await installTarball(['express@5', ...installed], typescript);
    }, 300_000);
    afterAll(() => rm(directory, { recursive: true, force: true }));

    it('has no problem by the doctor of its quickstart, beside the settings of both stand-ins', async () => {
      const quickstart = await readFile(
        join(root, `docs/quickstart-${entry === 'b2b' ? 'workos' : 'supabase'}.md`),
        'utf8',
      );
      const [, line = ''] = /`npx express-auth-adapters (doctor[^`]*)`/.exec(quickstart) ?? [];
      const options = { cwd: directory, env: { PATH: process.env['PATH'] } };
      const providers = spawn('npx', ['--no-install', 'express-auth-adapters', 'providers', '--env'], {
        ...options,
        detached: true,
      });
      try {
        await readUntil(providers.stdout, '# Supabase');
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
      ['bundler', versions.newest, {}],
      // What TypeScript 5 takes for CommonJS; it reads `typesVersions` in place of `exports`. Version 6 is the last that has it.
      ['node10', versions.former, { ignoreDeprecations: '6.0' }],
    ])(
      'compiles with module commonjs and resolution %s, by %s',
      async (moduleResolution, version, others) => {
        const source = `
      import { requireSession } from 'express-auth-adapters';
      import { ${factory} } from 'express-auth-adapters/${entry}';
      import { createB2bTestKit } from 'express-auth-adapters/testing';
      import { de } from 'express-auth-adapters/texts/de';
      ${factory}({ pages: { text: de } });
      ${factory}({ sessionPath: '/auth/me' }) satisfies object;
      export const guards = [requireSession(), createB2bTestKit];`;
        const settings = { module: 'commonjs', moduleResolution, skipLibCheck: true, ...others };
        expect(await typeErrors(directory, source, settings, version)).toEqual([]);
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

    it.each([
      [versions.oldest, 'es2020'],
      [versions.newest, 'es2020'],
      [versions.newest, 'es2022'],
    ])(
      'every entry compiles with %s and target %s, all declarations checked, and claims of an application merge',
      async (version, target) => {
        const source = `
        import { ${factory} as whole, currentSession, getSession, requireSession } from 'express-auth-adapters';
        import { ${factory}, currentSession as ofEntry } from 'express-auth-adapters/${entry}';
        import { ${kit} } from 'express-auth-adapters/testing';
        import { ${client} } from 'express-auth-adapters/client';
        import { passportShape } from 'express-auth-adapters/passport';
        import { de } from 'express-auth-adapters/texts/de';
        import express from 'express';
        declare module 'express-auth-adapters' {
          interface B2bClaims { readonly plan?: 'free' | 'paid' }
        }
        const app = express();
        app.use(${factory}(${kit}().options), whole({ pages: { text: de } }), requireSession());
        app.use(passportShape({ load: ({ user }) => user }));
        app.get('/', async (req, res) => {
          for (const { claims } of [currentSession(req, 'b2b'), ofEntry(req, 'b2b')])
            claims.plan satisfies 'free' | 'paid' | undefined;
          res.json(await getSession(req));
        });
        void ${client}();`;
        const errors = await typeErrors(directory, source, { target, skipLibCheck: false }, version);
        // supabase-js' own declarations do not compile with the DOM of newer versions.
        expect(errors.filter((line) => !line.startsWith('node_modules/@supabase/'))).toEqual([]);
      },
      120_000,
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
  },
);
