// The HTTP suites on all other hosts and setups; `npm test` uses Express 5 at the root, without a proxy, with cached
// sessions. `npm run test:variants -- --selectProjects Connect` runs one of them. `.ci/run` uses another Node version
// for each, so that every host, front, Node version, prefix, proxy and cache setting occurs at least once. There, each
// suite has one of the variants in turn, by the number in TEST_VARIANT_TURN (tools/turn.ts).
// `npm run test:nightly` runs all suites on all variants.
import { globSync } from 'node:fs';
import { join } from 'node:path';
import type { Config } from 'jest';
import type { Variant } from '../__tests__/support/variant.ts';
import base from '../jest.config.ts';
import { hasTurn } from './turn.ts';
import type { HostVariant } from './turn.ts';

const variants: readonly (readonly [HostVariant, Partial<Variant>])[] = [
  ['Express 4', { host: 'Express 4', front: 'everything', prefix: '/below', isProxied: true }],
  ['node:http', { host: 'bare node:http', front: 'parsers', isCached: false }],
  ['Connect', { host: 'Connect', front: 'hardening', prefix: '/below' }],
  ['OpenTelemetry', { host: 'Express 5', front: 'parsers', isTraced: true }],
];

/** The suites whose application `__tests__/support/application.ts` builds. */
const suites = ['b2b', 'backend', 'doors', 'http', 'options', 'pages', 'reliability', 'hostile'];

// Slow suites, or suites without such an application: the path matcher, property tests, suites with their own servers.
const always = [
  'hostile/path-matcher-servers',
  'hostile/raw-requests',
  'hostile/return-to-flow',
  'http/message',
  'http/body',
  'http/adapter-router',
  'pages/(?:csp-evaluator|error-page|html-validate)',
  // They go through all hosts themselves.
  'doors/resource/(?:guard|hostile|metadata|options|token-verifier|tokens)',
  'http/what-ends-where',
  'backend/recording-fetch',
  'backend/pages',
  'b2b/open-seal',
  // The testing kits' own applications, and the doctor's none.
  '(?:b2b|backend|doors)/[\\w-]+/(?:doctor|testing)',
];
// These mount below their own prefixes, or test the origin's root without a visitor.
const belowPrefix = ['http/mounts', 'http/express-stack', 'http/two-adapters-of-one-name', 'http/frontend-origin'];

const rootDir = join(import.meta.dirname, '..');

/** The suites that have another variant in this turn, as patterns of their paths. */
function othersOf(variant: HostVariant): string[] {
  const files = suites.flatMap((suite) => globSync(`__tests__/${suite}/**/*.test.ts`, { cwd: rootDir }));
  return files.filter((file) => !hasTurn(file, variant)).map((file) => `/${file.replaceAll('.', '\\.')}$`);
}

const { maxWorkers, reporters, testTimeout, ...project } = base;

const config: Config = {
  rootDir,
  maxWorkers,
  reporters,
  testTimeout,
  projects: variants.map(([displayName, variant]) => ({
    ...project,
    rootDir,
    displayName,
    globals: { variant },
    ...(variant.isTraced === true ? { setupFilesAfterEnv: ['<rootDir>/__tests__/tracing/instrument-express.ts'] } : {}),
    testMatch: suites.map((suite) => `<rootDir>/__tests__/${suite}/**/*.test.ts`),
    testPathIgnorePatterns: [
      ...[...always, ...(variant.prefix === undefined ? [] : belowPrefix)].map(
        (file) => `/__tests__/${file}\\.test\\.ts$`,
      ),
      ...othersOf(displayName),
    ],
  })),
};

export default config;
