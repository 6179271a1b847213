// Runs formatting, lint and types concurrently, because each uses one core, and says what it does: together they take half a
// minute. Usage: node tools/check.js
import { spawn } from 'node:child_process';
import { once } from 'node:events';

console.log('Checks lint, types and formatting; then the suites run.');
const checks = ['lint', 'types', 'format'].map(async (script) => {
  const startedAt = performance.now();
  const [code] = await once(spawn(`npm run --silent ${script}`, { shell: true, stdio: 'inherit' }), 'close');
  console.log(
    `${script}: ${code === 0 ? 'passed' : 'failed'}, ${((performance.now() - startedAt) / 1000).toFixed(1)} s`,
  );
  return code === 0;
});
process.exitCode = (await Promise.all(checks)).every(Boolean) ? 0 : 1;
