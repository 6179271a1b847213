// Writes the script of the pages that ask for a passkey into lib/, minified: `npm run build:passkey-script`.
// A test compares it with its source, `lib/client/passkey-page.ts`.
import { writeFileSync } from 'node:fs';
import { format, resolveConfig } from 'prettier';
import { build } from 'esbuild';

export const scriptFile = 'lib/backend/passkey-script.ts';

/** The file with the script, as text. */
export async function passkeyScriptFile(): Promise<string> {
  const { outputFiles } = await build({
    entryPoints: ['lib/client/passkey-page.ts'],
    bundle: true,
    minify: true,
    write: false,
    format: 'iife',
    target: 'es2020',
    charset: 'utf8',
    legalComments: 'none',
  });
  const script = (outputFiles[0]?.text ?? '').trim();
  const source = `/** The minified script of \`lib/client/passkey-page.ts\`. \`npm run build:passkey-script\` writes this file. */
export const passkeyScript = ${JSON.stringify(script)};
`;
  return format(source, { ...(await resolveConfig(scriptFile)), filepath: scriptFile });
}

if (process.argv[1] === import.meta.filename) writeFileSync(scriptFile, await passkeyScriptFile());
