// The race suites while two busy loops run per core: `npm run test:under-load`, or with paths for others. Load
// separates steps that run together on an idle machine. Treat a failure here as a race until proven otherwise.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { availableParallelism } from 'node:os';
import { Worker } from 'node:worker_threads';

const loops = Array.from({ length: 2 * availableParallelism() }, () => new Worker('for (;;);', { eval: true }));
const asked = process.argv.slice(2);
const paths = asked.length > 0 ? asked : ['__tests__/reliability', '__tests__/session', '__tests__/scale'];

const jest = spawn(
  process.execPath,
  [
    '--experimental-vm-modules',
    '--disable-warning=ExperimentalWarning',
    'node_modules/jest/bin/jest.js',
    ...paths,
    '--testTimeout=300000',
    // The fail-over test measures seconds and needs an idle machine.
    '--testPathIgnorePatterns=/node_modules/|/scale/redis-failover',
  ],
  { stdio: 'inherit' },
);
const [status] = await once(jest, 'exit');
await Promise.all(loops.map((loop) => loop.terminate()));
process.exitCode = status ?? 1;
