/**
 * Bundles the package's own files into one module for each entry and for what entries share: a start reads six files instead of
 * eighty. Dependencies stay imports, so that an application deduplicates and updates them.
 */
import { build } from 'esbuild';

const shared = {
  bundle: true,
  packages: 'external',
  format: 'esm',
  platform: 'node',
  target: 'node22.13',
  outbase: 'lib',
  outdir: 'dist',
  logLevel: 'warning',
};

await build({
  ...shared,
  entryPoints: [
    'lib/index.ts',
    'lib/b2b/index.ts',
    'lib/backend/index.ts',
    'lib/redis/index.ts',
    'lib/testing/index.ts',
  ],
  // What two entries share must exist once: sessions on requests, the classes of errors.
  splitting: true,
  chunkNames: 'shared/[hash]',
});

// A program of its own, which shares nothing with an application.
await build({ ...shared, entryPoints: ['lib/doctor/cli.ts'] });

// For browsers, and for their bundlers: a file that needs no other.
await build({ ...shared, entryPoints: ['lib/client/index.ts'], platform: 'browser', target: 'es2022' });
