// Mutants of lib/: `npm run mutation`, or `npm run mutation -- --mutate 'lib/core/*.ts'` for one room.

// A property finds a mutant within its first few hundred inputs, or not at all. Here, because the runners inherit it.
process.env.RETURN_TO_RUNS ??= '300';
process.env.RETURN_TO_FLOW_RUNS ??= '25';

/** @type {import('@stryker-mutator/api/core').PartialStrykerOptions} */
export default {
  testRunner: 'jest',
  jest: { configFile: 'tools/jest.mutation.config.ts', enableFindRelatedTests: true },
  testRunnerNodeArgs: [
    '--experimental-vm-modules',
    '--disable-warning=ExperimentalWarning',
    '--max-old-space-size=3072',
  ],
  // Every run leaves its modules behind: Node cannot collect vm modules.
  maxTestRunnerReuse: 60,
  coverageAnalysis: 'perTest',
  // A mutant of a module's top level is alive in no single test: it would need the whole suite once more.
  ignoreStatic: true,
  mutate: ['lib/**/*.ts', '!lib/doctor/cli.ts', '!lib/http/pages/stylesheet.ts'],
  ignorePatterns: ['/bench', '/dist', '/docs', '/coverage', '/reports', '/tools/node_modules'],
  concurrency: 2,
  timeoutMS: 15_000,
  timeoutFactor: 3,
  incremental: true,
  incrementalFile: 'reports/mutation/incremental.json',
  reporters: ['progress-append-only', 'clear-text', 'json', 'html'],
  clearTextReporter: { allowColor: false, reportTests: false },
  jsonReporter: { fileName: 'reports/mutation/mutation.json' },
  htmlReporter: { fileName: 'reports/mutation/mutation.html' },
  thresholds: { high: 95, low: 90, break: 90 },
  tempDirName: '.stryker-tmp',
};
