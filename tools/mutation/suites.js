// Runs test files with jest's own machinery: loaded once, run as often as there are mutants.
import { createRequire } from 'node:module';
import { join, relative } from 'node:path';
import { pathToFileURL } from 'node:url';

/**
 * Loads test files into this process.
 *
 * @param root the package, as a path
 * @param files the test files, as paths, in the order in which they are to run
 */
export async function loadSuites({ root, files }) {
  const { circus, resetJest } = setGlobals(root);
  const suites = [];
  for (const file of files) {
    circus.resetState();
    const state = circus.getState();
    await import(pathToFileURL(file).href);
    suites.push(createSuite({ circus, state, name: relative(root, file), reset: resetJest }));
  }
  return suites;
}

function createSuite({ circus, state, name, reset }) {
  const tests = testsOf(state.rootDescribeBlock);
  const modes = tests.map((test) => test.mode);
  const ids = idsOf(tests, name);

  return {
    name,
    ids,
    /**
     * @param isWanted which test runs, by its id
     * @param onStart is told the id of each test that starts
     * @param isOver asked after each test: whether the others are to be left out
     * @param testTimeoutMs what a test may take that says nothing itself, milliseconds
     */
    async run({ isWanted, onStart, isOver, testTimeoutMs }) {
      for (const [index, test] of tests.entries()) {
        Object.assign(test, { errors: [], status: null, startedAt: null, duration: null, seenDone: false });
        test.unhandledRejectionErrorByPromise.clear();
        test.mode = isWanted(ids[index]) ? modes[index] : 'skip';
      }
      Object.assign(state, { testTimeout: testTimeoutMs, hasStarted: false, currentlyRunningTest: null });
      state.unhandledErrors.length = 0;
      circus.setState(state);

      const follow = (event) => {
        if (event.name === 'test_started') onStart(ids[tests.indexOf(event.test)]);
        if (event.name === 'test_done' && isOver(event.test.errors.length > 0))
          for (const test of tests) test.mode = 'skip';
      };
      circus.addEventHandler(follow);
      try {
        await circus.run();
      } finally {
        circus.removeEventHandler(follow);
        reset();
      }
      return {
        tests: tests.map(({ status, errors, duration, invocations }, index) => ({
          id: ids[index],
          isSkipped: status !== 'done',
          failure: errors.length > 0 ? messageOf(errors[0]) : undefined,
          durationMs: duration ?? 0,
          invocations,
        })),
        failure: state.unhandledErrors.length > 0 ? messageOf(state.unhandledErrors[0]) : undefined,
      };
    },
  };
}

/** jest's globals, put where the suites expect them; `resetJest` undoes what a test has left behind. */
function setGlobals(root) {
  const require = createRequire(join(root, 'package.json'));
  const fromJest = createRequire(createRequire(require.resolve('jest')).resolve('jest-circus'));
  const circus = require('jest-circus');
  const { jestExpect: expect } = fromJest('@jest/expect');
  const { ModernFakeTimers } = require('@jest/fake-timers');
  const { ModuleMocker } = fromJest('jest-mock');

  const mocker = new ModuleMocker(globalThis);
  const timers = new ModernFakeTimers({ global: globalThis, config: { rootDir: root, testMatch: [] } });
  const environment = { ...process.env };

  const jest = {
    fn: mocker.fn.bind(mocker),
    spyOn: mocker.spyOn.bind(mocker),
    restoreAllMocks: () => mocker.restoreAllMocks(),
    useFakeTimers: (options) => timers.useFakeTimers(options),
    useRealTimers: () => timers.useRealTimers(),
    advanceTimersByTime: (ms) => timers.advanceTimersByTime(ms),
    advanceTimersByTimeAsync: (ms) => timers.advanceTimersByTimeAsync(ms),
    getTimerCount: () => timers.getTimerCount(),
    // How long a test may take depends on how long it took without a mutant.
    setTimeout: () => undefined,
  };
  const { describe, it, test, beforeAll, beforeEach, afterAll, afterEach } = circus;
  Object.assign(globalThis, { jest, expect, describe, it, test, beforeAll, beforeEach, afterAll, afterEach });

  const resetJest = () => {
    timers.useRealTimers();
    mocker.restoreAllMocks();
    for (const name of Object.keys(process.env)) if (!(name in environment)) delete process.env[name];
    Object.assign(process.env, environment);
  };
  return { circus, resetJest };
}

function testsOf(block) {
  return block.children.flatMap((child) => (child.type === 'test' ? [child] : testsOf(child)));
}

function idsOf(tests, suite) {
  const seen = new Map();
  return tests.map((test) => {
    const names = [];
    for (let node = test; node.parent !== undefined; node = node.parent) names.unshift(node.name);
    const id = `${suite} ${names.join(' ')}`;
    const count = (seen.get(id) ?? 0) + 1;
    seen.set(id, count);
    return count === 1 ? id : `${id} (${count})`;
  });
}

function messageOf(error) {
  const [cause] = Array.isArray(error) ? error : [error];
  return String(cause?.message ?? cause).slice(0, 500);
}
