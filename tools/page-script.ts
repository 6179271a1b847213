// Writes the script of the built-in pages into lib/, minified, from `lib/backend/pages/page-script.ts`; `--check` only
// reports whether it is current.
// Usage: npm run build:page-script
import { readFileSync, writeFileSync } from 'node:fs';
import { format, resolveConfig } from 'prettier';
import { rolldown } from 'rolldown';

const path = 'lib/backend/webauthn/script.ts';

const bundle = await rolldown({
  input: 'lib/backend/pages/page-script.ts',
  platform: 'browser',
  transform: { target: 'es2020' },
});
const { output } = await bundle.generate({ format: 'iife', minify: true, strict: true, comments: false });
await bundle.close();
const source = `/** The minified script of \`lib/backend/pages/page-script.ts\`. \`npm run build:page-script\` writes this file. */
export const scriptText = ${JSON.stringify(output[0].code.trim())};
`;
const text = await format(source, { ...(await resolveConfig(path)), filepath: path });

if (!process.argv.includes('--check')) writeFileSync(path, text);
else if (readFileSync(path, 'utf8') !== text) {
  console.error(`${path} is not what its source says. Run: npm run build:page-script`);
  process.exitCode = 1;
}
