/**
 * Brings what follows from the English texts of lib/ up to date: docs/texts.md, the names that `b2bAuth` takes without using them, and
 * the order of the translations, which keep no text that no page has. What a translation lacks is a type error there.
 *
 *     node tools/text-lists.ts
 */
import { globSync, readFileSync, writeFileSync } from 'node:fs';
import { format, resolveConfig } from 'prettier';
import ts from 'typescript';
import { englishText } from '../lib/backend/pages/text.ts';
import { sharedText } from '../lib/pages/texts.ts';

const keys = Object.keys(englishText);

const page = `# The texts of the built-in pages

<!-- Made by \`npm run docs:texts\` from the texts in lib/: change those. -->

\`{…}\` stands for a value; a text that leaves it out goes without.

| Key | English |
| --- | --- |
${Object.entries(englishText)
  .map(([key, text]) => `| \`${key}\` | ${text.replaceAll('|', '\\|')} |\n`)
  .join('')}`;

const names = `// Made by \`npm run docs:texts\` from the texts of the pages in lib/backend/: change those.

/**
 * The texts that only the Supabase adapter's pages have. A translation holds those of both adapters, so \`b2bAuth\` takes these names, too,
 * and does not use them. A test compares this list to the pages.
 */
// prettier-ignore
export const backendTextKeys: readonly string[] = [
${wrapped(keys.filter((key) => !(key in sharedText)).map((key) => `'${key}',`))}
];
`;

/** In lines of at most 120 characters. */
function wrapped(words: readonly string[]): string {
  const lines: string[] = [];
  for (const word of words) {
    const last = lines.at(-1);
    if (last !== undefined && last.length + word.length < 120) lines[lines.length - 1] = `${last} ${word}`;
    else lines.push(`  ${word}`);
  }
  return lines.join('\n');
}

/** The source of a translation with its texts in the order of the English ones, and no other. */
function sorted(path: string): string {
  const source = ts.createSourceFile(path, readFileSync(path, 'utf8'), ts.ScriptTarget.Latest, true);
  const table = source.statements
    .flatMap((each) => (ts.isVariableStatement(each) ? each.declarationList.declarations : []))
    .map(({ initializer }) => initializer)
    .find((each) => each !== undefined && ts.isObjectLiteralExpression(each));
  if (table === undefined || !ts.isObjectLiteralExpression(table)) throw new Error(`No texts in ${path}`);
  const texts = new Map(table.properties.map((each) => [each.name?.getText(), each.getFullText().trim()]));
  const lines = keys.map((key) => texts.get(key)).filter((line) => line !== undefined);
  return `${source.text.slice(0, table.getStart())}{\n${lines.join(',\n')},\n}${source.text.slice(table.end)}`;
}

async function write(path: string, text: string): Promise<void> {
  writeFileSync(path, await format(text, { ...(await resolveConfig(path)), filepath: path }));
}

await write('docs/texts.md', page);
await write('lib/pages/backend-text-keys.ts', names);
for (const path of globSync('lib/texts/*.ts')) await write(path, sorted(path));
