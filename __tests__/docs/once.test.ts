import { markdownFiles } from '../support/markdown.ts';
import { isForContributors } from '../../tools/site/links.ts';

/** Both begin alike, because a reader opens one of them. */
const quickstarts = ['docs/quickstart-supabase.md', 'docs/quickstart-workos.md'];
/** Made from the code, whose comments two options may share. */
const generated = ['docs/errors.md', 'docs/options.md', 'docs/texts.md'];
const inARow = 10;

const pages = markdownFiles().filter(
  ({ path }) =>
    (path === 'README.md' || path.startsWith('docs/')) && !isForContributors(path) && !generated.includes(path),
);

/** The paragraphs and items of a page, without code, tables and the targets of links. */
function paragraphsOf(text: string): string[] {
  const prose = text.replaceAll(/^( *)```[\s\S]*?^\1```|^\|.*$/gm, '').replaceAll(/\]\([^)]*\)/g, ']');
  return prose.split(/\n\s*\n|\n(?=- |\d+\. )/);
}

it('no page for users says in the same words what another one says', () => {
  const said = new Map<string, string>();
  const twice = new Map<string, string>();
  for (const { path, text } of pages) {
    for (const paragraph of paragraphsOf(text)) {
      const words = paragraph.toLowerCase().match(/[\w'/`.-]+/g) ?? [];
      for (let start = 0; start + inARow <= words.length; start += 1) {
        const phrase = words.slice(start, start + inARow).join(' ');
        const earlier = said.get(phrase) ?? path;
        said.set(phrase, earlier);
        const isExpected = quickstarts.includes(path) && quickstarts.includes(earlier);
        if (earlier !== path && !isExpected) twice.set(`${earlier}, ${path}`, phrase);
      }
    }
  }
  expect(pages.length).toBeGreaterThan(50);
  expect(said.size).toBeGreaterThan(10_000);
  expect(Object.fromEntries(twice)).toEqual({});
});
