// The suites that mutants of lib/ are held against: `npm run mutation`.
import type { Config } from 'jest';
import base from '../jest.config.ts';

/** What reads sources instead of running them, and what runs dist/ in processes of its own, sees no mutant. */
const blind = ['/__tests__/architecture', '/__tests__/docs/', '/__tests__/exports', '/__tests__/doctor/cli'];

/** Thousands of requests per test; what they would find the suites of the same rules find sooner. */
const slow = ['/__tests__/hostile/path-matcher-servers', '/__tests__/hostile/raw-requests', '/__tests__/example-app/'];

const config: Config = {
  ...base,
  rootDir: '..',
  testPathIgnorePatterns: [...(base.testPathIgnorePatterns ?? []), ...blind, ...slow],
  reporters: [],
};

export default config;
