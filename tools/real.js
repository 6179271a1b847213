// Runs the suites against third-party servers; docs/contributing/tests.md describes how to start these.
// Usage: npm run test:real [-- <arguments for jest>]
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';

/** The requirements of each part of the suites; without them its tests are skipped. */
const needs = {
  'GoTrue, as it is configured': ['GOTRUE_URL', 'GOTRUE_JWT_SECRET'],
  'GoTrue, in further configurations': ['GOTRUE_BIN', 'GOTRUE_DATABASE_URL'],
  'WorkOS emulator': ['WORKOS_EMULATOR_URL'],
};
for (const [server, variables] of Object.entries(needs)) {
  const missing = variables.filter((name) => !process.env[name]);
  if (missing.length > 0) console.log(`Skipped: ${server} (not set: ${missing.join(', ')})`);
}

if (!existsSync('__tests__/mcp/node_modules'))
  console.log('Skipped: agents (the MCP SDKs are not installed; run npm ci --prefix __tests__/mcp)');

const { status } = spawnSync(
  process.execPath,
  [
    '--experimental-vm-modules',
    '--disable-warning=ExperimentalWarning',
    'node_modules/jest/bin/jest.js',
    '--testPathIgnorePatterns=/node_modules/',
    '--testMatch=**/__tests__/real/**/*.test.ts',
    '--testTimeout=90000',
    // The servers reach the suites' mail sink, proxy and OAuth provider at fixed ports.
    '--runInBand',
    ...process.argv.slice(2),
  ],
  { stdio: 'inherit' },
);
process.exitCode = status ?? 1;
