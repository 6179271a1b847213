import { readFileSync } from 'node:fs';
import { englishText } from '../../lib/backend/pages/text.ts';

function documentedTexts(): Record<string, string> {
  const page = readFileSync('docs/texts.md', 'utf8');
  return Object.fromEntries(
    [...page.matchAll(/^\| `(\w+)` +\| (.*?) *\|$/gm)].map(([, key = '', text = '']) => [key, text]),
  );
}

it('lists every text of the built-in pages in docs/texts.md, word for word', () => {
  expect(documentedTexts()).toEqual(englishText);
});
