// Runs the host and hostile-request suites on the oldest and newest Express of the peer range, with
// their routers, to find incompatible releases before users do. The versions are installed at run
// time without a lock file, in a temporary folder. Usage: npm run test:peers [-- <part of a name>]
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const peers = [
  { name: 'express4-oldest', range: '4.20.0', host: 'Express 4' },
  { name: 'express4-newest', range: '4', host: 'Express 4' },
  // Without the override npm would install the newest router.
  { name: 'express5-oldest', range: '5.0.0', host: 'Express 5', overrides: { router: '2.0.0' } },
  { name: 'express5-newest', range: '5', host: 'Express 5' },
].filter(({ name }) => name.includes(process.argv[2] ?? ''));

/** Fewer generated inputs than in `npm test`. */
const runs = { RETURN_TO_FLOW_RUNS: '25', RAW_REQUEST_RUNS: '30' };

const versionIn = (path) => JSON.parse(readFileSync(join(path, 'package.json'), 'utf8')).version;
const installed = ['node_modules/express', 'node_modules/express4'].map(versionIn);

const folder = mkdtempSync(join(tmpdir(), 'express-peers-'));
let failed = 0;
try {
  const dependencies = Object.fromEntries(peers.map(({ name, range }) => [name, `npm:express@${range}`]));
  const overrides = Object.fromEntries(peers.flatMap(({ name, overrides }) => (overrides ? [[name, overrides]] : [])));
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ private: true, dependencies, overrides }));
  const install = ['install', '--no-audit', '--no-fund', '--no-package-lock', '--silent'];
  execFileSync('npm', install, { cwd: folder, stdio: 'inherit' });
  for (const { name, host } of peers) {
    const express = join(folder, 'node_modules', name);
    const version = versionIn(express);
    console.log(`\n--- Express ${version}`);
    if (installed.includes(version)) {
      console.log('The installed version: `npm test` and the variants run these suites on it.');
      continue;
    }
    const suites = ['hosts', 'hostile', ...(host === 'Express 5' ? ['http/express-stack'] : [])];
    const { status } = spawnSync(
      process.execPath,
      [
        '--experimental-vm-modules',
        '--disable-warning=ExperimentalWarning',
        'node_modules/jest/bin/jest.js',
        ...suites.map((suite) => `__tests__/${suite}`),
      ],
      { stdio: 'inherit', env: { ...process.env, ...runs, TEST_EXPRESS: express, TEST_HOST: host } },
    );
    if (status !== 0) failed += 1;
  }
} finally {
  rmSync(folder, { recursive: true, force: true });
}
process.exitCode = failed === 0 ? 0 : 1;
