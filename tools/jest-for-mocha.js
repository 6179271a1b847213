// The suites are written for jest, which loads every module anew for each mutation. Stryker's mocha runner loads them once and
// then runs only the tests that reach a mutation, so this gives the suites jest's functions on mocha. `require` of mocha loads it.
import { registerHooks } from 'node:module';
import { relative } from 'node:path';
import { pathToFileURL } from 'node:url';
import { ModernFakeTimers } from '@jest/fake-timers';
import { expect } from 'expect';
import { bind } from 'jest-each';
import { ModuleMocker } from 'jest-mock';
import Mocha from 'mocha';

const root = process.cwd();
/** What waits longer hangs. Stryker's own limit grows with the number of tests, and costs a new process. */
const timeoutMs = 20_000;
/** What no test detected until then counts as survived. */
const budgetMs = Number(process.env.MUTATION_BUDGET_MS ?? 30_000);

const mocker = new ModuleMocker(globalThis);
const timers = new ModernFakeTimers({ global: globalThis, config: { fakeTimers: {}, rootDir: root } });
const jest = {
  fn: mocker.fn.bind(mocker),
  spyOn: mocker.spyOn.bind(mocker),
  restoreAllMocks: () => mocker.restoreAllMocks(),
  setTimeout: () => undefined,
  useFakeTimers: (config) => timers.useFakeTimers(config),
  useRealTimers: () => timers.useRealTimers(),
  advanceTimersByTime: (ms) => timers.advanceTimersByTime(ms),
  advanceTimersByTimeAsync: (ms) => timers.advanceTimersByTimeAsync(ms),
  getTimerCount: () => timers.getTimerCount(),
};

// What jest.config.ts says in `moduleNameMapper`.
const jestModule = 'data:text/javascript,export const { jest } = globalThis;';
registerHooks({
  resolve(specifier, context, next) {
    if (specifier === '@jest/globals') return { url: jestModule, shortCircuit: true };
    const [isOwn, entry = ''] = /^express-auth-adapters(?:\/(.*))?$/.exec(specifier) ?? [];
    if (isOwn === undefined) return next(specifier, context);
    const path = entry.startsWith('texts/') ? entry : `${entry}/index`;
    return next(pathToFileURL(`${root}/lib/${path}.ts`).href, context);
  },
});

/** The suites that are being defined, the innermost first. Support files keep the functions of the first file that loads them. */
let suites = [];

function describe(title, define) {
  const suite = Mocha.Suite.create(suites[0], title);
  suite.file = suites[0].file;
  suites.unshift(suite);
  define();
  suites.shift();
}

/** Mocha runs the tests of a suite before the suites in it; jest runs both in the order in which they are written. */
function it(title, run) {
  const [suite] = suites;
  const last = suite.suites.at(-1);
  const place = last === undefined || last.title === '' ? (last ?? suite) : Mocha.Suite.create(suite, '');
  const test = new Mocha.Test(title, () => run());
  place.file = test.file = suite.file;
  place.addTest(test);
}

for (const define of [describe, it]) {
  define.each = bind(define);
  define.skip = () => undefined;
  define.skip.each = () => () => undefined;
}

function beforeAll(run) {
  const [suite] = suites;
  suite.beforeAll(() => reachedByAll(suite, run));
}

const afterAll = (run) => suites[0].afterAll(() => run());
const beforeEach = (run) => suites[0].beforeEach(() => run());
const afterEach = (run) => suites[0].afterEach(() => run());

Object.assign(globalThis, { jest, expect, describe, it, test: it, beforeAll, afterAll, beforeEach, afterEach });

// Stryker allows only mocha's own interfaces.
Mocha.interfaces.bdd = (all) => {
  let isPrepared = false;
  all.on('pre-require', (_context, file, mocha) => {
    if (!isPrepared) prepareRuns(mocha, all);
    isPrepared = true;
    const suite = Mocha.Suite.create(all, relative(`${root}/__tests__`, file));
    suite.file = file;
    suite.timeout(timeoutMs);
    suite.afterAll(() => {
      timers.useRealTimers();
      mocker.restoreAllMocks();
    });
    suites = [suite];
  });
};

/** The first failure ends a run, so the files that probably detect a mutation are first. */
function prepareRuns(mocha, all) {
  // Stryker asks for tests by one expression, which takes seconds for thousands of tests.
  mocha.grep = (expression) => {
    mocha.options.grep = namesIn(expression);
    return mocha;
  };
  const costs = new Map();
  const run = mocha.run.bind(mocha);
  mocha.run = (done) => {
    const runner = run((failures) => {
      clearTimeout(budget);
      if (costs.size === 0) {
        all.eachTest(({ file, duration = 0 }) => costs.set(file, (costs.get(file) ?? 0) + duration));
        all.suites.sort((one, other) => costs.get(one.file) - costs.get(other.file));
      }
      done(failures);
    });
    const budget = costs.size === 0 ? undefined : setTimeout(() => runner.abort(), budgetMs);
    return runner.on('fail', ({ file }) => {
      // The next mutation is near this one.
      const isNear = (suite) => suite.file === file;
      all.suites = [...all.suites.filter(isNear), ...all.suites.filter((suite) => !isNear(suite))];
    });
  };
}

/** @returns what takes the place of the expression in mocha, which only calls `test` */
function namesIn(expression) {
  const names = expression.source
    .slice(2, -2)
    .split('$)|(^')
    .map((name) => name.replaceAll(/\\(.)/g, (_, character) => (character === 'n' ? '\n' : character)));
  const wanted = new Set(names);
  return { test: (name) => wanted.has(name) };
}

/** What runs before all tests of a suite is reached by each of them. */
async function reachedByAll(suite, run) {
  const { __stryker__: stryker } = globalThis;
  if (stryker?.mutantCoverage === undefined) return run();
  const before = stryker.currentTestId;
  const id = `before all of ${suite.fullTitle()}`;
  stryker.currentTestId = id;
  try {
    return await run();
  } finally {
    stryker.currentTestId = before;
    const { perTest } = stryker.mutantCoverage;
    const reached = Object.entries(perTest[id] ?? {});
    delete perTest[id];
    suite.eachTest((test) => {
      const own = (perTest[test.fullTitle()] ??= {});
      for (const [mutation, count] of reached) own[mutation] = (own[mutation] ?? 0) + count;
    });
  }
}
