// Lines and branches of lib/ that the suites reach: `npm run coverage`.
import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import type { Config } from 'jest';
import base from '../jest.config.ts';

/** Only __tests__/scale covers lib/redis, and it needs a real Redis server. */
const hasRedis = (process.env['PATH'] ?? '')
  .split(delimiter)
  .some((directory) => existsSync(join(directory, 'redis-server')));

const notHere = [
  '/node_modules/',
  '/__tests__/browser/',
  '/__tests__/package/',
  '/__tests__/postgres/',
  '/__tests__/real/',
  '/__tests__/timing/',
  ...(hasRedis ? [] : ['/__tests__/scale/']),
];

/** Files with types only, which have no code at run time. */
const typesOnly = ['lib/types.ts', 'lib/backend/context.ts', 'lib/http/adapter.ts', 'lib/session/source.ts'];

const config: Config = {
  ...base,
  rootDir: '..',
  testPathIgnorePatterns: notHere,
  reporters: ['default'],
  collectCoverage: true,
  coverageProvider: 'v8',
  coverageDirectory: 'coverage',
  coverageReporters: ['text', 'json', 'json-summary'],
  collectCoverageFrom: ['lib/**/*.ts', ...typesOnly.map((path) => `!${path}`)],
  // Instrumented code is slower, above all in property tests.
  testTimeout: 60_000,
  coverageThreshold: { global: { lines: 98, branches: 98 } },
};

export default config;
