// Runs the host and hostile-request suites on the oldest and newest Express of the peer range, with their
// routers, and the suites of both adapters on the oldest SDKs of their ranges, to find incompatible releases before users
// do. The versions are installed at run time without a lock file, in a temporary folder. With TEST_VARIANT_TURN a
// suite runs on these if it is their turn (tools/turn.ts); the nightly command runs all.
// Usage: npm run test:peers [-- <part of a name>]
import { execFileSync, spawnSync } from 'node:child_process';
import { globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { hasTurn } from './turn.ts';

const peers = [
  { name: 'express4-oldest', range: '4.20.0', host: 'Express 4' },
  { name: 'express4-newest', range: '4', host: 'Express 4' },
  // Without the override npm would install the newest router.
  { name: 'express5-oldest', range: '5.0.0', host: 'Express 5', overrides: { router: '2.0.0' } },
  { name: 'express5-newest', range: '5', host: 'Express 5' },
].filter(isWanted);

/** The SDKs in the oldest versions of package.json's ranges. */
const { peerDependencies } = JSON.parse(readFileSync('package.json', 'utf8'));
const sdks = Object.fromEntries(
  Object.entries(peerDependencies)
    .filter(([name]) => name !== 'express')
    .map(([name, range]) => [name, String(/\d+\.\d+\.\d+/.exec(range))]),
);

function isWanted({ name }) {
  return name.includes(process.argv[2] ?? '');
}

/** Fewer generated inputs than in `npm test`. */
const runs = { RETURN_TO_FLOW_RUNS: '25', RAW_REQUEST_RUNS: '30' };

const versionIn = (path) => JSON.parse(readFileSync(join(path, 'package.json'), 'utf8')).version;
const installed = ['node_modules/express', 'node_modules/express4'].map(versionIn);

const folder = mkdtempSync(join(tmpdir(), 'express-peers-'));
let failed = 0;
try {
  testExpress();
  if (isWanted({ name: 'sdks-oldest' })) testSdks();
} finally {
  rmSync(folder, { recursive: true, force: true });
}
process.exitCode = failed === 0 ? 0 : 1;

function testExpress() {
  const dependencies = Object.fromEntries(peers.map(({ name, range }) => [name, `npm:express@${range}`]));
  const overrides = Object.fromEntries(peers.flatMap(({ name, overrides }) => (overrides ? [[name, overrides]] : [])));
  const modules = install('express', { dependencies, overrides });
  const versions = peers.map(({ name, host }) => ({ name, host, express: join(modules, name) }));
  const others = versions.filter(({ express }) => !installed.includes(versionIn(express)));
  for (const { express } of versions.filter((each) => !others.includes(each))) {
    console.log(
      `\n--- Express ${versionIn(express)} is installed: \`npm test\` and the variants run these suites on it.`,
    );
  }
  for (const { name, host, express } of others) {
    console.log(`\n--- Express ${versionIn(express)}`);
    const hostile = suitesIn('hostile').filter((file) => hasTurn(file, name));
    const stack = host === 'Express 5' ? ['__tests__/http/express-stack.test.ts'] : [];
    test([...suitesIn('hosts'), ...hostile, ...stack], { TEST_EXPRESS: express, TEST_HOST: host });
  }
}

function testSdks() {
  const modules = install('sdks', { dependencies: sdks });
  console.log(
    `\n--- ${Object.keys(sdks)
      .map((name) => `${name} ${versionIn(join(modules, name))}`)
      .join(', ')}`,
  );
  const suites = ['b2b', 'backend', 'doors'].flatMap(suitesIn).filter((file) => hasTurn(file, 'sdks-oldest'));
  test(suites, { TEST_SDKS: modules });
}

function suitesIn(folder) {
  return globSync(`__tests__/${folder}/**/*.test.ts`).map((file) => file.replaceAll('\\', '/'));
}

/** @returns the folder of the installed modules */
function install(name, manifest) {
  const cwd = join(folder, name);
  mkdirSync(cwd);
  writeFileSync(join(cwd, 'package.json'), JSON.stringify({ private: true, ...manifest }));
  execFileSync('npm', ['install', '--no-audit', '--no-fund', '--no-package-lock', '--silent'], {
    cwd,
    stdio: 'inherit',
  });
  return join(cwd, 'node_modules');
}

function test(suites, variables) {
  const { status } = spawnSync(
    process.execPath,
    [
      '--experimental-vm-modules',
      '--disable-warning=ExperimentalWarning',
      'node_modules/jest/bin/jest.js',
      '--runTestsByPath',
      ...suites,
    ],
    { stdio: 'inherit', env: { ...process.env, ...runs, ...variables } },
  );
  if (status !== 0) failed += 1;
}
