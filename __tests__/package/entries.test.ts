import { execFile, spawn } from 'node:child_process';
import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseEnv, promisify } from 'node:util';
import { serverNames } from '../support/exported-names.ts';
import { inDirectory, installTarball, languages, readUntil, sdks, typeErrors } from '../support/consumer.ts';

const run = promisify(execFile);

const entries: Readonly<Record<string, readonly string[]>> = {
  'express-auth-adapters': [...serverNames, 'b2bAuth', 'backendAuth', 'getSupabaseClient', 'sqlSession', 'withUser'],
  'express-auth-adapters/b2b': [...serverNames, 'b2bAuth'],
  'express-auth-adapters/backend': [...serverNames, 'backendAuth', 'getSupabaseClient', 'sqlSession', 'withUser'],
  'express-auth-adapters/client': ['createB2bClient', 'createBackendClient', 'createPasskey', 'getPasskey'],
  'express-auth-adapters/passport': ['passportShape'],
  'express-auth-adapters/redis': ['createRedisCoordinator'],
  'express-auth-adapters/testing': ['createB2bTestKit', 'createBackendTestKit'],
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
    expect(await inDirectory(directory, 'application.mjs', application)).toBe('401 /login');
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

  // What does not depend on Express.
  if (express === '4') return;

  // None imports anything, so that one process can load them all.
  it('each translation exports just its name, by import and by require', async () => {
    const entries = languages.map((language) => `express-auth-adapters/texts/${language}`);
    const listed = JSON.stringify(languages.map((language) => [language]));
    const imported = `
      const loaded = await Promise.all(${JSON.stringify(entries)}.map((entry) => import(entry)));
      console.log(JSON.stringify(loaded.map((entry) => Object.keys(entry))));`;
    expect(await inDirectory(directory, 'imported.mjs', imported)).toBe(listed);
    const required = `
      const loaded = ${JSON.stringify(entries)}.map((entry) => require(entry));
      console.log(JSON.stringify(loaded.map((entry) => Object.keys(entry).filter((name) => name !== '__esModule'))));`;
    expect(await inDirectory(directory, 'required.cjs', required)).toBe(listed);
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
      const output = await readUntil(providers.stdout, '# Supabase');
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
