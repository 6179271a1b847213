import { readFileSync } from 'node:fs';
import { englishText } from '../../lib/backend/pages/text.ts';

/** The rows of the table below `## Every text`. */
function documentedTexts(): Record<string, string> {
  const [, section = ''] = readFileSync('docs/pages.md', 'utf8').split('\n## Every text\n');
  return Object.fromEntries(
    [...section.matchAll(/^\| `(\w+)` +\| (.*?) *\|$/gm)].map(([, key = '', text = '']) => [key, text]),
  );
}

it('lists every text of the built-in pages in docs/pages.md, word for word', () => {
  expect(documentedTexts()).toEqual(englishText);
});
