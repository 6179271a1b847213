// Mutation testing of one folder of lib/; tools/mutation.js sets the folder and its suites.
import { createHash } from 'node:crypto';
import { globSync, readFileSync } from 'node:fs';
import { declareValuePlugin, PluginKind } from '@stryker-mutator/api/plugin';

// A property test detects a mutation within its first few hundred inputs or not at all. The runners inherit these.
process.env.RETURN_TO_RUNS ??= '300';
process.env.RETURN_TO_FLOW_RUNS ??= '25';

const {
  MUTATION_FOLDER: folder,
  MUTATION_SUITES: suites = '',
  MUTATION_PERCENT: percent = '100',
  MUTATION_FILES: files = '**/*',
} = process.env;

/** @type {import('@stryker-mutator/api/core').PartialStrykerOptions} */
export default {
  plugins: ['@stryker-mutator/mocha-runner', import.meta.filename],
  testRunner: 'mocha',
  mochaOptions: {
    require: [`${import.meta.dirname}/jest-for-mocha.js`],
    spec: suites.split(',').map((suite) => `__tests__/${suite}/**/*.test.ts`),
    ignore: [
      // Mutations exist in this process only.
      '**/doctor/cli.test.ts',
      '**/scale/processes.test.ts',
      // Real deadlines, which a busy machine exceeds.
      '**/reliability/outages.test.ts',
      '**/backend/shared-secret.test.ts',
      // Node gives a warning of one code once per process.
      '**/http/{operator-warnings,step-up}.test.ts',
      // One process has no second copy of a module.
      '**/http/other-copy.test.ts',
      // Thousands of requests per test; other suites test the same rules with fewer.
      '**/hostile/{path-matcher-servers,raw-requests}.test.ts',
    ],
    'no-config': true,
    'no-package': true,
  },
  coverageAnalysis: 'perTest',
  // No single test covers a module's top level: each such mutation would need all suites.
  ignoreStatic: true,
  ignorers: ['prose'],
  mutate: [...sources(Number(percent)), '!lib/doctor/cli.ts', '!lib/pages/style.ts', '!lib/backend/webauthn/script.ts'],
  ignorePatterns: ['/bench', '/dist', '/coverage', '/reports', '/tools/node_modules'],
  // Node strips the types; nothing checks them here.
  disableTypeChecks: false,
  incremental: true,
  incrementalFile: `reports/mutation/${folder}.incremental.json`,
  concurrency: Number(process.env.MUTATION_WORKERS ?? 2),
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
  const paths = files.split(',').map((file) => `lib/${folder}/${file}.ts`);
  if (share >= 100) return paths;
  const isChosen = (place) => createHash('sha256').update(place).digest().readUInt16BE() < (share / 100) * 65_536;
  return globSync(paths).flatMap((path) =>
    readFileSync(path, 'utf8')
      .split('\n')
      .flatMap((_, index) => (isChosen(`${path}:${index}`) ? [`${path}:${index + 1}-${index + 1}`] : [])),
  );
}

function nameOf(callee) {
  return callee.type === 'MemberExpression' ? callee.property.name : callee.name;
}

export const strykerPlugins = [declareValuePlugin(PluginKind.Ignore, 'prose', prose)];
