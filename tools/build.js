/**
 * Bundles the package into one module for each entry and one for what the adapters share, so that a start reads two files
 * instead of a hundred. Small dependencies are bundled, too, each of them pinned to the bundled version in package.json, so that
 * `npm audit` speaks of what is in here. SDKs, Express, and what is loaded later stay imports.
 */
import { readFile, writeFile } from 'node:fs/promises';
import { build } from 'esbuild';

const { dependencies, peerDependencies } = JSON.parse(await readFile('package.json', 'utf8'));
const isPinned = (version) => /^\d/.test(version);
const external = Object.entries({ ...dependencies, ...peerDependencies })
  .filter(([, version]) => !isPinned(version))
  .flatMap(([name]) => [name, `${name}/*`]);

/** What another bundle has, and what must exist once, as `instanceof` is asked of it. */
const from = (path, modules) => ({
  name: `from ${path}`,
  setup: ({ onResolve }) => void onResolve({ filter: modules }, () => ({ path, external: true })),
});

/**
 * Of Node's own modules only what is used: an import has everything made that the module could export, which takes a millisecond.
 */
const builtins = {
  name: 'builtins',
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^(?:node:\w+|http)$/ }, ({ path, kind }) => ({ path, namespace: kind }));
    onLoad({ filter: /./, namespace: 'require-call' }, ({ path }) => ({
      contents: `module.exports = ${builtin(path)};`,
    }));
    onLoad({ filter: /./, namespace: 'import-statement' }, ({ path }) => ({
      contents: [
        `const take = (name) => ${builtin(path)}[name];`,
        ...Object.keys(process.getBuiltinModule(path)).map(
          (name) => `export const ${name} = /* @__PURE__ */ take('${name}');`,
        ),
      ].join('\n'),
    }));
  },
};
const builtin = (path) => `process.getBuiltinModule('${path}')`;

const shared = {
  bundle: true,
  external,
  format: 'esm',
  platform: 'node',
  target: 'node22.13',
  outbase: 'lib',
  outdir: 'dist',
  logLevel: 'warning',
  legalComments: 'none',
  metafile: true,
  minify: true,
  // Debuggers, and Node with --enable-source-maps, show the TypeScript.
  sourcemap: 'linked',
  // A literal that nobody uses is left out, what stands for it in older engines is not: Valibot's of all emoji takes long to make.
  supported: { 'regexp-unicode-property-escapes': true },
};

const results = await Promise.all([
  build({
    ...shared,
    entryPoints: ['lib/b2b/index.ts', 'lib/backend/index.ts'],
    plugins: [from('../session/limiters.js', /\/limiters\.ts$/), builtins],
    splitting: true,
    // One chunk, or esbuild finds two files of one name.
    chunkNames: 'shared/index',
  }),
  build({ ...shared, entryPoints: ['lib/session/limiters.ts'] }),
  build({
    ...shared,
    entryPoints: ['lib/index.ts'],
    plugins: [from('./b2b/index.js', /^\.\/(?:b2b|http|errors)\b/), from('./backend/index.js', /^\.\/backend\b/)],
  }),
  build({
    ...shared,
    entryPoints: ['lib/redis/index.ts', 'lib/testing/index.ts'],
    plugins: [from('../b2b/index.js', /\/errors\.ts$/)],
  }),
  // A program of its own.
  build({ ...shared, entryPoints: ['lib/doctor/cli.ts'] }),
  // For browsers, and for their bundlers: a file that needs no other.
  build({ ...shared, entryPoints: ['lib/client/index.ts'], platform: 'browser', target: 'es2022' }),
]);

/** Each bundled dependency's own licence, which its authors want to travel with every copy. */
const bundled = new Set(
  results
    .flatMap(({ metafile }) => Object.keys(metafile.inputs))
    .map((input) => /^node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(input)?.[1])
    .filter((name) => name !== undefined),
);
const unpinned = [...bundled].filter((name) => !isPinned(dependencies[name] ?? ''));
if (unpinned.length > 0) throw new Error(`Bundled, so pin the version in package.json: ${unpinned.join(', ')}`);
const licences = [...bundled].sort().map(async (name) => {
  const text = await readFile(`node_modules/${name}/LICENSE`, 'utf8').catch(() =>
    readFile(`node_modules/${name}/LICENSE.md`, 'utf8'),
  );
  return `${name} ${dependencies[name]}\n\n${text.trim()}\n`;
});
await writeFile('dist/licenses.txt', (await Promise.all(licences)).join(`\n${'-'.repeat(80)}\n\n`));
