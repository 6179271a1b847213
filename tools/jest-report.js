import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** Writes the counts of one run to the directory in JEST_REPORTS, for tools/count-results.js. */
export default class Report {
  onRunComplete(_contexts, results) {
    const { numPassedTests, numFailedTests, numRuntimeErrorTestSuites, numPendingTests, numTodoTests } = results;
    const counts = {
      passed: numPassedTests,
      failed: numFailedTests + numRuntimeErrorTestSuites,
      skipped: numPendingTests + numTodoTests,
    };
    writeFileSync(join(process.env['JEST_REPORTS'], `${process.pid}.json`), JSON.stringify(counts));
  }
}
