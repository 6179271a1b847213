import { availableParallelism } from 'node:os';
import type { Config } from 'jest';
import tsconfig from './tsconfig.json' with { type: 'json' };

/** The folders of another Express, and of other SDKs (`node_modules`), than the installed ones; see tools/peers.js. */
const { TEST_EXPRESS: peer, TEST_HOST: host, TEST_SDKS: sdks } = process.env;
/** An application on Express 4 has that one alone, so the adapters use it, too. */
const peerNames = host === 'Express 4' ? '^express4?$' : '^express$';

/** Imports keep `.ts`, as in a process that strips the types. */
const compilerOptions = { ...tsconfig.compilerOptions, rewriteRelativeImportExtensions: false };

const config = {
  // `npm run near` learns from a run with NEAR_RESULTS which functions each suite enters.
  testEnvironment: `<rootDir>/tools/${process.env['NEAR_RESULTS'] === undefined ? 'jest' : 'near'}-environment.js`,
  // A busy machine is no failure; what hangs still ends.
  testTimeout: 30_000,
  // Suites of outages and limits wait for real time: others use the cores meanwhile.
  // A number, because jest takes every percentage over 100 for a number of workers.
  maxWorkers: Math.ceil(availableParallelism() * 1.5),
  testMatch: ['<rootDir>/__tests__/**/*.test.ts'],
  // These need Chromium, nginx, Redis, PostgreSQL, the MCP SDKs, other frameworks, a packed tarball, real time or servers that
  // others wrote; `.ci/run` runs them.
  testPathIgnorePatterns: [
    '/node_modules/',
    '/__tests__/browser/',
    '/__tests__/frameworks/',
    '/__tests__/functions/',
    '/__tests__/gateway/',
    '/__tests__/mcp/',
    '/__tests__/scale/',
    '/__tests__/site/',
    '/__tests__/package/',
    '/__tests__/postgres/',
    '/__tests__/real/',
    '/__tests__/timing/',
  ],
  extensionsToTreatAsEsm: ['.ts'],
  moduleNameMapper: {
    ...(peer === undefined ? {} : { [peerNames]: peer }),
    ...(sdks === undefined ? {} : { '^(@supabase/(?:ssr|supabase-js)|@workos-inc/node)$': `${sdks}/$1` }),
    '^express-auth-adapters$': '<rootDir>/lib/index.ts',
    '^express-auth-adapters/texts/(.*)$': '<rootDir>/lib/texts/$1.ts',
    '^express-auth-adapters/(\\w+)$': '<rootDir>/lib/$1/index.ts',
  },
  // `.ci/run` counts over several runs.
  reporters: process.env['JEST_REPORTS'] === undefined ? ['default'] : ['default', '<rootDir>/tools/jest-report.js'],
  modulePathIgnorePatterns: ['<rootDir>/dist/', '<rootDir>/.stryker-tmp/'],
  // ts-jest, each file by itself; `npm run types` checks the types.
  transform: {
    '\\.ts$': ['<rootDir>/tools/ts-jest.js', { useESM: true, diagnostics: false, tsconfig: compilerOptions }],
  },
  // All configurations and projects share one cache of compiled files.
  id: 'suites',
} satisfies Config;

export default config;
