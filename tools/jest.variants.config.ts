// The HTTP suites on everything that carries the adapters, beside what `npm test` runs them on: Express 5 at the root, nothing in
// front, sessions cached. `npm run test:variants -- --selectProjects Connect` runs one of them. `.ci/run` runs each on another Node,
// so that every host, every front, every Node, the prefix, the proxy and the cache occur at least once.
import { join } from 'node:path';
import type { Config } from 'jest';
import type { Variant } from '../__tests__/support/variant.ts';
import base from '../jest.config.ts';

const variants: Readonly<Record<string, Partial<Variant>>> = {
  'Express 4': { host: 'Express 4', front: 'everything', prefix: '/below', isProxied: true },
  'node:http': { host: 'bare node:http', front: 'parsers', isCached: false },
  Connect: { host: 'Connect', front: 'hardening', prefix: '/below' },
};

/** Everything that `__tests__/support/application.ts` builds an application for. */
const suites = ['b2b', 'backend', 'http', 'reliability', 'hostile'];

// Long, or without an application of their own: the path matcher, the property tests, what makes its own servers.
const always = [
  'hostile/path-matcher-servers',
  'hostile/raw-requests',
  'hostile/return-to-flow',
  'http/message',
  'http/body',
  'http/adapter-router',
  'http/error-page',
  'backend/recording-fetch',
  'backend/pages',
  'b2b/open-seal',
];
// These mount below prefixes of their own, or speak of the origin's root without a visitor.
const belowPrefix = ['http/mounting', 'http/express-stack'];

const rootDir = join(import.meta.dirname, '..');
const { maxWorkers, reporters, testTimeout, ...project } = base;

const config: Config = {
  rootDir,
  maxWorkers,
  reporters,
  testTimeout,
  projects: Object.entries(variants).map(([displayName, variant]) => ({
    ...project,
    rootDir,
    displayName,
    globals: { variant },
    testMatch: suites.map((suite) => `<rootDir>/__tests__/${suite}/**/*.test.ts`),
    testPathIgnorePatterns: [...always, ...(variant.prefix === undefined ? [] : belowPrefix)].map(
      (file) => `/__tests__/${file}\\.test\\.ts$`,
    ),
  })),
};

export default config;
