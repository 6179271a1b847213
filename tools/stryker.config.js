// One room of lib/ at a time; tools/mutation.js says which, and which suites its mutants are held against.

// A property finds a mutant among its first few hundred inputs, or not at all. Here, because the runners inherit it.
process.env.RETURN_TO_RUNS ??= '300';
process.env.RETURN_TO_FLOW_RUNS ??= '25';

const { MUTATION_ROOM: room, MUTATION_SUITES: suites } = process.env;

/** @type {import('@stryker-mutator/api/core').PartialStrykerOptions} */
export default {
  testRunner: 'warm',
  plugins: ['./tools/mutation/runner.js', './tools/mutation/ignorer.js'],
  ignorers: ['messages'],
  warm: {
    suites: suites.split(',').map((suite) => `__tests__/${suite}/*.test.ts`),
    without: [
      // What runs lib/ in processes of its own sees no mutant.
      '__tests__/doctor/cli.test.ts',
      '__tests__/scale/processes.test.ts',
      // Real deadlines, which a machine busy with two runners misses now and then.
      '__tests__/reliability/outages.test.ts',
      '__tests__/backend/shared-secret.test.ts',
      // Thousands of requests per test; what they would find the suites of the same rules find sooner.
      '__tests__/hostile/{path-matcher-servers,raw-requests}.test.ts',
    ],
    /**
     * Milliseconds. What has outlived the suites of its own room and then so much time of the others' counts as a survivor:
     * the score is a lower bound.
     */
    budgetMs: 4_000,
    /** Milliseconds that a property may spend on inputs. */
    propertyMs: 500,
  },
  coverageAnalysis: 'perTest',
  // A mutant of a module's top level is alive in no single test: it would need a process of its own.
  ignoreStatic: true,
  mutate: [`lib/${room}/**/*.ts`, '!lib/doctor/cli.ts', '!lib/http/pages/stylesheet.ts'],
  ignorePatterns: ['/bench', '/dist', '/docs', '/coverage', '/reports', '/tools/node_modules'],
  concurrency: 2,
  // For what never comes back to the event loop; a test that hangs is ended by the runner, sooner.
  timeoutMS: 12_000,
  timeoutFactor: 2,
  reporters: ['progress-append-only', 'json', 'html'],
  jsonReporter: { fileName: `reports/mutation/${room}.json` },
  htmlReporter: { fileName: `reports/mutation/${room}.html` },
  thresholds: { high: 95, low: 90, break: null },
  tempDirName: '.stryker-tmp',
};
