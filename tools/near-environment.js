// The functions of lib/ that a suite enters, by V8's precise coverage, for `npm run near`. Suites run with the types only stripped, so
// the places of functions are those of the source.
import { writeFileSync } from 'node:fs';
import { Session } from 'node:inspector/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import Environment from './jest-environment.js';

const directory = process.env['NEAR_RESULTS'];

export default class extends Environment {
  constructor(config, context) {
    super(config, context);
    this.path = context.testPath;
    this.lib = pathToFileURL(join(config.projectConfig.rootDir, 'lib/')).href;
  }

  async setup() {
    await super.setup();
    this.startedAt = performance.now();
    this.inspector = new Session();
    this.inspector.connect();
    await this.inspector.post('Profiler.enable');
    await this.inspector.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false });
  }

  handleTestEvent({ name }) {
    if (/failure|^error$/.test(name)) this.hasFailed = true;
  }

  async teardown() {
    const ms = Math.round(performance.now() - this.startedAt);
    const { result } = await this.inspector.post('Profiler.takePreciseCoverage');
    this.inspector.disconnect();
    const files = result
      .filter(({ url }) => url.startsWith(this.lib))
      .map(({ url, functions }) => {
        const ranges = functions.flatMap(({ ranges: [own] }) =>
          own.count > 0 ? [[own.startOffset, own.endOffset]] : [],
        );
        return { file: `lib/${url.slice(this.lib.length)}`, ranges };
      });
    const text = JSON.stringify({ suite: this.path, ms, hasFailed: this.hasFailed === true, files });
    writeFileSync(join(directory, `${process.pid}-${this.startedAt}.json`), text);
    await super.teardown();
  }
}
