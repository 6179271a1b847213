// Runs the property tests with a hundred times as many generated inputs as `npm test`, all suites on all hosts and on all versions of
// the peer ranges, the tree without each of its rooms, and axe on every page in every look (Chromium).
import { spawnSync } from 'node:child_process';

/** @param {string[]} args @param {NodeJS.ProcessEnv} env */
function jest(args, env) {
  const node = ['--experimental-vm-modules', '--disable-warning=ExperimentalWarning'];
  const quiet = '--disable-warning=EXPRESS_AUTH_ADAPTERS_PREFIX';
  const { status } = spawnSync(process.execPath, [...node, quiet, 'node_modules/jest/bin/jest.js', ...args], {
    stdio: 'inherit',
    env: { ...process.env, ...env },
  });
  return status ?? 1;
}

const runs = {
  MOUNT_PATH_RUNS: '300000',
  PATH_MATCHER_RUNS: '60000',
  RAW_REQUEST_RUNS: '5000',
  LINE_WALKS: '20000',
  RECORD_RUNS: '500000',
  REDIRECT_SHARE: '1',
  RETURN_TO_RUNS: '1000000',
  RETURN_TO_FLOW_RUNS: '5000',
};
// One at a time they take half an hour.
const properties = jest(
  [
    '--testTimeout=3600000',
    '--maxWorkers=2',
    '__tests__/tools/return-to',
    '__tests__/hostile',
    '__tests__/others',
    '__tests__/session/ended/record',
  ],
  runs,
);
const variants = jest(['--config', 'tools/jest.variants.config.ts'], {});
const peers = spawnSync(process.execPath, ['tools/peers.js'], { stdio: 'inherit' }).status ?? 1;
const rooms = spawnSync(process.execPath, ['tools/without.ts', '--all'], { stdio: 'inherit' }).status ?? 1;
const looks = jest(
  ['--testPathIgnorePatterns=/node_modules/', '--testMatch=**/__tests__/browser/pages-axe.test.ts'],
  {},
);
// Where the variable names a wapiti; tools/scan.ts says how to install it.
const scan =
  process.env['WAPITI'] === undefined
    ? 0
    : (spawnSync('npm', ['run', '--silent', 'scan'], { stdio: 'inherit' }).status ?? 1);
// Which functions each suite enters, for `npm run near`.
const map = spawnSync(process.execPath, ['tools/near.ts', '--map'], { stdio: 'inherit' }).status ?? 1;
process.exitCode = map || scan || properties || variants || peers || rooms || looks;
