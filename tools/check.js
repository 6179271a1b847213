// Runs formatting, lint and types concurrently, because each uses one core. Usage: node tools/check.js
import { spawn } from 'node:child_process';
import { once } from 'node:events';

const checks = ['lint', 'types', 'format'].map(async (script) => {
  const [code] = await once(spawn(`npm run --silent ${script}`, { shell: true, stdio: 'inherit' }), 'close');
  return code === 0;
});
process.exitCode = (await Promise.all(checks)).every(Boolean) ? 0 : 1;
