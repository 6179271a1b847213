/**
 * Writes what coding agents read: llms.txt (https://llmstxt.org), AGENTS.md and skills/express-auth-adapters/SKILL.md, from docs/ and the
 * templates in tools/agent-files/. `--check` only reports whether they are current.
 *
 *     node tools/agent-files.ts [--check]
 */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { pathToFileURL } from 'node:url';
import { format, resolveConfig } from 'prettier';
import { codeBlocks } from '../__tests__/support/markdown.ts';
import { isForContributors, repositoryPath } from './site/links.ts';

const read = (path: string): string => readFileSync(path, 'utf8');

/** A page of the documentation, as one of its lists names it. */
export interface ListedPage {
  /** Relative to the repository. */
  readonly path: string;
  /** What leads there from the package: the path, or for a page that is not packed its address. */
  readonly link: string;
  readonly title: string;
  /** The task that the list names beside it, else the first sentence of the page. */
  readonly summary: string;
}

export interface PageGroup {
  readonly heading: string;
  readonly pages: readonly ListedPage[];
}

/** The users' pages of docs/ under the headings of docs/README.md, with the guides for a move and the recipes. Each is listed once. */
export function documentation(): readonly PageGroup[] {
  const seen = new Set<string>(['docs/README.md']);
  const take = (list: string, text: string): ListedPage[] =>
    text.split('\n').flatMap((line) =>
      [...line.matchAll(/\]\(([^)\s#]+\.md)(?:#[^)]*)?\)/g)].flatMap(([, target = '']) => {
        const path = repositoryPath(target, list);
        if (path === undefined || !path.startsWith('docs/') || !existsSync(path) || seen.has(path)) return [];
        if (isForContributors(path)) return [];
        seen.add(path);
        const link = target.startsWith('https:') ? target : path;
        return [{ path, link, ...describePage(path, /^\| +(.+?) +\| \[[^|]*\|$/.exec(line)?.[1]) }];
      }),
    );
  const sections = read('docs/README.md')
    .split(/^## /m)
    .slice(1)
    .map((section) => ({ heading: section.split('\n')[0] ?? '', text: section }));
  const groups = sections.map(({ heading, text }) => ({ heading, pages: take('docs/README.md', text) }));
  const moving = { heading: 'Moving here', pages: take('docs/moving.md', read('docs/moving.md')) };
  const recipes = { heading: 'Recipes', pages: take('docs/recipes/README.md', read('docs/recipes/README.md')) };
  const isReference = ({ heading }: PageGroup): boolean => heading === 'Look up';
  return [...groups.filter((group) => !isReference(group)), moving, recipes, ...groups.filter(isReference)];
}

/** @param task what a table says that the page is for */
function describePage(path: string, task: string | undefined): Pick<ListedPage, 'title' | 'summary'> {
  const text = read(path).replaceAll(/^```[\s\S]*?^```$|<!--[\s\S]*?-->/gm, '');
  const title = /^# (.+)$/m.exec(text)?.[1] ?? path;
  if (task !== undefined) return { title: plain(title), summary: plain(task) };
  const paragraphs = text.split(/\n\s*\n/).map((each) => each.trim());
  const prose = paragraphs.find((each) => /^(?:[\p{L}`"*]|\[)/u.test(each)) ?? '';
  const words = plain(prose);
  const [sentence = ''] = /^.*?[.:](?= |$)/.exec(words) ?? [words];
  return { title: plain(title), summary: sentence.replace(/:$/, '.') };
}

/** Without links, and on one line. */
function plain(markdown: string): string {
  return markdown.replaceAll(/\[([^\]]+)\]\([^)]*\)/g, '$1').replaceAll(/\s+/g, ' ');
}

/**
 * The list of pages for language models, in the form of https://llmstxt.org.
 *
 * @param linkOf what leads to a page or file from where the list is; by default from the package
 */
export function llmsText(linkOf: (file: Pick<ListedPage, 'path' | 'link'>) => string = ({ link }) => link): string {
  const [, summary = ''] = read('README.md').split(/\n\s*\n/);
  const lists = documentation().map(
    ({ heading, pages }) =>
      `## ${heading}\n\n${pages.map((page) => `- [${page.title}](${linkOf(page)}): ${page.summary}`).join('\n')}\n`,
  );
  const skill = 'skills/express-auth-adapters/SKILL.md';
  return `# express-auth-adapters

> ${summary.replaceAll('**', '').replaceAll('\n', ' ')}

- To add sign-in to an app, read [the skill](${linkOf({ path: skill, link: skill })}) first: the code for each adapter, the traps, and how to check the result.
- \`npx express-auth-adapters add backend --local --write\` adds sign-in to an app, \`providers\` starts local stand-ins, \`doctor\` checks the configuration.

${lists.join('\n')}`;
}

/**
 * Replaces `<!-- insert: … -->`: `code <page> "<text>"` is the first example of the page that has the text, `line <page> "<text>"` only
 * its line with the text, and `file <name>` another template.
 */
function fill(template: string): string {
  return read(`tools/agent-files/${template}`).replaceAll(
    /^<!-- insert: (\w+) (\S+)(?: "(.+)")? -->$/gm,
    (_, kind: string, path: string, part = '') => {
      if (kind === 'file') return fill(path).trim();
      const block = codeBlocks({ path, text: read(path) }).find(({ code }) => code.includes(part));
      if (block === undefined) throw new Error(`${template}: ${path} has no example with ${part}`);
      const line = block.code.split('\n').find((each) => each.includes(part)) ?? '';
      return `\`\`\`${block.language}\n${kind === 'line' ? `${line}\n` : block.code}\`\`\``;
    },
  );
}

/** Below the front matter, which has to come first. */
const note = '<!-- Made by `npm run docs:agents` from tools/agent-files/ and docs/: change those. -->';
const withNote = (text: string): string => text.replace(/^# .*$/m, (heading) => `${heading}\n\n${note}`);

const files: Readonly<Record<string, () => string>> = {
  'llms.txt': llmsText,
  'AGENTS.md': () => withNote(fill('AGENTS.md')),
  'skills/express-auth-adapters/SKILL.md': () => withNote(fill('SKILL.md')),
};

async function main(isCheck: boolean): Promise<void> {
  for (const [path, write] of Object.entries(files)) {
    const text = path.endsWith('.md')
      ? await format(write(), { ...(await resolveConfig(path)), parser: 'markdown' })
      : write();
    if (!isCheck) {
      mkdirSync(dirname(path), { recursive: true });
      writeFileSync(path, text);
    } else if (!existsSync(path) || read(path) !== text) {
      console.error(`${path} is not what docs/ and tools/agent-files/ say. Run: npm run docs:agents`);
      process.exitCode = 1;
    }
  }
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) await main(process.argv.includes('--check'));
