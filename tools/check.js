// Formatting, lint and types at the same time, as each of them keeps one core busy. Usage: node tools/check.js
import { spawn } from 'node:child_process';
import { once } from 'node:events';

const checks = ['lint', 'types', 'format'].map(async (script) => {
  const [code] = await once(spawn(`npm run --silent ${script}`, { shell: true, stdio: 'inherit' }), 'close');
  return code === 0;
});
process.exitCode = (await Promise.all(checks)).every(Boolean) ? 0 : 1;
