// A test runner for Stryker that loads the suites once per process. A mutant then costs what its tests cost, not a
// start of jest: all mutants are in the one instrumented source, and a number says which of them is alive.
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { glob } from 'node:fs/promises';
import { basename, join, relative } from 'node:path';
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';
import { commonTokens, declareClassPlugin, PluginKind, tokens } from '@stryker-mutator/api/plugin';
import { TestStatus } from '@stryker-mutator/api/test-runner';
import { resolveLikeJest } from './hooks.js';
import { loadSuites } from './suites.js';

const durationsFile = 'durations.json';

class WarmRunner {
  static inject = tokens(commonTokens.options);
  #options;
  #suites;
  #late = new Map();
  #durations = {};
  #root = process.cwd();

  constructor(options) {
    this.#options = options.warm;
  }

  capabilities() {
    // Modules that were imported stay imported; but nothing that is alive only while they load is asked for (`ignoreStatic`).
    return { reloadEnvironment: true };
  }

  async init() {
    globalThis.__stryker__ ??= {};
    process.env.NODE_ENV = 'test';
    process.on('uncaughtException', (error) => this.#late.set(error, error));
    process.on('unhandledRejection', (error, promise) => this.#late.set(promise, error));
    process.on('rejectionHandled', (promise) => this.#late.delete(promise));
    resolveLikeJest(this.#root);
  }

  async dryRun() {
    await this.#load();
    const tests = [];
    for (const suite of this.#suites) {
      const ran = await suite.run({
        isWanted: () => true,
        onStart: (id) => {
          globalThis.__stryker__.currentTestId = id;
        },
        isOver: () => false,
        testTimeoutMs: 60_000,
      });
      globalThis.__stryker__.currentTestId = undefined;
      if (ran.failure !== undefined) return { status: 'error', errorMessage: `${suite.name}: ${ran.failure}` };
      tests.push(...ran.tests.map((test) => ({ ...test, file: join(this.#root, suite.name) })));
    }
    for (const { id, durationMs } of tests) this.#durations[id] = durationMs;
    writeFileSync(durationsFile, JSON.stringify(this.#durations));
    return { status: 'complete', tests: tests.map(toStryker), mutantCoverage: globalThis.__stryker__.mutantCoverage };
  }

  async mutantRun({ activeMutant, sandboxFileName, testFilter, hitLimit, mutantActivation }) {
    const stryker = globalThis.__stryker__;
    Object.assign(stryker, { hitCount: hitLimit === undefined ? undefined : 0, hitLimit });
    if (mutantActivation === 'static') stryker.activeMutant = activeMutant.id;
    try {
      await this.#load();
      stryker.activeMutant = activeMutant.id;
      return await this.#judge(sandboxFileName, testFilter);
    } finally {
      stryker.activeMutant = undefined;
    }
  }

  async #judge(mutated, testFilter) {
    const wanted = testFilter === undefined ? undefined : new Set(testFilter);
    this.#late.clear();
    let nrOfTests = 0;
    const suites = this.#suites.filter(({ ids }) => wanted === undefined || ids.some((id) => wanted.has(id)));
    const endsAt = Date.now() + this.#options.budgetMs;
    const source = relative(this.#root, mutated);
    for (const suite of this.#inOrderFor(source, suites)) {
      if (Date.now() > endsAt && this.#rank(suite, source) === 2) break;
      const ran = await suite.run({
        isWanted: (id) => wanted === undefined || wanted.has(id),
        onStart: () => undefined,
        isOver: (hasFailed) => hasFailed || this.#late.size > 0,
        testTimeoutMs: Math.max(3000, 5 * Math.max(...suite.ids.map((id) => this.#durations[id] ?? 0))),
      });
      nrOfTests += ran.tests.filter(({ isSkipped }) => !isSkipped).length;
      const { hitCount, hitLimit } = globalThis.__stryker__;
      if (hitLimit !== undefined && hitCount > hitLimit) return { status: 'timeout', reason: 'hit limit reached' };
      const failed = ran.tests.find(({ failure }) => failure !== undefined);
      if (failed !== undefined)
        return { status: 'killed', killedBy: [failed.id], failureMessage: failed.failure, nrOfTests };
      const [late] = this.#late.values();
      if (ran.failure !== undefined || this.#late.size > 0) {
        const [first] = suite.ids;
        return { status: 'killed', killedBy: [first], failureMessage: ran.failure ?? String(late), nrOfTests };
      }
    }
    return { status: 'survived', nrOfTests };
  }

  /** The suite named like the source comes first, then those of its room, then the quick ones. */
  #inOrderFor(source, suites) {
    const rank = (suite) => this.#rank(suite, source);
    const cost = ({ ids }) => ids.reduce((sum, id) => sum + (this.#durations[id] ?? 0), 0);
    return [...suites].sort((a, b) => rank(a) - rank(b) || cost(a) - cost(b));
  }

  #rank({ name }, source) {
    if (basename(name, '.test.ts') === basename(source, '.ts')) return 0;
    return name.startsWith(`__tests__/${source.split('/')[1]}/`) ? 1 : 2;
  }

  async #load() {
    if (this.#suites !== undefined) return;
    const files = await Array.fromAsync(
      glob(this.#options.suites, { cwd: this.#root, exclude: this.#options.without }),
    );
    if (existsSync(durationsFile)) this.#durations = JSON.parse(readFileSync(durationsFile, 'utf8'));
    await this.#calmProperties();
    this.#suites = await loadSuites({ root: this.#root, files: files.sort().map((file) => join(this.#root, file)) });
  }

  /** A property finds a mutant among its first few hundred inputs, or not at all; which input it was is of no interest. */
  async #calmProperties() {
    const { resolve } = createRequire(join(this.#root, 'package.json'));
    const { default: fc } = await import(pathToFileURL(resolve('fast-check')).href.replace('/lib/cjs/', '/lib/'));
    fc.configureGlobal({ seed: 1, endOnFailure: true, interruptAfterTimeLimit: this.#options.propertyMs });
  }
}

function toStryker({ id, file, isSkipped, failure, durationMs }) {
  const test = { id, name: id, fileName: file, timeSpentMs: durationMs };
  if (failure !== undefined) return { ...test, status: TestStatus.Failed, failureMessage: failure };
  return { ...test, status: isSkipped ? TestStatus.Skipped : TestStatus.Success };
}

export const strykerPlugins = [declareClassPlugin(PluginKind.TestRunner, 'warm', WarmRunner)];
export const strykerValidationSchema = {
  $schema: 'http://json-schema.org/draft-07/schema#',
  type: 'object',
  properties: { warm: { type: 'object' } },
};
