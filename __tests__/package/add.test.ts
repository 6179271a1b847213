import { execFile, spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { promisify } from 'node:util';
import { installTarball } from '../support/consumer.ts';
import { freePortsInARow } from '../support/servers.ts';
import { createVisitor } from '../support/visitor.ts';

const run = promisify(execFile);

/** In milliseconds, from the end of the install to a signed-in user. */
const minute = 60_000;

/** Resolves once it has printed this. Its output stays open: a program that cannot print any more ends. */
function printed(child: ChildProcess & { readonly stdout: Readable }, text: string): Promise<string> {
  return new Promise((resolve, reject) => {
    let output = '';
    child.stdout.on('data', (chunk: Buffer) => {
      output += chunk.toString();
      if (output.includes(text)) resolve(output);
    });
    child.once('close', () => reject(new Error(`It ended after: ${output}`)));
  });
}

describe.each([
  {
    adapter: 'backend',
    kind: 'ES modules',
    file: 'app.mjs',
    source: `import express from 'express';

const app = express();
app.get('/', (_req, res) => res.send('Hello'));
app.listen(process.env.PORT, () => console.log('Listening'));
`,
  },
  {
    adapter: 'b2b',
    kind: 'CommonJS',
    file: 'app.cjs',
    source: `const express = require('express');

const app = express();
app.get('/', (_req, res) => res.send('Hello'));
app.listen(process.env.PORT, () => console.log('Listening'));
`,
  },
])('npx express-auth-adapters add $adapter, in an application of $kind', ({ adapter, file, source }) => {
  let directory: string;
  beforeAll(async () => {
    directory = await installTarball(['express@5']);
    await writeFile(join(directory, file), source);
  }, 300_000);
  afterAll(() => rm(directory, { recursive: true, force: true }));

  it('installs the SDK and mounts the adapter, and signs in within a minute', async () => {
    const port = String(await freePortsInARow(1));
    const npm = { npm_config_audit: 'false', npm_config_fund: 'false', npm_config_prefer_offline: 'true' };
    const options = { cwd: directory, env: { PATH: process.env['PATH'], PORT: port, ...npm }, detached: true };
    const npx = ['--no-install', 'express-auth-adapters'];
    const { stdout } = await run('npx', [...npx, 'add', adapter, '--local', '--write'], options);
    const installed = Date.now();
    expect(stdout).toContain(`${file} has new lines:`);
    expect(stdout).toContain('npx express-auth-adapters doctor   checks it all, once the stand-ins run');
    const { dependencies } = JSON.parse(await readFile(join(directory, 'package.json'), 'utf8'));
    expect(Object.keys(dependencies)).toContain(adapter === 'b2b' ? '@workos-inc/node' : '@supabase/supabase-js');

    const providers = spawn('npx', [...npx, 'providers', port], options);
    const app = spawn(process.execPath, ['--env-file=.env', file], options);
    try {
      const [said] = await Promise.all([printed(providers, '# Supabase'), printed(app, 'Listening')]);
      const visitor = createVisitor(`http://localhost:${port}`);
      if (adapter === 'b2b') {
        const page = await fetch((await visitor.get('/login')).location);
        expect([page.status, await page.text()]).toEqual([200, expect.stringContaining('ada@example.com')]);
      } else {
        const [, email, password] = /# Supabase: sign in as (\S+) with (\S+)/.exec(said) ?? [];
        expect((await visitor.postJson('/auth/login', { email, password })).status).toBe(200);
      }
      expect(Date.now() - installed).toBeLessThan(minute);
      // With the stand-ins the doctor has nothing to mend.
      await run('npx', [...npx, 'doctor', '--adapter', adapter, '--quiet'], options);
    } finally {
      process.kill(-Number(providers.pid), 'SIGTERM');
      app.kill();
    }
  }, 180_000);
});
