import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

// Usage: node tools/count-results.js <directory of tools/jest-report.js> <number of failed steps>
const [directory, failedSteps] = process.argv.slice(2);
const total = { passed: 0, failed: 0, skipped: 0 };
for (const file of readdirSync(directory).filter((name) => name.endsWith('.json'))) {
  const counts = JSON.parse(readFileSync(join(directory, file), 'utf8'));
  for (const kind of Object.keys(total)) total[kind] += counts[kind];
}
// A step such as lint can fail without a failed test, and a run without tests has not passed.
if (total.failed === 0) total.failed = Number(failedSteps);
if (total.passed === 0) total.failed = Math.max(total.failed, 1);
console.log(`\n${total.passed} passed, ${total.failed} failed, ${total.skipped} skipped`);
process.exitCode = total.failed === 0 ? 0 : 1;
