// Builds dist/ from lib/, and its declarations from those that tsc has written: a file for each entry, each floor, each adapter, and
// each part that loads on its first use. Few files load fast, and no code is in two of them, so the entries share their state.
// Usage: npm run build
import { globSync, readFileSync } from 'node:fs';
import { relative } from 'node:path';
import { rolldown } from 'rolldown';
import { minify } from 'rolldown/utils';
import type { InputOptions, OutputOptions, Plugin } from 'rolldown';
import { dts } from 'rolldown-plugin-dts';

const { dependencies, peerDependencies, peerDependenciesMeta } = JSON.parse(readFileSync('package.json', 'utf8'));

const imported = [
  'index',
  ...['b2b', 'backend', 'client', 'passport', 'redis', 'testing'].map((name) => `${name}/index`),
  ...globSync('*.ts', { cwd: 'lib/texts' }).map((file) => `texts/${file.slice(0, -'.ts'.length)}`),
];
const commands = {
  cli: 'bin/cli.ts',
  add: 'bin/add.ts',
  emails: 'bin/emails.ts',
  'doctor/cli': 'lib/doctor/cli.ts',
  providers: 'stand-ins/providers-only.ts',
};

/** What belongs to an entry of its own, and not to its room's adapter. */
const leaf = /\/(?:client|doctor|testing)\.ts$/;

/** A file in dist/, and its modules by their paths below lib/. */
const part = (name: string, modules: RegExp) => ({
  name,
  test: (module: string) => modules.test(pathInLib(module)) && !leaf.test(pathInLib(module)),
});

/** The lowest floor first: a module belongs to the first part that it matches, with those that it imports. */
const parts = [
  part('core', /^(?:errors|error-table|types|tools\/.*|session\/(?:jwt|keys))\./),
  part('session', /^session\//),
  part('http', /^(?:every-entry\.|(?:http|options|pages)\/|doors\/(?!sql\/|store-session\/(?:b2b|backend)\.))/),
  // Without what loads on its first use.
  { ...part('b2b/adapter', /^b2b\//), tags: ['$initial' as const] },
  { ...part('backend/adapter', /^(?:backend|doors\/sql)\//), tags: ['$initial' as const] },
  part('backend/consent', /^backend\/consent\//),
];

/** It alone may ask for a package that is not there, so no bundle may change it. */
const express = 'express.cjs';

const shared = {
  external: [
    /^node:/,
    ...Object.keys({ ...dependencies, ...peerDependencies }).map((name) => new RegExp(`^${name}(?:/|$)`)),
  ],
  // A warning of how long plugins took: a slow machine is no error.
  checks: { bundlerTimings: false },
  onLog: (_level, { message }) => {
    throw new Error(message);
  },
} satisfies InputOptions;

const readable = { dir: 'dist', minifyInternalExports: false } satisfies OutputOptions;

/** `express.cjs` stays beside the code that imports it. */
const besideExpress: Plugin = {
  name: 'beside-express',
  resolveId: (source) => (source === `./${express}` ? { id: source, external: true } : undefined),
  generateBundle() {
    this.emitFile({ type: 'asset', fileName: express, source: readFileSync(`lib/http/${express}`) });
  },
};

/** An application may have one SDK: in its declarations, the types of the other one are `any`. */
const optionalPeers: Plugin = {
  name: 'optional-peers',
  generateBundle(_options, bundle) {
    const names = Object.keys(peerDependenciesMeta).join('|');
    for (const file of Object.values(bundle))
      if (file.type === 'chunk')
        file.code = file.code.replace(new RegExp(`^import .* from "(?:${names})";$`, 'gm'), '/** @ts-ignore */\n$&');
  },
};

/** They run on a developer's machine alone: no stack trace of an application names their functions. */
const minifiedCommands: Plugin = {
  name: 'minified-commands',
  async renderChunk(code, { name, fileName }) {
    return name in commands ? (await minify(fileName, code, { module: true })).code : null;
  },
  // The code is printed once more after that, with tabs.
  generateBundle(_options, bundle) {
    for (const file of Object.values(bundle))
      if (file.type === 'chunk' && file.name in commands) file.code = file.code.replace(/^\t+/gm, '');
  },
};

await write(
  {
    ...shared,
    input: { ...Object.fromEntries(imported.map((name) => [name, `lib/${name}.ts`])), ...commands },
    platform: 'node',
    plugins: [besideExpress, minifiedCommands],
    transform: { target: 'es2022' },
  },
  {
    ...readable,
    cleanDir: true,
    comments: false,
    chunkFileNames: ({ facadeModuleId: module }) =>
      module === null ? '[name].js' : pathInLib(module).replace(/\.ts$/, '.js'),
    codeSplitting: { groups: parts },
  },
);
await write(
  {
    ...shared,
    input: Object.fromEntries(imported.map((name) => [name, `./reports/declarations/${name}.d.ts`])),
    plugins: [dts({ dtsInput: true }), optionalPeers],
  },
  {
    ...readable,
    entryFileNames: '[name].ts',
    chunkFileNames: '[name].ts',
    codeSplitting: { groups: parts.map(({ name, test }) => ({ name: `${name}.d`, test })) },
  },
);

async function write(input: InputOptions, output: OutputOptions): Promise<void> {
  const bundle = await rolldown(input);
  await bundle.write(output);
  await bundle.close();
}

/** `pages/page.ts`, also for its declaration. */
function pathInLib(module: string): string {
  const path = relative(import.meta.dirname, module).replaceAll('\\', '/');
  return path.replace(/^\.\.\/(?:lib|reports\/declarations)\//, '').replace(/\.d\.ts$/, '.ts');
}
