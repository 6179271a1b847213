// Runs the property tests with a hundred times as many generated inputs as `npm test`.
import { spawnSync } from 'node:child_process';

const { status } = spawnSync(
  process.execPath,
  [
    '--experimental-vm-modules',
    '--disable-warning=ExperimentalWarning',
    'node_modules/jest/bin/jest.js',
    '--testTimeout=3600000',
    // One at a time they take half an hour.
    '--maxWorkers=2',
    '__tests__/core/return-to',
    '__tests__/hostile',
  ],
  {
    stdio: 'inherit',
    env: { ...process.env, RETURN_TO_RUNS: '1000000', PATH_MATCHER_RUNS: '60000', RETURN_TO_FLOW_RUNS: '5000' },
  },
);
process.exitCode = status ?? 1;
