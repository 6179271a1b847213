// Mutation testing of one folder of lib/; tools/mutation.js sets the folder and its suites.
import { createHash } from 'node:crypto';
import { globSync, readFileSync } from 'node:fs';
import { declareValuePlugin, PluginKind } from '@stryker-mutator/api/plugin';

// A property test detects a mutation within its first few hundred inputs or not at all. The runners inherit these.
process.env.RETURN_TO_RUNS ??= '300';
process.env.RETURN_TO_FLOW_RUNS ??= '25';

const { MUTATION_FOLDER: folder, MUTATION_SUITES: suites = '', MUTATION_PERCENT: percent = '100' } = process.env;

/** @type {import('@stryker-mutator/api/core').PartialStrykerOptions} */
export default {
  plugins: ['@stryker-mutator/jest-runner', import.meta.filename],
  testRunner: 'jest',
  testRunnerNodeArgs: ['--experimental-vm-modules', '--disable-warning=ExperimentalWarning'],
  jest: {
    configFile: 'jest.config.ts',
    config: {
      testMatch: suites.split(',').map((suite) => `<rootDir>/__tests__/${suite}/**/*.test.ts`),
      testPathIgnorePatterns: [
        // Mutations exist in this process only.
        '/doctor/cli\\.',
        '/scale/processes\\.',
        // Real deadlines, which a busy machine exceeds.
        '/reliability/outages\\.',
        '/backend/shared-secret\\.',
        // Thousands of requests per test; other suites test the same rules with fewer.
        '/hostile/(?:path-matcher-servers|raw-requests)\\.',
      ],
    },
    enableFindRelatedTests: false,
  },
  coverageAnalysis: 'perTest',
  // No single test covers a module's top level: each such mutation would need all suites.
  ignoreStatic: true,
  ignorers: ['prose'],
  mutate: [...sources(Number(percent)), '!lib/doctor/cli.ts', '!lib/http/stylesheet.ts'],
  ignorePatterns: ['/bench', '/dist', '/coverage', '/reports', '/tools/node_modules'],
  incremental: true,
  incrementalFile: `reports/mutation/${folder}.incremental.json`,
  concurrency: 2,
  // ES modules of earlier runs are never garbage-collected.
  maxTestRunnerReuse: 50,
  dryRunTimeoutMinutes: 30,
  reporters: ['progress-append-only', 'json', 'html'],
  jsonReporter: { fileName: `reports/mutation/${folder}.json` },
  htmlReporter: { fileName: `reports/mutation/${folder}.html` },
  tempDirName: '.stryker-tmp',
  cleanTempDir: 'always',
};

/** Skips texts that only people read, so that tests need not repeat them. */
const prose = {
  shouldIgnore(path) {
    const call = path.isExpressionStatement() ? path.node.expression : path.node;
    if (call.type === 'CallExpression' && nameOf(call.callee) === 'explain') return 'a line of the debug log';
    const isText = path.isStringLiteral() || path.isTemplateLiteral();
    const isError = path.parentPath?.isNewExpression() && /^(?:Type|Range)?Error$/.test(nameOf(path.parent.callee));
    return isText && isError ? 'the message of an error' : undefined;
  },
};

/** The folder's files, or a share of their lines in percent: the same lines in every run. */
function sources(share) {
  if (share >= 100) return [`lib/${folder}/**/*.ts`];
  const isChosen = (place) => createHash('sha256').update(place).digest().readUInt16BE() < (share / 100) * 65_536;
  return globSync(`lib/${folder}/**/*.ts`).flatMap((path) =>
    readFileSync(path, 'utf8')
      .split('\n')
      .flatMap((_, index) => (isChosen(`${path}:${index}`) ? [`${path}:${index + 1}-${index + 1}`] : [])),
  );
}

function nameOf(callee) {
  return callee.type === 'MemberExpression' ? callee.property.name : callee.name;
}

export const strykerPlugins = [declareValuePlugin(PluginKind.Ignore, 'prose', prose)];
