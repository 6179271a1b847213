// The HTTP suites on everything that carries the adapters, beside what `npm test` runs them on: Express 5 at the root, nothing in
// front, sessions cached. A covering set: every host, every front, every Node, the prefix, the proxy and the cache at least once.
// Usage: npm run test:variants [-- <part of a name>]
import { spawnSync } from 'node:child_process';

/** Everything that `__tests__/support/application.ts` builds an application for. */
const http = ['b2b', 'backend', 'http', 'reliability', 'hostile'];

const variants = [
  {
    name: 'Express 4 below a prefix, behind a proxy, everything in front',
    node: '22',
    host: 'Express 4',
    prefix: '/below',
    proxy: 'on',
    front: 'everything',
  },
  {
    name: 'bare node:http, cache off, parsers in front',
    node: '26',
    host: 'bare node:http',
    cache: 'off',
    front: 'parsers',
  },
  {
    name: 'Connect below a prefix, hardening in front',
    node: '24',
    host: 'Connect',
    prefix: '/below',
    front: 'hardening',
  },
];

// Long, or without an application of their own: the path matcher, the property tests, what makes its own servers.
const always = [
  'hostile/path-matcher-servers',
  'hostile/raw-requests',
  'hostile/return-to-flow',
  'http/request',
  'http/body',
];
const others = ['http/adapter-router', 'http/error-page', 'backend/recording-fetch', 'backend/pages', 'b2b/open-seal'];
// These mount below prefixes of their own, or speak of the origin's root without a visitor.
const belowPrefix = ['http/mounting', 'http/express-stack'];

const wanted = process.argv[2] ?? '';
let failed = 0;
for (const { name, node, host, front, prefix, proxy, cache } of variants.filter((each) => each.name.includes(wanted))) {
  console.log(`\n--- ${name}, on Node ${node}`);
  const left = [...always, ...others, ...(prefix === undefined ? [] : belowPrefix)];
  const { status } = spawnSync(
    node === '24' ? process.execPath : `tools/node_modules/node${node}/bin/node`,
    [
      '--experimental-vm-modules',
      '--disable-warning=ExperimentalWarning',
      // Below the prefix every adapter with `protectedRoutes` warns.
      '--disable-warning=EXPRESS_AUTH_ADAPTERS_PREFIX',
      'node_modules/jest/bin/jest.js',
      ...http.map((suite) => `__tests__/${suite}/`),
      ...left.flatMap((file) => ['--testPathIgnorePatterns', `/__tests__/${file}\\.test`]),
    ],
    {
      stdio: 'inherit',
      env: {
        ...process.env,
        ...environment({
          TEST_HOST: host,
          TEST_FRONT: front,
          TEST_PREFIX: prefix,
          TEST_PROXY: proxy,
          TEST_CACHE: cache,
        }),
      },
    },
  );
  if (status !== 0) failed += 1;
}
process.exitCode = failed === 0 ? 0 : 1;

function environment(settings) {
  return Object.fromEntries(Object.entries(settings).filter(([, value]) => value !== undefined));
}
