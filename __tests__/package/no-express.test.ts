import { execFile } from 'node:child_process';
import { access, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { inDirectory, installTarball, sdks, typeErrors } from '../support/consumer.ts';

const run = promisify(execFile);

/** A front end takes the client alone; Connect, Fastify and node:http have no Express by themselves. */
describe('the packed tarball without Express', () => {
  let directory: string;
  beforeAll(async () => {
    directory = await installTarball(sdks.b2b);
  }, 300_000);
  afterAll(() => rm(directory, { recursive: true, force: true }));

  it('installs no Express, and its client runs and has types', async () => {
    await expect(access(join(directory, 'node_modules/express'))).rejects.toThrow('ENOENT');
    const program = `
      import { createB2bClient, createBackendClient } from 'express-auth-adapters/client';
      console.log(typeof createB2bClient().session, typeof createBackendClient().session);`;
    expect(await inDirectory(directory, 'client.mjs', program)).toBe('function function');
    const errors = await typeErrors(
      directory,
      `import { createB2bClient } from 'express-auth-adapters/client';
      const { data } = await createB2bClient().session();
      data?.user.email satisfies string | undefined;`,
      { skipLibCheck: false, types: [], lib: ['es2023', 'dom'] },
    );
    expect(errors).toEqual([]);
  }, 60_000);

  it.each(['express-auth-adapters', 'express-auth-adapters/b2b', 'express-auth-adapters/backend'])(
    '%s names it beside every other problem, and how to install it',
    async (entry) => {
      const factory = entry.endsWith('backend') ? 'backendAuth' : 'b2bAuth';
      const program = `
        import { ConfigurationError, ${factory} } from '${entry}';
        try { ${factory}({ unknown: true }); }
        catch (error) { console.log(error instanceof ConfigurationError, error.message); }`;
      const said = await inDirectory(directory, 'server.mjs', program);
      expect(said).toMatch(/^true /);
      expect(said).toContain('express must be installed beside this package: npm install express');
      expect(said).toContain('unknown is not an option');
    },
  );

  it('an Express that is there and broken is not said to be missing', async () => {
    const broken = `
      import { mkdirSync, writeFileSync } from 'node:fs';
      mkdirSync('node_modules/express', { recursive: true });
      writeFileSync('node_modules/express/index.js', "require('no-such-package')");
      await import('express-auth-adapters/b2b').catch(({ message }) => console.log(message));`;
    const said = await inDirectory(directory, 'broken.mjs', broken);
    await run('rm', ['-r', join(directory, 'node_modules/express')]);
    expect(said).toContain("Cannot find module 'no-such-package'");
  });
});
